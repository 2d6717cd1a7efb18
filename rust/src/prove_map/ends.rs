//! Proves tables of literals at the end of subjects, and the guards before them.

use std::collections::HashMap;

use crate::prove_map::family::byte;
use crate::prove_map::keys;
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prefixes::Prefixes;
use crate::prove_map::prover::{Chain, Place, Prover, Split};
use crate::syntax::Ast;

impl<'b> Prover<'b> {
    /// Reads tables of literals at the end of subjects and the chain that follows them, as one chain.
    pub fn ends_and_chain(&self, value: &'b [u8], place: &Place<'b>) -> Result<Chain<'b>, MapRefutation> {
        let guarded = self.map_of(value).and_then(|block| Some((block, self.split(block)?)));
        if let Some((block, split)) = guarded.filter(|(_, split)| self.is_family_table(split.inside)) {
            self.meet(block);
            let (mut rows, next) = self.ends(split.inside, Some(split.outside), place)?;
            self.check_endings(&split, &rows)?;
            if next != split.outside {
                let pattern = split.row.pattern.escape_ascii();
                return refute(Obligation::Guard, format!("the tables behind \"{pattern}\" do not lead where it does"));
            }
            let others = self.ends_and_chain(next, place)?;
            self.check_ends(&rows, &others.rows)?;
            rows.extend(others.rows);
            return Ok(Chain { rows, end: others.end });
        }
        let (mut rows, next) = self.ends(value, None, place)?;
        let others = self.chain(next, place, None)?;
        self.check_ends(&rows, &others.rows)?;
        rows.extend(others.rows);
        Ok(Chain { rows, end: others.end })
    }

    /// Reads tables of literals at the end of subjects, up to the value `stop`, and returns the value that follows.
    fn ends(
        &self,
        mut value: &'b [u8],
        stop: Option<&[u8]>,
        place: &Place<'b>,
    ) -> Result<(Vec<usize>, &'b [u8]), MapRefutation> {
        let mut tables = Vec::new();
        while stop != Some(value)
            && let Some((table, family)) = self.family_at(value)?.filter(|(_, family)| !family.is_anchored)
        {
            tables.push(self.family_rows(table, &family, place)?);
            value = table.fallback();
        }
        let mut all: Vec<usize> = Vec::new();
        for rows in tables.into_iter().rev() {
            self.check_ends(&rows, &all)?;
            all.extend(rows);
        }
        Ok((all, value))
    }

    /// Checks that a guard such as `\.(?:php|html)$` matches all that some rows match.
    pub fn check_endings(&self, split: &Split<'b>, rows: &[usize]) -> Result<(), MapRefutation> {
        let language = self.own_pattern(split.row)?;
        let endings = match &language.pattern.ast {
            Ast::Concat(items) => match items.as_slice() {
                [items @ .., Ast::Dollar] => keys::strings(&Ast::Concat(items.to_vec()), false),
                _ => None,
            },
            _ => None,
        };
        let mut endings = endings.filter(|_| !split.row.caseless).unwrap_or_default();
        endings.iter_mut().for_each(|ending| ending.reverse());
        for row in rows {
            let is_guarded =
                self.reversed_end(*row).is_some_and(|end| endings.iter().any(|ending| end.starts_with(ending)));
            if !is_guarded {
                return self.refute_skipped(*row, None);
            }
            self.proved.discharge(Obligation::Guard);
        }
        Ok(())
    }

    /// Checks that no earlier row of `others` may match a subject that ends with the literal of a row.
    pub fn check_ends(&self, rows: &[usize], others: &[usize]) -> Result<(), MapRefutation> {
        let mut ends: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        let mut unknown = Vec::new();
        for other in others {
            match self.reversed_end(*other) {
                Some(end) => ends.entry(end).or_default().push(*other),
                None => unknown.push(*other),
            }
        }
        let index = Prefixes::new(ends.keys().cloned().collect());
        for row in rows {
            let Some(end) = self.reversed_end(*row) else {
                return refute(Obligation::Family, format!("{} does not end with a literal", self.name(*row)));
            };
            let shorter = std::iter::successors(index.longest(&end), |at| index.parent(*at));
            let alike = shorter.chain(index.extending(&end)).flat_map(|at| &ends[&index.strings()[at]]);
            for other in alike.chain(&unknown).filter(|other| *other < row) {
                self.check_pair(*row, *other)?;
            }
            self.proved.discharge(Obligation::Floating);
        }
        Ok(())
    }

    /// Returns the literal, in reverse, of a row that matches exactly the subjects that end with a literal.
    fn reversed_end(&self, row: usize) -> Option<Vec<u8>> {
        let Ast::Concat(items) = &self.rows.list[row].exact()?.pattern.ast else { return None };
        let [items @ .., Ast::Dollar] = items.as_slice() else { return None };
        let bytes: Option<Vec<u8>> = items.iter().rev().map(byte).collect();
        bytes.filter(|bytes| bytes.first().is_some_and(|last| *last != b'\n'))
    }
}
