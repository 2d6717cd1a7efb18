//! Groups, look-arounds and inline flags: everything that starts with `(`.

use super::parse::{Flags, Item, Parser};
use super::{Ast, Refusal};

/// The longest name of a group (`MAX_NAME_SIZE` of PCRE1, and of PCRE2 up to 10.43).
const LONGEST_NAME: usize = 32;

impl Parser<'_> {
    /// A group; `None` for flags, which match nothing themselves. The next byte is `(`.
    pub(super) fn group(&mut self, flags: &mut Flags) -> Result<Option<Item>, Refusal> {
        let start = self.at;
        if self.rest().starts_with(b"(*") {
            return self.refuse("a verb or an assertion of the form (*...)");
        }
        if !self.eat(b"(?") {
            self.unnamed.push(start);
            self.at += 1;
            return self.capture(None, *flags).map(Some);
        }
        for (opening, caseless) in [(&b":"[..], flags.caseless), (b"i:", true), (b"-i:", false)] {
            if self.eat(opening) {
                return self.body(Flags { caseless, ..*flags }).map(Item::atom).map(Some);
            }
        }
        let item = match self.peek() {
            Some(b'!') => {
                self.at += 1;
                self.look_around("a lookahead", *flags)?.0
            }
            Some(b'=') => self.positive_lookahead(*flags)?,
            Some(b'<') if matches!(self.peek_second(), Some(b'=' | b'!')) => {
                self.at += 2;
                self.look_behind(*flags)?
            }
            Some(b'<' | b'P') => self.named(*flags)?,
            Some(b'i' | b's') => return self.start_flags(start, flags).map(|()| None),
            _ => return self.refuse("a group that is not on the list"),
        };
        Ok(Some(item))
    }

    /// The inside of a group and its `)`.
    fn body(&mut self, mut flags: Flags) -> Result<Ast, Refusal> {
        let ast = self.alternation(&mut flags)?;
        if self.eat(b")") { Ok(ast) } else { self.error("a missing closing parenthesis") }
    }

    fn capture(&mut self, name: Option<String>, flags: Flags) -> Result<Item, Refusal> {
        self.captures += 1;
        let index = self.captures;
        let sub = Box::new(self.body(flags)?);
        self.closed.iter_mut().for_each(|closed| closed.push(index));
        Ok(Item::atom(Ast::Capture { index, name, sub }))
    }

    /// The inside is kept separately: the assertion may hold anywhere. Also returns the inside.
    fn look_around(&mut self, reason: &'static str, flags: Flags) -> Result<(Item, usize), Refusal> {
        let dollars = self.dollars.len();
        let inside = self.body(flags)?;
        self.dollars.truncate(dollars);
        self.looks.push(inside);
        Ok((Item::assertion(Ast::superset(reason, Ast::Empty)), self.looks.len() - 1))
    }

    /// `(?=...)` without groups, of a pattern that is only matched. [`Parser::pattern`] requires more.
    fn positive_lookahead(&mut self, flags: Flags) -> Result<Item, Refusal> {
        let (start, captures) = (self.at, self.captures);
        if self.closed.is_none() {
            return self.refuse("a positive lookahead");
        }
        self.at += 1;
        let item = self.look_around("a lookahead", flags)?.0;
        if self.captures > captures {
            return self.refuse("a positive lookahead with groups"); // before 10.31 and 8.42, one is lost
        }
        self.positive_lookahead.get_or_insert(start);
        Ok(item)
    }

    /// Each branch must have a fixed length and no group.
    fn look_behind(&mut self, flags: Flags) -> Result<Item, Refusal> {
        let start = self.at;
        let (item, inside) = self.look_around("a lookbehind", flags)?;
        let has_group = self.text[start..self.at].contains(&b'(');
        if has_group || !is_fixed(&self.looks[inside]) {
            return self.refuse("a lookbehind that not every PCRE takes");
        }
        Ok(item)
    }

    /// `(?<name>` and `(?P<name>`.
    fn named(&mut self, flags: Flags) -> Result<Item, Refusal> {
        let start = self.at - 1;
        if !self.eat(b"<") && !self.eat(b"P<") {
            return self.refuse("an unknown construct (?P");
        }
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let name: String = self.rest().iter().copied().take_while(is_word).map(char::from).collect();
        let starts_well = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
        if !starts_well || name.len() > LONGEST_NAME || self.rest().get(name.len()) != Some(&b'>') {
            return self.refuse("a group name that not every PCRE takes");
        }
        if self.names.contains(&name) {
            return self.refuse("two groups of one name");
        }
        self.at += name.len() + 1;
        self.name_spans.push(start..self.at);
        self.names.push(name.clone());
        self.capture(Some(name), flags)
    }

    /// `(?i)`, `(?s)`, `(?is)`, at the very start of the pattern: further on, their scope differs.
    fn start_flags(&mut self, start: usize, flags: &mut Flags) -> Result<(), Refusal> {
        while let Some(letter @ (b'i' | b's')) = self.peek() {
            flags.caseless |= letter == b'i';
            flags.dot_all |= letter == b's';
            self.at += 1;
        }
        if start != self.flags_end || !self.eat(b")") || self.at_quantifier() {
            return self.refuse("inline flags that not every PCRE reads alike");
        }
        self.flags_end = self.at;
        Ok(())
    }
}

/// Whether each branch is a sequence of single bytes and anchors.
fn is_fixed(ast: &Ast) -> bool {
    let is_plain = |ast: &Ast| ast.is_single() || matches!(ast, Ast::Empty | Ast::Start | Ast::Dollar | Ast::End);
    let is_branch = |ast: &Ast| match ast {
        Ast::Concat(items) => items.iter().all(is_plain),
        one => is_plain(one),
    };
    match ast {
        Ast::Alternation(branches) => branches.iter().all(is_branch),
        one => is_branch(one),
    }
}
