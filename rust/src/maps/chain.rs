//! Writes a chain: rows that nginx tries in order, in groups behind guards.
//!
//! A guard is a pattern that tells when no row of its group can match, so that nginx skips the group.

use hashbrown::HashMap;

use crate::first_match::Bounds;
use crate::language::{self, Limits, Question, Subjects, Witness};
use crate::maps::pattern::beginning_with;
use crate::maps::row::RowFacts;
use crate::maps::segment;
use crate::maps::sequence::Sequence;
use crate::maps::sign::signs;
use crate::maps::text::{EmittedMap, Key};
use crate::maps::union::{branches, union};
use crate::maps::writer::Writer;
use crate::pattern_text::{LONGEST, most, token_length};
use crate::syntax::{self, Ast, Hir, Pattern};
use crate::work::spend;

/// Groups of up to this many rows have no guard. In a list of [`MANY`] rows or more, the limit is one row.
const UNGUARDED: usize = 2;

/// From this many rows on, a list counts as long.
const MANY: usize = 12;

/// The most rows behind one guard; larger groups are divided by guards of their own. In a long chain there are at most
/// [`MOST_GROUPS`] of these, with more rows: each one is a level of nested maps.
const GROUP: usize = 64;
const MOST_GROUPS: usize = 8;

/// How many places after a dot a guard for rare subjects checks: the first of these numbers for which the pattern fits.
const FURTHER: [usize; 3] = [8, 3, 1];

/// Maps with more rows get no exact guards, because finding these takes too long.
const MOST_FOR_EXACT: usize = 5_000;

/// The most pairs of states to visit to show that an exact guard lets a row pass, and the cost of building the
/// automata, in the same unit.
const MOST_STATES: usize = 1_000;
const BUILDING: usize = 100;

/// The most pairs of states to visit to show that an exact guard lets nothing else pass.
const MOST_STATES_OF_GUARD: usize = 5_000;

/// Limits of comparing a pattern with its guard item by item: the most ways through the pattern, and the most rounds of
/// a repetition.
const MOST_WAYS: usize = 64;
const MOST_ROUNDS: u32 = 16;

/// The text around a guard.
const FRAME: &[u8] = b"~*^(?!)";

/// The shortest literal to use in a guard; too many subjects contain shorter ones.
const SHORTEST_LITERAL: usize = 2;

/// Writes the maps of a chain.
pub struct ChainWriter<'w, 'm> {
    writer: &'w mut Writer<'m>,
    /// The start of the names of its maps.
    label: &'w str,
    count: usize,
    /// The most rows behind one guard.
    group: usize,
    /// The signs of the rows of a long chain.
    signs: HashMap<usize, Vec<Vec<Ast>>>,
}

/// A pattern that tells whether a group of rows can be skipped.
enum Guard {
    /// The rows match only subjects whose beginning matches this.
    Beginning(Vec<u8>),
    /// The rows match only subjects in which this matches, ignoring case.
    Inside(Vec<u8>),
    /// The rows match only subjects whose beginning, or text after the last slash, matches this.
    Segment(Vec<u8>),
    /// The rows match only subjects in which this matches.
    Signs { pattern: Vec<u8>, caseless: bool },
}

/// A pattern that matches a subject exactly if one of the rows of a group does.
struct ExactGuard {
    pattern: Vec<u8>,
    caseless: bool,
}

impl<'w, 'm> ChainWriter<'w, 'm> {
    fn new(writer: &'w mut Writer<'m>, label: &'w str) -> Self {
        ChainWriter { writer, label, count: 0, group: GROUP, signs: HashMap::new() }
    }

    /// Writes maps that try the rows in order, and returns the variable of the first map. The value is `next` if no row
    /// matches, and the default of the original if PCRE gives up on a row.
    pub fn write(writer: &'w mut Writer<'m>, label: &'w str, rows: &[usize], next: &[u8]) -> Vec<u8> {
        let mut chain = ChainWriter::new(writer, label);
        if rows.len() >= chain.writer.large.signs && !chain.writer.folded {
            let signs = |row: &usize| Some((*row, signs(chain.writer.rows[*row].text)?));
            chain.signs = rows.iter().filter_map(signs).collect();
            chain.group = GROUP.max(rows.len().div_ceil(MOST_GROUPS));
        }
        let groups = chain.groups(rows);
        groups.into_iter().rev().fold(next.to_vec(), |next, group| chain.group(group, &next))
    }

    /// As [`ChainWriter::write`], but evaluating the maps leaves the captures of the row that matches, or sets none.
    /// `None` if PCRE may give up on a row.
    pub fn write_keeping(writer: &'w mut Writer<'m>, label: &'w str, rows: &[usize], next: &[u8]) -> Option<Vec<u8>> {
        if !rows.iter().all(|row| writer.is_certain(*row)) {
            return None;
        }
        let mut chain = ChainWriter::new(writer, label);
        Some(rows.chunks(GROUP).rev().fold(next.to_vec(), |next, group| chain.keeping_group(group, &next)))
    }

    fn unguarded(&self) -> usize {
        if self.writer.rows.len() < MANY { UNGUARDED } else { 1 }
    }

    /// Writes rows behind exact guards, which set no captures unless a row does. Halves the rows until each part has
    /// such a guard or needs none.
    fn keeping_group(&mut self, rows: &[usize], next: &[u8]) -> Vec<u8> {
        if rows.len() <= self.unguarded() {
            return self.plain(rows, None, next);
        }
        if let Some(exact) = self.exact(rows, false).filter(|exact| self.matches_only(rows, exact)) {
            let body = self.plain(rows, None, next);
            return self.behind(exact.pattern, exact.caseless, body, next);
        }
        let (group, others) = rows.split_at(rows.len() / 2);
        let next = self.keeping_group(others, next);
        self.keeping_group(group, &next)
    }

    /// Whether it can be proved that a guard matches only subjects that one of the rows matches.
    fn matches_only(&mut self, rows: &[usize], exact: &ExactGuard) -> bool {
        let flag = if exact.caseless { &b"(?i)"[..] } else { b"" };
        let hir = |text: &[u8]| syntax::parse(text).ok().map(|pattern| pattern.translate().hir);
        let hirs: Option<Vec<Hir>> = rows.iter().map(|row| hir(self.writer.rows[*row].text)).collect();
        let (Some(guard), Some(hirs)) = (hir(&[flag, &exact.pattern].concat()), hirs) else { return false };
        self.is_included(&guard, &hirs.iter().collect::<Vec<_>>(), MOST_STATES_OF_GUARD)
    }

    /// As [`ChainWriter::write`], in one map, for rows that hardly ever match although the subject has their first
    /// `length` bytes. Their guard checks these and a few more.
    pub fn write_rare(
        writer: &'w mut Writer<'m>,
        label: &'w str,
        rows: &[usize],
        length: usize,
        next: &[u8],
    ) -> Vec<u8> {
        let mut chain = ChainWriter::new(writer, label);
        let guard = FURTHER.into_iter().find_map(|further| chain.short_guard(rows, length + further));
        chain.plain(rows, guard.filter(|_| rows.len() > UNGUARDED), next)
    }

    /// A guard that checks the first `length` places of the rows.
    fn short_guard(&self, rows: &[usize], length: usize) -> Option<Vec<u8>> {
        let sequences = rows.iter().flat_map(|row| self.writer.rows[*row].sequences());
        let sequences: Vec<Sequence> = sequences.map(|sequence| sequence.first(length)).collect();
        let pattern = beginning_with(&sequences.iter().collect::<Vec<_>>(), self.writer.folded)?;
        (token_length(&pattern) + FRAME.len() <= LONGEST).then_some(pattern)
    }

    /// Divides rows into groups. Each group either has a guard that fits into a pattern, or consists of rows that no
    /// guard can skip.
    fn groups<'r>(&self, rows: &'r [usize]) -> Vec<&'r [usize]> {
        let mut groups = Vec::new();
        let kind = |row: &usize| (self.is_guarded(*row), self.signs.contains_key(row));
        for run in rows.chunk_by(|one, other| kind(one) == kind(other)) {
            let mut rest = run;
            while !rest.is_empty() {
                let is_guarded = self.is_guarded(rest[0]);
                let count = if is_guarded {
                    most(rest.len(), |count| self.guard(&rest[..count]).is_some())
                } else {
                    rest.len()
                };
                let (group, others) = rest.split_at(count);
                groups.push(group);
                rest = others;
            }
        }
        groups
    }

    fn group(&mut self, rows: &[usize], next: &[u8]) -> Vec<u8> {
        let guard = if rows.len() > self.unguarded() { self.guard(rows) } else { None };
        let Some(guard) = guard else { return self.plain(rows, None, next) };
        if rows.len() > self.group {
            let body = rows.chunks(self.group).rev().fold(next.to_vec(), |next, group| self.group(group, &next));
            return match guard {
                Guard::Beginning(pattern) => {
                    let mut map = self.next_map();
                    map.rows.push((self.none_begins(pattern), next.to_vec()));
                    map.default = body;
                    self.writer.add(map)
                }
                Guard::Inside(pattern) => self.behind(pattern, true, body, next),
                Guard::Segment(pattern) => self.behind(pattern, false, body, next),
                Guard::Signs { pattern, caseless } => self.behind(pattern, caseless, body, next),
            };
        }
        match guard {
            Guard::Beginning(pattern) => {
                let exact = self.exact(rows, true).filter(|exact| exact.caseless == self.writer.folded);
                self.plain(rows, Some(exact.map_or(pattern, |exact| exact.pattern)), next)
            }
            Guard::Inside(pattern) => {
                let body = self.plain(rows, None, next);
                let (pattern, caseless) =
                    self.exact(rows, false).map_or((pattern, true), |exact| (exact.pattern, exact.caseless));
                self.behind(pattern, caseless, body, next)
            }
            Guard::Segment(pattern) => {
                let body = self.plain(rows, None, next);
                self.behind(pattern, false, body, next)
            }
            Guard::Signs { pattern, caseless } => {
                let body = self.plain(rows, None, next);
                self.behind(pattern, caseless, body, next)
            }
        }
    }

    /// Writes a map that leads to `body` if a pattern matches, and to `next` otherwise. If a row has the same pattern,
    /// the pattern is wrapped in `(?:...)`, so that the proof does not mistake it for that row.
    fn behind(&mut self, mut pattern: Vec<u8>, caseless: bool, body: Vec<u8>, next: &[u8]) -> Vec<u8> {
        if self.writer.is_row(&pattern, caseless) {
            pattern = [b"(?:", &*pattern, b")"].concat();
        }
        let mut map = self.next_map();
        map.rows.push((Key::Pattern { pattern, caseless }, body));
        map.default = next.to_vec();
        self.writer.add(map)
    }

    /// The exact guard of some rows. If `anchored`, all rows must begin with `^`, and the guard is written without it.
    fn exact(&mut self, rows: &[usize], anchored: bool) -> Option<ExactGuard> {
        if self.writer.rows.len() > MOST_FOR_EXACT || self.writer.states_left == 0 {
            return None;
        }
        let facts = self.writer.rows;
        let rows: Vec<&RowFacts> = rows.iter().map(|row| &facts[*row]).collect();
        let read = |row: &&RowFacts| syntax::parse(row.text).ok().filter(|_| row.is_certain);
        let patterns = rows.iter().map(read).collect::<Option<Vec<Pattern>>>()?;
        if !patterns.iter().all(|pattern| pattern.translate().exact) {
            return None;
        }
        let mut all: Vec<Vec<Ast>> = patterns.iter().flat_map(|pattern| branches(&pattern.ast)).collect();
        let whole = syntax::parse(&union(&all)?).ok()?;
        if anchored {
            for items in &mut all {
                (items.first() == Some(&Ast::Start)).then(|| items.remove(0))?;
            }
        }
        let pattern = union(&all)?;
        let fits = token_length(&pattern) + FRAME.len() <= LONGEST;
        let (pattern, caseless) = match pattern.strip_prefix(b"(?i)") {
            Some(rest) => (rest.to_vec(), true),
            None => (pattern, false),
        };
        let whole_hir = whole.translate().hir;
        let is_fine = fits && always_answers(&whole) && (!anchored || is_fine_in_a_group(&pattern));
        (is_fine && patterns.iter().all(|pattern| self.is_shown(pattern, &whole_hir)))
            .then_some(ExactGuard { pattern, caseless })
    }

    /// Whether it can be proved that a guard matches all that a pattern matches; `false` if that takes too long.
    fn is_shown(&mut self, pattern: &Pattern, guard: &Hir) -> bool {
        if is_followed(&pattern.ast) {
            return true;
        }
        self.is_included(&pattern.translate().hir, &[guard], MOST_STATES)
    }

    /// Whether a language is contained in the union of others; `false` if that takes too long.
    fn is_included(&mut self, language: &Hir, others: &[&Hir], most: usize) -> bool {
        let left = &mut self.writer.states_left;
        let limits = Limits { states: most.min(*left), ..Limits::default() };
        let (witness, states) = language::counted_witness(Subjects::All, Question::Outside, language, others, &limits);
        *left = left.saturating_sub(states + BUILDING);
        witness == Witness::Nothing
    }

    /// Writes a map with the rows as they are, after a guard if there is one.
    fn plain(&mut self, rows: &[usize], guard: Option<Vec<u8>>, next: &[u8]) -> Vec<u8> {
        let mut map = self.next_map();
        map.rows.extend(guard.map(|pattern| (self.none_begins(pattern), next.to_vec())));
        map.rows.extend(rows.iter().map(|row| self.writer.verbatim(*row)));
        map.default = self.writer.fallback();
        if rows.iter().all(|row| self.writer.is_certain(*row)) {
            map.default = next.to_vec();
        } else if map.default != next {
            // nginx also takes the default where PCRE gives up.
            map.rows.push((Key::Pattern { pattern: b"^".to_vec(), caseless: false }, next.to_vec()));
        }
        self.writer.add(map)
    }

    fn next_map(&mut self) -> EmittedMap {
        self.count += 1;
        self.writer.of_source(&format!("{}{}", self.label, self.count))
    }

    fn none_begins(&self, pattern: Vec<u8>) -> Key {
        Key::Pattern { pattern: [b"^(?!", &*pattern, b")"].concat(), caseless: self.writer.folded }
    }

    /// Whether a guard can skip the row.
    fn is_guarded(&self, row: usize) -> bool {
        self.begins(row) || self.contains(row) || self.signs.contains_key(&row)
    }

    fn begins(&self, row: usize) -> bool {
        let row = &self.writer.rows[row];
        row.beginnings.is_some() && row.is_skippable
    }

    fn contains(&self, row: usize) -> bool {
        let row = &self.writer.rows[row];
        let shortest = row.needs.iter().map(Vec::len).min().unwrap_or(0);
        row.is_certain && shortest >= SHORTEST_LITERAL
    }

    /// The guard of some rows; `None` if it does not fit a pattern, or a row cannot be skipped.
    fn guard(&self, rows: &[usize]) -> Option<Guard> {
        spend(16 * rows.len());
        let rare = || self.segment_guard(rows).or_else(|| self.sign_guard(rows));
        let guard = rare().or_else(|| self.plain_guard(rows))?;
        let (Guard::Beginning(pattern)
        | Guard::Inside(pattern)
        | Guard::Segment(pattern)
        | Guard::Signs { pattern, .. }) = &guard;
        (token_length(pattern) + FRAME.len() <= LONGEST).then_some(guard)
    }

    /// A guard that looks at the last slash, if each row has a known beginning or a known text after the last slash.
    fn segment_guard(&self, rows: &[usize]) -> Option<Guard> {
        if self.writer.folded || self.writer.rows.len() < self.writer.large.segments {
            return None;
        }
        let mut beginnings = Vec::new();
        let mut segments = Vec::new();
        for &row in rows {
            let facts = &self.writer.rows[row];
            if self.begins(row) {
                beginnings.extend(facts.sequences());
            } else {
                segments.extend(segment::behind_last_slash(facts.text).filter(|_| facts.is_certain)?);
            }
        }
        let has_segments = !segments.is_empty();
        if has_segments { segment::guard(&beginnings, &segments).map(Guard::Segment) } else { None }
    }

    /// A guard that searches for the signs of the rows, if each has one.
    fn sign_guard(&self, rows: &[usize]) -> Option<Guard> {
        let signs = rows.iter().map(|row| self.signs.get(row).map(Vec::as_slice)).collect::<Option<Vec<_>>>()?;
        let pattern = union(&signs.concat())?;
        Some(match pattern.strip_prefix(b"(?i)") {
            Some(rest) => Guard::Signs { pattern: rest.to_vec(), caseless: true },
            None => Guard::Signs { pattern, caseless: false },
        })
    }

    fn plain_guard(&self, rows: &[usize]) -> Option<Guard> {
        let mut sequences = Vec::new();
        let mut literals = Vec::new();
        for &row in rows {
            if self.begins(row) {
                sequences.extend(self.writer.rows[row].sequences());
            } else if self.contains(row) {
                literals.extend(self.writer.rows[row].needs.iter().map(|literal| literal.as_slice()));
            } else {
                return None;
            }
        }
        Some(if literals.is_empty() {
            Guard::Beginning(beginning_with(&sequences, self.writer.folded)?)
        } else {
            Guard::Inside(inside(&sequences, &literals)?)
        })
    }
}

fn always_answers(pattern: &Pattern) -> bool {
    Bounds::of(pattern, &pattern.translate().hir).always_answers
}

/// Whether PCRE never gives up on a pattern behind `^`, in a group, as the proof reads a negated guard. What ends the
/// pattern does not end the whole there.
fn is_fine_in_a_group(pattern: &[u8]) -> bool {
    syntax::parse(&[b"^(?:", pattern, b")"].concat()).is_ok_and(|pattern| always_answers(&pattern))
}

/// Whether a pattern can be compared with its exact guard item by item: the guard has the same items in the same order.
fn is_followed(ast: &Ast) -> bool {
    match ast {
        Ast::Alternation(branches) => branches.iter().all(is_followed),
        Ast::Capture { sub, .. } => is_followed(sub),
        Ast::Concat(items) => {
            let items = items.strip_prefix(&[Ast::Start]).unwrap_or(items);
            ways_in_turn(items).is_some_and(|ways| ways <= MOST_WAYS)
        }
        ast => ways(ast).is_some_and(|ways| ways <= MOST_WAYS),
    }
}

/// Counts the ways through a pattern, with the fewest rounds of each repetition. `None` if an item cannot be compared.
fn ways(ast: &Ast) -> Option<usize> {
    match ast {
        Ast::Byte(_) | Ast::Class(_) | Ast::Dollar | Ast::Empty => Some(1),
        Ast::Concat(items) => ways_in_turn(items),
        Ast::Alternation(branches) => {
            branches.iter().try_fold(0, |sum: usize, branch| Some(sum.saturating_add(ways(branch)?)))
        }
        Ast::Capture { sub, .. } => ways(sub),
        Ast::Repeat { min, max, sub, .. } if *min <= MOST_ROUNDS || *max == Some(*min) => {
            Some(ways(sub)?.saturating_pow((*min).max(1)))
        }
        _ => None,
    }
}

fn ways_in_turn(items: &[Ast]) -> Option<usize> {
    items.iter().try_fold(1, |product: usize, item| Some(product.saturating_mul(ways(item)?)))
}

/// A pattern that matches subjects that begin with one of the sequences or contain one of the literals.
fn inside(sequences: &[&Sequence], literals: &[&[u8]]) -> Option<Vec<u8>> {
    let literals: Vec<Sequence> =
        literals.iter().map(|literal| Sequence { bytes: literal.to_vec(), sets: Vec::new() }).collect();
    let inside = beginning_with(&literals.iter().collect::<Vec<_>>(), true)?;
    if sequences.is_empty() {
        return Some(inside);
    }
    let all: Vec<&Sequence> = sequences.iter().copied().chain(&literals).collect();
    // If all branches begin with the same byte, leave out the anchor: PCRE then searches for that byte first.
    if all[0].first_byte().is_some_and(|byte| all.iter().all(|sequence| sequence.first_byte() == Some(byte))) {
        return beginning_with(&all, true);
    }
    Some([b"^(?:", &*beginning_with(sequences, true)?, b")|", &*inside].concat())
}
