//! Words: where they begin and end, and the value nginx gives them.

use std::borrow::Cow;

use super::{CONF_BUFFER, LexError, LexErrorKind, Lexer, Terminator, Word};
use crate::bytes::all_but;

/// The bytes that stand for themselves in an unquoted word, wherever they are in it.
const IS_PLAIN: [bool; 256] = all_but(b" \t\r\n;{\\$");

impl<'a> Lexer<'a> {
    /// Reads an unquoted word and what ends it.
    pub(super) fn plain_word(&mut self) -> Result<Terminator, LexError> {
        let (start, line) = (self.pos, self.line);
        let window = self.window(start);
        let mut pos = start;
        let mut replaced = false;
        // The first byte never ends a word: the caller has handled bytes that end or open something.
        loop {
            pos += window.get(pos..).map_or(0, plain_bytes);
            let Some(&byte) = window.get(pos) else { break };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' if pos > start => {
                    self.push(start, pos, line, None, replaced);
                    return self.after_plain(start, line, pos);
                }
                b'\\' => {
                    replaced |= self.escaped(pos);
                    pos += 2;
                }
                b'$' => {
                    pos += 1;
                    while window.get(pos) == Some(&b'{') {
                        pos += 1;
                    }
                }
                _ => pos += 1,
            }
        }
        Err(self.unended(start, line, None))
    }

    /// Finishes the word that began at `start` in `line`; the byte at `pos` ended it.
    fn after_plain(&mut self, start: usize, line: u32, pos: usize) -> Result<Terminator, LexError> {
        let byte = self.bytes[pos];
        self.pos = pos + 1;
        match byte {
            b';' => Ok(Terminator::Semicolon),
            b'{' => Ok(Terminator::Brace),
            _ => {
                self.check_buffer(start, line)?;
                self.line += u32::from(byte == b'\n');
                Ok(Terminator::Blank)
            }
        }
    }

    /// Reads a word in quotes and what follows it directly.
    pub(super) fn quoted_word(&mut self, quote: u8) -> Result<Terminator, LexError> {
        let (start, line) = (self.pos, self.line);
        let window = self.window(start + 1);
        let mut pos = start + 1;
        let mut replaced = false;
        while let Some(&byte) = window.get(pos) {
            if byte == b'\\' {
                replaced |= self.escaped(pos);
                pos += 2;
            } else if byte == quote {
                self.push(start, pos + 1, line, Some(quote), replaced);
                return self.after_quote(start, line, pos + 1);
            } else {
                self.line += u32::from(byte == b'\n');
                pos += 1;
            }
        }
        Err(self.unended(start, line, Some(quote)))
    }

    /// Reads what may follow a closing quote: a blank, an ending, or `)`, which begins the next word.
    fn after_quote(&mut self, start: usize, line: u32, pos: usize) -> Result<Terminator, LexError> {
        self.pos = pos;
        self.check_buffer(start + 1, line)?;
        let Some(&byte) = self.bytes.get(pos) else {
            return Ok(Terminator::Blank);
        };
        match byte {
            b')' => return Ok(Terminator::Blank),
            b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' => self.pos += 1,
            _ => return Err(self.error(pos, LexErrorKind::AfterQuote { byte, start })),
        }
        match byte {
            b';' => Ok(Terminator::Semicolon),
            b'{' => Ok(Terminator::Brace),
            _ => {
                self.check_buffer(start + 1, line)?;
                self.line += u32::from(byte == b'\n');
                Ok(Terminator::Blank)
            }
        }
    }

    /// The file up to the offset at which a word that starts at `start` fills nginx's buffer.
    fn window(&self, start: usize) -> &'a [u8] {
        &self.bytes[..self.bytes.len().min(start + CONF_BUFFER)]
    }

    /// Looks at the byte hidden by the `\` at `pos`: counts its line, and returns whether nginx replaces both.
    fn escaped(&mut self, pos: usize) -> bool {
        match self.bytes.get(pos + 1) {
            Some(b'\n') => {
                self.line += 1;
                false
            }
            Some(byte) => b"\"'\\trn".contains(byte),
            None => false,
        }
    }

    fn push(&mut self, start: usize, end: usize, line: u32, quote: Option<u8>, replaced: bool) {
        let bytes = self.bytes;
        let raw = if quote.is_some() { &bytes[start + 1..end - 1] } else { &bytes[start..end] };
        let value = if replaced { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) };
        self.words.push(Word { start, end, line, quoted: quote.is_some(), value });
    }

    /// Checks nginx's buffer: nginx refuses to read on if the buffer is full and still begins with the word at `start`,
    /// even if the word has ended.
    fn check_buffer(&self, start: usize, line: u32) -> Result<(), LexError> {
        if self.pos == start + CONF_BUFFER && self.pos < self.bytes.len() {
            let kind = LexErrorKind::TooLong { head: self.head(start) };
            return Err(LexError { offset: start, line, kind });
        }
        Ok(())
    }

    /// The error for a word, begun at `start` in `line`, that does not end within nginx's buffer, or within the file.
    fn unended(&self, start: usize, line: u32, quote: Option<u8>) -> LexError {
        let content = start + usize::from(quote.is_some());
        if self.bytes.len() > content + CONF_BUFFER {
            let kind = match quote {
                Some(quote) => LexErrorKind::TooLongQuote { quote },
                None => LexErrorKind::TooLong { head: self.head(content) },
            };
            return LexError { offset: start, line, kind };
        }
        let kind = match quote {
            Some(quote) => LexErrorKind::UnclosedQuote { quote, start },
            None => LexErrorKind::EndInStatement { start: self.words.first().map_or(start, |word| word.start) },
        };
        self.error(self.bytes.len(), kind)
    }
}

/// The number of plain bytes at the start.
fn plain_bytes(rest: &[u8]) -> usize {
    rest.iter().position(|byte| !IS_PLAIN[usize::from(*byte)]).unwrap_or(rest.len())
}

/// The value of a word with the escapes nginx replaces.
fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut value = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [byte, tail @ ..] = rest {
        let replacement = match (byte, tail.first()) {
            (b'\\', Some(&escaped @ (b'"' | b'\'' | b'\\'))) => Some(escaped),
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'r')) => Some(b'\r'),
            (b'\\', Some(b'n')) => Some(b'\n'),
            _ => None,
        };
        value.push(replacement.unwrap_or(*byte));
        rest = if replacement.is_some() { &tail[1..] } else { tail };
    }
    value
}
