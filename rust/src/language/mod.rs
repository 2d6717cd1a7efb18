//! Answers questions about the languages of patterns: the sets of strings that they match, as [`crate::syntax`]
//! translates them.
//!
//! [`finite`] lists the strings of a small language. [`witness`] finds the shortest URI that is in one language and in
//! none (or one) of others, and [`witness_of_all`] the shortest that several patterns all match. [`liveness`] decides
//! whether a rule is dead, by searching for witnesses. The work of all of them is bounded; beyond the bounds, the
//! answer is "unknown".

mod conjunction;
mod dead;
mod finite;
mod fragments;
mod lazy;
mod limits;
mod product;

pub use conjunction::{common_subject, witness_of_all};
pub use dead::{Liveness, liveness};
pub use finite::{Finite, finite, finite_spelled};
pub use limits::Limits;
pub use product::{Question, Subjects, Witness, counted_witness, witness, witness_among};
