//! The native core of nginxopt. This file is the border to Python and holds no logic of its own:
//! it converts arguments, releases the GIL and converts results.
//!
//! The modules, in the order of the data: bytes are read by [`lexer`].

pub mod lexer;

#[cfg(feature = "python")]
mod border;
