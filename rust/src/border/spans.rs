//! Byte spans that Python passes.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The spans as ranges of a text of `length` bytes; `ValueError` for one that is not within it.
pub(super) fn ranges(length: usize, spans: Vec<(usize, usize)>) -> PyResult<Vec<Range<usize>>> {
    spans.into_iter().map(|(start, end)| range(length, start, end)).collect()
}

/// The range from `start` to `end` of a text of `length` bytes; `ValueError` if it is not within it.
pub(super) fn range(length: usize, start: usize, end: usize) -> PyResult<Range<usize>> {
    if start <= end && end <= length {
        return Ok(start..end);
    }
    Err(PyValueError::new_err(format!("no span of {length} bytes: {start} to {end}")))
}
