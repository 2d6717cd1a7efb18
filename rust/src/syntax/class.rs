//! Bracketed classes.

use super::escape::Escaped;
use super::named::{self, VERTICAL_TAB};
use super::parse::{Flags, Parser};
use super::{Ast, ByteSet, Refusal};

impl Parser<'_> {
    /// Reads a class. The `[` has been read.
    pub(super) fn class(&mut self, flags: Flags) -> Result<Ast, Refusal> {
        let rest = self.rest();
        if rest.starts_with(b"[:<:]]") || rest.starts_with(b"[:>:]]") {
            return self.refuse("a word edge written as a class");
        }
        if self.opens_like_a_posix_name() {
            return self.refuse("a class that opens like a POSIX name");
        }
        let negated = self.eat(b"^");
        let before = std::mem::take(&mut self.has_spaces);
        let set = self.class_items(flags)?;
        let set = if flags.caseless { set.fold() } else { set };
        let mut set = if negated { set.complement() } else { set };
        if set.is_empty() {
            return self.refuse("a class of no byte");
        }
        let has_spaces = self.has_spaces;
        self.has_spaces |= before;
        if has_spaces {
            set.insert(VERTICAL_TAB);
            return Ok(Ast::spaces(set));
        }
        Ok(Ast::Class(set))
    }

    /// Whether PCRE may take the class for a POSIX name outside a class, which is an error: `[:alpha:]`, `[.a.]`. `[.]`
    /// and `[.-]` are plain classes (`check_posix_syntax()`). Always true if a `[` comes before the `]`, or a backslash
    /// before either of these or another backslash.
    fn opens_like_a_posix_name(&self) -> bool {
        let Some(mark @ (b':' | b'.' | b'=')) = self.peek() else {
            return false;
        };
        let rest = &self.rest()[1..];
        let is_end = |at: usize| match rest[at] {
            b'\\' => matches!(rest.get(at + 1), None | Some(b'\\' | b'[' | b']')),
            byte => matches!(byte, b']' | b'['),
        };
        let Some(length) = (0..rest.len()).find(|at| is_end(*at)) else {
            return true;
        };
        rest[length] != b']' || rest[..length].last() == Some(&mark)
    }

    /// Reads the items up to the closing bracket, which is a plain byte if it comes first.
    fn class_items(&mut self, flags: Flags) -> Result<ByteSet, Refusal> {
        let mut set = ByteSet::EMPTY;
        let mut first = true;
        while first || self.peek() != Some(b']') {
            first = false;
            let item = self.class_item(flags)?;
            match (item, self.range_follows()) {
                (Escaped::Byte(low), true) => {
                    self.at += 1;
                    let high = self.range_end(low)?;
                    (low..=high).for_each(|byte| set.insert(byte));
                }
                (Escaped::Set(_) | Escaped::Spaces(_), true) => return self.refuse("a hyphen after a set"),
                (Escaped::Byte(byte), false) => set.insert(byte),
                (Escaped::Set(other) | Escaped::Spaces(other), false) => set = set.union(&other),
            }
        }
        self.at += 1;
        Ok(set)
    }

    fn range_follows(&self) -> bool {
        self.peek() == Some(b'-') && self.peek_second().is_some_and(|byte| byte != b']')
    }

    fn at_posix_name(&self) -> bool {
        self.peek() == Some(b'[') && matches!(self.peek_second(), Some(b':' | b'.' | b'='))
    }

    fn class_item(&mut self, flags: Flags) -> Result<Escaped, Refusal> {
        if self.at_posix_name() {
            return self.posix_name(flags);
        }
        match self.peek() {
            None => self.error("a class that does not end"),
            Some(0) => self.refuse("a zero byte"),
            Some(b'\\') => self.class_escape(),
            Some(byte) => {
                self.at += 1;
                Ok(Escaped::Byte(byte))
            }
        }
    }

    /// Reads the upper end of a range from `low`. The hyphen has been read.
    fn range_end(&mut self, low: u8) -> Result<u8, Refusal> {
        if self.at_posix_name() {
            return self.refuse("a range that ends in a set");
        }
        let end = match self.peek() {
            Some(b'\\') => self.class_escape()?,
            Some(byte) => {
                self.at += 1;
                Escaped::Byte(byte)
            }
            None => return self.error("a class that does not end"),
        };
        match end {
            Escaped::Byte(high) if low <= high => Ok(high),
            Escaped::Byte(_) => self.error("a range out of order"),
            Escaped::Set(_) | Escaped::Spaces(_) => self.refuse("a range that ends in a set"),
        }
    }

    /// Reads `[:name:]` or `[:^name:]`. If case is ignored, `[:upper:]` and `[:lower:]` are both `[:alpha:]`.
    fn posix_name(&mut self, flags: Flags) -> Result<Escaped, Refusal> {
        let Some(text) = self.rest().strip_prefix(b"[:") else {
            return self.refuse("a collating element");
        };
        let negated = text.starts_with(b"^");
        let text = &text[usize::from(negated)..];
        let length = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if !text[length..].starts_with(b":]") {
            return self.refuse("a bracket that looks like a POSIX name and is none");
        }
        let Some(set) = named::posix(&text[..length]) else {
            return self.refuse("an unknown POSIX name");
        };
        self.at += 2 + usize::from(negated) + length + 2;
        let set = if flags.caseless { set.fold() } else { set };
        Ok(Escaped::Set(if negated { set.complement() } else { set }))
    }

    /// Reads an escape inside a class. The next byte is the backslash.
    fn class_escape(&mut self) -> Result<Escaped, Refusal> {
        self.at += 1;
        let Some(letter) = self.peek() else {
            return self.error("a backslash at the end of the pattern");
        };
        match self.common_escape(letter)? {
            Some(escaped) => Ok(escaped),
            None => self.refuse("an escape that is not on the list for classes"),
        }
    }
}
