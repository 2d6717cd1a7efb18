//! Compiles a `map` with many patterns into smaller maps that look up keys and try few patterns.
//!
//! nginx tries the patterns of a `map` in order. The compiler divides the rows by what it knows of their patterns, and
//! writes different maps for each part:
//!
//! - [`exact`]: rows that match only a few strings;
//! - [`families`]: rows that differ only in a literal;
//! - [`front`]: rows of bytes and dots that match no subject that an earlier row may match;
//! - [`rooted`]: rows that can be found by the beginnings which the patterns of the front capture;
//! - [`tree`]: other rows with a known beginning;
//! - [`apart`]: rows that must not be evaluated for nothing, if others come before and behind them; filters for them
//!   come first, and lead to the original map;
//! - [`chain`]: the rest. They are still tried in order, but in groups behind *guards*, patterns that tell when no row
//!   of the group can match.
//! - [`words`]: rows of the rest that have one value and differ only in literals share patterns.
//!
//! The new maps refer to each other: the value of a row may be the variable of another map, which nginx evaluates only
//! if that row matches.
//!
//! The modules, in the order of the data: [`row`] collects what is known of a row, such as its beginnings
//! ([`sequence`]) and whether its value uses [`captures`]. [`entry`] places rows in a [`trie`], [`keys`] chooses the
//! paths of the trie that become keys, [`cut`] cuts the trie with its [`labels`] into [`chunk`]s whose patterns find the
//! longest key, and [`bucket`] lists the rows of each key. For [`front`], [`symbols`] finds rows that begin alike, and
//! [`alternatives`] writes the pieces of each [`front_row`]. [`segment`] writes a guard for [`chain`], and [`sign`] finds
//! what a guard of many rows searches for. [`pattern`] writes new patterns, [`writer`] collects the maps, and [`text`]
//! writes them.

pub mod alternatives;
pub mod apart;
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
pub mod labels;
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
pub mod sign;
pub mod stays;
pub mod symbols;
pub mod text;
pub mod tree;
pub mod trie;
pub mod union;
pub mod words;
pub mod writer;

pub use compile::{compile, compile_beside, compile_keeping_captures, compile_with};
pub use compiled::Compiled;
pub use large::LargeForms;
pub use row::read_patterns;
pub use stays::Stays;
