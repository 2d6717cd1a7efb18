//! Replaces capturing groups of patterns by `(?:...)`.

use std::fmt;

use crate::pcre::Regex;
use crate::syntax;

/// Why the groups of a pattern stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UncaptureError {
    /// A group has a name: nginx sets a variable of that name.
    Named,
    /// [`syntax::parse`] refuses a construct, so something may refer to a group by its number.
    Unread,
}

impl fmt::Display for UncaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UncaptureError::Named => "a named group, which sets a variable",
            UncaptureError::Unread => "a group that may not become (?:...)",
        })
    }
}

impl std::error::Error for UncaptureError {}

/// Returns the pattern without captures. It matches the same. Takes some microseconds.
///
/// Nothing that [`syntax::parse`] reads refers to a group. A pattern that it refuses is returned unchanged if PCRE2
/// counts no groups in it.
pub fn without_captures(pattern: &[u8]) -> Result<Vec<u8>, UncaptureError> {
    let Ok(parsed) = syntax::parse(pattern) else {
        let has_none = Regex::new(pattern).is_ok_and(|regex| regex.group_count() == 0);
        return if has_none { Ok(pattern.to_vec()) } else { Err(UncaptureError::Unread) };
    };
    if parsed.named {
        return Err(UncaptureError::Named);
    }
    let mut text = Vec::with_capacity(pattern.len() + 2 * parsed.unnamed.len());
    let mut start = 0;
    for group in parsed.unnamed {
        text.extend_from_slice(&pattern[start..=group]);
        text.extend_from_slice(b"?:");
        start = group + 1;
    }
    text.extend_from_slice(&pattern[start..]);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only unnamed groups change.
    #[test]
    fn groups() {
        for (pattern, expected) in [
            (&b"^(tv|box)$"[..], &b"^(?:tv|box)$"[..]),
            (b"((a)(?:b)|())*", b"(?:(?:a)(?:b)|(?:))*"),
            (br"\((a)[()](b)[^]()](c)\)", br"\((?:a)[()](?:b)[^]()](?:c)\)"),
            (br"\Q(\E[[:digit:](]", br"\Q(\E[[:digit:](]"),
            (b"(?i)(a)(?i:(b))(?-i:c)", b"(?i)(?:a)(?i:(?:b))(?-i:c)"),
            (b"(?!(a))b", b"(?!(?:a))b"),
            (b"(a){2,3}(b)+?", b"(?:a){2,3}(?:b)+?"),
            (b"plain", b"plain"),
            (b"(?=a)a(?>b|c)", b"(?=a)a(?>b|c)"),
            (b"a++(?x) (?# (a) b # (c)", b"a++(?x) (?# (a) b # (c)"),
        ] {
            assert_eq!(without_captures(pattern).as_deref(), Ok(expected), "{}", pattern.escape_ascii());
        }
    }

    /// A group that something may refer to, or that sets a variable, stays.
    #[test]
    fn stays() {
        for pattern in [
            &br"(a)\1"[..],
            br"(a)\g1",
            br"(a)\g{-1}",
            b"(a)(?(1)b|c)",
            b"(a)(?1)",
            b"(a|(?R))",
            b"(?|(a)|(b))",
            b"(?=(a))a",
        ] {
            assert_eq!(without_captures(pattern), Err(UncaptureError::Unread), "{}", pattern.escape_ascii());
        }
        for pattern in [&b"(?<name>a)"[..], b"(a)(?P<name>b)"] {
            assert_eq!(without_captures(pattern), Err(UncaptureError::Named), "{}", pattern.escape_ascii());
        }
        for pattern in [&b"(?'name'a)"[..], b"(a", b"(?<1>a)"] {
            assert_eq!(without_captures(pattern), Err(UncaptureError::Unread), "{}", pattern.escape_ascii());
        }
    }

    /// The text reads as before, except for the captures.
    #[test]
    fn reads_alike() {
        for pattern in [&b"^/((a|b)*)/(.*)$"[..], b"(?i)x(y(z)?){2}|()", br"[(](\))"] {
            let text = without_captures(pattern).expect("a pattern that is read");
            let (before, after) = (syntax::parse(pattern).expect("read"), syntax::parse(&text).expect("read"));
            assert_eq!((after.captures, after.translate().hir), (0, before.translate().hir));
        }
    }
}
