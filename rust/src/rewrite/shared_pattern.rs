//! Writes one pattern for rules that differ only in the segments before their first group.
//!
//! A guard or lookup has already found the rule that answers. The shared pattern only has to capture what the rule's
//! own pattern captures.

use crate::pattern_text::{is_quantified, literal_length};
use crate::pcre::{GroupRanges, Regex};
use crate::quote::quoted_length;
use crate::rewrite::candidate::{CALLS, MAX_TOKEN};

/// The fewest patterns to share. Fewer stay as they are, which is easier to read.
const FEWEST: usize = 8;

/// The most shared patterns of a block. Each is tried on the keys of all its rules.
const MOST: usize = 16;

/// The most segments of a pattern.
const MOST_SEGMENTS: usize = 16;

/// The pattern of a rule, and the strings that the rule is the first to match.
pub struct Keyed<'r> {
    pub pattern: &'r [u8],
    pub keys: Vec<Vec<u8>>,
}

/// Returns patterns to try on the keys of rules in place of their own. On each key, the first one that matches captures
/// the same. `None` if the own patterns are few, or if there are no such patterns that are half as many or fewer and at
/// most [`MOST`].
///
/// O(length of the patterns and keys).
pub fn shared(rules: &[Keyed]) -> Option<Vec<Vec<u8>>> {
    if rules.len() < FEWEST {
        return None;
    }
    let mut patterns: Vec<Vec<u8>> = Vec::new();
    for rule in rules {
        let pattern = with_any_segments(rule.pattern).unwrap_or_else(|| rule.pattern.to_vec());
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
        if patterns.len() > MOST.min(rules.len() / 2) {
            return None;
        }
    }
    let regexes = patterns.iter().map(|pattern| Regex::new(pattern).ok()).collect::<Option<Vec<Regex>>>()?;
    let captures_the_same = |rule: &Keyed| {
        let Ok(own) = Regex::new(rule.pattern) else { return false };
        rule.keys.iter().all(|key| {
            let expected = captures(&own, key);
            expected.is_some() && regexes.iter().find_map(|regex| captures(regex, key)) == expected
        })
    };
    rules.iter().all(captures_the_same).then_some(patterns)
}

fn captures(regex: &Regex, key: &[u8]) -> Option<GroupRanges> {
    regex.captures(key, CALLS).ok()?
}

/// Replaces the literal segments at the start of a pattern by as many segments of any text. These are written out,
/// because a repeated group costs PCRE more.
pub fn with_any_segments(pattern: &[u8]) -> Option<Vec<u8>> {
    let text = pattern.strip_prefix(b"^/")?;
    if is_quantified(text) {
        return None;
    }
    let (mut at, mut segments, mut end) = (0, 0, 0);
    while let Some(length) = literal_length(&text[at..]) {
        at += length;
        if is_quantified(&text[at..]) {
            break; // this literal
        }
        if text[at - 1] == b'/' {
            (segments, end) = (segments + 1, at);
        }
    }
    let shared = [b"^/", b"[^/]*/".repeat(segments).as_slice(), &text[end..]].concat();
    (segments <= MOST_SEGMENTS && quoted_length(&shared) <= MAX_TOKEN).then_some(shared)
}

#[cfg(test)]
mod tests {
    use super::{FEWEST, Keyed, MOST, MOST_SEGMENTS, shared, with_any_segments};

    #[test]
    fn segments() {
        let pattern = |own: &str| with_any_segments(own.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(pattern(r"^/a/b\.c/(x|y)$").as_deref(), Some("^/[^/]*/[^/]*/(x|y)$"));
        assert_eq!(pattern("^/a/b(x)$").as_deref(), Some("^/[^/]*/b(x)$"));
        assert_eq!(pattern("^/a/?(x)$").as_deref(), Some("^/a/?(x)$"));
        assert_eq!(pattern("^/a/{2}(x)$").as_deref(), Some("^/a/{2}(x)$"));
        assert_eq!(pattern("^/(x)$").as_deref(), Some("^/(x)$"));
        for own in ["/a/(x)$", "^(x)$", "^.(x)$", r"^\d/(x)$", "^a/(x)$", "^/?a/(x)$"] {
            assert_eq!(pattern(own), None, "{own}");
        }
        let deep = |segments: usize| pattern(&format!("^{}/(x)$", "/a".repeat(segments)));
        assert!(deep(MOST_SEGMENTS).is_some() && deep(MOST_SEGMENTS + 1).is_none());
    }

    /// The number of shared patterns of rules, each with one key.
    fn count(rules: &[(String, String)]) -> Option<usize> {
        let rules: Vec<Keyed> = rules
            .iter()
            .map(|(pattern, key)| Keyed { pattern: pattern.as_bytes(), keys: vec![key.clone().into()] })
            .collect();
        shared(&rules).map(|patterns| patterns.len())
    }

    /// Only patterns that capture the same on all keys are shared.
    #[test]
    fn captured() {
        let alternating = |tails: [&str; 2], keys: [&str; 2]| {
            let rule = |number: usize| {
                (format!("^/p/{number}/{}$", tails[number % 2]), format!("/p/{number}/{}", keys[number % 2]))
            };
            count(&(0..FEWEST).map(rule).collect::<Vec<_>>())
        };
        assert_eq!(alternating(["(a|b)", "(a|b)"], ["a", "b"]), Some(1));
        assert_eq!(alternating(["(a|b)", "(c|d)/"], ["a", "c/"]), Some(2));
        assert_eq!(alternating(["(a|b)", "(c)|(b)"], ["a", "c"]), Some(2));
        // The first pattern matches the keys of the second, and captures less.
        assert_eq!(alternating(["(a)(?:b)", "(a)(b)"], ["ab", "ab"]), None);
    }

    /// Few rules keep their patterns, and so do rules that have little in common.
    #[test]
    fn own() {
        let rules = |rules: usize, tail: fn(usize) -> usize| {
            let rule = |number| {
                let key = format!("/p/{number}/x{}", tail(number));
                (format!("^{key}()$"), key)
            };
            count(&(0..rules).map(rule).collect::<Vec<_>>())
        };
        assert_eq!(rules(FEWEST - 1, |_| 0), None);
        assert_eq!(rules(FEWEST, |_| 0), Some(1));
        assert_eq!(rules(FEWEST, |number| number / 2), Some(FEWEST / 2));
        assert_eq!(rules(FEWEST, |number| number), None);
        assert_eq!(rules(9 * MOST, |number| number % MOST), Some(MOST));
        assert_eq!(rules(9 * MOST, |number| number % (MOST + 1)), None);
    }
}
