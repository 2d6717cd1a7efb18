//! Fragments of the strings of a language: bytes that may be anchored to the start or end of the subject.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// The longest string that is listed, in bytes. A longer one does not fit into nginx's buffer for tokens
/// (`NGX_CONF_BUFFER`), so it cannot be a key of a map.
pub const LONGEST_STRING: usize = 4_096;

/// Why the strings cannot be listed.
pub enum Stop {
    Infinite,
    TooMany,
}

/// Bytes that a part of the pattern matches, and whether they must be at the ends of the subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Fragment {
    pub at_start: bool,
    pub bytes: Vec<u8>,
    pub at_end: bool,
}

impl Fragment {
    pub fn of(bytes: &[u8]) -> Fragment {
        Fragment { bytes: bytes.to_vec(), ..Fragment::default() }
    }

    /// This fragment followed by `next`; `None` if an anchor between them cannot hold.
    pub fn then(&self, next: &Fragment) -> Option<Fragment> {
        if self.at_end && !next.bytes.is_empty() || next.at_start && !self.bytes.is_empty() {
            return None;
        }
        Some(Fragment {
            at_start: self.at_start || next.at_start,
            bytes: [self.bytes.as_slice(), &next.bytes].concat(),
            at_end: self.at_end || next.at_end,
        })
    }
}

/// Distinct fragments in insertion order.
#[derive(Default)]
pub struct Fragments {
    pub list: Vec<Fragment>,
    /// Places in the list by hash; empty while the list is short enough to be searched.
    index: HashTable<usize>,
    hasher: DefaultHashBuilder,
}

/// Up to this many fragments, comparing with each is faster than hashing.
const SHORT_LIST: usize = 8;

impl Fragments {
    pub fn single(fragment: Fragment) -> Fragments {
        Fragments::from(vec![fragment])
    }

    fn insert(&mut self, fragment: Fragment) {
        if self.list.len() < SHORT_LIST {
            if !self.list.contains(&fragment) {
                self.list.push(fragment);
            }
            return;
        }
        let Fragments { list, index, hasher } = self;
        if index.is_empty() {
            for (place, fragment) in list.iter().enumerate() {
                let hash = hasher.hash_one(fragment);
                index.insert_unique(hash, place, |&place| hasher.hash_one(&list[place]));
            }
        }
        let hash = hasher.hash_one(&fragment);
        if index.find(hash, |&place| list[place] == fragment).is_none() {
            list.push(fragment);
            index.insert_unique(hash, list.len() - 1, |&place| hasher.hash_one(&list[place]));
        }
    }

    pub fn extend(&mut self, fragments: impl IntoIterator<Item = Fragment>, bound: usize) -> Result<(), Stop> {
        for fragment in fragments {
            if fragment.bytes.len() > LONGEST_STRING {
                return Err(Stop::TooMany);
            }
            self.insert(fragment);
            if self.list.len() > bound {
                return Err(Stop::TooMany);
            }
        }
        Ok(())
    }
}

impl From<Vec<Fragment>> for Fragments {
    /// The fragments must be distinct.
    fn from(list: Vec<Fragment>) -> Fragments {
        Fragments { list, ..Fragments::default() }
    }
}
