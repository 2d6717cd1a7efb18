//! Counts the memory that each thread takes, so that work can be ended before it takes too much.
//!
//! Every allocation of the crate passes here, so no structure has to be counted by itself. An allocation cannot fail
//! halfway through a piece of work, nor unwind: [`super::spend`] looks at the count.
//!
//! Where the system gives no more memory, as under `ulimit -v`, a reserve is given back, and work ends at its next step.
//! Where that does not suffice, the process ends by [`at_the_end`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;

/// What panics say where memory is lacking.
pub const LACKING: &str = "memory allocation failed";

/// Addresses that nothing uses, and so no memory. glibc takes as many for the heap of a thread.
const RESERVE: Layout = Layout::new::<[u8; 32 << 20]>();

static RESERVED: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

/// Whether the reserve was given back since [`reserve`].
static IS_LACKING: AtomicBool = AtomicBool::new(false);

/// How often another thread is waited for that gives the reserve back.
const TRIES: u32 = 100;

/// What ends the process, in place of Rust's message and SIGABRT.
static AT_THE_END: OnceLock<fn() -> !> = OnceLock::new();

/// Has `end` end the process where an allocation fails. It must not allocate.
pub fn at_the_end(end: fn() -> !) {
    _ = AT_THE_END.set(end);
}

/// Takes a reserve, if there is none and the system gives one; from now on, nothing is lacking.
pub fn reserve() {
    IS_LACKING.store(false, Ordering::Relaxed);
    if RESERVED.load(Ordering::Relaxed).is_null() {
        // SAFETY: the size is not 0.
        give_back(RESERVED.swap(unsafe { System.alloc(RESERVE) }, Ordering::AcqRel));
    }
}

/// Gives the reserve back, if there is one.
pub fn release() -> bool {
    give_back(RESERVED.swap(ptr::null_mut(), Ordering::AcqRel))
}

/// Whether work must end, as it took all memory but the reserve.
pub(super) fn is_lacking() -> bool {
    IS_LACKING.load(Ordering::Relaxed)
}

/// Gives a reserve back to the system, and returns whether it is one.
fn give_back(reserved: *mut u8) -> bool {
    if !reserved.is_null() {
        // SAFETY: it came from the same allocator with the same layout, and whoever has it took it from the static.
        unsafe { System.dealloc(reserved, RESERVE) };
    }
    !reserved.is_null()
}

/// What `allocate` gives; without the reserve if the system has no more, and otherwise the process ends.
fn surely(allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let mut given = allocate();
    let mut tries = 0;
    while given.is_null() {
        IS_LACKING.store(true, Ordering::Relaxed);
        if !release() {
            tries += 1;
            if tries > TRIES {
                return AT_THE_END.get().map_or(given, |end| end());
            }
            thread::yield_now();
        }
        given = allocate();
    }
    given
}

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
        surely(|| unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(signed(layout.size()));
        // SAFETY: the caller keeps the contract of the same function.
        surely(|| unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-signed(layout.size()));
        // SAFETY: the caller keeps the contract of the same function.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(signed(size) - signed(layout.size()));
        // SAFETY: the caller keeps the contract of the same function. Where that fails, the block stays what it was.
        surely(|| unsafe { System.realloc(pointer, layout, size) })
    }
}
