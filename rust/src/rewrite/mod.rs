//! The rewrite compiler: rules are read ([`runs`]), judged one by one ([`candidate`]), divided into those that a map
//! can answer and those that stay ([`planner`], string by string in [`assignment`]), made into tiers of maps
//! ([`tier`], [`emit`]) and written down ([`text`]). The proof in [`crate::prove`] uses none of it.

pub mod assignment;
pub mod candidate;
pub mod emit;
pub mod filter;
pub mod grouping;
pub mod groups;
pub mod kept;
pub mod kinds;
pub mod lines;
pub mod options;
pub mod plan;
pub mod planner;
pub mod reason;
pub mod runs;
pub mod shared_pattern;
pub mod staying;
pub mod suspicious;
pub mod target;
pub mod text;
pub mod tier;
pub mod trie;
pub mod twins;
pub mod uncaptured;
