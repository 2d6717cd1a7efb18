//! Compares the beginning of a row with a guard, item by item and without automata.

use std::slice;
use std::sync::LazyLock;

use crate::syntax::{Ast, ByteSet};
use crate::work::spend;

/// The most steps of a comparison. After these, the answer is "unknown".
const PATIENCE: usize = 20_000;

/// How far the comparison with a row may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Up to the first repetition. After it, PCRE may give up on the row.
    Repetition,
    /// To the end of the row. PCRE never gives up on it.
    End,
}

/// The branches of a guard: those that must match at the start of a subject, and those that may match anywhere.
pub struct Guarding {
    first: Vec<Ast>,
    anywhere: Vec<Ast>,
}

impl Guarding {
    pub fn new(ast: &Ast) -> Guarding {
        let branches = match ast {
            Ast::Alternation(branches) => branches.as_slice(),
            ast => std::slice::from_ref(ast),
        };
        let mut guarding = Guarding { first: Vec::new(), anywhere: Vec::new() };
        for branch in branches {
            match branch {
                Ast::Concat(items) if items[0] == Ast::Start => guarding.first.push(Ast::Concat(items[1..].to_vec())),
                branch => {
                    guarding.first.push(branch.clone());
                    guarding.anywhere.push(branch.clone());
                }
            }
        }
        guarding
    }

    /// Whether the guard lets pass all subjects with this head; if `folded`, in any case.
    pub fn is_begun_by(&self, head: &[u8], folded: bool) -> bool {
        let head: Vec<&Ast> = head.iter().rev().map(|byte| &BYTES[usize::from(*byte)]).collect();
        implies(&head, &self.first, folded, Reach::End)
    }

    /// Whether the guard lets pass all subjects that begin with a match of these items.
    pub fn is_begun_by_items(&self, items: &[Ast]) -> bool {
        implies(&stack(&items.iter().collect::<Vec<_>>()), &self.first, false, Reach::End)
    }

    /// Whether the guard lets pass all subjects that an anchored pattern may match, judged by the pattern as far as
    /// `reach`; `false` if that is not obvious.
    pub fn is_begun_by_pattern(&self, row: &Ast, reach: Reach) -> bool {
        match row {
            Ast::Alternation(branches) => branches.iter().all(|branch| self.is_begun_by_pattern(branch, reach)),
            Ast::Capture { sub, .. } => self.is_begun_by_pattern(sub, reach),
            row => {
                let mut row = flat(row);
                row.reverse();
                matches!(row.pop(), Some(Ast::Start)) && implies(&row, &self.first, false, reach)
            }
        }
    }

    /// Whether the guard lets pass all subjects that a pattern matches because of something inside them; `false` if
    /// that is not obvious. PCRE always answers on the pattern.
    pub fn is_held_by_pattern(&self, row: &Ast) -> bool {
        match row {
            Ast::Alternation(branches) => {
                let is_let_pass =
                    |branch| self.is_begun_by_pattern(branch, Reach::End) || self.is_held_by_pattern(branch);
                branches.iter().all(is_let_pass)
            }
            Ast::Capture { sub, .. } => self.is_held_by_pattern(sub),
            row => {
                let row = flat(row);
                let is_held = |row: &[&Ast]| implies(row, &self.anywhere, false, Reach::End);
                (0..row.len()).any(|from| {
                    is_held(&stack(&row[from..])) || last_rounds(&row[from..]).is_some_and(|row| is_held(&row))
                })
            }
        }
    }
}

/// The items of a row that starts with a repetition, with only the last rounds of it. Each match ends with these.
fn last_rounds<'a>(row: &[&'a Ast]) -> Option<Vec<&'a Ast>> {
    let (first, rest) = row.split_first()?;
    let Ast::Repeat { min: min @ 1..=MOST_ROUNDS, sub, .. } = first else { return None };
    Some((0..*min).fold(stack(rest), |stack, _| pushed(&stack, std::slice::from_ref(sub))))
}

fn stack<'a>(items: &[&'a Ast]) -> Vec<&'a Ast> {
    items.iter().rev().copied().collect()
}

/// The items of a pattern in order, those in groups included.
fn flat(ast: &Ast) -> Vec<&Ast> {
    fn add<'a>(ast: &'a Ast, items: &mut Vec<&'a Ast>) {
        match ast {
            Ast::Concat(parts) => parts.iter().for_each(|part| add(part, items)),
            Ast::Capture { sub, .. } => add(sub, items),
            ast => items.push(ast),
        }
    }
    let mut items = Vec::new();
    add(ast, &mut items);
    items
}

/// Whether what the rest of a row matches always begins with one of the branches of a guard. The rest is a stack: the
/// first item is last.
fn implies(row: &[&Ast], branches: &[Ast], folded: bool, reach: Reach) -> bool {
    let mut steps = PATIENCE;
    let mut implication = Implication { folded, reach, steps: &mut steps };
    let implies =
        branches.iter().any(|branch| implication.implies(row, Guard { next: slice::from_ref(branch), behind: None }));
    spend(1 + PATIENCE - steps);
    implies
}

/// The rest of a guard: the next items, and what follows these.
#[derive(Clone, Copy)]
struct Guard<'g> {
    next: &'g [Ast],
    behind: Option<&'g Guard<'g>>,
}

impl<'g> Guard<'g> {
    /// The next item, and the rest after it.
    fn split_first(self) -> Option<(&'g Ast, Guard<'g>)> {
        match self.next {
            [first, next @ ..] => Some((first, Guard { next, ..self })),
            [] => self.behind?.split_first(),
        }
    }

    /// Puts items in front of the rest.
    fn behind(&'g self, next: &'g [Ast]) -> Guard<'g> {
        Guard { next, behind: Some(self) }
    }
}

struct Implication<'s> {
    folded: bool,
    reach: Reach,
    steps: &'s mut usize,
}

impl Implication<'_> {
    /// Whether `row` implies `guard`. The row is a stack: the next item is last.
    fn implies(&mut self, row: &[&Ast], guard: Guard) -> bool {
        let Some(steps) = self.steps.checked_sub(1) else { return false };
        *self.steps = steps;
        let Some((wanted, guards)) = guard.split_first() else { return true };
        match wanted {
            Ast::Empty => self.implies(row, guards),
            Ast::Concat(items) => self.implies(row, guards.behind(items)),
            Ast::Alternation(branches) => self.implies_branch(row, guard, (branches, guards)),
            Ast::Byte(byte) => self.takes(row, (guard, guards), &ByteSet::one(*byte)),
            Ast::Class(set) => self.takes(row, (guard, guards), set),
            Ast::Repeat { .. } | Ast::Dollar if self.reach == Reach::End => match row.split_last() {
                Some((&first, rows)) if is_same(first, wanted) => self.implies(rows, guards),
                _ if let Some((sub, rounds)) = fixed_rounds(wanted) => self.implies_rounds(row, guards, sub, rounds),
                Some((&first, rows)) if !matches!(first, Ast::Repeat { .. }) => {
                    choices(first, rows).is_some_and(|choices| choices.iter().all(|row| self.implies(row, guard)))
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// As [`Implication::implies`], for a guard that begins with `branches`, followed by `guards`.
    fn implies_branch(&mut self, row: &[&Ast], guard: Guard, (branches, guards): (&[Ast], Guard)) -> bool {
        if let Some(repetition @ Ast::Repeat { .. }) = row.last()
            && let Some(branch) = branches.iter().find(|branch| begins_with_same(branch, repetition))
            && self.implies(row, guards.behind(slice::from_ref(branch)))
        {
            return true;
        }
        if let Some((&first, rows)) = row.split_last()
            && let Some(choices) = choices(first, rows)
        {
            return choices.iter().all(|row| self.implies(row, guard));
        }
        let may_begin = |branch: &&Ast| match (row.last(), first_byte(branch)) {
            (Some(Ast::Byte(byte)), Some(first)) => *byte == first,
            _ => true,
        };
        let mut branches = branches.iter().filter(may_begin);
        branches.any(|branch| self.implies(row, guards.behind(slice::from_ref(branch))))
            || spelled(row).is_some_and(|rows| rows.iter().all(|row| self.implies(row, guard)))
    }

    /// As [`Implication::implies`], for a guard that begins with `rounds` rounds of an item, followed by `guards`.
    fn implies_rounds(&mut self, row: &[&Ast], guards: Guard, sub: &Ast, rounds: u32) -> bool {
        match rounds {
            0 => self.implies(row, guards),
            _ => self.implies_rounds(row, guards.behind(slice::from_ref(sub)), sub, rounds - 1),
        }
    }

    /// As [`Implication::implies`], for a guard that begins with a byte of `set`, followed by `guards`.
    fn takes(&mut self, row: &[&Ast], (guard, guards): (Guard, Guard), set: &ByteSet) -> bool {
        let Some((&first, rows)) = row.split_last() else { return false };
        let mut allows = |byte: u8| {
            let both = [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
            if self.folded { both.iter().all(|byte| set.contains(*byte)) } else { set.contains(byte) }
        };
        let is_allowed = match first {
            Ast::Byte(byte) => allows(*byte),
            Ast::Class(members) => members.iter().all(&mut allows),
            _ => {
                let Some(choices) = choices(first, rows) else { return false };
                return choices.iter().all(|row| self.implies(row, guard));
            }
        };
        is_allowed && self.implies(rows, guards)
    }
}

/// The item of each byte.
static BYTES: LazyLock<Vec<Ast>> = LazyLock::new(|| (0..=u8::MAX).map(Ast::Byte).collect());

/// If the next item of a row is a small class: the rows with each byte of the class in its place.
fn spelled<'a>(row: &[&'a Ast]) -> Option<Vec<Vec<&'a Ast>>> {
    let (first, rows) = row.split_last()?;
    let Ast::Class(set) = first else { return None };
    let spelled = |byte: u8| [rows, &[&BYTES[usize::from(byte)]]].concat();
    (set.len() <= MOST_MEMBERS).then(|| set.iter().map(spelled).collect())
}

/// Whether two items match the same texts at each place. They may differ in what their groups capture, and in whether
/// PCRE first tries more rounds of a repetition or fewer.
fn is_same(one: &Ast, other: &Ast) -> bool {
    match (one, other) {
        (Ast::Repeat { min, max, sub, .. }, Ast::Repeat { min: other_min, max: other_max, sub: other_sub, .. }) => {
            (min, max) == (other_min, other_max) && are_same(sub, other_sub)
        }
        (Ast::Alternation(branches), Ast::Alternation(others)) => {
            branches.len() == others.len() && branches.iter().zip(others).all(|(branch, other)| are_same(branch, other))
        }
        (Ast::Byte(byte), Ast::Byte(other)) => byte == other,
        (Ast::Class(set), Ast::Class(other)) => set == other,
        (Ast::Empty, Ast::Empty)
        | (Ast::Start, Ast::Start)
        | (Ast::Dollar, Ast::Dollar)
        | (Ast::End, Ast::End)
        | (Ast::WordBoundary, Ast::WordBoundary)
        | (Ast::NotWordBoundary, Ast::NotWordBoundary) => true,
        _ => false,
    }
}

/// As [`is_same`], for sequences of items.
pub fn are_same(one: &Ast, other: &Ast) -> bool {
    let (items, others) = (flat(one), flat(other));
    items.len() == others.len() && items.iter().zip(others).all(|(item, other)| is_same(item, other))
}

/// Whether a branch of a guard begins with this repetition.
fn begins_with_same(branch: &Ast, repetition: &Ast) -> bool {
    flat(branch).first().is_some_and(|first| is_same(repetition, first))
}

/// What a repetition with a fixed number of rounds repeats, and how often.
fn fixed_rounds(ast: &Ast) -> Option<(&Ast, u32)> {
    match ast {
        Ast::Repeat { min: min @ 1..=MOST_ROUNDS, max: Some(max), sub, .. } if min == max => Some((sub, *min)),
        _ => None,
    }
}

/// The byte that a branch begins with, if it begins with just one.
fn first_byte(branch: &Ast) -> Option<u8> {
    match branch {
        Ast::Byte(byte) => Some(*byte),
        Ast::Concat(items) => items.first().and_then(first_byte),
        _ => None,
    }
}

/// A repetition is followed if its least number of rounds is at most this.
const MOST_ROUNDS: u32 = 16;

/// The most members of a class that are followed one by one.
const MOST_MEMBERS: usize = 16;

/// Stands for further rounds of a repetition and all that follows them. It is an end because no walk goes past an end,
/// so nothing is concluded from what follows.
static UNKNOWN: Ast = Ast::End;

/// The alternatives of an item that is not a single byte, each followed by `rest`; `None` if there are too many.
pub fn choices<'a>(item: &'a Ast, rest: &[&'a Ast]) -> Option<Vec<Vec<&'a Ast>>> {
    match item {
        Ast::Empty | Ast::Start | Ast::WordBoundary | Ast::NotWordBoundary => Some(vec![rest.to_vec()]),
        Ast::Concat(items) => Some(vec![pushed(rest, items)]),
        Ast::Alternation(branches) => {
            Some(branches.iter().map(|branch| pushed(rest, std::slice::from_ref(branch))).collect())
        }
        Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => Some(vec![pushed(rest, std::slice::from_ref(&**sub))]),
        Ast::Repeat { min, max, sub, .. } => {
            let behind = if *max == Some((*min).max(1)) { rest } else { &[&UNKNOWN][..] };
            let rounds = |count| (0..count).fold(behind.to_vec(), |stack, _| pushed(&stack, std::slice::from_ref(sub)));
            match (min, max) {
                (0, Some(1)) => Some(vec![rounds(1), rest.to_vec()]),
                (1..=MOST_ROUNDS, _) => Some(vec![rounds(*min)]),
                _ => None,
            }
        }
        _ => None,
    }
}

fn pushed<'a>(stack: &[&'a Ast], items: &'a [Ast]) -> Vec<&'a Ast> {
    stack.iter().copied().chain(items.iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Guarding, Reach};
    use crate::prove_map::ask::Questions;
    use crate::syntax::parse;

    fn check(row: &str, guard: &str) -> bool {
        let [row_ast, guard_ast] = [row, guard].map(|pattern| parse(pattern.as_bytes()).unwrap());
        let guarding = Guarding::new(&guard_ast.ast);
        let implied =
            guarding.is_begun_by_pattern(&row_ast.ast, Reach::End) || guarding.is_held_by_pattern(&row_ast.ast);
        let [row_hir, guard_hir] = [&row_ast, &guard_ast].map(|pattern| pattern.translate().hir);
        assert!(!implied || Questions::default().is_included(&row_hir, &[&guard_hir]), "{row} {guard}");
        implied
    }

    /// Guards of tries and classes are compared with rows that have branches.
    #[test]
    fn beginnings() {
        let guard = r"^/(?:a(?:b|c[0-9])|d[^\n]e)";
        for row in ["^/ab.*$", "^/ac1$", "^/ac[0-3]", "^/a(?:b|c7)x", "^/a(b|c8)", "^/d.e", "^/dxe(.*)$", "^/(ab|dae)"]
        {
            assert!(check(row, guard), "{row}");
        }
        for row in ["^/a", "^/ac[0-9a]", "^/a(b|c)x", "^/d[^x]e", "^/b?ab", "^.*ab", "^/a.b", "/ab"] {
            assert!(!check(row, guard), "{row}");
        }
        for row in [r"^/ac\d+x", "^/a(?:b+|c[0-9]{2,})", "^/a[b]{1,3}", "^/d.{1}e", "^/(?:ab)+"] {
            assert!(check(row, guard), "{row}");
        }
        for row in ["^/d.+e", "^/ab*b", "^/(?:ab)*", "^/(?:d.){2}e", "^/a(?:c3)*x", "^/d.{17}", "^/a(?:b?)+", "^/ac{2}"]
        {
            assert!(!check(row, guard), "{row}");
        }
        assert!(check("^/[ad]x", "^/(?:a|b|d[^y])") && !check("^/[abc]x", "^/(?:a|b|d)"));
        assert!(check("^/ab?b", "^/a(?:bb|b)") && !check("^/ab?c", "^/ab"));
    }

    /// Repetitions and ends are compared as they are written.
    #[test]
    fn repetitions() {
        let guard = r"^/(?:a.*x|b$|c[0-9]{2}d|e+f|(?:gh)?i|(?:k|lm)+n|o(?:/.*)?$)";
        let rows =
            ["^/(a.*?x|b$)", "^/(a(.*)x|c[0-9]{2}d)y", "(^/e+?f)", "^/((g)h)?i", "^/((k)|l(m))+n", "^/o(/(.*))?$"];
        for row in rows {
            assert!(check(row, guard), "{row}");
        }
        for row in ["^/a.+x", "^/b", r"^/b\z", "^/c[0-9]{1,2}d", "^/(?:a|b).*x", "^/e*f", "^/a(?:.*)*x", "^/(?:gh)*i"] {
            assert!(!check(row, guard), "{row}");
        }
        for row in ["^/(?:hg)?i", "^/(?:lm|k)+n", "^/(?:k|lm)n", "^/(?:k|l)+n", "^/o(?:/.*)$", "^/o(?:/.+)?$", "^/g?i"]
        {
            assert!(!check(row, guard), "{row}");
        }
    }

    /// What follows a repetition may not be compared if PCRE may give up there.
    #[test]
    fn reach() {
        let asts = |row: &str, guard: &str| [row, guard].map(|pattern| parse(pattern.as_bytes()).unwrap().ast);
        let [row, guard] = asts("^/a(.*)/(.*)/(.*)x", "^/a.*/");
        assert!(Guarding::new(&guard).is_begun_by_pattern(&row, Reach::End));
        assert!(!Guarding::new(&guard).is_begun_by_pattern(&row, Reach::Repetition));
        let [row, guard] = asts("^/(?:a|b)c(.*)/(.*)x", "^/[ab]c");
        assert!(Guarding::new(&guard).is_begun_by_pattern(&row, Reach::Repetition));
    }

    /// A guard may match at the start of the subject or anywhere in it.
    #[test]
    fn anywhere() {
        let guard = "(?i)^(?:/a|/b)|(?:page|post)-id|wp-";
        for row in ["page-id", "^/x/(.*post-id=(.*))$", "(?i)POST-ID", "^/bc", "wp-(a|b)$|^/a", "x(page|post)-id"] {
            assert!(check(row, guard), "{row}");
        }
        let guard = "[0-9]x|aay|(?:bc){2}z";
        for row in ["[0-9]+x", "a{2,}y$", "^/a+a{2,}y", "([0-9]+x|(a{2}y))", "(bc){2,4}z"] {
            assert!(check(row, guard), "{row}");
        }
        for row in ["[0-9]*x", "a+y", "a{1,2}y", "([0-9]+|a{2}y)", "(?:bc)+z"] {
            assert!(!check(row, guard), "{row}");
        }
        let guard = "(?i)^(?:/a|/b)|(?:page|post)-id|wp-";
        for row in ["/a", "page-?id", "(wp-)?a", "^x|wp-", "pag[ef]-id", "^wp", "page-i"] {
            assert!(!check(row, guard), "{row}");
        }
    }
}
