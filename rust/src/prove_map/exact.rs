//! Proves tables of exact strings: each string gets the value of the first row that matches it.

use std::collections::HashMap;

use crate::first_match::{First, FirstMatch, ReadPattern};
use crate::language::{Finite, finite};
use crate::map_block::MapBlock;
use crate::parallel;
use crate::prove_map::obligation::{MapRefutation, Obligation, Proved, refute};
use crate::prove_map::prover::{Place, Prover};
use crate::prove_map::row::Numbers;
use crate::prove_map::row::Rows;
use crate::variables;

/// The most strings of one row.
const MOST_STRINGS: usize = 128;

/// From this many rows on, the answers are checked in parallel with the other maps.
const MANY: usize = 4_096;

/// The pattern that compares a key with the subject, in a map of `"$exact>SRC"`. Both sides have the same length,
/// because a lookup ignores case and nothing else; so only the `>` in the middle can separate them.
const SAME: &[u8] = br"(?s)^(.+)>\1\z";

/// The pattern that finds capital letters. nginx looks up a subject in lower case; without capital letters, that is the
/// subject itself.
const CAPITAL: &[u8] = b"[A-Z]";

/// Strings that are looked up.
#[derive(Default)]
struct LookedUp<'b> {
    by_spelling: HashMap<Vec<u8>, Lookup<'b>>,
}

/// A string with its answer. If `any_case`, the string is in lower case and stands for all spellings.
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

impl<'b> Prover<'b> {
    /// Proves `map $exact $known { "" NEXT; default $same; }`: the value of each string that is looked up, and the
    /// level of all other subjects.
    pub fn exact(
        &self,
        block: &'b MapBlock<'b>,
        keys: &'b MapBlock<'b>,
        place: Place<'b>,
    ) -> Result<(), MapRefutation> {
        self.meet(keys);
        let (known, next) = self.looked_up(block, keys)?;
        self.answered(&known, next, place)
    }

    /// Checks the values of the strings, and the level that `next` leads to, for all other subjects.
    fn answered(&self, known: &LookedUp<'b>, next: &'b [u8], mut place: Place<'b>) -> Result<(), MapRefutation> {
        let answers = Answers { rows: &self.rows, known, numbers: place.numbers, end: place.end };
        self.leave_exact(known, &mut place);
        if self.rows.list.len() < MANY {
            self.proved.add(&answers.check()?);
            return self.level(next, place);
        }
        let (checked, others) = parallel::both(|| answers.check(), || self.level(next, place));
        self.proved.add(&checked?);
        others
    }

    /// The strings, and the value of all others.
    fn looked_up(
        &self,
        block: &'b MapBlock<'b>,
        keys: &'b MapBlock<'b>,
    ) -> Result<(LookedUp<'b>, &'b [u8]), MapRefutation> {
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
        if self.original.hostnames || !keys.fallback().is_empty() {
            return wrong("the known strings are not those of the subject");
        }
        if self.is_without_capitals(same, keys, next) {
            return Ok((self.listed(keys)?, next));
        }
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
        Ok((self.exact_keys(keys, answers)?, next))
    }

    /// `map SRC $small { "~[A-Z]" NEXT; default $listed; }`
    fn is_without_capitals(&self, block: &MapBlock, listed: &MapBlock, next: &[u8]) -> bool {
        let [row] = block.patterns.as_slice() else { return false };
        let is_split = *row.pattern == *CAPITAL && !row.caseless && *row.value == *next && block.exact.is_empty();
        is_split && self.is_of_source(block) && block.fallback() == [b"$", &*listed.variable].concat()
    }

    /// Reads `map SRC $listed { "string" VALUE; ... }`, whose strings have no capital letters. nginx looks up a subject
    /// in lower case (`ngx_http_map_find`); without capital letters, that is the subject itself. No value may be empty,
    /// because the next map takes an empty value as "not found".
    fn listed(&self, listed: &'b MapBlock<'b>) -> Result<LookedUp<'b>, MapRefutation> {
        let mut known = LookedUp::default();
        for row in &listed.exact {
            let key = row.key.escape_ascii();
            if row.key.is_empty() || row.key.iter().any(u8::is_ascii_uppercase) {
                return refute(Obligation::ExactKey, format!("\"{key}\" is empty or has capital letters"));
            }
            if row.value.is_empty() || row.value.contains(&b'$') {
                return refute(Obligation::ExactKey, format!("the value of \"{key}\" may be empty"));
            }
            let string = Lookup { key: &row.key, value: &row.value, any_case: false };
            if known.by_spelling.insert(row.key.to_vec(), string).is_some() {
                return refute(Obligation::ExactKey, format!("\"{key}\" is there twice"));
            }
            self.proved.discharge(Obligation::ExactKey);
        }
        Ok(known)
    }

    /// Reads the keys of a table, and checks that each maps to itself, or to the subject as spelled, and has an answer.
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

    /// Removes the rows whose strings are all looked up: they match no remaining subject.
    fn leave_exact(&self, known: &LookedUp, place: &mut Place) {
        let rows = &self.rows.list;
        let has_no_newline = variables::has_no_newline(&self.original.source);
        let has_all = |events| has_all(known, events, has_no_newline);
        let is_left = |row: usize| place.live[row] && !rows[row].events().is_some_and(has_all);
        let live = parallel::collect(rows.len(), is_left);
        place.live = live;
    }
}

/// Whether all strings of a language are looked up. If subjects have no newline, strings with one need not be.
fn has_all(known: &LookedUp, language: &ReadPattern, has_no_newline: bool) -> bool {
    let hir = &language.translation.hir;
    hir.properties().maximum_len().is_some()
        && match finite(hir, MOST_STRINGS) {
            // nginx matches no pattern against the empty string.
            Finite::Strings { strings, any_case } => {
                let is_impossible = |string: &Vec<u8>| string.is_empty() || has_no_newline && string.contains(&b'\n');
                strings.iter().all(|string| is_impossible(string) || known.has(string, any_case))
            }
            _ => false,
        }
}

/// The strings that are looked up, to be compared with the rows.
struct Answers<'p, 'b> {
    rows: &'p Rows<'b>,
    known: &'p LookedUp<'b>,
    numbers: Option<Numbers>,
    end: &'b [u8],
}

impl Answers<'_, '_> {
    /// Checks that each answer is the value of the first row that matches.
    fn check(&self) -> Result<Proved, MapRefutation> {
        let proved = Proved::default();
        let Some(index) = self.rows.patterns.first() else {
            return refute(Obligation::ExactAnswer, "the rows hold too many literals for an index");
        };
        for listed in self.known.by_spelling.values() {
            self.check_answer(listed, index, &proved)?;
            proved.discharge(Obligation::ExactAnswer);
        }
        Ok(proved)
    }

    fn check_answer(&self, listed: &Lookup, index: &FirstMatch, proved: &Proved) -> Result<(), MapRefutation> {
        let key = listed.key;
        let differs = |what: &str| {
            let what = format!("\"{}\" {what}", key.escape_ascii());
            Err(MapRefutation { obligation: Obligation::ExactAnswer, what, counterexample: Some(key.to_vec()) })
        };
        match index.first(key, self.rows.list.len()) {
            First::Match(row) => {
                if !self.rows.says(row, listed.value, self.numbers) {
                    return differs("does not get the value of the first row that matches it");
                }
                if listed.any_case && !self.answers_any_case(row, key, index) {
                    return differs("may get the value of another row in another spelling");
                }
                self.rows.check_moves(row, proved)
            }
            First::None if !listed.any_case && listed.value == self.end => Ok(()),
            First::None => differs("gets a value, and no row matches it"),
            First::Unknown(..) => differs("may be matched by a row of which that is not known"),
        }
    }

    /// Whether a row is the first to match a string in each of its spellings.
    fn answers_any_case(&self, row: usize, string: &[u8], index: &FirstMatch) -> bool {
        let language = self.rows.list[row].exact();
        let has_all = language.is_some_and(|language| match finite(&language.translation.hir, MOST_STRINGS) {
            Finite::Strings { strings, any_case: true } => strings.contains(&string.to_ascii_lowercase()),
            _ => false,
        });
        has_all && !index.may_match_some_case(string, 0..row)
    }
}
