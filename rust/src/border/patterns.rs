//! Patterns and suspicious rewrites for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::border::enums::{Never, UnionFault};
use crate::border::rewrite::Failed;
use crate::border::spans::ranges;
use crate::border::working::{working, working_if};
use crate::compile_error;
use crate::first_match::{Bounds, First, FirstMatch};
use crate::language::{self, Limits, Subjects, Witness};
use crate::pcre::{MatchOutcome, Regex};
use crate::prove_map::filter::{NoFilter, TurnedAway};
use crate::prove_map::union::{NoUnion, check_union};
use crate::rewrite::{filter, suspicious, uncaptured};
use crate::syntax;
use crate::work::{self, Bound, Effort};

/// The most steps for why no request matches a pattern: a tenth of a second.
const MOST_FOR_NEVER: u64 = 1_000_000;

/// Why no ordinary request matches a pattern, and the steps that took.
#[pyfunction]
pub fn never(pattern: &[u8], merge_slashes: bool) -> (Option<Never>, u64) {
    work::within(MOST_FOR_NEVER, || suspicious::never(pattern, merge_slashes).map(Never::from))
        .unwrap_or((None, MOST_FOR_NEVER))
}

#[pyfunction]
pub fn without_captures(pattern: &[u8]) -> PyResult<Vec<u8>> {
    uncaptured::without_captures(pattern).map_err(|reason| PyValueError::new_err(reason.to_string()))
}

#[pyfunction]
pub fn suspicious_rewrites(
    py: Python<'_>,
    bytes: PyBackedBytes,
    spans: Vec<(usize, usize)>,
) -> PyResult<Vec<(usize, usize)>> {
    let ranges = ranges(bytes.len(), spans)?;
    let suspicious = working(py, move || suspicious::suspicious(&bytes, &ranges))?;
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
    compile_error::compile_error(pattern)
}

/// From this many patterns, to read them takes more than a few milliseconds.
const MANY: usize = 64;

/// The match limit of PCRE2 by default, which nginx leaves (`pcre2_set_match_limit`, `ngx_regex_exec`).
const MATCH_LIMIT: u32 = 10_000_000;

/// Whether PCRE2 reaches its match limit, or another one, on a subject: nginx then answers 500. Up to a second.
/// `None` for a pattern that it does not compile.
#[pyfunction]
pub fn gives_up(py: Python<'_>, pattern: &[u8], subject: Vec<u8>) -> PyResult<Option<bool>> {
    let Ok(regex) = Regex::new(pattern) else { return Ok(None) };
    working(py, move || Some(matches!(regex.is_match(&subject, MATCH_LIMIT), MatchOutcome::Error(_))))
}

/// A pattern that matches what one of the patterns does and nothing else; `None` if none is known that nginx reads.
#[pyfunction]
pub fn exact_union(py: Python<'_>, patterns: Vec<Vec<u8>>) -> PyResult<Option<Vec<u8>>> {
    working(py, move || within(&[&patterns], || filter::union_of(&slices(&patterns))).flatten())
}

/// Why a pattern does not match exactly what one of the patterns does, `None` if it does, and a subject that shows it.
#[pyfunction]
pub fn not_the_union(
    py: Python<'_>,
    union: Vec<u8>,
    patterns: Vec<Vec<u8>>,
) -> PyResult<(Option<UnionFault>, Option<Vec<u8>>)> {
    let check = move || {
        let check = || check_union(&union, &slices(&patterns));
        within(&[std::slice::from_ref(&union), &patterns], check).unwrap_or(Err(NoUnion::NoFilter(NoFilter::Unknown)))
    };
    Ok(match working(py, check)? {
        Ok(()) => (None, None),
        Err(fault) => (
            Some(UnionFault::from(&fault)),
            match fault {
                NoUnion::TurnsAway(TurnedAway(subject)) => subject,
                _ => None,
            },
        ),
    })
}

/// Some ms for the worst question.
const LIMITS: Limits = Limits { states: 4_000, automaton_bytes: 4 << 20, covers: 0, counts_states: true };

/// Whether certainly no subject is matched by all of `inside` and by none of `outside`, and else a subject that seems
/// to be; behind them, the steps that took.
#[pyfunction]
pub fn common_subject(
    py: Python<'_>,
    inside: Vec<Vec<u8>>,
    outside: Vec<Vec<u8>>,
    is_uri: bool,
) -> PyResult<(bool, Option<Vec<u8>>, u64)> {
    let subjects = if is_uri { Subjects::Uris } else { Subjects::All };
    let is_large = inside.len() + outside.len() >= MANY;
    let (common, steps) = working_if(py, is_large, move || {
        let most = small_bound(&[&inside, &outside]);
        work::within(most, || language::common_subject(subjects, &inside, &outside, &LIMITS))
            .unwrap_or((Witness::Unknown, most.steps))
    })?;
    Ok(match common {
        Witness::Nothing => (true, None, steps),
        Witness::Found(subject) => (false, Some(subject), steps),
        Witness::Unknown => (false, None, steps),
    })
}

/// Patterns, to find the first that matches.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct Patterns(FirstMatch, usize);

#[pymethods]
impl Patterns {
    #[new]
    #[pyo3(signature = (patterns, *, to_match = false))]
    fn new(py: Python<'_>, patterns: Vec<Vec<u8>>, to_match: bool) -> PyResult<Patterns> {
        let count = patterns.len();
        let read = if to_match { FirstMatch::to_match } else { FirstMatch::new };
        let first = working_if(py, count >= MANY, move || read(&slices(&patterns)))?;
        let first = first.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Patterns(first, count))
    }

    fn first(&self, subject: &[u8]) -> PyResult<Option<usize>> {
        match self.0.first(subject, self.1) {
            First::None => Ok(None),
            First::Match(index) => Ok(Some(index)),
            First::Unknown(..) => Err(PyValueError::new_err("not every PCRE gives the same answer")),
        }
    }
}

/// The answer to a question about patterns, unless it takes more work than they may take.
fn within<R>(patterns: &[&[Vec<u8>]], ask: impl FnOnce() -> R) -> Option<R> {
    work::within(small_bound(patterns), ask).ok().map(|(answer, _)| answer)
}

fn small_bound(patterns: &[&[Vec<u8>]]) -> Bound {
    work::bound(patterns.iter().copied().flatten().map(Vec::len).sum(), Effort::Small)
}

fn slices(patterns: &[Vec<u8>]) -> Vec<&[u8]> {
    patterns.iter().map(Vec::as_slice).collect()
}
