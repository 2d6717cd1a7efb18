//! Ends the process after a signal, however long Python takes to run its handler.
//!
//! Python runs handlers between its own instructions: not while it frees or sorts millions of objects, nor while
//! a library works. A thread that needs nothing of Python waits for the signal instead.

use std::io::Read;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// How long Python has to end the process in order, which says why and what is left.
const PATIENCE: Duration = Duration::from_millis(700);

/// How often it is looked whether the process may end.
const INTERVAL: Duration = Duration::from_millis(20);

/// The blocks that must end in order, as they would leave a file or a process behind.
static ORDERLY: AtomicIsize = AtomicIsize::new(0);

/// Ends the process with status `128 + n` soon after it gets SIGINT or SIGTERM, `n`. Returns the descriptor to which
/// Python is to write the number of each signal (`signal.set_wakeup_fd`).
#[pyfunction]
pub fn watch_signals() -> PyResult<i32> {
    let (mut signals, wakeup) = UnixStream::pair()?;
    wakeup.set_nonblocking(true)?;
    thread::Builder::new().name("nginxopt-signals".to_owned()).spawn(move || {
        let mut number = [0];
        while signals.read_exact(&mut number).is_ok() {
            let number = i32::from(number[0]);
            if [libc::SIGINT, libc::SIGTERM].contains(&number) {
                end(number);
            }
        }
    })?;
    Ok(wakeup.into_raw_fd())
}

fn end(number: i32) -> ! {
    thread::sleep(PATIENCE);
    while ORDERLY.load(Ordering::SeqCst) > 0 {
        thread::sleep(INTERVAL);
    }
    // SAFETY: it ends the process without running anything in it.
    unsafe { libc::_exit(128 + number) }
}

/// Counts a block that must end in order: 1 where it begins, -1 where it ends.
#[pyfunction]
pub fn count_orderly(blocks: isize) {
    ORDERLY.fetch_add(blocks, Ordering::SeqCst);
}
