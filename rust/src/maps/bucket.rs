//! What is tried in each bucket: the rows that may match a subject whose longest key is the bucket's.

use std::rc::Rc;

use crate::maps::chunk::Chunks;
use crate::maps::entry::{Entry, Kind};
use crate::maps::keys::Keys;
use crate::maps::row::Row;
use crate::maps::trie::Trie;

/// A row stands in so many buckets below where it is known to begin; one that would stand in more is no part of the tree.
const MOST_COPIES: usize = 32;

/// The rows of one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// The node whose path is the key; the first is the empty key, of all subjects that begin with no other.
    pub node: usize,
    /// The rows that may match before `cover` does, ascending.
    pub tried: Vec<usize>,
    /// The row that matches all that no earlier one does.
    pub cover: Option<usize>,
    /// Whether only subjects come here that have another byte where each of the rows has a dot: hardly any.
    pub is_rare: bool,
}

/// The rows of the tree by bucket, in the order of the keys.
pub struct Buckets {
    pub buckets: Vec<Bucket>,
    /// The rows that would stand in too many of them.
    pub scattered: Vec<usize>,
}

/// A trie with its keys, cut into chunks, and the first row that covers all that begins with the path of a node.
pub struct Keyed<'r> {
    pub chunks: Chunks<'r>,
    cover: Vec<Option<usize>>,
}

impl<'r> Keyed<'r> {
    /// Chooses the keys for some entries, for leaves of so many rows; `None` as [`Chunks::new`].
    pub fn new(rows: &[Row], entries: Vec<Entry<'r>>, leaf: usize) -> Option<Keyed<'r>> {
        let trie = Trie::new(&entries);
        let Keys { is_key, cover } = Keys::choose(&trie, &entries, rows, leaf);
        Some(Keyed { chunks: Chunks::new(trie, entries, is_key)?, cover })
    }

    fn entry(&self, entry: usize) -> &Entry<'r> {
        &self.chunks.entries[entry]
    }

    /// Lists the rows of each bucket. O(entries), as a row stands in few.
    pub fn buckets(&self, rows: usize) -> Buckets {
        let mut copies = vec![0; rows];
        let mut buckets = Vec::new();
        let mut stack: Vec<(usize, Rc<[usize]>)> = vec![(0, Rc::new([]))];
        while let Some((at, inherited)) = stack.pop() {
            if at == 0 || self.chunks.is_key(at) {
                inherited.iter().for_each(|entry| copies[self.entry(*entry).row] += 1);
                buckets.push(self.bucket(at, &inherited));
            }
            let node = &self.chunks.trie.nodes[at];
            let own = node.own.clone().filter(|entry| self.is_live(*entry, at));
            let own = own.filter(|entry| self.entry(*entry).kind != Kind::Covering);
            let handed: Vec<usize> = inherited.iter().copied().chain(own).collect();
            for child in node.children.clone().rev().filter(|child| self.chunks.has_keys(*child)) {
                let path = self.chunks.path(child);
                let reaches = |entry: &usize| {
                    let reaches = self.entry(*entry).reaches(path) && self.is_live(*entry, child);
                    reaches && copies[self.entry(*entry).row] <= MOST_COPIES
                };
                stack.push((child, handed.iter().copied().filter(reaches).collect()));
            }
        }
        let scattered = (0..rows).filter(|row| copies[*row] > MOST_COPIES).collect();
        Buckets { buckets, scattered }
    }

    /// Whether no earlier row covers all that begins with the path of the node.
    fn is_live(&self, entry: usize, at: usize) -> bool {
        self.cover[at].is_none_or(|cover| self.entry(entry).row <= cover)
    }

    fn bucket(&self, at: usize, inherited: &[usize]) -> Bucket {
        let cover = self.cover[at];
        let mut tried: Vec<usize> = inherited.iter().map(|entry| self.entry(*entry).row).collect();
        let mut is_rare = tried.is_empty();
        let mut stack = vec![at];
        while let Some(below) = stack.pop() {
            let node = &self.chunks.trie.nodes[below];
            for entry in node.own.clone().filter(|entry| self.is_live(*entry, at)) {
                let Entry { row, kind, .. } = *self.entry(entry);
                is_rare &= below == at && (kind == Kind::Dot || Some(row) == cover);
                tried.push(row);
            }
            stack.extend(node.children.clone().filter(|child| !self.chunks.is_key(*child)));
        }
        tried.retain(|row| Some(*row) != cover);
        tried.sort_unstable();
        tried.dedup();
        Bucket { node: at, tried, cover, is_rare }
    }
}
