//! What is tried in each bucket: the rows that may match a subject whose longest key is the bucket's.

use std::rc::Rc;

use crate::maps::chunk::Chunks;
use crate::maps::entry::{Entry, Kind};
use crate::maps::keys::Keys;
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
}

/// The rows of the tree by bucket, in the order of the keys.
pub struct Buckets {
    pub buckets: Vec<Bucket>,
    /// The rows that would stand in too many of them.
    pub scattered: Vec<usize>,
}

/// A trie with its keys.
pub struct Keyed<'k> {
    pub trie: &'k Trie,
    pub entries: &'k [Entry<'k>],
    pub keys: &'k Keys,
    pub chunks: &'k Chunks<'k>,
}

impl Keyed<'_> {
    /// Lists the rows of each bucket. O(entries), as a row stands in few.
    pub fn buckets(&self, rows: usize) -> Buckets {
        let mut copies = vec![0; rows];
        let mut buckets = Vec::new();
        let mut stack: Vec<(usize, Rc<[usize]>)> = vec![(0, Rc::new([]))];
        while let Some((at, inherited)) = stack.pop() {
            if at == 0 || self.chunks.is_key(at) {
                inherited.iter().for_each(|entry| copies[self.entries[*entry].row] += 1);
                buckets.push(self.bucket(at, &inherited));
            }
            let node = &self.trie.nodes[at];
            let own = node.own.clone().filter(|entry| self.is_live(*entry, at));
            let own = own.filter(|entry| self.entries[*entry].kind != Kind::Covering);
            let handed: Vec<usize> = inherited.iter().copied().chain(own).collect();
            for child in node.children.clone().rev().filter(|child| self.chunks.has_keys(*child)) {
                let path = self.chunks.path(child);
                let reaches = |entry: &usize| {
                    let reaches = self.entries[*entry].reaches(path) && self.is_live(*entry, child);
                    reaches && copies[self.entries[*entry].row] <= MOST_COPIES
                };
                stack.push((child, handed.iter().copied().filter(reaches).collect()));
            }
        }
        let scattered = (0..rows).filter(|row| copies[*row] > MOST_COPIES).collect();
        Buckets { buckets, scattered }
    }

    /// Whether no earlier row covers all that begins with the path of the node.
    fn is_live(&self, entry: usize, at: usize) -> bool {
        self.keys.cover[at].is_none_or(|cover| self.entries[entry].row <= cover)
    }

    fn bucket(&self, at: usize, inherited: &[usize]) -> Bucket {
        let cover = self.keys.cover[at];
        let mut tried: Vec<usize> = inherited.iter().map(|entry| self.entries[*entry].row).collect();
        let mut stack = vec![at];
        while let Some(below) = stack.pop() {
            let node = &self.trie.nodes[below];
            let live = node.own.clone().filter(|entry| self.is_live(*entry, below));
            tried.extend(live.map(|entry| self.entries[entry].row));
            stack.extend(node.children.clone().filter(|child| !self.chunks.is_key(*child)));
        }
        tried.retain(|row| Some(*row) != cover);
        tried.sort_unstable();
        tried.dedup();
        Bucket { node: at, tried, cover }
    }
}
