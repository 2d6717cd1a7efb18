//! Writes patterns that match beginnings of subjects, or literals in them.
//!
//! The patterns consist of bytes, classes, `(?:`, `|` and `)`, which every PCRE reads alike. PCRE tries each place of a
//! subject only once.

use crate::maps::sequence::Sequence;
use crate::pattern_text::{DEEPEST, escape};
use crate::syntax::ByteSet;

/// Returns the most bytes that a byte of a pattern takes in a file.
pub fn escaped_length(byte: u8) -> usize {
    match byte {
        b'\\' => 4,
        b'"' | b'\n' | b'\r' | b'\t' => 2,
        b'^' | b'$' | b'.' | b'[' | b'|' | b'(' | b')' | b'?' | b'*' | b'+' | b'{' => 2,
        _ => 1,
    }
}

/// Writes a pattern, without an anchor, that matches if one of the sequences does. `caseless`: PCRE will ignore case.
/// `None` if the groups would be nested too deep.
pub fn beginning_with(sequences: &[&Sequence], caseless: bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    (alternatives(sequences, 0, caseless, &mut out) <= DEEPEST).then_some(out)
}

/// Writes what follows the first `at` places, which all sequences share; returns the depth of the groups written.
fn alternatives(sequences: &[&Sequence], mut at: usize, caseless: bool, out: &mut Vec<u8>) -> usize {
    let Some((first, others)) = sequences.split_first() else { return 0 };
    // Where one sequence ends, the subject begins with it, whatever follows.
    while sequences.iter().all(|sequence| sequence.bytes.len() > at) {
        let symbol = Symbol::of(first, at, caseless);
        if others.iter().any(|sequence| Symbol::of(sequence, at, caseless) != symbol) {
            return branches(sequences, at, caseless, out);
        }
        symbol.write(out);
        at += 1;
    }
    0
}

/// As [`alternatives`], for sequences that differ in the next place.
fn branches(sequences: &[&Sequence], at: usize, caseless: bool, out: &mut Vec<u8>) -> usize {
    let mut branches: Vec<(Symbol, Vec<&Sequence>)> = Vec::new();
    for sequence in sequences {
        let place = Symbol::of(sequence, at, caseless);
        match branches.iter_mut().find(|(other, _)| *other == place) {
            Some((_, branch)) => branch.push(sequence),
            None => branches.push((place, vec![sequence])),
        }
    }
    out.extend_from_slice(b"(?:");
    let mut depth = 0;
    for (number, (place, branch)) in branches.iter().enumerate() {
        if number > 0 {
            out.push(b'|');
        }
        place.write(out);
        depth = depth.max(alternatives(branch, at + 1, caseless, out));
    }
    out.push(b')');
    depth + 1
}

/// The bytes allowed at a place of a sequence.
#[derive(PartialEq, Eq)]
enum Symbol {
    Byte(u8),
    Set(ByteSet),
}

impl Symbol {
    /// If case is ignored, a class must contain both cases of a letter or neither: a caseless `[^A-Z]` excludes all
    /// letters.
    fn of(sequence: &Sequence, at: usize, caseless: bool) -> Symbol {
        let set = sequence.sets.iter().find(|(place, _)| *place == at);
        let set = set.map(|(_, set)| if caseless { set.fold() } else { *set });
        set.map_or(Symbol::Byte(sequence.bytes[at]), Symbol::Set)
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Symbol::Byte(byte) => escape(*byte, out),
            Symbol::Set(set) => class(set, out),
        }
    }
}

/// Writes a set of bytes as a class.
pub(super) fn class(set: &ByteSet, out: &mut Vec<u8>) {
    if *set == ByteSet::ALL {
        return out.extend_from_slice(b"[\\x00-\\xff]");
    }
    let others = set.complement();
    let is_short = others.ranges().len() < set.ranges().len();
    out.extend_from_slice(if is_short { b"[^" } else { b"[" });
    for (first, last) in if is_short { others.ranges() } else { set.ranges() } {
        member(first, out);
        if last > first + 1 {
            out.push(b'-');
        }
        if last > first {
            member(last, out);
        }
    }
    out.push(b']');
}

/// Writes a class of letters and digits.
pub fn letters(bytes: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut set = ByteSet::default();
    bytes.for_each(|byte| set.insert(byte));
    let mut out = Vec::new();
    class(&set, &mut out);
    out
}

/// Whether a byte is written without an escape in a class.
pub fn is_in_class(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn member(byte: u8, out: &mut Vec<u8>) {
    if is_in_class(byte) {
        out.push(byte);
    } else {
        out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::sequence::beginnings;
    use crate::pattern_text::token_length;
    use crate::pcre::{MatchOutcome, Regex};
    use crate::syntax::parse;

    fn sequences(patterns: &[&str]) -> Vec<Sequence> {
        let read = |pattern: &&str| beginnings(&parse(pattern.as_bytes()).unwrap(), false).unwrap().sequences;
        patterns.iter().flat_map(read).collect()
    }

    fn text(patterns: &[&str]) -> String {
        let sequences = sequences(patterns);
        let pattern = beginning_with(&sequences.iter().collect::<Vec<_>>(), false).expect("a pattern");
        String::from_utf8(pattern).expect("ASCII")
    }

    /// Common beginnings are written once; a sequence that begins with another is left out.
    #[test]
    fn forms() {
        assert_eq!(text(&["^/a"]), "/a");
        assert_eq!(text(&["^/ab", "^/acd", "^/ace"]), "/a(?:b|c(?:d|e))");
        assert_eq!(text(&["^/a", r"^/a\.b"]), "/a");
        assert_eq!(text(&["^/a.b", r"^/a\.b", r"^/a\d"]), r"/a(?:[^\x0a]b|\.b|[0-9])");
        assert_eq!(text(&[r"(?s)^/a.b"]), r"/a[\x00-\xff]b");
    }

    /// Each byte stands for itself, and a class for its members.
    #[test]
    fn bytes() {
        for byte in 1..=255 {
            let sequence = Sequence { bytes: vec![byte], sets: Vec::new() };
            let pattern = beginning_with(&[&sequence], false).unwrap();
            assert!(token_length(&pattern) - 2 <= escaped_length(byte), "{byte}");
            let set = ByteSet::of(|other| other == byte || other == byte ^ 1);
            let mut in_set = Vec::new();
            class(&set, &mut in_set);
            let [plain, in_set] = [pattern, in_set].map(|pattern| Regex::new(&pattern).unwrap());
            for other in 0..=255 {
                assert_eq!(plain.is_match(&[other], 100) == MatchOutcome::Yes, other == byte);
                assert_eq!(in_set.is_match(&[other], 100) == MatchOutcome::Yes, set.contains(other));
            }
        }
    }

    /// Groups nested deeper than PCRE allows give no pattern.
    #[test]
    fn deep() {
        let chain: Vec<Sequence> = (1..130)
            .map(|length| {
                let bytes = [vec![b'/'; length], vec![b'a']].concat();
                Sequence { bytes, sets: Vec::new() }
            })
            .collect();
        assert_eq!(beginning_with(&chain.iter().collect::<Vec<_>>(), false), None);
    }
}
