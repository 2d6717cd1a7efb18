//! The trie of the keys, cut into chunks that each fit a pattern.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::maps::entry::PathEntry;
use crate::maps::pattern::escaped_length;
use crate::maps::trie::Trie;
use crate::pattern_text::{DEEPEST, LONGEST, escape};

/// The longest text of a chunk with the path of its root; a named group is put around it.
const MOST_TEXT: usize = LONGEST - 60;

/// The chunks of a trie of keys, each with a node as its root; a chunk may lead to chunks further down.
pub struct Chunks<'k> {
    pub trie: Trie,
    pub entries: Vec<PathEntry<'k>>,
    is_key: Vec<bool>,
    is_root: Vec<bool>,
    /// Whether there is a key at the node or further down.
    has_keys: Vec<bool>,
    spellings: Spellings<'k>,
}

/// The spellings of the keys: a hash table does not distinguish keys that differ only in case.
#[derive(Default)]
struct Spellings<'k>(HashMap<Vec<u8>, &'k [u8]>);

impl<'k> Spellings<'k> {
    /// Whether a key may have this spelling; if so, it is taken.
    fn take(&mut self, key: &'k [u8]) -> bool {
        *self.0.entry(key.to_ascii_lowercase()).or_insert(key) == key
    }
}

impl<'k> Chunks<'k> {
    /// Cuts the trie where a text would be too long, or its groups too deep. Of keys that differ only in case, the one
    /// that more rows begin with is kept. O(n log n). `None` if such keys leave no place to cut.
    pub fn new(trie: Trie, entries: Vec<PathEntry<'k>>, is_key: Vec<bool>) -> Option<Chunks<'k>> {
        let count = trie.nodes.len();
        let (is_root, has_keys, spellings) = (vec![false; count], vec![false; count], Spellings::default());
        let mut chunks = Chunks { trie, entries, is_key, is_root, has_keys, spellings };
        chunks.settle_spellings();
        let mut sizes = vec![Size::default(); count];
        for at in (0..count).rev() {
            let children = chunks.trie.nodes[at].children.clone();
            chunks.has_keys[at] = chunks.is_key[at] || children.clone().any(|child| chunks.has_keys[child]);
            sizes[at] = chunks.size(at, &sizes);
            if !sizes[at].fits(chunks.path(at)) && !chunks.cut(at, &mut sizes) {
                return None;
            }
        }
        Some(chunks)
    }

    fn settle_spellings(&mut self) {
        let mut keys: Vec<usize> = (0..self.is_key.len()).filter(|at| self.is_key[*at]).collect();
        keys.sort_by_key(|at| Reverse(self.trie.nodes[*at].under.len()));
        for at in keys {
            self.is_key[at] = self.spellings.take(self.path(at));
        }
    }

    /// Makes children of a node roots of chunks, the largest first, until the node's text fits.
    fn cut(&mut self, at: usize, sizes: &mut [Size]) -> bool {
        let mut children: Vec<usize> = self.branches(at).filter(|child| sizes[*child].text > 0).collect();
        children.sort_by_key(|child| Reverse((sizes[*child].depth >= DEEPEST, sizes[*child].text)));
        for child in children {
            if !self.spellings.take(self.path(child)) {
                continue;
            }
            self.is_root[child] = true;
            self.is_key[child] = true;
            sizes[child] = Size::default();
            sizes[at] = self.size(at, sizes);
            if sizes[at].fits(self.path(at)) {
                return true;
            }
        }
        false
    }

    /// The children of a node with keys at or below them.
    fn branches(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        self.trie.nodes[at].children.clone().filter(|child| self.has_keys[*child])
    }

    fn label(&self, at: usize) -> &'k [u8] {
        let node = &self.trie.nodes[at];
        &self.entries[node.under.start].sequence.bytes[node.above..node.depth]
    }

    pub fn path(&self, at: usize) -> &'k [u8] {
        let node = &self.trie.nodes[at];
        &self.entries[node.under.start].sequence.bytes[..node.depth]
    }

    /// The size of the text after the path of a node, as [`Chunks::write`] writes it.
    fn size(&self, at: usize, sizes: &[Size]) -> Size {
        let mut size = Size::default();
        let mut count = 0;
        for child in self.branches(at) {
            size.text += token_length(self.label(child)) + sizes[child].text + 1;
            size.depth = size.depth.max(sizes[child].depth);
            count += 1;
        }
        if count > 1 || (count == 1 && self.is_key[at]) {
            size.text += 5;
            size.depth += 1;
        }
        size
    }

    /// The roots of the chunks directly below the chunk of a root, in the order of their paths; node 0 is a root, too.
    pub fn below(&self, root: usize) -> Vec<usize> {
        let mut roots = Vec::new();
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            if self.is_root[at] && at != root {
                roots.push(at);
            } else {
                let children: Vec<usize> = self.branches(at).collect();
                stack.extend(children.into_iter().rev());
            }
        }
        roots
    }

    /// Whether there is a key at a node or further down.
    pub fn has_keys(&self, at: usize) -> bool {
        self.has_keys[at]
    }

    /// Whether the path of a node is a key; roots are.
    pub fn is_key(&self, at: usize) -> bool {
        self.is_key[at]
    }

    /// The pattern, without an anchor, that matches the longest key of the chunk that a subject begins with: each key
    /// stands before its prefixes.
    pub fn pattern(&self, root: usize) -> Vec<u8> {
        let mut out = Vec::new();
        self.path(root).iter().for_each(|byte| escape(*byte, &mut out));
        self.write(root, root, &mut out);
        out
    }

    /// Writes what follows the path of a node.
    fn write(&self, at: usize, root: usize, out: &mut Vec<u8>) {
        if self.is_root[at] && at != root {
            return;
        }
        let branches: Vec<usize> = self.branches(at).collect();
        if branches.is_empty() {
            return;
        }
        let is_group = branches.len() > 1 || self.is_key[at];
        if is_group {
            out.extend_from_slice(b"(?:");
        }
        for (number, child) in branches.into_iter().enumerate() {
            if number > 0 {
                out.push(b'|');
            }
            self.label(child).iter().for_each(|byte| escape(*byte, out));
            self.write(child, root, out);
        }
        if is_group {
            out.extend_from_slice(if self.is_key[at] { b"|)" } else { b")" });
        }
    }
}

/// The size of a text.
#[derive(Clone, Copy, Default)]
struct Size {
    /// In bytes of a token.
    text: usize,
    /// The depth of nested groups.
    depth: usize,
}

impl Size {
    /// Whether the text fits a pattern, after the path of the chunk's root.
    fn fits(self, path: &[u8]) -> bool {
        token_length(path) + self.text <= MOST_TEXT && self.depth <= DEEPEST
    }
}

/// The most bytes that some bytes of a pattern take in a token.
fn token_length(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| escaped_length(*byte)).sum()
}

#[cfg(test)]
mod tests {
    use super::Chunks;
    use crate::maps::entry::entries;
    use crate::maps::example::with_rows;
    use crate::maps::keys::KeyChoice;
    use crate::maps::trie::Trie;
    use crate::pattern_text::{LONGEST, token_length};
    use crate::pcre::Regex;

    fn with_chunks(texts: &[String], test: impl FnOnce(&Chunks)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        with_rows(&texts, false, |_, rows| {
            let entries = entries(rows, 0..rows.len(), false);
            let trie = Trie::new(&entries);
            let is_key = KeyChoice::choose(&trie, &entries, rows, 1).is_key;
            test(&Chunks::new(trie, entries, is_key).expect("chunks"));
        });
    }

    /// The longest key that a subject begins with, as nginx finds it: from chunk to chunk.
    fn longest(chunks: &Chunks, subject: &[u8]) -> Vec<u8> {
        let mut root = 0;
        loop {
            let pattern = [b"^", &*chunks.pattern(root)].concat();
            assert!(token_length(&pattern) <= LONGEST);
            let captures = Regex::new(&pattern).unwrap().captures(subject, 100_000).unwrap();
            let key = captures.map_or(&[][..], |captures| &subject[captures[0].clone().unwrap()]);
            match chunks.below(root).into_iter().find(|below| chunks.path(*below) == key) {
                Some(below) => root = below,
                None => return key.to_vec(),
            }
        }
    }

    /// The longest key is found with any number of chunks and any nesting of keys.
    #[test]
    fn longest_keys() {
        let wide = (0..1500).map(|number| format!("~^/{:x}/page-{number}/ 1;", number * 7919 % 1009));
        let deep = (1..120).map(|length| format!("~^/{} 1;", "a".repeat(length)));
        for texts in [wide.collect::<Vec<_>>(), deep.collect()] {
            with_chunks(&texts, |chunks| {
                let keys: Vec<&[u8]> =
                    (1..chunks.trie.nodes.len()).filter(|at| chunks.is_key(*at)).map(|at| chunks.path(at)).collect();
                for (number, key) in keys.iter().enumerate().filter(|(number, _)| number % 37 == 0) {
                    let subject = [key, &b"~x"[..]].concat();
                    let expected = keys.iter().filter(|key| subject.starts_with(key)).max_by_key(|key| key.len());
                    assert_eq!(longest(chunks, &subject), **expected.unwrap(), "{number}");
                }
                assert_eq!(longest(chunks, b"?"), b"");
            });
        }
    }
}
