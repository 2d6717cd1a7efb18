//! The native core of nginxopt: an independent crate, with a thin border to Python in `border`.
//!
//! The modules, in the order of the data: [`lexer`] reads bytes, [`map_block`] maps and [`syntax`] patterns, whose
//! [`language`] is then known; [`pcre`] and [`first_match`] ask PCRE2 itself, as [`compile_error`] does of those that
//! cannot be read. [`rewrite`] compiles rules into maps, which nginx keeps in the tables of [`hash`], and [`maps`]
//! compiles maps with many patterns. [`prove`] and [`prove_map`] decide from the two texts alone whether they do the
//! same. [`quote`] writes tokens.

mod bytes;
pub mod collisions;
pub mod compile_error;
pub mod first_match;
pub mod hash;
pub mod language;
pub mod lexer;
pub mod map_block;
pub mod map_machine;
pub mod maps;
pub mod parallel;
pub mod pattern_text;
pub mod pcre;
pub mod phase;
pub mod prove;
pub mod prove_map;
pub mod quote;
pub mod request;
pub mod rewrite;
pub mod syntax;
pub mod variables;

#[cfg(feature = "python")]
mod border;
