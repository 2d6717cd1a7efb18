//! The rewrite compiler: turns `rewrite` rules into maps.
//!
//! [`runs`] reads the rules, and [`candidate`] judges each one by itself. [`planner`] divides them into rules that a
//! map can answer and rules that stay; [`assignment`] does this string by string. [`emit`] builds the [`tier`]s of
//! maps, and [`text`] writes them. [`grouping`] divides the rules that stay into groups behind lookups and parts
//! behind filters. The proof in [`crate::prove`] uses none of this.

pub mod assignment;
pub mod candidate;
pub mod emit;
pub mod filter;
pub mod grouping;
pub mod groups;
pub mod kept;
pub mod kinds;
pub mod lines;
pub mod look_up;
pub mod options;
pub mod plan;
pub mod planner;
pub mod reason;
pub mod reruns;
pub mod runs;
pub mod shared_pattern;
pub mod staying;
pub mod stop;
pub mod suspicious;
pub mod target;
pub mod text;
pub mod tier;
pub mod trie;
pub mod twins;
pub mod uncaptured;
