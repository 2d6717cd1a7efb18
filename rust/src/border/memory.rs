//! How the process keeps memory that it no longer uses.

/// Makes glibc give each block of 4 MB or more back to the system when it is freed.
///
/// Otherwise it keeps what is not larger than the largest block freed so far, up to 32 MB (`mallopt(3)`): with a
/// million rules, 85 MB of 750. From 1 MB on, maps of some thousand rows would take a twentieth longer.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it sets a number of the allocator, under its lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
    }
}
