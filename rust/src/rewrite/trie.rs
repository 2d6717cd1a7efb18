//! Writes patterns that match exactly some literals, such as `^/a(?:b|c(?:d|e))$`.
//!
//! They consist of literal bytes, `(?:`, `|`, `)`, the anchors and a leading `(?i)`, which every PCRE reads alike.

use crate::maps::trie::{NestedAlternatives, Trie};
use crate::pattern_text::{DEEPEST, LONGEST, most, token_length};

/// The start and end of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatternStyle {
    /// Whether letters match in any case.
    pub any_case: bool,
    /// Whether the end is `$`, which also matches before a final newline, instead of `\z`.
    pub dollar: bool,
}

/// Whether a pattern for one literal fits a token.
pub fn fits(literal: &[u8]) -> bool {
    let style = PatternStyle { any_case: true, dollar: false };
    token_length(&pattern(&[literal], style).0) <= LONGEST
}

/// Returns patterns that together match exactly the literals, as few and as long as tokens allow. The literals must be
/// distinct, in ascending order, and each must [fit](fits). O(n log n) in their bytes.
pub fn patterns(literals: &[&[u8]], style: PatternStyle) -> Vec<Vec<u8>> {
    let mut patterns = Vec::new();
    let mut rest = literals;
    while !rest.is_empty() {
        let count = most(rest.len(), |count| fitting(&rest[..count], style).is_some());
        patterns.push(fitting(&rest[..count], style).expect("a literal that fits by itself"));
        rest = &rest[count..];
    }
    patterns
}

fn fitting(literals: &[&[u8]], style: PatternStyle) -> Option<Vec<u8>> {
    let (pattern, depth) = pattern(literals, style);
    (depth <= DEEPEST && token_length(&pattern) <= LONGEST).then_some(pattern)
}

/// Writes one pattern for all the literals, and returns it with the depth of its groups.
fn pattern(literals: &[&[u8]], style: PatternStyle) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    out.extend_from_slice(if style.any_case { b"(?i)^" } else { b"^" });
    let nodes = Trie::uncounted(literals).nodes;
    let alternatives = NestedAlternatives {
        label: &|at| &literals[nodes[at].under.start][nodes[at].above..nodes[at].depth],
        branches: &|at| nodes[at].children.clone().collect(),
        is_key: &|at| !nodes[at].own.is_empty(),
    };
    let depth = alternatives.write(&(alternatives.branches)(0), false, &mut out);
    out.extend_from_slice(if style.dollar { b"$" } else { b"\\z" });
    (out, depth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcre::{MatchOutcome, Regex};

    const EXACT: PatternStyle = PatternStyle { any_case: false, dollar: true };

    fn text(literals: &[&str]) -> Vec<String> {
        let literals: Vec<&[u8]> = literals.iter().map(|literal| literal.as_bytes()).collect();
        patterns(&literals, EXACT).into_iter().map(|pattern| String::from_utf8(pattern).unwrap()).collect()
    }

    /// Common prefixes are written once; a literal that is a prefix of others ends in an empty alternative.
    #[test]
    fn forms() {
        assert_eq!(text(&["/a"]), ["^/a$"]);
        assert_eq!(text(&["/ab", "/acd", "/ace"]), ["^/a(?:b|c(?:d|e))$"]);
        assert_eq!(text(&["/a", "/a/", "/b.c"]), [r"^/(?:a(?:/|)|b\.c)$"]);
        assert_eq!(patterns(&[b"/a"], PatternStyle { any_case: true, dollar: false }), [br"(?i)^/a\z"]);
    }

    /// Many literals take several patterns, each of which fits; nested prefixes stay within the allowed depth.
    #[test]
    fn limits() {
        let many: Vec<String> = (0..5_000).map(|number| format!("/{:06}", number * 7919 % 1_000_003)).collect();
        let deep: Vec<String> = (1..400).map(|length| "/".repeat(length)).collect();
        for mut literals in [many, deep] {
            literals.sort();
            let all: Vec<&[u8]> = literals.iter().map(|literal| literal.as_bytes()).collect();
            let patterns = patterns(&all, EXACT);
            assert!(patterns.len() > 1 && patterns.iter().all(|pattern| token_length(pattern) <= LONGEST));
            let regexes: Vec<Regex> = patterns.iter().map(|pattern| Regex::new(pattern).unwrap()).collect();
            for literal in &all {
                assert_eq!(
                    regexes.iter().filter(|regex| regex.is_match(literal, 10_000) == MatchOutcome::Yes).count(),
                    1
                );
                let longer = [literal, &b"x"[..]].concat();
                assert!(regexes.iter().all(|regex| regex.is_match(&longer, 10_000) == MatchOutcome::No));
            }
        }
    }

    /// Each byte that a URI may contain stands for itself.
    #[test]
    fn bytes() {
        let all: Vec<Vec<u8>> = (1..=255).map(|byte| vec![b'/', byte]).collect();
        let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        for literal in &all {
            let regex = Regex::new(&patterns(&[literal], PatternStyle { dollar: false, ..EXACT })[0]).unwrap();
            assert_eq!(all.iter().filter(|other| regex.is_match(other, 10_000) == MatchOutcome::Yes).count(), 1);
        }
        let together = Regex::new(&patterns(&all, EXACT)[0]).unwrap();
        assert!(all.iter().all(|literal| together.is_match(literal, 10_000) == MatchOutcome::Yes));
    }
}
