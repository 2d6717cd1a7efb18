//! Finds the first of many patterns that matches a string, like nginx: in order, with PCRE2 if every PCRE agrees with
//! it.
//!
//! Running PCRE2 costs about 50 ns per pattern and string. Most patterns have literal bytes that each match contains,
//! at its start or anywhere; an index over these leaves few candidates, and PCRE2 runs only on them.

mod any_case;
pub(crate) mod effort;
mod first;
mod index;
mod matcher;
mod paths;
mod read;
mod requirement;
mod texts;
mod trie;
mod tries;

pub use effort::{Bounds, answers_with_looks};
pub use first::{First, FirstMatch, Required};
pub use index::TooManyLiterals;
pub use matcher::{Answer, Doubt};
pub use read::{ReadPattern, ReadPatterns};
pub use tries::{Tries, TryCounter};

pub(crate) use read::needed_literals;
