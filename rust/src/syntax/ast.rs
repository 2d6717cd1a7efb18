//! A pattern that was read, and why one was not.

use std::fmt;
use std::ops::Range;

use super::byte_set::ByteSet;

/// Why a pattern is refused: the offset where reading stopped, and what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Offset into the pattern, in bytes.
    pub offset: usize,
    /// What is there, in a few words.
    pub reason: &'static str,
    /// Whether every PCRE rejects the pattern, so that nginx does not start.
    pub is_error: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.reason, self.offset)
    }
}

impl std::error::Error for Refusal {}

/// The syntax tree of a pattern. Non-capturing groups and flags leave no node: `(?i)a` is the class `[Aa]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ast {
    /// The empty string.
    Empty,
    /// One byte.
    Byte(u8),
    /// One byte out of a set: a class, a dot, an escape such as `\d`.
    Class(ByteSet),
    /// One after the other.
    Concat(Vec<Ast>),
    /// One of them; the order is the pattern's.
    Alternation(Vec<Ast>),
    /// `sub` at least `min` and at most `max` times (`None`: without end).
    Repeat { min: u32, max: Option<u32>, greedy: bool, sub: Box<Ast> },
    /// A capturing group; `index` is its number, from 1.
    Capture { index: u32, name: Option<String>, sub: Box<Ast> },
    /// `^`, `\A`: the start of the subject.
    Start,
    /// `$`, `\Z`: the end of the subject, or before a newline that ends it.
    Dollar,
    /// `\z`: the end of the subject.
    End,
    /// `\b`, of ASCII words.
    WordBoundary,
    /// `\B`, of ASCII words.
    NotWordBoundary,
    /// A construct that is not regular or not needed exactly; what it matches is contained in `sub`.
    Superset { reason: &'static str, sub: Box<Ast> },
}

impl Ast {
    /// A set of bytes with `\s` or `\S` in it.
    pub(super) fn spaces(set: ByteSet) -> Ast {
        Ast::superset("\\s, which has the vertical tab in most releases", Ast::Class(set))
    }

    /// Whether it matches one byte.
    pub(super) fn is_single(&self) -> bool {
        match self {
            Ast::Byte(_) | Ast::Class(_) => true,
            Ast::Superset { sub, .. } => sub.is_single(),
            _ => false,
        }
    }

    /// Whether its language is known exactly: nothing in it is a [`Ast::Superset`].
    pub fn is_regular(&self) -> bool {
        match self {
            Ast::Superset { .. } => false,
            Ast::Concat(items) | Ast::Alternation(items) => items.iter().all(Ast::is_regular),
            Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } => sub.is_regular(),
            _ => true,
        }
    }

    /// The bytes of which it matches one, if it is a byte or a class.
    pub fn byte_set(&self) -> Option<ByteSet> {
        match self {
            Ast::Byte(byte) => Some(ByteSet::one(*byte)),
            Ast::Class(set) => Some(*set),
            _ => None,
        }
    }

    pub(super) fn superset(reason: &'static str, sub: Ast) -> Ast {
        Ast::Superset { reason, sub: Box::new(sub) }
    }
}

/// A pattern that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The syntax tree.
    pub ast: Ast,
    /// The number of capturing groups, those inside look-arounds included.
    pub captures: u32,
    /// The offsets of the opening parentheses of the capturing groups without a name.
    pub unnamed: Vec<usize>,
    /// The ranges of the `?<name>` and `?P<name>` of the others.
    pub name_spans: Vec<Range<usize>>,
    /// Whether a group has a name; nginx then sets a variable of that name at each match.
    pub named: bool,
    /// Whether it has `\s` or `\S`: PCRE takes the vertical tab for a space since 8.34 only.
    pub spaces: bool,
    /// The contents of its look-arounds.
    pub looks: Vec<Ast>,
}

impl Pattern {
    /// Whether it has letters and ignores the case of all of them.
    pub fn ignores_case(&self) -> bool {
        fn walk(ast: &Ast, letter: &mut bool) -> bool {
            match ast {
                Ast::Byte(byte) => !byte.is_ascii_alphabetic(),
                Ast::Class(set) => (b'a'..=b'z').all(|small| {
                    *letter |= set.contains(small);
                    set.contains(small) == set.contains(small.to_ascii_uppercase())
                }),
                Ast::Concat(parts) | Ast::Alternation(parts) => parts.iter().all(|part| walk(part, letter)),
                Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } => walk(sub, letter),
                Ast::Superset { .. } => false,
                Ast::Empty | Ast::Start | Ast::Dollar | Ast::End | Ast::WordBoundary | Ast::NotWordBoundary => true,
            }
        }
        let mut letter = false;
        walk(&self.ast, &mut letter) && letter
    }
}
