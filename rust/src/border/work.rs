//! [`crate::work`] for Python.

use pyo3::prelude::*;

use crate::work::{self, Effort};

pyo3::create_exception!(
    nginxopt._native,
    TooMuchWork,
    pyo3::exceptions::PyException,
    "Work took more steps or memory than an input of its size may take."
);

/// The effort for a remark or for a result.
pub fn effort(for_remark: bool) -> Effort {
    if for_remark { Effort::Small } else { Effort::Full }
}

/// The steps of all planning and proving, and the most bytes that a piece of it held, since the last call.
#[pyfunction]
pub fn work_done() -> (u64, i64) {
    work::done()
}

/// The error for work that took too much.
pub fn too_much() -> PyErr {
    TooMuchWork::new_err(())
}
