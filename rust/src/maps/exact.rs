//! Puts rows that match only a few strings into a hash table, with those strings as keys.

use hashbrown::HashMap;

use crate::first_match::{First, FirstMatch};
use crate::maps::row::RowFacts;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::writer::Writer;
use crate::parallel;

/// The longest key, in bytes.
const LONGEST: usize = 512;

/// The contents of the table.
#[derive(Clone, Default)]
pub struct Exact {
    keys: Vec<KeyAnswer>,
    /// The index of each key in `keys`, by the key in lower case.
    places: HashMap<Vec<u8>, usize>,
    /// By row: whether the table has all strings that the row matches.
    pub holds: Vec<bool>,
}

/// A string, and the first row that matches it.
#[derive(Clone)]
struct KeyAnswer {
    string: Vec<u8>,
    row: usize,
    /// `is_small`: whether it is a string of a row whose strings all lack capital letters and all have values that are
    /// never empty. `is_spelled`: whether it is a string of a row of another kind. Both can be true.
    is_small: bool,
    is_spelled: bool,
}

impl Exact {
    /// Chooses the rows for all of whose strings the first matching row is known.
    pub fn choose(rows: &[RowFacts], first: &FirstMatch) -> Exact {
        let answers = |row: usize| answers(rows[row].strings.as_ref()?, rows, first);
        let mut exact = Exact::none(rows.len());
        for (number, answers) in parallel::collect(rows.len(), answers).into_iter().enumerate() {
            exact.holds[number] = answers.is_some_and(|answers| exact.take(answers));
        }
        exact
    }

    /// A table without rows, for a map of `rows` rows.
    pub fn none(rows: usize) -> Exact {
        Exact { holds: vec![false; rows], ..Exact::default() }
    }

    pub fn row_count(&self) -> usize {
        self.holds.iter().filter(|holds| **holds).count()
    }

    /// Adds the keys of a row, unless one of them differs from another row's only in case.
    fn take(&mut self, answers: Vec<KeyAnswer>) -> bool {
        let place =
            |entry: &KeyAnswer| self.places.get(&entry.string.to_ascii_lowercase()).map(|place| &self.keys[*place]);
        let is_free = |entry: &KeyAnswer| place(entry).is_none_or(|other| other.string == entry.string);
        let mut own: Vec<Vec<u8>> = answers.iter().map(|entry| entry.string.to_ascii_lowercase()).collect();
        own.sort_unstable();
        if own.windows(2).any(|pair| pair[0] == pair[1]) || !answers.iter().all(is_free) {
            return false;
        }
        let is_small = answers.iter().all(|entry| entry.is_small);
        for mut entry in answers {
            (entry.is_small, entry.is_spelled) = (is_small, !is_small);
            let count = self.keys.len();
            let place = *self.places.entry(entry.string.to_ascii_lowercase()).or_insert(count);
            match self.keys.get_mut(place) {
                Some(known) => {
                    known.is_small |= is_small;
                    known.is_spelled |= !is_small;
                }
                None => self.keys.push(entry),
            }
        }
        true
    }

    /// Writes the maps, and returns the variable of the first; `next` is the value of subjects that are not keys.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let small: Vec<&KeyAnswer> = self.keys.iter().filter(|key| key.is_small).collect();
        if small.len() < writer.large.strings {
            return write_spelled(&self.keys.iter().collect::<Vec<_>>(), writer, next);
        }
        // Each map has all strings of its rows, so these rows match no subject that the map does not have.
        let spelled: Vec<&KeyAnswer> = self.keys.iter().filter(|key| key.is_spelled).collect();
        let next = if spelled.is_empty() { next.to_vec() } else { write_spelled(&spelled, writer, next) };
        write_small(&small, writer, &next)
    }
}

/// Writes maps that look up a key and compare the key found with the subject, because nginx ignores case in lookups.
fn write_spelled(keys: &[&KeyAnswer], writer: &mut Writer, next: &[u8]) -> Vec<u8> {
    let mut exact = writer.of_source("exact");
    let mut answer = writer.of("exact", "answer");
    for KeyAnswer { string, row, .. } in keys {
        exact.rows.push((Key::Exact(string.clone()), string.clone()));
        answer.rows.push((Key::Exact(string.clone()), writer.value(*row)));
    }
    let mut known = writer.of("exact", "known");
    known.rows.push((Key::Exact(Vec::new()), next.to_vec()));
    known.default = writer.variable("same");
    let same = EmittedMap {
        source: [&*writer.variable("exact"), b">", &writer.map.source].concat(),
        rows: vec![(Key::Pattern { pattern: br"(?s)^(.+)>\1\z".to_vec(), caseless: false }, writer.variable("answer"))],
        default: next.to_vec(),
        ..writer.of("exact", "same")
    };
    for map in [exact, answer, same] {
        writer.add(map);
    }
    writer.add(known)
}

/// Writes maps for keys without capital letters. nginx ignores case in lookups, so a subject that it finds is a key
/// exactly if the subject has no capital letters. Only subjects that are found are checked for them.
fn write_small(keys: &[&KeyAnswer], writer: &mut Writer, next: &[u8]) -> Vec<u8> {
    let mut listed = writer.of_source("listed");
    listed.rows.extend(keys.iter().map(|key| (Key::Exact(key.string.clone()), writer.value(key.row))));
    let mut small = writer.of_source("small");
    small.rows.push((Key::Pattern { pattern: b"[A-Z]".to_vec(), caseless: false }, next.to_vec()));
    small.default = writer.add(listed);
    let mut found = writer.of("listed", "found");
    found.rows.push((Key::Exact(Vec::new()), next.to_vec()));
    found.default = writer.add(small);
    writer.add(found)
}

/// The first matching rows for the strings of a row; `None` if one is unknown, or a table cannot give its value.
fn answers(strings: &[Vec<u8>], rows: &[RowFacts], first: &FirstMatch) -> Option<Vec<KeyAnswer>> {
    // The empty subject matches no regex.
    let strings = strings.iter().filter(|string| !string.is_empty());
    let answer = |string: &Vec<u8>| {
        let First::Match(row) = first.first(string, rows.len()) else { return None };
        let fits = string.len() <= LONGEST && !string.contains(&b'$') && !string.contains(&0);
        (fits && rows[row].is_plain).then(|| KeyAnswer {
            string: string.clone(),
            row,
            is_small: !string.iter().any(u8::is_ascii_uppercase) && is_text(&rows[row].row.value),
            is_spelled: false,
        })
    };
    strings.map(answer).collect()
}

/// Whether a value is a text that is not empty.
fn is_text(value: &[u8]) -> bool {
    !value.is_empty() && !value.contains(&b'$')
}

#[cfg(test)]
mod tests {
    use super::Exact;
    use crate::first_match::FirstMatch;
    use crate::maps::example::with_rows;
    use crate::maps::large::LargeForms;
    use crate::maps::parts::Parts;
    use crate::maps::writer::Writer;

    fn choose(texts: &[&str]) -> (Vec<bool>, Vec<(String, usize)>) {
        with_rows(texts, false, |_, rows| {
            let patterns: Vec<&[u8]> = rows.iter().map(|row| row.text).collect();
            let Exact { keys, holds, .. } = Exact::choose(rows, &FirstMatch::new(&patterns).unwrap());
            let keys = keys.into_iter().map(|entry| (String::from_utf8(entry.string).unwrap(), entry.row));
            (holds, keys.collect())
        })
    }

    /// A key gets the value of the first matching row, wherever that row is.
    #[test]
    fn first_row_answers() {
        let (holds, keys) = choose(&[r"'~^/x' 0;", r"'~^/(x|y)\z' 1;", r"'~^/y\z' 2;", "'~^$' 3;"]);
        assert_eq!(holds, [false, true, true, true]);
        let expected = [("/x", 0), ("/y", 1), ("\n", 3)].map(|(key, row)| (key.to_owned(), row));
        assert_eq!(keys, expected);
    }

    /// Many keys without capital letters stand in a map of their own, before the others.
    #[test]
    fn small_letters() {
        let many = LargeForms::USUAL.strings;
        let mut texts: Vec<String> = (0..many).map(|number| format!(r"'~^/p{number}\z' {number};")).collect();
        texts.extend([r"'~^/(Q|r|p1)\z' q;", r"'~^/(p2|s)\z' s;"].map(str::to_owned));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        with_rows(&texts, false, |map, rows| {
            let patterns: Vec<&[u8]> = rows.iter().map(|row| row.text).collect();
            let exact = Exact::choose(rows, &FirstMatch::new(&patterns).unwrap());
            let parts = Parts::chained(rows, exact.clone(), false);
            let mut writer = Writer::new(map, rows, "m_", parts.form(false, LargeForms::USUAL));
            assert_eq!(exact.write(&mut writer, b"next"), b"$m_found");
            let map = |name: &[u8]| writer.maps.iter().find(|map| map.name == name).expect("a map");
            let keys = |name| map(name).rows.iter().filter(|(key, _)| key.exact().is_some()).count();
            assert_eq!((keys(b"m_listed"), keys(b"m_exact")), (many + 1, 3));
            assert_eq!(
                (&*map(b"m_found").rows[0].1, &*map(b"m_small").rows[0].1),
                (&b"$m_known"[..], &b"$m_known"[..])
            );
            assert_eq!((&*map(b"m_found").default, &*map(b"m_small").default), (&b"$m_small"[..], &b"$m_listed"[..]));
            assert!(map(b"m_listed").default.is_empty());
        });
    }

    /// What a table cannot express: captures, variables in keys, two spellings, and unknown answers.
    #[test]
    fn left_out() {
        let (holds, _) =
            choose(&[r"'~^/(a)\z' $1;", r"'~^/\$b\z' 1;", r"'~^/c\z' 2;", r"'~^/C\z' 3;", r"'~*^/d\z' 4;"]);
        assert_eq!(holds, [false, false, true, false, false]);
        let (holds, _) = choose(&["'~^/e(*ACCEPT)?' 0;", r"'~^/e\z' 1;"]);
        assert_eq!(holds, [false, false]);
    }
}
