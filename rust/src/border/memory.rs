//! Decides which freed memory the process keeps.

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
