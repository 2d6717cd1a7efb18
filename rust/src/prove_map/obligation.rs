//! The obligations that an emitted text has to meet, and counts of how often each was checked.

use std::cell::Cell;
use std::fmt;

/// A kind of obligation; the documentation of [`crate::prove_map`] defines each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Obligation {
    Reads,
    OwnMap,
    Names,
    Flags,
    KnownMap,
    Depth,
    Pattern,
    Row,
    Order,
    Union,
    Guard,
    Trie,
    Chunk,
    BucketKey,
    Bucket,
    Front,
    Family,
    Probe,
    Cover,
    End,
    Empty,
    Floating,
    Newline,
    ExactKey,
    ExactAnswer,
    Pick,
    Number,
    Captures,
    Effort,
}

impl Obligation {
    /// All of them, in the order of their declaration.
    pub const ALL: [Obligation; 29] = [
        Obligation::Reads,
        Obligation::OwnMap,
        Obligation::Names,
        Obligation::Flags,
        Obligation::KnownMap,
        Obligation::Depth,
        Obligation::Pattern,
        Obligation::Row,
        Obligation::Order,
        Obligation::Union,
        Obligation::Guard,
        Obligation::Trie,
        Obligation::Chunk,
        Obligation::BucketKey,
        Obligation::Bucket,
        Obligation::Front,
        Obligation::Family,
        Obligation::Probe,
        Obligation::Cover,
        Obligation::End,
        Obligation::Empty,
        Obligation::Floating,
        Obligation::Newline,
        Obligation::ExactKey,
        Obligation::ExactAnswer,
        Obligation::Pick,
        Obligation::Number,
        Obligation::Captures,
        Obligation::Effort,
    ];

    /// The name in counts and refutations.
    pub fn name(self) -> &'static str {
        match self {
            Obligation::Reads => "reads",
            Obligation::OwnMap => "own-map",
            Obligation::Names => "names",
            Obligation::Flags => "flags",
            Obligation::KnownMap => "known-map",
            Obligation::Depth => "depth",
            Obligation::Pattern => "pattern",
            Obligation::Row => "row",
            Obligation::Order => "order",
            Obligation::Union => "union",
            Obligation::Guard => "guard",
            Obligation::Trie => "trie",
            Obligation::Chunk => "chunk",
            Obligation::BucketKey => "bucket-key",
            Obligation::Bucket => "bucket",
            Obligation::Front => "front",
            Obligation::Family => "family",
            Obligation::Probe => "probe",
            Obligation::Cover => "cover",
            Obligation::End => "end",
            Obligation::Empty => "empty",
            Obligation::Floating => "floating",
            Obligation::Newline => "newline",
            Obligation::ExactKey => "exact-key",
            Obligation::ExactAnswer => "exact-answer",
            Obligation::Pick => "pick",
            Obligation::Number => "number",
            Obligation::Captures => "captures",
            Obligation::Effort => "effort",
        }
    }
}

/// How often each obligation was discharged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proved {
    counts: [Cell<usize>; Obligation::ALL.len()],
}

impl Proved {
    pub fn count(&self, obligation: Obligation) -> usize {
        self.counts[obligation as usize].get()
    }

    /// Name and count of each obligation, 0 included.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, usize)> + '_ {
        Obligation::ALL.iter().map(|obligation| (obligation.name(), self.count(*obligation)))
    }

    /// Adds what another part of the proof has discharged.
    pub(super) fn add(&self, other: &Proved) {
        for (count, more) in self.counts.iter().zip(&other.counts) {
            count.set(count.get() + more.get());
        }
    }

    pub(super) fn discharge(&self, obligation: Obligation) {
        let count = &self.counts[obligation as usize];
        count.set(count.get() + 1);
    }
}

/// An obligation that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapRefutation {
    pub obligation: Obligation,
    /// What does not hold, as a sentence without a full stop.
    pub what: String,
    /// A subject for which the two texts give different values, if one was found.
    pub counterexample: Option<Vec<u8>>,
}

impl fmt::Display for MapRefutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.obligation.name(), self.what)?;
        match &self.counterexample {
            Some(subject) => write!(f, " (\"{}\")", subject.escape_ascii()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for MapRefutation {}

/// The refutation of an obligation.
pub(super) fn refute<T>(obligation: Obligation, what: impl Into<String>) -> Result<T, MapRefutation> {
    Err(MapRefutation { obligation, what: what.into(), counterexample: None })
}
