//! Puts rules behind a filter: one pattern that matches every URI that one of the rules may match, so that all other
//! URIs skip the rules.
//!
//! The rules stay as they are, and in their order. A filter also lets pass the URIs on which PCRE may give up on a
//! rule, so that nginx still responds with 500.

use crate::first_match::{Bounds, answers_with_looks};
use crate::language::{self, Limits, Question, Subjects, Witness};
use crate::maps::cost::Cost;
use crate::maps::union::{branches, head, union};
use crate::pattern_text::{LONGEST, token_length};
use crate::pcre::{MatchOutcome, Regex};
use crate::phase::Phase;
use crate::quote::escape_pattern;
use crate::rewrite::uncaptured::without_captures;

use crate::syntax::{self, Ast, Pattern};

/// Fewer rules than this are as fast without a filter.
pub const FEWEST: usize = 3;

/// The most rules behind one filter: a request that passes it tries all of them.
pub const MOST: usize = 16;

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
    pub pattern: Option<&'r Pattern>,
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
        let (pattern, is_exact) = Filter::pattern(rules, passing)?;
        // All URIs of a location may have this beginning.
        let common = [&common_beginning(rules)[..], JUNK].concat();
        if phase == Phase::Location && !turns_away(&pattern, &common) {
            return None;
        }
        let passed = if is_exact { 0 } else { rules.len() };
        let cost = Cost { far: 1, near: 1 + passed, worst: 1 + passed, hit: 1 + rules.len().div_ceil(2) };
        let statements = rules.iter().map(|rule| rule.statement.to_vec()).collect();
        Some(Filter { pattern, statements, cost })
    }

    /// Returns the pattern of a filter, and whether one of the rules certainly matches every URI that it matches.
    pub fn pattern(rules: &[FilterRule], passing: Passing) -> Option<(Vec<u8>, bool)> {
        let patterns: Vec<&Pattern> = rules.iter().map(|rule| rule.pattern).collect::<Option<_>>()?;
        let may_fire = rules.iter().all(|rule| rule.may_fire);
        let exact = exact(&patterns);
        let (pattern, is_exact) = match (passing, exact) {
            (Passing::Firing, exact) => (exact.filter(|_| may_fire)?, true),
            (Passing::Any, Some(exact)) => (exact, true),
            (Passing::Any, None) => {
                let wider = wider(&patterns)?;
                let is_covered = is_covered(&wider, &patterns);
                (wider, is_covered)
            }
        };
        turns_away(&pattern, UNUSUAL).then_some((pattern, is_exact))
    }

    /// Returns the statements as text.
    pub fn text(&self) -> Vec<u8> {
        let mut text = b"if ($uri ~ \"".to_vec();
        escape_pattern(&self.pattern, &mut text);
        text.extend_from_slice(b"\") {\n");
        for statement in &self.statements {
            text.extend_from_slice(&[b"    ", &statement[..], b"\n"].concat());
        }
        text.extend_from_slice(b"}\n");
        text
    }
}

fn turns_away(pattern: &[u8], subject: &[u8]) -> bool {
    Regex::new(pattern).is_ok_and(|regex| regex.is_match(subject, CALLS) == MatchOutcome::No)
}

/// The bytes that all matches of all rules begin with.
fn common_beginning(rules: &[FilterRule]) -> Vec<u8> {
    let all: Vec<_> = rules.iter().filter_map(|rule| rule.pattern).flat_map(|pattern| branches(&pattern.ast)).collect();
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

/// Returns a pattern that matches every URI on which PCRE may match one of the patterns or give up on it.
fn wider(patterns: &[&Pattern]) -> Option<Vec<u8>> {
    let whole =
        |pattern: &&Pattern| if always_answers(pattern) { Some(branches(&pattern.ast)) } else { skipped(pattern) };
    let of_all = patterns.iter().map(whole).collect::<Option<Vec<_>>>().and_then(|all| written(all.concat()));
    of_all.or_else(|| written(patterns.iter().map(|pattern| skipped(pattern)).collect::<Option<Vec<_>>>()?.concat()))
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
fn skipped(pattern: &Pattern) -> Option<Vec<Vec<Ast>>> {
    let bounds = Bounds::of(pattern, &pattern.translate().hir);
    head(&pattern.ast).filter(|_| bounds.always_answers || bounds.before_prefix)
}

/// Writes branches as a pattern, if nginx and every PCRE can read it and PCRE never gives up on it.
fn written(branches: Vec<Vec<Ast>>) -> Option<Vec<u8>> {
    let pattern = union(&branches)?;
    let read = syntax::parse(&pattern).ok()?;
    (token_length(&pattern) <= LONGEST && always_answers(&read)).then_some(pattern)
}

fn always_answers(pattern: &Pattern) -> bool {
    Bounds::of(pattern, &pattern.translate().hir).always_answers
}
