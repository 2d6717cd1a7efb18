//! [`crate::rewrite`] for Python.

use std::collections::BTreeMap;
use std::ops::Range;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::border::enums::Entering;
use crate::border::lexer::error_to_py;
use crate::border::run::CompiledRun;
use crate::border::spans::ranges;
use crate::border::work::effort;
use crate::border::working::working;
use crate::compile_error::compile_error;
use crate::lexer;
use crate::phase::Phase;
use crate::rewrite::options::Options;
use crate::rewrite::plan::{BadPattern, Fate, Plan};
use crate::rewrite::planner::plan;
use crate::rewrite::reason::Reason;
use crate::rewrite::reruns::Reruns;
use crate::rewrite::runs::{self, Rule, Run, Section, Unreadable};
use crate::rewrite::staying::StayingItem;
use crate::syntax::Readings;
use crate::work::{self, Bound, Effort, Exceeded};

pyo3::create_exception!(
    nginxopt._native,
    PatternError,
    pyo3::exceptions::PyException,
    "PCRE2 does not compile a pattern: (start, end of the rule, message)."
);

pyo3::create_exception!(
    nginxopt._native,
    RefusedError,
    pyo3::exceptions::PyException,
    "nginx refuses a rewrite: (start, end of the rule, what it says)."
);

/// The declared readings, as passed by Python.
#[derive(Clone, Copy, FromPyObject)]
pub struct PyReadings {
    ignore_case: bool,
    literal_dots: bool,
    literal_ends: bool,
    drop_newline_twins: bool,
}

impl From<PyReadings> for Readings {
    fn from(readings: PyReadings) -> Readings {
        Readings {
            ignore_case: readings.ignore_case,
            literal_dots: readings.literal_dots,
            literal_ends: readings.literal_ends,
            drop_newline_twins: readings.drop_newline_twins,
        }
    }
}

/// What may run the rules again, as passed by Python.
#[derive(FromPyObject)]
pub struct PyReruns {
    uris: Vec<Vec<u8>>,
    names: Vec<Vec<u8>>,
    changes: bool,
}

/// The result of compiling the sections of a file.
#[pyclass(frozen, get_all, module = "nginxopt._native")]
pub struct Compilation {
    runs: Vec<Py<CompiledRun>>,
    /// Start, end and reason of the rules that do not end the script.
    barriers: Vec<(usize, usize, &'static str)>,
}

/// The ranges of a section, and whether it is behind an `if` that an earlier compilation may have written, and the last.
type PySection = (Vec<(usize, usize)>, bool, bool);

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the caller names them")]
#[pyo3(signature = (bytes, sections, *, phase, captures_matter, reruns, readings, bound, entering, for_remark = false, share = 1.0))]
pub fn compile_rewrites(
    py: Python<'_>,
    bytes: PyBackedBytes,
    sections: Vec<PySection>,
    phase: &str,
    captures_matter: bool,
    reruns: Option<PyReruns>,
    readings: PyReadings,
    bound: usize,
    entering: Entering,
    for_remark: bool,
    share: f64,
) -> PyResult<Compilation> {
    let (phase, entering) = (read_phase(phase)?, entering.into());
    let reruns = reruns.map(|reruns| Reruns::new(&reruns.uris, &reruns.names, reruns.changes));
    let options = Options { phase, captures_matter, reruns, readings: readings.into(), bound, entering };
    let section = |(spans, is_behind_if, is_last): PySection| {
        Ok(Section { ranges: ranges(bytes.len(), spans)?, is_behind_if, is_last })
    };
    let sections: Vec<Section> = sections.into_iter().map(section).collect::<PyResult<_>>()?;
    let most = Most { effort: effort(for_remark), share };
    let compiled = working(py, move || compile(&bytes, &sections, &options, most))?;
    let (runs, barriers) = compiled.map_err(|failed| failed.into_py(py))?;
    let runs = runs.into_iter().map(|run| Py::new(py, run)).collect::<PyResult<_>>()?;
    Ok(Compilation { runs, barriers })
}

fn read_phase(phase: &str) -> PyResult<Phase> {
    match phase {
        "server" => Ok(Phase::Server),
        "location" => Ok(Phase::Location),
        _ => Err(PyValueError::new_err(format!("no phase: {phase}"))),
    }
}

pub(super) enum Failed {
    Lexer(lexer::LexError),
    Pattern(Range<usize>, String),
    Refused(Range<usize>, String),
}

impl From<Unreadable> for Failed {
    fn from(unreadable: Unreadable) -> Failed {
        match unreadable {
            Unreadable::Lexer(error) => Failed::Lexer(error),
            Unreadable::Refused(span, says) => Failed::Refused(span, says),
        }
    }
}

impl Failed {
    pub(super) fn into_py(self, py: Python<'_>) -> PyErr {
        match self {
            Failed::Lexer(error) => error_to_py(py, error),
            Failed::Pattern(span, message) => PatternError::new_err((span.start, span.end, message)),
            Failed::Refused(span, says) => RefusedError::new_err((span.start, span.end, says)),
        }
    }
}

type Barriers = Vec<(usize, usize, &'static str)>;

/// How much work the plan may take: the effort, and a share of the bound or a multiple of it.
#[derive(Clone, Copy)]
struct Most {
    effort: Effort,
    share: f64,
}

impl Most {
    fn for_rules(self, rules: &[Rule]) -> Bound {
        self.for_bytes(rules.iter().map(|rule| rule.span.len()).sum())
    }

    fn for_bytes(self, bytes: usize) -> Bound {
        work::bound(bytes, self.effort).times(self.share)
    }
}

fn compile(
    bytes: &[u8],
    sections: &[Section],
    options: &Options,
    most: Most,
) -> Result<(Vec<CompiledRun>, Barriers), Failed> {
    let read = runs::read(bytes, sections)?;
    let mut portions: BTreeMap<usize, Vec<SectionItem>> = BTreeMap::new();
    for run in &read.runs {
        let planned = || Ok(SectionItem::of_run(bytes, run, plan(run, options)?, options));
        let item = match work::within(most.for_rules(&run.rules), planned) {
            Ok((item, _)) => item,
            Err(Exceeded) if most.effort == Effort::Small => SectionItem::of_beginning(bytes, run, options, most),
            Err(Exceeded) => Ok(SectionItem::of_kept(run, Reason::TooMuchWork)),
        };
        let item =
            item.map_err(|BadPattern { rule, message }| Failed::Pattern(run.rules[rule].span.clone(), message))?;
        portions.entry(run.portion).or_default().push(item);
    }
    for barrier in &read.barriers {
        if let Some(message) = compile_error(&barrier.pattern) {
            return Err(Failed::Pattern(barrier.span.clone(), message));
        }
        let item = SectionItem {
            staying: vec![StayingItem::Barrier(barrier)],
            compiled: None,
            is_behind: false,
            is_last: false,
        };
        portions.entry(barrier.portion).or_default().push(item);
    }
    let (mut runs, mut barriers) = (Vec::new(), Vec::new());
    for mut items in portions.into_values() {
        items.sort_by_key(SectionItem::start);
        for items in items.chunk_by_mut(SectionItem::is_joined_with) {
            let together = of_all(bytes, items, options, most);
            join(items, together, &mut runs, &mut barriers);
        }
    }
    Ok((runs, barriers))
}

/// The fewest rules of which it is asked whether they move without those behind them.
const FEWEST: usize = 16;

/// A run, or a rule that does not end the script.
struct SectionItem<'r> {
    staying: Vec<StayingItem<'r>>,
    /// The run.
    compiled: Option<CompiledRun>,
    /// As [`Run::is_behind`].
    is_behind: bool,
    /// As [`Run::is_last`].
    is_last: bool,
}

impl<'r> SectionItem<'r> {
    /// Compiles a run. In a location, where patterns list the keys, all rules stay if that tries fewer patterns.
    fn of_run(bytes: &[u8], run: &'r Run, plan: Plan, options: &Options) -> SectionItem<'r> {
        let item = |(rule, fate): (usize, &Fate)| {
            let reason = if let Fate::Kept(reason) = fate { *reason } else { Reason::NotWorse };
            StayingItem::Rule(&run.rules[rule], run.number(rule), reason)
        };
        let all: Vec<StayingItem> = plan.fates.iter().enumerate().map(item).collect();
        let has_keys = !plan.entries.is_empty();
        let compiled = CompiledRun::new(bytes, run, plan, options);
        let others = if has_keys && options.phase == Phase::Location {
            CompiledRun::of_items(bytes, &all, options, run.is_last)
        } else {
            None
        };
        let compiled = others.filter(|others| others.rank() < compiled.rank()).unwrap_or(compiled);
        SectionItem { staying: all, compiled: Some(compiled), is_behind: run.is_behind, is_last: run.is_last }
    }

    /// A run of which only the beginning is compiled, as all of it takes too much work: what moves of it is a bound.
    fn of_beginning(bytes: &[u8], run: &'r Run, options: &Options, most: Most) -> Result<SectionItem<'r>, BadPattern> {
        let mut item = SectionItem::of_kept(run, Reason::TooMuchWork);
        let mut count = run.rules.len() / 2;
        while count >= FEWEST {
            let beginning = Run { rules: run.rules[..count].to_vec(), ..*run };
            let planned = || plan(&beginning, options).map(|plan| CompiledRun::new(bytes, &beginning, plan, options));
            if let Ok((compiled, _)) = work::within(most.for_rules(&beginning.rules), planned) {
                item.compiled = Some(compiled?.followed_by(run, Reason::TooMuchWork));
                break;
            }
            count /= 2;
        }
        Ok(item)
    }

    /// A run whose rules all stay.
    fn of_kept(run: &'r Run, reason: Reason) -> SectionItem<'r> {
        let item = |(rule, each)| StayingItem::Rule(each, run.number(rule), reason);
        let staying: Vec<StayingItem> = run.rules.iter().enumerate().map(item).collect();
        let compiled = Some(CompiledRun::of_staying(&staying, None, false));
        SectionItem { staying, compiled, is_behind: run.is_behind, is_last: run.is_last }
    }

    fn start(&self) -> usize {
        self.compiled.as_ref().map_or_else(|| self.staying[0].span().start, CompiledRun::start)
    }

    /// Whether filters may have rules of both items. What an earlier compilation left of a run comes after the `if`s
    /// that it wrote. It was not joined with what follows, and is not joined now, so that a second compilation changes
    /// nothing.
    fn is_joined_with(&self, next: &SectionItem) -> bool {
        self.stays_in_order() && next.stays_in_order() && !self.is_behind
    }

    fn stays_in_order(&self) -> bool {
        self.compiled.as_ref().is_none_or(CompiledRun::stays_in_order)
    }
}

/// Consecutive items as one run, if some are not compiled and all get filters together.
fn of_all(bytes: &[u8], items: &[SectionItem], options: &Options, most: Most) -> Option<CompiledRun> {
    if items.iter().all(|item| item.compiled.is_some()) {
        return None;
    }
    let staying: Vec<StayingItem> = items.iter().flat_map(|item| item.staying.iter().copied()).collect();
    let most = most.for_bytes(staying.iter().map(|item| item.span().len()).sum());
    let is_last = items.last().is_some_and(|item| item.is_last);
    work::within(most, || CompiledRun::of_items(bytes, &staying, options, is_last))
        .ok()
        .and_then(|(together, _)| together)
}

/// Adds consecutive items: as one run, or else as they are.
fn join(
    items: &mut [SectionItem],
    together: Option<CompiledRun>,
    runs: &mut Vec<CompiledRun>,
    barriers: &mut Barriers,
) {
    if let Some(run) = together {
        return runs.push(run);
    }
    for item in items {
        match item.compiled.take() {
            Some(run) => runs.push(run),
            None => barriers
                .extend(item.staying.iter().map(|item| (item.span().start, item.span().end, item.reason().code()))),
        }
    }
}

/// The codes of the reasons for which a rule stays, each with its sentence.
#[pyfunction]
pub fn reasons() -> Vec<(&'static str, &'static str)> {
    Reason::ALL.iter().map(|reason| (reason.code(), reason.sentence())).collect()
}
