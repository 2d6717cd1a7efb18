//! [`crate::logs`] for Python: requests and results are JSON, whose strings are bytes as Latin-1.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};

use crate::border::request::{RequestModel, parse};
use crate::border::working::working;
use crate::logs::cells::{Cell, Class};
use crate::logs::columns::Columns;
use crate::logs::digest::{Digest, Place};
use crate::logs::format::Format;
use crate::logs::requests::Requests;
use crate::logs::value::Escape;
use crate::request::settle::Verdict;
use crate::request::world::World;

/// The sums of a log.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct LogDigest(Arc<Mutex<Digest>>);

#[pymethods]
impl LogDigest {
    #[new]
    #[pyo3(signature = (first, variables, texts, escape, group, *, wrapped = false))]
    fn new(
        first: &[u8],
        variables: Vec<String>,
        texts: Vec<Vec<u8>>,
        escape: &str,
        group: Vec<String>,
        wrapped: bool,
    ) -> PyResult<LogDigest> {
        let escape = escape_named(escape)?;
        if variables.len() != texts.len() {
            return Err(PyValueError::new_err("a variable has no text behind it"));
        }
        let columns = Columns::new(&variables, &group);
        let digest = Digest::new(Format::new(first, &variables, &texts, escape), columns, wrapped);
        Ok(LogDigest(Arc::new(Mutex::new(digest))))
    }

    fn read(&self, py: Python<'_>, piece: PyBackedBytes) -> PyResult<Vec<Vec<Vec<u8>>>> {
        let digest = self.0.clone();
        let new = working(py, move || locked(&digest).read(&piece))?;
        Ok(new.iter().map(|group| fields(group)).collect())
    }

    fn place(&self, places: Vec<(Vec<String>, String)>) -> PyResult<()> {
        let of = |(forms, reason): (Vec<String>, String)| match forms.is_empty() {
            true => Ok(Err(reason)),
            false => Ok(Ok(forms.iter().map(|form| parse(form)).collect::<PyResult<_>>()?)),
        };
        let places = places.into_iter().map(of).collect::<PyResult<Vec<Place>>>()?;
        self.locked().place(places);
        Ok(())
    }

    fn settle(&self, model: &Bound<'_, RequestModel>, world: &str) -> PyResult<()> {
        let world: World = parse(world)?;
        let (digest, py) = (self.0.clone(), model.py());
        let model = model.clone().unbind();
        working(py, move || locked(&digest).settle(model.get().model(), &world))
    }

    #[getter]
    fn broken_lines(&self) -> Vec<u64> {
        self.locked().lines.broken_lines.clone()
    }

    #[getter]
    fn lines(&self) -> (u64, u64, u64, u64, u64) {
        let lines = &self.locked().lines;
        (lines.number, lines.read, lines.broken, lines.malformed, lines.undated)
    }

    fn sums(&self) -> String {
        let mut digest = self.locked();
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

impl LogDigest {
    fn locked(&self) -> MutexGuard<'_, Digest> {
        locked(&self.0)
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
pub struct LogRequests(Arc<Mutex<Requests>>);

/// The fields of a group, and how often each of its targets was requested.
type PyGroup<'py> = (Vec<Vec<u8>>, Bound<'py, PyDict>);

#[pymethods]
impl LogRequests {
    #[new]
    #[pyo3(signature = (pattern, target, escape, *, decoded = false))]
    fn new(pattern: &[u8], target: Vec<String>, escape: &str, decoded: bool) -> PyResult<LogRequests> {
        let requests =
            Requests::new(pattern, &target, decoded, escape_named(escape)?).map_err(PyValueError::new_err)?;
        Ok(LogRequests(Arc::new(Mutex::new(requests))))
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        locked(&self.0).names().map(str::to_owned).collect()
    }

    fn read(&self, py: Python<'_>, piece: PyBackedBytes) -> PyResult<()> {
        let requests = self.0.clone();
        working(py, move || locked(&requests).read(&piece))
    }

    #[getter]
    fn broken_lines(&self) -> Vec<u64> {
        locked(&self.0).lines.broken_lines.clone()
    }

    #[getter]
    fn lines(&self) -> (u64, u64, u64) {
        let lines = &locked(&self.0).lines;
        (lines.read, lines.broken, lines.malformed)
    }

    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Vec<PyGroup<'py>>> {
        let requests = locked(&self.0);
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
