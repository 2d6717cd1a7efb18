//! The proof that an emitted configuration answers every request as the original does.
//!
//! The proof reads both texts from scratch. It shares only these parts with the planner: the lexer, the PCRE
//! translator, the index over patterns, and the model of nginx's hash. Patterns that have been read already may be
//! passed in ([`Facts::patterns`]); they are used only for equal texts.
//!
//! # Theorem
//!
//! A run is a sequence of rules r1..rn that each end the script. L(i) are the strings rule i matches; P(u) is the first
//! i with u in L(i). The compiled form fires M(u) where it is defined, and is followed by some of the rules, in their
//! order; P'(u) is what it does. Let D be the rules that are gone. If every L(i), i in D, is finite, and P(s) = P'(s)
//! for each s in S, the union of these L(i) and the domain of M, then P(u) = P'(u) for **every** u: no rule of D
//! matches a u outside S, nor does PCRE2 give up on one ([`work`]), so all rules that match are still there, in the
//! same order, and M is not defined.
//!
//! So the proof never has to reason about the languages of the kept rules. It also checks these conditions on the text:
//!
//! - the compiled form does nothing outside the domain of M ([`guards`] admits only guards that are exact);
//! - maps are evaluated anew for each URI (`volatile`), and nginx builds them without a warning ([`maps`]);
//! - everything else in the files is unchanged and in the same order ([`align`]);
//! - the maps are included once, where nginx takes the sizes of their tables ([`tables`]);
//! - no new variable is nginx's or the configuration's, and all of them fit their table ([`names`]).
//!
//! Rules that match every spelling of a string match more strings than can be listed. They are run on one URI that
//! stands for all spellings not in S ([`effect::Uri::any_case`]).

pub mod align;
pub mod captures;
pub mod effect;
pub mod enumerate;
pub mod filters;
pub mod gone;
pub mod groups;
pub mod guards;
pub mod head;
pub mod kinds;
pub mod listed;
pub mod maps;
pub mod names;
pub mod needs;
pub mod node;
pub mod oracle;
pub mod places;
pub mod residual;
pub mod run;
pub mod strings;
pub mod surroundings;
pub mod tables;
pub mod target;
pub mod trie;
pub mod work;

use std::collections::HashSet;
use std::sync::Arc;

use crate::first_match::ReadPatterns;
use crate::parallel;
use crate::prove::align::Known;
use crate::prove::groups::Trees;
use crate::prove::names::Used;
use crate::prove::node::Node;
use crate::prove::surroundings::has_header_inheritance;
use crate::prove::tables::{Include, TableSizes};
use crate::syntax::Readings;

/// What is known of all files.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The declared differences.
    pub readings: Readings,
    /// The directives that add nothing to the script of the rewrite module. Rules before and after one form one run.
    pub transparent: HashSet<Vec<u8>>,
    /// The directives that read captures only in their text.
    pub harmless: HashSet<Vec<u8>>,
    /// The directives of a location that an `if` in it inherits, or that have no effect once the location is found.
    pub inherited: HashSet<Vec<u8>>,
    /// Whether no file that requests depend on is missing.
    pub is_complete: bool,
    /// The words of the statement that includes the maps, if it belongs in an http block of these files.
    pub include: Option<Vec<Vec<u8>>>,
    /// If a file of the http block is missing: the paths of includes that may lead to sizes of the maps' tables.
    pub may_set_sizes: Option<HashSet<Vec<u8>>>,
    /// Patterns that have been read already. They are used for patterns with the same text.
    pub patterns: Vec<Arc<ReadPatterns>>,
}

/// One file, before and after, and where it stands.
#[derive(Clone, Debug, Default)]
pub struct Pair<'t> {
    pub before: &'t [u8],
    pub after: &'t [u8],
    /// Whether its top level may be inside a location, where `break` from an `if` differs.
    pub in_location: bool,
    /// Whether its top level is the http block's.
    pub in_http: bool,
    /// Whether its statements are the rows of a block such as `map`.
    pub holds_rows: bool,
    /// Whether its top level is that of a server or a location, where rules may stand, and an `if` in place of a rule.
    pub takes_rules: bool,
}

/// An unchanged file.
#[derive(Clone, Copy, Debug)]
pub struct Other<'t> {
    pub text: &'t [u8],
    /// Whether its statements are the rows of a block such as `map`.
    pub holds_rows: bool,
}

/// What was checked, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub rules: usize,
    pub gone: usize,
    /// The number of strings on which both texts were run.
    pub strings: usize,
    /// The number of these that stand for all spellings of their letters.
    pub any_case: usize,
}

impl std::ops::AddAssign for Checked {
    fn add_assign(&mut self, other: Checked) {
        self.rules += other.rules;
        self.gone += other.gone;
        self.strings += other.strings;
        self.any_case += other.any_case;
    }
}

/// An obligation that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// What does not hold, as a sentence without a full stop.
    pub what: String,
    /// A URI on which the two texts differ, if one was found.
    pub counterexample: Option<Vec<u8>>,
}

impl Refutation {
    pub fn new(what: impl Into<String>) -> Refutation {
        Refutation { what: what.into(), counterexample: None }
    }

    pub fn on(what: impl Into<String>, uri: &[u8]) -> Refutation {
        Refutation { what: what.into(), counterexample: Some(uri.to_vec()) }
    }
}

/// The result of an obligation that holds, or why it does not hold.
pub type Discharged<T> = Result<T, Refutation>;

/// Proves that the changed files, with `maps` and then `trees` in the http block, do what the files did before.
/// `others` are the unchanged files of the configuration.
pub fn prove(pairs: &[Pair], others: &[Other], maps: &[u8], trees: &[u8], facts: &Facts) -> Discharged<Checked> {
    let read_files = || -> Discharged<_> {
        let others = read_all(others.iter().map(|other| other.text), "an unchanged file")?;
        let before = read_all(pairs.iter().map(|pair| pair.before), "the original")?;
        let after = read_all(pairs.iter().map(|pair| pair.after), "the emitted text")?;
        Ok((others, before, after))
    };
    // The maps are about as long as all files together, so the two parts take about the same time.
    let (files, maps) = parallel::both(read_files, || maps::read(maps));
    let (maps, (unchanged, before, after)) = (maps?, files?);
    let trees = Trees::read(trees)?;
    let used = Used::of(unchanged.iter().chain(&before).map(Vec::as_slice));
    let sizes_before = TableSizes::of(unchanged.iter().chain(&before).map(Vec::as_slice))?;
    let sizes_after = TableSizes::of(unchanged.iter().chain(&after).map(Vec::as_slice))?;
    if facts.include.is_some() && !maps.sizes.is_empty() {
        return Err(Refutation::new("the maps file sets hash table sizes, which another maps file would set again"));
    }
    let sizes = sizes_after.and(&maps.sizes)?;
    maps.fit(sizes.of_maps())?;
    trees.fit(sizes.of_maps())?;
    let used_after = Used::of(after.iter().map(Vec::as_slice));
    if let Some(name) = trees.names().find(|name| maps.names().any(|other| other == *name)) {
        return Err(Refutation::new(format!("two maps define ${}", name.escape_ascii())));
    }
    let names: Vec<&[u8]> = maps.names().chain(trees.names()).collect();
    names::fit([&used, &used_after], names.iter().copied(), sizes.of_variables())?;
    for name in names {
        names::is_free(name)?;
        used.leave(name)?;
    }
    let rows = pairs.iter().map(|pair| pair.holds_rows).chain(others.iter().map(|other| other.holds_rows));
    let originals = before.iter().chain(&unchanged).zip(rows);
    let originals: Vec<_> = originals.map(|(nodes, holds_rows)| captures::File { nodes, holds_rows }).collect();
    let captures_matter = !facts.is_complete || captures::may_be_read(&originals, &facts.harmless);
    let headers_inherited =
        facts.is_complete && !before.iter().chain(&unchanged).any(|nodes| has_header_inheritance(nodes));
    let known = Known { maps: &maps, trees: &trees, facts, used: &used, captures_matter, headers_inherited };
    let words = facts.include.as_deref().filter(|_| !pairs.is_empty());
    let mut include = Include::new(words, facts.may_set_sizes.as_ref(), sizes_before, sizes_after);
    let mut checked = Checked::default();
    for ((pair, before), after) in pairs.iter().zip(&before).zip(&after) {
        checked += align::file(before, after, pair, &known, &mut include)?;
    }
    include.finish()?;
    Ok(checked)
}

fn read_all<'t>(texts: impl Iterator<Item = &'t [u8]>, what: &str) -> Discharged<Vec<Vec<Node<'t>>>> {
    texts.map(|text| node::parse(text, what)).collect()
}
