//! The prover: the data of a proof, and the proof of chains, which are rows that nginx tries in order, from map to map.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::first_match::ReadPattern;
use crate::map_block::{MapBlock, PatternRow};
use crate::parallel;
use crate::pcre::Regex;
use crate::prove_map::ask::{self, Questions};
use crate::prove_map::guard::Guarding;
use crate::prove_map::obligation::{MapRefutation, Obligation, Proved, refute};
use crate::prove_map::row::{Heads, Numbers, Rows, as_text, group_names};
use crate::prove_map::segment::SegmentGuard;
use crate::prove_map::words;
use crate::syntax::Hir;

pub struct Prover<'b> {
    pub original: &'b MapBlock<'b>,
    pub own: &'b MapBlock<'b>,
    pub maps: Arc<HashMap<&'b [u8], &'b MapBlock<'b>>>,
    pub rows: Arc<Rows<'b>>,
    pub proved: Proved,
    pub questions: Questions,
    /// The maps that the proof has reached.
    pub used: RefCell<HashSet<&'b [u8]>>,
}

/// What is known of the subjects that reach a place in the maps.
#[derive(Clone)]
pub struct Place<'b> {
    /// For each row, whether it may be the first on which PCRE matches or gives up.
    pub live: Vec<bool>,
    /// For each row, whether filters have let pass all its subjects. A table may have such a row, as nothing comes to it.
    pub passed: Vec<bool>,
    /// The value if no row matches.
    pub end: &'b [u8],
    /// The subjects that do not reach this place.
    pub left_out: Option<Arc<Hir>>,
    /// If values start with the number of their row, counted from 0: how these numbers are written.
    pub numbers: Option<Numbers>,
}

/// Rows in the order in which they are tried, and the value if none matches.
#[derive(Clone, Debug)]
pub struct Chain<'b> {
    pub rows: Vec<usize>,
    pub end: &'b [u8],
}

impl<'b> Prover<'b> {
    /// Runs two parts of a proof in parallel, each with its own prover, so that neither depends on the work that the
    /// other does. If both fail, returns the first failure.
    pub fn both(
        &self,
        first: impl FnOnce(&Prover<'b>) -> Result<(), MapRefutation> + Send,
        second: impl FnOnce(&Prover<'b>) -> Result<(), MapRefutation>,
    ) -> Result<(), MapRefutation> {
        let [one, other] = [self.part(), self.part()];
        let ((first, one), second) = parallel::both(move || (first(&one), one), || second(&other));
        for part in [&one, &other] {
            self.proved.add(&part.proved);
            self.questions.add(&part.questions);
            self.used.borrow_mut().extend(&*part.used.borrow());
        }
        first.and(second)
    }

    /// A prover of the same maps that has proved nothing.
    fn part(&self) -> Prover<'b> {
        Prover {
            original: self.original,
            own: self.own,
            maps: self.maps.clone(),
            rows: self.rows.clone(),
            proved: Proved::default(),
            questions: self.questions.part(),
            used: RefCell::default(),
        }
    }

    /// The map to which a value leads: the value consists of one emitted variable.
    pub fn map_of(&self, value: &[u8]) -> Option<&'b MapBlock<'b>> {
        value.strip_prefix(b"$").and_then(|name| self.maps.get(name)).copied()
    }

    /// Checks that the proof has reached all maps.
    pub fn check_used(&self) -> Result<(), MapRefutation> {
        let used = self.used.borrow();
        if let Some(name) = self.maps.keys().filter(|name| !used.contains(*name)).min() {
            return refute(Obligation::KnownMap, format!("${} is never used", name.escape_ascii()));
        }
        self.proved.discharge(Obligation::KnownMap);
        Ok(())
    }

    pub fn is_of_source(&self, block: &MapBlock) -> bool {
        block.source == self.original.source
    }

    pub fn meet(&self, block: &'b MapBlock<'b>) {
        self.used.borrow_mut().insert(&block.variable);
    }

    /// Reads a chain: follows a value from map to map as long as these hold rows, up to the value `stop`. The rows
    /// ascend; those of one value may be tried in another order.
    pub fn chain(&self, value: &'b [u8], place: &Place<'b>, stop: Option<&[u8]>) -> Result<Chain<'b>, MapRefutation> {
        let mut chain = self.chain_behind(value, place, stop, None)?;
        self.check_order(&chain.rows)?;
        chain.rows.sort_unstable();
        chain.rows.dedup();
        Ok(chain)
    }

    fn chain_behind(
        &self,
        value: &'b [u8],
        place: &Place<'b>,
        stop: Option<&[u8]>,
        behind: Option<usize>,
    ) -> Result<Chain<'b>, MapRefutation> {
        let mut chain = Chain { rows: Vec::new(), end: value };
        while stop != Some(chain.end)
            && let Some(block) = self.map_of(chain.end).filter(|block| self.is_link(block))
        {
            self.meet(block);
            let link = self.link(block, place, chain.rows.last().copied().or(behind))?;
            chain.rows.extend(link.rows);
            chain.end = link.end;
        }
        Ok(chain)
    }

    /// Checks that rows ascend, but for parts in which all have the same value and need no match of their own.
    pub fn check_order(&self, rows: &[usize]) -> Result<(), MapRefutation> {
        let mixed = parts_apart(rows).into_iter().map(|part| &rows[part]).find(|part| !self.may_change_places(part));
        let Some(pair) = mixed.and_then(|part| part.windows(2).find(|pair| pair[0] >= pair[1])) else {
            self.proved.discharge(Obligation::Order);
            return Ok(());
        };
        let what = format!("{} comes before {}", self.name(pair[0]), self.name(pair[1]));
        Err(MapRefutation { obligation: Obligation::Order, what, counterexample: self.common(pair[0], pair[1]) })
    }

    /// Whether rows may be tried in any order: there is only one, or all have the same value, and the first one that
    /// matches may stand for any other.
    fn may_change_places(&self, rows: &[usize]) -> bool {
        let list = &self.rows.list;
        let is_free = |row: &usize| {
            list[*row].value == list[rows[0]].value && list[*row].exact().is_some() && self.why_bound(*row).is_none()
        };
        rows.len() <= 1 || rows.iter().all(is_free)
    }

    /// Checks that no subject matches both `row` and `earlier`, because `row` is tried first.
    pub fn check_pair(&self, row: usize, earlier: usize) -> Result<(), MapRefutation> {
        let [one, other] = [row, earlier].map(|row| &self.rows.list[row]);
        let are_disjoint = || {
            let (Some(one), Some(other)) = (one.events(), other.events()) else { return false };
            self.questions.are_disjoint(&one.translation.hir, &other.translation.hir)
        };
        if are_disjoint() {
            return Ok(());
        }
        let what = format!("{} comes before {}", self.name(row), self.name(earlier));
        let counterexample = self.common(row, earlier);
        Err(MapRefutation { obligation: Obligation::Order, what, counterexample })
    }

    /// Returns a subject that two rows match, judged by their languages.
    pub fn common(&self, one: usize, other: usize) -> Option<Vec<u8>> {
        let [one, other] = [one, other].map(|row| self.rows.list[row].language);
        self.questions.common(&one?.translation.hir, &other?.translation.hir)
    }

    /// Whether a map may be a link of a chain, which holds rows.
    pub fn is_link(&self, block: &'b MapBlock<'b>) -> bool {
        self.is_of_source(block) && block.exact.is_empty() && !self.is_trie(block) && self.newline_row(block).is_none()
    }

    /// The row that sends subjects with an inner newline to other rows, if the map has it and no other.
    pub fn newline_row(&self, block: &'b MapBlock<'b>) -> Option<&'b PatternRow<'b>> {
        let row = block.patterns.first().filter(|_| block.patterns.len() == 1 && block.exact.is_empty())?;
        (ask::is_inner_newline(&row.pattern) && self.map_of(&row.value).is_some()).then_some(row)
    }

    /// Reads a map that splits subjects by one pattern.
    pub fn split(&self, block: &'b MapBlock<'b>) -> Option<Split<'b>> {
        let [row] = block.patterns.as_slice() else { return None };
        let (value, default) = (&*row.value, block.fallback());
        if *row.pattern == *b"^" || !self.rows.with_text(row.caseless, &row.pattern).is_empty() {
            return None;
        }
        let (inside, outside) = if negated(&row.pattern).is_some() { (default, value) } else { (value, default) };
        self.map_of(inside).map(|_| Split { row, inside, outside })
    }

    /// Whether a map looks like one that captures a part of its source.
    fn is_trie(&self, block: &'b MapBlock<'b>) -> bool {
        let captures = |row: &PatternRow| {
            let group = row.value.strip_prefix(b"$");
            group.is_some_and(|group| group_names(&row.pattern).contains(&group))
                && self.rows.with_text(row.caseless, &row.pattern).is_empty()
        };
        let rows = &block.patterns;
        block.exact.is_empty() && self.is_of_source(block) && !rows.is_empty() && rows.iter().all(captures)
    }

    /// Whether a map looks like one that captures keys, of one trie or of chunks.
    pub fn has_keys(&self, block: &'b MapBlock<'b>) -> bool {
        self.is_trie(block) && !self.is_family_literal(block)
            || block.patterns.is_empty() && self.map_of(&block.source).is_some_and(|inner| self.has_keys(inner))
    }

    /// The value that follows the rows of a map: that of a last row that matches any subject, or the default.
    fn going_on<'v>(&self, block: &'v MapBlock<'_>, place: &Place) -> &'v [u8] {
        match block.patterns.last() {
            Some(last) if self.goes_on_by_row(block, place) => &last.value,
            _ => block.fallback(),
        }
    }

    /// Whether the last row is `"~^" NEXT`, so that only subjects on which PCRE gives up get the default.
    fn goes_on_by_row(&self, block: &MapBlock, place: &Place) -> bool {
        let is_next = |row: &PatternRow| {
            let value = place.numbers.and_then(|numbers| Some(numbers.split(&row.value)?.1)).unwrap_or(&row.value);
            *row.pattern == *b"^" && !row.caseless && self.rows.find(false, b"^", value, None).is_none()
        };
        block.patterns.last().is_some_and(is_next)
    }

    /// Reads one map of a chain. Its rows come after the row `behind`.
    pub fn link(
        &self,
        block: &'b MapBlock<'b>,
        place: &Place<'b>,
        behind: Option<usize>,
    ) -> Result<Chain<'b>, MapRefutation> {
        if let Some(split) = self.split(block) {
            return self.skipping(&split, place, behind);
        }
        let name = block.variable.escape_ascii().to_string();
        let end = self.going_on(block, place);
        let mut patterns = block.patterns.as_slice();
        if self.goes_on_by_row(block, place) {
            patterns = &patterns[..patterns.len() - 1];
            if block.fallback() != place.end {
                return refute(Obligation::End, format!("${name} does not say the default where PCRE gives up"));
            }
        }
        let guard = match patterns {
            [first, rest @ ..] if self.is_guard(first, behind, place) => {
                patterns = rest;
                Some(first)
            }
            _ => None,
        };
        let mut rows = Vec::with_capacity(patterns.len());
        for row in patterns {
            match self.united(row, place)? {
                Some(united) => rows.extend(united),
                None => rows.push(self.row(row, rows.last().copied().or(behind), place)?),
            }
        }
        if let Some(guard) = guard {
            if *guard.value != *end {
                return refute(Obligation::Guard, format!("the guard of ${name} does not lead where its rows do"));
            }
            self.check_implied(guard, &rows)?;
        }
        if block.fallback() != place.end && rows.iter().any(|&row| self.may_give_up(row, place)) {
            let what = format!("${name} has a row on which PCRE may give up, and does not say the default then");
            return refute(Obligation::Effort, what);
        }
        Ok(Chain { rows, end })
    }

    /// Whether PCRE may give up on a row for a subject that reaches this place.
    pub fn may_give_up(&self, row: usize, place: &Place) -> bool {
        let row = &self.rows.list[row];
        // Only subjects with an inner newline are ever left out.
        if place.left_out.is_some() { row.may_give_up_in_lines } else { row.may_give_up }
    }

    /// Finds the row of the original that an emitted row repeats.
    fn row(&self, row: &'b PatternRow<'b>, behind: Option<usize>, place: &Place<'b>) -> Result<usize, MapRefutation> {
        let found = match place.numbers {
            Some(numbers) => self.numbered(row, numbers)?,
            None => self.rows.find(row.caseless, &row.pattern, &row.value, behind),
        };
        let Some(found) = found else {
            let pattern = row.pattern.escape_ascii();
            let what = format!("the row \"{pattern}\" is not one of the original, or has another value");
            return refute(Obligation::Row, what);
        };
        self.proved.discharge(Obligation::Row);
        Ok(found)
    }

    /// The row that the number at the start of a value names.
    fn numbered(&self, row: &PatternRow, numbers: Numbers) -> Result<Option<usize>, MapRefutation> {
        let Some((number, value)) = numbers.split(&row.value) else {
            return refute(Obligation::Number, format!("a value has no number: \"{}\"", row.value.escape_ascii()));
        };
        let equal = self.rows.with_text(row.caseless, &row.pattern);
        if !equal.is_empty() && !equal.contains(&number) {
            let pattern = row.pattern.escape_ascii();
            return refute(Obligation::Number, format!("the row \"{pattern}\" has the number of another"));
        }
        self.proved.discharge(Obligation::Number);
        Ok(equal.contains(&number).then_some(number).filter(|&number| self.rows.list[number].value == value))
    }

    /// Whether a row is a guard: not one of the original, but one that skips others.
    fn is_guard(&self, row: &PatternRow, behind: Option<usize>, place: &Place) -> bool {
        let value = place.numbers.and_then(|numbers| Some(numbers.split(&row.value)?.1)).unwrap_or(&row.value);
        negated(&row.pattern).is_some() && self.rows.find(row.caseless, &row.pattern, value, behind).is_none()
    }

    /// Reads rows that are tried only if a pattern lets the subject pass. If none of them matches, they must lead to
    /// the value that subjects get that do not pass.
    fn skipping(
        &self,
        split: &Split<'b>,
        place: &Place<'b>,
        behind: Option<usize>,
    ) -> Result<Chain<'b>, MapRefutation> {
        let chain = self.chain_behind(split.inside, place, Some(split.outside), behind)?;
        if chain.end != split.outside {
            let pattern = split.row.pattern.escape_ascii();
            return refute(Obligation::Guard, format!("the rows behind \"{pattern}\" do not lead where it does"));
        }
        self.check_implied(split.row, &chain.rows)?;
        Ok(chain)
    }

    /// Checks that the pattern of a guard or filter lets pass all subjects on which something happens to the rows.
    fn check_implied(&self, row: &PatternRow, rows: &[usize]) -> Result<(), MapRefutation> {
        if let Some(guard) = SegmentGuard::read(row, |branch| self.own_pattern(branch))? {
            return self.check_segments(&guard, rows);
        }
        let language = self.own_pattern(row)?;
        let guarding = Guarding::new(&language.pattern.ast);
        for &place in rows {
            let is_implied = self.is_begun(place, &guarding, row.caseless) || self.is_held(place, &guarding, &language);
            if !is_implied {
                let skipped = self.rows.list[place].language;
                let counterexample =
                    skipped.and_then(|row| self.questions.outside(&row.translation.hir, &language.translation.hir));
                return self.refute_skipped(place, counterexample);
            }
            self.proved.discharge(Obligation::Guard);
        }
        Ok(())
    }

    /// As [`Prover::check_implied`], for a guard that looks at the last slash.
    fn check_segments(&self, guard: &SegmentGuard, rows: &[usize]) -> Result<(), MapRefutation> {
        for &row in rows {
            let is_begun = || guard.beginning().is_some_and(|guarding| self.is_begun(row, guarding, false));
            if !guard.is_held_by(&self.rows.list[row]) && !is_begun() {
                return self.refute_skipped(row, None);
            }
            self.proved.discharge(Obligation::Guard);
        }
        Ok(())
    }

    pub fn refute_skipped(&self, row: usize, counterexample: Option<Vec<u8>>) -> Result<(), MapRefutation> {
        let what = format!("a guard skips {} where it may match", self.name(row));
        Err(MapRefutation { obligation: Obligation::Guard, what, counterexample })
    }

    /// Whether PCRE neither matches a row nor gives up on it for subjects that do not begin with a match of the guard.
    pub fn is_begun(&self, place: usize, guarding: &Guarding, caseless: bool) -> bool {
        let row = &self.rows.list[place];
        let by_beginning =
            || row.beginning().is_some_and(|begun| guarding.is_begun_by_pattern(&begun.pattern.ast, row.reach()));
        let by_heads = || match row.heads(caseless) {
            Heads::Exact(heads) => heads.iter().all(|head| guarding.is_begun_by(head, caseless)),
            Heads::AnyCase(head) => guarding.is_begun_by(&head, true),
        };
        by_beginning() || by_heads()
    }

    /// Whether PCRE neither matches a row nor gives up on it for subjects that the guard does not match.
    pub fn is_held(&self, place: usize, guarding: &Guarding, guard: &ReadPattern) -> bool {
        let Some(events) = self.rows.list[place].events() else { return false };
        guarding.is_held_by_pattern(&events.pattern.ast)
            || self.questions.is_included(&events.translation.hir, &[&guard.translation.hir])
    }

    /// The rows that a new pattern stands for, ascending; `None` if it stands for none.
    pub fn united(&self, row: &'b PatternRow<'b>, place: &Place<'b>) -> Result<Option<Vec<usize>>, MapRefutation> {
        if place.numbers.is_some() || !self.rows.is_new(row) {
            return Ok(None);
        }
        let language = self.own_pattern(row)?;
        let escaped = row.pattern.escape_ascii();
        if language.pattern.named || !language.pattern.looks.is_empty() {
            return refute(Obligation::Pattern, format!("the pattern \"{escaped}\" is not understood"));
        }
        let Some(ways) = words::of_pattern(&language.pattern.ast) else {
            return refute(Obligation::Pattern, format!("the pattern \"{escaped}\" has too many ways"));
        };
        let (rows, other) = self.rows.ways().covered(&row.value, &ways);
        if rows.is_empty() {
            return Ok(None);
        }
        if other.is_some() {
            let value = row.value.escape_ascii();
            let what = format!("\"{escaped}\" may match where no row with the value \"{value}\" does");
            return refute(Obligation::Union, what);
        }
        // Where the pattern stands for the first of several rows with the same ways, the others are tried nowhere. A row
        // whose first twin is elsewhere is tried here.
        let has_first =
            |row: &usize| self.rows.ways().first(*row).is_some_and(|first| rows.binary_search(&first).is_ok());
        let rows: Vec<usize> = rows.iter().copied().filter(|row| !has_first(row)).collect();
        rows.iter().for_each(|_| self.proved.discharge(Obligation::Union));
        Ok(Some(rows))
    }

    /// Reads the pattern of a new row. Checks that its language is known exactly, that PCRE compiles it, and that PCRE
    /// never gives up on it.
    pub fn own_pattern(&self, row: &PatternRow) -> Result<ReadPattern, MapRefutation> {
        let escaped = row.pattern.escape_ascii();
        let (passing, is_whole) = match negated(&row.pattern) {
            // The inside of `^(?!a)|(?:b)` is not a pattern.
            Some(inside) => ([b"^(?:", inside, b")"].concat(), crate::syntax::parse(inside).is_ok()),
            None => (row.pattern.to_vec(), true),
        };
        let language = ReadPattern::of(&as_text(&passing, row.caseless));
        let Some(language) = language.filter(|language| is_whole && language.translation.exact) else {
            return refute(Obligation::Pattern, format!("the pattern \"{escaped}\" is not understood"));
        };
        if Regex::new(&as_text(&row.pattern, row.caseless)).is_err() {
            return refute(Obligation::Pattern, format!("PCRE2 does not take the pattern \"{escaped}\""));
        }
        self.proved.discharge(Obligation::Pattern);
        if !language.bounds.always_answers {
            return refute(Obligation::Effort, format!("PCRE may give up on the pattern \"{escaped}\""));
        }
        self.proved.discharge(Obligation::Effort);
        Ok(language)
    }

    /// The name of a row in messages, counted from 1.
    pub fn name(&self, row: usize) -> String {
        self.rows.name(row)
    }

    /// Whether a value is the value of a row, as it is written at this place.
    pub fn says(&self, row: usize, value: &[u8], place: &Place) -> bool {
        self.rows.says(row, value, place.numbers)
    }

    /// Checks that the value of a row may be used without its pattern.
    pub fn check_moves(&self, row: usize) -> Result<(), MapRefutation> {
        self.rows.check_moves(row, &self.proved)
    }

    pub fn why_bound(&self, row: usize) -> Option<&'static str> {
        self.rows.why_bound(row)
    }
}

/// A map that splits subjects by one pattern.
pub struct Split<'b> {
    pub row: &'b PatternRow<'b>,
    /// The value for subjects that the rows may match.
    pub inside: &'b [u8],
    pub outside: &'b [u8],
}

/// Divides numbers into the shortest parts of which each has only greater numbers than all before it.
fn parts_apart(numbers: &[usize]) -> Vec<Range<usize>> {
    let mut least = vec![usize::MAX; numbers.len() + 1];
    for at in (0..numbers.len()).rev() {
        least[at] = least[at + 1].min(numbers[at]);
    }
    let (mut parts, mut start, mut greatest) = (Vec::new(), 0, 0);
    for (at, number) in numbers.iter().enumerate() {
        greatest = greatest.max(*number);
        if greatest < least[at + 1] {
            parts.push(start..at + 1);
            start = at + 1;
        }
    }
    parts
}

/// The inside of a pattern `^(?!...)`: what a subject must not begin with.
fn negated(pattern: &[u8]) -> Option<&[u8]> {
    pattern.strip_prefix(b"^(?!")?.strip_suffix(b")")
}
