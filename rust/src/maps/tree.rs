//! The tree finds the longest key that a subject begins with, and tries only the rows that may match a subject with
//! that key.

use hashbrown::HashMap;

use crate::maps::bucket::{Bucket, Buckets, Keyed};
use crate::maps::chain::ChainWriter;
use crate::maps::chunk::Chunks;
use crate::maps::entry::entries;
use crate::maps::large::LargeForms;
use crate::maps::row::RowFacts;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::writer::Writer;
use crate::work::spend;

/// The most rows of a leaf in a large list. Leaves of small lists have fewer. Leaves are not smaller because each map
/// costs every request.
pub const LARGEST_LEAF: usize = 64;

/// From this leaf size on, a leaf no longer has a value of its own for when no row matches; see [`Leaf::value`].
const MANY: usize = 12;

/// The rows of a tree, with their keys and buckets.
pub struct Tree<'r> {
    /// The rows, ascending.
    pub members: Vec<usize>,
    keyed: Keyed<'r>,
    buckets: Vec<Bucket>,
    /// The size of a leaf.
    leaf: usize,
}

/// The maps of a tree, as written.
pub struct WrittenTree {
    /// The variable that has the answer.
    pub variable: Vec<u8>,
    pub buckets: usize,
    pub leaves: usize,
}

impl<'r> Tree<'r> {
    /// Builds a tree, and returns it with the rows that would be in too many of its leaves. `None` if there is no key.
    pub fn new(
        rows: &'r [RowFacts<'r>],
        mut members: Vec<usize>,
        in_lines: bool,
        (many, large): (usize, LargeForms),
    ) -> Option<(Tree<'r>, Vec<usize>)> {
        let mut scattered = Vec::new();
        let mut entries = entries(rows, members.iter().copied(), in_lines);
        // Each round leaves out a row.
        while !entries.is_empty() {
            spend(8 * entries.len());
            let leaf = leaf_size(entries.len().max(many));
            let keyed = Keyed::new(rows, entries, leaf, large);
            if keyed.chunks.top.is_empty() {
                return None;
            }
            let Buckets { buckets, scattered: others } = keyed.buckets(rows.len());
            if others.is_empty() {
                return Some((Tree { members, keyed, buckets, leaf }, scattered));
            }
            members.retain(|row| others.binary_search(row).is_err());
            entries = keyed.chunks.labels.entries;
            entries.retain(|entry| others.binary_search(&entry.row).is_err());
            scattered.extend(others);
        }
        None
    }

    /// Writes the maps; `next` is the value where no row of the tree matches.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> WrittenTree {
        let Tree { keyed: Keyed { chunks, .. }, buckets, .. } = self;
        write_chunks(writer, chunks);
        let mut leaves = Leaves::new("leaf", self.leaf, next);
        let length = |bucket: &Bucket| chunks.path(bucket.node).len();
        let places: Vec<BucketValue> =
            buckets.iter().map(|bucket| leaves.place(bucket, length(bucket), writer)).collect();
        let variables: Vec<Vec<u8>> = leaves.write(writer);
        let mut tree = EmittedMap { default: next.to_vec(), ..writer.of("prefix", "tree") };
        for (bucket, place) in buckets.iter().zip(places) {
            let value = match place {
                BucketValue::Next => continue,
                BucketValue::Value(row) => writer.value(row),
                BucketValue::Leaf(leaf) => variables[leaf].clone(),
            };
            tree.rows.push((Key::Exact(chunks.path(bucket.node).to_vec()), value));
        }
        let buckets = tree.rows.len();
        WrittenTree { variable: writer.add(tree), buckets, leaves: variables.len() }
    }
}

fn leaf_size(entries: usize) -> usize {
    (entries.isqrt() / 3).clamp(2, LARGEST_LEAF)
}

/// Writes the maps that set `$prefix` to the longest key.
fn write_chunks(writer: &mut Writer, chunks: &Chunks) {
    let name = |level: usize| if level == chunks.levels.len() { "prefix".to_owned() } else { format!("root{level}") };
    write_keys(writer, &chunks.top, &name(0));
    let mut count = 0;
    for (level, below) in chunks.levels.iter().enumerate() {
        let mut map =
            EmittedMap { default: writer.variable(&name(level)), ..writer.of(&name(level), &name(level + 1)) };
        for chunk in below {
            count += 1;
            let variable = write_keys(writer, &chunk.patterns, &format!("chunk{count}"));
            map.rows.extend(chunk.roots.iter().map(|root| (Key::Exact(chunks.path(*root).to_vec()), variable.clone())));
        }
        writer.add(map);
    }
}

/// Writes a map whose value is the longest key of the subject. The first pattern that matches captures it.
fn write_keys(writer: &mut Writer, patterns: &[Vec<u8>], what: &str) -> Vec<u8> {
    let key = writer.name("key");
    let mut map = writer.of_source(what);
    for pattern in patterns {
        let pattern = [b"^(?<", &*key, b">", pattern, b")"].concat();
        map.rows.push((Key::Pattern { pattern, caseless: writer.folded }, writer.variable("key")));
    }
    writer.add(map)
}

/// The value to which a key leads.
enum BucketValue {
    Next,
    /// The value of a row.
    Value(usize),
    Leaf(usize),
}

/// The leaves of a tree. Neighbouring keys share a leaf.
pub struct Leaves<'n> {
    /// The start of the names of their maps.
    label: &'n str,
    size: usize,
    next: &'n [u8],
    leaves: Vec<Leaf>,
    /// The last leaf that a later bucket may share: first among ordinary leaves, then among those that hardly any
    /// subject reaches.
    last: [Option<usize>; 2],
    by_content: HashMap<Leaf, usize>,
}

/// Rows that are tried, and the row whose value is the answer if none of them matches.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Leaf {
    rows: Vec<usize>,
    value: Option<usize>,
    /// If hardly any subject reaches the leaf: how many bytes of the rows' beginnings all subjects here have.
    rare: Option<usize>,
}

/// A leaf that hardly any subject reaches may have this many times more rows.
const RARE: usize = 2;

impl<'n> Leaves<'n> {
    pub fn new(label: &'n str, size: usize, next: &'n [u8]) -> Leaves<'n> {
        Leaves { label, size, next, leaves: Vec::new(), last: [None; 2], by_content: HashMap::new() }
    }

    /// Returns the value for a bucket whose key has `length` bytes.
    fn place(&mut self, bucket: &Bucket, length: usize, writer: &Writer) -> BucketValue {
        let is_empty_key = bucket.node == 0;
        let mut tried = bucket.tried.clone();
        // The value becomes the default of a map. nginx also uses the default for the empty subject and if PCRE gives
        // up.
        let is_value = |row: &usize| writer.rows[*row].is_plain && tried.iter().all(|row| writer.is_certain(*row));
        let value = bucket.cover.filter(|row| !is_empty_key && is_value(row));
        if tried.is_empty()
            && let Some(value) = value
        {
            return BucketValue::Value(value);
        }
        // Leaves of large lists are shared between keys, so they try the covering row like any other.
        let value = value.filter(|_| self.size < MANY);
        if value.is_none() {
            tried.extend(bucket.cover);
        }
        if tried.is_empty() {
            return BucketValue::Next;
        }
        BucketValue::Leaf(self.leaf(Leaf { rows: tried, value, rare: bucket.is_rare.then_some(length) }, is_empty_key))
    }

    /// Returns a leaf that tries these rows.
    pub fn add(&mut self, rows: Vec<usize>) -> usize {
        self.leaf(Leaf { rows, value: None, rare: None }, false)
    }

    /// Returns a leaf for a bucket: an existing one with the same rows, the last one with these rows added, or a new
    /// one. The leaf of the empty key is not shared, because most subjects reach it.
    fn leaf(&mut self, leaf: Leaf, is_empty_key: bool) -> usize {
        if is_empty_key {
            self.leaves.push(leaf);
            return self.leaves.len() - 1;
        }
        if let Some(same) = self.by_content.get(&leaf) {
            return *same;
        }
        let kind = usize::from(leaf.rare.is_some());
        let joined = self.last[kind].filter(|last| self.joins(*last, &leaf));
        let at = joined.unwrap_or_else(|| {
            self.leaves.push(leaf.clone());
            self.leaves.len() - 1
        });
        self.last[kind] = Some(at);
        self.by_content.insert(leaf, at);
        at
    }

    /// Adds the rows of a leaf to another one if it has room for all. Returns whether it did.
    fn joins(&mut self, at: usize, leaf: &Leaf) -> bool {
        let other = &mut self.leaves[at];
        if other.value != leaf.value {
            return false;
        }
        let mut rows = [&*other.rows, &*leaf.rows].concat();
        spend(4 * rows.len());
        rows.sort_unstable();
        rows.dedup();
        let fits = rows.len() <= if leaf.rare.is_some() { RARE * self.size } else { self.size };
        if fits {
            (other.rows, other.rare) = (rows, other.rare.max(leaf.rare));
        }
        fits
    }

    pub fn write(&self, writer: &mut Writer) -> Vec<Vec<u8>> {
        let write = |(number, leaf): (usize, &Leaf)| {
            let next = leaf.value.map_or(self.next.to_vec(), |row| writer.value(row));
            let label = format!("{}{number}_", self.label);
            match leaf.rare {
                Some(length) => ChainWriter::write_rare(writer, &label, &leaf.rows, length, &next),
                None => ChainWriter::write(writer, &label, &leaf.rows, &next),
            }
        };
        self.leaves.iter().enumerate().map(write).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use crate::maps::example::with_rows;
    use crate::maps::large::LargeForms;

    /// If all rows belong to too many leaves, there is no tree.
    #[test]
    fn all_scattered() {
        let rows: Vec<String> = (0..5).map(|number| format!("~^/a?b?c?d?e?f?/p{number}$ {number};")).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        with_rows(&rows, false, |_, rows| {
            assert!(Tree::new(rows, (0..5).collect(), false, (5, LargeForms::USUAL)).is_none());
            assert!(Tree::new(rows, Vec::new(), false, (0, LargeForms::USUAL)).is_none());
        });
    }
}
