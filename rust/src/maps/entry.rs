//! Entries of the trie: the rows, each under the beginnings of its matches.

use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;

/// A set of this many bytes counts as a dot. In real configurations it usually is a dot that should have been escaped.
const WIDE_SET: usize = 200;

/// The most dots of a row that are followed; the path ends before the next one.
const MOST_DOTS: usize = 4;

/// A row at a path of the trie. All or some of its matches begin with the path.
#[derive(Clone, Copy)]
pub struct PathEntry<'r> {
    pub row: usize,
    pub sequence: &'r Sequence,
    /// The length of the path, in bytes of the sequence.
    pub length: usize,
    pub kind: PathEnd,
    /// The length of the longest subject that the row matches, if that is known.
    pub longest: usize,
}

/// What is known of a row after its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEnd {
    /// The pattern has a dot here. This entry is for subjects with another byte in this place; subjects with a dot have
    /// an entry further down.
    Dot,
    /// Nothing more is known.
    Open,
    /// The row matches all subjects that begin with the path.
    Covering,
}

impl<'r> PathEntry<'r> {
    pub fn path(&self) -> &'r [u8] {
        &self.sequence.bytes[..self.length]
    }

    /// Whether the row may match a subject that begins with `text`, which begins with the path and is longer.
    pub fn reaches(&self, text: &[u8]) -> bool {
        let has_room = text.len() <= self.longest;
        has_room && (self.kind != PathEnd::Dot || text[self.length] != b'.') && self.sequence.fits(text, self.length)
    }
}

impl AsRef<[u8]> for PathEntry<'_> {
    fn as_ref(&self) -> &[u8] {
        self.path()
    }
}

/// The entries of the rows in `members`, sorted by path, then by row.
pub fn entries<'r>(rows: &'r [RowFacts], members: impl Iterator<Item = usize>, in_lines: bool) -> Vec<PathEntry<'r>> {
    let mut entries = Vec::new();
    for row in members {
        let covers = rows[row].covers(in_lines);
        let length = |strings: &Vec<Vec<u8>>| strings.iter().map(Vec::len).max().unwrap_or(0);
        let longest = rows[row].strings.as_ref().map_or(usize::MAX, length);
        for sequence in rows[row].sequences() {
            add(row, sequence, covers, longest, &mut entries);
        }
    }
    entries.sort_by(|one, other| (one.path(), one.row).cmp(&(other.path(), other.row)));
    entries
}

fn add<'r>(row: usize, sequence: &'r Sequence, covers: bool, longest: usize, entries: &mut Vec<PathEntry<'r>>) {
    let last_byte = (0..sequence.bytes.len()).rev().find(|at| !sequence.sets.iter().any(|(place, _)| place == at));
    for (number, (at, set)) in sequence.sets.iter().enumerate() {
        let is_dot = set.contains(b'.') && set.len() >= WIDE_SET;
        if !is_dot || number >= MOST_DOTS || last_byte.is_none_or(|last| last < *at) {
            entries.push(PathEntry { row, sequence, length: *at, kind: PathEnd::Open, longest });
            return;
        }
        entries.push(PathEntry { row, sequence, length: *at, kind: PathEnd::Dot, longest });
    }
    let kind = if covers { PathEnd::Covering } else { PathEnd::Open };
    entries.push(PathEntry { row, sequence, length: sequence.bytes.len(), kind, longest });
}

#[cfg(test)]
mod tests {
    use super::{PathEnd, entries};
    use crate::maps::example::with_rows;

    /// A row has an entry at each of its dots and at the end of what is known; the paths after a dot contain a dot.
    #[test]
    fn paths() {
        with_rows(&["~^/b.c.* 0;", "~^/a[0-9]x 1;", "~^/a.+$ 2;", "'~^/a(b|c)' 3;"], false, |_, rows| {
            let entries = entries(rows, 0..4, false);
            let texts: Vec<_> = entries
                .iter()
                .map(|entry| (std::str::from_utf8(entry.path()).unwrap(), entry.row, entry.kind))
                .collect();
            let expected = [
                ("/a", 1, PathEnd::Open),
                ("/a", 2, PathEnd::Open),
                ("/ab", 3, PathEnd::Covering),
                ("/ac", 3, PathEnd::Covering),
                ("/b", 0, PathEnd::Dot),
                ("/b.c", 0, PathEnd::Covering),
            ];
            assert_eq!(texts, expected);
            assert!(entries[0].reaches(b"/a1") && !entries[0].reaches(b"/ab"));
            assert!(entries[4].reaches(b"/bxc") && !entries[4].reaches(b"/b.c") && !entries[4].reaches(b"/bxd"));
        });
    }
}
