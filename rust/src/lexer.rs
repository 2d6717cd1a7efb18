//! Splits a file into tokens as nginx does (`ngx_conf_read_token` in src/core/ngx_conf_file.c), in one pass.
//!
//! [`Lexer`] reads bytes and yields [`Event`]s, statement by statement, with the byte span of every word. It accepts
//! and rejects what nginx accepts and rejects while *reading* a file; it does not know which directives exist, or where
//! they are allowed.
//!
//! Rules that are easy to miss, each verified on nginx 1.22.1:
//!
//! * A quote opens a quoted word only as the first byte of a word, and after the closing quote only a blank, `;`, `{`
//!   or `)` may follow; `)` begins a new word.
//! * `\` hides the next byte from the lexer everywhere. `\" \' \\ \t \r \n` are replaced in the value, quoted or not;
//!   any other backslash stays.
//! * In an unquoted word `}` and `#` are plain bytes, and `{` is one directly after `$`.
//! * A word, a closing quote included, must end within nginx's buffer of 4,096 bytes; so must a comment.
//! * A UTF-8 byte order mark is not skipped: it is the beginning of the first word, and even of a comment there, which
//!   is then no comment (`unknown directive "\u{feff}#"`).
//!
//! Deliberate differences: `*_by_lua_block { ... }` is read as OpenResty reads it (stock nginx knows no such
//! directive), the body being one opaque word; and an unclosed quote is distinguished from other unexpected ends of a
//! file.

pub mod bulk;
mod error;
mod lua;
mod word;

pub use error::{LexError, LexErrorKind};

use std::borrow::Cow;

/// The size of nginx's buffer for a file (`NGX_CONF_BUFFER`). A word that does not fit into it is refused.
pub const CONF_BUFFER: usize = 4096;

/// One word of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    /// Offset of the first byte as written, the opening quote included.
    pub start: usize,
    /// Offset just after the last byte as written, the closing quote included.
    pub end: usize,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Whether the word is written in quotes.
    pub quoted: bool,
    /// The value nginx works with: without quotes, unescaped. Borrowed unless an escape was replaced.
    pub value: Cow<'a, [u8]>,
}

/// What ends a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terminator {
    Blank,
    Semicolon,
    Brace,
}

/// The parts of a file, in order. A comment between the words of a statement precedes that statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// `words ;`, or a whole `*_by_lua_block { ... }`, whose body is the last word.
    Statement {
        /// At least one word; the first is the directive's name.
        words: Vec<Word<'a>>,
        /// Offset just after the `;` (or the `}` of a Lua block).
        end: usize,
    },
    /// `words {`
    Open {
        /// At least one word; the first is the directive's name.
        words: Vec<Word<'a>>,
        /// Offset just after the `{`.
        end: usize,
    },
    /// `}`
    Close {
        /// Offset of the `}`.
        start: usize,
        /// Line of the `}`, from 1.
        line: u32,
    },
    /// `# ...` up to, not including, the line feed.
    Comment {
        /// Offset of the `#`.
        start: usize,
        /// Offset of the line feed, or of the end of the file.
        end: usize,
        /// Line of the comment, from 1.
        line: u32,
    },
}

/// A place between two statements from which reading can continue later. See [`Lexer::is_between`].
///
/// It is never copied: there may be a million open blocks.
#[derive(Debug, Default)]
pub struct Checkpoint {
    pos: usize,
    newlines: u32,
    open: Vec<usize>,
}

impl Checkpoint {
    /// A checkpoint at offset `pos` in `line`, where a statement starts. The end of the enclosing block must not be
    /// read.
    pub fn at(pos: usize, line: u32) -> Self {
        Self { pos, newlines: line.saturating_sub(1), open: Vec::new() }
    }
}

/// An iterator over the [`Event`]s of one file. It ends after the first error.
///
/// Linear in the bytes read. It allocates one `Vec` per statement, and a value only if an escape is replaced.
///
/// ```
/// use nginxopt_native::lexer::{Event, Lexer};
/// let mut lexer = Lexer::new(b"rewrite ^/a$ /b permanent;");
/// let Some(Ok(Event::Statement { words, end })) = lexer.next() else { panic!() };
/// assert_eq!((words[1].value.as_ref(), words[1].start, end), (&b"^/a$"[..], 8, 26));
/// assert!(lexer.next().is_none());
/// ```
#[derive(Debug)]
pub struct Lexer<'a> {
    bytes: &'a [u8],
    pos: usize,
    line: u32,
    /// Offsets of the `{` that are open, outermost first.
    open: Vec<usize>,
    /// The words read so far of the current statement, or the words of the last statement.
    words: Vec<Word<'a>>,
    /// Whether `words` belong to a finished statement.
    finished: bool,
    failed: bool,
}

/// An [`Event`] whose words stay in the lexer, so that a caller who drops them does not pay for a `Vec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawEvent {
    Statement { end: usize },
    Open { end: usize },
    Close { start: usize, line: u32 },
    Comment { start: usize, end: usize, line: u32 },
}

impl<'a> Lexer<'a> {
    /// A lexer at the first byte of a file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::resume(bytes, Checkpoint::default())
    }

    /// A lexer that continues from a checkpoint, over the same bytes.
    pub fn resume(bytes: &'a [u8], from: Checkpoint) -> Self {
        Self {
            bytes,
            pos: from.pos,
            line: from.newlines + 1,
            open: from.open,
            words: Vec::with_capacity(4),
            finished: false,
            failed: false,
        }
    }

    /// Whether the place reached is between two statements. It is not after an error and inside a statement, where only
    /// a comment between words stops.
    pub fn is_between(&self) -> bool {
        (self.finished || self.words.is_empty()) && !self.failed
    }

    /// The place reached.
    pub fn into_checkpoint(self) -> Checkpoint {
        Checkpoint { pos: self.pos, newlines: self.line - 1, open: self.open }
    }

    /// The place reached. What is read from now on is as if no block was open.
    pub(crate) fn take_checkpoint(&mut self) -> Checkpoint {
        Checkpoint { pos: self.pos, newlines: self.line - 1, open: std::mem::take(&mut self.open) }
    }

    /// The words of the last [`RawEvent::Statement`] or [`RawEvent::Open`].
    pub(crate) fn words(&self) -> &[Word<'a>] {
        &self.words
    }

    /// As [`Lexer::words`], but moves the words out of the lexer.
    pub(crate) fn take_words(&mut self) -> std::vec::Drain<'_, Word<'a>> {
        self.words.drain(..)
    }

    /// Moves to `pos` in `line`, which must be between two statements of the current block.
    pub(crate) fn skip_to(&mut self, pos: usize, line: u32) {
        self.words.clear();
        self.pos = pos;
        self.line = line;
    }

    /// Offset and line of the place reached.
    pub(crate) fn place(&self) -> (usize, u32) {
        (self.pos, self.line)
    }

    /// Reads the next event, its words into `self.words`.
    pub(crate) fn step(&mut self) -> Option<Result<RawEvent, LexError>> {
        if self.failed {
            return None;
        }
        if self.finished {
            self.words.clear();
            self.finished = false;
        }
        let step = self.read().transpose();
        self.failed = matches!(step, Some(Err(_)));
        step
    }

    fn read(&mut self) -> Result<Option<RawEvent>, LexError> {
        loop {
            self.skip_blanks();
            let Some(&byte) = self.bytes.get(self.pos) else {
                return self.end_of_file();
            };
            let terminator = match byte {
                b'}' => return self.close().map(Some),
                b'#' => return self.comment().map(Some),
                b';' | b'{' if self.words.is_empty() => {
                    return Err(self.error(self.pos, LexErrorKind::NoDirective(byte)));
                }
                b';' | b'{' => {
                    self.pos += 1;
                    if byte == b';' { Terminator::Semicolon } else { Terminator::Brace }
                }
                b'"' | b'\'' => self.quoted_word(byte)?,
                _ => self.plain_word()?,
            };
            match terminator {
                Terminator::Blank => {}
                Terminator::Semicolon => {
                    self.finished = true;
                    return Ok(Some(RawEvent::Statement { end: self.pos }));
                }
                Terminator::Brace => return self.open_block().map(Some),
            }
        }
    }

    fn skip_blanks(&mut self) {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        let count = rest.iter().position(|byte| !b" \t\r\n".contains(byte)).unwrap_or(rest.len());
        self.line += memchr::memchr_iter(b'\n', &rest[..count]).count() as u32;
        self.pos += count;
    }

    fn end_of_file(&self) -> Result<Option<RawEvent>, LexError> {
        if let Some(first) = self.words.first() {
            return Err(self.error(self.bytes.len(), LexErrorKind::EndInStatement { start: first.start }));
        }
        match self.open.last() {
            Some(&open) => Err(self.error(self.bytes.len(), LexErrorKind::UnclosedBlock { open })),
            None => Ok(None),
        }
    }

    fn close(&mut self) -> Result<RawEvent, LexError> {
        if let Some(first) = self.words.first() {
            return Err(self.error(self.pos, LexErrorKind::CloseInStatement { start: first.start }));
        }
        if self.open.pop().is_none() {
            return Err(self.error(self.pos, LexErrorKind::UnmatchedClose));
        }
        self.pos += 1;
        Ok(RawEvent::Close { start: self.pos - 1, line: self.line })
    }

    fn comment(&mut self) -> Result<RawEvent, LexError> {
        let start = self.pos;
        let rest = &self.bytes[start..];
        let end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        if end - start >= CONF_BUFFER && self.bytes.len() > start + CONF_BUFFER {
            return Err(self.error(start, LexErrorKind::TooLong { head: self.head(start) }));
        }
        self.pos = end;
        Ok(RawEvent::Comment { start, end, line: self.line })
    }

    fn open_block(&mut self) -> Result<RawEvent, LexError> {
        self.finished = true;
        let open = self.pos - 1;
        if self.words[0].value.ends_with(b"_by_lua_block") {
            return self.lua_body(open);
        }
        self.open.push(open);
        Ok(RawEvent::Open { end: self.pos })
    }

    /// Reads the body of a `*_by_lua_block` as one word, its braces standing for the quotes.
    fn lua_body(&mut self, open: usize) -> Result<RawEvent, LexError> {
        let Some(close) = lua::closing_brace(self.bytes, open + 1) else {
            self.line += count_newlines(&self.bytes[open..]);
            return Err(self.error(self.bytes.len(), LexErrorKind::UnclosedBlock { open }));
        };
        let value = &self.bytes[open + 1..close];
        self.words.push(Word { start: open, end: close + 1, line: self.line, quoted: true, value: value.into() });
        self.line += count_newlines(value);
        self.pos = close + 1;
        Ok(RawEvent::Statement { end: self.pos })
    }

    /// The first ten bytes of a word, which nginx prints if the word is too long.
    fn head(&self, start: usize) -> Vec<u8> {
        self.bytes[start..].iter().copied().take(10).collect()
    }

    fn error(&self, offset: usize, kind: LexErrorKind) -> LexError {
        LexError { offset, line: self.line, kind }
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Result<Event<'a>, LexError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = match self.step()? {
            Ok(step) => step,
            Err(error) => return Some(Err(error)),
        };
        let mut take_words = || std::mem::replace(&mut self.words, Vec::with_capacity(4));
        Some(Ok(match step {
            RawEvent::Statement { end } => Event::Statement { words: take_words(), end },
            RawEvent::Open { end } => Event::Open { words: take_words(), end },
            RawEvent::Close { start, line } => Event::Close { start, line },
            RawEvent::Comment { start, end, line } => Event::Comment { start, end, line },
        }))
    }
}

fn count_newlines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}
