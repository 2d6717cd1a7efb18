//! Writes strings as alternatives of a pattern.

use std::cmp::Reverse;

use crate::maps::trie::Trie;
use crate::pattern_text::escape;

/// A string with the pattern that follows it, and how often it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Piece<'p> {
    pub text: &'p [u8],
    pub rest: &'p [u8],
    pub weight: usize,
}

/// Pieces as alternatives of which no subject matches two.
pub struct Alternatives<'p> {
    trie: Trie,
    pieces: Vec<Piece<'p>>,
    pub text: Vec<u8>,
    /// The depth of nested groups.
    pub depth: usize,
}

impl<'p> Alternatives<'p> {
    /// `pieces` are sorted.
    pub fn new(pieces: Vec<Piece<'p>>) -> Alternatives<'p> {
        let strings: Vec<&[u8]> = pieces.iter().map(|piece| piece.text).collect();
        let mut written = Alternatives { trie: Trie::new(&strings), pieces, text: Vec::new(), depth: 0 };
        written.write(0, 0);
        written
    }

    /// Writes what follows the path of a node, within `depth` groups.
    fn write(&mut self, at: usize, depth: usize) {
        let node = self.trie.nodes[at].clone();
        let is_group = node.children.len() + node.own.len() > 1;
        let depth = depth + usize::from(is_group);
        self.depth = self.depth.max(depth);
        let mut bar: &[u8] = if is_group { b"(?:" } else { b"" };
        // PCRE tries the branches in turn.
        let mut children: Vec<usize> = node.children.collect();
        children.sort_by_cached_key(|child| Reverse(self.weight(*child)));
        for child in children {
            self.text.extend_from_slice(bar);
            bar = b"|";
            let below = &self.trie.nodes[child];
            let label = &self.pieces[below.under.start].text[below.above..below.depth];
            label.iter().for_each(|byte| escape(*byte, &mut self.text));
            self.write(child, depth);
        }
        for own in node.own {
            self.text.extend_from_slice(bar);
            bar = b"|";
            self.text.extend_from_slice(self.pieces[own].rest);
        }
        if is_group {
            self.text.push(b')');
        }
    }

    fn weight(&self, at: usize) -> usize {
        self.pieces[self.trie.nodes[at].under.clone()].iter().map(|piece| piece.weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Alternatives, Piece};

    fn written<'p>(pieces: &[(&'p str, &'p str, usize)]) -> (String, usize) {
        let piece = |(text, rest, weight): &(&'p str, &'p str, usize)| Piece {
            text: text.as_bytes(),
            rest: rest.as_bytes(),
            weight: *weight,
        };
        let Alternatives { text, depth, .. } = Alternatives::new(pieces.iter().map(piece).collect());
        (String::from_utf8(text).unwrap(), depth)
    }

    /// Common beginnings are written once, and what is asked for most comes first.
    #[test]
    fn forms() {
        assert_eq!(written(&[("/a", "", 1)]), ("/a".to_owned(), 0));
        assert_eq!(written(&[("/a.b", "", 1), ("/a.c", "x*", 1)]), (r"/a\.(?:b|cx*)".to_owned(), 1));
        assert_eq!(written(&[("/a", "$", 1), ("/ab", "", 1)]), ("/a(?:b|$)".to_owned(), 1));
        assert_eq!(written(&[("ab", "", 1), ("ac", "", 1), ("b", "", 3)]), ("(?:b|a(?:b|c))".to_owned(), 2));
    }
}
