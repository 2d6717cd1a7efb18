//! Reads patterns that list literals back into the strings that they match. In a location, they stand in for guards.
//!
//! The patterns may contain literal bytes, `(?:`, `|`, `)`, a leading `^` with or without `(?i)` before it, and `$` or
//! `\z` at the end. Every PCRE reads these alike, and none can give up on a pattern with so few strings.

/// The strings that a pattern matches.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedStrings {
    pub strings: Vec<Vec<u8>>,
    /// Whether each string is in lower case and stands for all spellings of its letters.
    pub any_case: bool,
}

/// The most strings listed for one pattern. A token of nginx has no room for half as many.
const LIMIT: usize = 8_192;

/// The greatest depth of nested groups in PCRE (`PARENS_NEST_LIMIT`).
const DEEPEST: usize = 250;

/// Lists the strings of a pattern. `None` if it is not such a list of literals.
pub fn read(pattern: &[u8]) -> Option<ListedStrings> {
    let (any_case, rest) = match pattern.strip_prefix(b"(?i)") {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let rest = rest.strip_prefix(b"^")?;
    let (mut strings, end) = PatternReader { rest, depth: 0 }.sequence()?;
    match end {
        b"$" => strings = strings.into_iter().flat_map(|string| [[&string, &b"\n"[..]].concat(), string]).collect(),
        b"\\z" => {}
        _ => return None,
    }
    if any_case {
        strings.iter_mut().for_each(|string| string.make_ascii_lowercase());
    }
    strings.iter().all(|string| !string.is_empty() && string != b"\n").then_some(ListedStrings { strings, any_case })
}

struct PatternReader<'p> {
    rest: &'p [u8],
    depth: usize,
}

type Read<'p> = (Vec<Vec<u8>>, &'p [u8]);

impl<'p> PatternReader<'p> {
    /// Reads a sequence of literals and groups, up to anything else.
    fn sequence(mut self) -> Option<Read<'p>> {
        let mut strings = vec![Vec::new()];
        loop {
            match self.rest {
                [b'(', b'?', b':', inside @ ..] => {
                    let (tails, rest) = PatternReader { rest: inside, depth: self.depth + 1 }.group()?;
                    strings = product(&strings, &tails)?;
                    self.rest = rest;
                }
                [b'\\', byte, rest @ ..] if is_special(*byte) => {
                    strings.iter_mut().for_each(|string| string.push(*byte));
                    self.rest = rest;
                }
                [byte, rest @ ..] if !is_special(*byte) => {
                    strings.iter_mut().for_each(|string| string.push(*byte));
                    self.rest = rest;
                }
                rest => return Some((strings, rest)),
            }
        }
    }

    /// Reads alternatives up to the end of the group.
    fn group(self) -> Option<Read<'p>> {
        if self.depth > DEEPEST {
            return None;
        }
        let mut all = Vec::new();
        let mut rest = self.rest;
        loop {
            let (strings, end) = PatternReader { rest, depth: self.depth }.sequence()?;
            all.extend(strings);
            match end {
                [b'|', next @ ..] => rest = next,
                [b')', after @ ..] => return (all.len() <= LIMIT).then_some((all, after)),
                _ => return None,
            }
        }
    }
}

fn product(heads: &[Vec<u8>], tails: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let fits = heads.len().checked_mul(tails.len()).is_some_and(|count| count <= LIMIT);
    fits.then(|| heads.iter().flat_map(|head| tails.iter().map(move |tail| [&head[..], tail].concat())).collect())
}

/// Whether a byte has a special meaning outside a class. A NUL ends a pattern in the oldest PCRE.
fn is_special(byte: u8) -> bool {
    b"\\^$.[|()?*+{\0".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcre::{MatchOutcome, Regex};

    fn strings(pattern: &str) -> Option<Vec<String>> {
        let listed = read(pattern.as_bytes())?;
        let mut strings: Vec<_> = listed.strings.into_iter().map(|text| String::from_utf8(text).unwrap()).collect();
        strings.sort();
        Some(strings)
    }

    /// Groups, empty alternatives, both ends and any case.
    #[test]
    fn forms() {
        assert_eq!(strings(r"^/a\z").unwrap(), ["/a"]);
        assert_eq!(strings("^/a$").unwrap(), ["/a", "/a\n"]);
        assert_eq!(strings(r"^/(?:a(?:/|)|b\.c)\z").unwrap(), ["/a", "/a/", "/b.c"]);
        assert_eq!(strings(r"(?i)^/A(?:B|c)\z").unwrap(), ["/ab", "/ac"]);
        for pattern in
            ["/a$", "^/a", "^/a*$", "^/(a|b)$", "^/[ab]$", r"^/\d$", "^/a.b$", "^$", "^/(?:a", "^/a)$", "^/a{2}$"]
        {
            assert_eq!(strings(pattern), None, "{pattern}");
        }
        assert_eq!(strings(&format!("^/{}{}$", "(?:".repeat(251), ")".repeat(251))), None);
        assert_eq!(strings(&format!("^/{}$", "(?:a|b)".repeat(20))), None);
    }

    /// The listed strings are those that PCRE2 matches.
    #[test]
    fn pcre_agrees() {
        for pattern in [r"^/a(?:b|)(?:c|d|)$", r"^/\.(?:\(|\||\\|\$|])$", r"^/(?:a|ab)(?:bc|c)\z", "^/a b#(?:\t|-)$"] {
            let listed = read(pattern.as_bytes()).unwrap();
            let regex = Regex::new(pattern.as_bytes()).unwrap();
            for string in &listed.strings {
                assert_eq!(regex.is_match(string, 10_000), MatchOutcome::Yes, "{pattern}");
                let longer = [string, &b"x"[..]].concat();
                assert_eq!(
                    regex.is_match(&longer, 10_000) == MatchOutcome::Yes,
                    listed.strings.contains(&longer),
                    "{pattern}"
                );
            }
        }
    }
}
