//! Reads literal patterns without a syntax tree: `^`, plain bytes, and an end. Most rules have such patterns.

use std::borrow::Cow;

use crate::bytes::all_but;

/// A pattern of the form `^stem$`, `^stem\z` or `^stemX?$`. Gives the same result as [`super::parse`] and
/// [`super::Pattern::translate`], in one pass and with at most one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal<'p> {
    /// The bytes that every match begins with; a slice of the pattern if it has no backslash.
    pub stem: Cow<'p, [u8]>,
    /// One byte more, which may be missing: the slash of `/?`.
    pub optional: Option<u8>,
    /// Whether the end is `$`, which also matches before a final newline, and not `\z`.
    pub dollar: bool,
}

/// Reads a pattern as a literal; `None` if it is not one, or only [`super::parse`] can read it. O(length).
///
/// Only bytes with one meaning are accepted: no metacharacter, a backslash only before ASCII punctuation, no NUL, which
/// no URI contains, and no newline, which could be both the optional byte and the final newline of a twin. A literal
/// has no group, and its translation is exact.
pub fn literal(pattern: &[u8]) -> Option<Literal<'_>> {
    let (body, dollar) = match pattern.strip_prefix(b"^")? {
        [body @ .., b'\\', b'z'] => (body, false),
        [body @ .., b'$'] => (body, true),
        _ => return None,
    };
    let (body, is_optional) = match body {
        [body @ .., b'?'] => (body, true),
        body => (body, false),
    };
    let mut stem = unescaped(body)?;
    let optional = if is_optional { Some(pop(&mut stem)?) } else { None };
    Some(Literal { stem, optional, dollar })
}

/// The bytes that a text without metacharacters matches. `None` if it ends with a lone backslash: that escapes what was
/// taken for the end of the pattern (`\$`, `\?`, `\\z`).
fn unescaped(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    let Some(first) = text.iter().position(|&byte| !PLAIN[usize::from(byte)]) else {
        return Some(Cow::Borrowed(text));
    };
    let mut bytes = Vec::with_capacity(text.len() + 2); // room for the newline of the key's twin
    bytes.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let [byte, after @ ..] = rest {
        rest = match after {
            _ if PLAIN[usize::from(*byte)] => {
                bytes.push(*byte);
                after
            }
            [escaped, after @ ..] if *byte == b'\\' && escaped.is_ascii_punctuation() => {
                bytes.push(*escaped);
                after
            }
            _ => return None,
        };
    }
    Some(Cow::Owned(bytes))
}

/// Removes the last byte.
fn pop(bytes: &mut Cow<'_, [u8]>) -> Option<u8> {
    match bytes {
        Cow::Borrowed(slice) => {
            let (last, before) = slice.split_last()?;
            *slice = before;
            Some(*last)
        }
        Cow::Owned(owned) => owned.pop(),
    }
}

/// The bytes that stand for themselves anywhere outside a class.
pub(super) const PLAIN: [bool; 256] = all_but(b"\0\n\\^$.[|()?*+{");

impl Literal<'_> {
    /// All strings of the language, in the order of [`crate::language::finite`]: those with the optional byte come
    /// first, and each string comes before its newline twin.
    pub fn strings(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let optionals = [self.optional, None];
        let optionals = optionals.into_iter().skip(usize::from(self.optional.is_none()));
        let ends: &[Option<u8>] = if self.dollar { &[None, Some(b'\n')] } else { &[None] };
        optionals.flat_map(move |optional| {
            ends.iter().map(move |end| {
                let mut string = Vec::with_capacity(self.stem.len() + 2);
                string.extend_from_slice(&self.stem);
                string.extend(optional);
                string.extend(*end);
                string
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{Literal, literal};

    fn read(pattern: &str) -> Option<(String, Option<char>, bool)> {
        let Literal { stem, optional, dollar } = literal(pattern.as_bytes())?;
        Some((String::from_utf8(stem.into_owned()).expect("UTF-8"), optional.map(char::from), dollar))
    }

    /// The forms of literal rules.
    #[test]
    fn forms() {
        assert_eq!(read("^/a-b_c$"), Some(("/a-b_c".into(), None, true)));
        assert_eq!(read(r"^/a\.html\z"), Some(("/a.html".into(), None, false)));
        assert_eq!(read(r"^/a\.b/?$"), Some(("/a.b".into(), Some('/'), true)));
        assert_eq!(read(r"^/a\??$"), Some(("/a".into(), Some('?'), true)));
        assert_eq!(read(r"^/a\\$"), Some((r"/a\".into(), None, true)));
        assert_eq!(read("^$"), Some((String::new(), None, true)));
    }

    /// A pattern without a backslash is not copied.
    #[test]
    fn borrows() {
        assert!(matches!(literal(b"^/a/?$").unwrap().stem, Cow::Borrowed(b"/a")));
    }

    /// Patterns that are not literals, have no end, or end in something that only looks like one.
    #[test]
    fn others() {
        let patterns = [
            "/a$",
            "^/a",
            "^/a.b$",
            "^/a*$",
            "^/a??$",
            "^?$",
            "^/a|b$",
            "^/(a)$",
            "^/[a]$",
            "^/a{2}$",
            r"^/a\$",
            r"^/a\\z$x",
            r"^/\d$",
            r"^/a\?",
            r"^/\Qa$",
            "^^/a$",
            "^/a$$",
            r"^/a\\z",
            r"^/a$\z",
            "^/a?+$",
            "^/a\0$",
            "^/a\n?$",
            "(?i)^/a$",
            "",
            "^",
            "$",
        ];
        for pattern in patterns {
            assert_eq!(read(pattern), None, "{pattern:?}");
        }
    }
}
