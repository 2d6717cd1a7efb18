//! [`crate::map_block`] for Python.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::map_block;

/// A block: the name of its variable, its start and end, and its exact keys.
type BlockFields<'py> = (Cow<'py, [u8]>, usize, usize, Vec<Cow<'py, [u8]>>);

/// The starts and ends of the `map` blocks of a text. Raises `ValueError` as [`map_blocks`] does.
#[pyfunction]
pub fn map_spans(text: &[u8]) -> PyResult<Vec<(usize, usize)>> {
    let blocks = map_block::read(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(blocks.into_iter().map(|block| (block.span.start, block.span.end)).collect())
}

/// The `map` blocks of a text. Raises `ValueError` if it has anything else, or cannot be read.
#[pyfunction]
pub fn map_blocks(text: &[u8]) -> PyResult<Vec<BlockFields<'_>>> {
    let blocks = map_block::read(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let block = |block: map_block::MapBlock<'_>| {
        let keys = block.exact.iter().map(|row| Cow::Owned(row.key.to_vec())).collect();
        (Cow::Owned(block.variable.to_vec()), block.span.start, block.span.end, keys)
    };
    Ok(blocks.into_iter().map(block).collect())
}
