//! Counts the work of planning and proving, and ends it where it exceeds what a list of its size may take.
//!
//! Loops whose rounds are not bounded by the input spend steps ([`spend`]). The bound is in proportion to the input
//! ([`bound`]), so that no list takes much longer per row than others: it stays as it is, with a reason. The number of
//! steps depends only on the input, so that a list that stays does so on every machine.
//!
//! The memory that work holds is counted as well ([`memory`]), and looked at with each step. What threads hold between
//! two steps may exceed the bound by half.
//!
//! # The constants
//!
//! `python -m benchmarks.work` prints what lists take. Of lists drawn like real ones, and of public lists of redirects,
//! of 1,000 to 50,000 rows, a plan takes 60 to 820 steps a row, a proof 70 to 340: at most a fourteenth of the bound. A
//! few small lists take up to 3,200 steps a row, a third of it. There, a step takes 100 to 1,150 ns, as most of the
//! time goes by between steps; in the loops in which lists exceed the bound, it takes 40 to 150 ns. So a list is given
//! up after a second, and some 15 s for each MB of it: three to ten times what an ordinary list of its size takes. A
//! remark gets half, which suffices for all these lists.
//!
//! Plan and proof of a large list hold 15 to 30 bytes for each byte of it, of a small one up to 170. Rows with repeated
//! groups such as `(ab|c[de]){0,200}` would hold 700.
//!
//! Work ends by unwinding to [`within`], as the code in between has nothing to clean up and nothing to answer. No panic
//! hook runs. [`crate::parallel`] hands the count to its threads, and their end back.
//!
//! Each piece of work has a flag ([`Abandoned`]) that ends it, and nothing else, at its next step.

pub mod memory;

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;

/// Work took more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded;

/// What ends work for which nobody waits any more. It passes all [`within`].
struct Left;

/// How much work may be done for an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// For a result.
    #[default]
    Full,
    /// For a remark about the input.
    Small,
}

/// The most that work may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub steps: u64,
    /// Held at the same time.
    pub bytes: u64,
}

impl From<u64> for Bound {
    fn from(steps: u64) -> Bound {
        Bound { steps, bytes: u64::MAX }
    }
}

impl Bound {
    /// A part of the bound, or a multiple of it.
    pub fn times(self, share: f64) -> Bound {
        let times = |amount: u64| (amount as f64 * share) as u64;
        Bound { steps: times(self.steps), bytes: times(self.bytes) }
    }
}

/// The steps that any input may take, and those for each byte of it and each bit of its length.
const LEAST: u64 = 10_000_000;
const PER_BYTE: u64 = 8;

/// The bytes that may be held for any input, and those for each byte of it.
const LEAST_HELD: u64 = 64 << 20;
const HELD_PER_BYTE: u64 = 200;

/// The share of the steps that a remark may take.
const SMALL: u64 = 2;

/// The most for an input of so many bytes: n log n steps, and memory in proportion.
pub fn bound(bytes: usize, effort: Effort) -> Bound {
    let (length, bits) = (bytes as u64, u64::from((bytes | 1).ilog2()));
    let full = LEAST.saturating_add(length.saturating_mul(PER_BYTE * bits));
    let steps = match effort {
        Effort::Full => full,
        Effort::Small => full / SMALL,
    };
    Bound { steps, bytes: LEAST_HELD.saturating_add(length.saturating_mul(HELD_PER_BYTE)) }
}

/// Whether nobody waits for a piece of work any more.
#[derive(Clone, Default)]
pub struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Ends the work at its next step.
    pub fn abandon(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The count of a piece of work, which its threads share.
pub struct Count {
    spent: AtomicU64,
    held: AtomicI64,
    /// The most that was held so far.
    peak: AtomicI64,
    most: Bound,
    abandoned: Abandoned,
}

impl Count {
    fn new(most: Bound, abandoned: Abandoned) -> Arc<Count> {
        Arc::new(Count { spent: AtomicU64::new(0), held: AtomicI64::new(0), peak: AtomicI64::new(0), most, abandoned })
    }
}

/// The steps of all work within bounds, and the most that one piece of it held, since [`done`] was asked last.
static STEPS: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// The steps of all work of the process within bounds, and the most bytes that one piece held, since the last call.
pub fn done() -> (u64, i64) {
    (STEPS.swap(0, Ordering::Relaxed), PEAK.swap(0, Ordering::Relaxed))
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Count>>> = const { RefCell::new(None) };
}

/// Does work until it is `abandoned`; `None` if it was. The flag is that of all work in it.
///
/// Panics if the work does.
pub fn until<R>(abandoned: Abandoned, work: impl FnOnce() -> R) -> Option<R> {
    let count = Count::new(Bound::from(u64::MAX), abandoned);
    match counted(count, work) {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Left>() => None,
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// Does work in at most `most`, and returns its result with the steps that it took. Work inside other work has its own
/// bound, and its steps and what it holds count for the other as well.
///
/// Panics if the work does.
pub fn within<R>(most: impl Into<Bound>, work: impl FnOnce() -> R) -> Result<(R, u64), Exceeded> {
    let abandoned = current().map(|outer| outer.abandoned.clone()).unwrap_or_default();
    let count = Count::new(most.into(), abandoned);
    let result = counted(count.clone(), work);
    let (spent, held) = (count.spent.load(Ordering::Relaxed), count.held.load(Ordering::Relaxed));
    memory::note(held);
    STEPS.fetch_add(spent, Ordering::Relaxed);
    PEAK.fetch_max(count.peak.load(Ordering::Relaxed), Ordering::Relaxed);
    match result {
        Ok(result) => {
            spend(spent.try_into().unwrap_or(usize::MAX));
            Ok((result, spent))
        }
        Err(payload) if payload.is::<Exceeded>() => {
            spend(spent.try_into().unwrap_or(usize::MAX));
            Err(Exceeded)
        }
        Err(payload) => panic::resume_unwind(payload),
    }
}

/// Does work that may be in vain in at most half of what is left of the work around it; `None` if that does not suffice.
///
/// Panics if the work does.
pub fn attempt<R>(work: impl FnOnce() -> R) -> Option<R> {
    let Some(count) = current() else { return Some(work()) };
    settle();
    let held = u64::try_from(count.held.load(Ordering::Relaxed)).unwrap_or(0);
    let steps = count.most.steps.saturating_sub(count.spent.load(Ordering::Relaxed)) / 2;
    let most = Bound { steps, bytes: count.most.bytes.saturating_sub(held) / 2 };
    within(most, work).ok().map(|(result, _)| result)
}

fn counted<R>(count: Arc<Count>, work: impl FnOnce() -> R) -> thread::Result<R> {
    settle();
    let outer = CURRENT.replace(Some(count));
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    settle();
    CURRENT.set(outer);
    result
}

/// Counts steps, and what is held by now. Ends the work if either is too much, nobody waits for it any more, or memory
/// is lacking. Outside of [`within`] and [`until`], nothing is counted.
pub fn spend(steps: usize) {
    CURRENT.with_borrow(|count| {
        let Some(count) = count else { return };
        let steps = steps as u64;
        let spent = count.spent.fetch_add(steps, Ordering::Relaxed).saturating_add(steps);
        let held = count.hold(memory::taken(MUCH));
        if count.abandoned.0.load(Ordering::Relaxed) {
            panic::resume_unwind(Box::new(Left));
        }
        if memory::is_lacking() {
            panic::resume_unwind(Box::new(memory::LACKING));
        }
        if spent > count.most.steps || held > count.most.bytes {
            panic::resume_unwind(Box::new(Exceeded));
        }
    });
}

/// Smaller changes of what a thread holds wait until they add up.
const MUCH: i64 = 1 << 16;

impl Count {
    /// Adds to what is held, and returns it.
    fn hold(&self, bytes: i64) -> u64 {
        if bytes == 0 {
            return u64::try_from(self.held.load(Ordering::Relaxed)).unwrap_or(0);
        }
        let held = self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.peak.fetch_max(held, Ordering::Relaxed);
        u64::try_from(held).unwrap_or(0) // what others took and this work gave back
    }
}

/// Adds what this thread has taken since the last time to what its work holds.
fn settle() {
    let taken = memory::taken(0);
    CURRENT.with_borrow(|count| count.as_ref().map(|count| count.hold(taken)));
}

/// The count of this thread, for [`shared`].
pub fn current() -> Option<Arc<Count>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Does work on another thread that counts with that of the thread whose count it gets.
pub fn shared<R>(count: Option<Arc<Count>>, work: impl FnOnce() -> R) -> R {
    memory::taken(0);
    CURRENT.set(count);
    let result = work();
    settle();
    result
}

/// The result of a thread. Unwinds as the thread did, if it did.
pub fn joined<R>(result: thread::Result<R>) -> R {
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
        assert_eq!(within(9, || spend(10)), Err(Exceeded));
        assert_eq!(within(9, || within(100, || spend(10)).is_ok()), Err(Exceeded));
        assert_eq!(within(100, || within(9, || spend(10)).is_ok()), Ok((false, 10)));
        let threads = |most| within(most, || parallel::collect(5_000, |_| spend(1)).len());
        assert_eq!((threads(5_000), threads(4_999)), (Ok((5_000, 5_000)), Err(Exceeded)));
        assert_eq!(within(1, || parallel::both(|| spend(1), || spend(1))), Err(Exceeded));
        spend(usize::MAX);
    }

    /// An attempt takes half of what is left, and the work around it goes on.
    #[test]
    fn attempted() {
        assert_eq!(attempt(|| spend(usize::MAX)), Some(()));
        let around = |steps| within(100, || (spend(20), attempt(|| spend(steps)).is_some(), spend(30)).1);
        assert_eq!((around(40), around(41)), (Ok((true, 90)), Ok((false, 91))));
    }

    /// Memory that is held counts at the next step, whichever thread takes it, and no longer when it is freed. What
    /// inner work leaves behind counts for the outer.
    #[test]
    fn held() {
        let most = Bound { steps: 1_000_000, bytes: 10 << 20 };
        let take = |megabytes: usize| {
            let taken = vec![1u8; megabytes << 20];
            spend(1);
            taken
        };
        assert!(within(most, || (0..100).map(|_| take(9).len()).sum::<usize>()).is_ok());
        assert_eq!(within(most, || take(11).len()), Err(Exceeded));
        assert_eq!(within(most, || [take(6), take(6)].len()), Err(Exceeded));
        assert!(within(most, || within(most, || take(9)).is_ok()).is_ok());
        assert_eq!(within(most, || [within(most, || take(6)), Ok((take(6), 0))].len()), Err(Exceeded));
        assert!(within(most, || within(most, || take(11)).is_err()).is_ok());
        let threads = |bytes: usize| {
            within(most, || {
                parallel::collect(5_000, |_| {
                    spend(1);
                    vec![1u8; bytes]
                })
                .len()
            })
        };
        assert!(threads(100).is_ok() && threads(4 << 10).is_err());
    }

    /// A flag ends its work, however deep inside, in all of its threads; other work goes on.
    #[test]
    fn abandoned() {
        let forever = || {
            within(u64::MAX, || {
                within(u64::MAX, || {
                    parallel::collect(5_000, |_| {
                        loop {
                            spend(0)
                        }
                    })
                    .len()
                })
            })
        };
        let flag = Abandoned::default();
        std::thread::scope(|scope| {
            let work = scope.spawn(|| until(flag.clone(), forever));
            let other = scope.spawn(|| until(Abandoned::default(), || (0..1_000_000).for_each(|_| spend(1))));
            flag.abandon();
            assert!(work.join().expect("no panic").is_none());
            assert_eq!(other.join().expect("no panic"), Some(()));
        });
        assert_eq!(until(flag, || within(9, || spend(0))), None);
        assert_eq!(until(Abandoned::default(), || within(9, || spend(10))), Some(Err(Exceeded)));
    }

    /// The bound is in proportion to n log n, that of memory to n, and a remark gets a part of the steps.
    #[test]
    fn proportion() {
        let (small, large) = (bound(1_000, Effort::Full), bound(1_000_000, Effort::Full));
        assert!(small.steps < large.steps && large.steps < 3_000 * small.steps);
        assert!(small.bytes < large.bytes && large.bytes < 1_000 * small.bytes);
        assert_eq!(bound(0, Effort::Full).steps, LEAST);
        assert_eq!(bound(1_000, Effort::Small).steps, small.steps / SMALL);
        assert!(bound(usize::MAX, Effort::Full).steps > large.steps);
        assert_eq!(Bound { steps: 10, bytes: 100 }.times(0.5), Bound { steps: 5, bytes: 50 });
        assert_eq!(bound(0, Effort::Full).times(f64::INFINITY), Bound::from(u64::MAX));
    }

    /// Another panic is no end of work.
    #[test]
    #[should_panic(expected = "a fault")]
    fn panics() {
        _ = until(Abandoned::default(), || within(10, || panic!("a fault")));
    }
}
