//! Reads maps whose patterns stand for several rows each: rows of bytes and dots that differ in one piece, which the
//! pattern captures. The value names the row by a key of the tree.
//!
//! # Lemma
//!
//! Let a pattern be `^AtB` or `^AtB$`, where A and B are bytes and dots, and t one of the strings t1, ..., tn, in the
//! order in which PCRE prefers them. Let each `^AtiB`, with or without `$`, be the language of a row on which PCRE never
//! gives up. Then the pattern matches if one of these rows does, and captures the string of the first of them that does.
//!
//! *Proof.* A and B match strings of one length only, in one way. So PCRE, which tries the strings in turn, finds a match
//! with ti if and only if the row of ti matches, and takes the first.

use std::collections::{HashMap, HashSet};

use crate::map_block::{MapBlock, PatternRow};
use crate::prove_map::keys::{self, Keys, strings};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover, negated};
use crate::prove_map::row::{Heads, OriginalRow};
use crate::syntax::{Ast, ByteSet};

/// Rows that patterns stand for, before the value of a key is looked up.
pub struct Dotted {
    /// By the place of a key: which of the lists is tried.
    of_key: HashMap<usize, usize>,
    lists: Vec<DottedRows>,
    /// The keys that stand for a row.
    pub keys: HashSet<Vec<u8>>,
}

/// Rows in the order in which they are tried.
pub struct DottedRows {
    pub order: Vec<usize>,
    /// The place of each in the order.
    places: HashMap<usize, usize>,
}

impl DottedRows {
    pub fn place(&self, row: usize) -> Option<usize> {
        self.places.get(&row).copied()
    }
}

impl Dotted {
    /// The rows that are tried for subjects with a key.
    pub fn rows(&self, key: Option<usize>) -> Option<&DottedRows> {
        Some(&self.lists[*self.of_key.get(&key?)?])
    }

    pub fn lists(&self) -> &[DottedRows] {
        &self.lists
    }
}

/// The bytes and dots of a row: a dot is a number above those of the bytes.
type Symbols = Vec<u16>;

const DOT: u16 = 256;
const ANY_BYTE: u16 = 257;

/// The live rows that begin with bytes and dots, by these.
type RowsBySymbols = HashMap<Symbols, Vec<usize>>;

/// The values of the tree by their keys, which nginx looks up in lower case.
type Answers<'b> = HashMap<Vec<u8>, &'b [u8]>;

impl<'b> Prover<'b> {
    /// The map of keys below `map $prefix $dotted { "key" $dots; ... default $prefix; }`, if a map has this form.
    pub fn below_dotted(&self, block: &MapBlock) -> Option<&'b MapBlock<'b>> {
        let inner = self.map_of(&block.source).filter(|inner| block.patterns.is_empty() && self.has_keys(inner))?;
        let first = self.map_of(&block.exact.first()?.value)?;
        (self.is_of_source(first) && !first.patterns.is_empty() && !self.has_keys(first)).then_some(inner)
    }

    /// Reads `$dotted`, and checks that `tree` has for each key that it gives the value of the row.
    pub fn dotted(
        &self,
        block: &'b MapBlock<'b>,
        tree: &'b MapBlock<'b>,
        keys: &Keys,
        place: &Place<'b>,
    ) -> Result<Dotted, MapRefutation> {
        let name = block.variable.escape_ascii();
        self.meet(block);
        if keys.caseless || block.fallback() != &*block.source {
            return refute(Obligation::Dotted, format!("${name} does not give the prefix where no pattern matches"));
        }
        let answers = answers(tree)?;
        let by_symbols = self.rows_by_symbols(place);
        let mut dotted = Dotted { of_key: HashMap::new(), lists: Vec::new(), keys: HashSet::new() };
        let mut known: HashMap<&[u8], usize> = HashMap::new();
        for (key, value) in keys::buckets(block, keys, Obligation::Dotted, &HashSet::new())? {
            let Some(key) = key else {
                return refute(Obligation::Dotted, format!("${name} has patterns for subjects without a key"));
            };
            let list = match known.get(value) {
                Some(list) => *list,
                None => {
                    dotted.lists.push(self.dotted_rows(
                        value,
                        &block.source,
                        (&by_symbols, &answers),
                        place,
                        &mut dotted.keys,
                    )?);
                    known.insert(value, dotted.lists.len() - 1);
                    dotted.lists.len() - 1
                }
            };
            dotted.of_key.insert(key, list);
        }
        Ok(dotted)
    }

    /// The live rows of bytes and dots.
    fn rows_by_symbols(&self, place: &Place) -> RowsBySymbols {
        let mut rows = RowsBySymbols::new();
        for (number, row) in self.rows.list.iter().enumerate().filter(|(number, _)| place.live[*number]) {
            if let Some((symbols, _)) =
                symbols_of(row).filter(|(symbols, _)| symbols.iter().any(|symbol| *symbol >= DOT))
            {
                rows.entry(symbols).or_default().push(number);
            }
        }
        rows
    }

    /// Reads the rows of one map of patterns, whose default is `prefix`.
    fn dotted_rows(
        &self,
        value: &[u8],
        prefix: &[u8],
        (by_symbols, answers): (&RowsBySymbols, &Answers),
        place: &Place,
        keys: &mut HashSet<Vec<u8>>,
    ) -> Result<DottedRows, MapRefutation> {
        let escaped = value.escape_ascii();
        let block = self.map_of(value).filter(|block| self.is_of_source(block) && block.exact.is_empty());
        let Some(block) = block.filter(|block| block.fallback() == prefix) else {
            return refute(
                Obligation::Dotted,
                format!("\"{escaped}\" is not a map of patterns whose default is the prefix"),
            );
        };
        self.meet(block);
        let mut rows = DottedRows { order: Vec::new(), places: HashMap::new() };
        for pattern in &block.patterns {
            for (symbols, is_line, key) in self.spelled_out(pattern)? {
                let Some(row) =
                    by_symbols.get(&symbols).and_then(|rows| self.row_of(rows, symbols.len(), is_line, place))
                else {
                    let what = format!("no row of the original has the key \"{}\"", key.escape_ascii());
                    return refute_at(&symbols, what);
                };
                let name = self.name(row);
                if rows.places.insert(row, rows.order.len()).is_some() {
                    return refute(Obligation::Dotted, format!("{name} is there twice"));
                }
                rows.order.push(row);
                self.check_moves(row)?;
                if self.may_give_up(row, place) {
                    return refute(
                        Obligation::Effort,
                        format!("PCRE may give up on {name}, which stands without its pattern"),
                    );
                }
                if !answers.get(&key.to_ascii_lowercase()).is_some_and(|value| self.says(row, value, place)) {
                    let what = format!("the key \"{}\" has another value than {name}", key.escape_ascii());
                    return refute_at(&symbols, what);
                }
                self.proved.discharge(Obligation::Dotted);
                keys.insert(key);
            }
        }
        Ok(rows)
    }

    /// What a pattern stands for: bytes and dots, whether nothing but a newline may follow, and the key.
    fn spelled_out(&self, pattern: &PatternRow) -> Result<Vec<(Symbols, bool, Vec<u8>)>, MapRefutation> {
        let escaped = pattern.pattern.escape_ascii();
        let unread = || refute(Obligation::Dotted, format!("the pattern \"{escaped}\" does not capture a piece"));
        if pattern.caseless || negated(&pattern.pattern).is_some() {
            return unread();
        }
        let language = self.own_pattern(pattern)?;
        let Ast::Concat(items) = &language.pattern.ast else { return unread() };
        let [Ast::Start, items @ ..] = items.as_slice() else { return unread() };
        let (items, is_line) = match items {
            [items @ .., Ast::Dollar] => (items, true),
            items => (items, false),
        };
        let Some(at) = items.iter().position(|item| matches!(item, Ast::Capture { .. })) else { return unread() };
        let Ast::Capture { name: Some(group), sub, .. } = &items[at] else { return unread() };
        let around = symbols(&items[..at]).zip(symbols(&items[at + 1..]));
        let key = around_variable(&pattern.value, group.as_bytes());
        let pieces = strings(sub, false);
        let (Some((before, after)), Some((key_before, key_after)), Some(pieces)) = (around, key, pieces) else {
            return unread();
        };
        let spell = |piece: Vec<u8>| {
            let bytes: Symbols = piece.iter().copied().map(u16::from).collect();
            ([&*before, &*bytes, &*after].concat(), is_line, [key_before, &*piece, key_after].concat())
        };
        Ok(pieces.into_iter().map(spell).collect())
    }

    /// The first of some rows that begin with `length` bytes and dots which matches all that does; if `is_line`, the
    /// first that also ends there.
    fn row_of(&self, rows: &[usize], length: usize, is_line: bool, place: &Place) -> Option<usize> {
        let fits = |row: &&usize| {
            let row = &self.rows.list[**row];
            let Some((symbols, rest)) = symbols_of(row).filter(|(symbols, _)| symbols.len() == length) else {
                return false;
            };
            if is_line { matches!(rest, [Ast::Dollar]) } else { self.is_open(row, &symbols, place) }
        };
        rows.iter().find(fits).copied()
    }

    /// Whether a row matches all subjects that reach this place and begin with its bytes and dots.
    fn is_open(&self, row: &OriginalRow, symbols: &[u16], place: &Place) -> bool {
        // Where the last is a byte, what follows does not depend on the dots.
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

/// The refutation with a subject that has another byte at each dot.
fn refute_at<T>(symbols: &[u16], what: String) -> Result<T, MapRefutation> {
    let byte = |symbol: &u16| match *symbol {
        DOT => b'x',
        ANY_BYTE => b'\n',
        byte => byte as u8,
    };
    let subject = symbols.iter().map(byte).collect();
    Err(MapRefutation { obligation: Obligation::Dotted, what, counterexample: Some(subject) })
}

/// The values of a tree by their keys.
fn answers<'b>(tree: &'b MapBlock<'b>) -> Result<Answers<'b>, MapRefutation> {
    let mut answers = Answers::with_capacity(tree.exact.len());
    for row in &tree.exact {
        if answers.insert(row.key.to_ascii_lowercase(), &row.value).is_some() {
            let name = tree.variable.escape_ascii();
            return refute(Obligation::BucketKey, format!("\"{}\" of ${name} is there twice", row.key.escape_ascii()));
        }
    }
    Ok(answers)
}

/// How the subjects begin on which PCRE matches a row or gives up.
pub struct Start {
    /// The bytes allowed at each place.
    sets: Vec<ByteSet>,
    /// Whether at most a newline follows.
    is_line: bool,
}

impl Start {
    /// `None` if PCRE may match the row, or give up on it, wherever a subject begins.
    pub fn of(row: &OriginalRow) -> Option<Start> {
        if row.language.is_none() {
            let either_case = |byte: u8| ByteSet::one(byte).fold();
            let Heads::Exact(heads) = row.heads(true) else { return None };
            let [head] = heads.as_slice() else { return None };
            return Some(Start { sets: head.iter().copied().map(either_case).collect(), is_line: false });
        }
        row.beginning()?;
        let (items, rest) = singles(row)?;
        let set = |item: &Ast| match item {
            Ast::Byte(byte) => ByteSet::one(*byte),
            Ast::Class(set) => *set,
            _ => ByteSet::ALL,
        };
        let is_line = matches!(rest, [Ast::Dollar]) && !row.may_give_up;
        Some(Start { sets: items.iter().map(set).collect(), is_line })
    }

    /// Whether no subject begins like both rows.
    pub fn is_apart(&self, other: &Start) -> bool {
        let are_apart = |(one, other): (&ByteSet, &ByteSet)| one.intersection(other).is_empty();
        self.sets.iter().zip(&other.sets).any(are_apart) || self.ends_before(other) || other.ends_before(self)
    }

    /// Whether what begins like another row is too long for this one.
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

/// Items that are bytes and dots.
fn symbols(items: &[Ast]) -> Option<Symbols> {
    let symbol = |item: &Ast| match item {
        Ast::Byte(byte) => Some(u16::from(*byte)),
        Ast::Class(set) if *set == ByteSet::NO_NEWLINE => Some(DOT),
        Ast::Class(set) if *set == ByteSet::ALL => Some(ANY_BYTE),
        _ => None,
    };
    items.iter().map(symbol).collect()
}

/// What stands before and behind the only variable of a value, if it is this one.
fn around_variable<'v>(value: &'v [u8], name: &[u8]) -> Option<(&'v [u8], &'v [u8])> {
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
