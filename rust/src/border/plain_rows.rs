//! [`crate::plain_rows`] for Python: rows in batches, as tuples.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::plain_rows::{Layout, PlainRow, read};

/// The most rows in a batch.
const BATCH: usize = 10_000;

/// Start, line, site, target, `to`, status.
type PyRow<'py> = (usize, usize, Bound<'py, PyString>, Bound<'py, PyBytes>, Bound<'py, PyString>, Bound<'py, PyString>);

/// Reads a batch of plain rows. Returns it with the offset and the number of the line behind it.
///
/// `columns` are the numbers of `from`, `to` and `status`, if there is one; `special` those that mark other rows.
#[pyfunction]
pub fn plain_rows<'py>(
    py: Python<'py>,
    data: &[u8],
    at: (usize, usize),
    delimiter: u8,
    columns: (usize, usize, Option<usize>),
    special: Vec<usize>,
    width: usize,
) -> (Vec<PyRow<'py>>, usize, usize) {
    let (from, to, status) = columns;
    let layout = Layout { delimiter, from, to, status, special, width };
    let mut rows = Vec::new();
    let (start, line) = read(data, &layout, at, BATCH, |row| rows.push(row_to_py(py, &row)));
    (rows, start, line)
}

/// Sites and statuses are few, so that equal ones are one object.
fn row_to_py<'py>(py: Python<'py>, row: &PlainRow<'_>) -> PyRow<'py> {
    let target = PyBytes::new(py, &row.target);
    let (site, status) = (PyString::intern(py, row.site), PyString::intern(py, row.status));
    (row.start, row.line, site, target, PyString::new(py, row.to), status)
}
