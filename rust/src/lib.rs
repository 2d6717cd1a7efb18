//! The native core of nginxopt. The crate stands alone; only the module `border` knows Python.
//!
//! The modules, in the order of the data:
//!
//! - [`lexer`] splits a configuration into tokens, [`map_block`] reads `map` blocks, and [`syntax`] parses patterns;
//!   [`language`] answers questions about the strings that parsed patterns match.
//! - [`pcre`] and [`first_match`] run PCRE2 itself, as does [`compile_error`] for patterns that `syntax` cannot parse.
//! - [`rewrite`] compiles rules into maps, and [`maps`] compiles maps with many patterns. [`hash`] simulates the hash
//!   tables in which nginx keeps them, and [`quote`] writes tokens.
//! - [`prove`] and [`prove_map`] prove that the original and the compiled text do the same. They read nothing else.
//! - [`work`] counts what all of these do, and ends it where it takes too long.
//! - [`request`] is a model of how nginx answers a request.
//! - [`plain_rows`] reads the usual rows of a table of requests.
//! - [`logs`] adds up what the requests of an access log took, by what the model says of them.
//! - [`facts`] has lists of directives, which `build.rs` takes from the tables of the Python package.

mod bytes;
pub mod collisions;
pub mod compile_error;
pub mod facts;
pub mod first_match;
pub mod hash;
pub mod language;
pub mod lexer;
pub mod logs;
pub mod map_block;
pub mod map_machine;
pub mod maps;
pub mod parallel;
pub mod pattern_text;
pub mod pcre;
pub mod phase;
pub mod plain_rows;
pub mod prove;
pub mod prove_map;
pub mod quote;
pub mod request;
pub mod rewrite;
pub mod syntax;
pub mod unnamed;
pub mod variables;
pub mod work;

#[cfg(feature = "python")]
mod border;
