//! [`crate::work`] for Python.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::work::{Effort, Stop};

pyo3::create_exception!(
    nginxopt._native,
    TooMuchWork,
    pyo3::exceptions::PyException,
    "Work took more steps than an input of its size may take."
);

/// The effort for a remark or for a result.
pub fn effort(for_remark: bool) -> Effort {
    if for_remark { Effort::Small } else { Effort::Full }
}

/// The error for work that was cancelled: what the handler of a signal raises, or `KeyboardInterrupt`.
pub fn cancelled() -> PyErr {
    Python::attach(|py| py.check_signals().err().unwrap_or_else(|| PyKeyboardInterrupt::new_err(())))
}

/// The error for work that was stopped.
pub fn stopped<R>(stop: Stop) -> PyResult<R> {
    Err(match stop {
        Stop::Exceeded => TooMuchWork::new_err(()),
        Stop::Cancelled => cancelled(),
    })
}
