//! [`crate::request`] for Python: text is JSON, whose strings are bytes as Latin-1.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyString, PyTuple};
use serde::Deserialize;
use serde::Serialize;

use crate::border::lexer::text_to_py;
use crate::border::working::{working, working_if};
use crate::request::model::Model;
use crate::request::outcome::{End, Outcome, Question, Step};
use crate::request::patterns::{Pattern, Patterns};
use crate::request::record::Steps;
use crate::request::refused::Refused;
use crate::request::site::Site;
use crate::request::tally::Ends;
use crate::request::world::{Request, World};

pyo3::create_exception!(
    nginxopt._native,
    SiteRefusedError,
    pyo3::exceptions::PyException,
    "nginx does not start with a site: (number of the directive, nginx's message)."
);

/// From this many requests or bytes on, a call takes more than a few milliseconds.
const MANY_REQUESTS: usize = 64;
const MANY_BYTES: usize = 64 << 10;

/// The names of groups, with what they captured.
type Named = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns what a pattern, in PCRE's syntax, captures in a subject: the whole match and the groups, and the groups by
/// name. `None` if it does not match, or if that is unknown.
#[pyfunction]
pub fn captures(pattern: &[u8], subject: &[u8]) -> Option<(Vec<Option<Vec<u8>>>, Named)> {
    let pattern = Pattern { node: 0, text: pattern.into(), caseless: false };
    let patterns = Patterns::new(vec![pattern]).ok()?;
    patterns.first(subject, 0..1).ok()??;
    let captures = patterns.captures(0, subject).ok()?;
    let groups = captures.groups.into_iter().map(|group| group.map(|text| text.0)).collect();
    Some((groups, captures.named.into_iter().map(|(name, text)| (name.0, text.0)).collect()))
}

/// The model of a site.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct RequestModel(Model);

/// The outcomes of requests that differ only in their target: the directives that took part, and how the requests end.
#[pyclass(frozen, get_all, module = "nginxopt._native")]
pub struct RequestTally {
    nodes: Vec<(u32, u64)>,
    ends: Vec<PyEnd>,
}

/// Kind, status, server, level, directive, reason, the number of requests, and the place of one.
type PyEnd = (String, Option<u16>, Option<usize>, Option<usize>, Option<u32>, Option<String>, u64, usize);

/// A directive, a path that it answers, and whether it leads all to the same path.
type PyStart = (u32, Vec<u8>, bool);

/// The server, the level and its directive that decides, the status, and the `Location`.
type PyAnswer = (Option<usize>, Option<usize>, Option<u32>, Option<u16>, Option<Vec<u8>>);

/// The fields of `Answer` in `nginxopt/request/judgement.py` but for its branches, and whether it has branches.
type PyAnswered<'py> = (
    Bound<'py, PyString>,
    Option<u16>,
    Option<Bound<'py, PyString>>,
    Bound<'py, PyString>,
    Option<String>,
    Option<u32>,
    bool,
    Bound<'py, PyTuple>,
    bool,
);

type PyAnswers<'py> = Vec<PyAnswered<'py>>;

#[derive(Serialize)]
struct Trace {
    outcome: Outcome,
    steps: Vec<Step>,
}

#[pymethods]
impl RequestModel {
    #[new]
    fn new(py: Python<'_>, site: String, texts: Vec<PyBackedBytes>) -> PyResult<RequestModel> {
        let size = site.len() + texts.iter().map(|text| text.len()).sum::<usize>();
        working_if(py, size >= MANY_BYTES, move || {
            let site: Site = parse(&site)?;
            let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.to_vec()).collect();
            Model::new(site, &texts).map(RequestModel).map_err(refused)
        })?
    }

    fn trace(&self, py: Python<'_>, request: &str, world: &str) -> PyResult<String> {
        let (request, world): (Request, World) = (parse(request)?, parse(world)?);
        py.detach(|| {
            let mut steps = Steps::default();
            let outcome = self.0.answer(&request, &world, &mut steps);
            write(&Trace { outcome, steps: steps.0 })
        })
    }

    fn branches(&self, py: Python<'_>, request: &str, world: &str) -> PyResult<String> {
        let (request, world): (Request, World) = (parse(request)?, parse(world)?);
        py.detach(|| write(&self.0.branches(&request, &world)))
    }

    fn answers(this: &Bound<'_, Self>, requests: Vec<String>, world: &str) -> PyResult<Vec<String>> {
        let world: World = parse(world)?;
        let model = this.clone().unbind();
        working_if(this.py(), requests.len() >= MANY_REQUESTS, move || {
            let requests = requests.iter().map(|request| parse(request)).collect::<PyResult<Vec<Request>>>()?;
            model.get().0.answers(&requests, &world).iter().map(write).collect()
        })?
    }

    fn answered<'py>(
        this: &Bound<'py, Self>,
        request: &str,
        targets: Vec<(PyBackedBytes, u64)>,
        world: &str,
    ) -> PyResult<(PyAnswers<'py>, Vec<(u32, u64)>)> {
        let (request, world): (Request, World) = (parse(request)?, parse(world)?);
        let (model, py) = (this.clone().unbind(), this.py());
        let (outcomes, nodes) = working_if(py, targets.len() >= MANY_REQUESTS, move || {
            let targets: Vec<(&[u8], u64)> = targets.iter().map(|(target, count)| (&**target, *count)).collect();
            model.get().0.answered(&request, &targets, &world)
        })?;
        let model = this.get();
        let answers = outcomes.into_iter().map(|outcome| model.answered_to_py(py, outcome)).collect::<PyResult<_>>()?;
        Ok((answers, nodes.into_iter().collect()))
    }

    fn redirecting(&self) -> Vec<usize> {
        self.0.redirecting()
    }

    fn starts(
        this: &Bound<'_, Self>,
        server: usize,
        request: &str,
        world: &str,
        site: Vec<u8>,
    ) -> PyResult<Vec<PyStart>> {
        let (request, world): (Request, World) = (parse(request)?, parse(world)?);
        let model = this.clone().unbind();
        let starts = working(this.py(), move || model.get().0.starts(server, &request, &world, &site))?;
        Ok(starts.into_iter().map(|start| (start.node, start.uri, start.is_constant)).collect())
    }

    fn of_targets(
        this: &Bound<'_, Self>,
        request: &str,
        targets: Vec<PyBackedBytes>,
        world: &str,
    ) -> PyResult<Vec<PyAnswer>> {
        let (request, world): (Request, World) = (parse(request)?, parse(world)?);
        let model = this.clone().unbind();
        working_if(this.py(), targets.len() >= MANY_REQUESTS, move || {
            let model = model.get();
            let targets: Vec<&[u8]> = targets.iter().map(|target| &**target).collect();
            let outcomes = model.0.of_targets(&request, &targets, &world).into_iter();
            outcomes.map(|outcome| model.py_answer(outcome)).collect()
        })
    }

    #[pyo3(signature = (request, targets, world, status = None))]
    fn tally(
        this: &Bound<'_, Self>,
        request: &str,
        targets: Vec<(PyBackedBytes, u64)>,
        world: &str,
        status: Option<u16>,
    ) -> PyResult<RequestTally> {
        let (request, world): (Request, World) = (parse(request)?, parse(world)?);
        let model = this.clone().unbind();
        working_if(this.py(), targets.len() >= MANY_REQUESTS, move || {
            let targets: Vec<(&[u8], u64)> = targets.iter().map(|(target, count)| (&**target, *count)).collect();
            let tally = model.get().0.tally(&request, &targets, status, &world);
            let mut nodes: Vec<(u32, u64)> = tally.nodes.into_iter().collect();
            nodes.sort_unstable();
            let mut ends: Vec<PyEnd> = tally.ends.into_iter().map(|(end, ends)| py_end(end, &ends)).collect();
            ends.sort_unstable();
            RequestTally { nodes, ends }
        })
    }
}

impl RequestModel {
    /// The model itself.
    pub fn model(&self) -> &Model {
        &self.0
    }

    fn answered_to_py<'py>(&self, py: Python<'py>, outcome: Outcome) -> PyResult<PyAnswered<'py>> {
        let depends = outcome.asks().is_some();
        let Outcome { kind, status, level, node, location, upstream, headers, unknown, .. } = outcome;
        let node = node.or(level.map(|level| self.0.settings[level].node));
        let location = location.map(|location| text_to_py(py, &location)).transpose()?;
        let target = upstream.map_or_else(Vec::new, |passed| {
            let scheme: &[&[u8]] = if passed.scheme.is_empty() { &[] } else { &[&passed.scheme, b"://"] };
            [&scheme.concat()[..], &passed.server, passed.target.as_deref().unwrap_or_default()].concat()
        });
        let (reason, question) = unknown.map_or((None, None), |unknown| (Some(unknown.reason), unknown.question));
        let asks_file = matches!(question, Some(Question::File { .. }));
        let headers = headers.iter().map(|header| {
            let name: String = header.name.iter().map(|byte| char::from(*byte)).collect();
            Ok((name.to_lowercase(), text_to_py(py, &header.value)?))
        });
        let headers = headers.collect::<PyResult<Vec<_>>>()?;
        let (kind_name, target) = (PyString::intern(py, kind.name()), text_to_py(py, &target)?);
        let headers = PyTuple::new(py, headers)?;
        Ok((kind_name, status, location, target, reason, node, asks_file, headers, depends))
    }

    fn py_answer(&self, outcome: Outcome) -> PyAnswer {
        let Outcome { server, level, node, status, location, .. } = outcome;
        let of_level = level.map(|level| self.0.settings[level].node);
        (server, level, node.or(of_level), status, location.map(|location| location.0))
    }
}

fn py_end(end: End, ends: &Ends) -> PyEnd {
    let End { kind, status, server, level, node, reason } = end;
    (kind.name().to_owned(), status, server, level, node, reason, ends.count, ends.example)
}

/// Reads JSON. Raises `ValueError` for another.
pub fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn write(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn refused(refused: Refused) -> PyErr {
    SiteRefusedError::new_err((refused.node, refused.message))
}
