//! Describes how rows begin: by symbols, which are bytes and dots, or by sets of bytes.

use std::collections::HashMap;

use crate::prove_map::prover::{Place, Prover};
use crate::prove_map::row::{Heads, OriginalRow};
use crate::syntax::{Ast, ByteSet};

/// A text of bytes and dots. The number of a dot is above those of the bytes.
pub type Symbols = Vec<u16>;

pub const DOT: u16 = 256;
pub const ANY_BYTE: u16 = 257;
/// The symbol of what a dot matches except a dot.
pub const NO_DOT: u16 = 259;

/// The live rows of bytes and dots, by their text with dots as dots.
pub type RowsByText = HashMap<Vec<u8>, Vec<usize>>;

impl Prover<'_> {
    /// The live rows of bytes and dots.
    pub fn rows_by_text(&self, place: &Place) -> RowsByText {
        let mut rows = RowsByText::new();
        for (number, row) in
            self.rows.list.iter().enumerate().filter(|(number, _)| place.live[*number] || place.passed[*number])
        {
            if let Some((symbols, _)) = symbols_of(row) {
                rows.entry(with_dots(&symbols)).or_default().push(number);
            }
        }
        rows
    }

    /// The first of some rows that matches all subjects that begin with these symbols; if `is_line`, all that also end
    /// with them.
    pub fn row_of(&self, rows: &[usize], symbols: &[u16], is_line: bool, place: &Place) -> Option<usize> {
        let fits = |row: &&usize| {
            let row = &self.rows.list[**row];
            let Some((own, rest)) = symbols_of(row).filter(|(own, _)| holds(own, symbols)) else {
                return false;
            };
            if is_line { matches!(rest, [Ast::Dollar]) } else { self.is_open(row, &own, place) }
        };
        rows.iter().find(fits).copied()
    }

    /// Whether `parts` together are the symbols of a row: the same symbols, or two texts that differ in one place,
    /// where the row has a dot, one text has the byte `.`, and the other has [`NO_DOT`].
    pub fn are_all_of(&self, row: usize, parts: &[Symbols]) -> bool {
        let Some((own, _)) = symbols_of(&self.rows.list[row]) else { return false };
        match parts {
            [part] => *part == own,
            [one, other] => (0..own.len()).any(|at| {
                let mut both = [one[at], other[at]];
                both.sort_unstable();
                let is_own = |part: &Symbols| part[..at] == own[..at] && part[at + 1..] == own[at + 1..];
                own[at] == DOT && both == [u16::from(b'.'), NO_DOT] && is_own(one) && is_own(other)
            }),
            _ => false,
        }
    }

    /// Whether a row matches all subjects that reach this place and begin with its bytes and dots.
    fn is_open(&self, row: &OriginalRow, symbols: &[u16], place: &Place) -> bool {
        // If the last symbol is a byte, what may follow does not depend on the dots.
        let Some(key) =
            symbols.iter().map(|symbol| u8::try_from(*symbol).ok().or(Some(b'.'))).collect::<Option<Vec<u8>>>()
        else {
            return false;
        };
        symbols.last().is_some_and(|last| *last < DOT)
            && row
                .language
                .is_some_and(|language| self.questions.covers(language, &key, false, place.left_out.as_deref()))
    }
}

/// Writes symbols as text, with dots as dots.
pub fn with_dots(symbols: &[u16]) -> Vec<u8> {
    symbols.iter().map(|symbol| u8::try_from(*symbol).unwrap_or(b'.')).collect()
}

/// Whether each symbol of `own` matches all that the symbol of `symbols` in the same place does.
fn holds(own: &[u16], symbols: &[u16]) -> bool {
    let is_held =
        |(own, symbol): (&u16, &u16)| own == symbol || *own == DOT && (*symbol == u16::from(b'.') || *symbol == NO_DOT);
    own.len() == symbols.len() && own.iter().zip(symbols).all(is_held)
}

/// How the subjects begin on which PCRE matches a row or gives up on it.
pub struct Start {
    /// The bytes allowed at each place.
    sets: Vec<ByteSet>,
    /// Whether at most a newline follows.
    is_line: bool,
}

impl Start {
    /// `None` if PCRE may match the row or give up on it for subjects with any beginning.
    pub fn of(row: &OriginalRow) -> Option<Start> {
        if row.language.is_none() {
            let either_case = |byte: u8| ByteSet::one(byte).fold();
            let Heads::Exact(heads) = row.heads(true) else { return None };
            let [head] = heads.as_slice() else { return None };
            return Some(Start { sets: head.iter().copied().map(either_case).collect(), is_line: false });
        }
        row.beginning()?;
        let (items, rest) = singles(row)?;
        let set = |item: &Ast| item.byte_set().unwrap_or(ByteSet::ALL);
        let is_line = matches!(rest, [Ast::Dollar]) && !row.may_give_up;
        Some(Start { sets: items.iter().map(set).collect(), is_line })
    }

    /// Whether no subject can begin like both rows.
    pub fn is_apart(&self, other: &Start) -> bool {
        let are_apart = |(one, other): (&ByteSet, &ByteSet)| one.intersection(other).is_empty();
        self.sets.iter().zip(&other.sets).any(are_apart) || self.ends_before(other) || other.ends_before(self)
    }

    /// Whether every subject that begins like the other row is too long for this one.
    fn ends_before(&self, other: &Start) -> bool {
        let behind = other.sets.get(self.sets.len()..).unwrap_or_default();
        let may_be_newline = behind.len() <= 1 && behind.iter().all(|set| set.contains(b'\n'));
        self.is_line && !may_be_newline
    }
}

/// The single bytes and sets that an anchored row begins with, and what follows them.
fn singles<'r>(row: &OriginalRow<'r>) -> Option<(&'r [Ast], &'r [Ast])> {
    let Ast::Concat(items) = &row.language?.pattern.ast else { return None };
    let [Ast::Start, items @ ..] = items.as_slice() else { return None };
    let count = items.iter().take_while(|item| matches!(item, Ast::Byte(_) | Ast::Class(_))).count();
    Some(items.split_at(count))
}

/// The bytes and dots that an anchored row begins with, and what follows them.
fn symbols_of<'r>(row: &OriginalRow<'r>) -> Option<(Symbols, &'r [Ast])> {
    let (items, rest) = singles(row)?;
    Some((symbols(items)?, rest))
}

/// The symbols of items that are all bytes and dots.
pub fn symbols(items: &[Ast]) -> Option<Symbols> {
    let symbol = |item: &Ast| match item {
        Ast::Byte(byte) => Some(u16::from(*byte)),
        Ast::Class(set) if *set == ByteSet::NO_NEWLINE => Some(DOT),
        Ast::Class(set) if *set == ByteSet::ALL => Some(ANY_BYTE),
        _ => None,
    };
    items.iter().map(symbol).collect()
}

/// Splits a value around its only variable, if that has this name.
pub fn around_variable<'v>(value: &'v [u8], name: &[u8]) -> Option<(&'v [u8], &'v [u8])> {
    let at = memchr::memchr(b'$', value)?;
    let after = value[at + 1..].strip_prefix(name)?;
    let ends = after.first().is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    (ends && !after.contains(&b'$')).then_some((&value[..at], after))
}

#[cfg(test)]
mod tests {
    use super::around_variable;

    /// A value has one variable, and its name ends there.
    #[test]
    fn variables() {
        assert_eq!(around_variable(b"/v1.$key.html", b"key"), Some((&b"/v1."[..], &b".html"[..])));
        assert_eq!(around_variable(b"$key", b"key"), Some((&b""[..], &b""[..])));
        for value in [&b"/v1.$keys"[..], b"/v1.$key$key", b"$1$key", b"/v1.", b"${key}", b"$ke"] {
            assert_eq!(around_variable(value, b"key"), None);
        }
    }
}
