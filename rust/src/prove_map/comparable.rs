//! Finds rows that may match the same subject as another row: a head of one begins with a head of the other.

use crate::prove_map::prefixes::Prefixes;
use crate::prove_map::row::{Heads, OriginalRow};
use crate::work::spend;

/// Finds the first row that may match a subject with a given beginning.
pub struct Comparable {
    heads: Prefixes,
    /// For each head, the first row that has this head or a prefix of it.
    up: Vec<usize>,
    /// For each power of two and each head, the first row with one of that many heads, from this head on.
    runs: Vec<Vec<usize>>,
    fold: bool,
}

impl Comparable {
    /// O(n log n) for n heads.
    pub fn new<'r, 'b: 'r>(rows: impl Iterator<Item = (usize, &'r OriginalRow<'b>)>, fold: bool) -> Comparable {
        let mut entries: Vec<(Vec<u8>, usize)> = Vec::new();
        for (place, row) in rows {
            entries.extend(heads_of(row, fold).into_iter().map(|head| (head, place)));
        }
        let heads = Prefixes::new(entries.iter().map(|(head, _)| head.clone()).collect());
        let mut least = vec![usize::MAX; heads.strings().len()];
        for (head, place) in entries {
            let at = heads.find(&head).expect("a head of the rows");
            least[at] = least[at].min(place);
        }
        let mut up = least.clone();
        for at in 0..up.len() {
            up[at] = heads.parent(at).map_or(up[at], |parent| up[at].min(up[parent]));
        }
        let mut runs = vec![least];
        while let Some(last) = runs.last().filter(|last| last.len() > 1 << (runs.len() - 1)) {
            let step = 1 << (runs.len() - 1);
            let next = (0..last.len() - step).map(|at| last[at].min(last[at + step])).collect();
            runs.push(next);
        }
        Comparable { heads, up, runs, fold }
    }

    /// The first row that may match a subject that `row` matches.
    pub fn first(&self, row: &OriginalRow) -> Option<usize> {
        heads_of(row, self.fold).iter().filter_map(|head| self.first_of(head)).min()
    }

    /// The first row that may match a subject that begins with `start`.
    pub fn first_of(&self, start: &[u8]) -> Option<usize> {
        let shorter = self.heads.longest(start).map(|at| self.up[at]);
        let longer = self.heads.extending(start);
        let longer = (!longer.is_empty()).then(|| {
            let level = longer.len().ilog2() as usize;
            let run = &self.runs[level];
            run[longer.start].min(run[longer.end - (1 << level)])
        });
        shorter.into_iter().chain(longer).min()
    }
}

/// The heads of a row. Nothing is known of a head that ignores case, unless all heads are folded.
pub fn heads_of(row: &OriginalRow, fold: bool) -> Vec<Vec<u8>> {
    match row.heads(fold) {
        Heads::Exact(heads) => heads,
        Heads::AnyCase(_) => vec![Vec::new()],
    }
}

/// Whether two rows may match the same subject, judged by their heads.
pub fn may_meet(one: &OriginalRow, other: &OriginalRow) -> bool {
    let others = heads_of(other, true);
    spend(20 + others.len());
    let is_like = |head: &Vec<u8>| others.iter().any(|other| other.starts_with(head) || head.starts_with(other));
    heads_of(one, true).iter().any(is_like)
}
