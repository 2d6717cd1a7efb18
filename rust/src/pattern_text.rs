//! The text of patterns: which bytes stand for themselves, and the limits of nginx and PCRE.

use crate::quote;

/// The longest token of a pattern in a file. `ngx_conf_read_token` reads at most 4,093 bytes.
pub const LONGEST: usize = 4_000;

/// The greatest depth of nested groups. PCRE compiles at most 250 (`PARENS_NEST_LIMIT`).
pub const DEEPEST: usize = 100;

/// The length of the token of a pattern in a file, with its quotes.
pub fn token_length(pattern: &[u8]) -> usize {
    let mut token = Vec::new();
    quote::escape_pattern(pattern, &mut token);
    token.len() + 2
}

/// Writes a byte so that it stands for itself, with a backslash if necessary.
pub fn escape(byte: u8, out: &mut Vec<u8>) {
    if b"\\^$.[|()?*+{".contains(&byte) {
        out.push(b'\\');
    }
    out.push(byte);
}

/// The largest number up to `limit` for which `holds` is true, given that it is true for all smaller ones and for 1.
pub fn most(limit: usize, holds: impl Fn(usize) -> bool) -> usize {
    let mut fine = 1;
    while fine < limit && holds((fine * 2).min(limit)) {
        fine = (fine * 2).min(limit);
    }
    let mut wrong = (fine * 2).min(limit + 1);
    while fine + 1 < wrong {
        let middle = fine.midpoint(wrong);
        if holds(middle) { fine = middle } else { wrong = middle }
    }
    fine
}

/// Returns the length of the text of the first byte of a pattern, if that byte plainly stands for itself.
pub fn literal_length(text: &[u8]) -> Option<usize> {
    match text {
        [b'\\', escaped, ..] if escaped.is_ascii_punctuation() => Some(2),
        [byte, ..] if byte.is_ascii_alphanumeric() || b"/_-~%!,;:=&@".contains(byte) => Some(1),
        _ => None,
    }
}

/// Whether the rest of a pattern starts with a quantifier for what precedes it.
pub fn is_quantified(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'*' | b'+' | b'?' | b'{'))
}

/// Splits a pattern into the literal that it starts with and the rest, which does not quantify the literal.
pub fn literal_start(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let (mut literal, mut at, mut before) = (Vec::new(), 0, 0);
    loop {
        if is_quantified(&text[at..]) {
            literal.pop();
            return (literal, &text[before..]);
        }
        let Some(length) = literal_length(&text[at..]) else { return (literal, &text[at..]) };
        literal.push(text[at + length - 1]);
        (before, at) = (at, at + length);
    }
}

#[cfg(test)]
mod tests {
    use super::literal_start;

    /// A byte with a quantifier is not part of the literal.
    #[test]
    fn literals() {
        let read = |text: &'static str| {
            let (literal, rest) = literal_start(text.as_bytes());
            (String::from_utf8(literal).unwrap(), std::str::from_utf8(rest).unwrap())
        };
        for (text, literal, rest) in [
            ("/a/(.*)$", "/a/", "(.*)$"),
            (r"/a\.b$", "/a.b", "$"),
            ("/a/?(.*)$", "/a", "/?(.*)$"),
            (r"/a\.*", "/a", r"\.*"),
            ("/a", "/a", ""),
            (r"\d", "", r"\d"),
            ("", "", ""),
        ] {
            assert_eq!(read(text), (literal.to_owned(), rest), "{text}");
        }
    }
}
