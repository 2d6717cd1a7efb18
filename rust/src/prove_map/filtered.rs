//! Proves a filter before a whole map: subjects that it lets pass are looked up in a map with all rows of the original.

use crate::first_match::ReadPattern;
use crate::map_block::MapBlock;
use crate::pcre::{MatchOutcome, Regex};
use crate::prove_map::guard::Guarding;
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover};
use crate::prove_map::row::as_text;
use crate::syntax::{Ast, Hir};

/// The most calls of `match()` to find the rows that are compared with a filter.
const FEW_CALLS: u32 = 10_000;

impl<'b> Prover<'b> {
    /// The value for subjects that pass, if a map looks like a filter: it has patterns of its own, which all lead to one
    /// map with as many patterns as the original.
    pub fn before_all(&self, block: &'b MapBlock<'b>) -> Option<&'b [u8]> {
        let inside = &*block.patterns.first()?.value;
        let is_new = |caseless: bool, pattern: &[u8]| self.rows.with_text(caseless, pattern).is_empty();
        let leads_inside = block.patterns.iter().all(|row| *row.value == *inside && is_new(row.caseless, &row.pattern));
        let is_filter = block.exact.is_empty() && self.is_of_source(block) && leads_inside;
        let inner = self.map_of(inside).filter(|_| is_filter)?;
        (self.is_link(inner) && inner.patterns.len() == self.rows.list.len()).then_some(inside)
    }

    /// Proves `map SRC $filter { "~LITERAL" $original; ...; default NEXT; }`. Where a pattern matches, all rows are tried
    /// in their order. Where none does, nothing happens to the rows that are not tried any more. Returns `NEXT`.
    pub fn behind_filter(
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
        if let Some(row) = (0..place.live.len()).find(|row| place.live[*row] && chain.rows.binary_search(row).is_err())
        {
            return refute(Obligation::Guard, format!("what passes ${name} does not get to {}", self.name(row)));
        }
        let patterns =
            block.patterns.iter().map(|row| self.own_pattern(row)).collect::<Result<Vec<ReadPattern>, _>>()?;
        let ast = Ast::Alternation(patterns.iter().map(|pattern| pattern.pattern.ast.clone()).collect());
        let guarding = Guarding::new(&ast);
        let hirs: Vec<&Hir> = patterns.iter().map(|pattern| &pattern.translation.hir).collect();
        let texts: Vec<Regex> =
            block.patterns.iter().filter_map(|row| Regex::new(&as_text(&row.pattern, row.caseless)).ok()).collect();
        for row in 0..place.live.len() {
            // A pattern that the filter is in has the text of a literal in it, unless it has a class or a group there.
            let shows = |text: &[u8]| texts.iter().any(|regex| regex.is_match(text, FEW_CALLS) == MatchOutcome::Yes);
            let Some(events) = self.rows.list[row].events().filter(|_| place.live[row]) else { continue };
            let text: Vec<u8> = self.rows.list[row].pattern.iter().copied().filter(|byte| *byte != b'\\').collect();
            let is_held = || {
                guarding.is_held_by_pattern(&events.pattern.ast)
                    || self.questions.is_included(&events.translation.hir, &hirs)
            };
            if shows(&text) && is_held() {
                place.live[row] = false;
                self.proved.discharge(Obligation::Guard);
            }
        }
        Ok(block.fallback())
    }
}
