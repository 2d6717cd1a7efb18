//! Maps with many patterns, compiled into trees of look-ups.
//!
//! A `map` tries its patterns in order. Here its rows are divided: [`exact`] has the rows that match few strings,
//! [`families`] those that differ in a literal only, [`front`] those of bytes and dots that no earlier row may meet,
//! [`rooted`] others with a beginning that is known from there, [`tree`] those with any other known beginning, and
//! [`chain`] the rest, which are still tried in order, but in groups behind guards: patterns that match if no row of
//! the group can. Maps nest: the value of one may be the variable of another, which nginx evaluates only if that row
//! matches.
//!
//! The modules, in the order of the data: [`row`] has what is known of a row, its [`sequence`]s and whether its value
//! has [`captures`]; [`entry`] places rows in a [`trie`]; [`keys`] chooses paths of it, which the patterns of
//! [`chunk`]s, [`cut`] off the trie, distinguish; [`bucket`] lists the rows of each key. For [`front`], [`symbols`]
//! tells which rows begin alike, and [`alternatives`] writes the pieces of each [`front_row`]. [`segment`] has a guard
//! for [`chain`]. [`writer`] collects the [`text`] of the maps, with new [`pattern`]s.

pub mod alternatives;
pub mod bucket;
pub mod captures;
pub mod chain;
pub mod chunk;
pub mod compile;
pub mod compiled;
pub mod cost;
pub mod cut;
pub mod entry;
pub mod exact;
#[cfg(test)]
mod example;
pub mod families;
pub mod family;
pub mod front;
pub mod front_row;
pub mod keys;
pub mod large;
pub mod lines;
pub mod parts;
pub mod pattern;
pub mod pick;
pub mod refused;
pub mod rooted;
pub mod row;
pub mod segment;
pub mod sequence;
pub mod stays;
pub mod symbols;
pub mod text;
pub mod tree;
pub mod trie;
pub mod union;
pub mod writer;

pub use compile::{compile, compile_beside, compile_keeping_captures, compile_with};
pub use compiled::Compiled;
pub use large::LargeForms;
pub use row::read_patterns;
pub use stays::Stays;
