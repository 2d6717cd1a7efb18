//! A set of byte strings, each with the first rule given for it. It takes few allocations.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Strings in the order in which they were added, with their owners. Most rules match a string and its twin with a
/// final newline, because `$` also matches before one. Twins are next to each other and share their bytes.
#[derive(Default)]
pub struct Owners {
    /// All stems, each followed by a newline.
    bytes: Vec<u8>,
    stems: Vec<Stem>,
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// The stem that was looked up last. Stems that are looked up in the order in which they were added are found
    /// without a hash.
    last: usize,
    count: usize,
}

/// A string without a final newline.
struct Stem {
    /// The end of its newline in `bytes`.
    end: u32,
    /// The owner of the string, and the owner of the string with a newline.
    owners: [u32; 2],
}

/// The owner of a string without an owner.
pub const NOBODY: u32 = u32::MAX;
/// The owner of a string that is not in the set.
const ABSENT: u32 = u32::MAX - 1;

impl Owners {
    /// A set with room for this many strings.
    pub fn with_capacity(strings: usize) -> Owners {
        Owners { stems: Vec::with_capacity(strings), table: HashTable::with_capacity(strings), ..Owners::default() }
    }

    /// Adds `string` unless it is in the set already. The first owner stays.
    pub fn add(&mut self, string: &[u8], owner: u32) {
        let (stem, newline) = divided(string);
        let at = self.stem(stem);
        self.own(at, newline, owner);
    }

    /// Adds `string`, and `string` with one more newline.
    pub fn add_twins(&mut self, string: &[u8], owner: u32) {
        let (_, newline) = divided(string);
        if newline > 0 {
            self.add(string, owner);
            return self.add(&[string, b"\n"].concat(), owner);
        }
        let at = self.stem(string);
        self.own(at, 0, owner);
        self.own(at, 1, owner);
    }

    /// The owner of `string`, `NOBODY` included, if it is in the set.
    pub fn get(&self, string: &[u8]) -> Option<u32> {
        let (stem, newline) = divided(string);
        let at = self.find(stem, self.hasher.hash_one(stem))?;
        Some(self.stems[at].owners[newline]).filter(|owner| *owner != ABSENT)
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u32)> + '_ {
        self.part(0..self.stems.len())
    }

    /// The number of places for [`Owners::part`].
    pub fn places(&self) -> usize {
        self.stems.len()
    }

    /// The strings at some places, at most two for each place.
    pub fn part(&self, places: Range<usize>) -> impl Iterator<Item = (&[u8], u32)> + '_ {
        let twins = |at: usize| {
            let line = line(&self.bytes, &self.stems, at);
            let [alone, before_newline] = self.stems[at].owners;
            [(&line[..line.len() - 1], alone), (line, before_newline)]
        };
        places.flat_map(twins).filter(|(_, owner)| *owner != ABSENT)
    }

    /// The place of a stem, which is added if it is new.
    fn stem(&mut self, stem: &[u8]) -> usize {
        let next = self.last + 1;
        if next < self.stems.len() && text(&self.bytes, &self.stems, next) == stem {
            self.last = next;
            return next;
        }
        let hash = self.hasher.hash_one(stem);
        self.last = self.find(stem, hash).unwrap_or_else(|| self.insert(stem, hash));
        self.last
    }

    fn insert(&mut self, stem: &[u8], hash: u64) -> usize {
        let at = self.stems.len();
        self.bytes.extend_from_slice(stem);
        self.bytes.push(b'\n');
        self.stems.push(Stem { end: self.bytes.len() as u32, owners: [ABSENT; 2] });
        let (bytes, stems, hasher) = (&self.bytes, &self.stems, &self.hasher);
        self.table.insert_unique(hash, at as u32, |at| hasher.hash_one(text(bytes, stems, *at as usize)));
        at
    }

    fn find(&self, stem: &[u8], hash: u64) -> Option<usize> {
        let at = self.table.find(hash, |at| text(&self.bytes, &self.stems, *at as usize) == stem)?;
        Some(*at as usize)
    }

    fn own(&mut self, at: usize, newline: usize, owner: u32) {
        let of = &mut self.stems[at].owners[newline];
        if *of == ABSENT {
            *of = owner;
            self.count += 1;
        }
    }
}

/// Returns a string without its final newline, and 1 if it had one, otherwise 0.
fn divided(string: &[u8]) -> (&[u8], usize) {
    string.strip_suffix(b"\n").map_or((string, 0), |stem| (stem, 1))
}

/// A stem with its newline.
fn line<'a>(bytes: &'a [u8], stems: &[Stem], at: usize) -> &'a [u8] {
    let start = if at == 0 { 0 } else { stems[at - 1].end as usize };
    &bytes[start..stems[at].end as usize]
}

fn text<'a>(bytes: &'a [u8], stems: &[Stem], at: usize) -> &'a [u8] {
    let line = line(bytes, stems, at);
    &line[..line.len() - 1]
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

    /// A string and its twin are two strings with owners of their own, whatever newlines they end in.
    #[test]
    fn twins() {
        let mut owners = Owners::default();
        owners.add(b"/a\n", 1);
        assert_eq!((owners.get(b"/a"), owners.get(b"/a\n"), owners.len()), (None, Some(1), 1));
        owners.add_twins(b"/a", 2);
        owners.add_twins(b"/a\n", NOBODY);
        assert_eq!(owners.get(b"/a\n\n"), Some(NOBODY));
        let all: Vec<_> = owners.iter().collect();
        assert_eq!(all, [(&b"/a"[..], 2), (b"/a\n", 1), (b"/a\n\n", NOBODY)]);
        assert_eq!((owners.len(), owners.places(), owners.is_empty()), (3, 2, false));
        assert!(Owners::with_capacity(9).is_empty());
    }

    /// Strings are found whatever order they are added in again.
    #[test]
    fn again() {
        let strings: Vec<String> = (0..100).map(|number| format!("/{number}")).collect();
        let mut owners = Owners::default();
        for string in strings.iter().chain(&strings).chain(strings.iter().rev()).chain(strings.iter().step_by(3)) {
            owners.add_twins(string.as_bytes(), 1);
        }
        assert_eq!((owners.len(), owners.places()), (200, 100));
    }
}
