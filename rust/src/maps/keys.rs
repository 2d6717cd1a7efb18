//! Chooses the keys of the tree. A key is a path of the trie; the subjects for which it is the longest key are a
//! bucket.

use crate::maps::entry::{PathEnd, PathEntry};
use crate::maps::row::RowFacts;
use crate::maps::trie::{Trie, TrieNode};

/// If more rows than this have a dot in the same place, subjects with a dot there get a key. Hardly any other subjects
/// reach these rows.
const FEW_DOTS: usize = 2;

/// The keys of a trie, and the rows that cover its nodes.
pub struct KeyChoice {
    /// Whether the path of a node is a key.
    pub is_key: Vec<bool>,
    /// For each node, the first row that matches all subjects that begin with the path of the node.
    pub cover: Vec<Option<usize>>,
}

impl KeyChoice {
    /// Chooses keys so that, where possible, at most `leaf` rows are tried in a bucket. If a row matches all subjects
    /// that begin with its path, and a table can hold its value, the path is a key. Linear.
    pub fn choose(trie: &Trie, entries: &[PathEntry], rows: &[RowFacts], leaf: usize) -> KeyChoice {
        let cover = covers(trie, entries);
        let mut is_key = vec![false; trie.nodes.len()];
        let mut open = vec![0; trie.nodes.len()];
        for at in (0..trie.nodes.len()).rev() {
            let node = &trie.nodes[at];
            let own = entries[node.own.clone()].iter().filter(|entry| cover[at].is_none_or(|cover| entry.row <= cover));
            let is_answer = |entry: &&PathEntry| entry.kind == PathEnd::Covering && rows[entry.row].is_plain;
            let (answers, tried): (Vec<&PathEntry>, Vec<&PathEntry>) = own.partition(is_answer);
            let children = || node.children.clone();
            if tried.iter().filter(|entry| entry.kind == PathEnd::Dot).count() > FEW_DOTS {
                let is_dot = |child: &usize| path_byte(&trie.nodes[*child], entries, node.depth) == b'.';
                children().filter(is_dot).for_each(|child| is_key[child] = true);
            }
            open[at] = tried.len() + children().filter(|child| !is_key[*child]).map(|child| open[child]).sum::<usize>();
            if node.under.len() > leaf || node.depth == 0 {
                children().filter(|child| open[*child] > 0).for_each(|child| is_key[child] = true);
                open[at] = tried.len();
            }
            is_key[at] = node.depth > 0 && !answers.is_empty();
        }
        KeyChoice { is_key, cover }
    }
}

/// Returns one byte of the path of a node.
fn path_byte(node: &TrieNode, entries: &[PathEntry], at: usize) -> u8 {
    entries[node.under.start].sequence.bytes[at]
}

/// Computes [`KeyChoice::cover`], from the root down.
fn covers(trie: &Trie, entries: &[PathEntry]) -> Vec<Option<usize>> {
    let mut cover: Vec<Option<usize>> = vec![None; trie.nodes.len()];
    for at in 0..trie.nodes.len() {
        let node = &trie.nodes[at];
        let own = entries[node.own.clone()].iter().filter(|entry| entry.kind == PathEnd::Covering);
        cover[at] = own.map(|entry| entry.row).chain(cover[at]).min();
        let below = cover[at];
        cover[node.children.clone()].fill(below);
    }
    cover
}
