//! Proves filters before a map with all rows: subjects that one of them lets pass are looked up there, and nothing
//! happens to the rows kept apart on any other subject.
//!
//! If a filter lets pass all subjects of some length, only shorter ones are left for the other filters. So these may
//! also let a row pass only as far as shorter subjects concern it.

use crate::first_match::ReadPattern;
use crate::map_block::{MapBlock, PatternRow};
use crate::pcre::{MatchOutcome, Regex};
use crate::prove_map::guard::Guarding;
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover};
use crate::prove_map::row::as_text;
use crate::syntax;

/// The most calls of PCRE to find the filters that may let a row pass.
const FEW_CALLS: u32 = 10_000;

/// The longest subject that a filter turns away, if it only looks at the length: it is `(?s)^.{N}`.
fn longest_turned_away(filter: &PatternRow) -> Option<usize> {
    let least = filter.pattern.strip_prefix(b"(?s)^.{")?.strip_suffix(b"}")?;
    let is_plain = least.first().is_some_and(|digit| *digit != b'0') && least.iter().all(u8::is_ascii_digit);
    let least: usize = std::str::from_utf8(least).ok().filter(|_| is_plain)?.parse().ok()?;
    Some(least - 1)
}

/// A filter that has been read.
struct Filter<'b> {
    row: &'b PatternRow<'b>,
    regex: Regex,
    language: ReadPattern,
    guarding: Guarding,
}

impl Filter<'_> {
    /// Whether the filter matches all that a pattern matches; `false` if that is not shown.
    fn holds(&self, pattern: &ReadPattern, prover: &Prover) -> bool {
        let is_turned_away = |example: Vec<u8>| self.regex.is_match(&example, FEW_CALLS) == MatchOutcome::No;
        !syntax::example(&pattern.pattern.ast).is_some_and(is_turned_away)
            && (self.guarding.is_held_by_pattern(&pattern.pattern.ast)
                || prover.questions.is_included(&pattern.translation.hir, &[&self.language.translation.hir]))
    }
}

impl<'b> Prover<'b> {
    /// The value for subjects that pass, if a map looks like filters: its patterns are new and all lead to one map of
    /// all rows that are left, and its default leads elsewhere, or is the end.
    pub fn before_all(&self, block: &'b MapBlock<'b>, place: &Place<'b>) -> Option<&'b [u8]> {
        let inside = &*block.patterns.first()?.value;
        let is_filter = |row: &PatternRow| {
            *row.value == *inside && *row.pattern != *b"^" && self.rows.with_text(row.caseless, &row.pattern).is_empty()
        };
        let are_filters = self.is_of_source(block) && block.exact.is_empty() && block.patterns.iter().all(is_filter);
        let inner = self.map_of(inside).filter(|_| are_filters && self.newline_row(block).is_none())?;
        let live = place.live.iter().filter(|live| **live).count();
        // One filter before rows is a link of a chain, which says less of the rows.
        let leads_on = match block.fallback() {
            end if end == place.end => block.patterns.len() > 1,
            next => self.map_of(next).is_some(),
        };
        let has_all = self.is_link(inner) && inner.patterns.len() >= live && inner.fallback() == place.end;
        (leads_on && has_all).then_some(inside)
    }

    /// Proves `map SRC $apart { "~FILTER" $original; ...; default NEXT; }`. Where a filter matches, all rows are tried in
    /// their order. Where none does, nothing happens to the rows that all filters together let pass; they are live no
    /// more. Returns `NEXT`.
    pub fn behind_filters(
        &self,
        block: &'b MapBlock<'b>,
        inside: &'b [u8],
        place: &mut Place<'b>,
    ) -> Result<&'b [u8], MapRefutation> {
        let name = block.variable.escape_ascii();
        let chain = self.chain(inside, place, None)?;
        if chain.end != place.end {
            return refute(Obligation::End, format!("what passes ${name} and no row matches does not get the default"));
        }
        let left_out = |row: &usize| place.live[*row] && chain.rows.binary_search(row).is_err();
        if let Some(row) = (0..place.live.len()).find(left_out) {
            return refute(Obligation::Guard, format!("what passes ${name} does not get to {}", self.name(row)));
        }
        let filters = block.patterns.iter().map(|row| self.filter(row)).collect::<Result<Vec<_>, _>>()?;
        let longest = block.patterns.iter().filter_map(longest_turned_away).min();
        let short = |row: usize| self.rows.list[row].language?.events_within(longest?);
        for row in 0..place.live.len() {
            if place.live[row]
                && (filters.iter().any(|filter| self.lets_pass(filter, row))
                    || short(row).is_some_and(|events| filters.iter().any(|filter| filter.holds(&events, self))))
            {
                place.live[row] = false;
                place.passed[row] = true;
                self.proved.discharge(Obligation::Guard);
            }
        }
        Ok(block.fallback())
    }

    fn filter(&self, row: &'b PatternRow<'b>) -> Result<Filter<'b>, MapRefutation> {
        let language = self.own_pattern(row)?;
        let Ok(regex) = Regex::new(&as_text(&row.pattern, row.caseless)) else {
            return refute(Obligation::Pattern, "PCRE2 does not take a filter");
        };
        let guarding = Guarding::new(&language.pattern.ast);
        Ok(Filter { row, regex, language, guarding })
    }

    /// Whether a filter lets pass all subjects on which something happens to a row; `false` if that is not shown. A row
    /// of which it does not let pass an example is not compared further.
    fn lets_pass(&self, filter: &Filter<'b>, row: usize) -> bool {
        let is_turned_away = |example: &[u8]| filter.regex.is_match(example, FEW_CALLS) == MatchOutcome::No;
        !self.example(row).is_some_and(|example| is_turned_away(&example))
            && (self.is_begun(row, &filter.guarding, filter.row.caseless)
                || self.is_held(row, &filter.guarding, &filter.language))
    }

    /// A subject on which something may happen to a row.
    fn example(&self, row: usize) -> Option<Vec<u8>> {
        match self.rows.list[row].language {
            Some(language) => syntax::example(&language.pattern.ast),
            None => Some(self.rows.list[row].prefix()).filter(|prefix| !prefix.is_empty()),
        }
    }
}
