//! Determines literals that each match of a pattern contains.

use std::cmp::Reverse;

use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Capture, Class, ClassBytes, ClassBytesRange, Hir, HirKind, Repetition};

use super::effort;
use super::effort::is_anchored;
use crate::syntax::{self, Pattern, Translation};

/// The most literals in a set. A pattern that needs more is indexed by another set, or always tried.
const MOST_LITERALS: usize = 32;

/// The most sets of literals to choose from for one pattern.
const MOST_SETS: usize = 4;

/// A prefix of this many bytes distinguishes paths well. If it is shorter, such as `/`, later literals are preferred.
const SELECTIVE_PREFIX: usize = 4;

/// The shortest literal of use. A single byte, such as `/`, is in most strings, so the pattern is always tried instead.
const SHORTEST_LITERAL: usize = 2;

/// Literals of which each match contains one. They are in lower case, and are searched for in the subject in lower
/// case.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequiredLiterals {
    /// The subject starts with one of these.
    Prefix(Vec<Vec<u8>>),
    /// One of these is somewhere in the subject.
    Literal(Vec<Vec<u8>>),
}

impl RequiredLiterals {
    pub fn literals(&self) -> &[Vec<u8>] {
        match self {
            RequiredLiterals::Prefix(literals) | RequiredLiterals::Literal(literals) => literals,
        }
    }
}

/// Required literals, and the longest subject without them on which PCRE2 certainly answers "no match" and does not
/// give up.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    pub need: RequiredLiterals,
    /// In bytes.
    pub longest: usize,
}

/// Returns what a pattern requires, the most selective requirement first. Empty if nothing is known to be required, or
/// if PCRE2 may give up at once.
///
/// Inexact patterns require nothing, because their look-arounds may do much work before PCRE2 gets to the literals.
pub(super) fn of_read(pattern: &Pattern, translation: &Translation) -> Vec<Requirement> {
    if !translation.exact {
        return Vec::new();
    }
    let mut requirements = by_selectivity(&translation.hir, pattern);
    requirements.retain(Requirement::is_useful);
    requirements
}

/// As [`of_read`], for a pattern that could not be read.
pub(super) fn of_unread(pattern: &[u8]) -> Vec<Requirement> {
    let need = RequiredLiterals::Prefix(vec![syntax::prefix(pattern)]);
    Some(Requirement { need, longest: usize::MAX }).filter(Requirement::is_useful).into_iter().collect()
}

impl Requirement {
    fn is_useful(&self) -> bool {
        let useful = match &self.need {
            RequiredLiterals::Prefix(literals) => shortest(literals) > 0,
            RequiredLiterals::Literal(literals) => shortest(literals) >= SHORTEST_LITERAL,
        };
        useful && self.longest > 0
    }
}

fn by_selectivity(hir: &Hir, pattern: &Pattern) -> Vec<Requirement> {
    let ast = &pattern.ast;
    let anchored = is_anchored(hir);
    let lower = has_capitals(hir).then(|| lower_case(hir));
    let hir = lower.as_ref().unwrap_or(hir);
    let prefix = literals(hir, ExtractKind::Prefix);
    let prefix_length = shortest(&prefix);
    let prefix = Requirement {
        need: if anchored { RequiredLiterals::Prefix(prefix) } else { RequiredLiterals::Literal(prefix) },
        longest: effort::up_to_prefix(ast, anchored),
    };
    let longest = effort::whole(ast, anchored).min(pattern.longest());
    let later = later_literals(hir);
    let later_length = later.first().map_or(0, |literals| shortest(literals));
    let mut requirements: Vec<_> =
        later.into_iter().map(|literals| Requirement { need: RequiredLiterals::Literal(literals), longest }).collect();
    let prefix_first = (anchored && prefix_length >= SELECTIVE_PREFIX) || prefix_length >= later_length;
    requirements.insert(if prefix_first { 0 } else { requirements.len().min(1) }, prefix);
    requirements
}

/// A class of more bytes is not expanded into literals.
const LARGE_CLASS: usize = 64;

fn is_large(class: &ClassBytes) -> bool {
    class.ranges().iter().map(|range| range.len()).sum::<usize>() > LARGE_CLASS
}

/// Whether something that may become part of a literal has a capital letter.
fn has_capitals(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.iter().any(u8::is_ascii_uppercase),
        HirKind::Class(Class::Bytes(class)) => !is_large(class),
        HirKind::Repetition(repetition) => has_capitals(&repetition.sub),
        HirKind::Capture(capture) => has_capitals(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(has_capitals),
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Unicode(_)) => false,
    }
}

/// Converts a pattern to lower case, so that `(?i)bot` has one literal and not eight.
fn lower_case(hir: &Hir) -> Hir {
    let all = |parts: &[Hir]| parts.iter().map(lower_case).collect();
    match hir.kind() {
        HirKind::Literal(literal) => Hir::literal(literal.0.to_ascii_lowercase()),
        HirKind::Class(Class::Bytes(class)) if !is_large(class) => Hir::class(Class::Bytes(class_in_lower_case(class))),
        HirKind::Repetition(repetition) => {
            Hir::repetition(Repetition { sub: Box::new(lower_case(&repetition.sub)), ..repetition.clone() })
        }
        HirKind::Capture(capture) => {
            Hir::capture(Capture { sub: Box::new(lower_case(&capture.sub)), ..capture.clone() })
        }
        HirKind::Concat(parts) => Hir::concat(all(parts)),
        HirKind::Alternation(branches) => Hir::alternation(all(branches)),
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => hir.clone(),
    }
}

fn class_in_lower_case(class: &ClassBytes) -> ClassBytes {
    let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
    ClassBytes::new(bytes.map(|byte| byte.to_ascii_lowercase()).map(|byte| ClassBytesRange::new(byte, byte)))
}

/// Returns sets of literals such that each match ends with one of a set, or contains one. Sets with the longest
/// literals come first.
fn later_literals(hir: &Hir) -> Vec<Vec<Vec<u8>>> {
    let mut inner = Vec::new();
    required(hir, &mut inner);
    let mut sets = vec![literals(hir, ExtractKind::Suffix)];
    sets.extend(inner.into_iter().map(|literal| vec![literal.to_ascii_lowercase()]));
    sets.sort_by_key(|literals| Reverse(shortest(literals)));
    sets.truncate(MOST_SETS);
    sets
}

/// Returns literals such that each match starts (or ends) with one. Empty if they are unknown or too many.
fn literals(hir: &Hir, kind: ExtractKind) -> Vec<Vec<u8>> {
    let literals = Extractor::new().kind(kind).limit_total(MOST_LITERALS).extract(hir);
    let literals = literals.literals().unwrap_or_default();
    let mut literals: Vec<_> = literals.iter().map(|literal| literal.as_bytes().to_ascii_lowercase()).collect();
    literals.sort_unstable();
    literals.dedup();
    literals
}

/// The length of the shortest literal; 0 if there is none.
fn shortest(literals: &[Vec<u8>]) -> usize {
    literals.iter().map(Vec::len).min().unwrap_or(0)
}

/// The literals that every match contains.
fn required<'h>(hir: &'h Hir, found: &mut Vec<&'h [u8]>) {
    match hir.kind() {
        HirKind::Literal(literal) => found.push(&literal.0),
        HirKind::Concat(parts) => parts.iter().for_each(|part| required(part, found)),
        HirKind::Capture(capture) => required(&capture.sub, found),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub, found),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{RequiredLiterals, Requirement};
    use crate::first_match::Required;

    fn of(pattern: &[u8]) -> Vec<Requirement> {
        Required::of(pattern).0
    }

    fn need(pattern: &str) -> Option<RequiredLiterals> {
        of(pattern.as_bytes()).into_iter().next().map(|requirement| requirement.need)
    }

    fn bytes(literals: &[&str]) -> Vec<Vec<u8>> {
        literals.iter().map(|literal| literal.as_bytes().to_vec()).collect()
    }

    /// The most selective literals are taken: a prefix if there is one, or else literals further back.
    #[test]
    fn most_selective() {
        assert_eq!(need("^/blog/(.*)$"), Some(RequiredLiterals::Prefix(bytes(&["/blog/"]))));
        assert_eq!(need("^/(a1|b2)/x"), Some(RequiredLiterals::Prefix(bytes(&["/a1/x", "/b2/x"]))));
        assert_eq!(need("^/([^/]+)/old-page(.*)"), Some(RequiredLiterals::Literal(bytes(&["/old-page"]))));
        assert_eq!(
            need("(?i)^/[^/]+/Facebook[Ee]xternal"),
            Some(RequiredLiterals::Literal(bytes(&["/facebookexternal"])))
        );
        assert_eq!(need("wp-login"), Some(RequiredLiterals::Literal(bytes(&["wp-login"]))));
        assert_eq!(need("^/(.*)$"), Some(RequiredLiterals::Prefix(bytes(&["/"]))));
    }

    /// A pattern that not every PCRE reads alike requires what it begins with.
    #[test]
    fn unportable() {
        assert_eq!(need("^/Blog/[0-9]{,3}$"), Some(RequiredLiterals::Prefix(bytes(&["/blog"]))));
        assert_eq!(need("^/blog/(?>a|b)"), None);
    }

    /// Nothing is required of inexact patterns, and of those that match anything.
    #[test]
    fn nothing_required() {
        for pattern in ["(?m)x/abcd", "^/abcd(?!x)", ".*", "[a-z]+", "", "^", "/"] {
            assert_eq!(need(pattern), None, "{pattern}");
        }
    }

    /// Where PCRE2 may backtrack a lot, literals further back serve for short subjects only, or not at all.
    #[test]
    fn effort_bounds_the_length() {
        let longest = |pattern: &str| of(pattern.as_bytes()).into_iter().next().map(|requirement| requirement.longest);
        assert_eq!(longest("^/blog/(.*)/(.*)/(.*)$"), Some(usize::MAX));
        assert!(longest("^/(.*)foo-bar$") > longest("^/(.*)/(.*)foo-bar$"));
        assert_eq!(need("^/(a+)+[^x]foo$"), Some(RequiredLiterals::Prefix(bytes(&["/a"]))));
        assert_eq!(longest("((a+)+)+[^x]foo$"), None);
    }
}
