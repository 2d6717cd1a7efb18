//! The forms that are for large lists.

use crate::pattern_text::LONGEST;

/// From which sizes on they are used.
#[derive(Clone, Copy, Debug)]
pub struct LargeForms {
    /// From so many rows on, a tree is not compared with a chain of all rows.
    pub rows: usize,
    /// From so many strings without capital letters on, these have a table of their own, which is half as large: each
    /// stands there once.
    pub strings: usize,
    /// From so many nodes of the trie on, the chunks of its last level have several short patterns instead of one.
    pub nodes: usize,
    /// From so many rows on, those that differ in a literal only have a table of their own, if these are so many:
    pub families: usize,
    pub family: usize,
    /// Families leave at most this part of the rows with a beginning, as these need other forms besides.
    pub left: usize,
    /// From so many rows on that no earlier one may meet, these have a table of their own.
    pub front: usize,
    /// So many rows have a pattern of their own there if the same comes before the piece that is captured.
    pub frame: usize,
    /// From so many rows on, those that match only the end of a subject have a guard that looks at its last slash.
    pub segments: usize,
    /// The longest text of a short pattern. Of a pattern of more than 1,000 bytes, PCRE2 allocates four bytes for each
    /// while it compiles it (`parsed_pattern` in pcre2_compile.c), which nginx keeps.
    pub text: usize,
    /// The longest text of the patterns of a table's keys.
    pub long_text: usize,
}

impl LargeForms {
    pub const USUAL: LargeForms = LargeForms {
        rows: 101,
        strings: 2_000,
        nodes: 10_000,
        families: 1_000,
        family: 64,
        left: 8,
        front: 5_000,
        frame: 8,
        segments: 5_000,
        text: 1_000 - 60,
        long_text: LONGEST - 60,
    };

    /// Small lists get the forms of large ones, as random tests do not reach these otherwise.
    pub const ALWAYS: LargeForms = LargeForms {
        rows: 1,
        strings: 1,
        nodes: 1,
        families: 1,
        family: 1,
        left: 2,
        front: 1,
        frame: 1,
        segments: 1,
        text: 40,
        long_text: 60,
    };
}
