//! Proves that evaluating the maps leaves the same `$1` to `$9` and named groups as evaluating the original.
//!
//! # Lemma
//!
//! Let the emitted maps be proved, and be a chain: the value of each leads to the next map, and that of the last is the
//! default of the original. Let each map hold rows of the original, or one filter F before a map of such rows R, whose
//! default is where F leads otherwise; and let F match only what one of R does, PCRE giving up on none of R. Then an
//! evaluation leaves captures as one of the original does.
//!
//! *Proof.* A pattern that does not match leaves captures as they were (`ngx_http_regex_exec`). If no row matches, no F
//! does, and none are set. Otherwise the first row in text order that matches decides in both, and the value behind it
//! is evaluated after its match. Where it is behind an F, its match comes after that of F, and sets all captures that F
//! set.

use crate::map_block::{MapBlock, PatternRow};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Prover, Split};
use crate::syntax::Hir;

impl<'b> Prover<'b> {
    /// Checks that the maps, which have been proved, leave the same captures as the original.
    pub fn check_captures_kept(&self) -> Result<(), MapRefutation> {
        if !self.own.patterns.is_empty() {
            return refute(Obligation::Captures, "a guard among the rows of a map sets captures where it matches");
        }
        let mut value = self.own.fallback();
        while let Some(block) = self.map_of(value) {
            value = match self.split(block) {
                Some(split) => self.filtered(&split)?,
                None => self.only_rows(block)?,
            };
        }
        if value != self.original.fallback() {
            return sets_others(value);
        }
        self.proved.discharge(Obligation::Captures);
        Ok(())
    }

    /// Checks that a map holds only rows of the original. Returns the value that follows them.
    fn only_rows(&self, block: &'b MapBlock<'b>) -> Result<&'b [u8], MapRefutation> {
        let is_row = |row: &PatternRow| {
            self.rows.find(row.caseless, &row.pattern, &row.value, None).is_some() && self.map_of(&row.value).is_none()
        };
        if self.is_of_source(block) && block.exact.is_empty() && block.patterns.iter().all(is_row) {
            return Ok(block.fallback());
        }
        sets_others(&block.variable)
    }

    /// Checks that a filter matches only what a row behind it matches. Returns the value that follows.
    fn filtered(&self, split: &Split<'b>) -> Result<&'b [u8], MapRefutation> {
        let pattern = split.row.pattern.escape_ascii();
        let Some(behind) = self.map_of(split.inside).filter(|_| *split.row.value == *split.inside) else {
            return refute(Obligation::Captures, format!("\"{pattern}\" sets captures where it matches"));
        };
        if self.only_rows(behind)? != split.outside {
            return refute(Obligation::Captures, format!("more follows the rows behind \"{pattern}\""));
        }
        let filter = self.own_pattern(split.row)?.translation.hir;
        let rows =
            behind.patterns.iter().filter_map(|row| self.rows.find(row.caseless, &row.pattern, &row.value, None));
        let hirs: Option<Vec<&Hir>> = rows.map(|row| Some(&self.rows.list[row].exact()?.translation.hir)).collect();
        if hirs.is_some_and(|hirs| self.questions.is_included(&filter, &hirs)) {
            return Ok(split.outside);
        }
        refute(Obligation::Captures, format!("\"{pattern}\" may match where no row behind it does, and sets captures"))
    }
}

fn sets_others<T>(name: &[u8]) -> Result<T, MapRefutation> {
    let what = format!("\"{}\" sets other captures than the rows of the original", name.escape_ascii());
    refute(Obligation::Captures, what)
}
