//! [`crate::prove`] for Python.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::border::rewrite::PyReadings;
use crate::border::run::CompiledRun;
use crate::border::work::too_much;
use crate::border::working::working;
use crate::prove::{self, Facts, Other, Pair};
use crate::work::{self, Effort};

pyo3::create_exception!(
    nginxopt._native,
    Refuted,
    pyo3::exceptions::PyException,
    "An obligation of the proof does not hold: (what, counterexample or None)."
);

/// One file, before and after.
#[derive(FromPyObject)]
pub struct PyPair {
    before: PyBackedBytes,
    after: PyBackedBytes,
    in_location: bool,
    in_http: bool,
    holds_rows: bool,
    takes_rules: bool,
}

impl PyPair {
    fn borrow(&self) -> Pair<'_> {
        Pair {
            before: &self.before,
            after: &self.after,
            in_location: self.in_location,
            in_http: self.in_http,
            holds_rows: self.holds_rows,
            takes_rules: self.takes_rules,
        }
    }
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the caller names them")]
#[pyo3(signature = (pairs, others, maps, trees, *, readings, transparent, harmless, rerunning, inherited, quiet, is_complete, include, may_set_sizes, compiled, share = 1.0))]
pub fn prove_rewrites(
    py: Python<'_>,
    pairs: Vec<PyPair>,
    others: Vec<(PyBackedBytes, bool)>,
    maps: PyBackedBytes,
    trees: PyBackedBytes,
    readings: PyReadings,
    transparent: Vec<String>,
    harmless: Vec<String>,
    rerunning: Vec<String>,
    inherited: Vec<String>,
    quiet: Vec<String>,
    is_complete: bool,
    include: Option<Vec<Vec<u8>>>,
    may_set_sizes: Option<HashSet<Vec<u8>>>,
    compiled: Vec<Py<CompiledRun>>,
    share: f64,
) -> PyResult<(usize, usize, usize, usize)> {
    let set = |names: Vec<String>| names.into_iter().map(String::into_bytes).collect::<HashSet<_>>();
    let facts = Facts {
        readings: readings.into(),
        transparent: set(transparent),
        harmless: set(harmless),
        rerunning: set(rerunning),
        inherited: set(inherited),
        quiet: set(quiet),
        is_complete,
        include,
        may_set_sizes,
        patterns: compiled.iter().filter_map(|run| run.get().patterns()).collect(),
    };
    let proof = working(py, move || {
        let pairs: Vec<Pair> = pairs.iter().map(PyPair::borrow).collect();
        let others = others.iter().map(|(text, holds_rows)| Other { text, holds_rows: *holds_rows });
        let others: Vec<Other> = others.collect();
        let length = pairs.iter().map(|pair| pair.before.len()).sum();
        let most = work::bound(length, Effort::Full).times(share);
        work::within(most, || prove::prove(&pairs, &others, &maps, &trees, &facts))
    })?;
    match proof.map_err(|_| too_much())?.0 {
        Ok(checked) => Ok((checked.rules, checked.gone, checked.strings, checked.any_case)),
        Err(refutation) => Err(Refuted::new_err((refutation.what, refutation.counterexample))),
    }
}
