//! Finds the prefix of a pattern that PCRE versions may read differently.

use super::literal::PLAIN;

/// Returns bytes that every match begins with, whichever PCRE runs the pattern. They are in lower case, and a match may
/// have them in any case. Empty if nothing is known.
///
/// They are the plain bytes after `^` (or `(?i)^`) at the very start, up to the first byte that is anything else. The
/// last plain byte is left out, because that other byte and what follows may quantify it in some library (`a{,3}`,
/// `a\Q\E*`, `a(?#)+`). Nothing later in the pattern can make the prefix unnecessary: options, verbs, recursion and
/// `\K` act on what follows them. Only another branch could match without it, so a pattern with a `|` anywhere has no
/// prefix.
pub fn prefix(pattern: &[u8]) -> Vec<u8> {
    let text = pattern.strip_prefix(b"(?i)").unwrap_or(pattern);
    let Some(text) = text.strip_prefix(b"^").filter(|text| !text.contains(&b'|')) else {
        return Vec::new();
    };
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        rest = match rest {
            [byte, after @ ..] if PLAIN[usize::from(*byte)] => {
                bytes.push(byte.to_ascii_lowercase());
                after
            }
            [b'\\', byte, after @ ..] if byte.is_ascii_punctuation() => {
                bytes.push(*byte);
                after
            }
            _ => break,
        }
    }
    if !rest.is_empty() {
        bytes.pop();
    }
    bytes
}

/// Whether a subject begins with a prefix, ignoring case.
pub fn begins(subject: &[u8], prefix: &[u8]) -> bool {
    subject.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::{begins, prefix};

    /// The plain bytes behind the anchor, without the last of them, which may be quantified.
    #[test]
    fn prefixes() {
        for (pattern, expected) in [
            ("^/id/[0-9]{,3}$", "/id"),
            (r"^/A\.b\p{Lu}", "/a."),
            ("(?i)^/ab(?R)?", "/a"),
            ("^/ab", "/ab"),
            ("^/ab{,3}", "/a"),
            (r"^/ab\Q\E*", "/a"),
            ("^/a(*ACCEPT)b", "/"),
            ("^/a(?>b|c)", ""),
            (r"^/a\|b\i", ""),
            ("/ab{,3}", ""),
            ("(?m)^/ab", ""),
            ("(*UTF8)^/ab", ""),
            (r"\A/ab", ""),
            ("^{,3}", ""),
            ("", ""),
        ] {
            assert_eq!(prefix(pattern.as_bytes()), expected.as_bytes(), "{pattern}");
        }
        assert!(begins(b"/Ab", b"/a") && !begins(b"/", b"/a"));
    }
}
