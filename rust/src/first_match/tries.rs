//! Counts what PCRE2 does to find that patterns do not match, for the cost of requests.
//!
//! The interpreter compares lengths first. A subject that is long enough is compared byte by byte if the pattern is
//! anchored; otherwise PCRE2 looks for places where a match may begin, and tries the pattern at each.

use std::ops::Range;
use std::sync::OnceLock;

use regex_syntax::hir::literal::Extractor;
use serde::Serialize;

use super::effort::is_anchored;
use crate::syntax;

/// So many patterns are looked at for a subject; of more, each stands for its neighbours.
const MOST_LOOKED_AT: usize = 1 << 7;

/// The number of bytes that distinguish two beginnings of a match: PCRE2 gives up most tries within them.
const WAY: usize = 3;

/// What is tried of patterns that a subject does not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Tries {
    /// The number of patterns that match no subject that is so short.
    pub short: u64,
    /// The number of the others.
    pub long: u64,
    /// The bytes that the subject shares with anchored ones of these, behind the first.
    pub shared: u64,
    /// The bytes that are searched for the beginning of a match of those that are not anchored.
    pub searched: u64,
    /// The places where a match may begin, each as often as there are ways to begin it.
    pub places: u64,
}

impl Tries {
    /// Adds others, `times` times.
    pub fn add(&mut self, other: &Tries, times: u64) {
        self.short += other.short * times;
        self.long += other.long * times;
        self.shared += other.shared * times;
        self.searched += other.searched * times;
        self.places += other.places * times;
    }
}

/// Counts tries of some patterns. What each takes is found on first use.
#[derive(Default)]
pub struct TryCounter {
    patterns: Vec<OnceLock<Shape>>,
}

/// What decides how long PCRE2 tries a pattern.
struct Shape {
    /// The length of the shortest match.
    least: usize,
    start: Start,
}

enum Start {
    /// At the first byte of the subject, with these bytes in lower case.
    Anchored(Box<[u8]>),
    /// At any of these bytes, in this number of ways.
    Anywhere { firsts: Box<[bool; 256]>, ways: u64 },
}

impl TryCounter {
    /// Prepares so many patterns.
    pub fn new(count: usize) -> TryCounter {
        TryCounter { patterns: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// Counts the tries of the patterns in a range; `text` has the text of each, with its flags.
    pub fn count<'a>(
        &self,
        subject: &[u8],
        range: Range<usize>,
        text: impl Fn(usize) -> std::borrow::Cow<'a, [u8]>,
    ) -> Tries {
        let subject = subject.to_ascii_lowercase();
        let step = range.len() / MOST_LOOKED_AT + 1;
        let mut tries = Tries::default();
        for index in range.clone().step_by(step) {
            let shape = self.patterns[index].get_or_init(|| Shape::of(&text(index)));
            tries.add(&shape.tries(&subject), step.min(range.end - index) as u64);
        }
        tries
    }
}

impl Shape {
    /// Reads a pattern. O(length).
    fn of(text: &[u8]) -> Shape {
        let Ok(pattern) = syntax::parse_to_match(text) else {
            return Shape { least: 0, start: Start::Anchored(syntax::prefix(text).into()) };
        };
        let hir = pattern.translate().hir;
        let least = hir.properties().minimum_len().unwrap_or(0);
        let beginnings = Extractor::new().extract(&hir);
        let literals = beginnings.literals();
        if is_anchored(&hir) {
            let shared = literals.map_or(Vec::new(), |all| shared(all.iter().map(|one| one.as_bytes())));
            return Shape { least, start: Start::Anchored(shared.into()) };
        }
        let mut firsts = Box::new([false; 256]);
        let mut ways = 1;
        match literals.filter(|all| all.iter().all(|one| !one.is_empty())) {
            Some(all) => {
                let start = |text: &[u8]| text[..text.len().min(WAY)].to_ascii_lowercase();
                let mut words: Vec<Vec<u8>> = all.iter().map(|one| start(one.as_bytes())).collect();
                words.iter().for_each(|word| firsts[usize::from(word[0])] = true);
                words.sort_unstable();
                words.dedup();
                ways = words.len() as u64;
            }
            None => firsts.fill(true),
        }
        Shape { least, start: Start::Anywhere { firsts, ways } }
    }

    /// Counts a try. `subject` is in lower case.
    fn tries(&self, subject: &[u8]) -> Tries {
        if subject.len() < self.least {
            return Tries { short: 1, ..Tries::default() };
        }
        match &self.start {
            Start::Anchored(prefix) => {
                let shared = prefix.iter().zip(subject).take_while(|(one, other)| one == other).count();
                Tries { long: 1, shared: shared.saturating_sub(1) as u64, ..Tries::default() }
            }
            Start::Anywhere { firsts, ways } => {
                let places = subject.iter().filter(|byte| firsts[usize::from(**byte)]).count() as u64;
                Tries { long: 1, searched: subject.len() as u64, places: places * ways, ..Tries::default() }
            }
        }
    }
}

/// The bytes that all texts begin with, in lower case.
fn shared<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let lower = texts.map(<[u8]>::to_ascii_lowercase);
    let same = |one: Vec<u8>, other: Vec<u8>| one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    lower
        .reduce(|mut one, other| {
            let length = same(one.clone(), other);
            one.truncate(length);
            one
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(patterns: &[&str], subject: &str) -> Tries {
        let counter = TryCounter::new(patterns.len());
        counter.count(subject.as_bytes(), 0..patterns.len(), |index| patterns[index].as_bytes().into())
    }

    /// A subject is compared in length, then byte by byte.
    #[test]
    fn anchored() {
        let rules = ["^/old/page-1\\.html$", "^/old/page-2\\.html$", "^/o$"];
        assert_eq!(count(&rules, "/o"), Tries { short: 2, long: 1, shared: 1, ..Tries::default() });
        assert_eq!(count(&rules, "/old/page-3.html"), Tries { long: 3, shared: 19, ..Tries::default() });
        assert_eq!(count(&rules, "/OLD/PAGE-3.html"), count(&rules, "/old/page-3.html"));
    }

    /// A pattern that is not anchored is tried where its first byte is.
    #[test]
    fn anywhere() {
        assert_eq!(count(&["bot|crawl"], "a bot"), Tries { long: 1, searched: 5, places: 2, ..Tries::default() });
        assert_eq!(count(&["(?i)BOT"], "a bob"), count(&["bot"], "a bob"));
        assert_eq!(count(&["[^a]b"], "xyz").places, 3);
    }

    /// Of very many patterns, some stand for all.
    #[test]
    fn many() {
        let rules: Vec<String> = (0..5_000).map(|number| format!("^/old/{number:05}$")).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        assert_eq!(count(&rules, "/elsewhere/else"), Tries { long: 5_000, ..Tries::default() });
    }
}
