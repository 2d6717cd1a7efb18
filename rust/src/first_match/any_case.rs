//! Decides whether a pattern matches a string in any case.

use regex_automata::meta::{Config, Regex};

use super::effort;
use super::effort::is_anchored;
use crate::syntax::{self, Translation};

/// Decides whether a pattern matches some spelling (ASCII) of a string.
///
/// Each pattern has a small automaton of its own. A common automaton of many patterns would have states for each of
/// them at any place of a subject: 20 GB for 5,000 patterns.
pub(super) struct AnyCaseMatcher {
    regex: Regex,
    /// The longest subject on which PCRE2 certainly finds an answer.
    longest: usize,
}

impl AnyCaseMatcher {
    /// `None` for a pattern about which too little is known.
    pub fn of(pattern: &[u8]) -> Option<AnyCaseMatcher> {
        let pattern = syntax::parse(pattern).ok()?;
        // Leave out the engines that are fast on long subjects but take long to build.
        let config = Config::new().utf8_empty(false).hybrid(false).auto_prefilter(false);
        let Translation { hir: folded, exact, .. } = pattern.translate_folded();
        if !exact {
            return None; // what PCRE2 tries in a look-around or a recursion is not in the tree
        }
        let regex = Regex::builder().configure(config).build_from_hir(&folded).ok()?;
        let longest = effort::whole(&pattern.ast, is_anchored(&folded)).min(pattern.longest());
        Some(AnyCaseMatcher { regex, longest })
    }

    /// Whether PCRE2 may match some spelling of the subject. `false` only if it answers "no match" for all of them.
    pub fn may_match(&self, subject: &[u8]) -> bool {
        subject.len() > self.longest || self.regex.is_match(subject)
    }
}

#[cfg(test)]
mod tests {
    use crate::first_match::FirstMatch;

    fn may_match(patterns: &[&str], subject: &str, limit: usize) -> bool {
        let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        FirstMatch::new(&patterns).expect("a small index").may_match_some_case(subject.as_bytes(), 0..limit)
    }

    /// One matching spelling is enough, wherever the letters are in the pattern. Patterns from the limit on are not
    /// tried.
    #[test]
    fn some_spelling() {
        for pattern in ["^/ABOUT/", "oUt/$", "^/(.*)T/$", "^/[A-F]bout/", "^/[^a]", "(?i)^/about"] {
            assert!(may_match(&[pattern], "/about/", 1), "{pattern}");
            assert!(!may_match(&[pattern], "/about/", 0), "{pattern}");
        }
        for pattern in ["^/ABOUT$", "bouts", "^/[b-z]", "^/about/x"] {
            assert!(!may_match(&[pattern], "/about/", 1), "{pattern}");
        }
        assert!(!may_match(&["^/x", "^/About"], "/about/", 1));
        assert!(may_match(&["^/x", "^/About"], "/about/", 2));
    }

    /// A pattern that is not understood, or may use up the match limit, may match.
    #[test]
    fn unknown() {
        assert!(may_match(&["(?m)^/x$"], "/about/", 1));
        assert!(may_match(&["^/x(?!a)"], "/about/", 1));
        assert!(may_match(&["^/(a+)+$"], &format!("/{}b", "a".repeat(40)), 1));
    }
}
