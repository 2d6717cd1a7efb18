//! Proves patterns in place of several rows that have one value.
//!
//! # Lemma
//!
//! A *way* through a pattern is a sequence of items with one branch of each group of alternatives. Let F and some rows
//! be patterns whose languages are known exactly and on which PCRE always answers; let each way through one of the rows
//! be a way through F, and each way through F be one through such a row. Then F matches exactly what one of the rows
//! does.
//!
//! *Proof.* A language is the union of those of the ways through its pattern, as alternatives are joined before and
//! behind alike. A search also finds a match without a repetition at either end that may have no rounds, and with one
//! round of another.
//!
//! So if these rows have the same value, which needs no match of their own, F with this value stands for all of them.

use std::collections::HashMap;

use crate::syntax::{Ast, ByteSet};
use crate::work::spend;

/// The most ways through a row.
const MOST_WAYS: usize = 128;

/// The most items of all ways through a new pattern, which has at most 4,096 bytes.
const MOST_ITEMS: usize = 1_000_000;

/// A way through a pattern. Two ways are written alike only if they have the same items.
pub type Way = Vec<u8>;

/// The rows that a pattern may stand for, by the ways through them.
pub struct Ways<'b> {
    /// For each value, and each way through a row with this value: the rows.
    rows: HashMap<(&'b [u8], Way), Vec<usize>>,
    /// For each row, how many different ways lead through it; 0 if no other pattern may stand for it.
    counts: Vec<usize>,
    /// The rows with the same ways as an earlier one, with the first such row, which decides on all their subjects.
    twins: HashMap<usize, usize>,
}

impl<'b> Ways<'b> {
    /// The ways through rows, each with its place among `count` rows, its value and its tree.
    pub fn new<'a>(count: usize, rows: impl Iterator<Item = (usize, &'b [u8], &'a Ast)>) -> Ways<'b> {
        let mut ways = Ways { rows: HashMap::new(), counts: vec![0; count], twins: HashMap::new() };
        let mut known: HashMap<Vec<Way>, usize> = HashMap::new();
        for (place, value, ast) in rows {
            let Some(through) = through(ast, MOST_WAYS, MOST_ITEMS) else { continue };
            ways.counts[place] = through.len();
            for way in &through {
                ways.rows.entry((value, way.clone())).or_default().push(place);
            }
            let first = *known.entry(through).or_insert(place);
            if first < place {
                ways.twins.insert(place, first);
            }
        }
        ways
    }

    /// The first of the rows with the same ways as a row, if that is an earlier one.
    pub fn first(&self, row: usize) -> Option<usize> {
        self.twins.get(&row).copied()
    }

    /// The rows with a value all of whose ways are among these, and the first way that is through none of them.
    pub fn covered(&self, value: &'b [u8], ways: &[Way]) -> (Vec<usize>, Option<usize>) {
        let found: Vec<&[usize]> =
            ways.iter().map(|way| self.rows.get(&(value, way.clone())).map_or(&[][..], Vec::as_slice)).collect();
        let mut counts: HashMap<usize, usize> = HashMap::new();
        found.iter().copied().flatten().for_each(|row| *counts.entry(*row).or_default() += 1);
        let is_covered = |row: &usize| counts[row] == self.counts[*row];
        let mut rows: Vec<usize> = counts.keys().copied().filter(is_covered).collect();
        rows.sort_unstable();
        (rows, found.iter().position(|rows| !rows.iter().any(&is_covered)))
    }
}

/// The ways through a new pattern, as [`through`]; `None` if they are too long together.
pub fn of_pattern(ast: &Ast) -> Option<Vec<Way>> {
    through(ast, usize::MAX, MOST_ITEMS)
}

/// The ways through a pattern, ascending and distinct; `None` if they are more than `most`, or too long together.
fn through(ast: &Ast, most: usize, most_items: usize) -> Option<Vec<Way>> {
    let mut walk = Walk { ways: Vec::new(), most, left: most_items };
    walk.go(&mut vec![ast], &mut Vec::new())?;
    spend(most_items - walk.left);
    walk.ways.sort_unstable();
    walk.ways.dedup();
    Some(walk.ways)
}

struct Walk {
    ways: Vec<Way>,
    most: usize,
    /// How many more items may be read.
    left: usize,
}

impl Walk {
    /// Follows all ways through the items of a stack, of which the next is last. `before` are the items so far.
    fn go<'a>(&mut self, stack: &mut Vec<&'a Ast>, before: &mut Vec<&'a Ast>) -> Option<()> {
        let start = before.len();
        while let Some(item) = stack.pop() {
            self.left = self.left.checked_sub(1)?;
            match item {
                Ast::Empty => {}
                Ast::Concat(items) => stack.extend(items.iter().rev()),
                Ast::Capture { sub, .. } | Ast::Repeat { min: 1, max: Some(1), sub, .. } => stack.push(sub),
                Ast::Alternation(branches) => {
                    for branch in branches {
                        self.left = self.left.checked_sub(stack.len())?;
                        let mut stack = stack.clone();
                        stack.push(branch);
                        self.go(&mut stack, before)?;
                    }
                    before.truncate(start);
                    return Some(());
                }
                item => before.push(item),
            }
        }
        let way = written(before, &mut self.left)?;
        before.truncate(start);
        self.ways.push(way);
        (self.ways.len() <= self.most).then_some(())
    }
}

/// Writes a way, with as few rounds of the repetitions at its ends as there may be, if that is none or one.
fn written(mut items: &[&Ast], left: &mut usize) -> Option<Way> {
    while let [Ast::Repeat { min: 0, .. }, rest @ ..] | [rest @ .., Ast::Repeat { min: 0, .. }] = items {
        items = rest;
    }
    *left = left.checked_sub(items.len())?;
    let mut way = Way::new();
    for (at, item) in items.iter().enumerate() {
        match item {
            Ast::Repeat { min: 1, sub, .. } if at == 0 || at + 1 == items.len() => write(sub, &mut way),
            item => write(item, &mut way),
        }
    }
    Some(way)
}

/// Writes an item so that it can be told from all others, whatever follows. Groups and greed make no difference.
fn write(item: &Ast, way: &mut Way) {
    let set = |set: &ByteSet, way: &mut Way| match set.iter().next().filter(|_| set.len() == 1) {
        Some(byte) => way.extend([0, byte]),
        None => {
            let ranges = set.ranges();
            way.extend([1, ranges.len() as u8]);
            ranges.into_iter().for_each(|(first, last)| way.extend([first, last]));
        }
    };
    let all = |kind: u8, items: &[Ast], way: &mut Way| {
        way.push(kind);
        way.extend(items.len().to_be_bytes());
        items.iter().for_each(|item| write(item, way));
    };
    match item {
        Ast::Byte(byte) => way.extend([0, *byte]),
        Ast::Class(members) => set(members, way),
        Ast::Concat(items) => all(2, items, way),
        Ast::Alternation(items) => all(3, items, way),
        Ast::Repeat { min, max, sub, .. } => {
            way.push(4);
            way.extend(min.to_be_bytes());
            way.extend(max.map_or([u8::MAX; 8], |max| u64::from(max).to_be_bytes()));
            write(sub, way);
        }
        Ast::Capture { sub, .. } => write(sub, way),
        Ast::Empty => way.push(5),
        Ast::Start => way.push(6),
        Ast::Dollar => way.push(7),
        Ast::End => way.push(8),
        Ast::WordBoundary => way.push(9),
        Ast::NotWordBoundary => way.push(10),
        // The rows and patterns compared are understood exactly, and have none.
        Ast::Superset { sub, .. } => {
            way.push(11);
            write(sub, way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_ITEMS, MOST_WAYS, through};
    use crate::syntax::parse;

    fn are_alike(one: &str, other: &str) -> bool {
        let ways = |text: &str| through(&parse(text.as_bytes()).expect("a pattern").ast, MOST_WAYS, MOST_ITEMS);
        ways(one).expect("few ways") == ways(other).expect("few ways")
    }

    /// Ways do not depend on how alternatives are grouped, and on nothing else that does not matter.
    #[test]
    fn alike() {
        for (one, other) in [
            (r"\b(?:ab|ac)\b", r"(?:\b)(?:a(?:c|b))(?:\b)"),
            ("a(?:b|)c", "ac|abc"),
            ("(?i)a[Bb]", "[aA][bB]"),
            (".*a.*", "a"),
            ("(a|b){1}", "a|b"),
            ("a(b*)c", "ab*?c"),
            ("a+", "a"),
            (r"x/[\d.]+", "x/[0-9.]"),
        ] {
            assert!(are_alike(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("ab", "ba"),
            ("(?i)ab", "[aA](?:b|B)"),
            ("a", "A"),
            (r"a\b", "a"),
            ("^a", "a"),
            ("a$", r"a\z"),
            ("xa+b", "xab"),
            ("^a+b", "^ab"),
            ("xa{2}", "xa"),
            ("a{2}b", "a{3}b"),
            ("[ab]", "[ac]"),
            ("(?:ab)*c", "a*bc"),
            (r"\bab", r"\Bab"),
        ] {
            assert!(!are_alike(one, other), "{one} {other}");
        }
    }

    /// More ways than allowed, or longer ones, are not followed.
    #[test]
    fn bounded() {
        let many = parse("(?:a|b)(?:a|b)(?:a|b)(?:a|b)".as_bytes()).expect("a pattern");
        assert_eq!(through(&many.ast, 16, MOST_ITEMS).map(|ways| ways.len()), Some(16));
        assert!(through(&many.ast, 15, MOST_ITEMS).is_none() && through(&many.ast, 16, 50).is_none());
    }
}
