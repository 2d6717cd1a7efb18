//! Lists the rows of each bucket: those that may match a subject whose longest key is the bucket's.

use std::rc::Rc;

use crate::maps::chunk::Chunks;
use crate::maps::entry::{PathEnd, PathEntry};
use crate::maps::keys::KeyChoice;
use crate::maps::large::LargeForms;
use crate::maps::row::RowFacts;
use crate::maps::trie::Trie;
use crate::work::spend;

/// The most buckets below its own path in which a row may be listed. A row that needs more is left out of the tree.
pub const MOST_COPIES: usize = 32;

/// The rows of one key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// The node whose path is the key; node 0 is the empty key, of all subjects that begin with no other key.
    pub node: usize,
    /// The rows that may match before `cover` does, ascending.
    pub tried: Vec<usize>,
    /// The row that matches every subject of the bucket, so that no later row is needed.
    pub cover: Option<usize>,
    /// Whether hardly any subject reaches this bucket: all its rows have a dot here, and subjects with a dot in that
    /// place have another key.
    pub is_rare: bool,
}

/// The rows of the tree by bucket, in the order of the keys.
pub struct Buckets {
    pub buckets: Vec<Bucket>,
    /// The rows that would be listed in too many buckets.
    pub scattered: Vec<usize>,
}

/// A trie with its keys, cut into chunks, and the first row that covers all that begins with the path of a node.
pub struct Keyed<'r> {
    pub chunks: Chunks<'r>,
    cover: Vec<Option<usize>>,
}

impl<'r> Keyed<'r> {
    /// Chooses keys for the entries, for leaves of at most `leaf` rows.
    pub fn new(rows: &[RowFacts], entries: Vec<PathEntry<'r>>, leaf: usize, large: LargeForms) -> Keyed<'r> {
        let trie = Trie::new(&entries);
        let KeyChoice { is_key, cover } = KeyChoice::choose(&trie, &entries, rows, leaf);
        Keyed { chunks: Chunks::new(trie, entries, is_key, large), cover }
    }

    fn entry(&self, entry: usize) -> &PathEntry<'r> {
        &self.chunks.labels.entries[entry]
    }

    /// Lists the rows of each bucket. O(entries), because [`MOST_COPIES`] bounds the buckets of a row.
    pub fn buckets(&self, rows: usize) -> Buckets {
        let mut copies = vec![0; rows];
        let mut buckets = Vec::new();
        let mut stack: Vec<(usize, Rc<[usize]>)> = vec![(0, Rc::new([]))];
        while let Some((at, inherited)) = stack.pop() {
            if at == 0 || self.chunks.is_key(at) {
                inherited.iter().for_each(|entry| copies[self.entry(*entry).row] += 1);
                buckets.push(self.bucket(at, &inherited));
            }
            spend(4 + inherited.len());
            let node = &self.chunks.labels.trie.nodes[at];
            let own = node.own.clone().filter(|entry| self.is_live(*entry, at));
            let own = own.filter(|entry| self.entry(*entry).kind != PathEnd::Covering);
            let handed: Vec<usize> = inherited.iter().copied().chain(own).collect();
            for child in node.children.clone().rev().filter(|child| self.chunks.has_keys(*child)) {
                spend(4 + 4 * handed.len());
                let path = self.chunks.path(child);
                let reaches = |entry: &usize| {
                    let reaches = self.entry(*entry).reaches(path) && self.is_live(*entry, child);
                    reaches && copies[self.entry(*entry).row] <= MOST_COPIES
                };
                stack.push((child, handed.iter().copied().filter(reaches).collect()));
            }
        }
        let scattered = (0..rows).filter(|row| copies[*row] > MOST_COPIES).collect();
        Buckets { buckets, scattered }
    }

    /// Whether no earlier row covers all that begins with the path of the node.
    fn is_live(&self, entry: usize, at: usize) -> bool {
        self.cover[at].is_none_or(|cover| self.entry(entry).row <= cover)
    }

    fn bucket(&self, at: usize, inherited: &[usize]) -> Bucket {
        let cover = self.cover[at];
        let mut tried: Vec<usize> = inherited.iter().map(|entry| self.entry(*entry).row).collect();
        let mut is_rare = tried.is_empty();
        let mut stack = vec![at];
        while let Some(below) = stack.pop() {
            let node = &self.chunks.labels.trie.nodes[below];
            spend(2 + 2 * node.own.len());
            for entry in node.own.clone().filter(|entry| self.is_live(*entry, at)) {
                let PathEntry { row, kind, .. } = *self.entry(entry);
                is_rare &= below == at && (kind == PathEnd::Dot || Some(row) == cover);
                tried.push(row);
            }
            stack.extend(node.children.clone().filter(|child| !self.chunks.is_key(*child)));
        }
        tried.retain(|row| Some(*row) != cover);
        tried.sort_unstable();
        tried.dedup();
        Bucket { node: at, tried, cover, is_rare }
    }
}

#[cfg(test)]
mod tests {
    use super::Keyed;
    use crate::maps::entry::entries;
    use crate::maps::example::with_rows;
    use crate::maps::large::LargeForms;

    type Shown = (String, Vec<usize>, Option<usize>, bool);

    fn buckets(texts: &[&str], folded: bool) -> Vec<Shown> {
        with_rows(texts, folded, |_, rows| {
            let keyed = Keyed::new(rows, entries(rows, 0..rows.len(), false), 1, LargeForms::USUAL);
            let shown = keyed.buckets(rows.len()).buckets.into_iter().map(|bucket| {
                let key = String::from_utf8(keyed.chunks.path(bucket.node).to_vec()).unwrap();
                (key, bucket.tried, bucket.cover, bucket.is_rare)
            });
            shown.collect()
        })
    }

    /// A bucket has its own rows and those of shorter paths that fit, but none after the row that covers it.
    #[test]
    fn rows() {
        let shown = buckets(&["~^/a/x$ 0;", "~^/a/ 1;", "~^/a/y$ 2;", "~^/b[0-9]$ 3;", "~^/b7 4;"], false);
        let bucket = |key: &str, tried: &[usize], cover, is_rare| (key.to_owned(), tried.to_vec(), cover, is_rare);
        let expected = [
            bucket("", &[], None, true),
            bucket("/a/", &[], Some(1), true),
            bucket("/a/x", &[0], Some(1), false),
            bucket("/b", &[3], None, false),
            bucket("/b7", &[3], Some(4), false),
        ];
        assert_eq!(shown.into_iter().filter(|(key, ..)| key != "/").collect::<Vec<_>>(), expected);
    }

    /// Hardly any subject has another byte than a dot where a row has a dot.
    #[test]
    fn rare() {
        let shown = buckets(&["~^/v1.0/a.* 0;", "~^/v1.0/b.* 1;"], false);
        assert!(shown.iter().any(|(key, tried, _, is_rare)| key == "/v1" && tried == &[0, 1] && *is_rare));
        assert!(shown.iter().any(|(key, tried, cover, _)| key == "/v1.0/a" && tried.is_empty() && *cover == Some(0)));
    }

    /// Of two keys that differ only in case, one is kept.
    #[test]
    fn spellings() {
        let keys: Vec<String> =
            buckets(&["~^/a/ 0;", "~^/A/ 1;", "~^/b/ 2;"], false).into_iter().map(|shown| shown.0).collect();
        assert_eq!(keys.iter().filter(|key| key.eq_ignore_ascii_case("/a/")).count(), 1);
    }

    /// A row that fits very many keys is reported.
    #[test]
    fn scattered() {
        let texts: Vec<String> = (0..100).map(|number| format!("~^/{number}x/ {number};")).collect();
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        texts.insert(0, "~^/.*z 1;");
        with_rows(&texts, false, |_, rows| {
            let keyed = Keyed::new(rows, entries(rows, 0..rows.len(), false), 1, LargeForms::USUAL);
            assert_eq!(keyed.buckets(rows.len()).scattered, [0]);
        });
    }
}
