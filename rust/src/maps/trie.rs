//! A compact trie of byte strings: each node branches, or ends a string, or both. It is written as a pattern of nested
//! alternatives.

use std::ops::Range;

use crate::pattern_text::escape;
use crate::work::spend;

/// If a node has more children than this, their labels are one byte long, so that subtrees can be cut off to fit into a
/// pattern.
const WIDE: usize = 30;

/// A trie over sorted strings. The first node is the root, and nodes come after their parents.
pub struct Trie {
    pub nodes: Vec<TrieNode>,
}

/// A node. Its path is the first `depth` bytes of the strings under it.
#[derive(Clone, Debug)]
pub struct TrieNode {
    /// The length of the path, in bytes.
    pub depth: usize,
    /// The length of the parent's path.
    pub above: usize,
    /// The strings that begin with the path.
    pub under: Range<usize>,
    /// The strings that equal the path.
    pub own: Range<usize>,
    pub children: Range<usize>,
}

impl Trie {
    /// Builds a trie of strings in ascending order, and counts the steps. Linear in their bytes.
    pub fn new<S: AsRef<[u8]>>(strings: &[S]) -> Trie {
        let trie = Trie::uncounted(strings);
        spend(5 * trie.nodes.len() - 1 + strings.len());
        trie
    }

    /// As [`Trie::new`], for few strings at a time, of which the caller counts the steps.
    pub fn uncounted<S: AsRef<[u8]>>(strings: &[S]) -> Trie {
        let root = TrieNode { depth: 0, above: 0, under: 0..strings.len(), own: 0..0, children: 0..0 };
        let mut nodes = vec![root];
        let mut at = 0;
        while at < nodes.len() {
            let TrieNode { depth, under, .. } = nodes[at].clone();
            let ends = strings[under.clone()].iter().take_while(|string| string.as_ref().len() == depth).count();
            let own = under.start..under.start + ends;
            let below = &strings[own.end..under.end];
            let branches: Vec<usize> =
                below.chunk_by(|one, other| one.as_ref()[depth] == other.as_ref()[depth]).map(<[S]>::len).collect();
            let first = nodes.len();
            let mut start = own.end;
            for count in &branches {
                let under = start..start + count;
                let depth = if branches.len() > WIDE { depth + 1 } else { shared(&strings[under.clone()], depth) };
                nodes.push(TrieNode { depth, above: nodes[at].depth, under, own: 0..0, children: 0..0 });
                start += count;
            }
            nodes[at].own = own;
            nodes[at].children = first..nodes.len();
            at += 1;
        }
        Trie { nodes }
    }

    /// Returns for each node whether it or a node below it is marked.
    pub fn has_below(&self, is_marked: &[bool]) -> Vec<bool> {
        let mut has = is_marked.to_vec();
        for at in (0..has.len()).rev() {
            has[at] |= self.nodes[at].children.clone().any(|child| has[child]);
        }
        has
    }
}

/// How the keys of a trie are written: as alternatives in the order of the branches, each key behind those that begin
/// with it.
pub struct NestedAlternatives<'t> {
    /// The bytes that a node adds to the path of its parent.
    pub label: &'t dyn Fn(usize) -> &'t [u8],
    pub branches: &'t dyn Fn(usize) -> Vec<usize>,
    pub is_key: &'t dyn Fn(usize) -> bool,
}

impl NestedAlternatives<'_> {
    /// Writes what follows the path of a node with these branches: `a(?:b|c|)`. Returns the depth of the groups written.
    pub fn write(&self, branches: &[usize], is_key: bool, out: &mut Vec<u8>) -> usize {
        let is_group = branches.len() > 1 || is_key && !branches.is_empty();
        if is_group {
            out.extend_from_slice(b"(?:");
        }
        let mut depth = 0;
        for (number, &child) in branches.iter().enumerate() {
            if number > 0 {
                out.push(b'|');
            }
            (self.label)(child).iter().for_each(|byte| escape(*byte, out));
            depth = depth.max(self.write(&(self.branches)(child), (self.is_key)(child), out));
        }
        if is_group {
            out.extend_from_slice(if is_key { b"|)" } else { b")" });
        }
        depth + usize::from(is_group)
    }
}

/// The length of the common prefix of sorted strings.
fn shared<S: AsRef<[u8]>>(strings: &[S], from: usize) -> usize {
    let (first, last) = (strings[0].as_ref(), strings[strings.len() - 1].as_ref());
    from + first[from..].iter().zip(&last[from..]).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each string ends in one node, whose path it is; paths branch where strings do.
    #[test]
    fn nodes() {
        let strings = ["/", "/a", "/a", "/abc", "/abd", "x"];
        let trie = Trie::new(&strings);
        let paths: Vec<&str> = trie.nodes.iter().map(|node| &strings[node.under.start][..node.depth]).collect();
        assert_eq!(paths, ["", "/", "x", "/a", "/ab", "/abc", "/abd"]);
        assert_eq!(trie.nodes.iter().map(|node| node.own.len()).collect::<Vec<_>>(), [0, 1, 1, 2, 0, 1, 1]);
        assert_eq!((trie.nodes[0].children.clone(), trie.nodes[4].children.clone()), (1..3, 5..7));
    }

    /// The labels of many children are a byte.
    #[test]
    fn wide() {
        let strings: Vec<String> = (b'A'..=b'z').map(|byte| format!("/{}bc", byte as char)).collect();
        let trie = Trie::new(&strings);
        assert_eq!((trie.nodes[1].depth, trie.nodes[1].children.len()), (1, strings.len()));
        assert!(trie.nodes[1].children.clone().all(|child| trie.nodes[child].depth == 2));
    }

    /// A trie without strings is a root.
    #[test]
    fn empty() {
        assert_eq!(Trie::new::<&str>(&[]).nodes.len(), 1);
    }
}
