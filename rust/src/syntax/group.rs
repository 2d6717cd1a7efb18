//! What starts with `(`.

use super::parse::{Flags, Item, Parser};
use super::{Ast, Refusal};

/// The longest name of a group (`MAX_NAME_SIZE` of PCRE2 up to 10.43).
const LONGEST_NAME: usize = 32;

impl Parser<'_> {
    /// A group; `None` for a comment or flags, which match nothing themselves. The next byte is `(`.
    pub(super) fn group(&mut self, flags: &mut Flags) -> Result<Option<Item>, Refusal> {
        if self.rest().starts_with(b"(*") {
            return self.refuse("a verb or an assertion of the form (*...)");
        }
        if !self.eat(b"(?") {
            self.at += 1;
            return self.capture(None, *flags).map(Some);
        }
        let item = match self.peek() {
            Some(b':') => {
                self.at += 1;
                Item::atom(self.body(*flags)?)
            }
            Some(b'>') => {
                self.at += 1;
                Item::atom(Ast::superset("an atomic group", self.body(*flags)?))
            }
            Some(b'=' | b'!') => {
                self.at += 1;
                self.look_around("a lookahead", *flags)?
            }
            Some(b'<') if matches!(self.peek_second(), Some(b'=' | b'!')) => {
                self.at += 2;
                self.look_around("a lookbehind", *flags)?
            }
            Some(b'<' | b'\'' | b'P') => self.named(*flags)?,
            Some(b'R' | b'0'..=b'9' | b'+' | b'&') => self.call("a recursion")?,
            Some(b'-') if self.peek_second().is_some_and(|byte| byte.is_ascii_digit()) => self.call("a recursion")?,
            Some(b'#') => return self.comment().map(|()| None),
            Some(b'|') => return self.refuse("a branch reset"),
            Some(b'(') => return self.refuse("a conditional group"),
            Some(b'C') => return self.refuse("a callout"),
            _ => return self.inline_flags(flags),
        };
        Ok(Some(item))
    }

    /// The inside of a group and its `)`. Flags set inside end there.
    fn body(&mut self, mut flags: Flags) -> Result<Ast, Refusal> {
        let ast = self.alternation(&mut flags)?;
        if self.eat(b")") { Ok(ast) } else { self.refuse("a missing closing parenthesis") }
    }

    /// Steps over all up to `end` and over `end` itself.
    pub(super) fn skip_past(&mut self, end: u8, missing: &'static str) -> Result<(), Refusal> {
        match self.rest().iter().position(|&byte| byte == end) {
            Some(length) => {
                self.at += length + 1;
                Ok(())
            }
            None => self.refuse(missing),
        }
    }

    fn comment(&mut self) -> Result<(), Refusal> {
        self.skip_past(b')', "a comment that does not end")?;
        if self.at_quantifier() {
            return self.refuse("a quantifier after a comment");
        }
        Ok(())
    }

    fn capture(&mut self, name: Option<String>, flags: Flags) -> Result<Item, Refusal> {
        self.captures += 1;
        let index = self.captures;
        let sub = Box::new(self.body(flags)?);
        Ok(Item::atom(Ast::Capture { index, name, sub }))
    }

    /// Nothing is known of the inside but its groups: the assertion may hold anywhere.
    fn look_around(&mut self, reason: &'static str, flags: Flags) -> Result<Item, Refusal> {
        let dollars = self.dollars.len();
        self.body(flags)?;
        self.dollars.truncate(dollars);
        Ok(Item::assertion(Ast::superset(reason, Ast::Empty)))
    }

    /// A call of a group or of the pattern, or a backreference by name; it may match anything.
    fn call(&mut self, reason: &'static str) -> Result<Item, Refusal> {
        self.skip_past(b')', "a recursion that does not end")?;
        Ok(Item::atom(Ast::superset(reason, Ast::anything())))
    }

    /// `(?<name>`, `(?'name'`, `(?P<name>`; also `(?P=name)` and `(?P>name)`.
    fn named(&mut self, flags: Flags) -> Result<Item, Refusal> {
        if self.eat(b"P") {
            match self.peek() {
                Some(b'<') => {}
                Some(b'=' | b'>') => return self.call("a backreference or a call by name"),
                _ => return self.refuse("an unknown construct (?P"),
            }
        }
        let close = if self.peek() == Some(b'\'') { b'\'' } else { b'>' };
        self.at += 1;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let name: String = self.rest().iter().copied().take_while(is_word).map(char::from).collect();
        let starts_well = name.bytes().next().is_some_and(|first| !first.is_ascii_digit());
        if !starts_well || name.len() > LONGEST_NAME || self.rest().get(name.len()) != Some(&close) {
            return self.refuse("a group name that PCRE2 does not take");
        }
        if self.names.contains(&name) {
            return self.refuse("two groups of one name");
        }
        self.at += name.len() + 1;
        self.names.push(name.clone());
        self.capture(Some(name), flags)
    }

    /// `(?i)`, `(?s-i)` for what follows, `(?i:...)` for a group. Only `i` and `s` are on the list.
    fn inline_flags(&mut self, flags: &mut Flags) -> Result<Option<Item>, Refusal> {
        let mut changed = *flags;
        let mut on = true;
        loop {
            match self.peek() {
                Some(b'i') => changed.caseless = on,
                Some(b's') => changed.dot_all = on,
                Some(b'-') if on => on = false,
                Some(b':') => {
                    self.at += 1;
                    return Ok(Some(Item::atom(self.body(changed)?)));
                }
                Some(b')') => {
                    self.at += 1;
                    *flags = changed;
                    if self.at_quantifier() {
                        return self.refuse("a quantifier after inline flags");
                    }
                    return Ok(None);
                }
                _ => return self.refuse("an inline flag other than i and s"),
            }
            self.at += 1;
        }
    }
}
