//! Patterns of several rows that differ in one piece between their dots.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};

use crate::maps::pattern::class;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::trie::Trie;
use crate::pattern_text::{DEEPEST, escape, most};
use crate::syntax::ByteSet;

/// A row of bytes and dots.
pub struct DottedRow<'r> {
    pub number: usize,
    pub sequence: &'r Sequence,
    /// Whether nothing but a newline may follow.
    pub is_line: bool,
    /// The key whose value is that of the row.
    pub key: Vec<u8>,
}

/// Pieces, each with its row.
type RowPieces = Vec<(Vec<u8>, usize)>;

/// Rows in one pattern.
pub struct DottedPattern {
    frame: Frame,
    /// The pieces that are captured, in the order in which they are tried.
    pieces: RowPieces,
}

/// What the rows of a pattern have in common: the texts of the pattern and of the key around the piece that differs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Frame {
    before: Vec<u8>,
    after: Vec<u8>,
    key_before: Vec<u8>,
    key_after: Vec<u8>,
}

impl DottedPattern {
    /// The pattern, which captures the piece in a group of this name.
    pub fn text(&self, group: &[u8]) -> Vec<u8> {
        let Frame { before, after, .. } = &self.frame;
        let pieces: Vec<&[u8]> = self.pieces.iter().map(|(piece, _)| piece.as_slice()).collect();
        [&b"^"[..], before, b"(?<", group, b">", &Pieces::new(pieces).text, b")", after].concat()
    }

    /// The key of the row that matches.
    pub fn value(&self, group: &[u8]) -> Vec<u8> {
        let Frame { key_before, key_after, .. } = &self.frame;
        [key_before, &b"$"[..], group, key_after].concat()
    }
}

/// The pieces of a group as an alternation, each before those that it begins with.
struct Pieces<'p> {
    trie: Trie,
    pieces: Vec<&'p [u8]>,
    text: Vec<u8>,
    depth: usize,
}

impl<'p> Pieces<'p> {
    /// The order of the pieces does not matter.
    fn new(mut pieces: Vec<&'p [u8]>) -> Pieces<'p> {
        pieces.sort_unstable();
        let mut written = Pieces { trie: Trie::new(&pieces), pieces, text: Vec::new(), depth: 0 };
        written.write(0, 0);
        written
    }

    /// Writes what follows the path of a node, within `depth` groups.
    fn write(&mut self, at: usize, depth: usize) {
        let node = self.trie.nodes[at].clone();
        let ends = !node.own.is_empty();
        let is_group = node.children.len() > 1 || ends && !node.children.is_empty();
        let depth = depth + usize::from(is_group);
        self.depth = self.depth.max(depth);
        if is_group {
            self.text.extend_from_slice(b"(?:");
        }
        for child in node.children.clone() {
            if child > node.children.start {
                self.text.push(b'|');
            }
            let below = &self.trie.nodes[child];
            let label = &self.pieces[below.under.start][below.above..below.depth];
            label.iter().for_each(|byte| escape(*byte, &mut self.text));
            self.write(child, depth);
        }
        if is_group {
            self.text.extend_from_slice(if ends { b"|)" } else { b")" });
        }
    }
}

/// The patterns of some rows, of `length` bytes at most where they hold several: the rows that have most in common are
/// together.
pub fn patterns(rows: &[&DottedRow], length: usize) -> Vec<DottedPattern> {
    let frames: Vec<Vec<(Frame, Vec<u8>)>> = rows.iter().map(|row| row.frames()).collect();
    let mut counts: HashMap<&Frame, usize> = HashMap::new();
    for (frame, _) in frames.iter().flatten() {
        *counts.entry(frame).or_default() += 1;
    }
    // Rows with more dots are tried first: others may be their beginnings.
    let mut groups: BTreeMap<(usize, &Frame), RowPieces> = BTreeMap::new();
    for (row, frames) in rows.iter().zip(&frames) {
        let (frame, piece) = frames.iter().max_by_key(|(frame, _)| counts[frame]).expect("a piece");
        let fewer_dots = usize::MAX - row.sequence.sets.len();
        groups.entry((fewer_dots, frame)).or_default().push((piece.clone(), row.number));
    }
    groups.into_iter().flat_map(|((_, frame), pieces)| cut(frame, pieces, length)).collect()
}

/// The patterns of rows with one frame; a piece stands before those that it begins with.
fn cut(frame: &Frame, mut pieces: RowPieces, length: usize) -> Vec<DottedPattern> {
    pieces.sort_unstable_by(|one, other| other.cmp(one));
    let around = frame.before.len() + frame.after.len();
    let mut patterns = Vec::new();
    let mut rest = pieces.as_slice();
    while !rest.is_empty() {
        let fits = |count: usize| {
            let Pieces { text, depth, .. } =
                Pieces::new(rest[..count].iter().map(|(piece, _)| piece.as_slice()).collect());
            around + text.len() <= length && depth <= DEEPEST
        };
        let (first, others) = rest.split_at(most(rest.len(), fits));
        patterns.push(DottedPattern { frame: frame.clone(), pieces: first.to_vec() });
        rest = others;
    }
    patterns
}

/// The rows that are tried before an earlier row which may match the same subject.
pub fn out_of_order(patterns: &[DottedPattern], rows: &HashMap<usize, &DottedRow>) -> HashSet<usize> {
    let order = patterns.iter().flat_map(|pattern| &pattern.pieces).map(|(_, row)| rows[row]);
    let order: Vec<&DottedRow> = order.collect();
    let is_late = |(at, row): &(usize, &&DottedRow)| {
        order[at + 1..].iter().any(|later| {
            later.number < row.number && meet((later.sequence, later.is_line), (row.sequence, row.is_line))
        })
    };
    order.iter().enumerate().filter(is_late).map(|(_, row)| row.number).collect()
}

impl DottedRow<'_> {
    /// The frame and the piece for each of its pieces.
    fn frames(&self) -> Vec<(Frame, Vec<u8>)> {
        let Sequence { bytes, sets } = self.sequence;
        let starts = [0].into_iter().chain(sets.iter().map(|(at, _)| at + 1));
        let ends = sets.iter().map(|(at, _)| *at).chain([bytes.len()]);
        let frame = |(start, end): (usize, usize)| {
            let mut after = self.pattern(end, bytes.len());
            after.extend_from_slice(if self.is_line { b"$" } else { b"" });
            Frame {
                before: self.pattern(0, start),
                after,
                key_before: bytes[..start].to_vec(),
                key_after: self.key[end..].to_vec(),
            }
        };
        starts.zip(ends).map(|(start, end)| (frame((start, end)), bytes[start..end].to_vec())).collect()
    }

    /// The pattern of some of its places.
    fn pattern(&self, start: usize, end: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for at in start..end {
            match self.sequence.sets.iter().find(|(place, _)| *place == at) {
                Some((_, set)) => class(set, &mut out),
                None => escape(self.sequence.bytes[at], &mut out),
            }
        }
        out
    }
}

/// The bytes and dots of a row that has nothing else, and whether it ends there.
pub fn shape<'r>(row: &'r RowFacts, in_lines: bool) -> Option<(&'r Sequence, bool)> {
    let [sequence] = row.sequences() else { return None };
    let is_line = row.is_line;
    let is_dot = |(_, set): &(usize, ByteSet)| *set == ByteSet::NO_NEWLINE || *set == ByteSet::ALL;
    let last = sequence.bytes.len().checked_sub(1)?;
    let fits = !sequence.sets.is_empty()
        && sequence.sets.iter().all(is_dot)
        && sequence.sets.iter().all(|(at, _)| *at < last)
        && row.singles == sequence.bytes.len()
        && !sequence.bytes.iter().any(|byte| matches!(byte, b'$' | b'\n' | 0));
    (fits && row.is_plain && row.is_certain_here(in_lines) && (is_line || row.covers(in_lines)))
        .then_some((sequence, is_line))
}

/// Whether a string may begin with both sequences; if one `is_line`, nothing but a newline follows it.
pub fn meet((one, one_is_line): (&Sequence, bool), (other, other_is_line): (&Sequence, bool)) -> bool {
    let common = one.bytes.len().min(other.bytes.len());
    let is_too_long = |line: &Sequence, other: &Sequence| {
        let end = line.bytes.len();
        other.bytes.len() > end + 1 || other.bytes.len() > end && !other.allows(end, b'\n')
    };
    if one_is_line && is_too_long(one, other) || other_is_line && is_too_long(other, one) {
        return false;
    }
    let differs = |at: usize| {
        one.bytes[at] != other.bytes[at] && !one.allows(at, other.bytes[at]) && !other.allows(at, one.bytes[at])
    };
    !(0..common).any(differs)
}

#[cfg(test)]
mod tests {
    use hashbrown::HashMap;

    use super::{DottedRow, meet, out_of_order, patterns, shape};
    use crate::maps::example::with_rows;

    /// Calls a function with the rows, whose keys are their bytes.
    fn with_dotted<R>(texts: &[&str], call: impl FnOnce(&[&DottedRow]) -> R) -> R {
        with_rows(texts, false, |_, rows| {
            let dotted = rows.iter().enumerate().map(|(number, row)| {
                let (sequence, is_line) = shape(row, true).expect("a row of bytes and dots");
                DottedRow { number, sequence, is_line, key: sequence.bytes.clone() }
            });
            let dotted: Vec<DottedRow> = dotted.collect();
            call(&dotted.iter().collect::<Vec<_>>())
        })
    }

    fn written(texts: &[&str], length: usize) -> Vec<(String, String)> {
        with_dotted(texts, |rows| {
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let written = |pattern: super::DottedPattern| (text(pattern.text(b"k")), text(pattern.value(b"k")));
            patterns(rows, length).into_iter().map(written).collect()
        })
    }

    /// Rows that differ in one piece are one pattern, longer pieces first; rows with more dots come before others.
    #[test]
    fn frames() {
        let rows = ["~^/v1.0/a.* 0;", "~^/v1.0/ab.* 1;", "~^/v1.2/c.* 2;", r"~^/v1.2/c.b$ 3;", r"~(?s)^/.\.x$ 4;"];
        let expected = [
            (r"^/v1[^\x0a]2/c[^\x0a](?<k>b)$", "/v1.2/c.$k"),
            (r"^/[\x00-\xff](?<k>\.x)$", "/.$k"),
            (r"^/v1[^\x0a](?<k>(?:0/a(?:b|)|2/c))", "/v1.$k"),
        ];
        assert_eq!(written(&rows, 100), expected.map(|(pattern, value)| (pattern.to_owned(), value.to_owned())));
    }

    /// A long list of pieces is cut; what begins with another piece stays before it.
    #[test]
    fn cuts() {
        let rows = ["~^/v1.a$ 0;", "~^/v1.ab$ 1;", "~^/v1.b$ 2;"];
        let pieces: Vec<String> = written(&rows, 1).into_iter().map(|(pattern, _)| pattern).collect();
        assert_eq!(pieces, ["b", "ab", "a"].map(|piece| format!(r"^/v1[^\x0a](?<k>{piece})$")));
    }

    /// A row that is tried before an earlier one is found, unless no subject matches both.
    #[test]
    fn order() {
        let moved = |texts: &[&str]| {
            with_dotted(texts, |rows| {
                let by_number: HashMap<usize, &DottedRow> = rows.iter().map(|row| (row.number, *row)).collect();
                let mut moved: Vec<usize> = out_of_order(&patterns(rows, 100), &by_number).into_iter().collect();
                moved.sort_unstable();
                moved
            })
        };
        assert_eq!(moved(&["~^/v1.a.* 0;", "~^/v1.ab.* 1;"]), [1]);
        assert_eq!(moved(&["~^/v1.ab.* 0;", "~^/v1.a.* 1;"]), [0; 0]);
        assert_eq!(moved(&["~^/v1.a$ 0;", "~^/v1.ab$ 1;"]), [0; 0]);
        assert_eq!(moved(&["~^/v1.a.* 0;", "~^/v1.a.b.* 1;", r"~^/v1.b\.c.* 2;"]), [1]);
    }

    /// Rows may meet where each allows what the other has.
    #[test]
    fn meeting() {
        let meets = |one: &str, other: &str| {
            with_dotted(&[one, other], |rows| {
                meet((rows[0].sequence, rows[0].is_line), (rows[1].sequence, rows[1].is_line))
            })
        };
        assert!(meets("~^/a.b 0;", "~^/axb.c 1;") && meets("~^/a.b 0;", "~^/.xb 1;"));
        assert!(!meets("~^/a.b 0;", "~^/axc.c 1;") && !meets("~^/a.b$ 0;", "~^/a.bc 1;"));
    }

    /// Other rows have a pattern of their own.
    #[test]
    fn shapes() {
        let has_shape = |text: &str| with_rows(&[text], false, |_, rows| shape(&rows[0], true).is_some());
        for text in ["~^/a.b 1;", "~^/a.b$ 1;", "~^/a.b.*$ 1;", "'~^/a.b(.*)$' 1;", "~(?s)^/a.b 1;"] {
            assert!(has_shape(text), "{text}");
        }
        for text in [
            "~^/ab 1;",
            "~/a.b 1;",
            "~^/a.b. 1;",
            "~^/a[^/]b 1;",
            "~*^/a.b 1;",
            "'~^/a(.)b' 1;",
            r"'~^/a.b\z' 1;",
            "'~^/a.b(.*)$' $1;",
            r"'~^/\$.b' 1;",
            "~^/a.b[0-9] 1;",
            "'~^/a.(b|c)' 1;",
        ] {
            assert!(!has_shape(text), "{text}");
        }
    }
}
