//! Cancelling work, in a process of its own: it concerns all work of a process.

use nginxopt_native::parallel;
use nginxopt_native::work::{self, Stop, cancel, cancelled, resume, spend, within};

/// All work ends at its next step, in all threads, and can be done again afterwards.
#[test]
fn cancelled_work() {
    let sum = || parallel::ranges(5_000, |range| range.map(|_| spend(1)).count()).into_iter().sum::<usize>();
    assert_eq!(within(5_000, sum), Ok((5_000, 5_000)));
    cancel();
    assert!(cancelled());
    assert_eq!(within(5_000, sum), Err(Stop::Cancelled));
    resume();
    assert_eq!(within(work::bound(0, work::Effort::Full), sum).map(|(sum, _)| sum), Ok(5_000));
    let ends_itself = || {
        (0..100).for_each(|_| spend(1));
        cancel();
        loop {
            spend(0);
        }
    };
    assert_eq!(within(100, ends_itself), Err::<((), u64), Stop>(Stop::Cancelled));
    resume();
}
