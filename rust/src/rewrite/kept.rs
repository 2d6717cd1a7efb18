//! Finds rules that never fire among those that stay, and an example URI for each rule.

use crate::first_match::{First, FirstMatch};
use crate::language::{self, Limits, Liveness, Question, Witness};
use crate::rewrite::suspicious::is_request;
use crate::syntax;

/// A kept rule that never fires because earlier kept rules match all its URIs. Rules are indexes into the kept rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    pub rule: usize,
    /// The rule that matches `example`; `None` for a pattern that matches no URI.
    pub by: Option<usize>,
    pub example: Option<Vec<u8>>,
}

/// Returns the rules that never fire, given the patterns of a run's kept rules in order.
pub fn dead(patterns: &[&[u8]]) -> Vec<Dead> {
    let Ok(index) = FirstMatch::new(patterns) else {
        return Vec::new();
    };
    let parsed: Vec<_> = patterns.iter().map(|pattern| syntax::parse(pattern).ok()).collect();
    let languages: Vec<_> = parsed.iter().map(|pattern| Some(pattern.as_ref()?.translate())).collect();
    // Most rules are the first that match the URI that their author had in mind, which takes no automata to see.
    let is_live = |rule: usize| {
        let uri = parsed[rule].as_ref().and_then(|pattern| syntax::example(&pattern.ast));
        uri.is_some_and(|uri| matches!(index.first(&uri, rule + 1), First::Match(first) if first == rule))
    };
    let limits = Limits::default();
    let liveness = |rule| language::liveness(rule, &languages, |uri| index.first(uri, rule + 1), &limits);
    let dead = (0..patterns.len()).filter(|rule| !is_live(*rule)).filter_map(|rule| match liveness(rule) {
        Liveness::Dead { by, example } => Some(match (by.first(), plain_example(patterns[rule])) {
            (None, _) => Dead { rule, by: None, example: None },
            (Some(&by), None) => Dead { rule, by: Some(by), example: Some(example) },
            (Some(&by), Some(plain)) => match index.first(&plain, rule) {
                First::Match(taker) => Dead { rule, by: Some(taker), example: Some(plain) },
                _ => Dead { rule, by: Some(by), example: Some(example) },
            },
        }),
        Liveness::Live(_) | Liveness::Unknown => None,
    });
    dead.collect()
}

/// Returns a URI as the author of a pattern probably had in mind, with a dot for each `.`.
fn plain_example(pattern: &[u8]) -> Option<Vec<u8>> {
    let uri = syntax::example(&syntax::parse(pattern).ok()?.ast)?;
    is_request(pattern, &uri, true).then_some(uri)
}

/// Returns the shortest URI that a pattern matches, if it can be determined.
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

    /// A rule is dead if earlier rules together match all its URIs, or if its pattern matches nothing.
    #[test]
    fn dead_rules() {
        let patterns: [&[u8]; 6] = [b"^/a(.*)$", b"^/ab/", b"^/b/[a-m]", b"^/b/[n-z]", b"^/b/[a-z]+$", b"^/c^/d"];
        let dead = dead(&patterns);
        let rules: Vec<_> = dead.iter().map(|dead| (dead.rule, dead.by)).collect();
        assert_eq!(rules, [(4, Some(2)), (5, None)]);
        let example = super::dead(&[b"^/info/", b"^/info/filing.(s)html$"])[0].example.clone();
        assert_eq!(example.as_deref(), Some(&b"/info/filing.shtml"[..]));
        assert_eq!(shortest(b"^/b/[n-z]+x").as_deref(), Some(&b"/b/nx"[..]));
    }
}
