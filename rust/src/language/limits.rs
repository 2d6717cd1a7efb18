//! How much a question about languages may cost.

/// The bounds of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most pairs of states.
    pub states: usize,
    /// The most memory of each automaton, in bytes. The limit applies to its NFA and to its lazy states.
    pub automaton_bytes: usize,
    /// The most earlier rules that may cover a rule together ([`super::liveness`]).
    pub covers: usize,
    /// Whether the states of automata count as steps. Plans and proofs are bounded by their memory instead.
    pub counts_states: bool,
}

impl Default for Limits {
    /// 100,000 pairs, 16 MiB, 64 rules: under a tenth of a second for the worst question.
    fn default() -> Limits {
        Limits { states: 100_000, automaton_bytes: 16 << 20, covers: 64, counts_states: false }
    }
}
