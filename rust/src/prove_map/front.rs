//! Proves fronts: tables before a tree, with rows under keys that patterns capture.
//!
//! # Lemma
//!
//! A map of patterns consists of *alternatives*: of `"~^A(?<key>t[^A-Z]{n}(?=B))" "a$key"`, one for each string t. Let
//! A and B be bytes and dots, and let no string begin with two alternatives of the map. Let a table have exactly one
//! key K, in lower case, of the length of `at` and n that begins with `at`, and let u be what follows t in K. Let R be
//! the language of what begins with AtuB, or of nothing but that. Then the table answers a subject that the alternative
//! matches with the value of K if and only if the subject is in R.
//!
//! *Proof.* A subject that the alternative matches begins with A, t, a string v of n bytes without capital letters, and
//! B. The key to look up is `atv`, and the table, which looks it up in lower case, has K for it if and only if v in
//! small letters is u; which is so if and only if v is u, as neither has capital letters. So the answer is that of K if
//! and only if the subject begins with AtuB, which decides whether it is in R.
//!
//! The language of a row is R, or the union of two such languages, which have the value of the row and differ in one
//! place: one has a dot there, and the other what a dot matches except a dot.
//!
//! Let such a map be looked up for all subjects that begin with some strings, none of which begins with another, and
//! let a row begin with one of them. As no string begins with two alternatives, a subject of the row gets its value,
//! and what gets this value by one of its alternatives is a subject of it. So the rows of a table have no subject in
//! common. If also no earlier row of those that are left has one in common with them, they may be tried first.
//!
//! An alternative may also be a string that is no key of the table. It gives no answer. A subject may begin with it and
//! with an alternative before it, because PCRE tries that one first.

use std::collections::{BTreeMap, HashMap};

use crate::map_block::MapBlock;
use crate::prove_map::alternatives::{Alternative, Piece, check_apart};
use crate::prove_map::comparable::heads_of;
use crate::prove_map::keys::{self, Keys};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prefixes::Prefixes;
use crate::prove_map::prover::{Place, Prover};
use crate::prove_map::row::OriginalRow;
use crate::prove_map::symbols::{RowsByText, Start, Symbols, with_dots};

/// The keys of a table in lower case, each with its value.
type Table<'b> = BTreeMap<Vec<u8>, &'b [u8]>;

impl<'b> Prover<'b> {
    /// Proves `map $candidate $front { "key" value; ... default NEXT; }`. Returns the value that follows, and leaves in
    /// `place` the rows that are not in the table.
    pub fn front(
        &self,
        block: &'b MapBlock<'b>,
        candidate: &'b MapBlock<'b>,
        place: &mut Place<'b>,
    ) -> Result<&'b [u8], MapRefutation> {
        let name = block.variable.escape_ascii();
        self.meet(candidate);
        let roots = self.roots(candidate)?;
        let mut table = Table::new();
        for row in &block.exact {
            if row.key.is_empty() || table.insert(row.key.to_ascii_lowercase(), &row.value).is_some() {
                let key = row.key.escape_ascii();
                return refute(Obligation::Front, format!("\"{key}\" of ${name} is there twice, or empty"));
            }
        }
        if !block.patterns.is_empty() {
            return refute(Obligation::Front, format!("${name} has a pattern among its keys"));
        }
        let by_text = self.rows_by_text(place);
        let routes = keys::buckets(candidate, &roots, Obligation::Front)?;
        let mut values: Vec<&[u8]> = routes.values().copied().collect();
        values.sort_unstable();
        values.dedup();
        let mut parts: BTreeMap<usize, Vec<Symbols>> = BTreeMap::new();
        for value in values {
            let alternatives = self.alternatives(value)?;
            let is_end: Vec<bool> = alternatives.iter().map(|alternative| is_end(alternative, &table)).collect();
            check_apart(&alternatives, &is_end).or_else(|what| refute(Obligation::Front, what))?;
            for (alternative, _) in alternatives.iter().zip(is_end).filter(|(_, is_end)| !is_end) {
                let leads_here = |root: usize| routes.get(&Some(root)) == Some(&value);
                if !roots.keys.longest(&alternative.head()).is_some_and(leads_here) {
                    let what = format!("subjects of \"{}\" do not get to it", alternative.start().escape_ascii());
                    return refute(Obligation::Front, what);
                }
                let (row, symbols) = self.row_of_alternative(alternative, &table, &by_text, place)?;
                parts.entry(row).or_default().push(symbols);
            }
        }
        if let Some((row, _)) = parts.iter().find(|(row, parts)| !self.are_all_of(**row, parts)) {
            return refute(Obligation::Front, format!("{} is there in part, or twice", self.name(*row)));
        }
        let rows: Vec<usize> = parts.into_keys().collect();
        rows.iter().for_each(|row| place.live[*row] = false);
        self.check_none_earlier(&rows, place)?;
        Ok(block.fallback())
    }

    /// Reads the strings that lead to the maps of patterns. None of them begins with another.
    fn roots(&self, candidate: &'b MapBlock<'b>) -> Result<Keys, MapRefutation> {
        let name = candidate.variable.escape_ascii();
        let Some(start) = self.map_of(&candidate.source).filter(|_| candidate.fallback().is_empty()) else {
            return refute(Obligation::Front, format!("${name} does not choose patterns by what subjects begin with"));
        };
        let roots = self.keys(start)?;
        let has_parent = |root: &usize| roots.keys.parent(*root).is_some();
        if let Some(root) = (0..roots.keys.strings().len()).find(has_parent) {
            let root = roots.keys.strings()[root].escape_ascii();
            return refute(Obligation::Front, format!("\"{root}\" begins with another string that chooses patterns"));
        }
        if roots.caseless {
            return refute(Obligation::Front, format!("${name} ignores case"));
        }
        Ok(roots)
    }

    /// The alternatives of all patterns of a map.
    fn alternatives(&self, value: &[u8]) -> Result<Vec<Alternative>, MapRefutation> {
        let block = self.map_of(value).filter(|block| self.is_of_source(block) && block.exact.is_empty());
        let Some(block) = block.filter(|block| block.fallback().is_empty()) else {
            let value = value.escape_ascii();
            return refute(Obligation::Front, format!("\"{value}\" is not a map of patterns without a default"));
        };
        self.meet(block);
        let mut alternatives = Vec::new();
        for pattern in &block.patterns {
            alternatives.append(&mut self.alternatives_of(pattern)?);
        }
        Ok(alternatives)
    }

    /// The row that has the key of an alternative, and the part of the row's language that the alternative matches.
    fn row_of_alternative(
        &self,
        alternative: &Alternative,
        table: &Table<'b>,
        by_text: &RowsByText,
        place: &Place<'b>,
    ) -> Result<(usize, Symbols), MapRefutation> {
        let Piece { text, more, after, is_line, .. } = &alternative.piece;
        let begun = [&*alternative.key, text].concat().to_ascii_lowercase();
        let mut found = table
            .range(begun.clone()..)
            .take_while(|(key, _)| key.starts_with(&begun))
            .filter(|(key, _)| key.len() == begun.len() + more);
        let (Some((key, value)), None) = (found.next(), found.next()) else {
            let begun = begun.escape_ascii();
            return refute(Obligation::Front, format!("\"{begun}\" and what follows is no key, or more than one"));
        };
        let bytes: Symbols = text.iter().chain(&key[begun.len()..]).copied().map(u16::from).collect();
        let symbols: Symbols = [&*alternative.before, &*bytes, after].concat();
        let key = key.escape_ascii();
        let rows = by_text.get(&with_dots(&symbols));
        let Some(row) = rows.and_then(|rows| self.row_of(rows, &symbols, *is_line, place)) else {
            return refute(Obligation::Front, format!("no row of the original has the key \"{key}\""));
        };
        self.check_moves(row)?;
        if self.may_give_up(row, place) {
            let what = format!("PCRE may give up on {}, which stands without its pattern", self.name(row));
            return refute(Obligation::Effort, what);
        }
        if !self.says(row, value, place) {
            return refute(Obligation::Front, format!("\"{key}\" has another value than {}", self.name(row)));
        }
        self.proved.discharge(Obligation::Front);
        Ok((row, symbols))
    }

    /// Checks that none of these rows may match the same subject as an earlier row that is left.
    pub fn check_none_earlier(&self, rows: &[usize], place: &Place) -> Result<(), MapRefutation> {
        let left: Vec<usize> = (0..place.live.len()).filter(|row| place.live[*row]).collect();
        let index = RowsByHead::new(left.iter().map(|row| (*row, &self.rows.list[*row])));
        let starts: HashMap<usize, Start> =
            left.iter().filter_map(|row| Some((*row, Start::of(&self.rows.list[*row])?))).collect();
        for &row in rows {
            let Some(start) = Start::of(&self.rows.list[row]) else {
                return refute(Obligation::Front, format!("{} has no known beginning", self.name(row)));
            };
            for other in index.meeting(&self.rows.list[row]).filter(|other| *other < row) {
                if !starts.get(&other).is_some_and(|other| other.is_apart(&start)) {
                    self.check_pair(row, other)?;
                }
            }
        }
        Ok(())
    }
}

/// Whether an alternative is a string that leads to no row, because it is no key.
fn is_end(alternative: &Alternative, table: &Table) -> bool {
    let key = [&*alternative.key, &*alternative.piece.text].concat();
    alternative.is_string() && !table.contains_key(&key.to_ascii_lowercase())
}

/// Rows by the strings that their matches begin with.
struct RowsByHead {
    heads: Prefixes,
    rows: Vec<Vec<usize>>,
}

impl RowsByHead {
    fn new<'r, 'b: 'r>(rows: impl Iterator<Item = (usize, &'r OriginalRow<'b>)>) -> RowsByHead {
        let mut by_head: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (number, row) in rows {
            heads_of(row, false).into_iter().for_each(|head| by_head.entry(head).or_default().push(number));
        }
        let heads = Prefixes::new(by_head.keys().cloned().collect());
        let rows = heads.strings().iter().map(|head| by_head.remove(head).unwrap_or_default()).collect();
        RowsByHead { heads, rows }
    }

    /// The rows with a head that begins with a head of this row, or the other way round.
    fn meeting(&self, row: &OriginalRow) -> impl Iterator<Item = usize> + '_ {
        heads_of(row, false)
            .into_iter()
            .flat_map(|head| {
                let shorter = std::iter::successors(self.heads.longest(&head), |at| self.heads.parent(*at));
                let longer = self.heads.extending(&head).filter(|at| self.heads.strings()[*at].len() > head.len());
                shorter.chain(longer).collect::<Vec<_>>()
            })
            .flat_map(|at| self.rows[at].iter().copied())
    }
}
