//! The trie of the keys, divided into chunks that are each small enough for a pattern.

use crate::maps::cut::{Chunk, Cut};
use crate::maps::entry::PathEntry;
use crate::maps::labels::Labels;
use crate::maps::large::LargeForms;
use crate::maps::trie::Trie;

/// The most levels below the first. Each costs every request a map, and a tree of more would be too deep.
pub const MOST_LEVELS: usize = 16;

/// A trie with its keys, divided into levels of chunks.
///
/// The top patterns find the longest key of the first level that a subject begins with. If that key is the root of a
/// chunk, the patterns of the chunk find the longest key of the next level, and so on. A key that is not the root of a
/// chunk is the longest key of the subject.
pub struct Chunks<'k> {
    pub labels: Labels<'k>,
    /// The patterns of the first level, as those of a chunk.
    pub top: Vec<Vec<u8>>,
    /// The chunks of each level, from the top down.
    pub levels: Vec<Vec<Chunk>>,
    is_key: Vec<bool>,
    /// Whether there is a key at the node or further down.
    has_keys: Vec<bool>,
}

impl<'k> Chunks<'k> {
    /// Cuts the trie wherever a pattern would be too long or its groups nested too deep. Of keys that differ only in
    /// case, keeps the one that more rows begin with. Linear in the nodes, times at most [`MOST_LEVELS`].
    pub fn new(trie: Trie, entries: Vec<PathEntry<'k>>, mut is_key: Vec<bool>, large: LargeForms) -> Chunks<'k> {
        let labels = Labels { trie, entries };
        let mut spellings = labels.settle_spellings(&mut is_key);
        let mut cut = Cut::new(&labels, is_key.clone(), large);
        let mut levels = Vec::new();
        while levels.len() < MOST_LEVELS {
            let chunks = cut.level(&mut spellings);
            if chunks.is_empty() {
                break;
            }
            chunks.iter().flat_map(|chunk| &chunk.roots).for_each(|root| is_key[*root] = true);
            levels.push(chunks);
        }
        let top = cut.top();
        levels.reverse();
        let has_keys = labels.trie.has_below(&is_key);
        Chunks { labels, top, levels, is_key, has_keys }
    }

    pub fn path(&self, at: usize) -> &'k [u8] {
        self.labels.path(at)
    }

    /// Whether there is a key at a node or further down.
    pub fn has_keys(&self, at: usize) -> bool {
        self.has_keys[at]
    }

    /// Whether the path of a node is a key. The roots of chunks are keys, too.
    pub fn is_key(&self, at: usize) -> bool {
        self.is_key[at]
    }
}

#[cfg(test)]
mod tests {
    use super::Chunks;
    use crate::maps::cut::Chunk;
    use crate::maps::entry::entries;
    use crate::maps::example::with_rows;
    use crate::maps::keys::KeyChoice;
    use crate::maps::large::LargeForms;
    use crate::maps::trie::Trie;
    use crate::pattern_text::{LONGEST, token_length};
    use crate::pcre::Regex;

    fn with_chunks(texts: &[String], test: impl FnOnce(&Chunks)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        with_rows(&texts, false, |_, rows| {
            let entries = entries(rows, 0..rows.len(), false);
            let trie = Trie::new(&entries);
            let is_key = KeyChoice::choose(&trie, &entries, rows, 1).is_key;
            test(&Chunks::new(trie, entries, is_key, LargeForms::USUAL));
        });
    }

    /// The longest key that a subject begins with, as nginx finds it: from level to level.
    fn longest<'s>(chunks: &Chunks, subject: &'s [u8]) -> &'s [u8] {
        let find = |pattern: &Vec<u8>| {
            let pattern = [b"^", &**pattern].concat();
            assert!(token_length(&pattern) <= LONGEST);
            let captures = Regex::new(&pattern).unwrap().captures(subject, 100_000).unwrap();
            captures.map(|captures| &subject[captures[0].clone().unwrap()])
        };
        let first = |patterns: &[Vec<u8>]| patterns.iter().find_map(find).unwrap_or_default();
        chunks.levels.iter().fold(first(&chunks.top), |key, level| {
            let leads_here = |chunk: &&Chunk| chunk.roots.iter().any(|root| chunks.path(*root) == key);
            level.iter().find(leads_here).map_or(key, |chunk| first(&chunk.patterns))
        })
    }

    /// Longer keys than fit into one pattern, below a path that another spelling of fewer rows precedes: the heavy one
    /// is cut off. Where keys differ in nothing but case, so that nothing can be cut off, several patterns stand first.
    #[test]
    fn spellings() {
        let long = |head: &str, count: usize, length: usize| -> Vec<String> {
            (0..count).map(|number| format!("~^/{head}{:x<length$} 1;", format!("{number:02}"))).collect()
        };
        let heavy = [long("i", 30, 123), long("I", 2, 100), long("c", 2, 109)].concat();
        with_chunks(&heavy, |chunks| {
            assert!(chunks.levels.len() <= 2 && chunks.top.len() <= 2);
            assert!(chunks.top.iter().all(|pattern| token_length(pattern) <= LONGEST));
            let key = format!("/i05{}", "x".repeat(121));
            assert_eq!(longest(chunks, key.as_bytes()), key.as_bytes());
        });
        let twins = |upper: bool| {
            let case = move |text: String| if upper { text.to_ascii_uppercase() } else { text };
            (0..200).map(move |number| format!("~^/{} 1;", case(format!("{}{number:03}y", "a".repeat(60)))))
        };
        with_chunks(&twins(false).chain(twins(true)).collect::<Vec<_>>(), |chunks| {
            assert!(chunks.top.iter().all(|pattern| token_length(pattern) <= LONGEST));
            let keys: Vec<&[u8]> =
                (1..chunks.labels.trie.nodes.len()).filter(|at| chunks.is_key(*at)).map(|at| chunks.path(at)).collect();
            assert!(keys.len() > 100);
            keys.iter().for_each(|key| assert_eq!(longest(chunks, key), *key));
        });
    }

    /// The longest key is found with any number of chunks and any nesting of keys.
    #[test]
    fn longest_keys() {
        let wide = (0..1500).map(|number| format!("~^/{:x}/page-{number}/ 1;", number * 7919 % 1009));
        let deep = (1..120).map(|length| format!("~^/{} 1;", "a".repeat(length)));
        let many = (0..10_000).map(|number| format!("~^/{:x}/page-{number}/ 1;", number * 7919 % 1009));
        for (texts, has_several) in [(wide.collect::<Vec<_>>(), false), (deep.collect(), false), (many.collect(), true)]
        {
            with_chunks(&texts, |chunks| {
                let mut below = chunks.levels.iter().flatten();
                assert_eq!(below.any(|chunk| chunk.patterns.len() > 1), has_several);
                let keys: Vec<&[u8]> = (1..chunks.labels.trie.nodes.len())
                    .filter(|at| chunks.is_key(*at))
                    .map(|at| chunks.path(at))
                    .collect();
                for (number, key) in keys.iter().enumerate().filter(|(number, _)| number % 37 == 0) {
                    let subject = [key, &b"~x"[..]].concat();
                    let expected = keys.iter().filter(|key| subject.starts_with(key)).max_by_key(|key| key.len());
                    assert_eq!(longest(chunks, &subject), *expected.unwrap(), "{number}");
                }
                assert_eq!(longest(chunks, b"?"), b"");
            });
        }
    }
}
