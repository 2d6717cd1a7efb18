//! Cuts chunks off a trie of keys, level by level, until the rest fits into one pattern, or nothing can be cut off.
//!
//! Each chunk removes at least one node from the rest, so the levels come to an end.

use std::cmp::Reverse;

use crate::maps::labels::{Labels, Spellings};
use crate::maps::large::LargeForms;
use crate::maps::pattern::escaped_length;
use crate::maps::trie::NestedAlternatives;
use crate::pattern_text::{DEEPEST, LONGEST, escape};
use crate::work::spend;

/// The longest text of a pattern, including the path that its keys share. This leaves room for the named group around
/// it.
const MOST_TEXT: usize = LONGEST - 60;

/// Keys next to a chunk stay in the level above if their text is no longer than this.
const LEAST_TEXT: usize = MOST_TEXT / 8;

/// The length of `(?:|)`.
const GROUP_TEXT: usize = 5;

/// A part of the trie: the keys at and below its roots. One map finds the longest of them.
pub struct Chunk {
    /// Nodes whose paths are keys of the level above and lead to this chunk. No root begins with another.
    pub roots: Vec<usize>,
    /// The patterns, without anchors, in the order in which they are tried. The first one that matches finds the
    /// longest key of the chunk that a subject begins with.
    pub patterns: Vec<Vec<u8>>,
}

/// A trie from which chunks are cut off. The roots of the chunks stay in the rest as keys.
pub struct Cut<'c, 'k> {
    labels: &'c Labels<'k>,
    is_key: Vec<bool>,
    /// Whether there is a key at the node or further down.
    has_keys: Vec<bool>,
    sizes: Vec<Size>,
    /// The lengths of the labels and of the paths, in bytes of a token.
    label_lengths: Vec<usize>,
    path_lengths: Vec<usize>,
    /// Whether the node, with all below it, belongs to a chunk of an earlier level.
    is_gone: Vec<bool>,
    /// Whether the chunks of the next level have several patterns.
    has_short_patterns: bool,
    short_text: usize,
}

/// The size of the text after the path of a node.
#[derive(Clone, Copy, Default)]
struct Size {
    /// In bytes of a token.
    text: usize,
    /// The depth of nested groups.
    depth: usize,
    /// Whether nothing below the node was cut off on this level.
    is_whole: bool,
}

impl<'c, 'k> Cut<'c, 'k> {
    pub fn new(labels: &'c Labels<'k>, is_key: Vec<bool>, large: LargeForms) -> Cut<'c, 'k> {
        let count = is_key.len();
        let label_lengths: Vec<usize> = (0..count).map(|at| token_length(labels.label(at))).collect();
        let mut path_lengths = label_lengths.clone();
        for (at, node) in labels.trie.nodes.iter().enumerate() {
            let length = path_lengths[at];
            path_lengths[node.children.clone()].iter_mut().for_each(|child| *child += length);
        }
        Cut {
            labels,
            is_key,
            has_keys: vec![false; count],
            sizes: vec![Size::default(); count],
            label_lengths,
            path_lengths,
            is_gone: vec![false; count],
            has_short_patterns: count >= large.nodes,
            short_text: large.text,
        }
    }

    /// Cuts off the largest subtrees that fit into a pattern, and puts neighbours into one chunk. Returns no chunks if
    /// the rest fits into one pattern, or if no root has a free spelling. Every root has keys below it.
    pub fn level(&mut self, spellings: &mut Spellings<'k>) -> Vec<Chunk> {
        spend(4 * self.sizes.len());
        let mut chunks = Vec::new();
        for at in 0..self.sizes.len() {
            if self.is_gone[at] {
                self.is_gone[self.labels.trie.nodes[at].children.clone()].fill(true);
            }
        }
        for at in (0..self.sizes.len()).rev() {
            if self.is_gone[at] {
                continue;
            }
            self.measure(at);
            let is_small = self.fits(at);
            let is_whole = self.branches(at).all(|child| self.sizes[child].is_whole);
            self.sizes[at].is_whole = is_small && is_whole;
            if !self.sizes[at].is_whole {
                let count = chunks.len();
                self.cut_below(at, is_whole, spellings, &mut chunks);
                if chunks.len() > count {
                    self.measure(at);
                }
            }
        }
        self.has_short_patterns = false;
        chunks
    }

    /// The patterns of the rest: one, if it is short enough.
    pub fn top(&self) -> Vec<Vec<u8>> {
        let branches: Vec<usize> = self.branches(0).collect();
        if branches.is_empty() { Vec::new() } else { self.patterns(0, &branches, false) }
    }

    /// The children of a node with keys at or below them.
    fn branches(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let children = self.labels.trie.nodes[at].children.clone();
        children.filter(|child| self.has_keys[*child] && !self.is_gone[*child])
    }

    fn fits(&self, at: usize) -> bool {
        self.path_lengths[at] + self.sizes[at].text + GROUP_TEXT <= MOST_TEXT && self.sizes[at].depth <= DEEPEST
    }

    fn measure(&mut self, at: usize) {
        let mut size = Size::default();
        let mut count = 0;
        for child in self.branches(at) {
            size.text += self.text(child);
            size.depth = size.depth.max(self.sizes[child].depth);
            count += 1;
        }
        if count > 1 || (count == 1 && self.is_key[at]) {
            size.text += GROUP_TEXT;
            size.depth += 1;
        }
        self.has_keys[at] = self.is_key[at] || count > 0;
        self.sizes[at] = size;
    }

    /// The length of the text of a child as one of several alternatives.
    fn text(&self, child: usize) -> usize {
        self.label_lengths[child] + self.sizes[child].text + 1
    }

    /// Puts the whole subtrees directly below a node into chunks: into one chunk with the node as its root, or into
    /// several with the children as roots. Short keys stay in the rest if there are already chunks below the node.
    fn cut_below(&mut self, at: usize, is_first: bool, spellings: &mut Spellings<'k>, chunks: &mut Vec<Chunk>) {
        let path = self.labels.path(at);
        let whole: Vec<usize> = self.branches(at).filter(|child| self.sizes[*child].is_whole).collect();
        let text: usize = whole.iter().map(|child| self.text(*child)).sum();
        if text <= LEAST_TEXT && !is_first {
            return;
        }
        if at > 0 && self.path_lengths[at] + text + GROUP_TEXT <= MOST_TEXT && spellings.take(path) {
            chunks.push(Chunk { roots: vec![at], patterns: self.patterns(at, &whole, true) });
            whole.into_iter().for_each(|child| self.is_gone[child] = true);
            self.is_key[at] = true;
            return;
        }
        // Of roots that differ only in case, the heaviest gets the spelling. A root without keys below it would stay in
        // the rest as it is.
        let mut heaviest: Vec<usize> =
            whole.into_iter().filter(|child| self.branches(*child).next().is_some()).collect();
        heaviest.sort_by_key(|child| Reverse(self.sizes[*child].text));
        let mut free: Vec<usize> =
            heaviest.into_iter().filter(|child| spellings.take(self.labels.path(*child))).collect();
        free.sort_unstable();
        for (number, roots) in self.groups(at, &free).into_iter().enumerate() {
            let text: usize = roots.iter().map(|child| self.text(*child)).sum();
            if number == 0 || text > LEAST_TEXT {
                roots.iter().for_each(|root| self.is_key[*root] = true);
                let patterns = self.patterns(at, &roots, false);
                roots.iter().for_each(|root| self.close(*root));
                chunks.push(Chunk { roots, patterns });
            }
        }
    }

    /// Divides neighbours into groups that each fit into a pattern, largest first.
    fn groups(&self, at: usize, children: &[usize]) -> Vec<Vec<usize>> {
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for &child in children {
            let text = self.text(child) + GROUP_TEXT;
            match groups.last_mut() {
                Some((sum, group)) if *sum + text <= MOST_TEXT => {
                    *sum += text;
                    group.push(child);
                }
                _ => groups.push((self.path_lengths[at] + GROUP_TEXT + text, vec![child])),
            }
        }
        groups.sort_by_key(|(text, _)| Reverse(*text));
        groups.into_iter().map(|(_, group)| group).collect()
    }

    /// Removes everything below a root, which stays as a key.
    fn close(&mut self, root: usize) {
        self.is_gone[self.labels.trie.nodes[root].children.clone()].fill(true);
        self.sizes[root] = Size::default();
    }

    /// The patterns of the keys below a node, and of the node itself if `is_key`; each key stands before its prefixes.
    /// There is one pattern if it is short enough.
    fn patterns(&self, at: usize, branches: &[usize], is_key: bool) -> Vec<Vec<u8>> {
        let most = if self.has_short_patterns { self.short_text } else { MOST_TEXT };
        let mut patterns = Vec::new();
        self.add_patterns((at, branches, is_key), most, &mut patterns);
        patterns
    }

    /// Adds patterns of at most `most` bytes of text, if they list several keys.
    fn add_patterns(&self, (at, branches, is_key): (usize, &[usize], bool), most: usize, out: &mut Vec<Vec<u8>>) {
        let least = self.path_lengths[at] + GROUP_TEXT;
        let (mut group, mut text) = (Vec::new(), least);
        for &child in branches {
            let more = self.text(child);
            let is_large = least + more > most || self.sizes[child].depth >= DEEPEST;
            if !group.is_empty() && (is_large || text + more > most) {
                out.push(self.pattern(at, &group, false));
                (group, text) = (Vec::new(), least);
            }
            if is_large {
                let below: Vec<usize> = self.branches(child).collect();
                self.add_patterns((child, &below, self.is_key[child]), most, out);
            } else {
                group.push(child);
                text += more;
            }
        }
        if is_key || !group.is_empty() {
            out.push(self.pattern(at, &group, is_key));
        }
    }

    /// The pattern of the keys below a node, and of the node itself if `is_key`; each key stands before its prefixes.
    fn pattern(&self, at: usize, branches: &[usize], is_key: bool) -> Vec<u8> {
        let mut out = Vec::new();
        self.labels.path(at).iter().for_each(|byte| escape(*byte, &mut out));
        let alternatives = NestedAlternatives {
            label: &|child| self.labels.label(child),
            branches: &|child| self.branches(child).collect(),
            is_key: &|child| self.is_key[child],
        };
        alternatives.write(branches, is_key, &mut out);
        out
    }
}

/// The most bytes that some bytes of a pattern take in a token.
fn token_length(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| escaped_length(*byte)).sum()
}
