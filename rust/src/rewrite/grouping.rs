//! Puts the rules that stay into groups and behind filters, where that can be proved. The others stay alone.
//!
//! If PCRE gives up on a rule, nginx responds with 500 (`ngx_http_regex_exec`); a map would not do that. So a rule on
//! which PCRE may give up is in no group, but between the groups of the rules before and after it. The same holds for a
//! rule that may not stand in an `if`.

use crate::first_match::ReadPatterns;
use crate::maps::cost::Cost;
use crate::maps::text::EmittedMap;
use crate::phase::{Entering, Phase};
use crate::rewrite::filter::{self, Filter, FilterPattern, Passing};
use crate::rewrite::groups::Groups;
use crate::rewrite::kinds::Kinds;
use crate::rewrite::options::Options;
use crate::rewrite::plan::Plan;
use crate::rewrite::runs::Run;
use crate::rewrite::staying::{StayingItem, StayingRule};
use crate::rewrite::text::Names;
use crate::syntax::Pattern;

/// The most lookups of groups. More would cost more than they save.
const MOST_LOOK_UPS: usize = 8;

/// For up to this many rules, a filter costs less than groups that try as many patterns.
const MOST_FILTERED: usize = 8;

/// For up to this many rules, what a hit costs behind a filter does not matter.
const FEW: usize = 16;

/// More rules are all behind one filter if there are at most so many of them for each pattern that it saves a miss: a
/// hit tries half of the rules.
const MOST_FOR_EACH: usize = 6;

/// The rules that stay, in order. At least some of them are in groups or behind filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouping {
    parts: Vec<StayingPart>,
    /// How many of the parts come before the statements that answer the keys.
    leading: usize,
    /// The places of the rules in groups, ascending.
    grouped: Vec<usize>,
    /// The places of the rules behind filters, ascending.
    filtered: Vec<usize>,
    /// The places of the rules on which PCRE may give up, ascending.
    unbounded: Vec<usize>,
    /// Whether a rule that ends the script, or a lookup of such rules, comes last. It leaves `$1` to `$9` empty if it
    /// does not fire.
    leaves_empty: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum StayingPart {
    Groups(Groups),
    Filter(Filter),
    /// The statement of a rule.
    Alone(Vec<u8>),
}

impl Grouping {
    /// Groups the rules of a plan that stay. `None` if no rule is in a group or behind a filter, because an `if` would
    /// change more than the script, or because that would not cost less. `bytes` is the text that contains the run.
    pub fn of(bytes: &[u8], run: &Run, plan: &Plan, options: &Options) -> Option<Grouping> {
        let kept: Vec<usize> = plan.kept().map(|(place, _)| place).collect();
        let texts: Vec<&[u8]> = kept.iter().map(|place| &*run.rules[*place].pattern).collect();
        let mut own = None;
        let patterns = ReadPatterns::known_or(plan.patterns.as_ref(), &texts, &mut own);
        let rule = |(at, place): (usize, &usize)| {
            let number = run.number(*place);
            StayingRule::new(bytes, *place, (&run.rules[*place], patterns.get(at)), number, options.entering)
        };
        let staying: Vec<_> = kept.iter().enumerate().map(rule).collect::<Option<_>>()?;
        let first = plan.stands_before(options);
        let (before, behind) = staying.split_at(staying.partition_point(|rule| rule.place < first));
        let mut grouping = Grouping::none(&staying);
        let maker = PartMaker::new(options, &staying, patterns)?;
        maker.add_all(before, &mut grouping);
        grouping.leading = grouping.parts.len();
        grouping.leaves_empty = false;
        maker.add_all(behind, &mut grouping);
        (!grouping.grouped.is_empty() || !grouping.filtered.is_empty()).then_some(grouping)
    }

    /// As [`Grouping::of`], for rules some of which do not end the script.
    pub fn of_items(bytes: &[u8], items: &[StayingItem], options: &Options) -> Option<Grouping> {
        let patterns = ReadPatterns::of(&items.iter().map(StayingItem::pattern).collect::<Vec<_>>());
        let mut staying = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let read = patterns.get(place);
            staying.push(match item {
                StayingItem::Rule(rule, number, _) => {
                    StayingRule::new(bytes, place, (rule, read), *number, options.entering)?
                }
                StayingItem::Barrier(barrier) => StayingRule::going_on(bytes, place, (barrier, read))?,
            });
        }
        let mut grouping = Grouping::none(&staying);
        PartMaker::new(options, &staying, &patterns)?.add_all(&staying, &mut grouping);
        (!grouping.grouped.is_empty() || !grouping.filtered.is_empty()).then_some(grouping)
    }

    fn none(staying: &[StayingRule]) -> Grouping {
        let unbounded = staying.iter().filter(|rule| rule.may_give_up).map(|rule| rule.place).collect();
        let (parts, grouped, filtered) = (Vec::new(), Vec::new(), Vec::new());
        Grouping { parts, leading: 0, grouped, filtered, unbounded, leaves_empty: false }
    }

    fn add_groups(&mut self, groups: Groups, rules: &[StayingRule]) {
        self.parts.push(StayingPart::Groups(groups));
        self.leaves_empty = true;
        self.grouped.extend(rules.iter().map(|rule| rule.place));
    }

    fn add_alone(&mut self, rules: &[StayingRule]) {
        self.parts.extend(rules.iter().map(|rule| StayingPart::Alone(rule.statement.to_vec())));
        self.leaves_empty = rules.last().map_or(self.leaves_empty, StayingRule::ends_the_script);
    }

    fn add_filter(&mut self, filter: Filter, rules: &[StayingRule]) {
        self.parts.push(StayingPart::Filter(filter));
        self.filtered.extend(rules.iter().map(|rule| rule.place));
        self.leaves_empty = rules.last().is_some_and(StayingRule::ends_the_script);
    }

    /// The cost as one number, for comparisons. Patterns tried for rare requests count less.
    fn rank(&self) -> usize {
        let Cost { far, near, worst, .. } = self.cost();
        2 * far + 2 * near + worst + 5 * self.parts.iter().filter(|part| matches!(part, StayingPart::Alone(_))).count()
    }

    /// The number of patterns tried for a URI that begins like no rule.
    fn tried(&self) -> usize {
        self.cost().far + self.parts.iter().filter(|part| matches!(part, StayingPart::Alone(_))).count()
    }

    /// Whether the rule at a place of the run is in a group.
    pub fn holds(&self, rule: usize) -> bool {
        self.grouped.binary_search(&rule).is_ok()
    }

    /// Whether PCRE may give up on the rule at a place of the run, so that it is in no group.
    pub fn may_give_up(&self, rule: usize) -> bool {
        self.unbounded.binary_search(&rule).is_ok()
    }

    /// Whether the rule at a place of the run is behind a filter.
    pub fn filters(&self, rule: usize) -> bool {
        self.filtered.binary_search(&rule).is_ok()
    }

    /// The number of rules in groups.
    pub fn count(&self) -> usize {
        self.grouped.len()
    }

    /// The number of rules behind filters.
    pub fn filtered_count(&self) -> usize {
        self.filtered.len()
    }

    /// The number of patterns that all lookups and filters together try for a URI that no rule matches.
    pub fn cost(&self) -> Cost {
        let costs = self.parts.iter().filter_map(|part| match part {
            StayingPart::Groups(groups) => Some(groups.cost),
            StayingPart::Filter(filter) => Some(filter.cost),
            StayingPart::Alone(_) => None,
        });
        costs.fold(Cost::default(), |sum, cost| sum + cost)
    }

    /// Returns the statements that replace the rules: those before and those after the statements for keys. `is_last`:
    /// they are the last of the script of a server.
    pub fn statements(&self, names: &Names, is_last: bool) -> [Vec<u8>; 2] {
        let [mut before, mut behind] = [Vec::new(), Vec::new()];
        let mut number = 0;
        for (at, part) in self.parts.iter().enumerate() {
            let text = if at < self.leading { &mut before } else { &mut behind };
            match part {
                StayingPart::Groups(groups) => {
                    number += 1;
                    let is_last = is_last && at >= self.leading && at + 1 == self.parts.len();
                    text.extend(groups.statements(&names.of_groups(number), is_last));
                }
                StayingPart::Filter(filter) => text.extend(filter.text()),
                StayingPart::Alone(statement) => text.extend_from_slice(&[&statement[..], b"\n"].concat()),
            }
        }
        [before, behind]
    }

    /// The variables that hold the results of the lookups.
    pub fn variables(&self, names: &Names) -> impl Iterator<Item = String> {
        (1..).zip(self.look_ups()).flat_map(|(number, groups)| groups.variables(&names.of_groups(number)))
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
            StayingPart::Filter(_) | StayingPart::Alone(_) => None,
        })
    }
}

/// The most rules beside a group that are considered when its cost is measured.
const MOST_BESIDE: usize = 1_000;

/// Divides rules into groups, filters and single rules.
struct PartMaker<'s, 'r> {
    passing: Passing,
    phase: Phase,
    captures_matter: bool,
    staying: &'s [StayingRule<'r>],
    /// The patterns of `staying`.
    patterns: &'s ReadPatterns,
}

impl<'s, 'r> PartMaker<'s, 'r> {
    /// `None` if no rule may stand in an `if`.
    fn new(options: &Options, staying: &'s [StayingRule<'r>], patterns: &'s ReadPatterns) -> Option<PartMaker<'s, 'r>> {
        let passing = match options.entering {
            Entering::Nothing => return None,
            Entering::AllButBreak => Passing::Firing,
            Entering::All => Passing::Any,
        };
        let (phase, captures_matter) = (options.phase, options.captures_matter);
        Some(PartMaker { passing, phase, captures_matter, staying, patterns })
    }

    /// Adds consecutive rules in the way that tries the fewest patterns.
    fn add_all(&self, rules: &[StayingRule], grouping: &mut Grouping) {
        // If the last rule answers most URIs of a location, lookups and filters would only delay it.
        if let Some((last, others)) = rules.split_last()
            && self.is_for_all(last, others)
        {
            self.add_all(others, grouping);
            return grouping.add_alone(std::slice::from_ref(last));
        }
        let with = |add: fn(&Self, &[StayingRule], &mut Grouping)| {
            let mut with = grouping.clone();
            add(self, rules, &mut with);
            with
        };
        let groups = with(Self::add_groups);
        // A hit tries the rules behind a filter up to the one that fires, but of groups only the rules of one.
        let handicap = usize::from(rules.len() > MOST_FILTERED);
        let is_better = |filters: &Grouping| {
            if rules.len() <= FEW {
                filters.rank() + handicap <= groups.rank()
            } else {
                MOST_FOR_EACH * groups.tried().saturating_sub(filters.tried()) >= rules.len()
            }
        };
        let may_be_better =
            rules.len() <= FEW || (rules.len() <= filter::MOST && MOST_FOR_EACH * groups.tried() > rules.len());
        *grouping = may_be_better.then(|| with(Self::add_filters)).filter(is_better).unwrap_or(groups);
    }

    /// Adds rules in groups, and rules that may be in no group behind filters or alone.
    fn add_groups(&self, rules: &[StayingRule], grouping: &mut Grouping) {
        let (mut left, mut at) = (0, 0);
        for chunk in rules.chunk_by(|rule, next| rule.may_enter && next.may_enter) {
            if let Some(groups) = self.groups(chunk, grouping) {
                self.add_filters(&rules[left..at], grouping);
                grouping.add_groups(groups, chunk);
                left = at + chunk.len();
            }
            at += chunk.len();
        }
        self.add_filters(&rules[left..], grouping);
    }

    /// Puts rules into groups, if that costs less than the rules themselves.
    fn groups(&self, rules: &[StayingRule], grouping: &Grouping) -> Option<Groups> {
        if !rules.iter().all(|rule| rule.may_enter) || grouping.look_ups().count() == MOST_LOOK_UPS {
            return None;
        }
        let texts: Vec<(&[u8], &[u8])> = rules.iter().map(|rule| (&*rule.unnamed, &*rule.statement)).collect();
        let places = rules.first()?.place..=rules.last()?.place;
        let others = self.staying.iter().filter(|rule| !places.contains(&rule.place)).map(|rule| rule.text);
        let kinds = rules.iter().map(StayingRule::for_kind).collect::<Option<Vec<_>>>();
        let kinds = kinds.and_then(|rules| Kinds::of(&rules, self.captures_matter));
        Groups::of(
            &texts,
            kinds,
            || self.gate(rules),
            &others.take(MOST_BESIDE).collect::<Vec<_>>(),
            Some(self.patterns),
        )
    }

    /// Adds rules behind filters, with as many rules as possible behind each, and the other rules alone.
    fn add_filters(&self, rules: &[StayingRule], grouping: &mut Grouping) {
        for rules in rules.chunk_by(|rule, next| self.is_filtered(rule) && self.is_filtered(next)) {
            rules.chunks(filter::MOST).for_each(|rules| self.add_filter(rules, grouping));
        }
    }

    fn add_filter(&self, rules: &[StayingRule], grouping: &mut Grouping) {
        // If PCRE gives up on a rule, `$1` to `$9` keep their former values; a filter before the rule would change
        // them.
        if let Some((first, others)) = rules.split_first()
            && self.captures_matter
            && first.may_give_up
            && !grouping.leaves_empty
        {
            grouping.add_alone(std::slice::from_ref(first));
            return self.add_filter(others, grouping);
        }
        if let Some(filter) = self.filter(rules) {
            grouping.add_filter(filter, rules);
        } else if rules.len() < 2 * filter::FEWEST {
            grouping.add_alone(rules);
        } else {
            let (one, other) = rules.split_at(rules.len() / 2);
            self.add_filter(one, grouping);
            self.add_filter(other, grouping);
        }
    }

    /// Whether a rule of a location matches all URIs that the rules before it match.
    fn is_for_all(&self, rule: &StayingRule, others: &[StayingRule]) -> bool {
        let others: Option<Vec<&Pattern>> = others.iter().map(StayingRule::pattern).collect();
        let (Some(rule), Some(others)) = (rule.pattern(), others) else { return false };
        self.phase == Phase::Location && others.len() < FEW && filter::is_for_all(rule, &others)
    }

    /// Whether a rule may be behind a filter.
    fn is_filtered(&self, rule: &StayingRule) -> bool {
        FilterPattern::of(&[rule.for_filter()], self.passing).is_some()
    }

    /// A pattern before the lookup of rules.
    fn gate(&self, rules: &[StayingRule]) -> Option<FilterPattern> {
        // What the maps capture would stay where no rule fires.
        let passing = if self.captures_matter { Passing::Firing } else { self.passing };
        let rules: Vec<_> = rules.iter().take(filter::MOST + 1).map(StayingRule::for_filter).collect();
        (rules.len() <= filter::MOST).then(|| FilterPattern::in_phase(&rules, passing, self.phase)).flatten()
    }

    fn filter(&self, rules: &[StayingRule]) -> Option<Filter> {
        Filter::of(&rules.iter().map(StayingRule::for_filter).collect::<Vec<_>>(), self.passing, self.phase)
    }
}
