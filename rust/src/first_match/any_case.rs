//! Which of many patterns may match some spelling of a string.

use std::cell::OnceCell;

use regex_automata::meta::{Config, Regex};
use regex_syntax::hir::Look;

use super::index::{Index, Letters};
use super::{Texts, TooManyLiterals, effort};
use crate::syntax::{self, Translation};

/// Patterns in the order of their rules, their letters read in any case (ASCII).
///
/// Automata of all patterns in one would have states for each, at any place of a subject: with 5,000 patterns, 20 GB. So
/// each is a small one of its own, made when it is first asked, and an index leaves few to ask.
pub struct AnyCase {
    patterns: Texts,
    built: Vec<OnceCell<Option<Spellings>>>,
    index: Index,
}

/// The case variants of a language.
struct Spellings {
    regex: Regex,
    /// The longest subject on which PCRE2 is sure to come to an answer.
    longest: usize,
}

impl AnyCase {
    /// O(total length of the patterns). The error is as for [`super::FirstMatch::new`].
    pub fn new(patterns: &[&[u8]]) -> Result<AnyCase, TooManyLiterals> {
        Ok(AnyCase {
            patterns: Texts::new(patterns),
            built: patterns.iter().map(|_| OnceCell::new()).collect(),
            index: Index::new(patterns, Letters::Small)?,
        })
    }

    /// `false` only if none of the first `limit` patterns matches any spelling of `subject`, which is in small letters,
    /// and PCRE2 does not give up on one either.
    pub fn may_match(&self, subject: &[u8], limit: usize) -> bool {
        debug_assert!(!subject.iter().any(u8::is_ascii_uppercase));
        self.index.candidates(subject, limit).any(|index| {
            let spellings = self.built[index].get_or_init(|| Spellings::of(self.patterns.get(index)));
            spellings
                .as_ref()
                .is_none_or(|spellings| subject.len() > spellings.longest || spellings.regex.is_match(subject))
        })
    }
}

impl Spellings {
    /// `None` for a pattern of which not enough is known.
    fn of(pattern: &[u8]) -> Option<Spellings> {
        let pattern = syntax::parse(pattern).ok()?;
        // Without the engines that are fast on long subjects and take long to build.
        let config = Config::new().utf8_empty(false).hybrid(false).auto_prefilter(false);
        let Translation { hir: folded, exact, .. } = pattern.translate_folded();
        if !exact {
            return None; // what PCRE2 tries in a look-around or a recursion is not in the tree
        }
        let anchored = folded.properties().look_set_prefix().contains(Look::Start);
        let regex = Regex::builder().configure(config).build_from_hir(&folded).ok()?;
        Some(Spellings { regex, longest: effort::whole(&pattern.ast, anchored) })
    }
}

#[cfg(test)]
mod tests {
    use super::AnyCase;

    fn may_match(patterns: &[&str], subject: &str, limit: usize) -> bool {
        let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        AnyCase::new(&patterns).expect("a small index").may_match(subject.as_bytes(), limit)
    }

    /// Some spelling is enough, wherever the letters of the pattern stand; patterns from the limit on are not asked.
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

    /// What is not understood, or may use up the match limit, may match.
    #[test]
    fn unknown() {
        assert!(may_match(&["(?m)^/x$"], "/about/", 1));
        assert!(may_match(&["^/x(?!a)"], "/about/", 1));
        assert!(may_match(&["^/(a+)+$"], &format!("/{}b", "a".repeat(40)), 1));
    }
}
