//! Puts rules behind a filter: one pattern that matches every URI that one of the rules may match, so that all other
//! URIs skip the rules.
//!
//! The rules stay as they are, and in their order. A filter also lets pass the URIs on which PCRE may give up on a
//! rule, so that nginx still responds with 500.

use crate::first_match::{Bounds, ReadPattern, answers_with_looks};
use crate::language::{self, Limits, Question, Subjects, Witness};
use crate::maps::cost::Cost;
use crate::maps::union::{branches, head, union_with_ends};
use crate::pattern_text::{LONGEST, escape, token_length};
use crate::pcre::{MatchOutcome, Regex};
use crate::phase::Phase;
use crate::quote::escape_pattern;
use crate::rewrite::uncaptured::without_captures;
use crate::syntax::{self, Ast, ByteSet, Pattern};
use crate::work::spend;

/// Fewer rules than this are as fast without a filter.
pub const FEWEST: usize = 2;

/// Fewer rules than this stand only behind a filter that passes nothing in vain.
const FEWEST_IN_VAIN: usize = 3;

/// The most rules behind one filter.
pub const MOST: usize = 512;

/// The shortest literal that serves as a filter, in bytes.
const SHORTEST_LITERAL: usize = 4;

/// Longer literals are cut, so that the search for a common one is short.
const LONGEST_LITERAL: usize = 64;

/// A URI for which hardly any pattern is written. A pattern that matches it probably matches nearly all URIs, so that a
/// filter for it would turn away hardly any.
const UNUSUAL: &[u8] = b"/zqvx7/kwj9-0";

/// The same, to be put after what all patterns begin with.
const JUNK: &[u8] = b"zqvx7/kwj9-0";

/// The most calls of PCRE for such a URI.
const CALLS: u32 = 100_000;

/// Which rules may stand behind a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Any rules. A URI that passes the filter may match none of them.
    Any,
    /// Only rules of which one certainly fires for each URI that passes.
    Firing,
}

/// A rule for a filter.
pub struct FilterRule<'r> {
    /// Its pattern, if it could be read.
    pub read: Option<&'r ReadPattern>,
    pub statement: &'r [u8],
    /// Whether it may be behind a filter with [`Passing::Firing`].
    pub may_fire: bool,
}

/// A filter, with the rules behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pattern: Vec<u8>,
    statements: Vec<Vec<u8>>,
    pub cost: Cost,
}

impl Filter {
    /// Puts rules behind one filter. `None` if no filter turns away most URIs.
    pub fn of(rules: &[FilterRule], passing: Passing, phase: Phase) -> Option<Filter> {
        if !(FEWEST..=MOST).contains(&rules.len()) {
            return None;
        }
        let FilterPattern { pattern, wider } = FilterPattern::in_phase(rules, passing, phase)?;
        if rules.len() < FEWEST_IN_VAIN && wider > 0 {
            return None;
        }
        let worst = if wider == 0 { 1 } else { 1 + rules.len() };
        // Of the URIs that begin like a rule, those that begin like one of the others do not pass.
        let cost = Cost { far: 1, near: 1 + wider, worst, hit: 1 + rules.len().div_ceil(2) };
        let statements = rules.iter().map(|rule| rule.statement.to_vec()).collect();
        Some(Filter { pattern, statements, cost })
    }

    /// Returns the statements as text.
    pub fn text(&self) -> Vec<u8> {
        let mut text = opener(&self.pattern);
        for statement in &self.statements {
            text.extend_from_slice(&[b"    ", &statement[..], b"\n"].concat());
        }
        text.extend_from_slice(b"}\n");
        text
    }
}

/// Opens the `if` of a pattern.
fn opener(pattern: &[u8]) -> Vec<u8> {
    let mut text = b"if ($uri ~ \"".to_vec();
    escape_pattern(pattern, &mut text);
    text.extend_from_slice(b"\") {\n");
    text
}

/// The pattern of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterPattern {
    pattern: Vec<u8>,
    /// For how many of the rules it passes URIs that begin like one of their matches, and that none of the rules matches.
    wider: usize,
}

impl FilterPattern {
    /// As [`FilterPattern::of`], for rules of which a location may have only URIs with their common beginning.
    pub fn in_phase(rules: &[FilterRule], passing: Passing, phase: Phase) -> Option<FilterPattern> {
        let common = [&common_beginning(rules)[..], JUNK].concat();
        let is_fine = |chosen: &FilterPattern| phase != Phase::Location || turns_away(&chosen.pattern, &common);
        FilterPattern::of(rules, passing).filter(is_fine)
    }

    /// Opens the `if` of the pattern.
    pub fn opener(&self) -> Vec<u8> {
        opener(&self.pattern)
    }

    /// The cost of a lookup that is read twice behind the pattern.
    pub fn before(&self, look_up: Cost) -> Cost {
        let behind = |patterns: usize| 1 + 2 * patterns;
        let missed = |patterns: usize| if self.wider == 0 { 1 } else { behind(patterns) };
        let Cost { near, worst, hit, .. } = look_up;
        Cost { far: 1, near: missed(near), worst: missed(worst), hit: behind(hit) }
    }

    /// Chooses a pattern for rules. `None` if there is none that turns away most URIs.
    pub fn of(rules: &[FilterRule], passing: Passing) -> Option<FilterPattern> {
        let read: Vec<&ReadPattern> = rules.iter().map(|rule| rule.read).collect::<Option<_>>()?;
        let patterns: Vec<&Pattern> = read.iter().map(|read| &read.pattern).collect();
        let exact = exact(&patterns).map(|pattern| FilterPattern { pattern, wider: 0 });
        let chosen = match passing {
            Passing::Firing => exact.filter(|_| rules.iter().all(|rule| rule.may_fire)),
            Passing::Any => exact.or_else(|| FilterPattern::passing_more(&read)),
        };
        chosen.filter(|chosen| turns_away(&chosen.pattern, UNUSUAL))
    }

    /// A pattern that may pass URIs that no rule matches. A literal that all rules need is tried fastest, unless hardly
    /// any URI passes another pattern in vain.
    fn passing_more(rules: &[&ReadPattern]) -> Option<FilterPattern> {
        let patterns: Vec<&Pattern> = rules.iter().map(|read| &read.pattern).collect();
        let others = wider(rules).map(|(pattern, wider)| {
            let wider = if is_covered(&pattern, &patterns) { 0 } else { wider };
            FilterPattern { pattern, wider }
        });
        if let Some(narrow) = others.as_ref().filter(|others| 2 * others.wider < rules.len()) {
            return Some(FilterPattern { pattern: narrow.pattern.clone(), ..*narrow });
        }
        let literal = needed_literal(rules).map(|literal| {
            let mut pattern = Vec::new();
            literal.iter().for_each(|byte| escape(*byte, &mut pattern));
            FilterPattern { pattern, wider: rules.len() }
        });
        literal.or(others)
    }
}

fn turns_away(pattern: &[u8], subject: &[u8]) -> bool {
    Regex::new(pattern).is_ok_and(|regex| regex.is_match(subject, CALLS) == MatchOutcome::No)
}

/// The bytes that all matches of all rules begin with.
fn common_beginning(rules: &[FilterRule]) -> Vec<u8> {
    let all: Vec<_> = rules.iter().filter_map(|rule| rule.read).flat_map(|read| branches(&read.pattern.ast)).collect();
    let byte = |items: &[Ast], at: usize| match (items.first()?, items.get(at + 1)) {
        (Ast::Start, Some(Ast::Byte(byte))) => Some(*byte),
        _ => None,
    };
    let common = |at: usize| {
        let first = byte(all.first()?, at)?;
        all.iter().all(|items| byte(items, at) == Some(first)).then_some(first)
    };
    (0..).map_while(common).collect()
}

/// Whether a rule matches all that most of the others match, except URIs with an inner newline.
pub fn is_for_all(rule: &Pattern, others: &[&Pattern]) -> bool {
    let hir = rule.translate().hir;
    let Ok(inner_newline) = syntax::parse(b"(?s)\n.").map(|pattern| pattern.translate().hir) else { return false };
    let is_covered = |other: &&&Pattern| {
        let (other, limits) = (other.translate().hir, Limits { states: 2_000, ..Limits::default() });
        let covering = [&hir, &inner_newline];
        language::witness_among(Subjects::All, Question::Outside, &other, &covering, &limits) == Witness::Nothing
    };
    2 * others.iter().filter(is_covered).count() > others.len()
}

/// Returns a pattern that matches exactly what one of the patterns does, if PCRE gives up on none of these and nginx
/// can read it.
fn exact(patterns: &[&Pattern]) -> Option<Vec<u8>> {
    let is_exact = |pattern: &&Pattern| pattern.translate().exact && always_answers(pattern);
    if !patterns.iter().all(is_exact) {
        return None;
    }
    written(patterns.iter().flat_map(|pattern| branches(&pattern.ast)).collect())
}

/// As [`exact`], for patterns some of which have look-arounds. These become branches after the others, without groups.
pub fn union_of(patterns: &[&[u8]]) -> Option<Vec<u8>> {
    let read: Vec<Pattern> = patterns.iter().map(|pattern| syntax::parse(pattern).ok()).collect::<Option<_>>()?;
    let plain: Vec<&Pattern> = read.iter().filter(|pattern| pattern.looks.is_empty()).collect();
    if plain.len() == patterns.len() {
        return exact(&plain);
    }
    let looking = patterns.iter().zip(&read).filter(|(_, pattern)| !pattern.looks.is_empty());
    let mut branches = if plain.is_empty() { Vec::new() } else { vec![exact(&plain)?] };
    for (text, pattern) in looking {
        branches.push(without_captures(text).ok().filter(|_| answers_with_looks(pattern))?);
    }
    let has_flags = |branch: &Vec<u8>| branch.starts_with(b"(?i") || branch.starts_with(b"(?s");
    let union = branches.join(&b'|');
    let is_fine = token_length(&union) <= LONGEST && !branches.iter().any(has_flags);
    (is_fine && answers_with_looks(&syntax::parse(&union).ok()?)).then_some(union)
}

/// Returns a pattern that matches every URI on which PCRE may match one of the patterns or give up on it, and for how
/// many of them it certainly matches more than they do.
fn wider(rules: &[&ReadPattern]) -> Option<(Vec<u8>, usize)> {
    let certain = |read: &&&ReadPattern| read.bounds.always_answers && read.pattern.ast.is_regular();
    let whole = |read: &&ReadPattern| Some(read.events()?).map(|events| floating(branches(&events.pattern.ast)));
    let either = |read: &&ReadPattern| whole(read).or_else(|| skipped(read));
    let of_all = rules.iter().map(either).collect::<Option<Vec<_>>>().and_then(|all| written(all.concat()));
    let uncertain = rules.len() - rules.iter().filter(certain).count();
    let begun = || {
        let heads = rules.iter().map(|read| skipped(read)).collect::<Option<Vec<_>>>()?;
        Some((written(heads.concat())?, rules.len()))
    };
    of_all.map(|pattern| (pattern, uncertain)).or_else(begun)
}

/// Branches without the `^.*` that some begin with. A search passes more without: what follows an inner newline.
fn floating(branches: Vec<Vec<Ast>>) -> Vec<Vec<Ast>> {
    let is_any = |item: &Ast| {
        matches!(item, Ast::Repeat { min: 0, max: None, sub, .. }
        if sub.byte_set().is_some_and(|set| set.complement() == ByteSet::one(b'\n') || set == ByteSet::ALL))
    };
    let floating = |items: Vec<Ast>| match items.as_slice() {
        [Ast::Start, any, rest @ ..] if is_any(any) && !rest.is_empty() => rest.to_vec(),
        _ => items,
    };
    branches.into_iter().map(floating).collect()
}

/// The longest literal that each match of each rule contains, and each URI on which PCRE gives up on one.
fn needed_literal(rules: &[&ReadPattern]) -> Option<Vec<u8>> {
    let runs = |read: &&ReadPattern| Some(literals(&read.events()?.pattern.ast));
    let runs: Vec<Vec<Vec<u8>>> = rules.iter().map(runs).collect::<Option<_>>()?;
    let (first, others) = runs.split_first()?;
    let is_in = |literal: &[u8], runs: &[Vec<u8>]| {
        spend(1 + runs.len());
        runs.iter().any(|run| memchr::memmem::find(run, literal).is_some())
    };
    let windows = |length: usize| first.iter().flat_map(move |run| run.windows(length));
    let mut lengths = (SHORTEST_LITERAL..=LONGEST_LITERAL).rev();
    lengths.find_map(|length| {
        windows(length).find(|literal| others.iter().all(|runs| is_in(literal, runs))).map(<[u8]>::to_vec)
    })
}

/// The runs of bytes that each match of a pattern contains.
fn literals(ast: &Ast) -> Vec<Vec<u8>> {
    let [items] = &branches(ast)[..] else { return Vec::new() };
    let mut runs = vec![Vec::new()];
    for item in items {
        match (item, runs.last_mut()) {
            (Ast::Byte(byte), Some(run)) if run.len() < LONGEST_LITERAL => run.push(*byte),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| run.len() >= SHORTEST_LITERAL);
    runs
}

/// Whether the patterns together certainly match all that a pattern matches.
fn is_covered(pattern: &[u8], patterns: &[&Pattern]) -> bool {
    let Ok(read) = syntax::parse(pattern) else { return false };
    let certain = patterns.iter().filter(|pattern| always_answers(pattern)).map(|pattern| pattern.translate());
    let hirs: Vec<_> = certain.filter(|translation| translation.exact).map(|translation| translation.hir).collect();
    let limits = Limits { states: 2_000, ..Limits::default() };
    let covering: Vec<_> = hirs.iter().collect();
    language::witness_among(Subjects::All, Question::Outside, &read.translate().hir, &covering, &limits)
        == Witness::Nothing
}

/// Returns beginnings such that PCRE always answers "no match" for a URI with none of them.
fn skipped(read: &ReadPattern) -> Option<Vec<Vec<Ast>>> {
    head(&read.pattern.ast).filter(|_| read.bounds.always_answers || read.bounds.before_prefix)
}

/// Writes branches as a pattern, if nginx and every PCRE can read it and PCRE never gives up on it.
fn written(branches: Vec<Vec<Ast>>) -> Option<Vec<u8>> {
    let pattern = union_with_ends(&branches)?;
    let read = syntax::parse(&pattern).ok()?;
    (token_length(&pattern) <= LONGEST && always_answers(&read)).then_some(pattern)
}

fn always_answers(pattern: &Pattern) -> bool {
    Bounds::of(pattern, &pattern.translate().hir).always_answers
}
