//! Bounds the work of PCRE2 before it answers "no match".
//!
//! An index shows that a pattern does not match. For nginx, that is not enough: PCRE2 may exceed the match limit before
//! it finds that out, and nginx then answers 500. So a pattern is skipped only for subjects that are so short that
//! PCRE2 cannot reach the limit, by a bound on its backtracking. The bound is computed on the syntax tree, because the
//! `Hir` is simplified: it has `a*` for `(a|a)*`, of which PCRE2 tries every way.

use regex_syntax::hir::Look;

use super::paths::calls_at_a_place;
use crate::syntax::{Ast, ByteSet, Hir, Pattern};

/// The most calls of `match()`: a quarter of the default match limit of PCRE2, 10,000,000. What counts as one call
/// here, such as a group or the start of an attempt, may take PCRE2 several.
const MOST_CALLS: f64 = 2_500_000.0;

/// The most calls of an attempt that fails before the literal prefix of a pattern. If it may take more, the pattern is
/// never skipped because its prefix is missing.
const FEW_CALLS: f64 = 1_000.0;

/// The most calls for a pattern whose strings are listed. The proof allows more.
const LISTED_CALLS: f64 = 20_000.0;

/// The lengths of subjects for which bounds are tried, in bytes. By default, nginx takes no longer request lines
/// (`large_client_header_buffers 4 8k`).
const LENGTHS: [usize; 9] = [8_192, 4_096, 2_048, 1_024, 512, 256, 128, 64, 32];

/// The longest subject on which the whole pattern can be tried within the limit; 0 if there is none.
pub(super) fn whole(ast: &Ast, anchored: bool) -> usize {
    let fits = |length: &usize| {
        let attempts = if anchored { 1.0 } else { *length as f64 + 1.0 };
        attempts * effort(ast, *length as f64).calls <= MOST_CALLS
    };
    LENGTHS.into_iter().find(fits).unwrap_or(0)
}

/// The longest subject on which every PCRE certainly answers, if the pattern is tried in every way; 0 if there is none.
pub(super) fn longest_answered(pattern: &Pattern, hir: &Hir) -> usize {
    whole(&pattern.ast, is_anchored(hir)).min(pattern.longest())
}

/// As [`whole`], for attempts that fail before a literal prefix of the pattern has matched. A prefix contains at most
/// the least number of rounds of an unbounded repetition, so these attempts get no further.
pub(super) fn up_to_prefix(ast: &Ast, anchored: bool) -> usize {
    match effort(ast, 1.0).calls {
        calls if calls > FEW_CALLS => 0,
        _ if anchored => usize::MAX,
        calls => (MOST_CALLS / calls) as usize,
    }
}

/// The longest subject that is considered. No request line or header is longer, unless its buffer is more than 8 times
/// the default.
const LONGEST_SUBJECT: f64 = 65_536.0;

/// The subjects of up to 65,536 bytes on which PCRE certainly finds an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Whether it answers on every subject.
    pub always_answers: bool,
    /// Whether it answers on every subject without an inner newline.
    pub in_lines: bool,
    /// Whether the pattern is anchored, and PCRE answers on every subject that starts with none of its literal
    /// prefixes.
    pub before_prefix: bool,
}

impl Bounds {
    /// O(size of the pattern), its translation included. The limit counts anew from each place of a subject.
    pub fn of(pattern: &Pattern, hir: &Hir) -> Bounds {
        let most_at_a_place = (MOST_CALLS / (LONGEST_SUBJECT + 1.0)) as u32;
        let is_within = |ast: &Ast| {
            at_the_end(ast, LONGEST_SUBJECT).calls() <= MOST_CALLS || calls_at_a_place(ast, most_at_a_place).is_some()
        };
        let (is_within_limit, fits_stack) = (is_within(&pattern.ast), pattern.longest() == usize::MAX);
        Bounds {
            always_answers: is_within_limit && fits_stack,
            in_lines: fits_stack && (is_within_limit || before_line(&pattern.ast).is_some_and(|ast| is_within(&ast))),
            before_prefix: is_anchored(hir) && up_to_prefix(&pattern.ast, true) == usize::MAX,
        }
    }
}

/// The reason given for the inside of a look-around in a tree.
const LOOK: &str = "the inside of a look-around";

/// Whether every PCRE answers on each subject of a pattern, counting what it tries in look-arounds. A look-around
/// counts as a group in which the first way through ends the search.
pub fn answers_with_looks(pattern: &Pattern) -> bool {
    let mut looks = pattern.looks.iter();
    let ast = with_looks(&pattern.ast, &mut looks);
    // Look-arounds inside others come in another order, so some are left over.
    looks.next().is_none() && at_the_end(&ast, LONGEST_SUBJECT).calls() <= MOST_CALLS && pattern.longest() == usize::MAX
}

/// Puts the insides of look-arounds into a tree in their places. `looks` has them in the order of the text.
fn with_looks<'a>(ast: &Ast, looks: &mut impl Iterator<Item = &'a Ast>) -> Ast {
    match ast {
        Ast::Concat(items) => Ast::Concat(items.iter().map(|item| with_looks(item, looks)).collect()),
        Ast::Alternation(branches) => Ast::Alternation(branches.iter().map(|item| with_looks(item, looks)).collect()),
        Ast::Repeat { min, max, greedy, sub } => {
            Ast::Repeat { min: *min, max: *max, greedy: *greedy, sub: Box::new(with_looks(sub, looks)) }
        }
        Ast::Capture { index, name, sub } => {
            Ast::Capture { index: *index, name: name.clone(), sub: Box::new(with_looks(sub, looks)) }
        }
        Ast::Superset { sub, .. } if **sub == Ast::Empty => match looks.next() {
            Some(inside) => Ast::Superset { reason: LOOK, sub: Box::new(inside.clone()) },
            None => ast.clone(),
        },
        Ast::Superset { reason, sub } => Ast::Superset { reason, sub: Box::new(with_looks(sub, looks)) },
        other => other.clone(),
    }
}

/// What precedes `.*$` at the end of a pattern. On a subject of one line, `.*$` always matches.
fn before_line(ast: &Ast) -> Option<Ast> {
    let Ast::Concat(items) = ast else { return None };
    let (Ast::Dollar, items) = items.split_last()? else { return None };
    let (mut star, before) = items.split_last()?;
    if let Ast::Capture { sub, .. } = star {
        star = sub;
    }
    let is_star = matches!(star, Ast::Repeat { min: 0, max: None, sub, .. }
        if sub.byte_set().is_some_and(|set| set.union(&ByteSet::one(b'\n')) == ByteSet::ALL));
    is_star.then(|| Ast::Concat(before.to_vec()))
}

/// A bound on the calls for a pattern of finitely many strings, for any subject, from any one place of it. The match
/// limit counts anew from each place.
pub(crate) fn calls(ast: &Ast) -> f64 {
    effort(ast, 1.0).calls
}

/// Whether PCRE certainly does not give up on a pattern of finitely many strings, for any subject.
pub(crate) fn always_ends(ast: &Ast) -> bool {
    calls(ast) <= LISTED_CALLS
}

/// A bound on the work for one node from one place of the subject. The calls may be infinite; the ways are finite, so
/// that no calls for each way are no calls in all.
struct Effort {
    /// The number of ways to match the node from there. What follows the node is tried after each.
    ways: f64,
    /// The calls to find them all.
    calls: f64,
}

/// `rounds` is how many rounds an unbounded repetition can make beyond its least number.
fn effort(ast: &Ast, rounds: f64) -> Effort {
    match ast {
        Ast::Concat(items) => in_turn(items, items.len(), rounds),
        Ast::Alternation(branches) => branches.iter().fold(Effort { ways: 0.0, calls: 1.0 }, |before, branch| {
            let branch = effort(branch, rounds);
            Effort { ways: (before.ways + branch.ways).min(f64::MAX), calls: before.calls + branch.calls }
        }),
        Ast::Repeat { min, max, sub, .. } => {
            let min = f64::from(*min);
            let most = max.map_or(min + rounds, f64::from);
            repeated(effort(sub, rounds), min, most)
        }
        Ast::Superset { reason, sub } if *reason == LOOK => {
            Effort { ways: 1.0, calls: effort(sub, rounds).calls + 1.0 }
        }
        // A look-around, whose inside is not known.
        Ast::Superset { sub, .. } if **sub == Ast::Empty => Effort { ways: 1.0, calls: f64::INFINITY },
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => {
            let sub = effort(sub, rounds);
            Effort { calls: sub.calls + 1.0, ..sub }
        }
        _ => Effort { ways: 1.0, calls: 0.0 },
    }
}

/// The work for the first `count` items, one after the other.
fn in_turn(items: &[Ast], count: usize, rounds: f64) -> Effort {
    items[..count].iter().enumerate().fold(Effort { ways: 1.0, calls: 1.0 }, |before, (at, item)| {
        let mut item_effort = effort(item, rounds);
        if items.get(at + 1).is_some_and(|next| ends_where(item, next)) {
            // All ways but the longest fail at the next item, each with a call.
            item_effort = Effort { ways: 1.0, calls: item_effort.calls + item_effort.ways };
        }
        Effort {
            ways: (before.ways * item_effort.ways).min(f64::MAX),
            calls: before.calls + before.ways * item_effort.calls,
        }
    })
}

/// A bound on the calls for the end of a pattern. The first way through it ends the search.
struct EndEffort {
    /// The calls of attempts that fail.
    failing: f64,
    /// The further calls of the attempt that succeeds.
    ending: f64,
}

impl EndEffort {
    fn calls(&self) -> f64 {
        self.failing + self.ending
    }
}

/// As [`effort`], for a node that nothing follows. There, the rounds of a repetition beyond its least number never
/// fail: `(.*)/(.*)` has as many ways as its first part.
fn at_the_end(ast: &Ast, rounds: f64) -> EndEffort {
    let whole = |failing| EndEffort { failing, ending: effort(ast, rounds).calls };
    match ast {
        _ if may_be_empty(ast) => whole(0.0),
        Ast::Concat(items) => {
            let last = items.last().map_or(EndEffort { failing: 0.0, ending: 0.0 }, |last| at_the_end(last, rounds));
            let before = in_turn(items, items.len().saturating_sub(1), rounds);
            EndEffort { failing: before.calls + before.ways * last.failing, ending: last.ending }
        }
        Ast::Alternation(branches) => {
            branches.iter().fold(EndEffort { failing: 1.0, ending: 0.0 }, |before, branch| {
                let branch = at_the_end(branch, rounds);
                EndEffort { failing: before.failing + branch.failing, ending: before.ending.max(branch.ending) }
            })
        }
        Ast::Capture { sub, .. } => {
            let sub = at_the_end(sub, rounds);
            EndEffort { failing: sub.failing + 1.0, ..sub }
        }
        Ast::Repeat { min, sub, .. } => whole(repeated(effort(sub, rounds), f64::from(*min), f64::from(*min)).calls),
        _ => EndEffort { failing: effort(ast, rounds).calls, ending: 0.0 },
    }
}

/// Whether a node matches the empty string in every place.
fn may_be_empty(ast: &Ast) -> bool {
    match ast {
        Ast::Empty | Ast::Repeat { min: 0, .. } => true,
        Ast::Concat(items) => items.iter().all(may_be_empty),
        Ast::Alternation(branches) => branches.iter().any(may_be_empty),
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } => may_be_empty(sub),
        _ => false,
    }
}

/// Whether a run of bytes, such as `[^/]+`, can only end where the next item, such as `/`, begins.
fn ends_where(run: &Ast, next: &Ast) -> bool {
    let bytes = match run {
        Ast::Capture { sub, .. } => return ends_where(sub, next),
        Ast::Repeat { sub, .. } => sub.byte_set(),
        _ => None,
    };
    let Some(bytes) = bytes else { return false };
    match next {
        Ast::Byte(byte) => !bytes.contains(*byte),
        Ast::Class(next) => bytes.union(&next.complement()) == next.complement(),
        _ => false,
    }
}

fn repeated(round: Effort, min: f64, max: f64) -> Effort {
    if round.ways <= 1.0 {
        return Effort { ways: max - min + 1.0, calls: (max + 1.0) * (round.calls + 1.0) };
    }
    // Another round is tried after each way through the rounds before it: ways^0 + ... + ways^(max - 1) times.
    let last = round.ways.powf(max);
    let rounds = ((last - 1.0) / (round.ways - 1.0)).min(f64::MAX);
    Effort { ways: (rounds + last).min(f64::MAX), calls: rounds * (round.calls + 1.0) + 1.0 }
}

/// Whether each match starts where the subject starts.
pub(super) fn is_anchored(hir: &Hir) -> bool {
    hir.properties().look_set_prefix().contains(Look::Start)
}

#[cfg(test)]
mod tests {
    use super::{Bounds, LENGTHS, answers_with_looks, up_to_prefix, whole};
    use crate::pcre::{MatchOutcome, Regex};
    use crate::syntax::parse;

    fn bounds_of(pattern: &str) -> Bounds {
        let read = parse(pattern.as_bytes()).unwrap();
        Bounds::of(&read, &read.translate().hir)
    }

    fn longest(pattern: &str) -> usize {
        whole(&parse(pattern.as_bytes()).unwrap().ast, pattern.starts_with('^'))
    }

    /// Exponential patterns are never skipped; polynomial ones are, up to some length.
    #[test]
    fn bounds() {
        for pattern in ["^/(a+)+$", "^/(a|a)*$", "^/(a|ab?)*c", "^/((a?){9}b?){20}$"] {
            assert_eq!(longest(pattern), 0, "{pattern}");
        }
        assert_eq!(longest("^/(?!(a+)+$)ab"), 0);
        let beyond_numbers = parse(b"^/(a{1,1000}){1,1000}$").unwrap().ast;
        assert_eq!((whole(&beyond_numbers, true), up_to_prefix(&beyond_numbers, true)), (0, 0));
        assert_eq!(longest("^/a/(.*)$"), LENGTHS[0]);
        assert!(longest("^/(.*)/(.*)$") >= 512);
        assert!((32..=256).contains(&longest("^/(.*)/(.*)/(.*)$")));
    }

    /// A run of bytes that can only end where the next item begins leaves just one way to go on.
    #[test]
    fn runs_with_an_end() {
        for pattern in ["^/[^/]+/[0-9]+/(.*)$", "^/([a-z-]*)/([^/?]+)/x", "^/a(.*)$", "a.*b"] {
            assert!(bounds_of(pattern).always_answers, "{pattern}");
        }
        for pattern in ["^/(.*)/(.*)$", "^/[^/]+[0-9]+/.*$", "^/(a|b)*$", "^/[^/]+/?(.*)$", "^/a(?!b)"] {
            assert!(!bounds_of(pattern).always_answers, "{pattern}");
        }
    }

    /// What is tried in a look-around counts, and PCRE2 answers within the bound.
    #[test]
    fn look_arounds() {
        let answers = |pattern: &str| answers_with_looks(&parse(pattern.as_bytes()).unwrap());
        for pattern in [
            "^/a(/(?:(?!(7[.]6|6[.]2)).*))?$",
            "^/([^/]+)/((?!([0-9]+[.][0-9]+|[0-9]+[.][0-9]+[.][0-9]+|latest)).*)",
            "^/a(?!b)c(?<!d)",
            "^/a(.*)$",
            "^/(?!(.*)x)([^/]+)/",
        ] {
            assert!(answers(pattern), "{pattern}");
            let regex = Regex::new(pattern.as_bytes()).unwrap();
            for subject in ["/".repeat(65_000), format!("/{}", "1".repeat(65_000)), "/1".repeat(32_000) + "/"] {
                let outcome = regex.is_match(subject.as_bytes(), 10_000_000);
                assert!(matches!(outcome, MatchOutcome::Yes | MatchOutcome::No), "{pattern}: {outcome:?}");
            }
        }
        for pattern in ["^/(?!(a+)+b)", "^/(.*)(?!(.*)x)y", "^/(?:(?!a).)*$", "^/(?!a(?!b))", "^/(.*)/(.*)(?!a)x"] {
            assert!(!answers(pattern), "{pattern}");
        }
    }

    /// Items that may be empty never fail at the end of a pattern. PCRE2 itself answers on long subjects that get there
    /// late.
    #[test]
    fn ends() {
        for pattern in [
            r"^/a.*\?[a/]+",
            "^(/Go.*pack.*|/.*b.*|x)",
            "^/(.*)(?:/(.*)x)?",
            "^/(.*)/(.*)",
            "^/(.*)/(?:b|c)?",
            "^/(.*)/(?:b|a+b)?",
            "^/(a.*)/(b|/*)",
        ] {
            assert!(bounds_of(pattern).always_answers, "{pattern}");
            let regex = Regex::new(pattern.as_bytes()).unwrap();
            for subject in ["/".repeat(65_000), format!("/{}", "a".repeat(65_000)), "/a".repeat(32_000) + "/"] {
                let outcome = regex.is_match(subject.as_bytes(), 10_000_000);
                assert!(matches!(outcome, MatchOutcome::Yes | MatchOutcome::No), "{pattern}: {outcome:?}");
            }
        }
        for pattern in ["^/(.*)/(.*)x", "^/(.*)/(a|b)*", "^/(.*)/(.*)(?!a)", "^/.*/(?:a*b)+"] {
            assert!(!bounds_of(pattern).always_answers, "{pattern}");
        }
    }

    /// Within the length, PCRE2 does not give up on the worst subjects. (The patterns end in a class, because PCRE2
    /// first searches for a last byte.)
    #[test]
    fn pcre_agrees() {
        for pattern in [
            "^/(.*)/(.*)/(.*)[!?]",
            "^([^a]*)a([^a]*)(.*)[!?]",
            "(.*)a(.*)[!?]",
            "^(.*)(.*)(.*)(.*)[!?]",
            "(a?)(a*)(a*)[!?]",
        ] {
            let regex = Regex::new(pattern.as_bytes()).unwrap();
            for filler in [b'/', b'a'] {
                let mut subject = vec![filler; longest(pattern)];
                subject.insert(0, b'/');
                subject.pop();
                assert_eq!(regex.is_match(&subject, 10_000_000), MatchOutcome::No, "{pattern}");
            }
        }
    }

    /// A prefix bounds the work by itself, unless it is one that can be matched in very many ways.
    #[test]
    fn prefixes() {
        let longest = |pattern: &str| up_to_prefix(&parse(pattern.as_bytes()).unwrap().ast, true);
        assert_eq!(longest("^/blog/(.*)/(.*)/(.*)$"), usize::MAX);
        assert_eq!(longest(&format!("^/{}$", "(a|a)".repeat(40))), 0);
    }

    /// The work is bounded for one wildcard, for two only if their prefix is missing, and for nested repetitions never.
    #[test]
    fn bounds_of_patterns() {
        for (pattern, always_answers, in_lines, before_prefix) in [
            ("^/a/(.*)$", true, true, true),
            ("^/a/(.*)/(.*)$", false, true, true),
            ("^/a/(.*)/(.*)/(.*)$", false, false, true),
            ("^/a/(.*)/(.*)x$", false, false, true),
            (r"^/a/(.*)/(.*)\z", false, false, true),
            ("^/a/(?:b|c)*$", false, false, true),
            ("^/a(?:/.*)?$", true, true, true),
            ("/a$", true, true, false),
            ("(a+)+$", false, false, false),
            ("^/a(?!(b+)+c)", false, false, false),
        ] {
            let expected = Bounds { always_answers, in_lines, before_prefix };
            assert_eq!(bounds_of(pattern), expected, "{pattern}");
        }
    }
}
