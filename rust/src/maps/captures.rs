//! Finds values that use captures of a regex.

use std::collections::HashSet;

use crate::map_block::MapBlock;

/// The names of the groups in the patterns of a map.
pub struct CaptureNames {
    names: HashSet<Vec<u8>>,
}

impl CaptureNames {
    /// Collects everything that may name a group in some version of PCRE: `(?<name>`, `(?'name'`, `(?P<name>`.
    pub fn of(map: &MapBlock) -> CaptureNames {
        let names = map.patterns.iter().flat_map(|row| names(&row.pattern)).collect();
        CaptureNames { names }
    }

    /// Whether a value uses `$1` to `$9`, or a variable that a group of the map sets.
    pub fn are_in(&self, value: &[u8]) -> bool {
        variables(value)
            .any(|name| name.first().is_some_and(u8::is_ascii_digit) || self.names.contains(&name.to_ascii_lowercase()))
    }
}

/// Returns the names of the variables in a value. Of `$1` and the like, this is the first digit.
pub fn variables(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b'$').skip(1).map(|after| {
        let name = after.strip_prefix(b"{").unwrap_or(after);
        let end = name.iter().position(|byte| !is_of_name(*byte)).unwrap_or(name.len());
        if after.first().is_some_and(u8::is_ascii_digit) { &name[..1] } else { &name[..end] }
    })
}

/// Whether a pattern may have a named group.
pub fn names_a_group(pattern: &[u8]) -> bool {
    !names(pattern).is_empty()
}

fn names(pattern: &[u8]) -> Vec<Vec<u8>> {
    let starts = memchr::memmem::find_iter(pattern, b"(?");
    let name = |start: usize| {
        let text = &pattern[start + 2..];
        let text = text.strip_prefix(b"P").unwrap_or(text);
        let text = text.strip_prefix(b"<").or_else(|| text.strip_prefix(b"'"))?;
        let end = text.iter().position(|byte| !is_of_name(*byte)).unwrap_or(text.len());
        (end > 0).then(|| text[..end].to_ascii_lowercase())
    };
    starts.filter_map(name).collect()
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_block::read_one;

    /// Numbered and named groups are found in any case; other variables are not captures.
    #[test]
    fn in_values() {
        let map = read_one(b"map $a $b { '~^/(?<Lang>x)(?P<two>y)(?<!z)' 1; \"~(?'three'x)\" 1; }").expect("a map");
        let groups = CaptureNames::of(&map);
        for value in ["$1", "x${2}", "$lang", "a${LANG}b", "$host$two", "$three"] {
            assert!(groups.are_in(value.as_bytes()), "{value}");
        }
        for value in ["", "x1", "$host", "$langs", "$uri$is_args$args", "lang", "$"] {
            assert!(!groups.are_in(value.as_bytes()), "{value}");
        }
    }
}
