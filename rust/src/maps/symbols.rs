//! Finds rows that may match the same subject, judged by their beginnings.
//!
//! A beginning is written as a text of symbols. A symbol is a byte or a set of bytes. Two texts *meet* if some string
//! begins with both.

use std::iter;
use std::ops::Range;

use hashbrown::HashMap;

use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::parallel;
use crate::syntax::ByteSet;
use crate::work::spend;

/// A byte, or, from 256 on, the number of a set of bytes plus 256.
pub type Symbol = u16;

/// The sets of bytes that occur in some sequences.
pub struct Symbols {
    sets: Vec<ByteSet>,
    numbers: HashMap<ByteSet, Symbol>,
}

/// One beginning of a row.
pub struct SymbolText {
    pub row: usize,
    pub symbols: Vec<Symbol>,
    /// Whether nothing but a newline may follow.
    pub is_line: bool,
}

/// The texts of some rows, sorted by their symbols.
pub struct SymbolTexts<'s> {
    symbols: &'s Symbols,
    texts: Vec<SymbolText>,
}

/// Returns the candidates that share no subject with an earlier member: no string begins with a text of both.
pub fn without_earlier(rows: &[RowFacts], members: &[usize], candidates: &[usize]) -> Vec<usize> {
    let symbols = Symbols::of(members.iter().flat_map(|row| rows[*row].sequences()));
    let texts = |row: &usize| symbols.texts(*row, &rows[*row]);
    let all = SymbolTexts::new(&symbols, members.iter().flat_map(texts).collect());
    let is_first = parallel::collect(candidates.len(), |at| {
        let texts = texts(&candidates[at]);
        !texts.iter().any(|text| all.has_earlier(text))
    });
    candidates.iter().zip(is_first).filter(|(_, first)| *first).map(|(row, _)| *row).collect()
}

impl Symbols {
    pub fn of<'q>(sequences: impl Iterator<Item = &'q Sequence>) -> Symbols {
        let mut symbols = Symbols { sets: Vec::new(), numbers: HashMap::new() };
        for (_, set) in sequences.flat_map(|sequence| &sequence.sets) {
            if !symbols.numbers.contains_key(set) && symbols.sets.len() < usize::from(Symbol::MAX) - 256 {
                symbols.numbers.insert(*set, 256 + symbols.sets.len() as Symbol);
                symbols.sets.push(*set);
            }
        }
        symbols
    }

    /// The beginnings of a row.
    pub fn texts(&self, row: usize, facts: &RowFacts) -> Vec<SymbolText> {
        let text = |sequence: &Sequence| {
            let mut symbols = self.text(sequence);
            if !facts.is_certain {
                // The proof does not follow a row further than this if PCRE may give up on it.
                symbols.truncate(facts.singles);
            }
            SymbolText { row, symbols, is_line: facts.is_line && facts.singles == sequence.bytes.len() }
        };
        facts.sequences().iter().map(text).collect()
    }

    pub fn text(&self, sequence: &Sequence) -> Vec<Symbol> {
        let mut symbols: Vec<Symbol> = sequence.bytes.iter().map(|byte| Symbol::from(*byte)).collect();
        for (at, set) in &sequence.sets {
            match self.numbers.get(set) {
                Some(number) => symbols[*at] = *number,
                None => {
                    symbols.truncate(*at);
                    break;
                }
            }
        }
        symbols
    }

    /// Whether a byte belongs to both symbols.
    fn meet(&self, one: Symbol, other: Symbol) -> bool {
        match (u8::try_from(one), u8::try_from(other)) {
            (Ok(one), Ok(other)) => one == other,
            (Ok(byte), Err(_)) => self.set(other).contains(byte),
            (Err(_), Ok(byte)) => self.set(one).contains(byte),
            (Err(_), Err(_)) => !self.set(one).intersection(self.set(other)).is_empty(),
        }
    }

    fn set(&self, symbol: Symbol) -> &ByteSet {
        &self.sets[usize::from(symbol) - 256]
    }
}

impl<'s> SymbolTexts<'s> {
    pub fn new(symbols: &'s Symbols, mut texts: Vec<SymbolText>) -> SymbolTexts<'s> {
        texts.sort_by(|one, other| one.symbols.cmp(&other.symbols));
        SymbolTexts { symbols, texts }
    }

    pub fn all(&self) -> &[SymbolText] {
        &self.texts
    }

    /// Whether some string may begin with both this text and a text of an earlier row.
    pub fn has_earlier(&self, text: &SymbolText) -> bool {
        let mut stack = vec![(0..self.texts.len(), 0)];
        while let Some((range, depth)) = stack.pop() {
            let is_earlier = |other: &&SymbolText| other.row < text.row;
            let ends = self.ends(&range, depth);
            spend(2 + ends - range.start);
            let is_newline = |other: &[Symbol]| other.len() == depth + 1 && self.symbols.meet(other[depth], 10);
            let may_end = text.symbols.len() == depth || is_newline(&text.symbols);
            if self.texts[range.start..ends].iter().filter(is_earlier).any(|other| may_end || !other.is_line) {
                return true;
            }
            let rest = ends..range.end;
            if depth < text.symbols.len() {
                self.following(rest, depth, text.symbols[depth]).for_each(|range| stack.push((range, depth + 1)));
            } else if self.texts[rest]
                .iter()
                .filter(is_earlier)
                .any(|other| !text.is_line || is_newline(&other.symbols))
            {
                return true;
            }
        }
        false
    }

    /// Returns the length of the shortest beginning of a text that meets no other text. This is the whole text if the
    /// rows differ only in what follows it.
    pub fn own(&self, at: usize) -> usize {
        let text = &self.texts[at];
        let mut ranges: Vec<Range<usize>> = iter::once(0..self.texts.len()).collect();
        for (depth, symbol) in text.symbols.iter().enumerate() {
            spend(2 * ranges.len());
            let next: Vec<Range<usize>> = ranges
                .into_iter()
                .flat_map(|range| {
                    self.following(self.ends(&range, depth)..range.end, depth, *symbol).collect::<Vec<_>>()
                })
                .collect();
            if let [range] = next.as_slice()
                && range.len() == 1
            {
                return depth + 1;
            }
            ranges = next;
        }
        text.symbols.len()
    }

    /// Returns the end of those texts in a range that have just `depth` symbols. They come first.
    fn ends(&self, range: &Range<usize>, depth: usize) -> usize {
        range.start + self.texts[range.clone()].partition_point(|text| text.symbols.len() <= depth)
    }

    /// Returns the parts of a range of texts in which the symbol at `depth` has a byte in common with `symbol`. All
    /// texts of the range are longer than `depth`.
    fn following(&self, range: Range<usize>, depth: usize, symbol: Symbol) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut start = range.start;
        // The only byte that a byte meets is itself.
        if let Ok(byte) = u8::try_from(symbol) {
            start += self.texts[range.clone()].partition_point(|text| text.symbols[depth] < Symbol::from(byte));
        }
        iter::from_fn(move || {
            while start < range.end {
                let first = self.texts[start].symbols[depth];
                let part =
                    start..start + self.texts[start..range.end].partition_point(|text| text.symbols[depth] == first);
                start = part.end;
                if first > symbol && symbol < 256 && first < 256 {
                    start += self.texts[start..range.end].partition_point(|text| text.symbols[depth] < 256);
                }
                if self.symbols.meet(first, symbol) {
                    return Some(part);
                }
            }
            None
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{SymbolText, SymbolTexts, Symbols};
    use crate::maps::sequence::Sequence;
    use crate::syntax::ByteSet;

    fn sequence(text: &str) -> Sequence {
        let mut sequence = Sequence::default();
        for byte in text.bytes() {
            sequence.push(&match byte {
                b'.' => ByteSet::NO_NEWLINE,
                b'0' => ByteSet::of(|byte| byte.is_ascii_digit()),
                byte => ByteSet::one(byte),
            });
        }
        sequence
    }

    /// Strings that begin with a text, as far as two texts can tell them apart.
    fn matches(text: &str, is_line: bool, string: &[u8]) -> bool {
        let sequence = sequence(text);
        let behind = string.get(sequence.bytes.len()..);
        behind.is_some_and(|behind| !is_line || behind.is_empty() || behind == b"\n") && sequence.fits(string, 0)
    }

    proptest! {
        /// The searches agree with a scan of short strings, except that they may report a common string that does not
        /// exist if a text may only be followed by a newline.
        #[test]
        fn agree_with_a_scan(rows in prop::collection::vec(("[ab.0]{1,3}", any::<bool>()), 1..7)) {
            let sequences: Vec<Sequence> = rows.iter().map(|(text, _)| sequence(text)).collect();
            let symbols = Symbols::of(sequences.iter());
            let text = |row: usize| SymbolText { row, symbols: symbols.text(&sequences[row]), is_line: rows[row].1 };
            let texts = SymbolTexts::new(&symbols, (0..rows.len()).map(text).collect());
            let bytes = [b'a', b'b', b'7', b'x', b'\n'];
            let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
            for at in 0..5 {
                let longer = strings.iter().filter(|string| string.len() == at);
                let longer: Vec<Vec<u8>> =
                    longer.flat_map(|string| bytes.map(|byte| [&string[..], &[byte]].concat())).collect();
                strings.extend(longer);
            }
            let meet = |one: usize, other: usize| {
                strings.iter().any(|string| {
                    [one, other].into_iter().all(|row| matches(&rows[row].0, rows[row].1, string))
                })
            };
            for row in 0..rows.len() {
                prop_assert_eq!(texts.has_earlier(&text(row)), (0..row).any(|earlier| meet(earlier, row)));
            }
            for at in 0..texts.all().len() {
                let (own, row) = (texts.own(at), texts.all()[at].row);
                let begin_alike = |other: usize, length: usize| {
                    let (text, other) = (&rows[row].0[..length], &rows[other].0);
                    other.len() >= length && strings.iter().any(|string| {
                        matches(text, false, string) && matches(&other[..length], false, string)
                    })
                };
                let is_own = |length: usize| (0..rows.len()).all(|other| other == row || !begin_alike(other, length));
                let least = (1..=rows[row].0.len()).find(|length| is_own(*length));
                prop_assert_eq!(own, least.unwrap_or(rows[row].0.len()));
            }
        }
    }
}
