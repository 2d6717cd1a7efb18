//! An automaton over whole subjects whose states are built as they are reached.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Builder, Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;

use super::Limits;
use crate::work::spend;

/// A lazy DFA that searches for matches of some languages, with the states found so far.
pub(super) struct Automaton {
    dfa: DFA,
    cache: Cache,
    /// The bytes for which steps were spent, if they count.
    paid: Option<usize>,
}

/// The bytes of an automaton that any question may take: most patterns of rules take fewer.
const FREE: usize = 64 << 10;

/// The bytes of an automaton to one step. A byte is about a state of the NFA, which takes some ns for each class of
/// bytes.
const PER_STEP: usize = 16;

/// A state of an [`Automaton`], as far as whole subjects go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// A match was found. The subject is in the language, whatever follows.
    Inside,
    /// No match is possible any more. The subject is not in the language, whatever follows.
    Outside,
    /// The answer depends on what follows.
    Open(LazyStateID),
}

/// The automaton outgrew its bounds.
#[derive(Debug)]
pub(super) struct TooLarge;

impl Automaton {
    pub fn new(languages: &[&Hir], limits: &Limits) -> Result<Automaton, TooLarge> {
        let nfa = thompson::Config::new()
            .utf8(false)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(limits.automaton_bytes));
        let nfa = thompson::Compiler::new().configure(nfa).build_many_from_hir(languages).map_err(|_| TooLarge)?;
        // By default, a full cache is cleared. The state ids that the search holds would then mean other states.
        let dfa = Config::new()
            .match_kind(MatchKind::All)
            .cache_capacity(limits.automaton_bytes)
            .minimum_cache_clear_count(Some(0));
        let dfa = Builder::new().configure(dfa).build_from_nfa(nfa).map_err(|_| TooLarge)?;
        let cache = dfa.create_cache();
        let mut automaton = Automaton { dfa, cache, paid: limits.counts_states.then_some(FREE) };
        automaton.pay(1);
        Ok(automaton)
    }

    /// Spends steps for the states that were built since the last time, each of which is left by all classes of bytes.
    pub fn pay(&mut self, classes: usize) {
        let Some(paid) = &mut self.paid else { return };
        let built = self.dfa.get_nfa().memory_usage() + self.cache.memory_usage();
        if let Some(bytes) = built.checked_sub(*paid) {
            *paid = built;
            spend(bytes * classes / PER_STEP);
        }
    }

    /// The state before the first byte.
    pub fn start(&mut self) -> Result<State, TooLarge> {
        let config = start::Config::new().anchored(Anchored::No);
        let id = self.dfa.start_state(&mut self.cache, &config).map_err(|_| TooLarge)?;
        Ok(Automaton::state(id))
    }

    pub fn next(&mut self, state: State, byte: u8) -> Result<State, TooLarge> {
        let State::Open(id) = state else {
            return Ok(state);
        };
        let id = self.dfa.next_state(&mut self.cache, id, byte).map_err(|_| TooLarge)?;
        Ok(Automaton::state(id))
    }

    /// Whether the subject that led to the state is in the language.
    pub fn accepts(&mut self, state: State) -> Result<bool, TooLarge> {
        match state {
            State::Inside => Ok(true),
            State::Outside => Ok(false),
            State::Open(id) => {
                let end = self.dfa.next_eoi_state(&mut self.cache, id).map_err(|_| TooLarge)?;
                Ok(end.is_match())
            }
        }
    }

    /// The equivalence class of a byte: bytes of one class lead from any state to the same.
    pub fn class(&self, byte: u8) -> u8 {
        self.dfa.byte_classes().get(byte)
    }

    fn state(id: LazyStateID) -> State {
        if id.is_match() {
            State::Inside
        } else if id.is_dead() {
            State::Outside
        } else {
            State::Open(id)
        }
    }
}
