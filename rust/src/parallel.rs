//! Runs independent work on all processors.

use std::num::NonZero;
use std::ops::Range;
use std::sync::mpsc;
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::work::{self, memory};

/// Below this many items, a thread costs more than it saves.
const LEAST: usize = 512;

/// Splits `0..count` into one range for each processor, runs `work` on them in parallel, and returns the results in
/// order.
///
/// Panics if `work` does.
pub fn ranges<R: Send>(count: usize, work: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    if count < 2 * LEAST {
        return vec![work(0..count)]; // to count the processors takes longer: it reads files
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let parts = processors.min(count / LEAST);
    let size = count.div_ceil(parts).max(1);
    let bounds = |part: usize| part * size..((part + 1) * size).min(count);
    if parts == 1 {
        return vec![work(0..count)];
    }
    let work = &counted(work);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..parts).map(|part| started(scope, move || work(bounds(part)))).collect();
        threads.into_iter().map(|thread| work::joined(thread.join())).collect()
    })
}

/// Returns the results of `of` for each of `0..count`, in order, computed on all processors.
pub fn collect<R: Send>(count: usize, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let parts = ranges(count, |part| part.map(&of).collect::<Vec<R>>()).into_iter();
    let joined = parts.reduce(|mut all, part| {
        all.extend(part);
        all
    });
    joined.unwrap_or_default()
}

/// How many items [`ahead`] prepares at a time, and how many prepared blocks may wait.
const BLOCK: usize = 4_096;
const WAITING: usize = 4;

/// Splits `0..count` into blocks, and calls `take` for each, in order, with the result of `prepare` for the block. If
/// there are several blocks, `prepare` runs on another processor.
///
/// Panics if `prepare` does.
pub fn ahead<T: Send>(count: usize, prepare: impl Fn(Range<usize>) -> T + Send, mut take: impl FnMut(Range<usize>, T)) {
    let mut blocks = (0..count).step_by(BLOCK).map(|start| start..count.min(start + BLOCK));
    if count <= BLOCK {
        return blocks.for_each(|block| take(block.clone(), prepare(block)));
    }
    thread::scope(|scope| {
        let (ready, prepared) = mpsc::sync_channel(WAITING);
        let prepare = counted(prepare);
        // The thread ends early if `take` panics.
        let thread = started(scope, move || blocks.all(|block| ready.send((block.clone(), prepare(block))).is_ok()));
        prepared.into_iter().for_each(|(block, prepared)| take(block, prepared));
        work::joined(thread.join());
    });
}

/// Runs two pieces of work on `count` items: in parallel if these are many enough.
pub fn both_of<A: Send, B>(count: usize, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if count < LEAST { (first(), second()) } else { both(first, second) }
}

/// Runs two pieces of work in parallel.
pub fn both<A: Send, B>(first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let count = work::current();
        let thread = started(scope, move || work::shared(count, first));
        let second = second();
        (work::joined(thread.join()), second)
    })
}

/// A thread of the scope. Panics if the system gives none, as a thread takes memory.
fn started<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> R + Send + 'scope,
) -> ScopedJoinHandle<'scope, R> {
    thread::Builder::new().spawn_scoped(scope, work).unwrap_or_else(|_| panic!("{}", memory::LACKING))
}

/// Work whose steps count for the thread that hands it on.
fn counted<A, R>(work: impl Fn(A) -> R) -> impl Fn(A) -> R {
    let count = work::current();
    move |argument| work::shared(count.clone(), || work(argument))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every index is worked on once, and results keep their order.
    #[test]
    fn covers_everything_in_order() {
        for count in [0, 1, LEAST - 1, 3 * LEAST + 7] {
            let all: Vec<usize> = ranges(count, |range| range.collect::<Vec<_>>()).concat();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
        for count in [0, 1, BLOCK, (2 * WAITING + 1) * BLOCK + 7] {
            let mut all = Vec::new();
            ahead(
                count,
                |block| block.collect::<Vec<_>>(),
                |block, prepared| {
                    assert_eq!(block.collect::<Vec<_>>(), prepared);
                    all.extend(prepared);
                },
            );
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
        assert_eq!(both(|| 1, || "two"), (1, "two"));
        assert_eq!([both_of(1, || 1, || 2), both_of(LEAST, || 1, || 2)], [(1, 2); 2]);
    }
}
