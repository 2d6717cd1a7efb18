//! [`crate::rewrite::script`] for Python.

use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::border::rewrite::Failed;
use crate::first_match::{Bounds, First, FirstMatch};
use crate::language::{self, Limits, Subjects, Witness};
use crate::maps::refused;
use crate::rewrite::script::{self, Number, Portion, Script};
use crate::rewrite::suspicious::{self, Never};
use crate::rewrite::uncaptured;
use crate::syntax;

/// File, start, end.
type PyPlace = (usize, usize, usize);

/// Rule, from, to, the rule that matches there, whether the rule always leads there.
type PyHop = (Number, Vec<u8>, Vec<u8>, Option<Number>, bool);

/// The rewrites of a level.
#[pyclass(frozen, name = "Script", module = "nginxopt._native")]
pub struct PyScript(Script);

#[pymethods]
impl PyScript {
    #[new]
    fn new(py: Python<'_>, portions: Vec<(PyBackedBytes, Vec<(usize, usize)>)>) -> PyResult<PyScript> {
        let portions: Vec<Portion> = portions.iter().map(|(bytes, spans)| (&bytes[..], ranges(spans))).collect();
        let read = py.detach(|| Script::read(&portions));
        read.map(PyScript).map_err(|unreadable| Failed::from(unreadable).into_py(py))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    #[getter]
    fn is_whole(&self) -> bool {
        self.0.is_whole
    }

    fn step(&self, uri: &[u8], sites: Vec<Vec<u8>>) -> Option<(Number, Option<Vec<u8>>)> {
        self.0.step(uri, &sites).map(|step| (step.rule, step.to))
    }

    fn hops(&self, py: Python<'_>, sites: Vec<Vec<u8>>, prefixes: Vec<Vec<u8>>) -> Vec<PyHop> {
        let hops = py.detach(|| self.0.hops(&sites, &prefixes));
        hops.into_iter().map(|hop| (hop.rule, hop.from, hop.to, hop.next, hop.is_constant)).collect()
    }

    fn place(&self, rule: Number) -> PyPlace {
        let (file, span) = self.0.place(rule);
        (file, span.start, span.end)
    }

    fn flag(&self, rule: Number) -> &'static str {
        self.0.action(rule).flag()
    }
}

#[pyfunction]
pub fn path_of(url: &[u8], sites: Vec<Vec<u8>>) -> Option<Vec<u8>> {
    script::path_of(url, &sites)
}

#[pyfunction]
pub fn never(pattern: &[u8], merge_slashes: bool) -> Option<&'static str> {
    suspicious::never(pattern, merge_slashes).map(|never| match never {
        Never::Impossible => "impossible",
        Never::Percent => "percent",
        Never::Query => "query",
    })
}

#[pyfunction]
pub fn without_captures(pattern: &[u8]) -> PyResult<Vec<u8>> {
    uncaptured::without_captures(pattern).map_err(|reason| PyValueError::new_err(reason.to_string()))
}

#[pyfunction]
pub fn suspicious_rewrites(py: Python<'_>, bytes: &[u8], spans: Vec<(usize, usize)>) -> PyResult<Vec<(usize, usize)>> {
    let suspicious = py.detach(|| suspicious::suspicious(bytes, &ranges(&spans)));
    let suspicious = suspicious.map_err(|unreadable| Failed::from(unreadable).into_py(py))?;
    Ok(suspicious.into_iter().map(|span| (span.start, span.end)).collect())
}

/// Whether every PCRE answers on each subject of a pattern, the number of its groups, and whether one has a name.
/// `None` for a pattern that is not read.
#[pyfunction]
pub fn pattern_facts(pattern: &[u8]) -> Option<(bool, u32, bool)> {
    let pattern = syntax::parse(pattern).ok()?;
    let hir = pattern.translate().hir;
    Some((Bounds::of(&pattern, &hir).always_answers, pattern.captures, pattern.named))
}

#[pyfunction]
pub fn pattern_error(pattern: &[u8]) -> Option<String> {
    refused::error(pattern)
}

/// Some ms for the worst question.
const LIMITS: Limits = Limits { states: 4_000, automaton_bytes: 4 << 20, covers: 0 };

/// Whether certainly no subject is matched by all of `inside` and by none of `outside`, and else a subject that seems
/// to be.
#[pyfunction]
pub fn common_subject(
    py: Python<'_>,
    inside: Vec<Vec<u8>>,
    outside: Vec<Vec<u8>>,
    is_uri: bool,
) -> (bool, Option<Vec<u8>>) {
    let subjects = if is_uri { Subjects::Uris } else { Subjects::All };
    match py.detach(|| language::common_subject(subjects, &inside, &outside, &LIMITS)) {
        Witness::Nothing => (true, None),
        Witness::Found(subject) => (false, Some(subject)),
        Witness::Unknown => (false, None),
    }
}

/// Patterns, to find the first that matches.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct Patterns(FirstMatch, usize);

#[pymethods]
impl Patterns {
    #[new]
    fn new(patterns: Vec<Vec<u8>>) -> PyResult<Patterns> {
        let texts: Vec<&[u8]> = patterns.iter().map(Vec::as_slice).collect();
        let first = FirstMatch::new(&texts).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Patterns(first, texts.len()))
    }

    fn first(&self, subject: &[u8]) -> PyResult<Option<usize>> {
        match self.0.first(subject, self.1) {
            First::None => Ok(None),
            First::Match(index) => Ok(Some(index)),
            First::Unknown(..) => Err(PyValueError::new_err("not every PCRE gives the same answer")),
        }
    }
}

fn ranges(spans: &[(usize, usize)]) -> Vec<Range<usize>> {
    spans.iter().map(|(start, end)| *start..*end).collect()
}
