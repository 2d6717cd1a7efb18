//! The rewrite compiler: rules are read ([`program`]), judged one by one ([`candidate`]), divided into those that a map
//! can answer and those that stay ([`planner`], string by string in [`claims`]), and written down as the bodies of maps
//! ([`emit`]). The proof in [`crate::prove`] uses none of it.

pub mod candidate;
pub mod claims;
pub mod collisions;
pub mod emit;
pub mod example;
pub mod kept;
pub mod odd;
pub mod options;
pub mod plan;
pub mod planner;
pub mod program;
pub mod quote;
pub mod reason;
pub mod script;
pub mod target;
pub mod text;
pub mod tier;
pub mod trie;
pub mod twins;
pub mod uncaptured;
