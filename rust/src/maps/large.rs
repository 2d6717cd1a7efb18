//! Forms of maps that pay off only for large lists, and the sizes from which on they are used.

use crate::pattern_text::LONGEST;

/// The sizes from which on the forms for large lists are used.
#[derive(Clone, Copy, Debug)]
pub struct LargeForms {
    /// From this many rows on, a tree is not compared with a chain of all rows.
    pub rows: usize,
    /// From this many strings without capital letters on, these get a table of their own. It is half as large as the
    /// other form, because it has each string only once.
    pub strings: usize,
    /// From this many nodes of the trie on, the chunks of its last level have several short patterns instead of one.
    pub nodes: usize,
    /// `families`: from this many rows of the map on, rows that differ only in a literal get a table of their own if
    /// there are at least `family` of them.
    pub families: usize,
    pub family: usize,
    /// Families are used only if at most one in this many rows with a known beginning is left over. The rows that are
    /// left need other forms as well.
    pub left: usize,
    /// From this many rows on, a front is used; see [`front`](crate::maps::front).
    pub front: usize,
    /// From this many rows of a front on that share the text before the captured piece, they get a pattern of their
    /// own. Fewer rows are left out of the front.
    pub frame: usize,
    /// From this many rows on, rows that match only the end of a subject get a guard that looks at its last slash.
    pub segments: usize,
    /// From this many rows of a chain on, its guards search for the signs of the rows; see [`sign`](crate::maps::sign).
    pub signs: usize,
    /// The longest text of a short pattern. While PCRE2 compiles a pattern of more than 1,000 bytes, it allocates four
    /// bytes for each of them (`parsed_pattern` in pcre2_compile.c), and nginx keeps that memory.
    pub text: usize,
    /// The longest text of a pattern that captures keys of a front.
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
        signs: 65,
        text: 1_000 - 60,
        long_text: LONGEST - 60,
    };

    /// Uses the forms for large lists in small ones, too. Random tests would not reach them otherwise.
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
        signs: 6,
        text: 40,
        long_text: 60,
    };
}
