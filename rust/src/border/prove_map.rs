//! [`crate::prove_map`] for Python.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::maps::CompiledMap;
use super::work::too_much;
use super::working::working;
use crate::prove_map::{MapRefutation, prove, prove_keeping_captures};
use crate::work::{self, Effort};

/// The result of proving the maps that replace one map.
#[pyclass(frozen, get_all, module = "nginxopt._native")]
pub struct MapProof {
    holds: bool,
    refutation: Option<String>,
    obligation: Option<&'static str>,
    counterexample: Option<Vec<u8>>,
    obligations: HashMap<&'static str, usize>,
}

#[pyfunction]
#[pyo3(signature = (original, emitted, *, compiled = None, keeps_captures = false, share = 1.0))]
pub fn prove_map(
    py: Python<'_>,
    original: PyBackedBytes,
    emitted: PyBackedBytes,
    compiled: Option<Py<CompiledMap>>,
    keeps_captures: bool,
    share: f64,
) -> PyResult<MapProof> {
    let prove = if keeps_captures { prove_keeping_captures } else { prove };
    let most = work::bound(original.len(), Effort::Full).times(share);
    let proof = working(py, move || {
        let patterns = compiled.as_ref().and_then(|compiled| compiled.get().patterns());
        work::within(most, || prove(&original, &emitted, patterns))
    })?;
    Ok(match proof.map_err(|_| too_much())?.0 {
        Ok(proved) => MapProof {
            holds: true,
            refutation: None,
            obligation: None,
            counterexample: None,
            obligations: proved.counts().collect(),
        },
        Err(MapRefutation { obligation, what, counterexample }) => MapProof {
            holds: false,
            refutation: Some(what),
            obligation: Some(obligation.name()),
            counterexample,
            obligations: HashMap::new(),
        },
    })
}
