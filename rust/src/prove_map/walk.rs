//! Finds the keys of the subjects that a row may match, by the bytes and sets at the start of its pattern.

use std::ops::Range;

use crate::prove_map::prefixes::Prefixes;
use crate::syntax::{Ast, ByteSet};
use crate::work::spend;

/// The items of a pattern at the start of the subject that match single bytes, up to the first other item. `None` if
/// heads are a sharper bound, because more is known of what follows.
pub fn first_items(ast: &Ast) -> Option<&[Ast]> {
    let Ast::Concat(items) = ast else { return None };
    let [Ast::Start, items @ ..] = items.as_slice() else { return None };
    let count = items.iter().take_while(|item| matches!(item, Ast::Byte(_) | Ast::Class(_))).count();
    let (first, rest) = items.split_at(count);
    let is_open = match rest.first() {
        None | Some(Ast::Dollar | Ast::End | Ast::Repeat { min: 0, .. }) => true,
        Some(Ast::Capture { sub, .. }) => matches!(**sub, Ast::Repeat { min: 0, .. }),
        _ => false,
    };
    is_open.then_some(first)
}

/// Walks from the shortest keys to longer ones, and calls `found` with the longest key of each subject that begins with
/// a match of the items, or with `None` for subjects without a key. It may also be called with other keys.
pub struct KeyWalk<'k, F> {
    pub keys: &'k Prefixes,
    pub items: &'k [Ast],
    /// Whether the keys are in lower case and stand for all spellings.
    pub caseless: bool,
    pub found: F,
}

impl<F: FnMut(Option<usize>)> KeyWalk<'_, F> {
    pub fn run(&mut self) {
        self.below(0..self.keys.strings().len(), 0, None);
    }

    /// `range` has the keys that share the first `depth` bytes, which the items allow. `longest` is the longest key
    /// that these bytes begin with.
    fn below(&mut self, mut range: Range<usize>, mut depth: usize, mut longest: Option<usize>) {
        spend(4);
        loop {
            if self.keys.strings().get(range.start).is_some_and(|key| key.len() == depth && !range.is_empty()) {
                longest = Some(range.start);
                range.start += 1;
            }
            let Some(item) = self.items.get(depth).filter(|_| !range.is_empty()) else {
                (self.found)(longest);
                range.for_each(|place| (self.found)(Some(place)));
                return;
            };
            match *item {
                Ast::Byte(byte) => {
                    let byte = if self.caseless { byte.to_ascii_lowercase() } else { byte };
                    range = self.with_byte(range, depth, byte);
                    depth += 1;
                }
                Ast::Class(set) => return self.branches(range, depth, longest, &self.folded(&set)),
                _ => unreachable!("an item that is not one byte of a set"),
            }
        }
    }

    /// The keys of a range that have this byte in the place `at`.
    fn with_byte(&self, range: Range<usize>, at: usize, byte: u8) -> Range<usize> {
        let keys = &self.keys.strings()[range.clone()];
        if let [first, .., last] = keys
            && first[at] == last[at]
        {
            return if first[at] == byte { range } else { range.start..range.start };
        }
        let first = keys.partition_point(|key| key[at] < byte);
        let count = keys[first..].partition_point(|key| key[at] == byte);
        range.start + first..range.start + first + count
    }

    fn branches(&mut self, mut range: Range<usize>, depth: usize, longest: Option<usize>, allowed: &ByteSet) {
        let mut others = allowed.len();
        while !range.is_empty() {
            let byte = self.keys.strings()[range.start][depth];
            let branch = self.with_byte(range.clone(), depth, byte);
            range.start = branch.end;
            if allowed.contains(byte) {
                others -= 1;
                self.below(branch, depth + 1, longest);
            }
        }
        if others > 0 {
            (self.found)(longest);
        }
    }

    fn folded(&self, set: &ByteSet) -> ByteSet {
        if !self.caseless {
            return *set;
        }
        let folded = set.fold();
        ByteSet::of(|byte| folded.contains(byte) && !byte.is_ascii_uppercase())
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyWalk, first_items};
    use crate::prove_map::prefixes::Prefixes;
    use crate::syntax::parse;
    use proptest::prelude::*;

    fn found(pattern: &str, keys: &[String], caseless: bool) -> Vec<Option<usize>> {
        let pattern = parse(pattern.as_bytes()).unwrap();
        let keys = Prefixes::new(keys.iter().map(|key| key.clone().into_bytes()).collect());
        let mut places = Vec::new();
        let items = first_items(&pattern.ast).unwrap();
        KeyWalk { keys: &keys, items, caseless, found: |place| places.push(place) }.run();
        places
    }

    /// Items are returned only if nothing but bytes and sets comes before what may be left out.
    #[test]
    fn items() {
        let count = |pattern: &str| first_items(&parse(pattern.as_bytes()).unwrap().ast).map(<[_]>::len);
        assert_eq!(["^/a.b.*$", "^/a(.*)$", "^/[ab]$", "^/a"].map(count), [4, 2, 2, 2].map(Some));
        assert_eq!(["/a", "^/(a|b)", "^/a[0-9]+", "^/a|^/b"].map(count), [None; 4]);
    }

    /// A key is not found where the items lead to a longer one, or elsewhere.
    #[test]
    fn keys() {
        let keys = ["/", "/a", "/a.b", "/a.c", "/b"].map(str::to_owned);
        assert_eq!(found("^/a.b.*$", &keys, false), [Some(2), Some(1)]);
        assert_eq!(found(r"^/a\.b.*$", &keys, false), [Some(2)]);
        assert_eq!(found("^/a.*$", &keys, false), [Some(1), Some(2), Some(3)]);
        assert_eq!(found("^/A", &keys, true), [Some(1), Some(2), Some(3)]);
        assert_eq!(found("^/[bx]c", &keys, false), [Some(4), Some(0)]);
        assert_eq!(found("^x", &keys, false), [None]);
    }

    proptest! {
        /// The longest key of a subject that begins with the items is found.
        #[test]
        fn longest(
            keys in prop::collection::vec("[ab.]{1,4}", 0..12),
            items in prop::collection::vec(prop::sample::select(vec!["a", "b", r"\.", ".", "[ab]", "[Ab]"]), 0..5),
            tail in "[ab.]{0,3}",
        ) {
            let items = items.concat();
            for caseless in [false, true] {
                let prefixes = Prefixes::new(keys.iter().map(|key| key.clone().into_bytes()).collect());
                let places = found(&format!("^{items}.*"), &keys, caseless);
                let flag = if caseless { "(?i)" } else { "" };
                let regex = crate::pcre::Regex::new(format!("{flag}^{items}").as_bytes()).unwrap();
                for start in subjects(5) {
                    let subject = [&start, tail.as_bytes()].concat();
                    if regex.is_match(&subject, 10_000) == crate::pcre::MatchOutcome::Yes {
                        let longest = prefixes.longest(&subject.to_ascii_lowercase());
                        prop_assert!(places.contains(&longest), "{:?}", subject.escape_ascii().to_string());
                    }
                }
            }
        }
    }

    /// All strings of a few bytes.
    fn subjects(length: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        for _ in 0..length {
            let longer = |text: &Vec<u8>| b"ab.".map(|byte| [text.as_slice(), &[byte]].concat());
            all = all.iter().flat_map(longer).chain(all.clone()).collect();
            all.sort_unstable();
            all.dedup();
        }
        all
    }
}
