//! The tree: from the longest key that a subject begins with to the rows that may match it.

use hashbrown::HashMap;

use crate::maps::bucket::{Bucket, Keyed};
use crate::maps::chain::Chain;
use crate::maps::chunk::Chunks;
use crate::maps::entry::{Entry, entries};
use crate::maps::keys::Keys;
use crate::maps::row::Row;
use crate::maps::text::{Key, Map};
use crate::maps::trie::Trie;
use crate::maps::writer::Writer;

/// Leaves take few rows in a small list, and as many as this in a large one: each map costs every request.
const LARGEST_LEAF: usize = 24;

/// Rows that keys lead to.
pub struct Tree<'r> {
    /// The rows, ascending.
    pub members: Vec<usize>,
    /// Whether no subject comes here that has a newline inside.
    in_lines: bool,
    rows: &'r [Row<'r>],
}

/// How a tree came out.
pub struct Outcome {
    /// The variable that answers.
    pub variable: Vec<u8>,
    pub buckets: usize,
    pub leaves: usize,
}

/// No tree, as two spellings of a key leave no place to cut it.
pub struct Collision;

impl<'r> Tree<'r> {
    /// Takes rows for a tree; those that would stand in too many of its leaves are returned.
    pub fn new(
        rows: &'r [Row<'r>],
        mut members: Vec<usize>,
        in_lines: bool,
    ) -> Result<(Tree<'r>, Vec<usize>), Collision> {
        let mut scattered = Vec::new();
        loop {
            let tree = Tree { members, in_lines, rows };
            let others = tree.keyed(|keyed| keyed.buckets(rows.len()).scattered)?;
            if others.is_empty() {
                return Ok((tree, scattered));
            }
            members = tree.members;
            members.retain(|row| others.binary_search(row).is_err());
            scattered.extend(others);
        }
    }

    /// Does something with the trie of the rows and its keys.
    fn keyed<R>(&self, work: impl FnOnce(&Keyed) -> R) -> Result<R, Collision> {
        let entries: Vec<Entry> = entries(self.rows, self.members.iter().copied(), self.in_lines);
        let trie = Trie::new(&entries);
        let keys = Keys::choose(&trie, &entries, self.rows, leaf_size(entries.len()));
        let chunks = Chunks::new(&trie, &entries, keys.is_key.clone()).ok_or(Collision)?;
        Ok(work(&Keyed { trie: &trie, entries: &entries, keys: &keys, chunks: &chunks }))
    }

    /// Writes the maps; `next` is the value where no row of the tree matches.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Result<Outcome, Collision> {
        self.keyed(|keyed| {
            write_chunks(writer, keyed.chunks);
            let buckets = keyed.buckets(self.rows.len()).buckets;
            let mut leaves = Leaves::new(leaf_size(keyed.entries.len()), next);
            let places: Vec<Place> = buckets.iter().map(|bucket| leaves.place(bucket, self.rows)).collect();
            let variables: Vec<Vec<u8>> = leaves.write(writer);
            let mut tree = Map { default: next.to_vec(), ..writer.of("prefix", "tree") };
            for (bucket, place) in buckets.iter().zip(places) {
                let value = match place {
                    Place::Next => continue,
                    Place::Value(row) => writer.value(row),
                    Place::Leaf(leaf) => variables[leaf].clone(),
                };
                tree.rows.push((Key::Exact(keyed.chunks.path(bucket.node).to_vec()), value));
            }
            let buckets = tree.rows.len();
            Outcome { variable: writer.add(tree), buckets, leaves: variables.len() }
        })
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
enum Place {
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
    /// The leaf of the empty key, which no other shares: most subjects come to it.
    alone: Option<usize>,
    by_content: HashMap<Leaf, usize>,
}

/// Rows that are tried, and the row whose value holds where none of them matches.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Leaf {
    rows: Vec<usize>,
    value: Option<usize>,
}

impl<'n> Leaves<'n> {
    fn new(size: usize, next: &'n [u8]) -> Leaves<'n> {
        Leaves { size, next, leaves: Vec::new(), alone: None, by_content: HashMap::new() }
    }

    fn place(&mut self, bucket: &Bucket, rows: &[Row]) -> Place {
        let is_empty_key = bucket.node == 0;
        let mut tried = bucket.tried.clone();
        // A default is also what the empty subject gets, and what nginx takes where PCRE gives up.
        let is_value = |row: &usize| rows[*row].is_plain && tried.iter().all(|row| rows[*row].is_certain);
        let value = bucket.cover.filter(|row| !is_empty_key && is_value(row));
        match (bucket.cover, value) {
            (Some(_), Some(value)) if tried.is_empty() => return Place::Value(value),
            (Some(cover), None) => tried.push(cover),
            _ if tried.is_empty() => return Place::Next,
            _ => {}
        }
        Place::Leaf(self.leaf(Leaf { rows: tried, value }, is_empty_key))
    }

    /// The leaf of a bucket: one with the same rows, or the last one with these rows added, or a new one.
    fn leaf(&mut self, leaf: Leaf, is_empty_key: bool) -> usize {
        if is_empty_key {
            self.alone = Some(self.leaves.len());
            self.leaves.push(leaf);
            return self.leaves.len() - 1;
        }
        if let Some(same) = self.by_content.get(&leaf) {
            return *same;
        }
        if !self.joins_last(&leaf) {
            self.leaves.push(leaf.clone());
        }
        self.by_content.insert(leaf, self.leaves.len() - 1);
        self.leaves.len() - 1
    }

    fn joins_last(&mut self, leaf: &Leaf) -> bool {
        let is_alone = self.alone == self.leaves.len().checked_sub(1);
        let Some(last) = self.leaves.last_mut().filter(|last| !is_alone && last.value == leaf.value) else {
            return false;
        };
        let mut rows = [&*last.rows, &*leaf.rows].concat();
        rows.sort_unstable();
        rows.dedup();
        let fits = rows.len() <= self.size;
        if fits {
            last.rows = rows;
        }
        fits
    }

    fn write(&self, writer: &mut Writer) -> Vec<Vec<u8>> {
        let write = |(number, leaf): (usize, &Leaf)| {
            let next = leaf.value.map_or(self.next.to_vec(), |row| writer.value(row));
            Chain::write(writer, &format!("leaf{number}_"), &leaf.rows, &next)
        };
        self.leaves.iter().enumerate().map(write).collect()
    }
}
