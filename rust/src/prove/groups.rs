//! Proves groups of rules behind a lookup: `set $group ""; if ($pattern ~ "^(?<group>[0-9]+)") { }` and one
//! `if ($group = N) { rules }` for each group.
//!
//! # Lemma
//!
//! Let r1..rn be the rules of all groups in the order of the text, and let `$pattern` be, for each URI u, the number of
//! the group with the first rule that matches u, or empty if none does. Then the groups do with every u what the
//! sequence r1..rn does.
//!
//! *Proof.* PCRE answers for each rule on each URI, which is checked. If no rule matches u, no number equals the empty
//! string, and no `if` is entered. Else let r be the first that does. The numbers differ, so only the group of r is
//! entered; the rules before r in it do not match u; r fires, and ends the script as its flag says. A rule that matches
//! sets `$1` to `$9` and its named groups wherever it is; if none matches, the rules leave `$1` to `$9` empty, and so
//! does the pattern that reads `$pattern`, which does not match the empty string
//! (`ngx_http_script_regex_start_code`).
//!
//! Instead of the second statement, there may be a gate: `if ($uri ~ "F") { set $group $pattern; }`, with a pattern F
//! that matches each URI that one of r1..rn matches, and on which PCRE never gives up. If F matches u, `$group` has the
//! value of `$pattern`. Else no rule matches u, so that `$pattern` is empty, and so is `$group`; and F clears `$1` to
//! `$9`. If F matches and no rule does, they may be those of a map. So where they may be read, F must match only URIs
//! that a rule matches, and in a location with `try_files`, too, as for [`filters`].
//!
//! `if ($group = "") { break; }` before the groups skips them if no rule matches, and all that follows in the script. So
//! nothing may follow, neither in the file nor in an included one. In a server, `break` does nothing else: the flag that
//! it resets is set again before it is read (`ngx_http_core_find_config_phase`).
//!
//! In a location, a true `if` does more than run its statements; [`surroundings`](super::surroundings) decides for
//! which rules this does not matter.
//!
//! So patterns and targets do not matter here; [`trees`](super::trees) proves the value of `$pattern` for each URI.

use std::collections::HashSet;
use std::sync::Arc;

use crate::first_match::ReadPatterns;
use crate::map_block::MapBlock;
use crate::phase::Entering;
use crate::prove::kinds::KindLookUp;
use crate::prove::known::Known;
use crate::prove::maps::LONGEST_GROUP;
use crate::prove::node::{Node, is_stop, number};
use crate::prove::places::{Item, Segments};
use crate::prove::trees::Trees;
use crate::prove::{Discharged, Refutation, filters, names, surroundings};

/// A lookup of the first rule that matches.
enum LookUp<'l, 't> {
    /// It finds the group of the rule, which a variable holds, for the URIs that a gate matches.
    Group {
        group: &'t [u8],
        root: &'l MapBlock<'t>,
        gate: Option<&'t [u8]>,
    },
    Kind(KindLookUp<'l, 't>),
}

impl<'t> LookUp<'_, 't> {
    /// The variable with the number of a group or kind.
    fn result(&self) -> &'t [u8] {
        match self {
            LookUp::Group { group, .. } => group,
            LookUp::Kind(kinds) => kinds.kind,
        }
    }

    /// The variables that the lookup sets.
    fn variables(&self) -> Vec<&'t [u8]> {
        match self {
            LookUp::Group { group, .. } => vec![group],
            LookUp::Kind(kinds) => vec![kinds.kind, kinds.target],
        }
    }
}

/// The rules of the groups after a lookup, in order.
struct Replaced<'t> {
    rules: Vec<&'t Node<'t>>,
    /// The number of the statements.
    length: usize,
}

/// The statements of a script, with each group replaced by its rules.
pub struct Flat<'t> {
    pub statements: Vec<&'t Node<'t>>,
    /// The statements that were replaced.
    pub grouping: Vec<&'t Node<'t>>,
}

/// Replaces lookups of groups by the rules of the groups, lookups of kinds by the rules that these stand for, and
/// filters by the rules behind them. These rules must be allowed in an `if`. Statements of the original are not
/// taken for filters. `is_whole`: the script is all that a server has.
pub fn flatten<'t>(
    script: &[&'t Node<'t>],
    known: &Known<'t, '_>,
    entering: Entering,
    original: &[&'t Node<'t>],
    is_whole: bool,
) -> Discharged<Flat<'t>> {
    let mut segments = Segments::new(original, known.captures_matter);
    let mut grouping = Vec::new();
    let (trees, mut rest) = (known.trees, script);
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        let filter = filters::pattern(first).filter(|_| !segments.is_end(first));
        if let (Some(pattern), Some(rules)) = (filter, &first.block) {
            let leaves_empty = segments.ends_with_rules() && filters::has_no_groups(pattern);
            filters::check(pattern, rules, entering, known.captures_matter && !leaves_empty)?;
            rules.iter().for_each(|rule| segments.push(Item::Statement(rule)));
            grouping.push(*first);
            continue;
        }
        let Some((look_up, node)) = rest.first().and_then(|next| Some((look_up(trees, first, next)?, *next))) else {
            if reads_a_map(trees, first) {
                return Err(Refutation::new("a lookup is read in another way than into an empty variable"));
            }
            segments.push(Item::Statement(first));
            continue;
        };
        grouping.extend([first, node]);
        rest = &rest[1..];
        check_variables(&look_up, known)?;
        let stop = rest.first().copied().filter(|next| is_stop(next, look_up.result()));
        if let Some(stop) = stop {
            grouping.push(stop);
            rest = &rest[1..];
        }
        let length = match look_up {
            LookUp::Kind(kinds) => {
                let statements = kinds.statements(rest, entering)?;
                let length = statements.length();
                segments.push(Item::Kinds(statements));
                length
            }
            LookUp::Group { group, root, gate } => {
                let Replaced { rules, length } = groups((group, root), rest, known, entering)?;
                if let Some(gate) = gate {
                    check_gate(gate, &rules, known, entering)?;
                }
                rules.into_iter().for_each(|rule| segments.push(Item::Statement(rule)));
                length
            }
        };
        grouping.extend(&rest[..length]);
        rest = &rest[length..];
        if stop.is_some() && !(is_whole && rest.is_empty()) {
            return Err(Refutation::new("a `break` ends the script before its last statement"));
        }
    }
    Ok(Flat { statements: segments.flat(known)?, grouping })
}

/// Reads the rules of the groups after a lookup.
fn groups<'t>(
    (variable, root): (&'t [u8], &MapBlock<'t>),
    rest: &[&'t Node<'t>],
    known: &Known<'t, '_>,
    entering: Entering,
) -> Discharged<Replaced<'t>> {
    let length = rest.iter().take_while(|node| number(node, variable).is_some()).count();
    let groups = &rest[..length];
    let rules: Vec<_> = groups.iter().flat_map(|group| group.block.iter().flatten()).collect();
    rules.iter().try_for_each(|rule| surroundings::check(entering, rule))?;
    check(groups, variable, root, known)?;
    Ok(Replaced { rules, length })
}

/// Checks that nothing else sets the variables of a lookup: neither the configuration, nor a named group in a map,
/// which would set a variable even if no rule matches (`ngx_http_regex_exec`).
fn check_variables(look_up: &LookUp, known: &Known) -> Discharged<()> {
    let by_name = &known.trees.by_name;
    let variables = look_up.variables();
    for variable in &variables {
        names::is_free(variable)?;
        known.used.leave(variable)?;
        if by_name.contains_key(*variable) || known.maps.get(variable).is_some() {
            return Err(Refutation::new("a `set` assigns to the variable of a map"));
        }
    }
    let patterns = by_name.values().flat_map(|block| &block.patterns);
    let mut groups = patterns.flat_map(|row| names::of_groups(&row.pattern));
    if groups.any(|group| variables.iter().any(|name| group.eq_ignore_ascii_case(name))) {
        return Err(Refutation::new("a group in a map has the name of a variable of a lookup"));
    }
    Ok(())
}

/// Reads `set $group ""; if ($pattern ~ "...") { }`, where `$pattern` is one of the maps.
fn look_up<'l, 't>(trees: &'l Trees<'t>, set: &'t Node<'t>, read: &'t Node<'t>) -> Option<LookUp<'l, 't>> {
    let (variable, value) = set.sets()?;
    if let Some(look_up) = gated(trees, variable, read).filter(|_| value.is_empty()) {
        return Some(look_up);
    }
    let [b"if", source, b"~", _, b")"] = read.words()[..] else { return None };
    let root = trees.by_name.get(source.strip_prefix(b"($")?)?;
    if !value.is_empty() || variable.len() > LONGEST_GROUP || !read.block.as_ref().is_some_and(Vec::is_empty) {
        return None;
    }
    let behind = read.word(3).strip_prefix(b"^(?<").and_then(|behind| behind.strip_prefix(variable));
    if behind == Some(b">[0-9]+)") {
        return Some(LookUp::Group { group: variable, root, gate: None });
    }
    let behind = read.word(3).strip_prefix(b"(?s)^[0-9]+ (?<")?.strip_prefix(variable)?;
    let target = behind.strip_prefix(b">[0-9]+) (?<")?.strip_suffix(br">.*)\z")?;
    let kinds = KindLookUp { trees, root, kind: variable, target };
    (target.len() <= LONGEST_GROUP).then_some(LookUp::Kind(kinds))
}

/// Reads `if ($uri ~ "...") { set $group $pattern; }`, where `$pattern` is one of the maps.
fn gated<'l, 't>(trees: &'l Trees<'t>, variable: &'t [u8], read: &'t Node<'t>) -> Option<LookUp<'l, 't>> {
    let gate = filters::pattern(read)?;
    let [set] = &read.block.as_ref()?[..] else { return None };
    let (group, value) = set.sets()?;
    let root = trees.by_name.get(value.strip_prefix(b"$")?)?;
    (group == variable).then_some(LookUp::Group { group, root, gate: Some(gate) })
}

/// Checks that the gate of a lookup lets pass all URIs that a rule matches, and that nothing else shows it.
fn check_gate(gate: &[u8], rules: &[&Node], known: &Known, entering: Entering) -> Discharged<()> {
    filters::check_passing(gate, rules, entering, known.captures_matter)
}

/// Whether an `if` tests the value of one of the maps.
fn reads_a_map(trees: &Trees, node: &Node) -> bool {
    node.block.is_some() && node.word(1).strip_prefix(b"($").is_some_and(|name| trees.by_name.contains_key(name))
}

/// Checks that the lookup gives the group of the first rule that matches.
fn check<'t>(groups: &[&'t Node<'t>], variable: &[u8], root: &MapBlock<'t>, known: &Known<'t, '_>) -> Discharged<()> {
    let mut rules: Vec<(&[u8], &[u8])> = Vec::new();
    let mut numbers = HashSet::new();
    for group in groups {
        let number = number(group, variable).unwrap_or_default();
        if !numbers.insert(number) {
            return Err(Refutation::new("two groups of rules have the same number"));
        }
        for rule in group.block.iter().flatten() {
            if !rule.is_rule() {
                return Err(Refutation::new("a group contains something other than rules that end the script"));
            }
            rules.push((rule.word(1), number));
        }
    }
    let texts: Vec<&[u8]> = rules.iter().map(|(pattern, _)| *pattern).collect();
    let mut own = None;
    let patterns = ReadPatterns::known_or(known.facts.patterns.iter().map(Arc::as_ref), &texts, &mut own);
    patterns.rest();
    known.trees.check_tree(&rules, patterns, root)
}
