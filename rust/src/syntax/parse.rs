//! Alternations, concatenations and quantifiers. Groups, escapes and classes are in modules of their own.

use super::{Ast, ByteSet, Pattern, Refusal};

/// How deep groups may stand in each other; PCRE2's own default limit is 250 (`PARENS_NEST_LIMIT`).
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
    /// A reading of ours, not of PCRE2: a dot with no quantifier behind it is the byte `.`.
    pub literal_dots: bool,
}

/// A pattern and where some of its text stands, for those who edit it.
pub(super) struct Parsed {
    pub pattern: Pattern,
    /// The offsets of the dots with no quantifier behind them, outside classes.
    pub dots: Vec<usize>,
    /// The byte ranges of `$` and `\Z`, in the order of the [`Ast::Dollar`] nodes.
    pub dollars: Vec<std::ops::Range<usize>>,
    /// Whether the pattern ends inside `\Q`.
    pub quote_open: bool,
}

/// One item of a concatenation, and whether a quantifier may stand behind it.
pub(super) struct Item {
    pub ast: Ast,
    pub quantifiable: bool,
}

impl Item {
    pub fn atom(ast: Ast) -> Item {
        Item { ast, quantifiable: true }
    }

    /// PCRE2 takes quantifiers behind some assertions; here they are refused.
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
    pub(super) dollars: Vec<std::ops::Range<usize>>,
    dots: Vec<usize>,
    quote_open: bool,
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
            dollars: Vec::new(),
            dots: Vec::new(),
            quote_open: false,
            depth: 0,
            flags,
        }
    }

    /// Reads the whole text.
    pub fn pattern(mut self) -> Result<Parsed, Refusal> {
        let mut flags = self.flags;
        let ast = self.alternation(&mut flags)?;
        if self.at != self.text.len() {
            return self.refuse("unmatched closing parenthesis");
        }
        Ok(Parsed {
            pattern: Pattern { ast, captures: self.captures, named: !self.names.is_empty() },
            dots: self.dots,
            dollars: self.dollars,
            quote_open: self.quote_open,
        })
    }

    pub(super) fn refuse<T>(&self, reason: &'static str) -> Result<T, Refusal> {
        Err(Refusal { offset: self.at, reason })
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
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
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
        let mut items = Vec::with_capacity(expected);
        // Whether the last item may take a quantifier.
        let mut quantifiable = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'|' | b')' => break,
                b'*' | b'+' | b'?' | b'{' => {
                    if let Some((min, max)) = self.quantifier()? {
                        self.quantify(&mut items, quantifiable, min, max)?;
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
                b'\\' if self.rest().starts_with(b"\\Q") => {
                    quantifiable |= self.quoted(&mut items, *flags);
                    if !quantifiable && self.at_quantifier() {
                        return self.refuse("a quantifier after an empty \\Q\\E");
                    }
                }
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
        if byte == b'\\' {
            return self.escape(flags);
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
        // An empty quotation may stand between the dot and its quantifier.
        if !self.at_quantifier() && !self.rest().starts_with(b"\\Q\\E") {
            self.dots.push(self.at - 1);
            if flags.literal_dots {
                return Ast::Byte(b'.');
            }
        }
        if flags.dot_all { Ast::Class(ByteSet::ALL) } else { Ast::Class(ByteSet::of(|byte| byte != b'\n')) }
    }

    /// `\Q...\E`, or `\Q` up to the end. Returns whether it held a byte.
    fn quoted(&mut self, items: &mut Vec<Ast>, flags: Flags) -> bool {
        self.at += 2;
        let before = items.len();
        while let Some(byte) = self.peek() {
            if self.eat(b"\\E") {
                return items.len() > before;
            }
            items.push(literal(byte, flags));
            self.at += 1;
        }
        self.quote_open = true;
        items.len() > before
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

    /// `{n}`, `{n,}` or `{n,m}`. Other braces hold a quantifier in some releases of PCRE2 only, or none at all.
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
            return self.refuse("a quantifier that not every PCRE2 takes for one");
        };
        if min > MOST_REPEATS || max.is_some_and(|max| max > MOST_REPEATS || max < min) {
            return self.refuse("a quantifier out of range");
        }
        self.at += length + 2;
        Ok(Some((min, max)))
    }

    /// Wraps the last item, and reads what makes the quantifier lazy or possessive.
    fn quantify(
        &mut self,
        items: &mut Vec<Ast>,
        quantifiable: bool,
        min: u32,
        max: Option<u32>,
    ) -> Result<(), Refusal> {
        let sub = match items.pop() {
            Some(sub) if quantifiable => Box::new(sub),
            _ => return self.refuse("a quantifier after nothing or after an assertion"),
        };
        let lazy = self.eat(b"?");
        let possessive = !lazy && self.eat(b"+");
        let repeat = Ast::Repeat { min, max, greedy: !lazy, sub };
        items.push(if possessive { Ast::superset("a possessive quantifier", repeat) } else { repeat });
        Ok(())
    }
}

/// One byte of the pattern that stands for itself.
pub(super) fn literal(byte: u8, flags: Flags) -> Ast {
    if flags.caseless && byte.is_ascii_alphabetic() {
        Ast::Class(ByteSet::of(|other| other.eq_ignore_ascii_case(&byte)))
    } else {
        Ast::Byte(byte)
    }
}

/// A number of decimal digits only.
fn count(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
