//! Counts what nginx and PCRE2 compare for a request, for its cost: the patterns that are tried, above all.
//!
//! The interpreter compares lengths first, and searches for a letter that each match has. A subject that may match is
//! compared byte by byte if the pattern is anchored; otherwise PCRE2 looks for places where a match may begin, and tries
//! the pattern at each.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde::Serialize;

use super::effort::is_anchored;
use crate::syntax;

/// So many patterns are looked at for a subject; of more, each stands for its neighbours.
const MOST_LOOKED_AT: usize = 1 << 7;

/// To give up a byte that `.*` has taken, and to compare the next part of the pattern there, takes as long as this
/// number of branches.
const BRANCHES_A_BYTE: u64 = 2;

/// What is compared: patterns that a subject does not match, conditions, keys of tables, passwords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Tries {
    /// The number of patterns that no subject matches that is so short or lacks a letter, and of those that are not
    /// anchored.
    pub short: u64,
    /// The number of the others.
    pub long: u64,
    /// The bytes that the subject shares with anchored ones of these, behind the first.
    pub shared: u64,
    /// The bytes that are searched for a letter.
    pub sought: u64,
    /// The bytes that are searched for one of several with which a match may begin.
    pub searched: u64,
    /// The places where a match may begin.
    pub places: u64,
    /// The branches that are tried there.
    pub ways: u64,
    /// The conditions of `if`, and the `set`s.
    pub conditions: u64,
    pub sets: u64,
    /// The values that are looked up in a table, and their bytes.
    pub lookups: u64,
    pub keyed: u64,
    /// The passwords that are hashed.
    pub passwords: u64,
    /// The files that are missing, of which each is a line of the error log.
    pub missing: u64,
}

impl Tries {
    /// Adds others, `times` times.
    pub fn add(&mut self, other: &Tries, times: u64) {
        self.short += other.short * times;
        self.long += other.long * times;
        self.shared += other.shared * times;
        self.sought += other.sought * times;
        self.searched += other.searched * times;
        self.places += other.places * times;
        self.ways += other.ways * times;
        self.conditions += other.conditions * times;
        self.sets += other.sets * times;
        self.lookups += other.lookups * times;
        self.keyed += other.keyed * times;
        self.passwords += other.passwords * times;
        self.missing += other.missing * times;
    }
}

/// Counts tries of some patterns. What each takes is found on first use.
#[derive(Default)]
pub struct TryCounter {
    patterns: Vec<OnceLock<Shape>>,
}

/// What decides how long PCRE2 tries a pattern.
struct Shape {
    /// The length of the shortest match.
    least: usize,
    /// A letter that each match has, in lower case, if PCRE2 searches for one.
    letter: Option<u8>,
    start: Start,
    /// The number of branches behind the start; 0 if there are none.
    ways: u64,
}

enum Start {
    /// At the first byte of the subject, with these bytes in lower case; the bytes that may follow without end, and are
    /// given up one by one.
    Anchored { prefix: Box<[u8]>, run: Option<Box<[bool; 256]>> },
    /// At this byte.
    Letter(u8),
    /// At any of these bytes.
    Anywhere(Box<[bool; 256]>),
}

impl TryCounter {
    /// Prepares so many patterns.
    pub fn new(count: usize) -> TryCounter {
        TryCounter { patterns: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// Counts the tries of the patterns in a range, of which the last may match; `text` has the text of each, with its
    /// flags.
    pub fn count<'a>(
        &self,
        subject: &[u8],
        range: Range<usize>,
        matches: bool,
        text: impl Fn(usize) -> Cow<'a, [u8]>,
    ) -> Tries {
        let subject = subject.to_ascii_lowercase();
        let step = range.len() / MOST_LOOKED_AT + 1;
        let mut tries = Tries::default();
        for index in range.clone().step_by(step) {
            let shape = self.patterns[index].get_or_init(|| Shape::of(&text(index)));
            let is_match = matches && index + 1 == range.end;
            tries.add(&shape.tries(&subject, is_match), step.min(range.end - index) as u64);
        }
        tries
    }
}

impl Shape {
    /// Reads a pattern. O(length).
    fn of(text: &[u8]) -> Shape {
        let Ok(pattern) = syntax::parse_to_match(text) else {
            let start = Start::Anchored { prefix: syntax::prefix(text).into(), run: None };
            return Shape { least: 0, letter: None, start, ways: 0 };
        };
        let hir = pattern.translate().hir;
        let least = hir.properties().minimum_len().unwrap_or(0);
        let anchored = is_anchored(&hir);
        let found = letter(&hir, &mut false);
        // Of an anchored pattern, PCRE2 searches for a letter only where its distance from the start varies.
        let letter = found.filter(|(_, varies)| *varies || !anchored).map(|(letter, _)| letter);
        let beginnings = Extractor::new().extract(&hir);
        let literals = beginnings.literals();
        let start = if anchored {
            let prefix = literals.map_or(Vec::new(), |all| shared(all.iter().map(|one| one.as_bytes())));
            Start::Anchored { prefix: prefix.into(), run: run(&hir) }
        } else {
            let mut firsts = Box::new([false; 256]);
            match literals.filter(|all| all.iter().all(|one| !one.is_empty())) {
                Some(all) => {
                    all.iter().for_each(|one| firsts[usize::from(one.as_bytes()[0].to_ascii_lowercase())] = true)
                }
                None => firsts.fill(true),
            }
            let mut letters = (0..=u8::MAX).filter(|byte| firsts[usize::from(*byte)]);
            match (letters.next(), letters.next()) {
                (Some(only), None) => Start::Letter(only),
                _ => Start::Anywhere(firsts),
            }
        };
        Shape { least, letter, start, ways: ways(&hir) }
    }

    /// Counts a try. `subject` is in lower case.
    fn tries(&self, subject: &[u8], is_match: bool) -> Tries {
        let short = Tries { short: 1, ..Tries::default() };
        let Some(last) = subject.len().checked_sub(self.least) else { return short };
        let is_letter = |byte: &u8| Some(*byte) == self.letter;
        let last_letter = self.letter.map_or(Some(last), |_| subject.iter().rposition(is_letter));
        let Some(end) = last_letter.map(|end| subject.len().min(end + 1)) else {
            return Tries { sought: subject.len() as u64, ..short };
        };
        let sought = self.letter.map_or(0, |_| subject.iter().take_while(|byte| !is_letter(byte)).count() as u64);
        let of = |places: usize| Tries { places: places as u64, ways: places as u64 * self.ways, sought, ..short };
        match &self.start {
            Start::Anchored { prefix, run } => {
                let shared = prefix.iter().zip(subject).take_while(|(one, other)| one == other).count();
                let is_in =
                    |run: &[bool; 256]| subject[shared..].iter().take_while(|byte| run[usize::from(**byte)]).count();
                let given_up = run.as_deref().filter(|_| !is_match).map_or(0, is_in) as u64;
                let ways = if shared < prefix.len() { 0 } else { self.ways + BRANCHES_A_BYTE * given_up };
                Tries { long: 1, shared: shared.saturating_sub(1) as u64, sought, ways, ..Tries::default() }
            }
            Start::Letter(letter) => {
                let places = of(subject[..end].iter().filter(|byte| *byte == letter).count());
                Tries { sought: sought + subject.len() as u64, ..places }
            }
            Start::Anywhere(firsts) => {
                let places = of(subject[..end].iter().filter(|byte| firsts[usize::from(**byte)]).count());
                Tries { searched: subject.len() as u64, ..places }
            }
        }
    }
}

/// The last letter that each match has, in lower case, and whether its distance from the start varies. `varies` is that
/// of the pattern so far (`reqcu` and `REQ_VARY` of PCRE2).
fn letter(hir: &Hir, varies: &mut bool) -> Option<(u8, bool)> {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.last().map(|last| (last.to_ascii_lowercase(), *varies)),
        HirKind::Class(Class::Bytes(class)) => {
            let mut bytes =
                class.iter().flat_map(|range| range.start()..=range.end()).map(|byte| byte.to_ascii_lowercase());
            let first = bytes.next()?;
            bytes.all(|byte| byte == first).then_some((first, *varies))
        }
        HirKind::Capture(capture) => letter(&capture.sub, varies),
        HirKind::Repetition(repetition) => {
            let found = letter(&repetition.sub, varies);
            *varies |= repetition.max != Some(repetition.min);
            found.filter(|_| repetition.min > 0)
        }
        HirKind::Concat(parts) => parts.iter().fold(None, |last, part| letter(part, varies).or(last)),
        HirKind::Alternation(branches) => {
            let found: Vec<_> = branches.iter().map(|branch| letter(branch, varies)).collect();
            let first = *found.first()?;
            found.iter().all(|one| one.map(|(letter, _)| letter) == first.map(|(letter, _)| letter)).then_some(first)?
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Unicode(_)) => None,
    }
}

/// The parts of a pattern behind the literal that it begins with, groups opened.
fn parts(hir: &Hir) -> Vec<&Hir> {
    match hir.kind() {
        HirKind::Capture(capture) => parts(&capture.sub),
        HirKind::Concat(all) => {
            let is_start = |part: &&Hir| matches!(part.kind(), HirKind::Literal(_) | HirKind::Look(_));
            all.iter().skip_while(is_start).collect()
        }
        _ => vec![hir],
    }
}

/// The number of branches behind the literal that a pattern begins with; 0 if there are none.
fn ways(hir: &Hir) -> u64 {
    let first = parts(hir).into_iter().next();
    match first.map(Hir::kind) {
        Some(HirKind::Alternation(branches)) => branches.len() as u64,
        Some(HirKind::Capture(capture)) => ways(&capture.sub),
        _ => 0,
    }
}

/// The bytes that a repetition without end takes behind the literal that a pattern begins with, if what follows it may
/// begin with one of them: where the rest does not match, they are given up one by one.
fn run(hir: &Hir) -> Option<Box<[bool; 256]>> {
    let parts = parts(hir);
    let (first, rest) = parts.split_first()?;
    let mut first = *first;
    while let HirKind::Capture(capture) = first.kind() {
        first = &capture.sub;
    }
    let HirKind::Repetition(repetition) = first.kind() else { return None };
    let HirKind::Class(Class::Bytes(class)) = repetition.sub.kind() else { return None };
    let rest = Hir::concat(rest.iter().map(|part| (*part).clone()).collect());
    if repetition.max.is_some() || rest.properties().minimum_len() == Some(0) {
        return None;
    }
    let mut run = Box::new([false; 256]);
    class
        .iter()
        .flat_map(|range| range.start()..=range.end())
        .for_each(|byte| run[usize::from(byte.to_ascii_lowercase())] = true);
    let is_taken = |text: &[u8]| text.first().is_none_or(|byte| run[usize::from(byte.to_ascii_lowercase())]);
    let next = Extractor::new().extract(&rest);
    next.literals().is_none_or(|all| all.iter().any(|one| is_taken(one.as_bytes()))).then_some(run)
}

/// The bytes that all texts begin with, in lower case.
fn shared<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let lower = texts.map(<[u8]>::to_ascii_lowercase);
    let same = |one: Vec<u8>, other: Vec<u8>| one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    lower
        .reduce(|mut one, other| {
            let length = same(one.clone(), other);
            one.truncate(length);
            one
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(patterns: &[&str], subject: &str) -> Tries {
        let counter = TryCounter::new(patterns.len());
        counter.count(subject.as_bytes(), 0..patterns.len(), false, |index| patterns[index].as_bytes().into())
    }

    /// A subject is compared in length, then byte by byte.
    #[test]
    fn anchored() {
        let rules = ["^/old/page-1\\.html$", "^/old/page-2\\.html$", "^/o$"];
        assert_eq!(count(&rules, "/o"), Tries { short: 2, long: 1, shared: 1, ..Tries::default() });
        assert_eq!(count(&rules, "/old/page-3.html"), Tries { long: 3, shared: 19, ..Tries::default() });
        assert_eq!(count(&rules, "/OLD/PAGE-3.html"), count(&rules, "/old/page-3.html"));
    }

    /// A pattern that is not anchored is tried where its first byte is.
    #[test]
    fn anywhere() {
        let both = Tries { short: 1, searched: 5, places: 1, ways: 2, ..Tries::default() };
        assert_eq!(count(&["bot|crawl"], "a bot"), both);
        let one = Tries { short: 1, sought: 6 + 7, places: 2, ..Tries::default() };
        assert_eq!(count(&["bot"], "a bob t"), one);
        assert_eq!(count(&["(?i)BOT"], "a bob t"), one);
        assert_eq!(count(&["bot"], "a bob"), Tries { short: 1, sought: 5, ..Tries::default() });
        assert_eq!(count(&["[^a]b"], "xyzb").places, 4);
    }

    /// A subject without a letter that each match has is ruled out; of an anchored pattern, if its place varies.
    #[test]
    fn letters() {
        let is_ruled_out = |pattern, subject| count(&[pattern], subject).short == 1;
        assert!(is_ruled_out("^/(.*)\\.php$", "/a/long/enough.htm"));
        assert!(!is_ruled_out("^/(.*)\\.php$", "/a/long/enough.hp"));
        assert!(!is_ruled_out("^/course/([0-9]+)/?$", "/a/enough.html"));
        assert!(is_ruled_out("^/x?/(foo|boo)$", "/x/bar"));
        assert!(!is_ruled_out("^/x?/(foo|bar)$", "/x/bax"));
    }

    /// Branches are tried one by one, and what `.*` took is given up byte by byte, if that may help.
    #[test]
    fn branches() {
        let ways = |pattern, subject| count(&[pattern], subject).ways;
        assert_eq!(ways("^/(en|de|it)/old/", "/fr/old/page"), 3);
        assert_eq!(ways("^/(.*)/$", "/a/page"), 2 * 6);
        assert_eq!(ways("^/([a-z]+)/$", "/a/page"), 0);
        assert_eq!(ways("^/(.*)$", "/a/page"), 0);
        assert_eq!(ways("\\.(css|js|png)$", "/a.b/page.html"), 6);
        let counter = TryCounter::new(1);
        assert_eq!(counter.count(b"/a/", 0..1, true, |_| b"^/(.*)/$".into()).ways, 0);
    }

    /// Of very many patterns, some stand for all.
    #[test]
    fn many() {
        let rules: Vec<String> = (0..5_000).map(|number| format!("^/old/{number:05}$")).collect();
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        assert_eq!(count(&rules, "/elsewhere/else"), Tries { long: 5_000, ..Tries::default() });
    }
}
