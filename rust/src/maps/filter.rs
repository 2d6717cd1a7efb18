//! A filter for rows without a known beginning, which comes before everything else.
//!
//! Subjects that contain a literal which one of these rows needs are looked up in a map with all rows of the original,
//! in their order. So that map may answer with any row, whatever its value shows and wherever PCRE gives up. All other
//! subjects match no such row, and PCRE does not give up on one.

use std::collections::BTreeSet;

use crate::first_match::{ReadPattern, needed_literals};
use crate::maps::pattern::beginning_with;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::text::Key;
use crate::maps::writer::Writer;
use crate::pattern_text::{LONGEST, most, token_length};
use crate::work::spend;

/// The shortest literal of use; almost all subjects contain shorter ones.
const SHORTEST: usize = 3;

/// The text around a pattern.
const FRAME: &[u8] = b"~*(?:)";

/// The patterns of a filter, without regard to case.
pub struct Filter {
    patterns: Vec<Vec<u8>>,
}

impl Filter {
    /// A filter for some rows; `None` if a row needs no literal, or the literals are short.
    pub fn of(rows: &[RowFacts], floating: &[usize]) -> Option<Filter> {
        let mut literals: BTreeSet<Vec<u8>> = BTreeSet::new();
        for row in floating {
            let read = ReadPattern::of(rows[*row].text)?;
            let needs = needed_literals(read.events()?);
            if needs.is_empty() || needs.iter().any(|literal| literal.len() < SHORTEST) {
                return None;
            }
            literals.extend(needs);
        }
        let sequence = |bytes: &Vec<u8>| Sequence { bytes: bytes.clone(), sets: Vec::new() };
        let literals: Vec<Sequence> = literals.iter().map(sequence).collect();
        let literals: Vec<&Sequence> = literals.iter().collect();
        let mut rest = literals.as_slice();
        let mut patterns = Vec::new();
        while !rest.is_empty() {
            let pattern = |count: usize| {
                spend(16 * count);
                beginning_with(&rest[..count], true)
            };
            let fits = |pattern: &Vec<u8>| token_length(pattern) + FRAME.len() <= LONGEST;
            let count = most(rest.len(), |count| pattern(count).is_some_and(|pattern| fits(&pattern)));
            patterns.push(pattern(count).filter(fits)?);
            rest = &rest[count..];
        }
        Some(Filter { patterns })
    }

    /// Writes the maps; `next` is the value of subjects that do not pass. Returns the variable that has the answer.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let mut original = writer.of_source("original");
        original.rows = (0..writer.rows.len()).map(|row| writer.verbatim(row)).collect();
        original.default = writer.fallback();
        let original = writer.add(original);
        let mut map = writer.of_source("filter");
        for pattern in &self.patterns {
            // The proof would mistake a pattern of the original for its row.
            let is_row = writer.is_row(pattern, true);
            let pattern = if is_row { [b"(?:", &**pattern, b")"].concat() } else { pattern.clone() };
            map.rows.push((Key::Pattern { pattern, caseless: true }, original.clone()));
        }
        map.default = next.to_vec();
        writer.add(map)
    }
}
