//! Puts the rules that no list of strings replaces into groups, where that can be proved; the others stay alone.
//!
//! A rule on which PCRE gives up responds with 500 (`ngx_http_regex_exec`), which a map does not pass on. Such a rule
//! stays alone in its place, between the groups of the rules before it and after it, and so does a rule that may not
//! stand in an `if`.

use crate::first_match::Bounds;
use crate::maps::cost::Cost;
use crate::maps::text::EmittedMap;
use crate::phase::Entering;
use crate::rewrite::groups::Groups;
use crate::rewrite::options::Options;
use crate::rewrite::plan::Plan;
use crate::rewrite::runs::{Rule, Run};
use crate::rewrite::target::Action;
use crate::rewrite::text::Names;
use crate::syntax;

/// Groups beyond this many look-ups cost more than they save; their numbers have two digits in names.
const MOST_LOOK_UPS: usize = 8;

/// The rules that stay, in order, at least some of them in groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouping {
    parts: Vec<StayingPart>,
    /// How many of the parts stand before what answers the keys: those of the rules before it.
    leading: usize,
    /// The places of the rules in groups, ascending.
    grouped: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum StayingPart {
    Groups(Groups),
    /// The statement of a rule.
    Alone(Vec<u8>),
}

impl Grouping {
    /// The grouping of the rules that stay; `None` if none is in a group: where an `if` would change more than the
    /// script, and where groups do not cost less. `bytes` is the text that contains the run.
    pub fn of(bytes: &[u8], run: &Run, plan: &Plan, options: &Options) -> Option<Grouping> {
        if options.entering == Entering::Nothing {
            return None;
        }
        let staying: Vec<usize> = plan.kept().map(|(rule, _)| rule).collect();
        let text = |rule: usize| (&*run.rules[rule].pattern, &bytes[run.rules[rule].span.clone()]);
        // A statement of several lines cannot be indented.
        if staying.iter().any(|rule| text(*rule).1.contains(&b'\n')) {
            return None;
        }
        let (before, behind) = staying.split_at(staying.partition_point(|rule| *rule < plan.stands_before(options)));
        let mut grouping = Grouping { parts: Vec::new(), leading: 0, grouped: Vec::new() };
        let may_enter = |rule: &usize| may_enter(&run.rules[*rule], options.entering);
        grouping.add_all(before, run, &may_enter, &text);
        grouping.leading = grouping.parts.len();
        grouping.add_all(behind, run, &may_enter, &text);
        (!grouping.grouped.is_empty()).then_some(grouping)
    }

    /// Adds rules that stand one behind the other, those that may not enter an `if` alone.
    fn add_all<'r>(
        &mut self,
        rules: &[usize],
        run: &Run,
        may_enter: &impl Fn(&usize) -> bool,
        text: &impl Fn(usize) -> (&'r [u8], &'r [u8]),
    ) {
        for rules in rules.chunk_by(|rule, next| may_enter(rule) && may_enter(next)) {
            if self.add(rules, text) {
                continue;
            }
            // A look-up may try two rules to find the first, so it must not try one whose match sets a named group.
            let sets_no_name = |rule: &usize| !has_named_group(&run.rules[*rule]);
            for rules in rules.chunk_by(|rule, next| sets_no_name(rule) && sets_no_name(next)) {
                if !self.add(rules, text) {
                    self.parts.extend(rules.iter().map(|rule| StayingPart::Alone(text(*rule).1.to_vec())));
                }
            }
        }
    }

    /// Adds rules in groups if that costs less than the rules; returns whether it did.
    fn add<'r>(&mut self, rules: &[usize], text: &impl Fn(usize) -> (&'r [u8], &'r [u8])) -> bool {
        let texts: Vec<(&[u8], &[u8])> = rules.iter().map(|rule| text(*rule)).collect();
        let Some(groups) = Groups::of(&texts).filter(|_| self.look_ups().count() < MOST_LOOK_UPS) else { return false };
        self.parts.push(StayingPart::Groups(groups));
        self.grouped.extend(rules);
        true
    }

    /// Whether the rule at a place of the run is in a group.
    pub fn holds(&self, rule: usize) -> bool {
        self.grouped.binary_search(&rule).is_ok()
    }

    /// The number of rules in groups.
    pub fn count(&self) -> usize {
        self.grouped.len()
    }

    /// The number of patterns that all look-ups together try for a URI that no rule matches.
    pub fn cost(&self) -> Cost {
        self.look_ups().fold(Cost::default(), |sum, groups| sum + groups.cost)
    }

    /// The statements that replace the rules, before and after those for keys; with `clears`, `$1` to `$9` are empty if no
    /// rule fires.
    pub fn statements(&self, names: &Names, clears: bool) -> [Vec<u8>; 2] {
        let [mut before, mut behind] = [Vec::new(), Vec::new()];
        let mut number = 0;
        for (at, part) in self.parts.iter().enumerate() {
            let text = if at < self.leading { &mut before } else { &mut behind };
            match part {
                StayingPart::Groups(groups) => {
                    number += 1;
                    text.extend(groups.statements(&names.of_groups(number), clears));
                }
                StayingPart::Alone(statement) => text.extend_from_slice(&[&statement[..], b"\n"].concat()),
            }
        }
        [before, behind]
    }

    /// The variables that hold the numbers of groups.
    pub fn variables(&self, names: &Names) -> impl Iterator<Item = String> {
        (1..).zip(self.look_ups()).map(|(number, _)| names.of_groups(number).rules)
    }

    /// The maps that look up the groups.
    pub fn maps(&self, names: &Names) -> Vec<EmittedMap> {
        let maps = (1..).zip(self.look_ups()).map(|(number, groups)| groups.maps(&names.of_groups(number)));
        maps.flatten().flatten().collect()
    }

    /// The keys of the hash tables of the maps.
    pub fn tables(&self) -> impl Iterator<Item = &[Vec<u8>]> {
        self.look_ups().flat_map(|groups| &groups.tables).map(Vec::as_slice)
    }

    fn look_ups(&self) -> impl Iterator<Item = &Groups> {
        self.parts.iter().filter_map(|part| match part {
            StayingPart::Groups(groups) => Some(groups),
            StayingPart::Alone(_) => None,
        })
    }
}

/// Whether a rule may be in a group: it fires on each URI that it matches, and the `if` changes nothing else.
fn may_enter(rule: &Rule, entering: Entering) -> bool {
    (entering == Entering::All || rule.action != Action::Break) && always_answers(rule)
}

/// Whether every PCRE answers on each URI.
fn always_answers(rule: &Rule) -> bool {
    let Ok(pattern) = syntax::parse(&rule.pattern) else { return false };
    let hir = pattern.translate().hir;
    Bounds::of(&pattern, &hir).always_answers
}

fn has_named_group(rule: &Rule) -> bool {
    syntax::parse(&rule.pattern).is_ok_and(|pattern| pattern.named)
}
