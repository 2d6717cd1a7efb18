//! Counts the memory that each thread takes, so that work can be ended before it takes too much.
//!
//! Every allocation of the crate passes here, so no structure has to be counted by itself. An allocation cannot fail
//! halfway through a piece of work, nor unwind: [`super::spend`] looks at the count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes taken and not given back since the last [`taken`].
    static TAKEN: Cell<i64> = const { Cell::new(0) };
}

/// Notes memory that another allocator gave, as PCRE2 does for patterns; negative if it was given back.
pub fn note(bytes: i64) {
    TAKEN.with(|taken| taken.set(taken.get().wrapping_add(bytes)));
}

/// What this thread took since the last time, if that is `much` or more, less what it gave back.
pub(super) fn taken(much: i64) -> i64 {
    TAKEN.with(|taken| if taken.get().abs() >= much { taken.replace(0) } else { 0 })
}

/// The allocator of the system, counted.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A size, which never exceeds `isize::MAX` (`Layout`).
fn signed(size: usize) -> i64 {
    size as i64
}

// SAFETY: every call is one of the system's allocator with the same arguments; counting neither allocates nor unwinds,
// as the count has no destructor that would have to be registered.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(signed(layout.size()));
        // SAFETY: the caller keeps the contract of the same function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(signed(layout.size()));
        // SAFETY: the caller keeps the contract of the same function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-signed(layout.size()));
        // SAFETY: the caller keeps the contract of the same function.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(signed(size) - signed(layout.size()));
        // SAFETY: the caller keeps the contract of the same function.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
