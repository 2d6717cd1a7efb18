//! [`crate::logs`] for Python: requests and results are JSON, whose strings are bytes as Latin-1.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};

use crate::border::request::{RequestModel, parse};
use crate::border::working::working;
use crate::logs;
use crate::logs::cells::{Cell, Class};
use crate::logs::columns::Columns;
use crate::logs::digest::{Digest, Place};
use crate::logs::format::Format;
use crate::logs::reader::Reader;
use crate::logs::requests::Requests;
use crate::logs::value::Escape;
use crate::request::settle::Verdict;
use crate::request::world::World;

/// How to read the lines of a log.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct LineFormat(Arc<logs::reader::LineFormat>);

#[pymethods]
impl LineFormat {
    #[new]
    #[pyo3(signature = (first, variables, texts, escape, group, *, wrapped = false))]
    fn new(
        first: &[u8],
        variables: Vec<String>,
        texts: Vec<Vec<u8>>,
        escape: &str,
        group: Vec<String>,
        wrapped: bool,
    ) -> PyResult<LineFormat> {
        if variables.len() != texts.len() {
            return Err(PyValueError::new_err("a variable has no text behind it"));
        }
        let format = Format::new(first, &variables, &texts, escape_named(escape)?);
        let columns = Columns::new(&variables, &group);
        Ok(LineFormat(Arc::new(logs::reader::LineFormat { format, columns, is_wrapped: wrapped })))
    }

    fn __eq__(&self, other: &LineFormat) -> bool {
        self.0 == other.0
    }
}

/// A log, and what is read of it.
type Log<T> = Arc<Mutex<(Reader, T)>>;

/// The sums of a log.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct LogDigest(Log<Digest>);

#[pymethods]
impl LogDigest {
    #[new]
    fn new(format: &LineFormat) -> LogDigest {
        LogDigest(Arc::new(Mutex::new((Reader::new(format.0.clone()), Digest::default()))))
    }

    fn read(&self, py: Python<'_>, piece: PyBackedBytes) -> PyResult<Vec<Vec<Vec<u8>>>> {
        let digest = self.0.clone();
        let read = move || {
            let (reader, digest) = &mut *locked(&digest);
            reader.read(&piece, |line| digest.add(line));
            digest.unplaced().iter().map(|group| fields(group)).collect()
        };
        working(py, read)
    }

    fn place(&self, places: Vec<(Vec<String>, String)>) -> PyResult<()> {
        let of = |(forms, reason): (Vec<String>, String)| match forms.is_empty() {
            true => Ok(Err(reason)),
            false => Ok(Ok(forms.iter().map(|form| parse(form)).collect::<PyResult<_>>()?)),
        };
        let places = places.into_iter().map(of).collect::<PyResult<Vec<Place>>>()?;
        locked(&self.0).1.place(places);
        Ok(())
    }

    fn settle(&self, model: &Bound<'_, RequestModel>, world: &str) -> PyResult<()> {
        let world: World = parse(world)?;
        let (digest, py) = (self.0.clone(), model.py());
        let model = model.clone().unbind();
        working(py, move || locked(&digest).1.settle(model.get().model(), &world))
    }

    #[getter]
    fn broken_lines(&self) -> Vec<u64> {
        locked(&self.0).0.lines.broken_lines.clone()
    }

    #[getter]
    fn lines(&self) -> (u64, u64, u64, u64, u64) {
        let (Reader { lines, .. }, digest) = &*locked(&self.0);
        (lines.number, lines.read, lines.broken, lines.malformed, digest.undated)
    }

    #[getter]
    fn agents(&self) -> Vec<Vec<u8>> {
        locked(&self.0).1.agents().map(<[u8]>::to_vec).collect()
    }

    fn sums(&self) -> String {
        let digest = &mut locked(&self.0).1;
        let minutes = digest.minutes.sorted();
        let mut uses: Vec<_> = digest.uses.iter().collect();
        uses.sort_unstable();
        let mut tries: Vec<_> = digest.tries.iter().collect();
        tries.sort_unstable();
        json!({
            "classes": digest.classes.iter().filter(|(_, cell)| cell.requests > 0).map(form).collect::<Vec<_>>(),
            "uses": uses,
            "tries": tries,
            "clients": digest.clients.sorted(),
            "other_clients": digest.clients.others(),
            "robots": digest.robots.sorted(),
            "other_robots": digest.robots.others(),
            "minutes": minutes,
        })
        .to_string()
    }
}

/// Returns what is behind a lock. After a panic its sums lack the piece that showed it.
fn locked<T>(sums: &Mutex<T>) -> MutexGuard<'_, T> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

fn escape_named(name: &str) -> PyResult<Escape> {
    match name {
        "default" => Ok(Escape::Default),
        "json" => Ok(Escape::Json),
        "none" => Ok(Escape::None),
        _ => Err(PyValueError::new_err(format!("no escape: {name}"))),
    }
}

/// Returns the fields of a group, which a line end separates.
fn fields(group: &[u8]) -> Vec<Vec<u8>> {
    group.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// The different requests of a log.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct LogRequests(Log<Requests>);

/// The fields of a group, and how often each of its targets was requested.
type PyGroup<'py> = (Vec<Vec<u8>>, Bound<'py, PyDict>);

#[pymethods]
impl LogRequests {
    #[new]
    fn new(format: &LineFormat) -> LogRequests {
        LogRequests(Arc::new(Mutex::new((Reader::new(format.0.clone()), Requests::default()))))
    }

    fn read(&self, py: Python<'_>, piece: PyBackedBytes) -> PyResult<()> {
        let requests = self.0.clone();
        let read = move || {
            let (reader, requests) = &mut *locked(&requests);
            reader.read(&piece, |line| requests.add(line));
        };
        working(py, read)
    }

    #[getter]
    fn broken_lines(&self) -> Vec<u64> {
        locked(&self.0).0.lines.broken_lines.clone()
    }

    #[getter]
    fn lines(&self) -> (u64, u64, u64) {
        let lines = &locked(&self.0).0.lines;
        (lines.read, lines.broken, lines.malformed)
    }

    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Vec<PyGroup<'py>>> {
        let requests = &locked(&self.0).1;
        let groups: Vec<_> = requests.groups().iter().map(|group| (fields(group), PyDict::new(py))).collect();
        for (group, target, count) in requests.counted() {
            groups[group].1.set_item(PyBytes::new(py, target), count)?;
        }
        Ok(groups)
    }
}

fn form((class, cell): &(Class, Cell)) -> Value {
    let verdict = match class.verdict {
        Verdict::Agrees => "agrees",
        Verdict::Differs => "differs",
        Verdict::Ambiguous => "ambiguous",
        Verdict::Unknown => "unknown",
    };
    json!({
        "verdict": verdict,
        "kind": class.kind.map_or("refused", |kind| kind.name()),
        "expected": class.expected,
        "server": class.server,
        "level": class.level,
        "node": class.node,
        "reason": class.reason,
        "status": class.status,
        "cell": cell,
    })
}
