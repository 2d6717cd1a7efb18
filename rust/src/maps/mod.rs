//! Maps with many patterns, compiled into trees of look-ups.
//!
//! A `map` tries its patterns one after the other. Here they are divided: [`exact`] has the rows that match few strings,
//! [`tree`] those of which it is known what a match begins with, and [`chain`] the others, which stay one after the other,
//! behind patterns that tell when none of a group can match. Maps nest, as the value of one may be the variable of
//! another, and nginx evaluates it only where its row is hit.
//!
//! In the order of the data: what is known of a [`row`]: its [`sequence`]s, and whether its value has [`captures`]; where
//! rows stand ([`entry`]) in a [`trie`]; which of its paths are [`keys`]; the [`chunk`]s whose patterns tell the keys
//! apart; the rows of each [`bucket`]; and then [`text`], collected by a [`writer`], with [`pattern`]s of our own.

pub mod bucket;
pub mod captures;
pub mod chain;
pub mod chunk;
pub mod compile;
pub mod compiled;
pub mod cost;
pub mod entry;
pub mod exact;
#[cfg(test)]
mod example;
pub mod keys;
pub mod lines;
pub mod parts;
pub mod pattern;
pub mod pick;
pub mod refused;
pub mod row;
pub mod sequence;
pub mod stays;
pub mod text;
pub mod tree;
pub mod trie;
pub mod writer;

pub use compile::compile;
pub use compiled::Compiled;
pub use stays::Stays;
