//! Writes many strings as one pattern of alternatives, with common beginnings written once.

use std::cmp::Reverse;
use std::ops::Range;

use hashbrown::HashMap;

use crate::maps::pattern::{is_in_class, letters};
use crate::maps::trie::{Trie, TrieNode};
use crate::pattern_text::escape;

/// A string to write, the pattern that follows it, and its weight: heavier pieces are tried earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece<'p> {
    pub text: &'p [u8],
    pub rest: &'p [u8],
    pub weight: usize,
}

/// Pieces written as the alternatives of a pattern.
#[derive(Default)]
pub struct Alternatives {
    pub text: Vec<u8>,
    /// The depth of nested groups.
    pub depth: usize,
}

impl Alternatives {
    /// Writes sorted pieces. If several pieces continue a path for which `ends` returns true, an empty alternative is
    /// added after them, so that the path also matches alone. Without it, PCRE would backtrack into all other branches
    /// if none of the pieces follows.
    pub fn new(pieces: &[Piece], ends: &dyn Fn(&[u8]) -> bool) -> Alternatives {
        let strings: Vec<&[u8]> = pieces.iter().map(|piece| piece.text).collect();
        let mut writer = Writer { trie: Trie::new(&strings), pieces, ends, written: Alternatives::default() };
        writer.write(0, 0);
        writer.written
    }
}

struct Writer<'w, 'p> {
    trie: Trie,
    pieces: &'w [Piece<'p>],
    ends: &'w dyn Fn(&[u8]) -> bool,
    written: Alternatives,
}

impl<'p> Writer<'_, 'p> {
    /// Writes what follows the path of a node, within `depth` groups.
    fn write(&mut self, at: usize, depth: usize) {
        let node = self.trie.nodes[at].clone();
        let branches = self.branches(node.children.clone());
        let is_group = branches.len() + node.own.len() > 1;
        let depth = depth + usize::from(is_group);
        self.written.depth = self.written.depth.max(depth);
        let mut bar: &[u8] = if is_group { b"(?:" } else { b"" };
        for branch in branches {
            self.written.text.extend_from_slice(bar);
            bar = b"|";
            let first = self.trie.nodes[branch[0]].clone();
            match branch.as_slice() {
                [_] => {
                    let label = &self.pieces[first.under.start].text[first.above..first.depth];
                    label.iter().for_each(|byte| escape(*byte, &mut self.written.text));
                }
                several => self.written.text.append(&mut letters(several.iter().map(|child| self.first_byte(*child)))),
            }
            self.write(branch[0], depth);
        }
        let ends = is_group && node.own.is_empty() && (self.ends)(self.path(&node));
        for own in node.own {
            self.written.text.extend_from_slice(bar);
            bar = b"|";
            self.written.text.extend_from_slice(self.pieces[own].rest);
        }
        if ends {
            self.written.text.push(b'|');
        }
        if is_group {
            self.written.text.push(b')');
        }
    }

    /// Groups the children of a node into branches, heaviest first. Children of a single letter that are followed by
    /// the same pattern share a branch, which is written as a class.
    fn branches(&self, children: Range<usize>) -> Vec<Vec<usize>> {
        let mut branches: Vec<Vec<usize>> = Vec::new();
        let mut by_rest: HashMap<&[u8], usize> = HashMap::new();
        for child in children {
            match self.rest_of_letter(child) {
                Some(rest) => {
                    let at = *by_rest.entry(rest).or_insert(branches.len());
                    match branches.get_mut(at) {
                        Some(branch) => branch.push(child),
                        None => branches.push(vec![child]),
                    }
                }
                None => branches.push(vec![child]),
            }
        }
        branches.sort_by_cached_key(|branch| Reverse(branch.iter().map(|child| self.weight(*child)).sum::<usize>()));
        branches
    }

    /// Returns the pattern that follows a node if the node adds just one letter to its parent and ends just one piece.
    fn rest_of_letter(&self, at: usize) -> Option<&'p [u8]> {
        let node = &self.trie.nodes[at];
        let is_letter = node.depth == node.above + 1 && is_in_class(self.first_byte(at));
        (is_letter && node.children.is_empty() && node.own.len() == 1).then(|| self.pieces[node.own.start].rest)
    }

    fn path(&self, node: &TrieNode) -> &'p [u8] {
        &self.pieces[node.under.start].text[..node.depth]
    }

    fn first_byte(&self, at: usize) -> u8 {
        let node = &self.trie.nodes[at];
        self.pieces[node.under.start].text[node.above]
    }

    fn weight(&self, at: usize) -> usize {
        self.pieces[self.trie.nodes[at].under.clone()].iter().map(|piece| piece.weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Alternatives, Piece};

    fn written_with<'p>(pieces: &[(&'p str, &'p str, usize)], ends: &dyn Fn(&[u8]) -> bool) -> (String, usize) {
        let piece = |(text, rest, weight): &(&'p str, &'p str, usize)| Piece {
            text: text.as_bytes(),
            rest: rest.as_bytes(),
            weight: *weight,
        };
        let Alternatives { text, depth } = Alternatives::new(&pieces.iter().map(piece).collect::<Vec<_>>(), ends);
        (String::from_utf8(text).unwrap(), depth)
    }

    fn written(pieces: &[(&str, &str, usize)]) -> (String, usize) {
        written_with(pieces, &|_| false)
    }

    /// Where a path ends, it matches alone, unless it is a piece.
    #[test]
    fn ends() {
        let pieces = [("/a/b", "", 1), ("/a/c/d", "", 1), ("/a/c/e/", "", 1), ("/b", "$", 1), ("/bc", "", 1)];
        let text = written_with(&pieces, &|path| path.len() > 1).0;
        assert_eq!(text, "/(?:a/(?:c/(?:d|e/|)|b|)|b(?:c|$))");
    }

    /// Common beginnings are written once, and what is asked for most comes first.
    #[test]
    fn forms() {
        assert_eq!(written(&[("/a", "", 1)]), ("/a".to_owned(), 0));
        assert_eq!(written(&[("/a.b", "", 1), ("/a.c", "x*", 1)]), (r"/a\.(?:b|cx*)".to_owned(), 1));
        assert_eq!(written(&[("/a", "x", 1), ("/b", "x", 1)]), ("/[ab]x".to_owned(), 0));
        assert_eq!(written(&[("/a", "$", 1), ("/ab", "", 1)]), ("/a(?:b|$)".to_owned(), 1));
        assert_eq!(written(&[("ab", "", 1), ("ac", "", 1), ("b", "", 3)]), ("(?:b|a[bc])".to_owned(), 1));
        let several = [("a", "", 1), ("b", "$", 1), ("c", "", 1), ("d/", "", 5), ("z", "", 1)];
        assert_eq!(written(&several), ("(?:d/|[acz]|b$)".to_owned(), 1));
    }
}
