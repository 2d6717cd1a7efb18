//! Finds rows that nginx refuses, so that it does not start.

use std::collections::HashSet;

use crate::compile_error::compile_error;
use crate::first_match::ReadPatterns;
use crate::map_block::MapBlock;

/// A row with which nginx does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// A pattern that does not compile: its index among the rows with patterns, and the message of PCRE2.
    Pattern(usize, String),
    /// A key that equals an earlier one, ignoring case (`ngx_hash_add_key`): its index among the exact rows.
    Key(usize),
}

/// Returns the first row that nginx refuses. `patterns` are those of the map. O(length).
pub fn refused(map: &MapBlock, patterns: &ReadPatterns) -> Option<Refused> {
    let mut unread = (0..map.patterns.len()).filter(|at| patterns.get(*at).is_none());
    let pattern = unread.find_map(|at| Some(Refused::Pattern(at, compile_error(&map.patterns[at].pattern)?)));
    pattern.or_else(|| {
        let mut keys = HashSet::new();
        let mut plain = map.exact.iter().enumerate().filter(|(_, row)| !row.is_hostname);
        plain.find(|(_, row)| !keys.insert(row.key.to_ascii_lowercase())).map(|(at, _)| Refused::Key(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_block::read_one;
    use crate::maps::read_patterns;

    fn of(rows: &str) -> Option<Refused> {
        let text = format!("map $uri $x {{ {rows} }}");
        let map = read_one(text.as_bytes()).expect("a block");
        refused(&map, &read_patterns(&map))
    }

    /// A pattern that no PCRE compiles and a repeated key are refused. Nothing is said of patterns that only some PCREs
    /// compile.
    #[test]
    fn rows() {
        let Some(Refused::Pattern(1, message)) = of("~^/a 1; ~^/(b 2;") else { panic!() };
        assert!(message.contains("missing closing parenthesis"), "{message}");
        assert_eq!(of("~a 1; /x 1; /y 2; /X 3;"), Some(Refused::Key(2)));
        assert_eq!(of(r"~a\x 1; ~b(?|c) 2; /x 3; '' 4; default 5;"), None);
    }
}
