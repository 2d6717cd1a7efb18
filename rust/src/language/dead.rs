//! Finds rules that no URI reaches, because earlier rules match everything that they match.

use super::{Limits, Question, Witness, witness};
use crate::first_match::First;
use crate::syntax::{Hir, Translation};

/// Whether a rule is the first that matches some URI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is the first that matches this URI.
    Live(Vec<u8>),
    /// It is never the first that matches.
    Dead {
        /// Earlier rules that together match all URIs of the rule, in the order in which they were found. Empty if the
        /// rule matches no URI.
        by: Vec<usize>,
        /// The shortest URI in the language of the rule. The first of `by` matches it. Empty if `by` is. If the
        /// language is a superset, the rule itself may not match this URI.
        example: Vec<u8>,
    },
    /// Undecided, because the work is bounded, and inexact languages decide little.
    Unknown,
}

/// Whether a terminal rule is the first of its run that matches some URI (as [`witness`] defines URIs).
///
/// The search is guided by counterexamples. It runs the real rules on the shortest URI that `rule` matches and the
/// covers so far do not. If `rule` is the first to match it, `rule` is live; otherwise the first rule that does becomes
/// a cover. Real runs of rules need few covers, while the union of all earlier rules is far too large to build.
///
/// `languages[i]` is the translation of rule `i`, `None` if its pattern was refused; `first(uri)` is the first rule
/// that matches. Only exact languages become covers, so a rule is dead only if earlier rules certainly match all its
/// URIs.
///
/// Panics if `rule` is not an index into `languages`.
pub fn liveness(
    rule: usize,
    languages: &[Option<Translation>],
    mut first: impl FnMut(&[u8]) -> First,
    limits: &Limits,
) -> Liveness {
    let Some(language) = &languages[rule] else {
        return Liveness::Unknown;
    };
    let mut by: Vec<usize> = Vec::new();
    let mut covers: Vec<&Hir> = Vec::new();
    let mut example = Vec::new();
    while covers.len() <= limits.covers {
        let uri = match witness(Question::Outside, &language.hir, &covers, limits) {
            Witness::Found(uri) => uri,
            Witness::Nothing => return Liveness::Dead { by, example },
            Witness::Unknown => return Liveness::Unknown,
        };
        let taker = match first(&uri) {
            First::Match(taker) if taker == rule => return Liveness::Live(uri),
            First::Match(taker) if taker < rule => taker,
            // The rule's language is a superset, or PCRE2 gave up.
            _ => return Liveness::Unknown,
        };
        match &languages[taker] {
            // If a cover recurs, it did not cover its own match, so its language would be wrong.
            Some(cover) if cover.exact && !by.contains(&taker) => covers.push(&cover.hir),
            _ => return Liveness::Unknown,
        }
        by.push(taker);
        if by.len() == 1 {
            example = uri;
        }
    }
    Liveness::Unknown
}

#[cfg(test)]
mod tests {
    use super::{Liveness, liveness};
    use crate::first_match::FirstMatch;
    use crate::language::Limits;
    use crate::syntax::parse;

    /// The liveness of the last of some patterns.
    fn last(patterns: &[&str]) -> Liveness {
        let texts: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        let index = FirstMatch::new(&texts).unwrap();
        let languages: Vec<_> = texts.iter().map(|text| Some(parse(text).ok()?.translate())).collect();
        let rule = patterns.len() - 1;
        liveness(rule, &languages, |uri| index.first(uri, patterns.len()), &Limits::default())
    }

    fn dead(by: &[usize], example: &str) -> Liveness {
        Liveness::Dead { by: by.to_vec(), example: example.as_bytes().to_vec() }
    }

    /// A rule is dead if one earlier rule, or several together, match all its URIs.
    #[test]
    fn shadowed() {
        assert_eq!(last(&["^/b", "^/a/(.*)$", "^/a/b$"]), dead(&[1], "/a/b"));
        assert_eq!(last(&["^/[n-z]", "^/x", "^/[a-m]", "^/[a-z]+$"]), dead(&[2, 0], "/a"));
        assert_eq!(last(&["^/a$", "^/a$"]), dead(&[0], "/a"));
        assert_eq!(last(&["^old.html$"]), dead(&[], ""));
    }

    /// A live rule has a URI that reaches it, possibly the newline twin.
    #[test]
    fn live() {
        assert_eq!(last(&["^/a/b$", "^/a/(.*)$"]), Liveness::Live(b"/a/".to_vec()));
        assert_eq!(last(&[r"^/a\z", "^/a$"]), Liveness::Live(b"/a\n".to_vec()));
    }

    /// An inexact rule does not cover, and a URI that it does not match does not make it live; but it can be dead.
    #[test]
    fn inexact() {
        assert_eq!(last(&["^/a(?!b)", "^/a"]), Liveness::Unknown);
        assert_eq!(last(&["(?m)^/a", "^/ab"]), Liveness::Unknown);
        assert_eq!(last(&["^/a", "(?m)^/ab"]), Liveness::Unknown);
        assert_eq!(last(&["^/a(?<!a)"]), Liveness::Unknown);
        assert_eq!(last(&["^/a", "^/a(?!c)b"]), dead(&[0], "/ab"));
    }
}
