//! The border to Python, `nginxopt._native`: one file a subject, which converts and nothing else.
//!
//! `nginxopt/_native.pyi` documents what stands here for its callers.

mod lexer;

use pyo3::prelude::*;

/// The native core of nginxopt.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::lexer::{Events, LexError};
}
