//! [`crate::maps`] for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::work::effort;
use super::working::working;
use crate::first_match::ReadPatterns;
use crate::map_block;
use crate::maps::cost::Cost;
use crate::maps::refused::{Refused, refused};
use crate::maps::{Compiled, LargeForms, Stays, compile_keeping_captures, compile_with, read_patterns};
use crate::work::{self, Exceeded};

pyo3::create_exception!(
    nginxopt._native,
    RefusedRow,
    pyo3::exceptions::PyException,
    "nginx refuses a row of a map: (whether it is a pattern, its place among these or the exact rows, what is said)."
);

/// The result of compiling a map.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct CompiledMap {
    compiled: Compiled,
    patterns: Option<Box<ReadPatterns>>,
}

impl CompiledMap {
    /// The patterns of the map as they were read, if they were to be kept.
    pub fn patterns(&self) -> Option<&ReadPatterns> {
        self.patterns.as_deref()
    }
}

/// Why a map is left unchanged.
#[pyclass(frozen, get_all, module = "nginxopt._native")]
pub struct StayingMap {
    reason: &'static str,
    row: Option<usize>,
}

/// Patterns tried: far, near, worst.
type Tried = (usize, usize, usize);

fn tried(cost: Cost) -> Tried {
    (cost.far, cost.near, cost.worst)
}

#[pymethods]
impl CompiledMap {
    #[getter]
    fn maps<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.compiled.text())
    }

    #[getter]
    fn default<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut token = Vec::new();
        crate::quote::quote(&self.compiled.default, &mut token);
        PyBytes::new(py, &token)
    }

    #[getter]
    fn guard<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.compiled.guard_row().map(|row| PyBytes::new(py, &row))
    }

    #[getter]
    fn rows(&self) -> usize {
        self.compiled.shape.rows
    }

    #[getter]
    fn exact(&self) -> usize {
        self.compiled.shape.exact
    }

    #[getter]
    fn in_tree(&self) -> usize {
        self.compiled.shape.in_tree
    }

    #[getter]
    fn floating(&self) -> usize {
        self.compiled.shape.floating
    }

    #[getter]
    fn buckets(&self) -> usize {
        self.compiled.shape.buckets
    }

    #[getter]
    fn leaves(&self) -> usize {
        self.compiled.shape.leaves
    }

    #[getter]
    fn maps_written(&self) -> usize {
        self.compiled.maps.len()
    }

    #[getter]
    fn before(&self) -> Tried {
        tried(Cost::of_rows(self.compiled.shape.rows))
    }

    #[getter]
    fn after(&self) -> Tried {
        tried(self.compiled.cost)
    }

    /// The variables that the maps define, including named groups.
    #[getter]
    fn variables(&self) -> Vec<String> {
        self.compiled.variables().iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }

    /// The keys of the hash table of each map.
    #[getter]
    fn keys(&self) -> Vec<Vec<Vec<u8>>> {
        self.compiled.keys()
    }
}

#[derive(IntoPyObject)]
pub enum MapCompilation {
    Compiled(CompiledMap),
    Stays(StayingMap),
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the caller names them")]
#[pyo3(signature = (block, *, stem, keeps_captures = false, keeps_patterns = false, as_large = false, for_remark = false, share = 1.0))]
pub fn compile_map(
    py: Python<'_>,
    block: PyBackedBytes,
    stem: String,
    keeps_captures: bool,
    keeps_patterns: bool,
    as_large: bool,
    for_remark: bool,
    share: f64,
) -> PyResult<MapCompilation> {
    let large = if as_large { LargeForms::ALWAYS } else { LargeForms::USUAL };
    let plan = move || {
        let map = map_block::read_one(&block).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let patterns = read_patterns(&map);
        match refused(&map, &patterns) {
            Some(Refused::Pattern(row, message)) => Err(RefusedRow::new_err((true, row, message))),
            Some(Refused::Key(row)) => Err(RefusedRow::new_err((false, row, "conflicting parameter"))),
            None => {
                let compile = || {
                    if keeps_captures {
                        compile_keeping_captures(&map, &patterns, &stem)
                    } else {
                        compile_with(&map, &patterns, &stem, large)
                    }
                };
                let compiled = match work::within(work::bound(block.len(), effort(for_remark)).times(share), compile) {
                    Ok((compiled, _)) => compiled,
                    Err(Exceeded) => Err(Stays::TooMuchWork),
                };
                Ok(compiled.map(|compiled| {
                    let patterns = keeps_patterns.then(|| Box::new(patterns));
                    CompiledMap { compiled, patterns }
                }))
            }
        }
    };
    Ok(match working(py, plan)?? {
        Ok(compiled) => MapCompilation::Compiled(compiled),
        Err(stays) => MapCompilation::Stays(staying(stays)),
    })
}

/// The codes of the reasons for which a map stays, each with its sentence.
#[pyfunction]
pub fn map_reasons() -> Vec<(&'static str, &'static str)> {
    Stays::ALL.iter().map(|reason| (reason.code(), reason.sentence())).collect()
}

fn staying(stays: Stays) -> StayingMap {
    StayingMap { reason: stays.code(), row: stays.row() }
}
