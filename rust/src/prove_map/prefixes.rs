//! A set of byte strings that can be searched by prefixes.

use std::ops::Range;

/// Distinct strings in byte order, each with its longest proper prefix among them.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    strings: Vec<Vec<u8>>,
    parents: Vec<Option<u32>>,
}

impl Prefixes {
    /// O(n log n); duplicates are dropped.
    pub fn new(mut strings: Vec<Vec<u8>>) -> Prefixes {
        strings.sort_unstable();
        strings.dedup();
        let mut open: Vec<u32> = Vec::new();
        let mut parents = Vec::with_capacity(strings.len());
        for (at, string) in (0u32..).zip(&strings) {
            while open.last().is_some_and(|&last| !string.starts_with(&strings[last as usize])) {
                open.pop();
            }
            parents.push(open.last().copied());
            open.push(at);
        }
        Prefixes { strings, parents }
    }

    pub fn strings(&self) -> &[Vec<u8>] {
        &self.strings
    }

    /// The index of a string.
    pub fn find(&self, string: &[u8]) -> Option<usize> {
        self.strings.binary_search_by(|other| other.as_slice().cmp(string)).ok()
    }

    /// The index of the longest other string that is a prefix of the string at `place`.
    pub fn parent(&self, place: usize) -> Option<usize> {
        self.parents[place].map(|parent| parent as usize)
    }

    /// The index of the longest string that is a prefix of `subject`.
    pub fn longest(&self, subject: &[u8]) -> Option<usize> {
        // If a string begins with another, all strings sorted between the two begin with that other one, too.
        let after = self.strings.partition_point(|string| string.as_slice() <= subject);
        let mut place = after.checked_sub(1);
        while let Some(at) = place.filter(|&at| !subject.starts_with(&self.strings[at])) {
            place = self.parent(at);
        }
        place
    }

    /// The indexes of the strings that begin with `start`.
    pub fn extending(&self, start: &[u8]) -> Range<usize> {
        let first = self.strings.partition_point(|string| string.as_slice() < start);
        let count = self.strings[first..].partition_point(|string| string.starts_with(start));
        first..first + count
    }
}

#[cfg(test)]
mod tests {
    use super::Prefixes;
    use proptest::prelude::*;

    proptest! {
        /// The searches agree with a scan of all strings.
        #[test]
        fn agrees_with_a_scan(strings in prop::collection::vec("[ab]{0,4}", 0..20), subject in "[ab]{0,5}") {
            let prefixes = Prefixes::new(strings.iter().map(|string| string.clone().into_bytes()).collect());
            let longest = prefixes.longest(subject.as_bytes()).map(|at| prefixes.strings()[at].len());
            let scanned = strings.iter().filter(|string| subject.starts_with(string.as_str())).map(String::len).max();
            prop_assert_eq!(longest, scanned);
            let extending = prefixes.extending(subject.as_bytes());
            for (at, string) in prefixes.strings().iter().enumerate() {
                prop_assert_eq!(extending.contains(&at), string.starts_with(subject.as_bytes()));
                let shorter = |other: &&Vec<u8>| string.starts_with(other) && string != *other;
                let parent = prefixes.strings().iter().filter(shorter).map(Vec::len).max();
                prop_assert_eq!(prefixes.parent(at).map(|at| prefixes.strings()[at].len()), parent);
            }
        }
    }
}
