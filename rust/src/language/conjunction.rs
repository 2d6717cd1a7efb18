//! Finds the shortest string that all of some patterns match and none of others.

use std::collections::VecDeque;

use hashbrown::HashMap;
use regex_syntax::hir::Hir;

use super::lazy::{Automaton, State, TooLarge};
use super::product::readable;
use super::{Limits, Subjects, Witness};
use crate::syntax::{Translation, parse};
use crate::work::spend;

/// Finds the shortest of the subjects that is in each of `inside` and in none of `outside`.
///
/// This is a breadth-first search over tuples of states, one of each automaton. One automaton is the union of the
/// languages outside. If a language is a superset, the answer is about the superset.
pub fn witness_of_all(subjects: Subjects, inside: &[&Hir], outside: &[&Hir], limits: &Limits) -> Witness {
    match Conjunction::new(subjects, inside, outside, limits).and_then(|mut search| search.run(limits.states)) {
        Ok(Some(string)) => Witness::Found(string),
        Ok(None) => Witness::Nothing,
        Err(TooLarge) => Witness::Unknown,
    }
}

/// As [`witness_of_all`], for the texts of patterns. For a pattern that cannot be read, or only in part, a superset of
/// its language is searched. So `Nothing` is certain, but a string that is found may not be a match.
pub fn common_subject(subjects: Subjects, inside: &[Vec<u8>], outside: &[Vec<u8>], limits: &Limits) -> Witness {
    let read = |pattern: &Vec<u8>| Some(parse(pattern).ok()?.translate());
    let inside: Vec<Translation> = inside.iter().filter_map(read).collect();
    let outside: Vec<Translation> = outside.iter().filter_map(read).filter(|language| language.exact).collect();
    let inside: Vec<&Hir> = inside.iter().map(|language| &language.hir).collect();
    let outside: Vec<&Hir> = outside.iter().map(|language| &language.hir).collect();
    witness_of_all(subjects, &inside, &outside, limits)
}

/// The states of all automata. The automaton of the languages outside is last.
type States = Box<[State]>;

/// Known transitions of automata to one step.
const TRANSITIONS: usize = 16;

struct Conjunction {
    subjects: Subjects,
    inside: Vec<Automaton>,
    outside: Automaton,
}

/// States that were reached, from which visit, and by which byte. The first visit has read nothing.
struct Visit {
    states: States,
    from: usize,
    byte: u8,
}

impl Conjunction {
    fn new(subjects: Subjects, inside: &[&Hir], outside: &[&Hir], limits: &Limits) -> Result<Conjunction, TooLarge> {
        let nothing = Hir::fail();
        let outside = if outside.is_empty() { &[&nothing] } else { outside };
        let inside = inside.iter().map(|hir| Automaton::new(&[hir], limits)).collect::<Result<_, _>>()?;
        Ok(Conjunction { subjects, inside, outside: Automaton::new(outside, limits)? })
    }

    fn run(&mut self, most: usize) -> Result<Option<Vec<u8>>, TooLarge> {
        let mut start = self.inside.iter_mut().map(Automaton::start).collect::<Result<Vec<_>, _>>()?;
        start.push(self.outside.start()?);
        let bytes = self.representatives();
        let mut visits = vec![Visit { states: start.into(), from: 0, byte: 0 }];
        let mut seen = HashMap::new();
        let mut queue = VecDeque::from([0]);
        while let Some(current) = queue.pop_front() {
            if visits.len() > most {
                return Err(TooLarge);
            }
            if current != 0 && self.is_answer(&visits[current].states)? {
                return Ok(Some(spell(&visits, current)));
            }
            for automaton in self.inside.iter_mut().chain([&mut self.outside]) {
                automaton.pay(bytes.len());
            }
            spend(1 + self.inside.len() * bytes.len() / TRANSITIONS);
            let uri_start = current == 0 && self.subjects == Subjects::Uris;
            for &byte in if uri_start { &b"/"[..] } else { &bytes } {
                let Some(states) = self.next(&visits[current].states, byte)? else { continue };
                let number = visits.len();
                if *seen.entry(states.clone()).or_insert(number) == number {
                    visits.push(Visit { states, from: current, byte });
                    queue.push_back(number);
                }
            }
        }
        Ok(None)
    }

    /// The states after one more byte; `None` if no answer can follow.
    fn next(&mut self, states: &States, byte: u8) -> Result<Option<States>, TooLarge> {
        let mut next = Vec::with_capacity(states.len());
        for (automaton, state) in self.inside.iter_mut().zip(states) {
            let state = automaton.next(*state, byte)?;
            if state == State::Outside {
                return Ok(None);
            }
            next.push(state);
        }
        let outside = self.outside.next(states[states.len() - 1], byte)?;
        next.push(outside);
        Ok((outside != State::Inside).then(|| next.into()))
    }

    fn is_answer(&mut self, states: &States) -> Result<bool, TooLarge> {
        for (automaton, state) in self.inside.iter_mut().zip(states) {
            if !automaton.accepts(*state)? {
                return Ok(false);
            }
        }
        Ok(!self.outside.accepts(states[states.len() - 1])?)
    }

    /// A byte for each class of bytes that no automaton distinguishes, the most readable first.
    fn representatives(&self) -> Vec<u8> {
        let least = if self.subjects == Subjects::Uris { 1 } else { 0 };
        readable(least, |byte| {
            let mut classes: Vec<u8> = self.inside.iter().map(|automaton| automaton.class(byte)).collect();
            classes.push(self.outside.class(byte));
            classes
        })
    }
}

/// Returns the bytes that lead to a visit.
fn spell(visits: &[Visit], mut last: usize) -> Vec<u8> {
    let mut string = Vec::new();
    while last != 0 {
        string.push(visits[last].byte);
        last = visits[last].from;
    }
    string.reverse();
    string
}

#[cfg(test)]
mod tests {
    use super::{common_subject, witness_of_all};
    use crate::language::{Limits, Subjects, Witness};
    use crate::syntax::{Hir, parse};

    fn ask(inside: &[&str], outside: &[&str]) -> Witness {
        let hir = |pattern: &&str| parse(pattern.as_bytes()).unwrap().translate().hir;
        let (inside, outside): (Vec<Hir>, Vec<Hir>) =
            (inside.iter().map(hir).collect(), outside.iter().map(hir).collect());
        let (inside, outside): (Vec<&Hir>, Vec<&Hir>) = (inside.iter().collect(), outside.iter().collect());
        witness_of_all(Subjects::Uris, &inside, &outside, &Limits::default())
    }

    fn found(uri: &str) -> Witness {
        Witness::Found(uri.as_bytes().to_vec())
    }

    /// A URI that several patterns match together, the shortest, spelled readably.
    #[test]
    fn together() {
        assert_eq!(ask(&["^/a", "z$", "q"], &[]), found("/aqz"));
        assert_eq!(ask(&["^/a", "z$"], &["^/az"]), found("/aaz"));
        assert_eq!(ask(&[], &[]), found("/"));
    }

    /// Patterns that exclude each other, or that others cover.
    #[test]
    fn nothing() {
        assert_eq!(ask(&["^/a", "^/b"], &[]), Witness::Nothing);
        assert_eq!(ask(&["^/a", "z$"], &["^/a.*z$"]), Witness::Found(b"/a\nz".to_vec()));
        assert_eq!(ask(&["^/a", "z$"], &["(?s)^/a.*z$"]), Witness::Nothing);
        assert_eq!(ask(&["^/[ab]$", "^/[bc]$"], &["^/b"]), Witness::Nothing);
    }

    /// What is not known of a pattern counts as possible.
    #[test]
    fn not_known() {
        let ask = |inside: &[&[u8]], outside: &[&[u8]]| {
            let owned = |texts: &[&[u8]]| texts.iter().map(|text| text.to_vec()).collect::<Vec<_>>();
            common_subject(Subjects::Uris, &owned(inside), &owned(outside), &Limits::default())
        };
        assert_eq!(ask(&[b"^/a(?!b)", b"^/a"], &[b"^/a(?=b)"]), found("/a"));
        assert_eq!(ask(&[b"^/a(?>b)", b"^/c"], &[b"^/c(?>b)"]), found("/c"));
        assert_eq!(ask(&[b"^/a(?!b)", b"^/b"], &[]), Witness::Nothing);
    }

    /// A search that takes too long stops at its bounds.
    #[test]
    fn bounded() {
        assert_eq!(ask(&["^/.*a.{30}$", "^/.*b.{29}$", "^/.*c.{28}$"], &["^/.*b.{30}$"]), Witness::Unknown);
    }
}
