//! [`crate::prove_map`] for Python.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::prove_map::{MapRefutation, prove};

/// The verdict on the maps that replace one map.
#[pyclass(frozen, get_all, module = "nginxopt._native")]
pub struct MapProof {
    holds: bool,
    refutation: Option<String>,
    obligation: Option<&'static str>,
    counterexample: Option<Vec<u8>>,
    obligations: HashMap<&'static str, usize>,
}

#[pyfunction]
pub fn prove_map(py: Python<'_>, original: PyBackedBytes, emitted: PyBackedBytes) -> MapProof {
    match py.detach(|| prove(&original, &emitted)) {
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
    }
}
