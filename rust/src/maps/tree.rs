//! The tree: from the longest key that a subject begins with to the rows that may match it.

use hashbrown::HashMap;

use crate::maps::bucket::{Bucket, Buckets, Keyed};
use crate::maps::chain::ChainWriter;
use crate::maps::chunk::Chunks;
use crate::maps::entry::entries;
use crate::maps::row::RowFacts;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::writer::Writer;

/// Leaves take few rows in a small list, and as many as this in a large one: each map costs every request.
const LARGEST_LEAF: usize = 64;

/// Where leaves have as many rows as this, no leaf is made for one value.
const MANY: usize = 12;

/// Rows that keys lead to.
pub struct Tree<'r> {
    /// The rows, ascending.
    pub members: Vec<usize>,
    keyed: Keyed<'r>,
    buckets: Vec<Bucket>,
}

/// How a tree came out.
pub struct WrittenTree {
    /// The variable that answers.
    pub variable: Vec<u8>,
    pub buckets: usize,
    pub leaves: usize,
}

impl<'r> Tree<'r> {
    /// Takes rows for a tree; those that would stand in too many of its leaves are returned. `None` where two spellings
    /// of a key leave no place to cut it.
    pub fn new(rows: &'r [RowFacts<'r>], mut members: Vec<usize>, in_lines: bool) -> Option<(Tree<'r>, Vec<usize>)> {
        let mut scattered = Vec::new();
        loop {
            let entries = entries(rows, members.iter().copied(), in_lines);
            let leaf = leaf_size(entries.len());
            let keyed = Keyed::new(rows, entries, leaf)?;
            let Buckets { buckets, scattered: others } = keyed.buckets(rows.len());
            if others.is_empty() {
                return Some((Tree { members, keyed, buckets }, scattered));
            }
            members.retain(|row| others.binary_search(row).is_err());
            scattered.extend(others);
        }
    }

    /// Writes the maps; `next` is the value where no row of the tree matches.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> WrittenTree {
        let Tree { keyed: Keyed { chunks, .. }, buckets, .. } = self;
        write_chunks(writer, chunks);
        let mut leaves = Leaves::new(leaf_size(chunks.entries.len()), next);
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

/// Writes the maps that give the longest key as `$prefix`.
fn write_chunks(writer: &mut Writer, chunks: &Chunks) {
    let below = chunks.below(0);
    if below.is_empty() {
        return write_keys(writer, chunks, 0, "prefix");
    }
    write_keys(writer, chunks, 0, "root");
    let mut count = 0;
    write_below(writer, chunks, &below, "root", "prefix", &mut count);
}

/// One chunk: the longest of its keys.
fn write_keys(writer: &mut Writer, chunks: &Chunks, root: usize, what: &str) {
    let key = String::from_utf8_lossy(&writer.name("key")).into_owned();
    let pattern = [b"^(?<", key.as_bytes(), b">", &*chunks.pattern(root), b")"].concat();
    let mut map = writer.of_source(what);
    map.rows.push((Key::Pattern { pattern, caseless: writer.folded }, writer.variable("key")));
    writer.add(map);
}

/// From the keys of one chunk, in `$from`, to the longest key of all, in `$to`: where the key is the root of another
/// chunk, that chunk tells.
fn write_below(writer: &mut Writer, chunks: &Chunks, below: &[usize], from: &str, to: &str, count: &mut usize) {
    let mut map = writer.of(from, to);
    map.default = writer.variable(from);
    for &root in below {
        *count += 1;
        let (chunk, down) = (format!("chunk{count}"), format!("down{count}"));
        write_keys(writer, chunks, root, &chunk);
        let further = chunks.below(root);
        let variable = if further.is_empty() { writer.variable(&chunk) } else { writer.variable(&down) };
        if !further.is_empty() {
            write_below(writer, chunks, &further, &chunk, &down, count);
        }
        map.rows.push((Key::Exact(chunks.path(root).to_vec()), variable));
    }
    writer.add(map);
}

/// What the tree says for a key.
enum BucketValue {
    Next,
    /// The value of a row.
    Value(usize),
    Leaf(usize),
}

/// The leaves, of which neighbouring keys share one.
struct Leaves<'n> {
    size: usize,
    next: &'n [u8],
    leaves: Vec<Leaf>,
    /// The last leaf that others may share, of those where hardly any subject comes, and of the others.
    last: [Option<usize>; 2],
    by_content: HashMap<Leaf, usize>,
}

/// Rows that are tried, and the row whose value holds where none of them matches.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Leaf {
    rows: Vec<usize>,
    value: Option<usize>,
    /// Hardly any subject comes here that has more of the rows' beginnings than this.
    rare: Option<usize>,
}

/// So many more rows share a leaf if hardly any subject comes there.
const RARE: usize = 8;

impl<'n> Leaves<'n> {
    fn new(size: usize, next: &'n [u8]) -> Leaves<'n> {
        Leaves { size, next, leaves: Vec::new(), last: [None; 2], by_content: HashMap::new() }
    }

    /// `length` is that of the key.
    fn place(&mut self, bucket: &Bucket, length: usize, writer: &Writer) -> BucketValue {
        let is_empty_key = bucket.node == 0;
        let mut tried = bucket.tried.clone();
        // A default is also what the empty subject gets, and what nginx takes where PCRE gives up.
        let is_value = |row: &usize| writer.rows[*row].is_plain && tried.iter().all(|row| writer.is_certain(*row));
        let value = bucket.cover.filter(|row| !is_empty_key && is_value(row));
        if tried.is_empty()
            && let Some(value) = value
        {
            return BucketValue::Value(value);
        }
        // In a large list leaves are shared, so that each holds the rows that cover, too.
        let value = value.filter(|_| self.size < MANY);
        if value.is_none() {
            tried.extend(bucket.cover);
        }
        if tried.is_empty() {
            return BucketValue::Next;
        }
        BucketValue::Leaf(self.leaf(Leaf { rows: tried, value, rare: bucket.is_rare.then_some(length) }, is_empty_key))
    }

    /// The leaf of a bucket: one with the same rows, or the last one with these rows added, or a new one. No other bucket
    /// shares that of the empty key: most subjects come to it.
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

    /// Adds the rows of a leaf to another, if that may have them all.
    fn joins(&mut self, at: usize, leaf: &Leaf) -> bool {
        let other = &mut self.leaves[at];
        if other.value != leaf.value {
            return false;
        }
        let mut rows = [&*other.rows, &*leaf.rows].concat();
        rows.sort_unstable();
        rows.dedup();
        let fits = rows.len() <= if leaf.rare.is_some() { RARE * self.size } else { self.size };
        if fits {
            (other.rows, other.rare) = (rows, other.rare.max(leaf.rare));
        }
        fits
    }

    fn write(&self, writer: &mut Writer) -> Vec<Vec<u8>> {
        let write = |(number, leaf): (usize, &Leaf)| {
            let next = leaf.value.map_or(self.next.to_vec(), |row| writer.value(row));
            let label = format!("leaf{number}_");
            match leaf.rare {
                Some(length) => ChainWriter::write_rare(writer, &label, &leaf.rows, length, &next),
                None => ChainWriter::write(writer, &label, &leaf.rows, &next),
            }
        };
        self.leaves.iter().enumerate().map(write).collect()
    }
}
