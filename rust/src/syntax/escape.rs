//! What starts with a backslash.

use super::class::named;
use super::parse::{Flags, Item, Parser, literal};
use super::{Ast, ByteSet, Refusal};

/// What an escape that is allowed inside a class and outside stands for.
pub(super) enum Escaped {
    Byte(u8),
    Set(ByteSet),
}

impl Parser<'_> {
    /// An escape outside a class. The next byte is the backslash.
    pub(super) fn escape(&mut self, flags: Flags) -> Result<Item, Refusal> {
        let backslash = self.at;
        self.at += 1;
        let Some(letter) = self.peek() else {
            return self.refuse("a backslash at the end of the pattern");
        };
        if let Some(escaped) = self.common_escape(letter)? {
            return Ok(Item::atom(match escaped {
                Escaped::Byte(byte) => literal(byte, flags),
                Escaped::Set(set) => Ast::Class(set),
            }));
        }
        self.at += 1;
        Ok(match letter {
            b'A' | b'G' => Item::assertion(Ast::Start),
            b'z' => Item::assertion(Ast::End),
            b'Z' => {
                self.dollars.push(backslash..self.at);
                Item::assertion(Ast::Dollar)
            }
            b'b' => Item::assertion(Ast::WordBoundary),
            b'B' => Item::assertion(Ast::NotWordBoundary),
            // \K moves the start of the match that is reported, not what matches.
            b'K' => Item::assertion(Ast::Empty),
            b'N' if self.peek() == Some(b'{') => return self.refuse("a character by name"),
            b'N' => Item::atom(Ast::Class(ByteSet::of(|byte| byte != b'\n'))),
            b'C' => Item::atom(Ast::Class(ByteSet::ALL)),
            b'R' => Item::atom(Ast::superset("\\R, which is atomic", newline_sequence())),
            b'X' => Item::atom(Ast::superset("a grapheme cluster", Ast::anything())),
            b'p' | b'P' => self.property()?,
            b'1'..=b'9' | b'k' | b'g' => self.reference(letter)?,
            _ => {
                self.at = backslash;
                return self.refuse("an escape that is not on the list");
            }
        })
    }

    /// An escape with one meaning everywhere; `None`, and nothing read, for others. The backslash was read.
    pub(super) fn common_escape(&mut self, letter: u8) -> Result<Option<Escaped>, Refusal> {
        let escaped = match letter {
            b'x' => return self.hexadecimal().map(Some),
            b'o' => return self.braced_octal().map(Some),
            b'c' => return self.control().map(Some),
            b'0' => {
                // Up to two more octal digits; the result fits a byte.
                let (value, digits) = self.digits(self.at + 1, 2, 8);
                self.at += 1 + digits;
                return Ok(Some(Escaped::Byte(value as u8)));
            }
            b'a' => Escaped::Byte(7),
            b'e' => Escaped::Byte(27),
            b'f' => Escaped::Byte(12),
            b'n' => Escaped::Byte(b'\n'),
            b'r' => Escaped::Byte(b'\r'),
            b't' => Escaped::Byte(b'\t'),
            b'd' => Escaped::Set(named::digit()),
            b'D' => Escaped::Set(named::digit().complement()),
            b'h' => Escaped::Set(named::horizontal_space()),
            b'H' => Escaped::Set(named::horizontal_space().complement()),
            b's' => Escaped::Set(named::space()),
            b'S' => Escaped::Set(named::space().complement()),
            b'v' => Escaped::Set(named::vertical_space()),
            b'V' => Escaped::Set(named::vertical_space().complement()),
            b'w' => Escaped::Set(named::word()),
            b'W' => Escaped::Set(named::word().complement()),
            other if !other.is_ascii_alphanumeric() => Escaped::Byte(other),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(escaped))
    }

    /// The value and the number of the digits at `from`, `most` at most.
    pub(super) fn digits(&self, from: usize, most: usize, radix: u32) -> (u32, usize) {
        let digits = self.text[from..].iter().take(most);
        digits
            .map_while(|&byte| char::from(byte).to_digit(radix))
            .fold((0, 0), |(value, count), digit| (value * radix + digit, count + 1))
    }

    /// `\xh`, `\xhh`, `\x{h...}`; a bare `\x` is NUL.
    fn hexadecimal(&mut self) -> Result<Escaped, Refusal> {
        if self.peek_second() == Some(b'{') {
            return self.braced(16);
        }
        let (value, digits) = self.digits(self.at + 1, 2, 16);
        self.at += 1 + digits;
        Ok(Escaped::Byte(value as u8))
    }

    /// `\o{...}`
    fn braced_octal(&mut self) -> Result<Escaped, Refusal> {
        if self.peek_second() == Some(b'{') {
            return self.braced(8);
        }
        self.refuse("\\o without a brace")
    }

    /// The number in braces after the next byte.
    fn braced(&mut self, radix: u32) -> Result<Escaped, Refusal> {
        let from = self.at + 2;
        let (value, digits) = self.digits(from, 7, radix);
        match u8::try_from(value) {
            Ok(byte) if digits > 0 && self.text.get(from + digits) == Some(&b'}') => {
                self.at = from + digits + 1;
                Ok(Escaped::Byte(byte))
            }
            _ => self.refuse("a number in braces that is no byte"),
        }
    }

    /// `\cX`
    fn control(&mut self) -> Result<Escaped, Refusal> {
        match self.peek_second() {
            Some(key @ b' '..=b'~') => {
                self.at += 2;
                Ok(Escaped::Byte(key.to_ascii_uppercase() ^ 0x40))
            }
            _ => self.refuse("\\c without a printable character"),
        }
    }

    /// `\pL` or `\p{...}`: which characters have a property is not decided here, so any byte may.
    fn property(&mut self) -> Result<Item, Refusal> {
        if self.peek() == Some(b'{') {
            self.skip_past(b'}', "a property that does not end")?;
        } else if self.at < self.text.len() {
            self.at += 1;
        } else {
            return self.refuse("a property without a name");
        }
        Ok(Item::atom(Ast::superset("a Unicode property", Ast::Class(ByteSet::ALL))))
    }

    /// `\1`, `\k<name>`, `\g{1}`, `\g<name>`: what the group matched, or the group again. `\10` may be octal: refused.
    fn reference(&mut self, letter: u8) -> Result<Item, Refusal> {
        match (letter, self.peek()) {
            (b'k' | b'g', Some(open @ (b'<' | b'{' | b'\''))) => {
                let close = match open {
                    b'<' => b'>',
                    b'{' => b'}',
                    _ => b'\'',
                };
                self.at += 1;
                self.skip_past(close, "a reference that does not end")?;
            }
            (b'k' | b'g', _) => return self.refuse("a reference without a delimiter"),
            (_, Some(b'0'..=b'9')) => {
                return self.refuse("a backreference or octal number of several digits");
            }
            _ => {}
        }
        Ok(Item::atom(Ast::superset("a backreference or a call", Ast::anything())))
    }
}

/// What `\R` matches: CR LF, or one vertical space.
fn newline_sequence() -> Ast {
    let pair = Ast::Concat(vec![Ast::Byte(b'\r'), Ast::Byte(b'\n')]);
    Ast::Alternation(vec![pair, Ast::Class(named::vertical_space())])
}
