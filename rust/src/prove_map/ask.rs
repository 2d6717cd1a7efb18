//! Answers questions about the subjects that patterns match, such as whether two patterns have one in common.
//!
//! The empty subject is left out, because nginx tries no pattern on it.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};

use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Look};

use crate::first_match::ReadPattern;
use crate::language::{Limits, Question, Subjects, Witness, counted_witness};
use crate::prove_map::guard::choices;
use crate::syntax::{Ast, Hir, Pattern};
use crate::work::spend;

/// A newline followed by another byte: `$` does not match before it, and a dot does not match it.
const INNER_NEWLINE: &[u8] = b"(?s)\n.";

/// The subjects with a newline that is not their last byte.
pub fn inner_newline() -> Hir {
    ReadPattern::of(INNER_NEWLINE).expect("a pattern that is read").translation.hir
}

/// Whether a pattern is [`INNER_NEWLINE`], its newline written as itself or as an escape.
pub fn is_inner_newline(pattern: &[u8]) -> bool {
    pattern == INNER_NEWLINE || pattern == br"(?s)\n."
}

/// The most states that all questions of a proof may take together. They take a few seconds.
const MOST_STATES: usize = 10_000_000;

/// The cost of building an automaton, as a number of states.
const BUILDING: usize = 100;

/// Answers questions about languages until a bound on their total work is reached. After that, every answer is
/// "unknown".
pub struct Questions {
    most: usize,
    left: Cell<usize>,
    covers: RefCell<HashMap<CoverQuestion, bool>>,
}

/// The pattern after the literal prefix, the rest of the key, whether case is ignored, and whether subjects are left
/// out.
type CoverQuestion = (Vec<Ast>, Vec<u8>, bool, bool);

impl Default for Questions {
    fn default() -> Questions {
        Questions::within(MOST_STATES)
    }
}

impl Questions {
    pub fn within(states: usize) -> Questions {
        Questions { most: states, left: Cell::new(states), covers: RefCell::default() }
    }

    /// Returns separate `Questions` with as much work as is left here, for a part of the proof.
    pub fn part(&self) -> Questions {
        Questions::within(self.left.get())
    }

    /// Subtracts the work that a [part](Questions::part) has done.
    pub fn add(&self, part: &Questions) {
        self.left.set(self.left.get().saturating_sub(part.most - part.left.get()));
    }

    fn ask(&self, question: Question, language: &Hir, others: &[&Hir]) -> Witness {
        let Some(left) = self.left.get().checked_sub(BUILDING * (1 + others.len())) else { return Witness::Unknown };
        let default = Limits::default();
        let limits = Limits { states: default.states.min(left), ..default };
        let (witness, states) = counted_witness(Subjects::All, question, language, others, &limits);
        self.left.set(left.saturating_sub(states));
        witness
    }

    /// Whether two languages have no subject in common; `false` if that is unknown.
    pub fn are_disjoint(&self, one: &Hir, other: &Hir) -> bool {
        self.ask(Question::Inside, one, &[other]) == Witness::Nothing
    }

    /// Whether a language is contained in the union of others; `false` if that is unknown.
    pub fn is_included(&self, language: &Hir, others: &[&Hir]) -> bool {
        self.ask(Question::Outside, language, others) == Witness::Nothing
    }

    /// A short subject in both languages.
    pub fn common(&self, one: &Hir, other: &Hir) -> Option<Vec<u8>> {
        found(self.ask(Question::Inside, one, &[other]))
    }

    /// A short subject in one language and not in the other.
    pub fn outside(&self, one: &Hir, other: &Hir) -> Option<Vec<u8>> {
        found(self.ask(Question::Outside, one, &[other]))
    }

    /// Whether the language has all subjects that begin with `key` and are not in `left_out`. A subject in `left_out`
    /// must remain in it whatever is put in front of it.
    pub fn covers(&self, language: &ReadPattern, key: &[u8], caseless: bool, left_out: Option<&Hir>) -> bool {
        if !language.translation.exact {
            return false;
        }
        let Ast::Concat(items) = &language.pattern.ast else {
            return self.holds(&language.translation.hir, key, caseless, left_out);
        };
        let [Ast::Start, behind @ ..] = items.as_slice() else {
            return self.holds(&language.translation.hir, key, caseless, left_out);
        };
        // One byte of the key is kept, so that the question includes the subject that is just the key.
        let most = key.len().saturating_sub(1);
        let taken = behind.iter().zip(&key[..most]).take_while(|(item, _)| is_single(item)).count();
        if !behind.iter().zip(&key[..taken]).all(|(item, byte)| takes(item, *byte, caseless)) {
            return false;
        }
        let (rest, tail) = (&behind[taken..], &key[taken..]);
        if rest.is_empty() {
            return true;
        }
        if !key.is_empty() && !key.contains(&b'\n') && (is_longer(rest, tail) || is_bounded(rest)) {
            return false;
        }
        if !rest.iter().all(looks_forward) {
            return self.holds(&language.translation.hir, key, caseless, left_out);
        }
        let question = (rest.to_vec(), tail.to_vec(), caseless, left_out.is_some());
        if let Some(answer) = self.covers.borrow().get(&question) {
            return *answer;
        }
        let ast = Ast::Concat([&[Ast::Start], rest].concat());
        let rest = Pattern { ast, looks: Vec::new(), ..language.pattern.clone() }.translate();
        let answer = rest.exact && self.holds(&rest.hir, tail, caseless, left_out);
        self.covers.borrow_mut().insert(question, answer);
        answer
    }

    fn holds(&self, hir: &Hir, key: &[u8], caseless: bool, left_out: Option<&Hir>) -> bool {
        let others: Vec<&Hir> = [hir].into_iter().chain(left_out).collect();
        self.is_included(&beginning_with(key, caseless), &others)
    }
}

fn found(witness: Witness) -> Option<Vec<u8>> {
    match witness {
        Witness::Found(subject) => Some(subject),
        Witness::Nothing | Witness::Unknown => None,
    }
}

/// The language of the subjects that begin with a key, ignoring case if `caseless`.
pub fn beginning_with(key: &[u8], caseless: bool) -> Hir {
    let byte = |byte: &u8| {
        let spellings = [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        let ranges = spellings.map(|spelling| ClassBytesRange::new(spelling, spelling));
        Hir::class(Class::Bytes(ClassBytes::new(ranges)))
    };
    let start = Hir::look(Look::Start);
    let key = if caseless { key.iter().map(byte).collect() } else { vec![Hir::literal(key)] };
    Hir::concat([start].into_iter().chain(key).collect())
}

/// Whether a subject that matches can have a newline only as its last byte: the pattern is anchored at both ends, and
/// nothing in it matches a newline.
pub fn has_no_inner_newline(ast: &Ast) -> bool {
    fn takes_none(ast: &Ast) -> bool {
        match ast {
            Ast::Byte(byte) => *byte != b'\n',
            Ast::Class(set) => !set.contains(b'\n'),
            Ast::Concat(parts) | Ast::Alternation(parts) => parts.iter().all(takes_none),
            Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => takes_none(sub),
            Ast::Empty | Ast::Start | Ast::Dollar | Ast::End | Ast::WordBoundary | Ast::NotWordBoundary => true,
        }
    }
    match ast {
        Ast::Concat(items) => match items.as_slice() {
            [Ast::Start, inner @ .., Ast::Dollar | Ast::End] => inner.iter().all(takes_none),
            _ => false,
        },
        _ => false,
    }
}

/// Whether items match no subject as short as this one.
fn is_longer(items: &[Ast], tail: &[u8]) -> bool {
    items.iter().filter(|item| is_single(item)).count() > tail.len()
}

/// Whether items match no subject that is longer than they are, but for a newline.
fn is_bounded(items: &[Ast]) -> bool {
    let is_end = |item: &Ast| matches!(item, Ast::Dollar | Ast::End);
    items.iter().any(is_end) && items.iter().all(|item| is_end(item) || is_single(item))
}

fn is_single(ast: &Ast) -> bool {
    matches!(ast, Ast::Byte(_) | Ast::Class(_))
}

/// Whether an item matches a byte, in both cases if `caseless`.
fn takes(item: &Ast, byte: u8, caseless: bool) -> bool {
    let takes = |byte: u8| match item {
        Ast::Byte(other) => *other == byte,
        Ast::Class(set) => set.contains(byte),
        _ => false,
    };
    if caseless { takes(byte.to_ascii_lowercase()) && takes(byte.to_ascii_uppercase()) } else { takes(byte) }
}

/// Returns the beginnings of the subjects that begin with the key and that the anchored pattern may match, up to its
/// first unbounded repetition, or shorter if they are too many. They are in lower case if `caseless`.
pub fn extended(ast: &Ast, key: &[u8], caseless: bool) -> Vec<Vec<u8>> {
    let Some(start) = along(ast, key, caseless) else { return Vec::new() };
    // The shortest way goes on first, so that all have come as far if they are too many.
    let mut open: VecDeque<(Vec<&Ast>, Vec<u8>)> = VecDeque::from([start]);
    let mut found = Vec::new();
    while let Some((mut items, mut bytes)) = open.pop_front() {
        spend(8);
        if open.len() + found.len() > MOST_WAYS {
            found.push(longer(bytes, key));
            found.extend(open.drain(..).map(|(_, bytes)| longer(bytes, key)));
            break;
        }
        while bytes.len() >= key.len()
            && let Some(byte) = items.last().and_then(|item| only_member(item, caseless))
        {
            bytes.push(byte);
            items.pop();
        }
        let known = key.get(bytes.len()).copied();
        let Some(item) = items.pop() else {
            found.push(longer(bytes, key));
            continue;
        };
        if is_single(item) {
            match known {
                Some(byte) if may_take(item, byte, caseless) => bytes.push(byte),
                Some(_) => continue,
                None => {
                    let members = members(item, caseless);
                    if members.is_empty() {
                        found.push(bytes.clone());
                    }
                    let longer = |byte: u8| (items.clone(), [bytes.as_slice(), &[byte]].concat());
                    open.extend(members.into_iter().map(longer));
                    continue;
                }
            }
            open.push_back((items, bytes));
        } else if let Some(choices) = choices(item, &items) {
            open.extend(choices.into_iter().map(|items| (items, bytes.clone())));
        } else {
            found.push(longer(bytes, key));
        }
    }
    found
}

/// Matches the bytes of the key with the items of a pattern, one by one. Returns the remaining items, the next one
/// last, and the bytes matched; `None` if an item does not match its byte.
fn along<'a>(ast: &'a Ast, key: &[u8], caseless: bool) -> Option<(Vec<&'a Ast>, Vec<u8>)> {
    let Ast::Concat(items) = ast else { return Some((vec![ast], Vec::new())) };
    let [Ast::Start, items @ ..] = items.as_slice() else { return Some((vec![ast], Vec::new())) };
    let count = items.iter().zip(key).take_while(|(item, _)| is_single(item)).count();
    let (taken, rest) = items.split_at(count);
    let are_taken = taken.iter().zip(key).all(|(item, byte)| may_take(item, *byte, caseless));
    are_taken.then(|| (rest.iter().rev().collect(), key[..count].to_vec()))
}

/// The only byte that an item matches; in lower case if `caseless`.
fn only_member(item: &Ast, caseless: bool) -> Option<u8> {
    match item {
        Ast::Byte(byte) => Some(if caseless { byte.to_ascii_lowercase() } else { *byte }),
        _ => None,
    }
}

/// The most ways through the beginning of a pattern that are followed.
const MOST_WAYS: usize = 64;

/// The most bytes of a class that are followed one by one.
const MOST_MEMBERS: usize = 16;

/// Returns the bytes, or the key if it is longer.
fn longer(bytes: Vec<u8>, key: &[u8]) -> Vec<u8> {
    if bytes.len() < key.len() { key.to_vec() } else { bytes }
}

fn may_take(item: &Ast, byte: u8, caseless: bool) -> bool {
    let both = [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
    if caseless { both.iter().any(|byte| takes(item, *byte, false)) } else { takes(item, byte, false) }
}

/// The bytes that an item matches, in lower case if `caseless`; empty if there are many.
fn members(item: &Ast, caseless: bool) -> Vec<u8> {
    let small = |byte: u8| if caseless { byte.to_ascii_lowercase() } else { byte };
    match item {
        Ast::Byte(byte) => vec![small(*byte)],
        Ast::Class(set) if set.len() <= MOST_MEMBERS => {
            let mut members: Vec<u8> = set.iter().map(small).collect();
            members.sort_unstable();
            members.dedup();
            members
        }
        _ => Vec::new(),
    }
}

/// Whether a part of a pattern does not depend on what precedes it.
fn looks_forward(ast: &Ast) -> bool {
    match ast {
        Ast::Start | Ast::WordBoundary | Ast::NotWordBoundary | Ast::Superset { .. } => false,
        Ast::Concat(parts) | Ast::Alternation(parts) => parts.iter().all(looks_forward),
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } => looks_forward(sub),
        Ast::Empty | Ast::Byte(_) | Ast::Class(_) | Ast::Dollar | Ast::End => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(pattern: &str) -> ReadPattern {
        ReadPattern::of(pattern.as_bytes()).unwrap()
    }

    fn covers(pattern: &str, key: &str, caseless: bool, lines: bool) -> bool {
        let newline = language("(?s)\n.").translation.hir;
        Questions::default().covers(&language(pattern), key.as_bytes(), caseless, lines.then_some(&newline))
    }

    /// A pattern that is open at its end covers everything; one that ends in `.*$` covers subjects without an inner
    /// newline.
    #[test]
    fn covering() {
        assert!(covers("^/a", "/a", false, false) && covers("^/a", "/ab", false, false));
        assert!(!covers("^/ab", "/a", false, false) && !covers("^/b", "/a", false, false));
        for pattern in ["^/a.*$", "^/a(.*)$", "^/a/?(.*)$", "^/a(/.*|.*)$", "^/..*$"] {
            assert!(covers(pattern, "/a", false, true) && !covers(pattern, "/a", false, false), "{pattern}");
        }
        for pattern in ["^/a.+$", "^/a(/.*)?$", "^/a[^b]*$", r"^/a.*\z", r"^/a\b", "^/a.*x?y$", "^/a(?!b)"] {
            assert!(!covers(pattern, "/a", false, true), "{pattern}");
        }
        assert!(covers("^/a.+$", "/ab", false, true) && covers("^(?:/a|/b)", "/b", false, true));
        assert!(covers("^/ab?c?.*$", "/abd", false, true) && covers(r"^/a\b.*$", "/a/", false, true));
    }

    /// In a caseless bucket, only patterns that ignore case cover.
    #[test]
    fn covering_any_case() {
        assert!(covers("(?i)^/a.*$", "/ab", true, true) && covers("(?i)^/a", "/a1", true, false));
        assert!(!covers("^/a.*$", "/ab", true, true) && covers("^/1.*$", "/1", true, true));
    }

    /// Branches are followed up to the first repetition.
    #[test]
    fn extending() {
        let extended = |pattern: &str, key: &str| {
            let extended = extended(&language(pattern).pattern.ast, key.as_bytes(), false);
            let mut texts: Vec<String> = extended.into_iter().map(|text| String::from_utf8(text).unwrap()).collect();
            texts.sort();
            texts
        };
        assert_eq!(extended("^/a.b/c.*$", "/a."), ["/a.b/c"]);
        assert_eq!(extended("^/a.[bc]d", "/a."), ["/a.bd", "/a.cd"]);
        assert_eq!(extended("^/a.*bc", "/abc"), ["/abc"]);
        assert_eq!(extended("^/a.*bc", "/"), ["/a"]);
        assert_eq!(extended("^(?:/b)?/a.b(/.*)?$", "/a/a"), [""; 0]);
        assert_eq!(extended("^/a(b|c)?d", "/a"), ["/abd", "/acd", "/ad"]);
        assert_eq!(extended("^/a(b|c)?d", "/ac"), ["/acd"]);
        assert_eq!(extended("^/a$", "/ab"), ["/ab"]);
        assert_eq!(extended("^/(?!a)b", "/x"), [""; 0]);
        assert_eq!(extended("^/(?!a)b", "/"), ["/b"]);
        assert_eq!(extended("^/a+b", "/a"), ["/a"]);
        assert_eq!(extended("^/(?:ab){2}c", "/a"), ["/ababc"]);
        assert_eq!(extended("^/a*b", "/"), ["/"]);
        let many = extended("^/(abc|d)e?f?g?h?i?j?k?l?$", "/");
        assert!(many.iter().all(|text| text.starts_with("/abc") || text.starts_with("/d")), "{many:?}");
    }

    /// Work is bounded: then nothing is known.
    #[test]
    fn bounded() {
        let [one, other] = ["^/a/.*b$", "^/b"].map(|pattern| language(pattern).translation.hir);
        let questions = Questions::within(3 * BUILDING);
        assert!(questions.are_disjoint(&one, &other));
        assert!(!questions.are_disjoint(&one, &other) && questions.common(&one, &one).is_none());
        assert!(!Questions::within(2 * BUILDING + 3).is_included(&one, &[&one]));
    }

    /// A newline before a final newline is an inner newline.
    #[test]
    fn newlines() {
        for pattern in ["^/a.*$", "^/a$", r"^/a[^\n]*\z", "^/a(b|c)?$"] {
            assert!(has_no_inner_newline(&language(pattern).pattern.ast), "{pattern}");
            let newline = language("(?s)\n.").translation.hir;
            assert!(Questions::default().are_disjoint(&newline, &language(pattern).translation.hir), "{pattern}");
        }
        for pattern in ["^/a", "^/a[^b]*$", "/a$", "^/a\n$", "(?s)^/a.*$", "^/a$|^/b$"] {
            assert!(!has_no_inner_newline(&language(pattern).pattern.ast), "{pattern}");
        }
    }
}
