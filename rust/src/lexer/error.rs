//! The errors of nginx while it reads a file, in its own words.

use std::fmt;

/// The first place at which a file cannot be read. `Display` is nginx's message, without its ` in FILE:LINE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexError {
    /// Offset of the refused byte; the length of the file if it ends too early; the start of a word that is too long.
    pub offset: usize,
    /// The line nginx names in its message, from 1.
    pub line: u32,
    /// What is refused.
    pub kind: LexErrorKind,
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LexErrorKind {
    /// A `;` or `{` without a word before it.
    NoDirective(u8),
    /// A `}` where the `;` of the statement that begins at `start` is missing.
    CloseInStatement {
        /// Offset of the statement's first word.
        start: usize,
    },
    /// A `}` that closes no block of this file.
    UnmatchedClose,
    /// A byte directly after a closing quote that is not allowed there.
    AfterQuote {
        /// The byte refused.
        byte: u8,
        /// Offset of the opening quote.
        start: usize,
    },
    /// The file ends inside the statement that begins at `start`.
    EndInStatement {
        /// Offset of the statement's first word.
        start: usize,
    },
    /// The file ends inside quotes.
    UnclosedQuote {
        /// `"` or `'`.
        quote: u8,
        /// Offset of the opening quote.
        start: usize,
    },
    /// The file ends inside a block.
    UnclosedBlock {
        /// Offset of its `{`.
        open: usize,
    },
    /// A word or a comment that does not fit into nginx's buffer ([`super::CONF_BUFFER`]).
    TooLong {
        /// Its first bytes, at most ten.
        head: Vec<u8>,
    },
    /// A quoted word whose closing quote is not within nginx's buffer.
    TooLongQuote {
        /// `"` or `'`.
        quote: u8,
    },
}

impl LexErrorKind {
    /// A short, stable name of the kind, for callers that treat the kinds differently.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoDirective(_) => "no-directive",
            Self::CloseInStatement { .. } => "close-in-statement",
            Self::UnmatchedClose => "unmatched-close",
            Self::AfterQuote { .. } => "after-quote",
            Self::EndInStatement { .. } => "end-in-statement",
            Self::UnclosedQuote { .. } => "unclosed-quote",
            Self::UnclosedBlock { .. } => "unclosed-block",
            Self::TooLong { .. } => "too-long",
            Self::TooLongQuote { .. } => "too-long-quote",
        }
    }

    /// nginx's message, as the bytes that nginx writes: bytes of the file are copied unchanged.
    pub fn message(&self) -> Vec<u8> {
        match self {
            Self::NoDirective(byte) | Self::AfterQuote { byte, .. } => [b"unexpected \"", &[*byte][..], b"\""].concat(),
            Self::CloseInStatement { .. } | Self::UnmatchedClose => b"unexpected \"}\"".to_vec(),
            Self::EndInStatement { .. } | Self::UnclosedQuote { .. } => {
                b"unexpected end of file, expecting \";\" or \"}\"".to_vec()
            }
            Self::UnclosedBlock { .. } => b"unexpected end of file, expecting \"}\"".to_vec(),
            Self::TooLong { head } => [b"too long parameter \"", &head[..], b"...\" started"].concat(),
            Self::TooLongQuote { quote } => {
                [b"too long parameter, probably missing terminating \"", &[*quote][..], b"\" character"].concat()
            }
        }
    }

    /// The start of what is unfinished: a statement, a quoted word, a block.
    pub fn opened_at(&self) -> Option<usize> {
        match *self {
            Self::CloseInStatement { start }
            | Self::AfterQuote { start, .. }
            | Self::EndInStatement { start }
            | Self::UnclosedQuote { start, .. } => Some(start),
            Self::UnclosedBlock { open } => Some(open),
            _ => None,
        }
    }
}

impl fmt::Display for LexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.kind.message()))
    }
}

impl std::error::Error for LexError {}
