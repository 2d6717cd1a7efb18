//! The first of many patterns that matches, found by an index and PCRE2.

use std::ops::Range;
use std::sync::OnceLock;

use super::any_case::AnyCaseMatcher;
use super::index::{Index, TooManyLiterals};
use super::matcher::{Answer, Doubt, Matcher, Parse};
use super::requirement::{self, Requirement};
use super::texts::PatternTexts;
use crate::parallel;
use crate::syntax::{self, Pattern, Translation};

/// The first pattern that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// No pattern matches.
    None,
    /// The pattern of this index.
    Match(usize),
    /// No earlier pattern matches, and it is unknown whether the pattern of this index does.
    Unknown(usize, Doubt),
}

/// The patterns in the order of their rules, and an index that leaves few candidates.
///
/// Patterns are compiled on first use, since most are never used. One that [`crate::syntax::parse`] refuses is
/// unknown where its prefix is, one that it reads inexactly is always tried.
///
/// A pattern is skipped only if PCRE certainly gives the same answer: no match, and no match limit either
/// (see `effort`).
pub struct FirstMatch {
    patterns: PatternTexts,
    matchers: Vec<OnceLock<Matcher>>,
    spellings: Vec<OnceLock<Option<Box<AnyCaseMatcher>>>>,
    index: Index,
    parse: Parse,
}

impl FirstMatch {
    /// O(total length of the patterns); for 100,000 patterns of rules some dozen MB.
    ///
    /// The error is for patterns beyond the reach of an index of 32 bits. Panics with more than 2^32 patterns.
    pub fn new(patterns: &[&[u8]]) -> Result<FirstMatch, TooManyLiterals> {
        let required = parallel::collect(patterns.len(), |place| Required::of(patterns[place]));
        FirstMatch::of_required(patterns, required)
    }

    /// As [`FirstMatch::new`], for patterns that are only matched: [`syntax::parse_to_match`] reads them.
    pub fn to_match(patterns: &[&[u8]]) -> Result<FirstMatch, TooManyLiterals> {
        Ok(FirstMatch { parse: syntax::parse_to_match, ..FirstMatch::new(patterns)? })
    }

    /// As [`FirstMatch::new`], with what each of the patterns requires.
    pub fn of_required(patterns: &[&[u8]], required: Vec<Required>) -> Result<FirstMatch, TooManyLiterals> {
        Ok(FirstMatch {
            patterns: PatternTexts::new(patterns),
            matchers: patterns.iter().map(|_| OnceLock::new()).collect(),
            spellings: patterns.iter().map(|_| OnceLock::new()).collect(),
            index: Index::new(required.into_iter().map(|required| required.0).collect())?,
            parse: syntax::parse,
        })
    }

    /// The first pattern with an index below `limit` that matches `subject`.
    ///
    /// O(length) for the index, and PCRE2 for each candidate up to the answer.
    pub fn first(&self, subject: &[u8], limit: usize) -> First {
        self.first_in(subject, 0..limit)
    }

    /// The first pattern with an index in `range` that matches `subject`; as fast as [`FirstMatch::first`].
    pub fn first_in(&self, subject: &[u8], range: Range<usize>) -> First {
        if range.is_empty() {
            return First::None;
        }
        let candidates = self.index.candidates(&subject.to_ascii_lowercase(), range.end);
        for index in candidates.skip_while(|index| *index < range.start) {
            match self.ask(index, subject) {
                Answer::Yes => return First::Match(index),
                Answer::No => {}
                Answer::Unknown(doubt) => return First::Unknown(index, doubt),
            }
        }
        First::None
    }

    /// `false` only if none of the first `limit` patterns matches any spelling of `subject`, and PCRE does not give up
    /// on one either.
    pub fn may_match_some_case(&self, subject: &[u8], within: Range<usize>) -> bool {
        if within.is_empty() {
            return false;
        }
        let subject = subject.to_ascii_lowercase();
        self.index.candidates(&subject, within.end).filter(|index| *index >= within.start).any(|index| {
            let build = || AnyCaseMatcher::of(self.patterns.get(index)).map(Box::new);
            self.spellings[index].get_or_init(build).as_ref().is_none_or(|spellings| spellings.may_match(&subject))
        })
    }

    /// Forgets on which patterns PCRE2 took long.
    pub(super) fn rest(&self) {
        self.matchers.iter().filter_map(OnceLock::get).for_each(Matcher::rest);
    }

    fn ask(&self, index: usize, subject: &[u8]) -> Answer {
        self.matchers[index].get_or_init(|| Matcher::new(self.patterns.get(index), self.parse)).answer(subject)
    }
}

/// What each match of a pattern contains, for the index.
pub struct Required(pub(super) Vec<Requirement>);

impl Required {
    pub fn of(pattern: &[u8]) -> Required {
        match syntax::parse(pattern) {
            Ok(read) => Required::of_read(&read, &read.translate()),
            Err(_) => Required::of_unread(pattern),
        }
    }

    /// As [`Required::of`], for a pattern that [`syntax::parse`] reads.
    pub fn of_read(pattern: &Pattern, translation: &Translation) -> Required {
        Required(requirement::of_read(pattern, translation))
    }

    /// As [`Required::of`], for a pattern that it refuses.
    pub fn of_unread(pattern: &[u8]) -> Required {
        Required(requirement::of_unread(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::{First, FirstMatch};
    use crate::first_match::Doubt;

    fn index(patterns: &[&str]) -> FirstMatch {
        let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        FirstMatch::new(&patterns).expect("a small index")
    }

    /// The order of the patterns decides, not the part of the index that found them.
    #[test]
    fn in_order() {
        let index = index(&["html$", "^/docs/", "^/([^/]+)/$", "^/docs/a", "^/(?!x)z"]);
        for (subject, expected) in [
            ("/docs/a.html", First::Match(0)),
            ("/docs/a", First::Match(1)),
            ("/doc/", First::Match(2)),
            ("/docs", First::None),
            ("/zz", First::Match(4)),
        ] {
            assert_eq!(index.first(subject.as_bytes(), 5), expected, "{subject}");
        }
    }

    /// Patterns from the limit on are not tried.
    #[test]
    fn limit() {
        let index = index(&["^/a", "^/ab", "."]);
        assert_eq!(index.first(b"/ab", 0), First::None);
        assert_eq!(index.first(b"/b", 2), First::None);
        assert_eq!(index.first(b"/b", 3), First::Match(2));
        assert_eq!(index.first(b"/b", usize::MAX), First::Match(2));
        assert_eq!(index.first_in(b"/ab", 1..3), First::Match(1));
        assert_eq!(index.first_in(b"/ab", 2..3), First::Match(2));
        assert_eq!(index.first_in(b"/ab", 3..3), First::None);
    }

    /// Reaching the match limit is an answer of its own, even if the subject does not contain the literals of the
    /// pattern.
    #[test]
    fn match_limit_is_not_skipped() {
        let index = index(&["^/b", "^/(a+)+[^x]foo", "^/"]);
        let subject = [b"/".as_slice(), &[b'a'; 60], b"oof"].concat();
        assert_eq!(index.first(&subject, 3), First::Unknown(1, Doubt::Effort));
        assert_eq!(index.first(b"/b", 3), First::Match(0));
        assert_eq!(index.first(b"/c", 3), First::Match(2));
    }

    /// A long subject may reach the limit where a short one does not.
    #[test]
    fn match_limit_of_long_subjects() {
        let index = index(&["^/(.*)(.*)(.*)x1"]);
        let subject = |length| [b"/".as_slice(), &vec![b'a'; length], b"1"].concat();
        assert_eq!(index.first(&subject(1_000), 1), First::Unknown(0, Doubt::Effort));
        assert_eq!(index.first(&subject(20), 1), First::None);
    }

    /// A pattern that PCREs read differently, or that none compiles, is unknown once it is reached.
    #[test]
    fn refused() {
        let index = index(&["^/ab", "(?<=a+)c", "["]);
        assert_eq!(index.first(b"/abc", 3), First::Match(0));
        assert_eq!(index.first(b"/ac", 3), First::Unknown(1, Doubt::Unportable));
        assert_eq!(index.first(b"/ac", 1), First::None);
    }
}
