//! The native core of nginxopt: a crate that stands by itself, with a thin border to Python in `border`.
//!
//! The modules, in the order of the data: bytes are read by [`lexer`].

pub mod lexer;

#[cfg(feature = "python")]
mod border;
