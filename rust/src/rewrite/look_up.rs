//! A lookup of a group or kind of rules: how large the groups are, and the statements that read the map.

use crate::rewrite::text::quoted_pattern;

/// The fewest rules of a group. A request compares its group with the number of each group.
pub const SMALLEST: usize = 8;

/// The number of rules in each group: about as many as there are groups, because a miss compares the numbers of all
/// groups, and a hit tries the rules of one.
pub fn group_size(rules: usize) -> usize {
    SMALLEST.max((rules as f64).sqrt().ceil() as usize)
}

/// Writes statements that read a map once, by a pattern with named groups. `result` is one of the groups.
pub fn write_look_up(map: &str, result: &str, pattern: &str, text: &mut Vec<u8>) {
    let pattern = quoted_pattern(pattern.as_bytes());
    text.extend_from_slice(format!("set ${result} \"\";\n").as_bytes());
    text.extend_from_slice(b"# A `set` would look it up twice: for the length, and for the text.\n");
    text.extend_from_slice(&[format!("if (${map} ~ ").as_bytes(), &pattern, b") {\n}\n"].concat());
}

/// Writes statements that read a map only for URIs that a pattern matches; `opener` opens the `if` of the pattern.
pub fn write_gated_look_up(map: &str, result: &str, opener: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(format!("set ${result} \"\";\n").as_bytes());
    text.extend_from_slice(opener);
    text.extend_from_slice(format!("    set ${result} ${map};\n}}\n").as_bytes());
}
