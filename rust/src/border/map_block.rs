//! [`crate::map_block`] for Python.

use std::borrow::Cow;
use std::collections::BTreeSet;

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

/// What the evaluation of a map evaluates: the name of its variable, whether it is volatile, its source, and its values
/// with a `$`, each once.
type Evaluation<'py> = (Cow<'py, [u8]>, bool, Cow<'py, [u8]>, Vec<Cow<'py, [u8]>>);

/// The evaluations of the `map` blocks of a text. Raises `ValueError` as [`map_blocks`] does.
#[pyfunction]
pub fn map_evaluations(text: &[u8]) -> PyResult<Vec<Evaluation<'_>>> {
    let blocks = map_block::read(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(blocks.into_iter().map(evaluation).collect())
}

fn evaluation(block: map_block::MapBlock<'_>) -> Evaluation<'static> {
    let of_rows = block.exact.iter().map(|row| &row.value).chain(block.patterns.iter().map(|row| &row.value));
    let values = of_rows.chain(&block.default).map(AsRef::as_ref).filter(|value: &&[u8]| value.contains(&b'$'));
    let values: BTreeSet<&[u8]> = values.collect();
    let values = values.into_iter().map(|value| Cow::Owned(value.to_vec())).collect();
    (Cow::Owned(block.variable.to_vec()), block.volatile, Cow::Owned(block.source.to_vec()), values)
}
