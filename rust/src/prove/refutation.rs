//! What the proof answers: what was checked, or what does not hold.

/// What was checked, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    pub rules: usize,
    pub gone: usize,
    /// The number of strings on which both texts were run.
    pub strings: usize,
    /// The number of these that stand for all spellings of their letters.
    pub any_case: usize,
}

impl std::ops::AddAssign for Checked {
    fn add_assign(&mut self, other: Checked) {
        self.rules += other.rules;
        self.gone += other.gone;
        self.strings += other.strings;
        self.any_case += other.any_case;
    }
}

/// An obligation that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refutation {
    /// What does not hold, as a sentence without a full stop.
    pub what: String,
    /// A URI on which the two texts differ, if one was found.
    pub counterexample: Option<Vec<u8>>,
}

impl Refutation {
    pub fn new(what: impl Into<String>) -> Refutation {
        Refutation { what: what.into(), counterexample: None }
    }

    pub fn on(what: impl Into<String>, uri: &[u8]) -> Refutation {
        Refutation { what: what.into(), counterexample: Some(uri.to_vec()) }
    }
}

/// The result of an obligation that holds, or why it does not hold.
pub type Discharged<T> = Result<T, Refutation>;
