//! Escapes.

use super::named::{self, VERTICAL_TAB};
use super::parse::{Flags, Item, Parser, literal};
use super::{Ast, ByteSet, Refusal};

/// The meaning of an escape that is allowed inside and outside a class.
pub(super) enum Escaped {
    Byte(u8),
    Set(ByteSet),
    /// `\s` or `\S`, with the vertical tab, which it may or may not contain.
    Spaces(ByteSet),
}

impl Parser<'_> {
    /// Reads an escape outside a class. The next byte is the backslash.
    pub(super) fn escape(&mut self, flags: Flags) -> Result<Item, Refusal> {
        let backslash = self.at;
        self.at += 1;
        let Some(letter) = self.peek() else {
            return self.error("a backslash at the end of the pattern");
        };
        if let Some(escaped) = self.common_escape(letter)? {
            return Ok(Item::atom(match escaped {
                Escaped::Byte(byte) => literal(byte, flags),
                Escaped::Set(set) => Ast::Class(set),
                Escaped::Spaces(set) => Ast::spaces(set),
            }));
        }
        self.at += 1;
        Ok(match letter {
            b'A' => Item::assertion(Ast::Start),
            b'z' => Item::assertion(Ast::End),
            b'Z' => {
                self.dollars.push(backslash..self.at);
                Item::assertion(Ast::Dollar)
            }
            b'b' => self.boundary(Ast::WordBoundary)?,
            b'B' => self.boundary(Ast::NotWordBoundary)?,
            b'h' => Item::atom(Ast::Class(named::horizontal_space())),
            b'1'..=b'9' if self.is_reference(letter) => {
                let anything = Ast::Repeat { min: 0, max: None, greedy: true, sub: Box::new(Ast::Class(ByteSet::ALL)) };
                Item::assertion(Ast::superset("a reference to a group", anything))
            }
            _ => {
                self.at = backslash;
                return self.refuse("an escape that is not on the list");
            }
        })
    }

    /// Whether a digit, which has been read, refers to a group that has ended, with one meaning in every PCRE. Several
    /// digits may be octal, and some releases had bugs in references after look-arounds.
    fn is_reference(&self, digit: u8) -> bool {
        let number = u32::from(digit - b'0');
        let is_closed = self.closed.as_ref().is_some_and(|closed| closed.contains(&number));
        let is_alone = !self.peek().is_some_and(|next| next.is_ascii_digit());
        is_closed && is_alone && self.looks.is_empty()
    }

    /// Refuses `\b{`, which starts something else in some releases of PCRE2.
    fn boundary(&self, ast: Ast) -> Result<Item, Refusal> {
        if self.peek() == Some(b'{') { self.refuse("a brace after \\b") } else { Ok(Item::assertion(ast)) }
    }

    /// Reads an escape with one meaning in every PCRE. The backslash has been read. `None` for other escapes, of which
    /// nothing is read.
    pub(super) fn common_escape(&mut self, letter: u8) -> Result<Option<Escaped>, Refusal> {
        let escaped = match letter {
            b'x' => return self.hexadecimal().map(Some),
            b'a' => Escaped::Byte(7),
            b'e' => Escaped::Byte(27),
            b'f' => Escaped::Byte(12),
            b'n' => Escaped::Byte(b'\n'),
            b'r' => Escaped::Byte(b'\r'),
            b't' => Escaped::Byte(b'\t'),
            b'd' => Escaped::Set(named::digit()),
            b'D' => Escaped::Set(named::digit().complement()),
            b's' => self.spaces(named::space()),
            b'S' => self.spaces(named::space().complement()),
            b'w' => Escaped::Set(named::word()),
            b'W' => Escaped::Set(named::word().complement()),
            0 => return self.refuse("a zero byte"),
            other if !other.is_ascii_alphanumeric() => Escaped::Byte(other),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(escaped))
    }

    fn spaces(&mut self, mut set: ByteSet) -> Escaped {
        self.has_spaces = true;
        set.insert(VERTICAL_TAB);
        Escaped::Spaces(set)
    }

    /// Reads `\xhh`, with two digits.
    fn hexadecimal(&mut self) -> Result<Escaped, Refusal> {
        let digits = self.text.get(self.at + 1..self.at + 3).unwrap_or_default();
        let value = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match value.and_then(|text| u8::from_str_radix(text, 16).ok()).filter(|_| digits.len() == 2) {
            Some(byte) => {
                self.at += 3;
                Ok(Escaped::Byte(byte))
            }
            None => self.refuse("\\x without two digits"),
        }
    }
}
