//! The rows that match few strings, which a table can hold.

use hashbrown::HashMap;

use crate::first_match::{First, FirstMatch};
use crate::maps::row::{Row, Strings};
use crate::maps::text::{Key, Map};
use crate::maps::writer::Writer;

/// The longest string that is a key, in bytes.
const LONGEST: usize = 512;

/// What the table holds.
#[derive(Default)]
pub struct Exact {
    keys: Vec<Entry>,
    /// The places of the keys by their small letters.
    places: HashMap<Vec<u8>, usize>,
    /// Whether a row is in the table with all that it matches.
    pub holds: Vec<bool>,
}

/// A string and the row that answers it.
struct Entry {
    string: Vec<u8>,
    any_case: bool,
    row: usize,
}

impl Exact {
    /// Chooses rows of which the first row that matches each of their strings is known.
    pub fn choose(rows: &[Row], first: &FirstMatch) -> Exact {
        let mut exact = Exact::none(rows.len());
        for (number, row) in rows.iter().enumerate() {
            let answers = row.strings.as_ref().and_then(|strings| answers(number, strings, rows, first));
            exact.holds[number] = answers.is_some_and(|answers| exact.take(answers));
        }
        exact
    }

    /// No row at all, of so many.
    pub fn none(rows: usize) -> Exact {
        Exact { holds: vec![false; rows], ..Exact::default() }
    }

    pub fn row_count(&self) -> usize {
        self.holds.iter().filter(|holds| **holds).count()
    }

    /// Adds the keys of a row, unless one of them differs from another row's by case alone.
    fn take(&mut self, answers: Vec<Entry>) -> bool {
        let place = |entry: &Entry| self.places.get(&entry.string.to_ascii_lowercase()).map(|place| &self.keys[*place]);
        let is_free = |entry: &Entry| {
            place(entry).is_none_or(|other| {
                let is_same = other.string == entry.string && other.any_case == entry.any_case;
                (is_same || (other.any_case && !entry.any_case)) && other.row == entry.row
            })
        };
        let mut own: Vec<Vec<u8>> = answers.iter().map(|entry| entry.string.to_ascii_lowercase()).collect();
        own.sort_unstable();
        if own.windows(2).any(|pair| pair[0] == pair[1]) || !answers.iter().all(is_free) {
            return false;
        }
        for entry in answers {
            let folded = entry.string.to_ascii_lowercase();
            if !self.places.contains_key(&folded) {
                self.places.insert(folded, self.keys.len());
                self.keys.push(entry);
            }
        }
        true
    }

    /// Writes the maps, and returns the variable of the first; `next` is the value of what is no key.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let source = writer.map.source.to_vec();
        let mut exact = writer.of_source("exact");
        let mut answer = writer.of("exact", "answer");
        for Entry { string, any_case, row } in &self.keys {
            exact.rows.push((Key::Exact(string.clone()), if *any_case { source.clone() } else { string.clone() }));
            answer.rows.push((Key::Exact(string.clone()), writer.value(*row)));
        }
        let mut known = writer.of("exact", "known");
        known.rows.push((Key::Exact(Vec::new()), next.to_vec()));
        known.default = writer.variable("same");
        let same = Map {
            source: [&*writer.variable("exact"), b">", &source].concat(),
            rows: vec![(
                Key::Pattern { pattern: br"(?s)^(.+)>\1\z".to_vec(), caseless: false },
                writer.variable("answer"),
            )],
            default: next.to_vec(),
            ..writer.of("exact", "same")
        };
        for map in [exact, answer, same] {
            writer.add(map);
        }
        writer.add(known)
    }
}

/// The rows that answer the strings of a row; `None` where that is not known, or no table can say it.
fn answers(number: usize, strings: &Strings, rows: &[Row], first: &FirstMatch) -> Option<Vec<Entry>> {
    let any_case = strings.any_case;
    // The empty subject matches no regex.
    strings
        .strings
        .iter()
        .filter(|string| !string.is_empty())
        .map(|string| {
            let First::Match(row) = first.first(string, rows.len()) else { return None };
            let is_same_in_any_case = || row == number && !first.may_match_some_case(string, number);
            let fits = string.len() <= LONGEST && !string.contains(&b'$') && !string.contains(&0);
            let is_known = fits && rows[row].is_plain && (!any_case || is_same_in_any_case());
            is_known.then(|| Entry { string: string.clone(), any_case, row })
        })
        .collect()
}
