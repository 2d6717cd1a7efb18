//! What can be said of the rules that stay: which of them never fire, and a URI that each matches.

use crate::first_match::FirstMatch;
use crate::language::{self, Limits, Question, Verdict, Witness};
use crate::syntax;

/// A rule that earlier kept rules leave nothing to match, by its place among the kept rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    pub rule: usize,
    /// The rule that takes `example`; `None` for a pattern that matches no URI.
    pub by: Option<usize>,
    pub example: Option<Vec<u8>>,
}

/// The rules that never fire, given the patterns of the kept rules of a run in their order. Some 50 us a pattern.
pub fn dead(patterns: &[&[u8]]) -> Vec<Dead> {
    let Ok(index) = FirstMatch::new(patterns) else {
        return Vec::new();
    };
    let languages: Vec<_> = patterns.iter().map(|pattern| Some(syntax::parse(pattern).ok()?.translate())).collect();
    let limits = Limits::default();
    let verdict = |rule| language::verdict(rule, &languages, |uri| index.first(uri, rule + 1), &limits);
    let dead = (0..patterns.len()).filter_map(|rule| match verdict(rule) {
        Verdict::Dead { by, example } => {
            let by = by.first().copied();
            Some(Dead { rule, by, example: by.map(|_| example) })
        }
        Verdict::Live(_) | Verdict::Unknown => None,
    });
    dead.collect()
}

/// The shortest URI that a pattern can match, where that can be told.
pub fn shortest(pattern: &[u8]) -> Option<Vec<u8>> {
    let language = syntax::parse(pattern).ok()?.translate().hir;
    match language::witness(Question::Outside, &language, &[], &Limits::default()) {
        Witness::Found(uri) => Some(uri),
        Witness::Nothing | Witness::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule is dead when earlier ones take all of it, be it together, and when nothing matches it.
    #[test]
    fn dead_rules() {
        let patterns: [&[u8]; 6] = [b"^/a(.*)$", b"^/ab/", b"^/b/[a-m]", b"^/b/[n-z]", b"^/b/[a-z]+$", b"^/c^/d"];
        let found = dead(&patterns);
        let rules: Vec<_> = found.iter().map(|dead| (dead.rule, dead.by)).collect();
        assert_eq!(rules, [(4, Some(2)), (5, None)]);
        assert_eq!(shortest(b"^/b/[n-z]+x").as_deref(), Some(&b"/b/nx"[..]));
    }
}
