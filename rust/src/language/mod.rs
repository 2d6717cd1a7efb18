//! Questions about the languages of patterns, as [`crate::syntax`] translates them.
//!
//! [`finite`] lists a small language. [`witness`] finds the shortest URI in one language and outside (or inside)
//! others, [`witness_of_all`] the shortest that all of several patterns match, and [`liveness`] decides whether a rule
//! is dead, by searching witnesses. All stop at bounds, with the result unknown.

mod conjunction;
mod dead;
mod finite;
mod fragments;
mod lazy;
mod product;

pub use conjunction::{common_subject, witness_of_all};
pub use dead::{Liveness, liveness};
pub use finite::{Finite, finite, finite_spelled};
pub use product::{Limits, Question, Subjects, Witness, counted_witness, witness, witness_among};
