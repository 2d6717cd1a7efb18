//! Decides which freed memory the process keeps, and what becomes of it without any.

use pyo3::prelude::*;

use crate::work::memory;

/// As Python code prints it (`nginxopt.budget.out_of_memory`).
const SAID: &[u8] = b"too large: it takes more memory than there is\n";
const STATUS: i32 = 3;

/// Makes glibc return each block of 4 MB or more to the system when it is freed.
///
/// Otherwise glibc keeps blocks that are not larger than the largest block freed so far, up to 32 MB (`mallopt(3)`).
/// With a million rules, these are 85 of 750 MB. With a threshold of 1 MB, maps of some thousand rows would take a
/// twentieth longer.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets a number of the allocator, under its lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
    }
}

/// Has the process end by [`end_lacking`] where an allocation fails, and keeps a reserve against that.
pub fn end_without_memory() {
    memory::at_the_end(end);
    memory::reserve();
}

fn end() -> ! {
    // SAFETY: it writes a constant, and ends the process without running anything in it. Each file that is written is
    // written beside its place and then moved there, so none is left cut off.
    unsafe {
        libc::write(libc::STDERR_FILENO, SAID.as_ptr().cast(), SAID.len());
        libc::_exit(STATUS)
    }
}

/// Ends the process with the message and the status for a lack of memory, without any.
#[pyfunction]
pub fn end_lacking() {
    end()
}

/// Takes a reserve of memory if there is none, and forgets that memory was lacking: what took it is over.
#[pyfunction]
pub fn reserve_memory() {
    memory::reserve();
}

/// Gives the reserve back, so that what is lacking memory can be told.
#[pyfunction]
pub fn release_memory() {
    memory::release();
}
