//! The native core of nginxopt: an independent crate, with a thin border to Python in `border`.
//!
//! The modules, in the order of the data: bytes are read by [`lexer`], and maps by [`map_block`]; patterns by [`syntax`],
//! which gives them a [`language`], while [`pcre`] and [`first_match`] ask PCRE2 itself; [`rewrite`] compiles rules into
//! maps that nginx looks up in the tables of [`hash`]; and [`prove`] decides, from the two texts alone, whether they do the
//! same. Text is written with [`quote`].

pub mod first_match;
pub mod hash;
pub mod language;
pub mod lexer;
pub mod map_block;
pub mod map_machine;
pub mod maps;
pub mod parallel;
pub mod pcre;
pub mod phase;
pub mod prove;
pub mod prove_map;
pub mod quote;
pub mod rewrite;
pub mod syntax;
pub mod variables;

#[cfg(feature = "python")]
mod border;
