//! Rules behind a look-up that share a rewrite: those that end the script alike, and have targets that differ in
//! constant text only, which a map has for each.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

use crate::first_match::ReadPattern;
use crate::maps::text::{EmittedMap, Key};
use crate::pcre::Regex;
use crate::quote::{escape, quoted_length};
use crate::rewrite::candidate::MAX_TOKEN;
use crate::rewrite::groups::{SMALLEST, group_size};
use crate::rewrite::runs::Rule;
use crate::rewrite::shared_pattern::with_any_segments;
use crate::rewrite::target::{self, Action, Part, Target};
use crate::rewrite::text::{GroupNames, quoted_pattern};
use crate::syntax::{Ast, Pattern};

/// Fewer rules than this are easier to read in groups.
const FEWEST: usize = 100;

// Instructions of nginx 1.22.1: an `if` that compares numbers, a pattern that is tried, a look-up in a map of numbers.
const IF: usize = 127;
const PATTERN: usize = 460;
const LOOK_UP: usize = 300;

/// A rule that may be of a kind.
pub struct KindRule<'r> {
    /// Its number among the rules of its run, from 1.
    pub number: usize,
    pub rule: &'r Rule<'r>,
    /// What is read of its pattern.
    pub pattern: &'r Pattern,
    pub statement: &'r [u8],
}

/// Rules by their kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// The number of each rule, ascending, and that of its kind, from 1.
    rules: Vec<(usize, usize)>,
    statements: Vec<Statements>,
    /// The constant text in the target of a rule, by its number, where it is not in the directive.
    targets: Vec<(usize, Vec<u8>)>,
}

/// The statements of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Statements {
    Shared(SharedRewrite),
    /// Those of rules that share nothing.
    Own(Vec<Vec<u8>>),
}

/// What rules of a kind have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SharedRewrite {
    pattern: Cow<'static, [u8]>,
    action: Action,
    /// The target before and after the text that differs.
    before: Vec<u8>,
    after: Vec<u8>,
    is_mapped: bool,
}

impl Kinds {
    /// The rules by their kinds; `None` if groups cost less. O(length of the rules).
    pub fn of(rules: &[KindRule], captures_matter: bool) -> Option<Kinds> {
        if rules.len() < FEWEST || !rules.is_sorted_by(|rule, next| rule.number < next.number) {
            return None;
        }
        let (mut shared, mut holes) = shared(rules, captures_matter);
        // Those of most rules first; the sort is stable.
        shared.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
        shared.truncate(cheapest(rules.len(), shared.iter().map(|(_, places)| places.len()))?);
        let mut kinds = Kinds { rules: Vec::with_capacity(rules.len()), statements: Vec::new(), targets: Vec::new() };
        let mut kind_of = vec![None; rules.len()];
        for (mut rewrite, places) in shared {
            let texts = || places.iter().map(|place| &rules[*place].rule.replacement[holes[*place].clone()]);
            rewrite.is_mapped = texts().any(|text| text != texts().next().unwrap_or_default());
            if !rewrite.is_mapped {
                rewrite.before = rules[places[0]].rule.replacement.to_vec();
                rewrite.after.clear();
                places.iter().for_each(|place| holes[*place] = 0..0);
            }
            kinds.statements.push(Statements::Shared(rewrite));
            places.iter().for_each(|place| kind_of[*place] = Some(kinds.statements.len()));
        }
        let own: Vec<usize> = (0..rules.len()).filter(|place| kind_of[*place].is_none()).collect();
        for block in own.chunks(group_size(own.len())) {
            let statements = block.iter().map(|place| rules[*place].statement.to_vec());
            kinds.statements.push(Statements::Own(statements.collect()));
            block.iter().for_each(|place| (kind_of[*place], holes[*place]) = (Some(kinds.statements.len()), 0..0));
        }
        kinds.rules.extend(rules.iter().zip(&kind_of).map(|(rule, kind)| (rule.number, kind.unwrap_or_default())));
        let target = |(rule, hole): (&KindRule, Range<usize>)| (rule.number, rule.rule.replacement[hole].to_vec());
        kinds.targets.extend(rules.iter().zip(holes).filter(|(_, hole)| !hole.is_empty()).map(target));
        Some(kinds)
    }

    /// The number of the rule at a place, by which the look-up tells it.
    pub fn number(&self, place: usize) -> usize {
        self.rules[place].0
    }

    /// The statements behind the look-up.
    pub fn write(&self, names: &GroupNames, text: &mut Vec<u8>) {
        push(text, format_args!("set ${} ${};\n", names.kind, names.kinds));
        for (kind, statements) in (1..).zip(&self.statements) {
            push(text, format_args!("if (${} = {kind}) {{\n", names.kind));
            match statements {
                Statements::Shared(rewrite) => rewrite.write(names, text),
                Statements::Own(statements) => {
                    statements.iter().for_each(|own| text.extend_from_slice(&[b"    ", &own[..], b"\n"].concat()));
                }
            }
            text.extend_from_slice(b"}\n");
        }
    }

    /// The maps of the number of a rule.
    pub fn maps(&self, names: &GroupNames) -> Vec<EmittedMap> {
        let key = |number: &usize| Key::Exact(number.to_string().into_bytes());
        let map = |name: &str, rows| EmittedMap {
            source: [b"$", names.rules.as_bytes()].concat(),
            name: name.as_bytes().to_vec(),
            volatile: true,
            rows,
            ..EmittedMap::default()
        };
        let kind = |(number, kind): &(usize, usize)| (key(number), kind.to_string().into_bytes());
        let kinds = map(&names.kinds, self.rules.iter().map(kind).collect());
        let targets = self.targets.iter().map(|(number, text)| (key(number), text.clone()));
        let targets = (!self.targets.is_empty()).then(|| map(&names.targets, targets.collect()));
        std::iter::once(kinds).chain(targets).collect()
    }

    /// The keys of the tables of the maps.
    pub fn tables(&self) -> impl Iterator<Item = Vec<Vec<u8>>> {
        let keys = |numbers: Vec<usize>| numbers.into_iter().map(|number| number.to_string().into_bytes()).collect();
        let kinds = self.rules.iter().map(|(number, _)| *number).collect();
        let targets: Vec<usize> = self.targets.iter().map(|(number, _)| *number).collect();
        [kinds, targets].into_iter().filter(|numbers| !numbers.is_empty()).map(keys)
    }
}

impl SharedRewrite {
    fn write(&self, names: &GroupNames, text: &mut Vec<u8>) {
        text.extend_from_slice(b"    rewrite ");
        match &*self.pattern {
            b"^" => text.push(b'^'),
            pattern => text.extend_from_slice(&quoted_pattern(pattern)),
        }
        text.extend_from_slice(b" \"");
        escape(&self.before, text);
        if self.is_mapped {
            push(text, format_args!("${}", names.targets));
        }
        escape(&self.after, text);
        push(text, format_args!("\" {};\n", self.action.flag()));
    }
}

fn push(text: &mut Vec<u8>, arguments: std::fmt::Arguments) {
    text.write_fmt(arguments).expect("a vector takes all that is written");
}

/// The rewrites that enough rules share, each with their places; and where the text is in the replacement of each rule
/// that may differ.
fn shared<'r>(rules: &[KindRule<'r>], captures_matter: bool) -> (Vec<(SharedRewrite, Vec<usize>)>, Vec<Range<usize>>) {
    let mut kinds: Vec<(Shared<'r>, Vec<usize>)> = Vec::new();
    let mut kind_of: HashMap<Shared<'r>, usize> = HashMap::new();
    let mut holes = vec![0..0; rules.len()];
    for (place, rule) in rules.iter().enumerate() {
        let Some((shared, hole)) = Shared::of(rule, captures_matter) else { continue };
        holes[place] = hole;
        let kind = *kind_of.entry(shared).or_insert_with_key(|shared| {
            kinds.push((shared.clone(), Vec::new()));
            kinds.len() - 1
        });
        kinds[kind].1.push(place);
    }
    kinds.retain(|(shared, places)| places.len() >= SMALLEST && answers(&shared.pattern));
    (kinds.into_iter().map(|(shared, places)| (shared.owned(), places)).collect(), holes)
}

/// Whether PCRE always answers on a pattern.
fn answers(pattern: &[u8]) -> bool {
    ReadPattern::of(pattern).is_some_and(|read| read.bounds.always_answers) && Regex::new(pattern).is_ok()
}

/// What a rule may share with others.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Shared<'r> {
    pattern: Cow<'static, [u8]>,
    action: Action,
    before: &'r [u8],
    after: &'r [u8],
}

impl<'r> Shared<'r> {
    /// What others may share with a rule, and where in its replacement they may differ.
    fn of(rule: &KindRule<'r>, captures_matter: bool) -> Option<(Shared<'r>, Range<usize>)> {
        let replacement: &'r [u8] = &rule.rule.replacement;
        let target = target::parse(replacement).filter(|_| quoted_length(replacement) <= MAX_TOKEN)?;
        let reads = captures_matter || target.parts().any(|part| matches!(part, Part::Capture(_)));
        let pattern = pattern(rule, reads)?;
        let hole = hole(&target);
        let (before, after) = (&replacement[..hole.start], &replacement[hole.end..]);
        Some((Shared { pattern, action: rule.rule.action, before, after }, hole))
    }

    fn owned(self) -> SharedRewrite {
        let (before, after) = (self.before.to_vec(), self.after.to_vec());
        SharedRewrite { pattern: self.pattern, action: self.action, before, after, is_mapped: true }
    }
}

/// A pattern that captures what that of the rule does, as far as it is read, and may be that of other rules.
fn pattern(rule: &KindRule, reads_captures: bool) -> Option<Cow<'static, [u8]>> {
    if rule.pattern.named {
        return None;
    }
    if rule.pattern.captures == 0 || !reads_captures {
        return Some(Cow::Borrowed(b"^"));
    }
    let is_sequence = !matches!(rule.pattern.ast, Ast::Alternation(_));
    with_any_segments(&rule.rule.pattern).filter(|_| is_sequence).map(Cow::Owned)
}

/// The first constant text of a path, behind a scheme and host: its place in the replacement. Empty if there is none.
fn hole(target: &Target) -> Range<usize> {
    let mut at = 0;
    for part in &target.path {
        let length = part.length();
        let start = match part {
            Part::Text(text) if at == 0 => authority(text),
            Part::Text(_) => 0,
            Part::Variable { .. } | Part::Capture(_) => length,
        };
        if start < length {
            return at + start..at + length;
        }
        at += length;
    }
    at..at
}

/// The length of the scheme and host that a text begins with.
fn authority(text: &[u8]) -> usize {
    let scheme = [&b"http://"[..], b"https://"].into_iter().find(|scheme| text.starts_with(scheme));
    scheme.map_or(0, |scheme| memchr::memchr(b'/', &text[scheme.len()..]).map_or(text.len(), |at| scheme.len() + at))
}

/// How many kinds, those of most rules first, get a rewrite of their own so that requests cost least: one that no rule
/// matches, and one that any of them matches. `None` if groups cost less.
fn cheapest(rules: usize, kinds: impl Iterator<Item = usize>) -> Option<usize> {
    let cost = |number: usize, shared: usize| {
        let (own, size) = (rules - shared, group_size(rules - shared));
        let compared = LOOK_UP + IF * (number + own.div_ceil(size));
        2 * compared + (shared * (LOOK_UP + PATTERN) + own * PATTERN * size / 2) / rules
    };
    let size = group_size(rules);
    let groups = 2 * IF * rules.div_ceil(size) + PATTERN * size / 2;
    let shared = kinds.scan(0, |sum, rules| {
        *sum += rules;
        Some(*sum)
    });
    let costs = shared.enumerate().map(|(at, shared)| (cost(at + 1, shared), at + 1));
    costs.min().filter(|(cost, _)| *cost < groups).map(|(_, number)| number)
}
