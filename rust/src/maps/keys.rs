//! The keys of the tree: which paths of the trie tell the buckets apart.

use crate::maps::entry::{Entry, Kind};
use crate::maps::row::Row;
use crate::maps::trie::Trie;

/// The trie of the entries, and what the planner knows of its nodes.
pub struct Keys {
    /// Whether the path of a node is a key.
    pub is_key: Vec<bool>,
    /// The first row that covers all that begins with the path of a node.
    pub cover: Vec<Option<usize>>,
}

impl Keys {
    /// Chooses keys so that, where it can be, at most `leaf` rows have to be tried in a bucket. The paths of rows that
    /// cover, and whose values a table can hold, are keys. O(entries log entries).
    pub fn choose(trie: &Trie, entries: &[Entry], rows: &[Row], leaf: usize) -> Keys {
        let cover = covers(trie, entries);
        let mut is_key = vec![false; trie.nodes.len()];
        let mut open = vec![0; trie.nodes.len()];
        for at in (0..trie.nodes.len()).rev() {
            let node = &trie.nodes[at];
            let own = entries[node.own.clone()].iter().filter(|entry| cover[at].is_none_or(|cover| entry.row <= cover));
            let is_answer = |entry: &&Entry| entry.kind == Kind::Covering && rows[entry.row].is_plain;
            let (answers, tried): (Vec<&Entry>, Vec<&Entry>) = own.partition(is_answer);
            let mut children: Vec<usize> = node.children.clone().filter(|child| !is_key[*child]).collect();
            open[at] = tried.len() + children.iter().map(|child| open[*child]).sum::<usize>();
            children.sort_by_key(|child| std::cmp::Reverse(open[*child]));
            for child in children {
                // What begins like no row, or like all of them, is looked for no further.
                if open[child] > 0 && (open[at] > leaf || node.depth == 0) {
                    is_key[child] = true;
                    open[at] -= open[child];
                }
            }
            is_key[at] = node.depth > 0 && !answers.is_empty();
        }
        Keys { is_key, cover }
    }
}

/// The first row that covers each path, of those that stand on the way.
fn covers(trie: &Trie, entries: &[Entry]) -> Vec<Option<usize>> {
    let mut cover: Vec<Option<usize>> = vec![None; trie.nodes.len()];
    for at in 0..trie.nodes.len() {
        let node = &trie.nodes[at];
        let own = entries[node.own.clone()].iter().filter(|entry| entry.kind == Kind::Covering);
        cover[at] = own.map(|entry| entry.row).chain(cover[at]).min();
        let below = cover[at];
        cover[node.children.clone()].fill(below);
    }
    cover
}
