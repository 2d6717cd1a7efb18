//! Finds the shortest URI in one language and outside, or inside, others.
//!
//! This is a breadth-first search over pairs of states of two lazy automata. It takes 10 to 55 microseconds for
//! patterns of rules.

use std::hash::Hash;

use hashbrown::HashSet;
use regex_syntax::hir::Hir;

use super::lazy::{Automaton, State, TooLarge};
use super::limits::Limits;
use crate::work::spend;

/// The strings among which a witness is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subjects {
    /// What `$uri` can be for a client's request: `/` and then any bytes but NUL. nginx answers 400 for `%00` and for a
    /// path that starts otherwise (`ngx_http_parse_request_line`, `ngx_http_parse_complex_uri`). A rewritten URI may
    /// start otherwise; such URIs are left out.
    Uris,
    /// All but the empty string, on which nginx tries no pattern.
    All,
}

/// The question about the strings in the first language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Which of them is in none of the others?
    Outside,
    /// Which of them is in at least one of the others?
    Inside,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// The shortest such string.
    Found(Vec<u8>),
    /// There is no such string.
    Nothing,
    /// The search was given up at its bounds.
    Unknown,
}

/// Finds the shortest URI in `language` and outside or inside the union of `others`: [`witness_among`] the URIs.
pub fn witness(question: Question, language: &Hir, others: &[&Hir], limits: &Limits) -> Witness {
    witness_among(Subjects::Uris, question, language, others, limits)
}

/// Finds the shortest of the subjects that is in `language` and outside or inside the union of `others`.
///
/// If a language is a superset, the answer is about the superset. O(states of the product x classes of bytes).
pub fn witness_among(
    subjects: Subjects,
    question: Question,
    language: &Hir,
    others: &[&Hir],
    limits: &Limits,
) -> Witness {
    counted_witness(subjects, question, language, others, limits).0
}

/// As [`witness_among`], and returns how many pairs of states were visited.
pub fn counted_witness(
    subjects: Subjects,
    question: Question,
    language: &Hir,
    others: &[&Hir],
    limits: &Limits,
) -> (Witness, usize) {
    let nothing = Hir::fail();
    let others = if others.is_empty() { &[&nothing] } else { others };
    let mut visits = Vec::new();
    let mut search = || -> Result<Option<Vec<u8>>, TooLarge> {
        let language = Automaton::new(&[language], limits)?;
        let others = Automaton::new(others, limits)?;
        Product { subjects, question, language, others }.search(&mut visits, limits.states)
    };
    let witness = match search() {
        Ok(Some(uri)) => Witness::Found(uri),
        Ok(None) => Witness::Nothing,
        Err(TooLarge) => Witness::Unknown,
    };
    spend(BUILDING + visits.len());
    (witness, visits.len())
}

/// The steps to build the automata of a question.
const BUILDING: usize = 200;

/// One question, with the automata of both sides.
struct Product {
    subjects: Subjects,
    question: Question,
    language: Automaton,
    others: Automaton,
}

/// A state of each side.
type StatePair = (State, State);

/// A pair that was reached, from which visit, and by which byte. The first visit has read nothing.
struct Visit {
    pair: StatePair,
    from: usize,
    byte: u8,
}

impl Product {
    fn search(&mut self, visits: &mut Vec<Visit>, most: usize) -> Result<Option<Vec<u8>>, TooLarge> {
        let start = (self.language.start()?, self.others.start()?);
        // The first bytes are read here, because the visit that has read nothing is not a subject. It differs from all
        // later visits, even if its pair of states recurs.
        visits.push(Visit { pair: start, from: 0, byte: 0 });
        let mut seen = HashSet::new();
        let bytes = self.representatives();
        let first = if self.subjects == Subjects::Uris { &b"/"[..] } else { &bytes };
        for &byte in first {
            self.step(visits, &mut seen, 0, byte)?;
        }
        let mut current = 1;
        while current < visits.len() {
            if visits.len() > most {
                return Err(TooLarge);
            }
            if self.is_answer(visits[current].pair)? {
                return Ok(Some(spell(visits, current)));
            }
            for &byte in &bytes {
                self.step(visits, &mut seen, current, byte)?;
            }
            self.language.pay(bytes.len());
            self.others.pay(bytes.len());
            current += 1;
        }
        Ok(None)
    }

    /// Follows one byte, unless that leads to no answer or the pair is known.
    fn step(
        &mut self,
        visits: &mut Vec<Visit>,
        seen: &mut HashSet<StatePair>,
        from: usize,
        byte: u8,
    ) -> Result<(), TooLarge> {
        let (language, others) = visits[from].pair;
        let language = self.language.next(language, byte)?;
        if language == State::Outside {
            return Ok(());
        }
        let others = self.others.next(others, byte)?;
        let hopeless = match self.question {
            Question::Outside => State::Inside,
            Question::Inside => State::Outside,
        };
        let pair = (language, others);
        if others != hopeless && seen.insert(pair) {
            visits.push(Visit { pair, from, byte });
        }
        Ok(())
    }

    fn is_answer(&mut self, (language, others): StatePair) -> Result<bool, TooLarge> {
        let inside = self.question == Question::Inside;
        Ok(self.language.accepts(language)? && self.others.accepts(others)? == inside)
    }

    /// A byte for each class of bytes that neither side distinguishes, the most readable first.
    fn representatives(&self) -> Vec<u8> {
        let least = if self.subjects == Subjects::Uris { 1 } else { 0 };
        readable(least, |byte| (self.language.class(byte), self.others.class(byte)))
    }
}

/// A byte from `least` on for each class of bytes, the most readable first.
pub(super) fn readable<C: Eq + Hash>(least: u8, class: impl Fn(u8) -> C) -> Vec<u8> {
    let mut bytes: Vec<u8> = (least..=u8::MAX).collect();
    bytes.sort_by_key(|&byte| (unpleasantness(byte), byte));
    let mut seen = HashSet::new();
    bytes.retain(|&byte| seen.insert(class(byte)));
    bytes
}

fn unpleasantness(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 1,
        b'-' | b'_' | b'.' | b'/' => 2,
        b'A'..=b'Z' => 3,
        b'!'..=b'~' => 4,
        b'\n' => 6,
        _ => 5,
    }
}

/// Returns the bytes that lead to a visit.
fn spell(visits: &[Visit], mut last: usize) -> Vec<u8> {
    let mut uri = Vec::new();
    while last != 0 {
        uri.push(visits[last].byte);
        last = visits[last].from;
    }
    uri.reverse();
    uri
}

#[cfg(test)]
mod tests {
    use super::{Limits, Question, Subjects, Witness, witness, witness_among};
    use crate::syntax::{Hir, parse};

    fn ask(question: Question, language: &str, others: &[&str]) -> Witness {
        let hir = |pattern: &str| parse(pattern.as_bytes()).unwrap().translate().hir;
        let others: Vec<Hir> = others.iter().map(|other| hir(other)).collect();
        let others: Vec<&Hir> = others.iter().collect();
        witness(question, &hir(language), &others, &Limits::default())
    }

    fn found(uri: &str) -> Witness {
        Witness::Found(uri.as_bytes().to_vec())
    }

    /// The shortest URI that others do not match, spelled readably.
    #[test]
    fn outside() {
        assert_eq!(ask(Question::Outside, "^/(.*)$", &["^/a"]), found("/"));
        assert_eq!(ask(Question::Outside, "^/[a-z]+$", &["^/[a-m]", "^/n"]), found("/o"));
        assert_eq!(ask(Question::Outside, "^/a", &["^/a$"]), found("/aa"));
        assert_eq!(ask(Question::Outside, "^/[a-z]$", &["^/[a-m]", "^/[n-z]"]), Witness::Nothing);
    }

    /// `$` and `\z` differ by the newline twin and by nothing else.
    #[test]
    fn newline_twin() {
        assert_eq!(ask(Question::Outside, "^/a$", &[r"^/a\z"]), found("/a\n"));
        assert_eq!(ask(Question::Outside, r"^/a\z", &["^/a$"]), Witness::Nothing);
    }

    /// Overlap, and its absence.
    #[test]
    fn inside() {
        assert_eq!(ask(Question::Inside, "^/a", &["z$", "b$"]), found("/ab"));
        assert_eq!(ask(Question::Inside, "^/a", &["^/b"]), Witness::Nothing);
        assert_eq!(ask(Question::Inside, "^/a", &[]), Witness::Nothing);
    }

    /// Strings that are not URIs are not witnesses.
    #[test]
    fn only_uris() {
        assert_eq!(ask(Question::Outside, "^a$", &[]), Witness::Nothing);
        assert_eq!(ask(Question::Outside, "^$", &[]), Witness::Nothing);
        assert_eq!(ask(Question::Outside, r"^/\x00$", &[]), Witness::Nothing);
        assert_eq!(ask(Question::Outside, "", &[]), found("/"));
    }

    /// Among all strings, those that are not URIs count, too; the empty one does not.
    #[test]
    fn all_subjects() {
        let hir = |pattern: &str| parse(pattern.as_bytes()).unwrap().translate().hir;
        let ask = |language: &str, other: &str| {
            witness_among(Subjects::All, Question::Outside, &hir(language), &[&hir(other)], &Limits::default())
        };
        assert_eq!(ask("^a$", "^b"), found("a"));
        assert_eq!(ask(r"^\x00*$", "a"), found("\0"));
        assert_eq!(ask("^a*$", "^a"), found("\n"));
        assert_eq!(ask(r"^a*\z", "^a"), Witness::Nothing);
    }

    /// A search that takes too long stops at its bounds.
    #[test]
    fn bounded() {
        let limits = Limits { states: 100, ..Limits::default() };
        let hir = parse(b"^/.{200}$").unwrap().translate().hir;
        assert_eq!(witness(Question::Outside, &hir, &[], &limits), Witness::Unknown);
        assert_eq!(ask(Question::Outside, "((a{60000}){60000}){60000}", &[]), Witness::Unknown);
        assert_eq!(ask(Question::Outside, "^/.*a.{30}$", &["^/.*b.{30}$"]), Witness::Unknown);
    }

    /// Automata that outgrow their memory are abandoned: they never continue with the states of a cleared cache.
    #[test]
    fn bounded_memory() {
        let limits = Limits { automaton_bytes: 200_000, ..Limits::default() };
        let hir = |pattern: &str| parse(pattern.as_bytes()).unwrap().translate().hir;
        let ask = |length: usize| {
            let (a, b) = (hir(&format!("^/.*a.{{{length}}}$")), hir(&format!("^/.*a.{{{length}}}b?$")));
            witness(Question::Outside, &a, &[&b], &limits)
        };
        assert_eq!(ask(2), Witness::Nothing);
        assert_eq!(ask(12), Witness::Unknown);
    }
}
