//! Bounds the subjects on which every PCRE gives the same answer.

use super::{Ast, Pattern};

/// The most backtracking points that a match may leave. A point is the start of a round of a group, a branch or a
/// capture.
///
/// PCRE1 calls itself for each point and crashes when the stack of 8 MiB is full. JIT has 32 KiB for the points; if
/// they do not fit, it fails with `PCRE_ERROR_JIT_STACKLIMIT`, and nginx answers 500. In all libraries that were tried,
/// 1,000 points fit.
const MOST_PLACES: f64 = 600.0;

/// The lengths of subjects for which bounds are tried, in bytes. The first stands for any length.
const LENGTHS: [usize; 9] = [1 << 30, 8_192, 4_096, 2_048, 1_024, 512, 256, 128, 64];

impl Pattern {
    /// Whether all versions of PCRE agree whether the pattern matches `subject`, unless one gives up at its match
    /// limit.
    pub fn settles(&self, subject: &[u8]) -> bool {
        subject.len() <= self.longest() && !(self.spaces && subject.contains(&b'\x0b'))
    }

    /// The longest subject, in bytes, for which the stack of every PCRE suffices; `usize::MAX` if it does for all.
    pub fn longest(&self) -> usize {
        let parts = || self.looks.iter().chain([&self.ast]);
        let fits = |length: &usize| parts().map(|part| places(part, *length as f64)).sum::<f64>() <= MOST_PLACES;
        match LENGTHS.into_iter().find(fits) {
            Some(length) if length == LENGTHS[0] => usize::MAX,
            found => found.unwrap_or(0),
        }
    }
}

/// A bound on the backtracking points inside one match of the node.
fn places(ast: &Ast, length: f64) -> f64 {
    match ast {
        Ast::Concat(items) => items.iter().map(|item| places(item, length)).sum(),
        Ast::Alternation(branches) => 1.0 + branches.iter().map(|branch| places(branch, length)).fold(0.0, f64::max),
        // PCRE counts rounds of single bytes and leaves no points for them.
        Ast::Repeat { sub, .. } if sub.is_single() => 1.0,
        Ast::Repeat { min, max, sub, .. } => {
            let least = if consumes(sub) { 0.0 } else { f64::from(*min) };
            let most = least.max(length) + 1.0;
            max.map_or(most, |max| most.min(f64::from(max))) * (1.0 + places(sub, length))
        }
        Ast::Capture { sub, .. } => 1.0 + places(sub, length),
        Ast::Superset { sub, .. } => 1.0 + places(sub, length),
        _ => 0.0,
    }
}

/// Whether each match of the node takes at least one byte.
fn consumes(ast: &Ast) -> bool {
    match ast {
        Ast::Byte(_) | Ast::Class(_) => true,
        Ast::Concat(items) => items.iter().any(consumes),
        Ast::Alternation(branches) => branches.iter().all(consumes),
        Ast::Repeat { min, sub, .. } => *min > 0 && consumes(sub),
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => consumes(sub),
        _ => false,
    }
}
