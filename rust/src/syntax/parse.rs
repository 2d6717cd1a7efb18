//! Alternations, concatenations and quantifiers. Groups, escapes and classes are in modules of their own.

use super::{Ast, ByteSet, Pattern, Refusal};

/// The maximum nesting of groups; the default limit of PCRE2 is 250 (`PARENS_NEST_LIMIT`).
const DEEPEST: u32 = 200;

/// The largest count of a quantifier (`MAX_REPEAT_COUNT` of PCRE2).
const MOST_REPEATS: u32 = 65_535;

/// What inline flags set; each group has its own copy.
#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    /// `(?i)`
    pub caseless: bool,
    /// `(?s)`: a dot is any byte.
    pub dot_all: bool,
    /// A declared reading, not one of PCRE2: a dot without a quantifier is the byte `.`.
    pub literal_dots: bool,
}

/// A pattern, and the places of some of its text for edits.
pub(super) struct Parsed {
    pub pattern: Pattern,
    /// The offsets of the dots without a quantifier, outside classes.
    pub dots: Vec<usize>,
    /// The byte ranges of `$` and `\Z`, in the order of the [`Ast::Dollar`] nodes.
    pub dollars: Vec<std::ops::Range<usize>>,
}

/// An item of a concatenation, and whether a quantifier may follow it.
pub(super) struct Item {
    pub ast: Ast,
    pub quantifiable: bool,
}

impl Item {
    pub fn atom(ast: Ast) -> Item {
        Item { ast, quantifiable: true }
    }

    /// Some PCREs accept quantifiers after some assertions; here they are refused.
    pub fn assertion(ast: Ast) -> Item {
        Item { ast, quantifiable: false }
    }
}

/// A recursive descent over the text of one pattern.
pub(super) struct Parser<'p> {
    pub(super) text: &'p [u8],
    /// Offset of the next byte to read.
    pub(super) at: usize,
    pub(super) captures: u32,
    pub(super) names: Vec<String>,
    /// The opening parentheses of the groups without a name.
    pub(super) unnamed: Vec<usize>,
    /// The `?<name>` and `?P<name>` of the groups with one.
    pub(super) name_spans: Vec<std::ops::Range<usize>>,
    pub(super) dollars: Vec<std::ops::Range<usize>>,
    /// The insides of look-arounds.
    pub(super) looks: Vec<Ast>,
    /// Whether `\s` or `\S` was read.
    pub(super) has_spaces: bool,
    /// Where the flags at the start end.
    pub(super) flags_end: usize,
    /// The numbers of the groups that were read to their end, if the pattern is only matched.
    pub(super) closed: Option<Vec<u32>>,
    /// Where the first positive lookahead stands.
    pub(super) positive_lookahead: Option<usize>,
    has_possessive: bool,
    dots: Vec<usize>,
    depth: u32,
    flags: Flags,
}

impl<'p> Parser<'p> {
    pub fn new(text: &'p [u8], flags: Flags) -> Self {
        Parser {
            text,
            at: 0,
            captures: 0,
            names: Vec::new(),
            unnamed: Vec::new(),
            name_spans: Vec::new(),
            dollars: Vec::new(),
            looks: Vec::new(),
            has_spaces: false,
            flags_end: 0,
            closed: None,
            positive_lookahead: None,
            has_possessive: false,
            dots: Vec::new(),
            depth: 0,
            flags,
        }
    }

    /// Also reads what is read of patterns that are only matched.
    pub fn only_matching(mut self) -> Self {
        self.closed = Some(Vec::new());
        self
    }

    /// Reads the whole text.
    pub fn pattern(mut self) -> Result<Parsed, Refusal> {
        let mut flags = self.flags;
        let ast = self.alternation(&mut flags)?;
        if self.at != self.text.len() {
            return self.error("unmatched closing parenthesis");
        }
        self.check_lookahead(&ast)?;
        let named = !self.names.is_empty();
        let Parser { captures, unnamed, name_spans, has_spaces: spaces, looks, .. } = self;
        let pattern = Pattern { ast, captures, unnamed, name_spans, named, spaces, looks };
        Ok(Parsed { pattern, dots: self.dots, dollars: self.dollars })
    }

    /// Refuses positive lookaheads where PCREs do not read them alike.
    fn check_lookahead(&self, ast: &Ast) -> Result<(), Refusal> {
        let Some(offset) = self.positive_lookahead else { return Ok(()) };
        // PCRE1 takes a byte that the lookahead requires for one behind the first: no `a` matches `(?=.*a)a`.
        let is_anchored = matches!(ast, Ast::Concat(items) if items[0] == Ast::Start);
        // PCRE2 10.30 and 10.31 go back into `(?:a)?+` from behind a lookahead.
        let reason = match (is_anchored, self.has_possessive) {
            (true, false) => return Ok(()),
            (true, true) => "a positive lookahead beside a possessive quantifier",
            (false, _) => "a positive lookahead without ^",
        };
        Err(Refusal { offset, reason, is_error: false })
    }

    pub(super) fn refuse<T>(&self, reason: &'static str) -> Result<T, Refusal> {
        Err(Refusal { offset: self.at, reason, is_error: false })
    }

    /// Refuses a construct that no PCRE accepts.
    pub(super) fn error<T>(&self, reason: &'static str) -> Result<T, Refusal> {
        Err(Refusal { offset: self.at, reason, is_error: true })
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The byte after the next one.
    pub(super) fn peek_second(&self) -> Option<u8> {
        self.text.get(self.at + 1).copied()
    }

    pub(super) fn rest(&self) -> &'p [u8] {
        &self.text[self.at..]
    }

    /// Steps over `expected` if it is next.
    pub(super) fn eat(&mut self, expected: &[u8]) -> bool {
        let is_next = self.rest().starts_with(expected);
        if is_next {
            self.at += expected.len();
        }
        is_next
    }

    /// Whether a quantifier, or what may be one, is next.
    pub(super) fn at_quantifier(&self) -> bool {
        matches!(self.peek(), Some(b'*' | b'+' | b'?' | b'{'))
    }

    /// Branches up to `)` or the end. A flag set in one branch holds in the next: `(a(?i)b|c)` matches `C`.
    pub(super) fn alternation(&mut self, flags: &mut Flags) -> Result<Ast, Refusal> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.refuse("groups nested too deep");
        }
        let first = self.concatenation(flags)?;
        let ast = if self.peek() == Some(b'|') {
            let mut branches = vec![first];
            while self.eat(b"|") {
                branches.push(self.concatenation(flags)?);
            }
            Ast::Alternation(branches)
        } else {
            first
        };
        self.depth -= 1;
        Ok(ast)
    }

    fn concatenation(&mut self, flags: &mut Flags) -> Result<Ast, Refusal> {
        // Most patterns are one concatenation of single bytes.
        let expected = if self.depth == 1 { self.rest().len().min(64) } else { 0 };
        let mut items: Vec<Ast> = Vec::with_capacity(expected);
        // Whether the last item may take a quantifier.
        let mut quantifiable = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'|' | b')' => break,
                b'*' | b'+' | b'?' if items.is_empty() => return self.error("a quantifier after nothing"),
                b'*' | b'+' | b'?' | b'{' => {
                    if let Some((min, max)) = self.quantifier()? {
                        self.quantify(&mut items, quantifiable, byte == b'{', (min, max))?;
                        quantifiable = false;
                    } else {
                        self.at += 1;
                        items.push(Ast::Byte(b'{'));
                        quantifiable = true;
                    }
                }
                b'(' => match self.group(flags)? {
                    Some(item) => {
                        quantifiable = item.quantifiable;
                        items.push(item.ast);
                    }
                    None => quantifiable = false,
                },
                _ => {
                    let item = self.item(byte, *flags)?;
                    quantifiable = item.quantifiable;
                    items.push(item.ast);
                }
            }
        }
        Ok(match items.len() {
            0 => Ast::Empty,
            1 => items.swap_remove(0),
            _ => Ast::Concat(items),
        })
    }

    /// The item that starts with `byte`, which is next; not a group, a quantifier or a quotation.
    fn item(&mut self, byte: u8, flags: Flags) -> Result<Item, Refusal> {
        match byte {
            b'\\' => return self.escape(flags),
            0 => return self.refuse("a zero byte"),
            _ => {}
        }
        self.at += 1;
        Ok(match byte {
            b'^' => Item::assertion(Ast::Start),
            b'$' => {
                self.dollars.push(self.at - 1..self.at);
                Item::assertion(Ast::Dollar)
            }
            b'.' => Item::atom(self.dot(flags)),
            b'[' => Item::atom(self.class(flags)?),
            _ => Item::atom(literal(byte, flags)),
        })
    }

    /// The dot just read.
    fn dot(&mut self, flags: Flags) -> Ast {
        if !self.at_quantifier() {
            self.dots.push(self.at - 1);
            if flags.literal_dots {
                return Ast::Byte(b'.');
            }
        }
        Ast::Class(if flags.dot_all { ByteSet::ALL } else { ByteSet::NO_NEWLINE })
    }

    /// Steps over a quantifier (without its `?` or `+`) and returns its counts; `None` if the next `{` is just a byte.
    fn quantifier(&mut self) -> Result<Option<(u32, Option<u32>)>, Refusal> {
        let counts = match self.peek() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            _ => return self.counted(),
        };
        self.at += 1;
        Ok(Some(counts))
    }

    /// `{n}`, `{n,}` or `{n,m}`. Other braces hold a quantifier since PCRE2 10.43 only (`{,n}`, blanks), or none at
    /// all.
    fn counted(&mut self) -> Result<Option<(u32, Option<u32>)>, Refusal> {
        let text = &self.rest()[1..];
        let Some(length) = text.iter().position(|&byte| byte == b'}') else {
            return Ok(None);
        };
        let body = &text[..length];
        let like_counts = |byte: &u8| matches!(byte, b'0'..=b'9' | b',' | b' ' | b'\t');
        if body.is_empty() || !body.iter().all(like_counts) {
            return Ok(None);
        }
        let mut parts = body.splitn(2, |&byte| byte == b',');
        let min = parts.next().and_then(count);
        let max = match parts.next() {
            None => min.map(Some),
            Some(b"") => Some(None),
            Some(digits) => count(digits).map(Some),
        };
        let (Some(min), Some(max)) = (min, max) else {
            return self.refuse("a quantifier that not every PCRE takes for one");
        };
        if min > MOST_REPEATS || max.is_some_and(|max| max > MOST_REPEATS || max < min) {
            return self.error("a quantifier out of range");
        }
        self.at += length + 2;
        Ok(Some((min, max)))
    }

    /// Wraps the last item, and reads what makes the quantifier lazy or possessive.
    fn quantify(
        &mut self,
        items: &mut Vec<Ast>,
        quantifiable: bool,
        counted: bool,
        (min, max): (u32, Option<u32>),
    ) -> Result<(), Refusal> {
        let sub = match items.pop() {
            Some(sub) if quantifiable => Box::new(sub),
            _ => return self.refuse("a quantifier after nothing or after an assertion"),
        };
        if counted && is_letter_in_both_cases(&sub) {
            return self.refuse("a count behind a letter in both cases"); // PCRE2 10.34 to 10.39 get it wrong
        }
        let lazy = self.eat(b"?");
        if lazy && counted && max.is_some() {
            return self.refuse("a count that is lazy"); // PCRE 8.34 gets it wrong
        }
        let possessive = !lazy && self.eat(b"+");
        if possessive && (counted || !sub.is_single()) {
            return self.refuse("a possessive quantifier behind a group or a count");
        }
        self.has_possessive |= possessive;
        let repeat = Ast::Repeat { min, max, greedy: !lazy, sub };
        items.push(if possessive { Ast::superset("a possessive quantifier", repeat) } else { repeat });
        Ok(())
    }
}

/// `[Aa]`, and `a` where case is ignored.
fn is_letter_in_both_cases(ast: &Ast) -> bool {
    matches!(ast, Ast::Class(set) if set.ranges().len() == 2 && set.iter().count() == 2 && set.fold() == *set)
}

/// One byte of the pattern that stands for itself.
pub(super) fn literal(byte: u8, flags: Flags) -> Ast {
    if flags.caseless && byte.is_ascii_alphabetic() { Ast::Class(ByteSet::one(byte).fold()) } else { Ast::Byte(byte) }
}

/// A number of decimal digits only.
fn count(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
