//! The levels, from the variable's own map on: newline, exact strings, rows, tree. Each leaves rows or subjects to the
//! next.

use std::collections::HashMap;
use std::rc::Rc;

use crate::first_match::{First, FirstMatch};
use crate::language::{Finite, finite};
use crate::map_block::MapBlock;
use crate::parallel;
use crate::prove_map::ask;
use crate::prove_map::comparable::{Comparable, may_meet};
use crate::prove_map::keys::KeysReader;
use crate::prove_map::obligation::{MapRefutation, Obligation, refute};
use crate::prove_map::prover::{Place, Prover};
use crate::prove_map::row::Language;

/// Limit of the strings of one row.
const MOST_STRINGS: usize = 128;

/// `"~(?s)^(.+)>\1\z"` of `"$exact>SRC"`: the hash ignores case and nothing else, so both sides have one length, and
/// only the `>` in the middle splits them.
const SAME: &[u8] = br"(?s)^(.+)>\1\z";

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
            let chain = self.chain(value, &place, None)?;
            if chain.end != value {
                self.leave(&chain.rows, &mut place)?;
                value = chain.end;
            } else if self.is_of_source(block) {
                value = self.newline(block, &mut place)?;
            } else if let Some(inner) = self.map_of(&block.source) {
                if inner.patterns.is_empty() && self.is_of_source(inner) {
                    value = self.exact(block, inner, &mut place)?;
                } else if self.has_keys(inner) {
                    let mut used = self.used.borrow_mut();
                    let mut reader = KeysReader {
                        source: &self.original.source,
                        maps: &self.maps,
                        used: &mut used,
                        proved: self.proved,
                    };
                    let keys = reader.keys(inner)?;
                    drop(used);
                    return self.tree(block, &keys, &place);
                } else {
                    return self.pick(block, inner, &place);
                }
            } else {
                return refute(Obligation::KnownMap, format!("${} has an unknown form", block.variable.escape_ascii()));
            }
        }
        self.finish(value, &place)
    }

    /// The value where no row is left.
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

    /// Rows that are tried before all others: no earlier row may match a subject that one of them matches.
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

    /// A row matches no subject of an earlier row that is tried later.
    pub fn check_apart(&self, row: usize, earlier: impl Iterator<Item = usize>) -> Result<(), MapRefutation> {
        let late = &self.rows.list[row];
        for other in earlier {
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

    /// `map SRC $lines { "~(?s)\n." $rows; default NEXT; }`: the rows are all that can match an inner newline.
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
        let newline = Language::of(ask::INNER_NEWLINE).expect("a pattern that is read").translation.hir;
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
        place.left_out = Some(Rc::new(newline));
        Ok(block.fallback())
    }

    /// `map $exact $known { "" NEXT; default $same; }`: strings that are looked up, and a value for each.
    fn exact(
        &self,
        block: &'b MapBlock<'b>,
        keys: &'b MapBlock<'b>,
        place: &mut Place<'b>,
    ) -> Result<&'b [u8], MapRefutation> {
        self.meet(keys);
        let name = block.variable.escape_ascii();
        let wrong = |what: &str| refute(Obligation::ExactKey, format!("${name}: {what}"));
        let next = match block.exact.as_slice() {
            [row] if row.key.is_empty() && block.patterns.is_empty() => &*row.value,
            _ => return wrong("the strings that are not known lead nowhere"),
        };
        let Some(same) = self.map_of(block.fallback()) else {
            return wrong("the known strings are not compared");
        };
        self.meet(same);
        let compared = [b"$", &*keys.variable, b">", &*self.original.source].concat();
        let answers = match same.patterns.as_slice() {
            [row] if *row.pattern == *SAME && !row.caseless && same.exact.is_empty() => self.map_of(&row.value),
            _ => None,
        };
        let Some(answers) = answers.filter(|_| *same.source == *compared && same.fallback() == next) else {
            return wrong("the known strings are not compared as they have to be");
        };
        self.meet(answers);
        if answers.source != block.source || !answers.patterns.is_empty() || !answers.fallback().is_empty() {
            return wrong("the answers are not those of the known strings");
        }
        if self.original.hostnames || !keys.fallback().is_empty() {
            return wrong("the known strings are not those of the subject");
        }
        let answers = self.exact_keys(keys, answers)?;
        self.exact_answers(&answers, place)?;
        self.leave_exact(&answers, place);
        Ok(next)
    }

    /// Each key maps to itself, or to the subject as spelled, and has an answer.
    fn exact_keys(&self, keys: &'b MapBlock<'b>, answers: &'b MapBlock<'b>) -> Result<LookedUp<'b>, MapRefutation> {
        let values: HashMap<&[u8], &[u8]> = answers.exact.iter().map(|row| (&*row.key, &*row.value)).collect();
        let mut known = LookedUp::default();
        for row in &keys.exact {
            let key = row.key.escape_ascii();
            let any_case = *row.value == *self.original.source;
            let gives_itself = row.key == row.value && !row.key.contains(&b'$');
            if row.key.is_empty() || !(any_case || gives_itself) {
                return refute(Obligation::ExactKey, format!("\"{key}\" does not give itself and nothing else"));
            }
            let Some(value) = values.get(&*row.key) else {
                return refute(Obligation::ExactKey, format!("\"{key}\" has no answer"));
            };
            let string = Lookup { key: &row.key, value, any_case };
            if known.by_spelling.insert(row.key.to_ascii_lowercase(), string).is_some() {
                return refute(Obligation::ExactKey, format!("\"{key}\" is there in two spellings"));
            }
            self.proved.discharge(Obligation::ExactKey);
        }
        if answers.exact.len() != keys.exact.len() {
            return refute(Obligation::ExactKey, "there are answers for strings that are not known");
        }
        Ok(known)
    }

    /// Each answer is the value of the first row that matches.
    fn exact_answers(&self, known: &LookedUp<'b>, place: &Place) -> Result<(), MapRefutation> {
        let texts: Vec<&[u8]> = self.rows.list.iter().map(|row| row.text.as_slice()).collect();
        let rows = &self.rows.list;
        let required = parallel::collect(rows.len(), |row| rows[row].required());
        let Ok(index) = FirstMatch::of_required(&texts, required) else {
            return refute(Obligation::ExactAnswer, "the rows hold too many literals for an index");
        };
        for listed in known.by_spelling.values() {
            let key = listed.key;
            let differs = |what: &str| {
                let what = format!("\"{}\" {what}", key.escape_ascii());
                Err(MapRefutation { obligation: Obligation::ExactAnswer, what, counterexample: Some(key.to_vec()) })
            };
            match index.first(key, texts.len()) {
                First::Match(row) => {
                    if !self.says(row, listed.value, place) {
                        return differs("does not get the value of the first row that matches it");
                    }
                    if listed.any_case && !self.answers_any_case(row, key, &index) {
                        return differs("may get the value of another row in another spelling");
                    }
                    self.check_moves(row)?;
                }
                First::None if !listed.any_case && listed.value == place.end => {}
                First::None => return differs("gets a value, and no row matches it"),
                First::Unknown(..) => return differs("may be matched by a row of which that is not known"),
            }
            self.proved.discharge(Obligation::ExactAnswer);
        }
        Ok(())
    }

    /// Whether a row is the first to match a string in each of its spellings.
    fn answers_any_case(&self, row: usize, string: &[u8], index: &FirstMatch) -> bool {
        let language = self.rows.list[row].exact();
        let has_all = language.is_some_and(|language| match finite(&language.translation.hir, MOST_STRINGS) {
            Finite::Strings { strings, any_case: true } => strings.contains(&string.to_ascii_lowercase()),
            _ => false,
        });
        has_all && !index.may_match_some_case(string, row)
    }

    /// A row whose strings are all looked up matches no remaining subject.
    fn leave_exact(&self, known: &LookedUp, place: &mut Place) {
        for (row, live) in self.rows.list.iter().zip(&mut place.live) {
            let is_finite = |events: &&Language| events.translation.hir.properties().maximum_len().is_some();
            let Some(events) = row.events().filter(is_finite).filter(|_| *live) else { continue };
            if let Finite::Strings { strings, any_case } = finite(&events.translation.hir, MOST_STRINGS) {
                // nginx matches no pattern against the empty string.
                *live = strings.iter().any(|string| !string.is_empty() && !known.has(string, any_case));
            }
        }
    }
}

/// Strings that are looked up.
#[derive(Default)]
struct LookedUp<'b> {
    by_spelling: HashMap<Vec<u8>, Lookup<'b>>,
}

/// A string with its answer; with `any_case`, it is in lower case and stands for all spellings.
struct Lookup<'b> {
    key: &'b [u8],
    value: &'b [u8],
    any_case: bool,
}

impl LookedUp<'_> {
    /// Whether a string has an answer, in all its spellings if `any_case`.
    fn has(&self, string: &[u8], any_case: bool) -> bool {
        let listed = self.by_spelling.get(&string.to_ascii_lowercase());
        listed.is_some_and(|listed| listed.any_case || !any_case && listed.key == string)
    }
}
