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
use crate::syntax::{self, Pattern};

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
    /// The places of the rules on which PCRE may give up, ascending.
    unbounded: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum StayingPart {
    Groups(Groups),
    /// The statement of a rule.
    Alone(Vec<u8>),
}

/// A rule that stays, and what decides whether it is in a group.
struct StayingRule<'r> {
    /// Its place in the run.
    place: usize,
    pattern: &'r [u8],
    statement: &'r [u8],
    /// Whether its pattern is read, and PCRE may give up on it.
    may_give_up: bool,
    /// Whether it may be in a group: it fires on each URI that it matches, and the `if` changes nothing else.
    may_enter: bool,
    sets_a_name: bool,
}

impl<'r> StayingRule<'r> {
    fn new(bytes: &'r [u8], place: usize, rule: &'r Rule, entering: Entering) -> StayingRule<'r> {
        let pattern = syntax::parse(&rule.pattern).ok();
        let gives_up = |pattern: &Pattern| !Bounds::of(pattern, &pattern.translate().hir).always_answers;
        let may_give_up = pattern.as_ref().is_some_and(gives_up);
        let is_certain = pattern.is_some() && !may_give_up;
        StayingRule {
            place,
            pattern: &rule.pattern,
            statement: &bytes[rule.span.clone()],
            may_give_up,
            may_enter: is_certain && (entering == Entering::All || rule.action != Action::Break),
            sets_a_name: pattern.is_some_and(|pattern| pattern.named),
        }
    }
}

impl Grouping {
    /// The grouping of the rules that stay; `None` if none is in a group: where an `if` would change more than the
    /// script, and where groups do not cost less. `bytes` is the text that contains the run.
    pub fn of(bytes: &[u8], run: &Run, plan: &Plan, options: &Options) -> Option<Grouping> {
        if options.entering == Entering::Nothing {
            return None;
        }
        let rule = |place: usize| StayingRule::new(bytes, place, &run.rules[place], options.entering);
        let staying: Vec<StayingRule> = plan.kept().map(|(place, _)| rule(place)).collect();
        // A statement of several lines cannot be indented.
        if staying.iter().any(|rule| rule.statement.contains(&b'\n')) {
            return None;
        }
        let first = plan.stands_before(options);
        let (before, behind) = staying.split_at(staying.partition_point(|rule| rule.place < first));
        let unbounded = staying.iter().filter(|rule| rule.may_give_up).map(|rule| rule.place).collect();
        let mut grouping = Grouping { parts: Vec::new(), leading: 0, grouped: Vec::new(), unbounded };
        grouping.add_all(before);
        grouping.leading = grouping.parts.len();
        grouping.add_all(behind);
        (!grouping.grouped.is_empty()).then_some(grouping)
    }

    /// Adds rules that stand one behind the other, those that may not enter an `if` alone.
    fn add_all(&mut self, rules: &[StayingRule]) {
        for rules in rules.chunk_by(|rule, next| rule.may_enter && next.may_enter) {
            if self.add(rules) {
                continue;
            }
            // A look-up may try two rules to find the first, so it must not try one whose match sets a named group.
            for rules in rules.chunk_by(|rule, next| !rule.sets_a_name && !next.sets_a_name) {
                if !self.add(rules) {
                    self.parts.extend(rules.iter().map(|rule| StayingPart::Alone(rule.statement.to_vec())));
                }
            }
        }
    }

    /// Adds rules in groups if that costs less than the rules; returns whether it did.
    fn add(&mut self, rules: &[StayingRule]) -> bool {
        let texts: Vec<(&[u8], &[u8])> = rules.iter().map(|rule| (rule.pattern, rule.statement)).collect();
        let Some(groups) = Groups::of(&texts).filter(|_| self.look_ups().count() < MOST_LOOK_UPS) else { return false };
        self.parts.push(StayingPart::Groups(groups));
        self.grouped.extend(rules.iter().map(|rule| rule.place));
        true
    }

    /// Whether the rule at a place of the run is in a group.
    pub fn holds(&self, rule: usize) -> bool {
        self.grouped.binary_search(&rule).is_ok()
    }

    /// Whether PCRE may give up on the rule at a place of the run, so that it is in no group.
    pub fn may_give_up(&self, rule: usize) -> bool {
        self.unbounded.binary_search(&rule).is_ok()
    }

    /// The number of rules in groups.
    pub fn count(&self) -> usize {
        self.grouped.len()
    }

    /// The number of patterns that all look-ups together try for a URI that no rule matches.
    pub fn cost(&self) -> Cost {
        self.look_ups().fold(Cost::default(), |sum, groups| sum + groups.cost)
    }

    /// The statements that replace the rules, before and after those for keys; with `clears`, `$1` to `$9` are empty if
    /// no rule fires.
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
