//! The rows of a [`front`](crate::maps::front), and the piece of a subject that tells which row may match.

use crate::maps::alternatives::Piece;
use crate::maps::pattern::class;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::pattern_text::escape;
use crate::syntax::ByteSet;

/// The pattern of `n` bytes that are no capital letters.
const REST: &str = "[^A-Z]{n}";

/// What a dot matches except a dot.
const NO_DOT: &[u8] = br"[^\x0a\x2e]";

/// A row of bytes and dots.
pub struct FrontRow {
    pub number: usize,
    /// What its matches begin with, with dots as dots, up to the first dot after `own` bytes.
    pub key: Vec<u8>,
    /// The number of bytes before the first dot.
    pub head: usize,
    /// The length of the beginning that the pattern spells out. No other row has this beginning.
    pub own: usize,
    /// The pattern of what follows the first `own` bytes.
    pub rest: Vec<u8>,
    pub frame: Option<Frame>,
}

/// What precedes the captured piece in a row with dots among its first `own` bytes.
pub struct Frame {
    /// The pattern of the text before the piece, and the length of that text.
    pub before: Vec<u8>,
    pub start: usize,
    /// Whether `before` excludes subjects with a dot in the place of its single dot. The whole key is captured of
    /// these.
    pub is_rare: bool,
}

/// Whether a row matches exactly the subjects that begin with some bytes and dots, or exactly those that consist of
/// them.
pub fn is_of_dots(row: &RowFacts, in_lines: bool) -> bool {
    let [sequence] = row.sequences() else { return false };
    let is_dot = |(_, set): &(usize, ByteSet)| *set == ByteSet::NO_NEWLINE || *set == ByteSet::ALL;
    let last = sequence.bytes.len().saturating_sub(1);
    row.singles == sequence.bytes.len()
        && !sequence.bytes.is_empty()
        && sequence.sets.iter().all(is_dot)
        && sequence.sets.iter().all(|(at, _)| *at > 0 && *at < last)
        && !sequence.bytes.iter().any(|byte| matches!(byte, b'$' | b'\n' | 0))
        && row.is_plain
        && row.is_certain_here(in_lines)
        && (row.is_line || row.covers(in_lines))
}

impl FrontRow {
    /// `own` is the length of the beginning that no other row has, whether dots are read as dots or as any byte.
    pub fn new(number: usize, sequence: &Sequence, is_line: bool, mut own: usize) -> FrontRow {
        let Sequence { bytes, sets } = sequence;
        // It must end with a byte, not with a dot. The sequence ends with a byte, so the loop ends.
        while sets.iter().any(|(at, _)| at + 1 == own) {
            own += 1;
        }
        let end = sets.iter().map(|(at, _)| *at).find(|at| *at >= own).unwrap_or(bytes.len());
        let is_short = end - own <= REST.len() + 1 || bytes[own..end].iter().any(u8::is_ascii_uppercase);
        let mut rest = Vec::new();
        if is_short {
            own = end;
        } else {
            rest.extend_from_slice(REST.replace('n', &(end - own).to_string()).as_bytes());
        }
        if end < bytes.len() || is_line {
            rest.extend_from_slice(b"(?=");
            pattern(sequence, end, bytes.len(), &mut rest);
            rest.extend_from_slice(if is_line { b"$)" } else { b")" });
        }
        let head = sets.first().map_or(bytes.len(), |(at, _)| *at);
        let frame = Frame::new(sequence, own);
        FrontRow { number, key: dotted(sequence)[..end].to_vec(), head, own, rest, frame }
    }

    /// The piece to capture of subjects with a dot wherever the row has one; `None` if the framed piece is enough.
    pub fn piece(&self) -> Option<Piece<'_>> {
        let is_found = self.frame.as_ref().is_none_or(|frame| frame.is_rare);
        is_found.then(|| Piece { text: &self.key[..self.own], rest: &self.rest, weight: 1 })
    }

    /// The piece to capture after the frame.
    pub fn framed_piece(&self, frame: &Frame) -> Piece<'_> {
        Piece { text: &self.key[frame.start..self.own], rest: &self.rest, weight: 1 }
    }
}

impl Frame {
    /// The frame of a sequence with dots among its first `own` places.
    fn new(sequence: &Sequence, own: usize) -> Option<Frame> {
        let dots: Vec<&(usize, ByteSet)> = sequence.sets.iter().filter(|(at, _)| *at < own).collect();
        let start = dots.last()?.0 + 1;
        let mut before = Vec::new();
        let is_rare = dots.len() == 1 && dots[0].1 == ByteSet::NO_NEWLINE;
        if is_rare {
            pattern(sequence, 0, start - 1, &mut before);
            before.extend_from_slice(NO_DOT);
        } else {
            pattern(sequence, 0, start, &mut before);
        }
        Some(Frame { before, start, is_rare })
    }
}

/// Writes a sequence as text, with a dot in each place that allows several bytes.
pub fn dotted(sequence: &Sequence) -> Vec<u8> {
    let mut bytes = sequence.bytes.clone();
    sequence.sets.iter().for_each(|(at, _)| bytes[*at] = b'.');
    bytes
}

/// Returns for each string the length of the beginning that no other string has, or its whole length if another string
/// begins with it.
pub fn lengths_apart(strings: &[Vec<u8>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..strings.len()).collect();
    order.sort_unstable_by_key(|at| &strings[*at]);
    let mut lengths = vec![0; strings.len()];
    for pair in order.windows(2) {
        let [one, other] = [pair[0], pair[1]].map(|at| &strings[at]);
        let common = one.iter().zip(other).take_while(|(one, other)| one == other).count();
        for at in [pair[0], pair[1]] {
            lengths[at] = lengths[at].max((common + 1).min(strings[at].len()));
        }
    }
    lengths
}

/// Writes the pattern of some places of a sequence.
fn pattern(sequence: &Sequence, start: usize, end: usize, out: &mut Vec<u8>) {
    for at in start..end {
        match sequence.sets.iter().find(|(place, _)| *place == at) {
            Some((_, set)) => class(set, out),
            None => escape(sequence.bytes[at], out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is_of_dots, lengths_apart};
    use crate::maps::example::with_rows;

    /// Only rows of bytes and dots have a key.
    #[test]
    fn shapes() {
        let is_chosen = |text: &str| with_rows(&[text], false, |_, rows| is_of_dots(&rows[0], true));
        for text in ["~^/a 1;", "~^/a.b 1;", "~^/a.b$ 1;", "~^/a.b.*$ 1;", "'~^/a.b(.*)$' 1;", "~(?s)^/a.b 1;"] {
            assert!(is_chosen(text), "{text}");
        }
        for text in [
            "~/a.b 1;",
            "~^.a 1;",
            "~^/a.b. 1;",
            "~^/a[^/]b 1;",
            "~*^/a.b 1;",
            "'~^/a.b(.*)$' $1;",
            r"'~^/\$.b' 1;",
            "~^/a.b[0-9] 1;",
            "'~^/a.(b|c)' 1;",
            r"'~^/a.b\z' 1;",
        ] {
            assert!(!is_chosen(text), "{text}");
        }
    }

    /// The beginning of a string is as long as it must be to distinguish it from all others.
    #[test]
    fn apart() {
        let lengths =
            |strings: &[&str]| lengths_apart(&strings.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>());
        assert_eq!(lengths(&["/b", "/abc", "/a", "/abd"]), [2, 4, 2, 4]);
        assert_eq!(lengths(&["/a"]), [0]);
    }
}
