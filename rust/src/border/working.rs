//! Runs work that may take long on a thread of its own, so that the calling thread can look for signals.
//!
//! Python runs the handlers of signals only between its own instructions. So while native code works, Ctrl-C and SIGTERM
//! would have no effect, however long it takes.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyType};

use crate::work::{self, Abandoned};

/// How often the calling thread looks for signals.
const INTERVAL: Duration = Duration::from_millis(20);

/// The stack of the thread, as large as that of a main thread usually is, or larger; only what is used takes memory.
const STACK: usize = 64 << 20;

/// Where the code panicked first, since [`panic_place`] was asked last.
static PLACE: Mutex<Option<String>> = Mutex::new(None);

/// Runs `work` and returns its result, or the exception that the handler of a signal raises in the meantime.
///
/// After an exception, the work ends at its next step, in the background, so it owns all that it uses. An exception is
/// also one that another thread sets for this one (`PyThreadState_SetAsyncExc`).
/// Starting the thread takes some 20 us, so calls of microseconds do without ([`working_if`]).
pub fn working<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (done, mut result) = mpsc::sync_channel(1);
    let waiting = Waiting::default();
    let abandoned = waiting.0.clone();
    let run = move || {
        let result = panic::catch_unwind(AssertUnwindSafe(|| work::until(abandoned, work)));
        if let Some(result) = result.transpose() {
            _ = done.send(result); // nobody waits after an exception
        }
    };
    let thread = thread::Builder::new().name("nginxopt-work".to_owned()).stack_size(STACK);
    thread.spawn(run).map_err(|error| PyMemoryError::new_err(format!("cannot start a thread: {error}")))?;
    loop {
        let (receiver, received) = py.detach(move || {
            let received = result.recv_timeout(INTERVAL);
            (result, received)
        });
        match received {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(panic)) => panic::resume_unwind(panic),
            Err(RecvTimeoutError::Timeout) => look_around(py)?,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the thread sends a result, even if the work panics"),
        }
        result = receiver;
    }
}

/// Abandons work when nobody waits for it any more.
#[derive(Default)]
struct Waiting(Abandoned);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// Raises what a handler of a signal raises, or what [`interrupt`] has for this thread.
fn look_around(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    py.eval(c"None", None, None).map(drop) // Python looks for exceptions from elsewhere before it runs anything
}

/// Has `exception`, a class, be raised in the thread `thread` soon, if `is_wanted` has an item.
///
/// No Python code runs between the look at the list and the order.
#[pyfunction]
pub fn interrupt(thread: std::ffi::c_ulong, exception: &Bound<'_, PyType>, is_wanted: &Bound<'_, PyList>) -> bool {
    // SAFETY: this thread is attached to Python, which takes a reference of its own to the class.
    !is_wanted.is_empty() && unsafe { ffi::PyThreadState_SetAsyncExc(thread.cast_signed(), exception.as_ptr()) > 0 }
}

/// As [`working`] if the input is large, otherwise on this thread.
pub fn working_if<T: Send + 'static>(
    py: Python<'_>,
    is_large: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if is_large { working(py, work) } else { Ok(py.detach(work)) }
}

/// Keeps the place of a panic for the report of it, instead of printing a message that no format of output has.
pub fn note_panics() {
    panic::set_hook(Box::new(|panic| {
        if let (Some(place), Ok(mut first)) = (panic.location(), PLACE.lock()) {
            first.get_or_insert_with(|| format!("{}:{}", place.file(), place.line()));
        }
    }));
}

/// Where the code panicked first since the last call: `src/maps/chunk.rs:46`. `None` if it did not.
#[pyfunction]
pub fn panic_place() -> Option<String> {
    PLACE.lock().ok()?.take()
}

/// Works until nobody waits for it, or panics with a message: for tests of what becomes of such work.
#[pyfunction]
#[pyo3(signature = (panics = None))]
pub fn work_forever(py: Python<'_>, panics: Option<String>) -> PyResult<()> {
    working(py, move || match panics {
        Some(message) => panic::panic_any(message),
        None => loop {
            work::spend(0);
        },
    })
}
