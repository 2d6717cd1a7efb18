//! Rows with dots, several in one pattern.
//!
//! A row such as `^/v1.0/a` has a key of the tree, `/v1.0/a`, and matches hardly any subject that begins otherwise. For
//! these few subjects, rows that differ in one piece between their dots are one pattern, whose value is the key of the
//! row that matches: `"~^/v1[^\x0a](?<key>0/a|2/b)" "/v1.$key"`. If no pattern matches, the value is the prefix.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use crate::maps::bucket::Bucket;
use crate::maps::chunk::Chunks;
use crate::maps::frame::{self, DottedRow};
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::writer::Writer;

/// A map takes rows until it has so many.
const ENOUGH: usize = 192;

/// The most rows that have to be in one map: each is compared with each.
const MOST: usize = 2_000;

/// Put behind a key that is not that of the tree: of a row that ends there, and of one that does not.
const END: u8 = b'>';
const OPEN: u8 = b'*';

/// The rows that have patterns together with others.
pub struct Dotted {
    maps: Vec<DottedMap>,
    /// By bucket: the map that is asked first.
    of_bucket: Vec<Option<usize>>,
    /// By row.
    is_held: Vec<bool>,
    /// The keys that stand in the tree for these rows only.
    keys: Vec<(Vec<u8>, usize)>,
}

/// The patterns of one map, each with its value.
struct DottedMap {
    patterns: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Dotted {
    /// Chooses rows of the buckets. `None` if there are few.
    pub fn choose(writer: &Writer, chunks: &Chunks, buckets: &[Bucket]) -> Option<Dotted> {
        if writer.folded {
            return None;
        }
        let values: HashMap<Vec<u8>, Option<usize>> = buckets
            .iter()
            .map(|bucket| (chunks.path(bucket.node).to_ascii_lowercase(), value(bucket, writer)))
            .collect();
        let asked: Vec<(usize, &Bucket)> =
            buckets.iter().enumerate().filter(|(_, bucket)| bucket.node > 0 && bucket.cover.is_none()).collect();
        let mut tried: Vec<usize> = asked.iter().flat_map(|(_, bucket)| &bucket.tried).copied().collect();
        tried.sort_unstable();
        tried.dedup();
        let rows = dotted_rows(writer, &tried, &values);
        if rows.len() < writer.large.dotted {
            return None;
        }
        let by_number: HashMap<usize, &DottedRow> = rows.iter().map(|row| (row.number, row)).collect();
        let mut dotted = Dotted {
            maps: Vec::new(),
            of_bucket: vec![None; buckets.len()],
            is_held: vec![false; writer.rows.len()],
            keys: Vec::new(),
        };
        for group in groups(&asked, &by_number) {
            dotted.add(writer, &group, &by_number);
        }
        Some(dotted).filter(|dotted| !dotted.maps.is_empty())
    }

    /// The rows of a bucket that have no pattern together with others.
    pub fn left(&self, at: usize, bucket: &Bucket) -> Vec<usize> {
        let is_left = |row: &usize| self.of_bucket[at].is_none() || !self.is_held[*row];
        bucket.tried.iter().copied().filter(is_left).collect()
    }

    /// Adds a map for some buckets, by their numbers.
    fn add(&mut self, writer: &Writer, buckets: &[(usize, &Bucket)], rows: &HashMap<usize, &DottedRow>) {
        let mut held: Vec<&DottedRow> =
            buckets.iter().flat_map(|(_, bucket)| &bucket.tried).filter_map(|row| rows.get(row).copied()).collect();
        held.sort_by_key(|row| row.number);
        held.dedup_by_key(|row| row.number);
        let patterns = loop {
            remove_late(writer, buckets, &mut held);
            let patterns = frame::patterns(&held, writer.large.text);
            let moved = frame::out_of_order(&patterns, rows);
            if moved.is_empty() {
                break patterns;
            }
            held.retain(|row| !moved.contains(&row.number));
        };
        if held.is_empty() {
            return;
        }
        for row in held {
            self.is_held[row.number] = true;
            if row.key.len() > row.sequence.bytes.len() {
                self.keys.push((row.key.clone(), row.number));
            }
        }
        for (at, bucket) in buckets {
            if bucket.tried.iter().any(|row| self.is_held[*row]) {
                self.of_bucket[*at] = Some(self.maps.len());
            }
        }
        let name = writer.name("key");
        let texts = patterns.iter().map(|pattern| (pattern.text(&name), pattern.value(&name)));
        self.maps.push(DottedMap { patterns: texts.collect() });
    }

    /// Writes the maps that set `$dotted` to the key to look up.
    pub fn write(&self, writer: &mut Writer, chunks: &Chunks, buckets: &[Bucket]) {
        let variables: Vec<Vec<u8>> = self
            .maps
            .iter()
            .enumerate()
            .map(|(number, map)| {
                let mut dots =
                    EmittedMap { default: writer.variable("prefix"), ..writer.of_source(&format!("dots{number}")) };
                dots.rows.extend(map.patterns.iter().map(|(pattern, value)| {
                    (Key::Pattern { pattern: pattern.clone(), caseless: false }, value.clone())
                }));
                writer.add(dots)
            })
            .collect();
        let mut dotted = EmittedMap { default: writer.variable("prefix"), ..writer.of("prefix", "dotted") };
        for (bucket, map) in buckets.iter().zip(&self.of_bucket) {
            dotted.rows.extend(map.map(|map| (Key::Exact(chunks.path(bucket.node).to_vec()), variables[map].clone())));
        }
        writer.add(dotted);
    }

    /// The rows of the tree for keys that no prefix is.
    pub fn answers(&self, writer: &Writer) -> impl Iterator<Item = (Key, Vec<u8>)> {
        self.keys.iter().map(|(key, row)| (Key::Exact(key.clone()), writer.value(*row)))
    }
}

/// The row whose value the tree has for the key of a bucket.
fn value(bucket: &Bucket, writer: &Writer) -> Option<usize> {
    bucket.cover.filter(|row| bucket.node > 0 && bucket.tried.is_empty() && writer.rows[*row].is_plain)
}

/// The rows of bytes and dots, with keys of their own. `values`: the keys of the tree in lower case, each with the row whose
/// value it has.
fn dotted_rows<'r>(
    writer: &Writer<'r>,
    numbers: &[usize],
    values: &HashMap<Vec<u8>, Option<usize>>,
) -> Vec<DottedRow<'r>> {
    let mut taken: HashSet<Vec<u8>> = HashSet::new();
    let mut rows = Vec::new();
    for &number in numbers {
        let Some((sequence, is_line)) = frame::shape(&writer.rows[number], writer.in_lines) else { continue };
        let mut key = sequence.bytes.clone();
        let lower = key.to_ascii_lowercase();
        let is_of_tree = !is_line && values.get(&lower) == Some(&Some(number));
        if !is_of_tree {
            key.push(if is_line { END } else { OPEN });
        }
        let lower = key.to_ascii_lowercase();
        if is_of_tree || !values.contains_key(&lower) && taken.insert(lower) {
            rows.push(DottedRow { number, sequence, is_line, key });
        }
    }
    rows
}

/// Buckets whose rows have to be in one map, since they have some in common, with others up to [`ENOUGH`] rows.
fn groups<'b>(buckets: &[(usize, &'b Bucket)], rows: &HashMap<usize, &DottedRow>) -> Vec<Vec<(usize, &'b Bucket)>> {
    let mut sets = DisjointSets::new(buckets.len());
    let mut first_bucket: HashMap<usize, usize> = HashMap::new();
    for (at, (_, bucket)) in buckets.iter().enumerate() {
        for row in bucket.tried.iter().filter(|row| rows.contains_key(*row)) {
            let first = *first_bucket.entry(*row).or_insert(at);
            sets.join(first, at);
        }
    }
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for at in first_bucket.values() {
        *counts.entry(sets.root(*at)).or_default() += 1;
    }
    let mut groups: Vec<Vec<(usize, &Bucket)>> = Vec::new();
    let mut members: BTreeMap<usize, Vec<(usize, &Bucket)>> = BTreeMap::new();
    for (at, bucket) in buckets.iter().enumerate() {
        members.entry(sets.root(at)).or_default().push(*bucket);
    }
    let mut open = 0;
    for (root, count) in counts.into_iter().filter(|(_, count)| *count <= MOST) {
        let members = members.remove(&root).expect("its buckets");
        match groups.last_mut().filter(|_| open > 0 && open + count <= ENOUGH) {
            Some(group) => {
                group.extend(members);
                open += count;
            }
            None => {
                groups.push(members);
                open = count;
            }
        }
    }
    groups
}

/// Sets of numbers that are joined.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn new(count: usize) -> DisjointSets {
        DisjointSets((0..count).collect())
    }

    /// The smallest number of a set.
    fn root(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// Removes rows that may match where an earlier row is tried later, as that one has its own pattern.
fn remove_late(writer: &Writer, buckets: &[(usize, &Bucket)], held: &mut Vec<&DottedRow>) {
    let mut is_held: HashSet<usize> = held.iter().map(|row| row.number).collect();
    loop {
        let mut late: HashSet<usize> = HashSet::new();
        for (_, bucket) in buckets {
            let others = bucket.tried.iter().filter(|row| !is_held.contains(*row));
            for &other in others {
                let behind = bucket.tried.iter().filter(|row| **row > other && is_held.contains(*row));
                late.extend(behind.filter(|row| may_meet(&writer.rows[**row], &writer.rows[other])).copied());
            }
        }
        if late.is_empty() {
            break;
        }
        is_held.retain(|row| !late.contains(row));
    }
    held.retain(|row| is_held.contains(&row.number));
}

/// Whether a subject may match both rows.
fn may_meet(one: &RowFacts, other: &RowFacts) -> bool {
    one.sequences().iter().any(|first| {
        other.sequences().iter().any(|second| {
            // Of a long row only the beginning is known.
            let is_line = |row: &RowFacts, sequence: &Sequence| row.is_line && row.singles == sequence.bytes.len();
            frame::meet((first, is_line(one, first)), (second, is_line(other, second)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::DisjointSets;
    use crate::map_block::read_one;
    use crate::maps::{LargeForms, compile_with, read_patterns};

    /// The maps of rows as those of a large list, without that of the variable.
    fn maps(rows: &[&str]) -> String {
        let text = format!("map $uri $to {{ {} }}", rows.join(" "));
        let map = read_one(text.as_bytes()).unwrap();
        let compiled = compile_with(&map, &read_patterns(&map), "m_", LargeForms::ALWAYS).unwrap();
        String::from_utf8(compiled.text()).unwrap()
    }

    /// A row with dots has a key of the tree where that has its value, and else one of its own.
    #[test]
    fn keys() {
        let maps = maps(&["~^/v1.0/a 0;", "~^/v1.2/b 1;", "~^/v1.3/c$ 2;", "~^/v1.0/a.* 3;", "~^/v1.4/[0-9] 4;"]);
        for row in [
            r#""~^/v1[^\\x0a](?<m_key>(?:0/a|2/b))" "/v1.$m_key";"#,
            r#""~^/v1[^\\x0a](?<m_key>3/c)$" "/v1.$m_key>";"#,
            r#""/v1.3/c>" "2";"#,
            r#""/v1.2/b" "1";"#,
            r#""/v1" "$m_dots0";"#,
            r#"map "$m_dotted" $m_tree {"#,
            r#""~^/v1.4/[0-9]" "4";"#,
        ] {
            assert!(maps.contains(&row.replace(r"\\", "\\")), "{row}\n{maps}");
        }
        assert!(!maps.contains("~^/v1.0/a"), "{maps}");
    }

    /// A row behind one that has its own pattern keeps its own, too, where both may match.
    #[test]
    fn order() {
        let rows = [
            "~^/v1.0/a 0;",
            "~^/v1[a-z]2/b 1;",
            "~^/v1.2/b 2;",
            "~^/v1.3/c 3;",
            "~^/v1.4/d 4;",
            "~^/w/d 5;",
            "~^/x/d 6;",
        ];
        let maps = maps(&rows);
        assert!(maps.contains(r#""~^/v1.2/b" "2";"#) && !maps.contains(r#""~^/v1.3/c" "#), "{maps}");
    }

    /// A source without newlines has no map for these.
    #[test]
    fn lines() {
        let rows: String =
            (0..600).map(|number| format!("~^/p{number}/.*$ {number}; '~^/q{number}$' {number};")).collect();
        let maps = |source: &str| {
            let text = format!("map {source} $to {{ {rows} }}");
            let map = read_one(text.as_bytes()).unwrap();
            let compiled = compile_with(&map, &read_patterns(&map), "m_", LargeForms::USUAL).unwrap();
            (compiled.maps.len(), compiled.keys().concat().iter().any(|key| key.contains(&b'\n')), compiled.shape.lines)
        };
        let (with, without) = (maps("$uri"), maps("$request_uri"));
        assert_eq!((without.0 + 2, without.1, without.2), (with.0, false, false));
        assert!(with.1 && with.2);
    }

    /// Of a row longer than what is read of it, nobody knows where it ends.
    #[test]
    fn long_rows() {
        let long = format!("~^/v1.{}$", "a".repeat(200));
        let rows = [format!("{long} 0;"), "~^/v1.b 1;".to_owned(), format!("~^/v1.{}b 2;", "a".repeat(190))];
        let rows: Vec<String> = rows.into_iter().chain((0..9).map(|n| format!("~^/w{n}.b 3;"))).collect();
        let maps = maps(&rows.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(maps.contains(&long) && maps.contains("(?<m_key>"), "{maps}");
    }

    /// Sets are joined, and known by their smallest number.
    #[test]
    fn sets() {
        let mut sets = DisjointSets::new(6);
        for (one, other) in [(5, 3), (4, 1), (3, 4)] {
            sets.join(one, other);
        }
        let roots: Vec<usize> = (0..6).map(|at| sets.root(at)).collect();
        assert_eq!(roots, [0, 1, 2, 1, 1, 1]);
    }
}
