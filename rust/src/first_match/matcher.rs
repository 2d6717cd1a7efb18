//! Decides whether a pattern matches a subject in every version of PCRE.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex_automata::meta;

use super::effort::{self, is_anchored};
use crate::pcre::{MatchOutcome, Regex};
use crate::syntax::{self, Ast, Pattern, Refusal};

/// Reads a pattern that means the same to every PCRE: [`syntax::parse`], or [`syntax::parse_to_match`].
pub(super) type Parse = fn(&[u8]) -> Result<Pattern, Refusal>;

/// Why it is unknown whether a pattern matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// PCRE versions read the pattern differently, or may.
    Unportable,
    /// It may exceed a limit of PCRE, and nginx answers with 500.
    Effort,
}

/// Whether a pattern matches a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    No,
    Unknown(Doubt),
}

/// What is known of a pattern.
pub(super) enum Matcher {
    Portable(Box<Portable>),
    /// A pattern that PCRE versions read differently. It matches only subjects that begin with these bytes, in any
    /// case.
    Unportable(Vec<u8>),
}

pub(super) struct Portable {
    pattern: Pattern,
    regex: Regex,
    automaton: OnceLock<Option<LinearMatcher>>,
    is_anchored: bool,
    /// The number of times that PCRE2 gave no answer.
    slow: AtomicU32,
}

/// The most calls of `match()` for a subject: from one place, and from all places together. They take about 0.4 ms.
const CALLS: u32 = 4_000;
const CALLS_IN_ALL: u32 = 16_000;

/// After this many runs without an answer, the pattern is not run again, so that one bad pattern does not slow down a
/// file with many strings.
const PATIENCE: u32 = 64;

impl Matcher {
    /// Builds the matcher of a pattern, which `parse` reads or refuses. O(length); some us.
    pub fn new(text: &[u8], parse: Parse) -> Matcher {
        let portable = || {
            let pattern = parse(text).ok()?;
            let regex = Regex::new(text).ok()?;
            let is_anchored = matches!(&pattern.ast, Ast::Concat(items) if items[0] == Ast::Start);
            Some(Portable { pattern, regex, automaton: OnceLock::new(), is_anchored, slow: AtomicU32::new(0) })
        };
        portable()
            .map_or_else(|| Matcher::Unportable(syntax::prefix(text)), |portable| Matcher::Portable(Box::new(portable)))
    }

    /// Forgets how often PCRE2 gave no answer, so that the pattern is run again.
    pub fn rest(&self) {
        if let Matcher::Portable(portable) = self {
            portable.slow.store(0, Ordering::Relaxed);
        }
    }

    /// Whether the pattern matches.
    pub fn answer(&self, subject: &[u8]) -> Answer {
        match self {
            Matcher::Unportable(prefix) if syntax::begins(subject, prefix) => Answer::Unknown(Doubt::Unportable),
            Matcher::Unportable(_) => Answer::No,
            Matcher::Portable(portable) => portable.answer(subject),
        }
    }
}

impl Portable {
    fn answer(&self, subject: &[u8]) -> Answer {
        if !self.pattern.settles(subject) {
            let doubt = if self.pattern.spaces { Doubt::Unportable } else { Doubt::Effort };
            return Answer::Unknown(doubt);
        }
        if self.slow.load(Ordering::Relaxed) < PATIENCE {
            match self.regex.is_match(subject, self.calls(subject)) {
                MatchOutcome::Yes => return Answer::Yes,
                MatchOutcome::No => return Answer::No,
                MatchOutcome::Error(_) => self.slow.fetch_add(1, Ordering::Relaxed),
            };
        }
        let automaton = self.automaton.get_or_init(|| LinearMatcher::of(&self.pattern));
        automaton.as_ref().map_or(Answer::Unknown(Doubt::Effort), |automaton| automaton.answer(subject))
    }

    fn calls(&self, subject: &[u8]) -> u32 {
        if self.is_anchored { CALLS } else { (CALLS_IN_ALL / (subject.len() as u32 + 1)).clamp(100, CALLS) }
    }
}

/// Finds the answer of PCRE2 in linear time, if PCRE2 certainly finds one within nginx's limit.
struct LinearMatcher {
    regex: meta::Regex,
    longest: usize,
}

impl LinearMatcher {
    fn of(pattern: &Pattern) -> Option<LinearMatcher> {
        let translation = pattern.translate();
        let longest = effort::whole(&pattern.ast, is_anchored(&translation.hir));
        if !translation.exact || longest == 0 {
            return None;
        }
        let config = meta::Config::new().utf8_empty(false).auto_prefilter(false);
        let regex = meta::Regex::builder().configure(config).build_from_hir(&translation.hir).ok()?;
        Some(LinearMatcher { regex, longest })
    }

    fn answer(&self, subject: &[u8]) -> Answer {
        match self.regex.is_match(subject) {
            _ if subject.len() > self.longest => Answer::Unknown(Doubt::Effort),
            true => Answer::Yes,
            false => Answer::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Doubt, Matcher, PATIENCE};
    use crate::syntax;

    fn answer(pattern: &str, subject: &[u8]) -> Answer {
        Matcher::new(pattern.as_bytes(), syntax::parse).answer(subject)
    }

    /// A pattern that PCREs read differently may match any subject with its prefix, and no other subject.
    #[test]
    fn unportable() {
        for pattern in ["^/id/[0-9]{,3}$", r"^/id/\p{Greek}", r"^/id/\xz", r"^/id/\b{ 1}", r"^/id/[\w-.]+", r"^/id/\i"]
        {
            assert_eq!(answer(pattern, b"/ID/1"), Answer::Unknown(Doubt::Unportable), "{pattern}");
            assert_eq!(answer(pattern, b"/other"), Answer::No, "{pattern}");
        }
        assert_eq!(answer(r"\p{Lu}", b"/"), Answer::Unknown(Doubt::Unportable));
    }

    /// A pattern with a reference to a group is matched like any other, if it can be read.
    #[test]
    fn references() {
        let matched = |pattern: &str, subject| Matcher::new(pattern.as_bytes(), syntax::parse_to_match).answer(subject);
        let is_twice = r"^/([a-z]+)/\1$";
        assert_eq!(matched(is_twice, b"/ab/ab"), Answer::Yes);
        assert_eq!(matched(is_twice, b"/ab/AB"), Answer::No);
        assert_eq!(matched(r"(?i)^/([a-z]+)/\1$", b"/ab/AB"), Answer::Yes);
        assert_eq!(matched(r"^/(a+)\1*$", b"/aa"), Answer::Unknown(Doubt::Unportable));
        assert_eq!(answer(is_twice, b"/ab/ab"), Answer::Unknown(Doubt::Unportable));
    }

    /// `\s` has the vertical tab in most releases.
    #[test]
    fn vertical_tab() {
        for pattern in [r"\s", r"[^\s]$", r"^/\S"] {
            assert_eq!(answer(pattern, b"/\x0b"), Answer::Unknown(Doubt::Unportable), "{pattern}");
            assert_ne!(answer(pattern, b"/\t"), Answer::Unknown(Doubt::Unportable), "{pattern}");
        }
    }

    /// A repeated group may need more stack than some library has.
    #[test]
    fn long_subjects() {
        let subject = |length| [b"/".as_slice(), &vec![b'a'; length], b"z"].concat();
        assert_eq!(answer("^/(?:[^x]|y)*z$", &subject(100)), Answer::Yes);
        assert_eq!(answer("^/(?:[^x]|y)*z$", &subject(2_600)), Answer::Unknown(Doubt::Effort));
        assert_eq!(answer("^/[^x]*z$", &subject(2_600)), Answer::Yes);
        assert_eq!(answer("^/(?!(?:[^x]|y)*z$)", &subject(2_600)), Answer::Unknown(Doubt::Effort));
    }

    /// Endless backtracking is cut off, and a pattern that backtracked too often is not run at all.
    #[test]
    fn effort() {
        let matcher = Matcher::new(b"^/(a+)+$", syntax::parse);
        let subject = [b"/".as_slice(), &[b'a'; 40], b"!"].concat();
        assert_eq!(matcher.answer(b"/b"), Answer::No);
        for _ in 0..PATIENCE {
            assert_eq!(matcher.answer(&subject), Answer::Unknown(Doubt::Effort));
        }
        assert_eq!(matcher.answer(b"/b"), Answer::Unknown(Doubt::Effort));
    }

    /// If PCRE2 takes very long but finds an answer, an automaton finds the same answer.
    #[test]
    fn automaton() {
        let matcher = Matcher::new(b"^/(.*)/(.*)/(.*)[!?]$", syntax::parse);
        let subject = vec![b'/'; 60];
        for _ in 0..=PATIENCE {
            assert_eq!(matcher.answer(&subject), Answer::No);
        }
        assert_eq!(matcher.answer(&[subject.as_slice(), b"!"].concat()), Answer::Yes);
    }
}
