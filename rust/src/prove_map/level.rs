//! Proves the levels of the maps, from the variable's own map on: newline, exact strings, rows, tree. Each level leaves
//! some rows or subjects to the next.

use std::sync::Arc;

use crate::map_block::MapBlock;
use crate::prove_map::ask;
use crate::prove_map::comparable::{Comparable, may_meet};
use crate::prove_map::keys::{Keys, KeysReader};
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover};
use crate::work::spend;

impl<'b> Prover<'b> {
    /// Follows the own map from level to level.
    pub fn own(&self, mut place: Place<'b>) -> Result<(), MapRefutation> {
        if self.own.patterns.is_empty() {
            return self.level(self.own.fallback(), place);
        }
        let link = self.link(self.own, &place, None)?;
        self.check_order(&link.rows)?;
        self.leave(&link.rows, &mut place)?;
        self.level(link.end, place)
    }

    pub fn level(&self, mut value: &'b [u8], mut place: Place<'b>) -> Result<(), MapRefutation> {
        while let Some(block) = self.map_of(value) {
            self.meet(block);
            if let Some(inside) = self.before_all(block, &place) {
                value = self.behind_filters(block, inside, &mut place)?;
                continue;
            }
            if self.is_family_table(value) {
                value = self.families(value, &mut place)?;
                continue;
            }
            if let Some(guarded) = self.guarded_pick(block) {
                return self.pick_behind(&guarded, &place);
            }
            let chain = self.ends_and_chain(value, &place)?;
            if chain.end != value {
                self.leave(&chain.rows, &mut place)?;
                value = chain.end;
            } else if self.is_of_source(block) {
                value = self.newline(block, &mut place)?;
            } else if let Some(inner) = self.map_of(&block.source) {
                if inner.patterns.is_empty() && self.is_of_source(inner) {
                    return self.exact(block, inner, place);
                } else if self.has_keys(inner) && self.leads_to_keys(block) {
                    value = if self.is_of_source(inner) {
                        self.part_of_tree(block, &self.keys(inner)?, &mut place)?
                    } else {
                        self.front(block, inner, &mut place)?
                    };
                } else if self.has_keys(inner) {
                    return self.tree(block, &self.keys(inner)?, &place);
                } else {
                    return self.pick(block, &place);
                }
            } else {
                return refute(Obligation::KnownMap, format!("${} has an unknown form", block.variable.escape_ascii()));
            }
        }
        self.finish(value, &place)
    }

    /// Reads the keys that a map captures.
    pub fn keys(&self, block: &'b MapBlock<'b>) -> Result<Keys, MapRefutation> {
        let mut used = self.used.borrow_mut();
        let (source, maps, proved) = (&*self.original.source, &self.maps, &self.proved);
        KeysReader { source, maps, used: &mut used, proved }.keys(block)
    }

    /// Whether the default of a map of keys leads to another map of keys, and not to rows.
    fn leads_to_keys(&self, block: &MapBlock) -> bool {
        self.map_of(block.fallback()).is_some_and(|next| !self.is_link(next))
    }

    /// Checks the value that ends the last level: no row is left, and the value is the default.
    fn finish(&self, value: &[u8], place: &Place) -> Result<(), MapRefutation> {
        if let Some(row) = place.live.iter().position(|live| *live) {
            return refute(Obligation::Bucket, format!("{} is tried nowhere", self.name(row)));
        }
        if value != place.end {
            let what = format!("what no row matches gets \"{}\" instead of the default", value.escape_ascii());
            return refute(Obligation::End, what);
        }
        self.proved.discharge(Obligation::End);
        Ok(())
    }

    /// Removes rows that are tried before all others. Checks that no earlier row may match a subject that one of them
    /// matches.
    fn leave(&self, rows: &[usize], place: &mut Place) -> Result<(), MapRefutation> {
        rows.iter().for_each(|&row| place.live[row] = false);
        let left: Vec<usize> = (0..place.live.len()).filter(|&row| place.live[row]).collect();
        let comparable = Comparable::new(left.iter().map(|&row| (row, &self.rows.list[row])), false);
        for &row in rows {
            let first = comparable.first(&self.rows.list[row]).filter(|&first| first < row);
            let Some(first) = first else {
                self.proved.discharge(Obligation::Floating);
                continue;
            };
            let earlier = left[left.partition_point(|&other| other < first)..].iter().copied();
            self.check_apart(row, earlier.take_while(|&other| other < row))?;
        }
        Ok(())
    }

    /// Checks that a row matches no subject of an earlier row that is tried later.
    pub fn check_apart(&self, row: usize, earlier: impl Iterator<Item = usize>) -> Result<(), MapRefutation> {
        let late = &self.rows.list[row];
        for other in earlier {
            spend(4);
            let early = &self.rows.list[other];
            let are_disjoint = || {
                let (Some(early), Some(late)) = (early.events(), late.events()) else { return false };
                self.questions.are_disjoint(&early.translation.hir, &late.translation.hir)
            };
            let is_apart = !may_meet(early, late) || are_disjoint();
            if !is_apart {
                let what = format!("{} is tried before {}, which it may meet", self.name(row), self.name(other));
                let subject = self.common(other, row);
                return Err(MapRefutation { obligation: Obligation::Floating, what, counterexample: subject });
            }
        }
        self.proved.discharge(Obligation::Floating);
        Ok(())
    }

    /// Proves `map SRC $lines { "~(?s)\n." $rows; default NEXT; }`. The rows must be all that may match a subject with
    /// an inner newline.
    fn newline(&self, block: &'b MapBlock<'b>, place: &mut Place<'b>) -> Result<&'b [u8], MapRefutation> {
        let name = block.variable.escape_ascii();
        let row = self.newline_row(block);
        let Some((row, inside)) = row.and_then(|row| Some((row, self.map_of(&row.value)?))) else {
            return refute(Obligation::KnownMap, format!("${name} has an unknown form"));
        };
        if row.caseless || place.left_out.is_some() {
            return refute(
                Obligation::Newline,
                format!("the pattern of ${name} does not split subjects at an inner newline"),
            );
        }
        let newline = ask::inner_newline();
        let chain = self.chain(&row.value, place, None)?;
        if chain.end != place.end {
            return refute(
                Obligation::End,
                format!("${} does not end with the default", inside.variable.escape_ascii()),
            );
        }
        let mut is_tried = vec![false; place.live.len()];
        chain.rows.iter().for_each(|&row| is_tried[row] = true);
        for (place, _) in place.live.iter().enumerate().filter(|(row, live)| **live && !is_tried[*row]) {
            let events = self.rows.list[place].events();
            let is_apart = events.is_some_and(|events| {
                ask::has_no_inner_newline(&events.pattern.ast)
                    || self.questions.are_disjoint(&newline, &events.translation.hir)
            });
            if !is_apart {
                let counterexample = events.and_then(|events| self.questions.common(&newline, &events.translation.hir));
                let what = format!("{} may match a subject with a newline, and is not tried there", self.name(place));
                return Err(MapRefutation { obligation: Obligation::Newline, what, counterexample });
            }
        }
        self.proved.discharge(Obligation::Newline);
        place.left_out = Some(Arc::new(newline));
        Ok(block.fallback())
    }
}
