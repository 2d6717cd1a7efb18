//! Finds rewrites that look like mistakes, and rewrites that no request fires.

use std::ops::Range;

use crate::language::{self, Limits, Question, Witness};
use crate::pcre::{MatchOutcome, Regex};
use crate::rewrite::runs::{self, Section, Unreadable};
use crate::syntax::{self, Hir, example};

/// The most calls of PCRE2 for an example.
const CALLS: u32 = 10_000;

/// Why no ordinary request fires a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Never {
    /// The pattern matches no `$uri`.
    Impossible,
    /// The pattern matches only a `$uri` that still contains `%XX`, because the client encoded it twice.
    Percent,
    /// The pattern matches only a `$uri` that contains what looks like arguments, because the client encoded the `?`.
    Query,
}

/// Returns why no ordinary request of a client matches a pattern. `None` if one does, or if that is unknown.
///
/// `$uri` is decoded and without arguments, and has no segment of dots (`ngx_http_parse_complex_uri`); with
/// `merge_slashes` it has no `//` either. Takes about 30 us.
pub fn never(pattern: &[u8], merge_slashes: bool) -> Option<Never> {
    if let Some(literal) = syntax::literal(pattern) {
        let with_optional = literal.optional.map(|byte| [&literal.stem, &[byte][..]].concat());
        let never = never_literal(&literal.stem, merge_slashes)?;
        return with_optional.map_or(Some(never), |longer| never_literal(&longer, merge_slashes));
    }
    let parsed = syntax::parse(pattern).ok()?;
    if example(&parsed.ast).is_some_and(|uri| is_request(pattern, &uri, merge_slashes)) {
        return None; // the question below costs a hundred times as much
    }
    let language = parsed.translate().hir;
    let limits = Limits { counts_states: true, ..Limits::default() };
    let nothing =
        |outside: &[Hir]| language::witness(Question::Outside, &language, &refs(outside), &limits) == Witness::Nothing;
    let abnormal = abnormal(merge_slashes);
    let with = |more: &[u8]| [abnormal.clone(), vec![read(more)]].concat();
    if nothing(&abnormal) {
        Some(Never::Impossible)
    } else if nothing(&with(b"%[0-9A-Fa-f][0-9A-Fa-f]")) {
        Some(Never::Percent)
    } else if nothing(&with(b"[?][^=]*=")) {
        Some(Never::Query)
    } else {
        None
    }
}

/// Whether `uri` may be the `$uri` of an ordinary request, and the pattern matches it.
pub(super) fn is_request(pattern: &[u8], uri: &[u8], merge_slashes: bool) -> bool {
    never_literal(uri, merge_slashes).is_none()
        && Regex::new(pattern).is_ok_and(|regex| regex.is_match(uri, CALLS) == MatchOutcome::Yes)
}

/// As [`never()`], for a single string instead of a pattern.
fn never_literal(stem: &[u8], merge_slashes: bool) -> Option<Never> {
    let is_dots = |segment: &[u8]| matches!(segment, b"." | b"..");
    let is_escape = |three: &[u8]| three[0] == b'%' && three[1].is_ascii_hexdigit() && three[2].is_ascii_hexdigit();
    let query = memchr::memchr(b'?', stem).map_or(&[][..], |at| &stem[at..]);
    if !stem.starts_with(b"/")
        || (merge_slashes && memchr::memmem::find(stem, b"//").is_some())
        || stem.split(|byte| *byte == b'/').any(is_dots)
    {
        Some(Never::Impossible)
    } else if stem.windows(3).any(is_escape) {
        Some(Never::Percent)
    } else if query.contains(&b'=') {
        Some(Never::Query)
    } else {
        None
    }
}

/// The languages of URIs that are not normalised.
fn abnormal(merge_slashes: bool) -> Vec<Hir> {
    let dots = read(br"/\.\.?(?:/|\z)");
    if merge_slashes { vec![read(b"//"), dots] } else { vec![dots] }
}

fn read(pattern: &[u8]) -> Hir {
    syntax::parse(pattern).expect("a pattern of our own").translate().hir
}

fn refs(languages: &[Hir]) -> Vec<&Hir> {
    languages.iter().collect()
}

/// Returns the rewrites in `ranges` whose pattern is worth a closer look: all except those that begin with `^/` and a
/// word, and contain nothing that looks like a mistake. Linear, a few ns per byte.
pub fn suspicious(bytes: &[u8], ranges: &[Range<usize>]) -> Result<Vec<Range<usize>>, Unreadable> {
    let section = |range: &Range<usize>| Section { ranges: vec![range.clone()], is_behind_if: false, is_last: false };
    let sections: Vec<_> = ranges.iter().map(section).collect();
    let read = runs::read(bytes, &sections)?;
    let rules = read.runs.iter().flat_map(|run| &run.rules);
    let suspicious = rules.filter(|rule| is_suspicious(&rule.pattern, &rule.replacement));
    let mut spans: Vec<_> = suspicious.map(|rule| rule.span.clone()).collect();
    spans.extend(read.barriers.iter().map(|barrier| barrier.span.clone()));
    spans.sort_unstable_by_key(|span| span.start);
    Ok(spans)
}

fn is_suspicious(pattern: &[u8], replacement: &[u8]) -> bool {
    let starts_plainly =
        matches!(pattern, [b'^', b'/', b'$'] | [b'^', b'/', b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9', ..]);
    !starts_plainly || has_unlikely_pair(pattern) || has_idle_tail(pattern, replacement)
}

/// `%`, `//`, `/*`, `\?`, and `?` between letters (`php?id=`).
fn has_unlikely_pair(pattern: &[u8]) -> bool {
    pattern.contains(&b'%')
        || pattern.windows(3).any(|three| match three {
            [b'/', b'/' | b'*', _] | [_, b'/', b'/' | b'*'] | [b'\\', b'?', _] | [_, b'\\', b'?'] => true,
            [before, b'?', after] => is_word(*before) && is_word(*after),
            _ => false,
        })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'.')
}

/// Whether the pattern ends with a `.*` whose match the replacement does not use.
fn has_idle_tail(pattern: &[u8], replacement: &[u8]) -> bool {
    let body = pattern.strip_suffix(b"$").unwrap_or(pattern);
    if body.ends_with(b".*)") {
        return !replacement.windows(2).any(|pair| pair[0] == b'$' && pair[1].is_ascii_digit());
    }
    body.ends_with(b".*")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns that no request matches, and patterns that some request does.
    #[test]
    fn nevers() {
        assert_eq!(never(b"^old.html$", true), Some(Never::Impossible));
        assert_eq!(never(b"^/a//b$", true), Some(Never::Impossible));
        assert_eq!(never(b"^/a//b$", false), None);
        assert_eq!(never(b"^/a/../b$", true), None, "a dot is any byte");
        assert_eq!(never(br"^/a/\.\./b$", true), Some(Never::Impossible));
        assert_eq!(never(b"^/?$", true), None, "the optional slash is the only one");
        assert_eq!(never(b"^//?$", true), None);
        assert_eq!(never(b"^/a/\\.b?$", true), None, "a file whose name begins with a dot");
        assert_eq!(never(b"^/a//?$", false), None);
        assert_eq!(never(b"^a/?$", true), Some(Never::Impossible));
        assert_eq!(never(b"^/a%20b$", true), Some(Never::Percent));
        assert_eq!(never(b"^/a(%20| )b$", true), None);
        assert_eq!(never(br"^/i\.php\?id=1$", true), Some(Never::Query));
        assert_eq!(never(br"^/what\?$", true), None);
        assert_eq!(never(b"^/100%$", true), None);
        assert_eq!(never(b"^(?:/100%)$", true), None);
        assert_eq!(never(b"^(?:/a%20b)$", true), Some(Never::Percent));
        assert_eq!(never(br"^(?:/i\.php\?id=1)$", true), Some(Never::Query));
        assert_eq!(never(b"^(?:/a//b)$", true), Some(Never::Impossible));
    }

    /// Ordinary rules are not suspicious.
    #[test]
    fn suspicious_rules() {
        let suspicious = |pattern: &str, replacement: &str| is_suspicious(pattern.as_bytes(), replacement.as_bytes());
        for pattern in ["^/a$", "^/$", r"^/a\.html$", "^/a/?$", "^/a", "^/a/(b|c)$", "^/a/(.*)$"] {
            assert!(!suspicious(pattern, "/x$1"), "{pattern}");
        }
        for pattern in
            ["^a$", "/a", "^/", "^", "^/(.*)$", "^/a%20b$", r"^/a\?b", "^/a//b", "^/a.php?id=1", "^/a.*", "^/*.x"]
        {
            assert!(suspicious(pattern, "/x$1"), "{pattern}");
        }
        assert!(suspicious("^/a/(.*)$", "/x"));
    }
}
