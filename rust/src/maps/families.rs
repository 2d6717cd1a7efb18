//! Writes [families](crate::maps::family) of rows, one after the other, so that most subjects skip all of them.
//!
//! A *probe* captures the first segments of a subject. Its table leads to the first family that has a row with these
//! segments; other subjects skip the families. Families of literals at the end of subjects are behind a guard, a
//! pattern for the endings of the literals.
//!
//! Rows that match a subject which an earlier row may match are left out. So the order of the families does not matter.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;

use crate::maps::family::{Family, SEGMENT, families};
use crate::maps::large::LargeForms;
use crate::maps::pattern::beginning_with;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::symbols;
use crate::maps::text::Key;
use crate::maps::writer::Writer;
use crate::pattern_text::{escape, literal_start};

/// The starts of the names of the maps.
const BEGINNINGS: &str = "family";
const ENDS: &str = "end";

/// The most endings (the text from the last dot on) in a guard. PCRE tries them one after the other.
const MOST_ENDINGS: usize = 16;

/// The text of the last segment that a probe captures, up to a dot.
const LAST_SEGMENT: &[u8] = br"[^./A-Z\x0a]*";

/// Before a literal: a byte that is no dot.
const NO_DOT_BEFORE: &[u8] = br"(?<!\.)";

/// The key that leads to all families of a probe.
const ALL: &[u8] = b"*";

/// Families that are looked up one after the other, largest first.
pub struct Families {
    list: Vec<Family>,
    /// The start of the names of their maps.
    label: &'static str,
}

impl Families {
    /// The families among rows with a known beginning, and the rows that are left. `None` if too many are left.
    pub fn of_beginnings(rows: &[RowFacts], members: &[usize], large: LargeForms) -> Option<(Families, Vec<usize>)> {
        let families = families(rows, members, large, |text| text.strip_prefix(b"^").map(|text| (true, text)))?;
        let count = |families: &[Family]| families.iter().map(|family| family.rows.len()).sum::<usize>();
        let are_few = |count: usize| large.left * (members.len() - count) <= members.len();
        if !are_few(count(&families)) {
            return None;
        }
        let held: Vec<usize> = families.iter().flat_map(|family| &family.rows).map(|(row, _)| *row).collect();
        let first: HashSet<usize> = symbols::without_earlier(rows, members, &held).into_iter().collect();
        Families::kept(BEGINNINGS, families, (rows, members), |row| first.contains(&row))
            .filter(|(_, left)| are_few(members.len() - left.len()))
    }

    /// The families among rows that each match a literal at the end of the subject, and the rows that are left. `None`
    /// if a row has another form, or there are no families.
    pub fn of_ends(rows: &[RowFacts], floating: &[usize], large: LargeForms) -> Option<(Families, Vec<usize>)> {
        let families = families(rows, floating, large, |text| Some((false, text)))?;
        let literals: Option<Vec<(Vec<u8>, usize)>> = floating
            .iter()
            .map(|row| {
                let (literal, rest) = literal_start(rows[*row].text);
                (rest == b"$").then(|| (literal.into_iter().rev().collect(), *row))
            })
            .collect();
        let first = without_shorter_or_longer(literals?);
        Families::kept(ENDS, families, (rows, floating), |row| first.contains(&row))
    }

    /// The families with only those rows that pass a test, and the remaining `members`.
    fn kept(
        label: &'static str,
        mut list: Vec<Family>,
        (rows, members): (&[RowFacts], &[usize]),
        passes: impl Fn(usize) -> bool,
    ) -> Option<(Families, Vec<usize>)> {
        let mut held: HashSet<usize> = HashSet::new();
        for family in &mut list {
            let mut keys = HashSet::new();
            family.rows.retain(|(row, key)| passes(*row) && keys.insert(key.clone()));
            held.extend(family.rows.iter().map(|(row, _)| *row));
        }
        list.retain(|family| !family.rows.is_empty());
        // A row with the same pattern as one of these is never reached.
        let texts: HashSet<&[u8]> = held.iter().map(|row| rows[*row].text).collect();
        let left = members.iter().copied().filter(|row| !texts.contains(rows[*row].text)).collect();
        (!list.is_empty()).then_some((Families { list, label }, left))
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.list.iter().map(|family| family.rows.len()).sum()
    }

    /// Writes the maps; `next` is the value where no row matches. Returns the variable that has the answer.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let value = self.write_tables(writer, next);
        self.write_guard(writer, value.clone(), next.to_vec()).unwrap_or(value)
    }

    /// Writes the maps without a guard.
    pub fn write_tables(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let mut segments: Vec<usize> = self.list.iter().map(|family| family.segments).collect();
        segments.sort_unstable();
        segments.dedup();
        let mut value = next.to_vec();
        for segments in segments {
            let families = self.list.iter().filter(|family| family.segments == segments).collect::<Vec<_>>();
            value = match (segments, families.as_slice()) {
                (1.., [_, _, ..]) => self.write_probe(writer, &families, segments, value),
                _ => families.iter().rev().fold(value, |value, family| self.write_family(writer, family, value)),
            };
        }
        value
    }

    /// Writes the guard of families at the end: a map with `value` for subjects that end like one of the literals, and
    /// `other` for the rest. `None` if the literals have too many endings.
    pub fn write_guard(&self, writer: &mut Writer, value: Vec<u8>, other: Vec<u8>) -> Option<Vec<u8>> {
        let pattern = self.endings()?;
        let mut map = writer.of_source(&format!("{}_guard", self.label));
        map.rows.push((Key::Pattern { pattern, caseless: false }, value));
        map.default = other;
        Some(writer.add(map))
    }

    /// Whether the literals have few enough endings for a guard.
    pub fn have_few_endings(&self) -> bool {
        self.endings().is_some()
    }

    /// A pattern that matches subjects which end like one of the literals; `None` if these have too many endings.
    fn endings(&self) -> Option<Vec<u8>> {
        let mut endings = BTreeSet::new();
        for (_, literal) in self.list.iter().flat_map(|family| &family.rows).filter(|_| self.label == ENDS) {
            endings.insert(&literal[memchr::memrchr(b'.', literal)?..]);
            if endings.len() > MOST_ENDINGS {
                return None;
            }
        }
        let sequence = |ending: &[u8]| Sequence { bytes: ending.to_vec(), sets: Vec::new() };
        let sequences: Vec<Sequence> = endings.into_iter().map(sequence).collect();
        let pattern = beginning_with(&sequences.iter().collect::<Vec<_>>(), false)?;
        (!sequences.is_empty()).then(|| [&*pattern, b"$"].concat())
    }

    fn write_family(&self, writer: &mut Writer, family: &Family, next: Vec<u8>) -> Vec<u8> {
        let [before, after] = &family.pattern;
        let pattern = [&**before, &writer.name("key"), after].concat();
        let literal = vec![(Key::Pattern { pattern, caseless: false }, writer.variable("key"))];
        let rows = family.rows.iter().map(|(row, key)| (key.clone(), writer.value(*row))).collect();
        self.write_table(writer, literal, rows, next)
    }

    /// Writes families behind a probe, so that most subjects that match no row of them skip them all.
    fn write_probe(&self, writer: &mut Writer, families: &[&Family], segments: usize, next: Vec<u8>) -> Vec<u8> {
        let mut leads: BTreeMap<&[u8], Vec<u8>> = BTreeMap::new();
        let mut unusual: BTreeSet<&[u8]> = BTreeSet::new();
        let mut value = next.clone();
        for family in families.iter().rev() {
            value = self.write_family(writer, family, value);
            leads.extend(family.rows.iter().map(|(_, literal)| (probed(literal, segments), value.clone())));
            unusual.extend(family.unusual.as_deref());
        }
        let mut rows: Vec<(Key, Vec<u8>)> = Vec::new();
        for literal in &unusual {
            let mut pattern = NO_DOT_BEFORE.to_vec();
            literal.iter().for_each(|byte| escape(*byte, &mut pattern));
            rows.push((Key::Pattern { pattern, caseless: false }, ALL.to_vec()));
        }
        if !unusual.is_empty() {
            leads.insert(ALL, value);
        }
        let segment = [SEGMENT, "/"].concat().repeat(segments - 1);
        let pattern = [b"^(?<", &*writer.name("key"), b">/", segment.as_bytes(), LAST_SEGMENT, b")"].concat();
        rows.push((Key::Pattern { pattern, caseless: false }, writer.variable("key")));
        let leads = leads.into_iter().map(|(key, value)| (key.to_vec(), value)).collect();
        self.write_table(writer, rows, leads, next)
    }

    fn write_table(
        &self,
        writer: &mut Writer,
        literal: Vec<(Key, Vec<u8>)>,
        rows: Vec<(Vec<u8>, Vec<u8>)>,
        next: Vec<u8>,
    ) -> Vec<u8> {
        let number = writer.maps.len();
        let name = format!("{}{number}_key", self.label);
        let mut map = writer.of_source(&name);
        map.rows = literal;
        writer.add(map);
        let mut table = writer.of(&name, &format!("{}{number}", self.label));
        table.rows = rows.into_iter().map(|(key, value)| (Key::Exact(key), value)).collect();
        table.default = next;
        writer.add(table)
    }
}

/// What a probe of `segments` segments captures of subjects that begin with a literal.
fn probed(literal: &[u8], segments: usize) -> &[u8] {
    let slash = memchr::memchr_iter(b'/', literal).nth(segments - 1).unwrap_or(0);
    let end = memchr::memchr2(b'/', b'.', &literal[slash + 1..]).map_or(literal.len(), |at| slash + 1 + at);
    &literal[..end]
}

/// Returns the rows whose literal is not the end of an earlier row's literal, nor the other way round. The literals are
/// given in reverse.
fn without_shorter_or_longer(mut literals: Vec<(Vec<u8>, usize)>) -> HashSet<usize> {
    literals.sort();
    let mut first: HashSet<usize> = literals.iter().map(|(_, row)| *row).collect();
    let mut shorter: Vec<&(Vec<u8>, usize)> = Vec::new();
    for literal in &literals {
        while shorter.last().is_some_and(|shorter| !literal.0.starts_with(&shorter.0)) {
            shorter.pop();
        }
        for other in &shorter {
            first.remove(&other.1.max(literal.1));
        }
        shorter.push(literal);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::{probed, without_shorter_or_longer};
    use crate::maps::example::with_rows;
    use crate::maps::{LargeForms, compile_with, read_patterns};

    /// A probe captures a number of segments, the last up to a dot.
    #[test]
    fn probes() {
        for (literal, segments, captured) in [
            ("/a/b/", 2, "/a/b"),
            ("/a/b", 2, "/a/b"),
            ("/a/b.c", 2, "/a/b"),
            ("/a.b/c", 2, "/a.b/c"),
            ("/a/b", 1, "/a"),
        ] {
            assert_eq!(probed(literal.as_bytes(), segments), captured.as_bytes());
        }
    }

    /// If one of two literals ends with the other, only the first row remains.
    #[test]
    fn ends() {
        let literal = |text: &str, row| (text.bytes().rev().collect(), row);
        let first =
            without_shorter_or_longer(vec![literal("/b", 3), literal("/a/b", 1), literal("/c", 2), literal("/c", 4)]);
        let mut first: Vec<usize> = first.into_iter().collect();
        first.sort_unstable();
        assert_eq!(first, [1, 2]);
    }

    /// Families are used where they leave few rows, and a probe where there are several of one length.
    #[test]
    fn forms() {
        let maps = |rows: &[&str]| {
            with_rows(rows, false, |map, _| {
                let compiled = compile_with(map, &read_patterns(map), "m_", LargeForms::ALWAYS).unwrap();
                String::from_utf8(compiled.text()).unwrap()
            })
        };
        let rows = |(number, rest): (usize, &&str)| format!("'~^/a/p{number}{rest}' {number};");
        let rests = ["/(.*)$", ".html", ".html$", "/"].repeat(4);
        let rows: Vec<String> = rests.iter().enumerate().map(rows).collect();
        let families = maps(&rows.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(families.matches("_key {").count(), 5, "{families}");
        assert!(families.contains(r#""~(?<!\.)html" "*""#), "{families}");
        let others = maps(&["~^/a 1;", "~^/b 2;", "~^/c 3;", "~^/a/b/ 4;"]);
        assert!(!others.contains("family"), "{others}");
    }
}
