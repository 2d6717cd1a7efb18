//! [`crate::lexer`] for Python: events in batches, as tuples.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyString};

use crate::border::spans::range;
use crate::lexer::bulk::{FoldedEvent, Folding};
use crate::lexer::{self, Checkpoint, Event, Lexer, Word};

/// The fewest events in a batch, unless the file ends.
const BATCH: usize = 512;

pyo3::create_exception!(
    nginxopt._native,
    LexError,
    pyo3::exceptions::PyException,
    "A file cannot be read: (kind, nginx's message, offset, line, offset of what is unfinished or None)."
);

pub(super) fn error_to_py(py: Python<'_>, error: lexer::LexError) -> PyErr {
    let message = match text_to_py(py, &error.kind.message()) {
        Ok(message) => message.unbind(),
        Err(error) => return error,
    };
    let opened_at = error.kind.opened_at();
    LexError::new_err((error.kind.name(), message, error.offset, error.line, opened_at))
}

/// Text, start, end, line, whether quoted.
type PyWord<'py> = (Bound<'py, PyString>, usize, usize, u32, bool);
/// Kind, start, end, line, count of rewrites in a run, words.
type PyEvent<'py> = (&'static str, usize, usize, u32, usize, Vec<PyWord<'py>>);

/// An iterator over batches of events. It borrows the bytes.
#[pyclass(module = "nginxopt._native")]
pub struct Events {
    bytes: PyBackedBytes,
    end: usize,
    fold: usize,
    /// Where the next batch starts; `None` at the end.
    next: Option<Checkpoint>,
    /// The error that follows the last batch.
    error: Option<lexer::LexError>,
}

#[pymethods]
impl Events {
    #[new]
    #[pyo3(signature = (bytes, *, fold = 0, start = 0, end = None, line = 1))]
    fn new(bytes: PyBackedBytes, fold: usize, start: usize, end: Option<usize>, line: u32) -> Self {
        let end = end.unwrap_or(bytes.len()).min(bytes.len());
        let next = (start <= end).then(|| Checkpoint::at(start, line));
        Self { bytes, end, fold, next, error: None }
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Vec<PyEvent<'py>>>> {
        if let Some(error) = self.error.take() {
            return Err(error_to_py(py, error));
        }
        let Some(from) = self.next.take() else {
            return Ok(None);
        };
        let bytes = &self.bytes[..self.end];
        let (items, next, error) = py.detach(|| read_batch(bytes, self.fold, from));
        self.next = next;
        self.error = error;
        let batch: Vec<_> = items.into_iter().map(|item| event_to_py(py, bytes, item)).collect::<PyResult<_>>()?;
        if batch.is_empty() {
            let error = self.error.take();
            return error.map_or(Ok(None), |error| Err(error_to_py(py, error)));
        }
        Ok(Some(batch))
    }
}

/// The start and end of each statement of a folded run, as 64-bit numbers in native byte order.
#[pyfunction]
pub fn statement_spans<'py>(
    py: Python<'py>,
    bytes: PyBackedBytes,
    start: usize,
    end: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let range = range(bytes.len(), start, end)?;
    let spans = py.detach(|| spans(&bytes[..range.end], range.start));
    Ok(PyBytes::new(py, &spans.map_err(|error| error_to_py(py, error))?))
}

fn spans(bytes: &[u8], start: usize) -> Result<Vec<u8>, lexer::LexError> {
    let mut spans = Vec::new();
    for event in Lexer::resume(bytes, Checkpoint::at(start, 1)) {
        if let Event::Statement { words, end } = event? {
            spans.extend([words[0].start, end].iter().flat_map(|offset| (*offset as u64).to_ne_bytes()));
        }
    }
    Ok(spans)
}

type Batch<'a> = (Vec<FoldedEvent<'a>>, Option<Checkpoint>, Option<lexer::LexError>);

/// Returns the items from a checkpoint on, the next checkpoint unless the file ends, and the error at which reading
/// ends.
fn read_batch(bytes: &[u8], fold: usize, from: Checkpoint) -> Batch<'_> {
    let mut folding = Folding::new(bytes, fold, from);
    let mut items = Vec::with_capacity(BATCH);
    while let Some(item) = folding.next() {
        match item {
            Ok(item) => items.push(item),
            Err(error) => return (items, None, Some(error)),
        }
        if items.len() >= BATCH && folding.is_between() {
            return (items, Some(folding.into_checkpoint()), None);
        }
    }
    (items, None, None)
}

fn event_to_py<'py>(py: Python<'py>, bytes: &[u8], item: FoldedEvent<'_>) -> PyResult<PyEvent<'py>> {
    let words_to_py =
        |words: Vec<Word<'_>>| words.into_iter().map(|word| word_to_py(py, word)).collect::<PyResult<_>>();
    Ok(match item {
        FoldedEvent::Event(Event::Statement { words, end }) => {
            (";", words[0].start, end, words[0].line, 0, words_to_py(words)?)
        }
        FoldedEvent::Event(Event::Open { words, end }) => {
            ("{", words[0].start, end, words[0].line, 0, words_to_py(words)?)
        }
        FoldedEvent::Event(Event::Close { start, line }) => ("}", start, start + 1, line, 0, Vec::new()),
        FoldedEvent::Event(Event::Comment { start, end, line }) => {
            let value = Cow::Borrowed(&bytes[start..end]);
            let word = Word { start, end, line, quoted: false, value };
            ("#", start, end, line, 0, vec![word_to_py(py, word)?])
        }
        FoldedEvent::Bulk(bulk) => ("*", bulk.start, bulk.end, bulk.line, bulk.count, Vec::new()),
    })
}

fn word_to_py<'py>(py: Python<'py>, word: Word<'_>) -> PyResult<PyWord<'py>> {
    Ok((text_to_py(py, &word.value)?, word.start, word.end, word.line, word.quoted))
}

/// Decodes UTF-8 with `surrogateescape`, so that any bytes survive.
pub(super) fn text_to_py<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text)),
        Err(_) => {
            let bytes = PyBytes::new(py, bytes);
            PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogateescape"))
        }
    }
}
