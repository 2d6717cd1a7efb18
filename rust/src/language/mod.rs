//! Questions about the languages of patterns, as [`crate::syntax`] translates them.
//!
//! [`finite`] lists a small language.

mod finite;

pub use finite::{Finite, LONGEST_STRING, finite, finite_spelled};
