//! The proof that an emitted configuration answers every request as the original does.
//!
//! The proof reads both texts from scratch. It shares only these parts with the planner: the lexer, the PCRE
//! translator, the index over patterns, and the model of nginx's hash. Patterns that have been read already may be
//! passed in ([`Facts::patterns`]); they are used only for equal texts.
//!
//! Of the three readers of the rewrite module in this crate, this is the *prover*: it reads rules and what replaces them
//! ([`target`]), and runs both on the strings that decide ([`effect`]). It is separate from the planner
//! ([`crate::rewrite`]), whose faults it is to find, and from the model ([`crate::request`]), which answers for one
//! request where the proof answers for all.
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
//! - maps are evaluated anew for each URI (`volatile`), except for values that no second URI of a request reads
//!   ([`reruns`]), and nginx builds them without a warning ([`maps`]);
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
pub mod facts;
pub mod filters;
pub mod gone;
pub mod groups;
pub mod guards;
pub mod head;
pub mod kinds;
pub mod known;
pub mod listed;
pub mod maps;
pub mod names;
pub mod needs;
pub mod node;
pub mod oracle;
pub mod places;
pub mod refutation;
pub mod reruns;
pub mod residual;
pub mod run;
pub mod strings;
pub mod surroundings;
pub mod tables;
pub mod target;
pub mod trees;
pub mod trie;
pub mod work;

pub use facts::{Facts, Other, Pair};
pub use refutation::{Checked, Discharged, Refutation};

use crate::parallel;
use crate::prove::known::Known;
use crate::prove::names::Used;
use crate::prove::node::Node;
use crate::prove::reruns::Reruns;
use crate::prove::surroundings::has_header_inheritance;
use crate::prove::tables::{Include, TableSizes};
use crate::prove::trees::Trees;

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
    let headers_inherited = !before.iter().chain(&unchanged).any(|nodes| has_header_inheritance(nodes));
    let reruns = || Reruns::read(&originals, &facts.harmless, &facts.rerunning);
    let reruns = facts.is_complete.then(reruns).flatten();
    let known = Known { maps: &maps, trees: &trees, facts, used: &used, captures_matter, reruns, headers_inherited };
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
