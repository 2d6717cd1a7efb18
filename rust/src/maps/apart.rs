//! Rows that must not be evaluated when another one answers, kept apart from the others by filters.
//!
//! PCRE may give up on such a row, or its match sets or reads a variable. Subjects on which one of the filters matches
//! are looked up in a map with all rows of the original, in their order. So that map may answer with any row, whatever
//! its value shows and wherever PCRE gives up. On all other subjects, nothing happens to the rows kept apart, and the
//! other maps need not have them.
//!
//! If PCRE might give up on nearly every long subject, long subjects are looked up in the map with all rows: one more
//! filter matches all that are too long. For the others, a filter need only find what concerns the row in a short
//! subject, such as a literal that all matches contain: PCRE does not get beyond it in a subject without it, and cannot
//! give up before it.

use crate::first_match::{Bounds, ReadPattern, needed_literals};
use crate::language::{self, Limits, Question, Subjects, Witness};
use crate::maps::pattern::beginning_with;
use crate::maps::row::RowFacts;
use crate::maps::sequence::Sequence;
use crate::maps::stays::Stays;
use crate::maps::text::Key;
use crate::maps::union::{branches, union};
use crate::maps::writer::Writer;
use crate::parallel;
use crate::pattern_text::{LONGEST, most, token_length};
use crate::pcre::{MatchOutcome, Regex};
use crate::syntax::{self, Ast, Hir};
use crate::work::spend;

/// The shortest literal of use; almost all subjects contain shorter ones.
const SHORTEST: usize = 3;

/// The most rows that share a filter made of their patterns, which PCRE tries one after the other.
const MOST_PATTERNS: usize = 16;

/// The number of other rows on whose examples filters are compared, and the most calls of PCRE for one.
const EXAMPLES: usize = 200;
const CALLS: u32 = 10_000;

/// The most pairs of states to visit to show that a filter lets a row pass.
const MOST_STATES: usize = 1_000;

/// The lengths in bytes up to which subjects are short, if they must be told from long ones. Most URIs are shorter than
/// the first of them.
const SHORT: [usize; 3] = [256, 512, 1_024];

/// The text around a pattern.
const FRAME: &[u8] = b"~*^(?:)(?:)";

/// The filters.
pub struct Apart {
    patterns: Vec<Pattern>,
}

/// The pattern of a filter.
struct Pattern {
    text: Vec<u8>,
    caseless: bool,
}

/// What a filter may look for so that a row passes.
enum Sign<'r> {
    /// The beginnings of its matches.
    Beginnings(&'r [Sequence]),
    /// Literals, in any case.
    Literals(Vec<Sequence>),
    /// The items of its branches, up to where PCRE may give up.
    Items { items: Vec<Vec<Ast>>, language: Hir },
}

impl Apart {
    /// The filters for some rows. Fails with the first row that no filter tells from others.
    pub fn of(rows: &[RowFacts], apart: &[(usize, Stays)], folded: bool) -> Result<Apart, Stays> {
        let (filters, with_sign) = Apart::of_most(rows, apart, folded)?;
        match apart.iter().find(|(row, _)| with_sign.binary_search(row).is_err()) {
            Some((_, reason)) => Err(*reason),
            None => Ok(filters),
        }
    }

    /// The filters for those of some rows that can be told from others, and these rows, ascending.
    pub fn of_most(rows: &[RowFacts], apart: &[(usize, Stays)], folded: bool) -> Result<(Apart, Vec<usize>), Stays> {
        let examples = examples(rows, apart);
        let sign = |at: usize| Sign::of(&rows[apart[at].0], folded, &examples);
        let mut signs = parallel::collect(apart.len(), sign);
        let without: Vec<usize> = (0..apart.len()).filter(|at| signs[*at].is_none()).collect();
        let short = |length: usize| -> Vec<Option<Sign>> {
            without.iter().map(|at| Sign::of_short(&rows[apart[*at].0], length, folded, &examples)).collect()
        };
        // Of the lengths with the most signs, the largest.
        let count = |(_, signs): &(usize, Vec<Option<Sign>>)| signs.iter().flatten().count();
        let shorter = SHORT.into_iter().map(|length| (length, short(length))).max_by_key(count);
        let shorter = shorter.filter(|found| count(found) > 0);
        let short = shorter.as_ref().map(|(length, _)| *length);
        for (at, sign) in without.iter().zip(shorter.into_iter().flat_map(|(_, signs)| signs)) {
            signs[*at] = sign;
        }
        let signs = signs.into_iter().enumerate().filter_map(|(at, sign)| Some((apart[at].0, sign?)));
        let (with_sign, signs): (Vec<usize>, Vec<Sign>) = signs.unzip();
        let mut patterns = Vec::new();
        let sequences = |sequences: Vec<&Sequence>, caseless: bool, frame: fn(Vec<u8>) -> Vec<u8>| {
            let pattern = |sequences: &[&Sequence]| {
                spend(16 * sequences.len());
                Some(Pattern { text: frame(beginning_with(sequences, caseless)?), caseless })
            };
            divided(&sequences, usize::MAX, pattern)
        };
        let beginnings = signs.iter().flat_map(Sign::beginnings).collect();
        let literals = signs.iter().flat_map(Sign::literals).collect();
        let last = apart.last().map_or(Stays::NotWorse, |(_, reason)| *reason);
        patterns.extend(sequences(sorted(beginnings), folded, anchored).ok_or(last)?);
        patterns.extend(sequences(sorted(literals), true, std::convert::identity).ok_or(last)?);
        let items: Vec<(&Vec<Vec<Ast>>, &Hir)> = signs.iter().filter_map(Sign::items).collect();
        patterns.extend(divided(&items, MOST_PATTERNS, of_items).ok_or(last)?);
        if let Some(short) = short {
            patterns.push(Pattern { text: format!("(?s)^.{{{}}}", short + 1).into_bytes(), caseless: false });
        }
        Ok((Apart { patterns }, with_sign))
    }

    /// Writes the maps; `next` is the value of subjects that no filter lets pass. Returns the variable that has the
    /// answer.
    pub fn write(&self, writer: &mut Writer, next: &[u8]) -> Vec<u8> {
        let mut original = writer.of_source("original");
        original.rows = (0..writer.rows.len()).map(|row| writer.verbatim(row)).collect();
        original.default = writer.fallback();
        let original = writer.add(original);
        let mut map = writer.of_source("apart");
        for Pattern { text, caseless } in &self.patterns {
            // The proof would mistake a pattern of the original for its row.
            let is_row = writer.is_row(text, *caseless);
            let pattern = if is_row { [b"(?:", &**text, b")"].concat() } else { text.clone() };
            map.rows.push((Key::Pattern { pattern, caseless: *caseless }, original.clone()));
        }
        map.default = next.to_vec();
        writer.add(map)
    }
}

impl<'r> Sign<'r> {
    /// The sign of a row that the fewest examples of other rows have. `None` if there is none.
    fn of(row: &'r RowFacts, folded: bool, examples: &[Vec<u8>]) -> Option<Sign<'r>> {
        let read = ReadPattern::of(row.text);
        let events = read.as_ref().and_then(ReadPattern::events);
        let beginnings = Some(row.sequences()).filter(|sequences| row.is_skippable && !sequences.is_empty());
        let signs = [
            beginnings.map(Sign::Beginnings),
            events.and_then(Sign::of_literals),
            events.filter(|events| events.translation.exact).and_then(Sign::of_items),
        ];
        Sign::rarest(signs, folded, examples)
    }

    /// As [`Sign::of`], for subjects of at most `length` bytes.
    fn of_short(row: &'r RowFacts, length: usize, folded: bool, examples: &[Vec<u8>]) -> Option<Sign<'r>> {
        let events = ReadPattern::of(row.text)?.events_within(length)?;
        let of_items = || Some(&events).filter(|events| events.translation.exact).and_then(Sign::of_items);
        Sign::rarest([Sign::of_literals(&events), of_items()], folded, examples)
    }

    fn rarest(
        signs: impl IntoIterator<Item = Option<Sign<'r>>>,
        folded: bool,
        examples: &[Vec<u8>],
    ) -> Option<Sign<'r>> {
        let count = |sign: &Sign| {
            spend(8 * examples.len());
            examples.iter().filter(|example| sign.is_of(example, folded)).count()
        };
        let sign = signs.into_iter().flatten().min_by_key(count)?;
        // If most rows have it, too, most subjects would be looked up in the original map.
        (2 * count(&sign) <= examples.len()).then_some(sign)
    }

    fn of_literals(events: &ReadPattern) -> Option<Sign<'r>> {
        let needs = needed_literals(events);
        let are_long = !needs.is_empty() && needs.iter().all(|literal| literal.len() >= SHORTEST);
        let sequence = |bytes: Vec<u8>| Sequence { bytes, sets: Vec::new() };
        are_long.then(|| Sign::Literals(needs.into_iter().map(sequence).collect()))
    }

    fn of_items(events: &ReadPattern) -> Option<Sign<'r>> {
        let sign = Sign::Items { items: branches(&events.pattern.ast), language: events.translation.hir.clone() };
        sign.items().and_then(|items| of_items(&[items])).map(|_| sign)
    }

    /// Whether a subject has the sign; a guess if that takes long.
    fn is_of(&self, subject: &[u8], folded: bool) -> bool {
        match self {
            Sign::Beginnings(sequences) => {
                let lowered = if folded { subject.to_ascii_lowercase() } else { subject.to_vec() };
                sequences.iter().any(|sequence| lowered.len() >= sequence.bytes.len() && sequence.fits(&lowered, 0))
            }
            Sign::Literals(literals) => {
                let lowered = subject.to_ascii_lowercase();
                literals.iter().any(|literal| memchr::memmem::find(&lowered, &literal.bytes).is_some())
            }
            Sign::Items { items, .. } => {
                let regex = union(items).and_then(|pattern| Regex::new(&pattern).ok());
                regex.is_none_or(|regex| regex.is_match(subject, CALLS) != MatchOutcome::No)
            }
        }
    }

    fn beginnings(&self) -> &'r [Sequence] {
        if let Sign::Beginnings(sequences) = self { sequences } else { &[] }
    }

    fn literals(&self) -> &[Sequence] {
        if let Sign::Literals(literals) = self { literals } else { &[] }
    }

    fn items(&self) -> Option<(&Vec<Vec<Ast>>, &Hir)> {
        if let Sign::Items { items, language } = self { Some((items, language)) } else { None }
    }
}

/// Examples of what some of the other rows match.
fn examples(rows: &[RowFacts], apart: &[(usize, Stays)]) -> Vec<Vec<u8>> {
    let is_other = |row: &usize| apart.binary_search_by_key(row, |(row, _)| *row).is_err();
    let step = rows.len().div_ceil(EXAMPLES).max(1);
    let others = (0..rows.len()).step_by(step).filter(is_other);
    others.filter_map(|row| syntax::example(&syntax::parse(rows[row].text).ok()?.ast)).collect()
}

/// Sorts sequences, so that those in one filter have much in common.
fn sorted(mut sequences: Vec<&Sequence>) -> Vec<&Sequence> {
    sequences.sort_by(|one, other| one.bytes.cmp(&other.bytes));
    sequences.dedup();
    sequences
}

/// Divides signs among as few filters as can hold them. `None` if a single sign is too long.
fn divided<S>(signs: &[S], at_most: usize, pattern: impl Fn(&[S]) -> Option<Pattern>) -> Option<Vec<Pattern>> {
    let fine = |signs: &[S]| pattern(signs).filter(is_fine);
    let (mut rest, mut patterns) = (signs, Vec::new());
    while !rest.is_empty() {
        let count = most(rest.len().min(at_most), |count| fine(&rest[..count]).is_some());
        patterns.push(fine(&rest[..count])?);
        rest = &rest[count..];
    }
    Some(patterns)
}

/// Whether nginx can read a pattern, and PCRE never gives up on it.
fn is_fine(pattern: &Pattern) -> bool {
    let text = if pattern.caseless { [b"(?i)", &*pattern.text].concat() } else { pattern.text.clone() };
    token_length(&pattern.text) + FRAME.len() <= LONGEST
        && syntax::parse(&text).is_ok_and(|read| Bounds::of(&read, &read.translate().hir).always_answers)
}

fn anchored(pattern: Vec<u8>) -> Vec<u8> {
    [b"^(?:", &*pattern, b")"].concat()
}

/// A pattern that matches what any of some branches matches. `None` if it cannot be shown that it does.
fn of_items(all: &[(&Vec<Vec<Ast>>, &Hir)]) -> Option<Pattern> {
    let items: Vec<Vec<Ast>> = all.iter().flat_map(|(items, _)| items.iter().cloned()).collect();
    let text = union(&items)?;
    let language = syntax::parse(&text).ok()?.translate().hir;
    let limits = Limits { states: MOST_STATES, ..Limits::default() };
    let is_in = |of_row: &Hir| {
        let (witness, states) =
            language::counted_witness(Subjects::All, Question::Outside, of_row, &[&language], &limits);
        spend(states);
        witness == Witness::Nothing
    };
    let (text, caseless) = match text.strip_prefix(b"(?i)") {
        Some(rest) => (rest.to_vec(), true),
        None => (text, false),
    };
    all.iter().all(|(_, of_row)| is_in(of_row)).then_some(Pattern { text, caseless })
}

#[cfg(test)]
mod tests {
    use super::{Apart, CALLS, MatchOutcome, Regex};
    use crate::maps::example::with_rows;
    use crate::maps::stays::Stays;

    /// Whether a filter lets a row pass that is kept apart, and how many others; `None` if there is no filter.
    fn passing(row: &str, own: &str, others: &[&str]) -> Option<(bool, usize)> {
        with_rows(&[&[row], others].concat(), false, |_, rows| {
            let apart = Apart::of(rows, &[(0, Stays::ShowingRow(0))], false).ok()?;
            let passes = |subject: &str| {
                apart.patterns.iter().any(|pattern| {
                    let regex = if pattern.caseless { Regex::caseless } else { Regex::new };
                    regex(&pattern.text).unwrap().is_match(subject.as_bytes(), CALLS) == MatchOutcome::Yes
                })
            };
            let others = others.iter().map(|row| row.trim_start_matches("~^").split(' ').next().unwrap_or_default());
            Some((passes(own), others.filter(|subject| passes(subject)).count()))
        })
    }

    /// A filter looks for what the fewest other rows have: a beginning, a literal, or the pattern as far as PCRE
    /// certainly answers. There is none that most others pass.
    #[test]
    fn signs() {
        let others = ["~^/a/b 1;", "~^/shop/c 2;", "~^/old/d 3;"];
        // PCRE may give up on any long subject.
        let long = format!("/{}", "/".repeat(2_000));
        for (row, own) in [
            ("'~^/(?<u>.*)\\.$' $u;", "/x."),
            ("'~^/new/(?<u>.*)' $u;", "/new/"),
            ("'~^/shop/.*foo.*bar.*baz' 1;", "/shop/foobarbaz"),
            ("'~^/.*foo.*bar.*baz' 1;", "/xfoobarbaz"),
            ("'~^/id/[0-9]{,3}' 1;", "/id/7"),
            ("'~^/.+/.*/foo.*x' 1;", "/a/b/foox"),
            ("'~^/.+/.*/foo.*x' 1;", &long),
        ] {
            assert_eq!(passing(row, own, &others), Some((true, 0)), "{row}");
        }
        for row in ["'~^/z{,3}a' 1;", "'~^/(?<u>.*)$' $u;"] {
            assert_eq!(passing(row, "/aa", &others), None, "{row}");
        }
    }
}
