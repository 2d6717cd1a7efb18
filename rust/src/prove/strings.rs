//! A set of byte strings in few allocations, each with the first rule given for it.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Strings in the order they came in, with their owners.
#[derive(Default)]
pub struct Owners {
    bytes: Vec<u8>,
    /// The end of each string in `bytes`, and its owner.
    ends: Vec<(u32, u32)>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// The owner of a string without an owner.
pub const NOBODY: u32 = u32::MAX;

impl Owners {
    /// Adds `string` unless it is there already; the first owner stays.
    pub fn add(&mut self, string: &[u8], owner: u32) {
        let hash = self.hasher.hash_one(string);
        if self.table.find(hash, |at| self.string(*at as usize) == string).is_some() {
            return;
        }
        let at = self.ends.len() as u32;
        self.bytes.extend_from_slice(string);
        self.ends.push((self.bytes.len() as u32, owner));
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
        self.table.insert_unique(hash, at, |at| hasher.hash_one(slice(bytes, ends, *at as usize)));
    }

    /// The owner of `string`, `NOBODY` included, if it is in the set.
    pub fn get(&self, string: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(string);
        let at = self.table.find(hash, |at| self.string(*at as usize) == string)?;
        Some(self.ends[*at as usize].1)
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> + '_ {
        self.part(0..self.ends.len())
    }

    /// The strings from one place up to another.
    pub fn part(&self, places: Range<usize>) -> impl Iterator<Item = (&[u8], u32)> + '_ {
        places.map(|at| (self.string(at), self.ends[at].1))
    }

    fn string(&self, at: usize) -> &[u8] {
        slice(&self.bytes, &self.ends, at)
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[(u32, u32)], at: usize) -> &'a [u8] {
    let start = if at == 0 { 0 } else { ends[at - 1].0 as usize };
    &bytes[start..ends[at].0 as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first owner stays, and strings come back in the order they went in.
    #[test]
    fn first_owner_stays() {
        let mut owners = Owners::default();
        for (string, owner) in [("/b", 1), ("/a", 2), ("/b", 3), ("", 4)] {
            owners.add(string.as_bytes(), owner);
        }
        assert_eq!(owners.get(b"/b"), Some(1));
        assert_eq!(owners.get(b"/c"), None);
        let all: Vec<_> = owners.iter().collect();
        assert_eq!(all, [(&b"/b"[..], 1), (b"/a", 2), (b"", 4)]);
    }
}
