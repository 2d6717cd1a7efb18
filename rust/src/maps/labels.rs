//! The strings of a trie's nodes, and the spelling of each key.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::maps::entry::PathEntry;
use crate::maps::trie::Trie;

/// A trie with the strings that its nodes refer to.
pub struct Labels<'k> {
    pub trie: Trie,
    pub entries: Vec<PathEntry<'k>>,
}

impl<'k> Labels<'k> {
    pub fn label(&self, at: usize) -> &'k [u8] {
        let node = &self.trie.nodes[at];
        &self.entries[node.under.start].sequence.bytes[node.above..node.depth]
    }

    pub fn path(&self, at: usize) -> &'k [u8] {
        let node = &self.trie.nodes[at];
        &self.entries[node.under.start].sequence.bytes[..node.depth]
    }

    /// Of keys that differ only in case, keeps the one that more rows begin with.
    pub fn settle_spellings(&self, is_key: &mut [bool]) -> Spellings<'k> {
        let mut spellings = Spellings::default();
        let mut keys: Vec<usize> = (0..is_key.len()).filter(|at| is_key[*at]).collect();
        keys.sort_by_key(|at| Reverse(self.trie.nodes[*at].under.len()));
        for at in keys {
            is_key[at] = spellings.take(self.path(at));
        }
        spellings
    }
}

/// The spelling of each key. A hash table of nginx can hold only one of the keys that differ only in case.
#[derive(Default)]
pub struct Spellings<'k>(HashMap<Vec<u8>, &'k [u8]>);

impl<'k> Spellings<'k> {
    /// Reserves the spelling of a key; `false` if another spelling of it is taken.
    pub fn take(&mut self, key: &'k [u8]) -> bool {
        *self.0.entry(key.to_ascii_lowercase()).or_insert(key) == key
    }
}
