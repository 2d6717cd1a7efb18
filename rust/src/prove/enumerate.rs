//! Lists all strings that a pattern can match. It walks the syntax tree from left to right, and keeps the subjects that
//! the tree has allowed so far.
//!
//! The planner uses another method (it joins the strings of subtrees of the HIR), so an error would have to occur in
//! both to go unnoticed.

use crate::syntax::{Ast, ByteSet};

/// The subjects a pattern allows.
#[derive(Debug, PartialEq, Eq)]
pub enum Enumeration {
    /// All subjects; a superset of them if the tree has nodes that are supersets.
    All(Vec<Vec<u8>>),
    /// There are more than the limit, or infinitely many.
    TooMany,
}

/// What is known of the end of the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SubjectEnd {
    Open,
    /// The subject ends here.
    Ended,
    /// Only a final newline follows. A `$` also matches here.
    Newline,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PartialSubject {
    text: Vec<u8>,
    /// Whether the text is known to start where the subject starts.
    started: bool,
    tail: SubjectEnd,
}

/// The longest key of a map. nginx reads no longer tokens.
const LONGEST: usize = 4096;

/// How letters are listed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    Exact,
    /// Capital letters are left out. Small letters stand for both cases.
    SmallOnly,
}

/// Lists the subjects of `ast`. Gives up if there are more than `limit` subjects at any point.
pub fn subjects(ast: &Ast, letters: Letters, limit: usize) -> Enumeration {
    let start = PartialSubject { text: Vec::new(), started: false, tail: SubjectEnd::Open };
    let Some(states) = (Runner { letters, limit }).run(ast, vec![start]) else {
        return Enumeration::TooMany;
    };
    if states.iter().any(|state| !state.started || state.tail == SubjectEnd::Open) {
        return Enumeration::TooMany;
    }
    let mut all: Vec<Vec<u8>> = states.into_iter().map(PartialSubject::subject).collect();
    all.sort_unstable();
    all.dedup();
    Enumeration::All(all)
}

impl PartialSubject {
    fn subject(mut self) -> Vec<u8> {
        if self.tail == SubjectEnd::Newline {
            self.text.push(b'\n');
        }
        self.text
    }

    /// Adds a byte, if one is allowed here.
    fn push(&self, byte: u8) -> Option<PartialSubject> {
        let tail = match self.tail {
            SubjectEnd::Open => SubjectEnd::Open,
            SubjectEnd::Newline if byte == b'\n' => SubjectEnd::Ended,
            SubjectEnd::Newline | SubjectEnd::Ended => return None,
        };
        let mut text = Vec::with_capacity(self.text.len() + 24);
        text.extend_from_slice(&self.text);
        text.push(byte);
        Some(PartialSubject { text, started: self.started, tail })
    }

    /// Matches `^`, which is possible only before anything was read.
    fn start(self) -> Option<PartialSubject> {
        self.text.is_empty().then_some(PartialSubject { started: true, ..self })
    }

    /// Matches `\z`, which is also one of the two meanings of `$`.
    fn end(self) -> Option<PartialSubject> {
        (self.tail != SubjectEnd::Newline).then_some(PartialSubject { tail: SubjectEnd::Ended, ..self })
    }

    /// Matches a `$` before a final newline.
    fn before_newline(self) -> Option<PartialSubject> {
        (self.tail != SubjectEnd::Ended).then_some(PartialSubject { tail: SubjectEnd::Newline, ..self })
    }
}

struct Runner {
    letters: Letters,
    limit: usize,
}

impl Runner {
    fn run(&self, ast: &Ast, states: Vec<PartialSubject>) -> Option<Vec<PartialSubject>> {
        let next = match ast {
            Ast::Empty | Ast::WordBoundary | Ast::NotWordBoundary => states,
            Ast::Byte(byte) => states.iter().filter_map(|state| state.push(*byte)).collect(),
            Ast::Class(set) => self.class(set, &states)?,
            Ast::Concat(parts) => self.concat(parts, states)?,
            Ast::Alternation(parts) => self.alternation(parts, &states)?,
            Ast::Repeat { min, max, sub, .. } => self.repeat(*min, *max, sub, states)?,
            Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => self.run(sub, states)?,
            Ast::Start => states.into_iter().filter_map(PartialSubject::start).collect(),
            Ast::End => states.into_iter().filter_map(PartialSubject::end).collect(),
            Ast::Dollar => {
                let halves = |state: PartialSubject| [state.clone().end(), state.before_newline()];
                states.into_iter().flat_map(halves).flatten().collect()
            }
        };
        self.bounded(next)
    }

    fn concat(&self, parts: &[Ast], mut states: Vec<PartialSubject>) -> Option<Vec<PartialSubject>> {
        for part in parts {
            match (part, states.as_mut_slice()) {
                // A literal extends a single state. Nearly all rules consist almost only of these.
                (Ast::Byte(byte), [state]) if state.tail == SubjectEnd::Open => state.text.push(*byte),
                _ => states = self.run(part, states)?,
            }
        }
        Some(states)
    }

    fn class(&self, set: &ByteSet, states: &[PartialSubject]) -> Option<Vec<PartialSubject>> {
        let mut next = Vec::new();
        for byte in 0..=255u8 {
            let left_out = self.letters == Letters::SmallOnly && byte.is_ascii_uppercase();
            if set.contains(byte) && !left_out {
                next.extend(states.iter().filter_map(|state| state.push(byte)));
                if next.len() > self.limit {
                    return None;
                }
            }
        }
        Some(next)
    }

    fn alternation(&self, parts: &[Ast], states: &[PartialSubject]) -> Option<Vec<PartialSubject>> {
        let mut next = Vec::new();
        for part in parts {
            next.extend(self.run(part, states.to_vec())?);
        }
        Some(next)
    }

    fn repeat(
        &self,
        min: u32,
        max: Option<u32>,
        sub: &Ast,
        states: Vec<PartialSubject>,
    ) -> Option<Vec<PartialSubject>> {
        let mut current = states;
        let mut all = if min == 0 { current.clone() } else { Vec::new() };
        for count in 1..=max.unwrap_or(u32::MAX) {
            let next = self.run(sub, current.clone())?;
            // If a round changes nothing, no later round does. A round that always adds a byte reaches the limit.
            let settled = next == current || next.is_empty();
            current = next;
            if count >= min || settled {
                all.extend(current.iter().cloned());
                all = self.bounded(all)?;
            }
            if settled {
                break;
            }
        }
        Some(all)
    }

    fn bounded(&self, mut states: Vec<PartialSubject>) -> Option<Vec<PartialSubject>> {
        if states.len() > 1 {
            states.sort_unstable();
            states.dedup();
        }
        let listed = states.len() <= self.limit && states.iter().all(|state| state.text.len() <= LONGEST);
        listed.then_some(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax;

    fn all(pattern: &str) -> Enumeration {
        subjects(&syntax::parse(pattern.as_bytes()).unwrap().ast, Letters::Exact, 64)
    }

    fn strings(list: &[&str]) -> Enumeration {
        Enumeration::All(list.iter().map(|string| string.as_bytes().to_vec()).collect())
    }

    /// `$` also matches before a final newline, and the newline may even be read after it; `\z` does not.
    #[test]
    fn ends() {
        assert_eq!(all("^/a$"), strings(&["/a", "/a\n"]));
        assert_eq!(all(r"^/a\z"), strings(&["/a"]));
        assert_eq!(all(r"^/a$\n"), strings(&["/a\n"]));
        assert_eq!(all("^/a$$"), strings(&["/a", "/a\n"]));
        assert_eq!(all(r"^/a$\z"), strings(&["/a"]));
        assert_eq!(all("^/a$b"), strings(&[]));
        assert_eq!(all("/^a$"), strings(&[]));
    }

    /// Alternatives, optional parts and small classes are listed; patterns open at either end are not.
    #[test]
    fn finite_and_not() {
        assert_eq!(all(r"^/(a|b[01])/?\z"), strings(&["/a", "/a/", "/b0", "/b0/", "/b1", "/b1/"]));
        assert_eq!(all(r"^/a{2,3}\z"), strings(&["/aa", "/aaa"]));
        assert_eq!(all("^/a"), Enumeration::TooMany);
        assert_eq!(all("/a$"), Enumeration::TooMany);
        assert_eq!(all("^/a*$"), Enumeration::TooMany);
        assert_eq!(all("^/.$"), Enumeration::TooMany);
    }
}
