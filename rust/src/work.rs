//! Counts the work of planning and proving, and ends it where it exceeds what a list of its size may take.
//!
//! A *step* takes about 10 to 100 ns. Loops whose rounds are not bounded by the input spend steps ([`spend`]). The bound
//! is in proportion to the input ([`bound`]), so that no list takes much longer per row than others: it stays as it is,
//! with a reason. The number of steps depends only on the input, so that a list that stays does so on every machine.
//!
//! Work ends by unwinding to [`within`], as the code in between has nothing to clean up and nothing to answer. No panic
//! hook runs. [`crate::parallel`] hands the count to its threads, and their end back.
//!
//! [`cancel`] ends all work at its next step.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Why work ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It took more steps than it may.
    Exceeded,
    /// Somebody asked to [`cancel`] it.
    Cancelled,
}

/// How much work may be done for an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// For a result.
    #[default]
    Full,
    /// For a remark about the input.
    Small,
}

/// The steps that any input may take, and those for each byte of it and each bit of its length.
const LEAST: u64 = 20_000_000;
const PER_BYTE: u64 = 40;

/// The share of the steps that a remark may take.
const SMALL: u64 = 8;

/// The most steps for an input of so many bytes: n log n.
pub fn bound(bytes: usize, effort: Effort) -> u64 {
    let bits = u64::from((bytes | 1).ilog2());
    let full = LEAST.saturating_add((bytes as u64).saturating_mul(PER_BYTE * bits));
    match effort {
        Effort::Full => full,
        Effort::Small => full / SMALL,
    }
}

/// The count of steps that a piece of work and its threads share.
pub struct Count {
    spent: AtomicU64,
    most: u64,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Count>>> = const { RefCell::new(None) };
}

static CANCELLED: AtomicBool = AtomicBool::new(false);

/// Ends all work that is being done, or will be, at its next step, until `resume`.
pub fn cancel() {
    CANCELLED.store(true, Ordering::Relaxed);
}

/// Allows work again.
pub fn resume() {
    CANCELLED.store(false, Ordering::Relaxed);
}

/// Whether work is to end.
pub fn cancelled() -> bool {
    CANCELLED.load(Ordering::Relaxed)
}

/// Does work in at most `most` steps, and returns its result with the steps that it took. Work inside other work has its
/// own bound, and its steps count for the other as well.
///
/// Panics if the work does.
pub fn within<R>(most: u64, work: impl FnOnce() -> R) -> Result<(R, u64), Stop> {
    let count = Arc::new(Count { spent: AtomicU64::new(0), most });
    let outer = CURRENT.replace(Some(count.clone()));
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CURRENT.set(outer);
    let spent = count.spent.load(Ordering::Relaxed);
    spend(spent.try_into().unwrap_or(usize::MAX));
    match result {
        Ok(result) => Ok((result, spent)),
        Err(payload) => Err(*payload.downcast::<Stop>().unwrap_or_else(|payload| panic::resume_unwind(payload))),
    }
}

/// Counts steps. Ends the work if they are too many, or if it is cancelled. Outside [`within`], nothing is counted.
pub fn spend(steps: usize) {
    CURRENT.with_borrow(|count| {
        let Some(count) = count else { return };
        let before = count.spent.fetch_add(steps as u64, Ordering::Relaxed);
        if before.saturating_add(steps as u64) > count.most {
            stop(Stop::Exceeded);
        }
        if cancelled() {
            stop(Stop::Cancelled);
        }
    });
}

fn stop(why: Stop) -> ! {
    panic::resume_unwind(Box::new(why))
}

/// The count of this thread, for [`Count::share`].
pub fn current() -> Option<Arc<Count>> {
    CURRENT.with_borrow(Clone::clone)
}

impl Count {
    /// Counts the steps of this thread with those of another one.
    pub fn share(count: Option<Arc<Count>>) {
        CURRENT.set(count);
    }
}

/// The result of a thread. Unwinds as the thread did, if it did.
pub fn joined<R>(result: Result<R, Box<dyn Any + Send>>) -> R {
    result.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel;

    /// Work ends at the step that exceeds its bound, whichever thread takes it, and inner work counts for the outer.
    #[test]
    fn bounded() {
        assert_eq!(within(10, || spend(10)), Ok(((), 10)));
        assert_eq!(within(9, || spend(10)), Err(Stop::Exceeded));
        assert_eq!(within(9, || within(100, || spend(10)).is_ok()), Err(Stop::Exceeded));
        assert_eq!(within(100, || within(9, || spend(10)).is_ok()), Ok((false, 10)));
        let threads = |most| within(most, || parallel::collect(5_000, |_| spend(1)).len());
        assert_eq!((threads(5_000), threads(4_999)), (Ok((5_000, 5_000)), Err(Stop::Exceeded)));
        assert_eq!(within(1, || parallel::both(|| spend(1), || spend(1))), Err(Stop::Exceeded));
        spend(usize::MAX);
    }

    /// The bound is in proportion to n log n, and a remark gets a part of it.
    #[test]
    fn proportion() {
        let (small, large) = (bound(1_000, Effort::Full), bound(1_000_000, Effort::Full));
        assert!(small < large && large < 3_000 * small && bound(0, Effort::Full) == LEAST);
        assert_eq!(bound(1_000, Effort::Small), small / SMALL);
        assert!(bound(usize::MAX, Effort::Full) > large);
    }

    /// Another panic is no end of work.
    #[test]
    #[should_panic(expected = "a fault")]
    fn panics() {
        _ = within(10, || panic!("a fault"));
    }
}
