//! A compiled run for Python: the fate of its rules, and its text.

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::border::spans::range;
use crate::border::working::working;
use crate::first_match::ReadPatterns;
use crate::hash::Element;
use crate::rewrite::grouping::Grouping;
use crate::rewrite::lines::Text;
use crate::rewrite::options::Options;
use crate::rewrite::plan::{Fate, Plan};
use crate::rewrite::reason::Reason;
use crate::rewrite::runs::{self, Run};
use crate::rewrite::staying::StayingItem;
use crate::rewrite::text::{self, Names, Piece};
use crate::rewrite::tier::Tier;
use crate::rewrite::{emit, kept};
use crate::syntax::{self, Readings};

/// The number of keys passed to Python, which requests them from a real nginx.
const SAMPLE: usize = 20_000;

/// Up to this many patterns are kept as they were read, for the proof. More would take too much memory.
const MOST_READ: usize = 50_000;

/// The names of the variables of a run, as passed by Python.
#[derive(Clone, FromPyObject)]
pub struct PyNames {
    stem: String,
    group: String,
    tree: String,
}

impl From<PyNames> for Names {
    fn from(names: PyNames) -> Names {
        Names { stem: names.stem, group: names.group, tree: names.tree }
    }
}

/// A run, planned and written.
#[pyclass(frozen, module = "nginxopt._native")]
pub struct CompiledRun {
    spans: Vec<Range<usize>>,
    fates: Vec<Fate>,
    pub(super) tiers: Vec<Tier>,
    /// The grouping of the rules that stay, if some are in groups.
    grouping: Option<Grouping>,
    /// As [`Run::is_last`].
    is_last: bool,
    /// The patterns of groups as they were read, if they are kept.
    patterns: Option<Arc<ReadPatterns>>,
    /// Whether `$1` to `$9` must be emptied if no key is hit.
    clears: bool,
    /// The removed rules that a declared reading changes: start, end, and the rule as it is read.
    #[pyo3(get)]
    declared: Vec<(usize, usize, Vec<u8>)>,
    /// The rules that stay, and their patterns.
    kept: Vec<(usize, Vec<u8>)>,
    #[pyo3(get)]
    keys: usize,
    stands_before: usize,
    /// A sample of the keys, spread over all of them.
    #[pyo3(get)]
    sample: Vec<Vec<u8>>,
    #[pyo3(get)]
    moved: usize,
    /// The number of patterns that list the keys.
    #[pyo3(get)]
    listing: usize,
    /// The number of rules that each declared reading changes, in the order of `Readings`.
    #[pyo3(get)]
    changed: [usize; 4],
    /// Whether only the first rules were examined, as all take too much work. Nothing can be written of such a run.
    #[pyo3(get)]
    is_partial: bool,
}

impl CompiledRun {
    /// `bytes` is the text that contains the run.
    pub(super) fn new(bytes: &[u8], run: &Run, plan: Plan, options: &Options) -> CompiledRun {
        let step = plan.entries.len().div_ceil(SAMPLE).max(1);
        let tiers = emit::tiers(run, &plan, options);
        let lists = tiers.iter().filter(|tier| tier.is_listed());
        let grouping = Grouping::of(bytes, run, &plan, options);
        let has_groups = grouping.as_ref().is_some_and(|grouping| grouping.count() > 0);
        CompiledRun {
            spans: run.rules.iter().map(|rule| rule.span.clone()).collect(),
            listing: lists.flat_map(|tier| &tier.blocks).map(|block| block.patterns.len()).sum(),
            grouping,
            is_last: run.is_last,
            clears: clears(&tiers, &plan, options),
            tiers,
            stands_before: plan.stands_before(options),
            kept: plan.kept().map(|(rule, _)| (rule, run.rules[rule].pattern.to_vec())).collect(),
            keys: plan.entries.len(),
            sample: plan.entries.iter().step_by(step).map(|entry| plan.key(entry).to_vec()).collect(),
            moved: plan.fates.iter().filter(|fate| **fate == Fate::Moved).count(),
            changed: changed(run, &plan, &options.readings),
            declared: declared(run, &plan),
            fates: plan.fates,
            is_partial: false,
            patterns: plan.patterns.filter(|read| has_groups && read.count() <= MOST_READ).map(Arc::new),
        }
    }

    /// Rules that stay, some of which do not end the script; `None` if none is in a group or behind a filter.
    pub(super) fn of_items(
        bytes: &[u8],
        items: &[StayingItem],
        options: &Options,
        is_last: bool,
    ) -> Option<CompiledRun> {
        let grouping = Grouping::of_items(bytes, items, options)?;
        Some(CompiledRun::of_staying(items, Some(grouping), is_last))
    }

    /// Rules that stay.
    pub(super) fn of_staying(items: &[StayingItem], grouping: Option<Grouping>, is_last: bool) -> CompiledRun {
        CompiledRun {
            spans: items.iter().map(StayingItem::span).collect(),
            fates: items.iter().map(|item| Fate::Kept(item.reason())).collect(),
            kept: items.iter().map(|item| item.pattern().to_vec()).enumerate().collect(),
            grouping,
            is_last,
            patterns: None,
            tiers: Vec::new(),
            clears: false,
            declared: Vec::new(),
            keys: 0,
            stands_before: 0,
            sample: Vec::new(),
            moved: 0,
            listing: 0,
            changed: [0; 4],
            is_partial: false,
        }
    }

    /// With the rules of `run` behind its own, which stay and were not examined.
    pub(super) fn followed_by(mut self, run: &Run, reason: Reason) -> CompiledRun {
        let rest = self.spans.len()..run.rules.len();
        self.spans.extend(run.rules[rest.clone()].iter().map(|rule| rule.span.clone()));
        self.kept.extend(rest.clone().map(|rule| (rule, run.rules[rule].pattern.to_vec())));
        self.fates.extend(rest.map(|_| Fate::Kept(reason)));
        self.is_partial = true;
        self
    }

    /// The patterns of groups as they were read, if they were kept.
    pub(super) fn patterns(&self) -> Option<Arc<ReadPatterns>> {
        self.patterns.clone()
    }

    /// Whether all rules stay in their order: there are no keys, and no rule is in a group.
    pub(super) fn stays_in_order(&self) -> bool {
        self.keys == 0 && self.grouped() == 0
    }

    /// The cost as one number, for comparisons.
    pub(super) fn rank(&self) -> usize {
        let cost = self.grouping.as_ref().map(Grouping::cost).unwrap_or_default();
        let tried = 2 * cost.far + 2 * cost.near + cost.worst;
        let removed = if self.keys > 0 || self.grouping.is_some() { 0 } else { self.fates.len() - self.kept.len() };
        let alone = self.staying().filter(|(rule, _)| !self.is_filtered(*rule)).count();
        tried + 5 * (alone + self.listing + removed)
    }

    pub(super) fn start(&self) -> usize {
        self.spans[0].start
    }

    fn place(&self, rule: usize) -> (usize, usize) {
        (self.spans[rule].start, self.spans[rule].end)
    }
}

/// Whether a statement must empty `$1` to `$9`, because the rules did and guards do not. Not if the first rule stays:
/// it needs the former values, and empties them itself if it does not match. Patterns in the conditions of tiers empty
/// them, too.
fn clears(tiers: &[Tier], plan: &Plan, options: &Options) -> bool {
    let has_guard = tiers.iter().any(|tier| !tier.is_listed());
    options.captures_matter && has_guard && !plan.stays_first() && !tiers.iter().any(Tier::clears_captures)
}

/// For each declared reading, the number of removed rules that it changes.
fn changed(run: &Run, plan: &Plan, readings: &Readings) -> [usize; 4] {
    let without = [
        Readings { ignore_case: false, ..*readings },
        Readings { literal_dots: false, ..*readings },
        Readings { literal_ends: false, ..*readings },
        Readings { drop_newline_twins: false, ..*readings },
    ];
    without.map(|without| {
        if without == *readings {
            return 0;
        }
        let gone = run.rules.iter().zip(&plan.fates).filter(|(_, fate)| !matches!(fate, Fate::Kept(_)));
        gone.filter(|(rule, _)| {
            syntax::read_as(&rule.pattern, readings).ok() != syntax::read_as(&rule.pattern, &without).ok()
        })
        .count()
    })
}

/// The removed rules that a declared reading changes, written as they are read.
fn declared(run: &Run, plan: &Plan) -> Vec<(usize, usize, Vec<u8>)> {
    let read = plan.extras.iter().filter_map(|(rule, extra)| Some((*rule, extra.read_as.as_deref()?)));
    let mut written: Vec<_> = read
        .map(|(rule, pattern)| {
            let rule = &run.rules[rule];
            (rule.span.start, rule.span.end, rule.written(pattern))
        })
        .collect();
    written.sort_unstable();
    written
}

type PyDead = (usize, usize, Option<(usize, usize)>, Option<Vec<u8>>);

#[pymethods]
impl CompiledRun {
    fn __len__(&self) -> usize {
        self.spans.len()
    }

    /// The number of rules in groups.
    #[getter]
    fn grouped(&self) -> usize {
        self.grouping.as_ref().map_or(0, Grouping::count)
    }

    /// The number of rules behind filters.
    #[getter]
    fn filtered(&self) -> usize {
        self.grouping.as_ref().map_or(0, Grouping::filtered_count)
    }

    /// The number of patterns that filters and lookups of groups try for a URI that no rule matches: far, near, worst.
    #[getter]
    fn tried(&self) -> (usize, usize, usize) {
        let cost = self.grouping.as_ref().map(Grouping::cost).unwrap_or_default();
        (cost.far, cost.near, cost.worst)
    }

    /// The number of rules that are tried one by one, by reason.
    fn alone(&self) -> Vec<(&'static str, usize)> {
        self.counted(|rule| !self.is_filtered(rule))
    }

    /// Start, end and reason of each rule that stays as it is.
    fn kept(&self) -> Vec<(usize, usize, &'static str)> {
        self.staying().map(|(rule, reason)| (self.spans[rule].start, self.spans[rule].end, reason.code())).collect()
    }

    /// The number of rules that stay as they are, by reason.
    fn reasons(&self) -> Vec<(&'static str, usize)> {
        self.counted(|_| true)
    }

    /// The start and end of each rule that is never the first to match, those of the rule that is, and a string that
    /// both match.
    fn dead(&self) -> Vec<PyDead> {
        let dead = self.fates.iter().enumerate().filter_map(|(rule, fate)| match fate {
            Fate::Dead { by, witness } => {
                let (start, end) = self.place(rule);
                Some((start, end, by.map(|by| self.place(by)), witness.clone()))
            }
            _ => None,
        });
        dead.collect()
    }

    /// As `dead`, for the rules that stay. They are examined only here, because each takes about 50 us.
    fn dead_kept(this: &Bound<'_, Self>) -> PyResult<Vec<PyDead>> {
        let run = this.clone().unbind();
        let dead = working(this.py(), move || {
            let patterns: Vec<&[u8]> = run.get().kept.iter().map(|(_, pattern)| pattern.as_slice()).collect();
            kept::dead(&patterns)
        })?;
        let run = this.get();
        let place = |kept: usize| run.place(run.kept[kept].0);
        let dead = dead.into_iter().map(|dead| {
            let (start, end) = place(dead.rule);
            (start, end, dead.by.map(place), dead.example)
        });
        Ok(dead.collect())
    }

    /// URIs that kept rules match, at most `limit`.
    fn witnesses(&self, limit: usize) -> Vec<Vec<u8>> {
        let step = self.kept.len().div_ceil(limit.max(1)).max(1);
        self.kept.iter().step_by(step).filter_map(|(_, pattern)| kept::shortest(pattern)).collect()
    }

    /// Start and end of each rule that repeats an earlier one, and of the earlier one.
    fn duplicates(&self) -> Vec<(usize, usize, (usize, usize))> {
        let duplicates = self.fates.iter().enumerate().filter_map(|(rule, fate)| match fate {
            Fate::Duplicate { of } => Some((self.spans[rule].start, self.spans[rule].end, self.place(*of))),
            _ => None,
        });
        duplicates.collect()
    }

    /// Start and end of every rule.
    fn spans(&self) -> Vec<(usize, usize)> {
        (0..self.spans.len()).map(|rule| self.place(rule)).collect()
    }

    /// The start and end of the rule before which the compiled form is placed, or of all rules if it also replaces
    /// those that stay.
    fn stands_before(&self) -> (usize, usize) {
        self.place(if self.grouping.is_some() { 0 } else { self.stands_before })
    }

    /// Start and end of the first rule.
    fn first(&self) -> (usize, usize) {
        self.place(0)
    }

    /// The byte ranges to remove from `bytes`: rules that do not stay, with their lines if nothing else is on them.
    fn removed(&self, bytes: &[u8]) -> PyResult<Vec<(usize, usize)>> {
        let mut removed: Vec<(usize, usize)> = Vec::new();
        for (rule, fate) in self.fates.iter().enumerate() {
            if matches!(fate, Fate::Kept(_)) && self.grouping.is_none() {
                continue;
            }
            let span = &self.spans[rule];
            let (start, end) = runs::whole_line(bytes, range(bytes.len(), span.start, span.end)?);
            match removed.last_mut() {
                Some((_, last)) if *last == start => *last = end,
                _ => removed.push((start, end)),
            }
        }
        Ok(removed)
    }

    /// All variables that the text may define, without those of the trees.
    fn variables(&self, names: PyNames) -> Vec<String> {
        let names: Names = names.into();
        let groups = self.grouping.iter().flat_map(|grouping| grouping.variables(&names));
        text::variables(&self.tiers, &names).into_iter().chain(groups).collect()
    }

    /// The statements that replace the removed rules.
    fn statements<'py>(&self, py: Python<'py>, names: PyNames) -> Bound<'py, PyBytes> {
        let names: Names = names.into();
        let staying = self.grouping.as_ref().map(|grouping| grouping.statements(&names, self.is_last));
        let [before, behind] = staying.unwrap_or_default();
        let ends = self.is_last && behind.is_empty() && (self.grouping.is_some() || self.kept.is_empty());
        let text = text::statements(&self.tiers, &names, self.clears, ends);
        PyBytes::new(py, &[before, text, behind].concat())
    }

    /// The maps that look up the groups; empty if there are none.
    fn trees<'py>(&self, py: Python<'py>, names: PyNames) -> Bound<'py, PyBytes> {
        let mut text = Vec::new();
        let names = names.into();
        for map in self.grouping.iter().flat_map(|grouping| grouping.maps(&names)) {
            text.push(b'\n');
            map.write(&mut text);
        }
        PyBytes::new(py, &text)
    }
}

impl CompiledRun {
    /// The keys of the hash tables of the trees.
    pub(super) fn tree_elements(&self) -> impl Iterator<Item = Vec<Element>> {
        let tables = self.grouping.iter().flat_map(Grouping::tables);
        tables.map(|keys| keys.iter().map(|key| Element::new(key)).collect())
    }

    /// The number of rules that stay as they are and pass a test, by reason.
    fn counted(&self, test: impl Fn(usize) -> bool) -> Vec<(&'static str, usize)> {
        let count = |reason| self.staying().filter(|(rule, staying)| *staying == reason && test(*rule)).count();
        Reason::ALL.iter().map(|reason| (reason.code(), count(*reason))).filter(|(_, count)| *count > 0).collect()
    }

    fn is_filtered(&self, rule: usize) -> bool {
        self.grouping.as_ref().is_some_and(|grouping| grouping.filters(rule))
    }

    /// The rules that stay as they are, each with its reason.
    fn staying(&self) -> impl Iterator<Item = (usize, Reason)> {
        let grouping = self.grouping.as_ref();
        self.fates.iter().enumerate().filter_map(move |(rule, fate)| match fate {
            Fate::Kept(_) if grouping.is_some_and(|grouping| grouping.holds(rule)) => None,
            // Others of its kind are in groups.
            Fate::Kept(_) if grouping.is_some_and(|grouping| grouping.may_give_up(rule)) => {
                Some((rule, Reason::Backtracking))
            }
            Fate::Kept(reason) => Some((rule, *reason)),
            _ => None,
        })
    }
}

/// Returns `header`, followed by the maps of runs, each with its names. The text may take hundreds of megabytes, so it
/// is written once, and the runs refer to it from then on.
#[pyfunction]
pub fn maps_text<'py>(
    py: Python<'py>,
    header: &[u8],
    runs: Vec<(Py<CompiledRun>, PyNames)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let maps = runs.iter().flat_map(|(run, names)| text::maps(&run.get().tiers, &names.clone().into()));
    let pieces: Vec<Piece> = std::iter::once(Piece::Text(Cow::Borrowed(header))).chain(maps).collect();
    let lengths: Vec<usize> = pieces.iter().map(|piece| piece.read(<[u8]>::len)).collect();
    let text = PyBytes::new_with(py, lengths.iter().sum(), |mut text| {
        Ok(pieces.iter().try_for_each(|piece| piece.read(|bytes| text.write_all(bytes)))?)
    })?;
    let shared: Text = Arc::new(PyBackedBytes::from(text.clone()));
    let mut start = 0;
    for (piece, length) in pieces.iter().zip(lengths) {
        if let Piece::Lines(lines) = piece {
            lines.move_to(&shared, start..start + length);
        }
        start += length;
    }
    Ok(text)
}
