//! Whether what a row begins with is enough for a guard, item by item, without automata.

use crate::syntax::{Ast, ByteSet};

/// How many steps are taken before it is not known.
const PATIENCE: usize = 20_000;

/// Whether every subject that begins with what `row` matches begins with what `guard` matches; `false` if that is not
/// seen at once. Both are what follows an anchor at the start.
pub fn implies(row: &Ast, guard: &Ast, folded: bool) -> bool {
    let mut steps = PATIENCE;
    Walk { folded, steps: &mut steps }.implies(&[row], &[guard])
}

/// The same for a row that begins with these bytes; `folded`: in any case of letters.
pub fn bytes_imply(bytes: &[u8], guard: &Ast, folded: bool) -> bool {
    let items: Vec<Ast> = bytes.iter().map(|byte| Ast::Byte(*byte)).collect();
    implies(&Ast::Concat(items), guard, folded)
}

struct Walk<'s> {
    folded: bool,
    steps: &'s mut usize,
}

impl Walk<'_> {
    /// Both sides are stacks: what comes next is last.
    fn implies(&mut self, row: &[&Ast], guard: &[&Ast]) -> bool {
        let Some(steps) = self.steps.checked_sub(1) else { return false };
        *self.steps = steps;
        let Some((&wanted, guards)) = guard.split_last() else { return true };
        match wanted {
            Ast::Empty => self.implies(row, guards),
            Ast::Concat(items) => self.implies(row, &pushed(guards, items)),
            Ast::Alternation(branches) => {
                if let Some((&first, rows)) = row.split_last()
                    && let Some(choices) = choices(first, rows)
                {
                    return choices.iter().all(|row| self.implies(row, guard));
                }
                branches.iter().any(|branch| self.implies(row, &pushed(guards, std::slice::from_ref(branch))))
            }
            Ast::Byte(byte) => self.takes(row, guard, &ByteSet::of(|other| other == *byte)),
            Ast::Class(set) => self.takes(row, guard, set),
            _ => false,
        }
    }

    /// The next item of the row is a byte of the set that comes next in the guard.
    fn takes(&mut self, row: &[&Ast], guard: &[&Ast], set: &ByteSet) -> bool {
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
        is_allowed && self.implies(rows, &guard[..guard.len() - 1])
    }
}

/// What an item that is no single byte may be, in front of what follows it; `None` if that is too much to follow.
fn choices<'a>(item: &'a Ast, rest: &[&'a Ast]) -> Option<Vec<Vec<&'a Ast>>> {
    match item {
        Ast::Empty | Ast::Start => Some(vec![rest.to_vec()]),
        Ast::Concat(items) => Some(vec![pushed(rest, items)]),
        Ast::Alternation(branches) => {
            Some(branches.iter().map(|branch| pushed(rest, std::slice::from_ref(branch))).collect())
        }
        Ast::Capture { sub, .. } => Some(vec![pushed(rest, std::slice::from_ref(&**sub))]),
        Ast::Repeat { min: 0, max: Some(1), sub, .. } => {
            Some(vec![pushed(rest, std::slice::from_ref(&**sub)), rest.to_vec()])
        }
        _ => None,
    }
}

fn pushed<'a>(stack: &[&'a Ast], items: &'a [Ast]) -> Vec<&'a Ast> {
    stack.iter().copied().chain(items.iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::implies;
    use crate::prove_map::ask;
    use crate::syntax::{Ast, parse};

    fn behind_anchor(pattern: &str) -> Ast {
        let Ast::Concat(items) = parse(pattern.as_bytes()).unwrap().ast else { panic!("{pattern}") };
        Ast::Concat(items[1..].to_vec())
    }

    fn check(row: &str, guard: &str) -> bool {
        let implied = implies(&behind_anchor(row), &behind_anchor(guard), false);
        let hir = |pattern: &str| parse(pattern.as_bytes()).unwrap().translate().hir;
        assert!(!implied || ask::is_included(&hir(row), &[&hir(guard)]), "{row} {guard}");
        implied
    }

    /// A guard of tries and classes, and rows with branches.
    #[test]
    fn forms() {
        let guard = r"^/(?:a(?:b|c[0-9])|d[^\n]e)";
        for row in ["^/ab.*$", "^/ac1$", "^/ac[0-3]", "^/a(?:b|c7)x", "^/a(b|c8)", "^/d.e", "^/dxe(.*)$", "^/(ab|dae)"]
        {
            assert!(check(row, guard), "{row}");
        }
        for row in ["^/a", "^/ac[0-9a]", "^/a(b|c)x", "^/d[^x]e", "^/b?ab", "^.*ab", "^/a.b"] {
            assert!(!check(row, guard), "{row}");
        }
        assert!(check("^/ab?b", "^/a(?:bb|b)") && !check("^/ab?c", "^/ab"));
    }
}
