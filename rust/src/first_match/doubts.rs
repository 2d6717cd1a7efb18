//! Patterns of which PCRE's answer is not known, whatever literals a subject holds.
//!
//! The index skips a pattern by literals that may stand behind a way through it on which libraries differ, or that takes
//! long. That PCRE fails before it gets there is true, and more than the proof can tell: it goes by the plain bytes that
//! a pattern begins with alone. So these patterns are looked at by nothing else.

use super::{Doubt, effort};
use crate::parallel;
use crate::syntax::{self, Ast, Pattern};

#[derive(Default)]
pub(super) struct Doubts {
    /// Those that some PCRE has no stack for where a subject is longer. Ascending.
    deep: Vec<Long>,
    /// Those on which PCRE may use up the match limit where a subject is longer. Ascending.
    costly: Vec<Long>,
    /// Those with spaces, which not every PCRE takes a vertical tab for.
    spaces: Vec<Head>,
}

struct Long {
    /// In bytes.
    longest: usize,
    head: Head,
}

/// What the matches of a pattern begin with, in any case of letters.
#[derive(Clone)]
struct Head {
    index: usize,
    bytes: Vec<u8>,
}

/// No key is longer.
const LONGEST: usize = 4_096;

impl Doubts {
    /// Of patterns in order. O(total length).
    pub fn new(patterns: &[&[u8]]) -> Doubts {
        let parts = parallel::ranges(patterns.len(), |part| {
            let mut doubts = Doubts::default();
            for index in part {
                // One that is not portable is in the index by its head already.
                if let Ok(pattern) = syntax::parse(patterns[index]) {
                    doubts.add(index, &pattern);
                }
            }
            doubts
        });
        let mut all = Doubts::default();
        for part in parts {
            all.deep.extend(part.deep);
            all.costly.extend(part.costly);
            all.spaces.extend(part.spaces);
        }
        all.deep.sort_by_key(|long| long.longest);
        all.costly.sort_by_key(|long| long.longest);
        all
    }

    fn add(&mut self, index: usize, pattern: &Pattern) {
        let is_anchored = matches!(&pattern.ast, Ast::Concat(items) if items.first() == Some(&Ast::Start));
        let head = Head { index, bytes: pattern.head() };
        let costly = effort::whole(&pattern.ast, is_anchored);
        if costly < LONGEST {
            self.costly.push(Long { longest: costly, head: head.clone() });
        }
        if pattern.longest() < LONGEST {
            self.deep.push(Long { longest: pattern.longest(), head: head.clone() });
        }
        if pattern.spaces {
            self.spaces.push(head);
        }
    }

    /// The first pattern below `limit` on whose answer libraries differ, or may.
    pub fn first(&self, subject: &[u8], limit: usize) -> Option<(usize, Doubt)> {
        let deep = longer(&self.deep, subject).map(|head| (head, Doubt::Effort));
        let spaces = self.tabbed(subject).map(|head| (head, Doubt::Unportable));
        let found = deep.chain(spaces).filter(|(head, _)| head.fits(subject, limit));
        found.map(|(head, doubt)| (head.index, doubt)).min_by_key(|(index, _)| *index)
    }

    /// Whether PCRE may give up on some spelling of `subject`, or libraries differ on it, at a pattern below `limit`.
    pub fn may_give_up(&self, subject: &[u8], limit: usize) -> bool {
        longer(&self.costly, subject).any(|head| head.fits(subject, limit)) || self.first(subject, limit).is_some()
    }

    fn tabbed(&self, subject: &[u8]) -> impl Iterator<Item = &Head> {
        let has_tab = !self.spaces.is_empty() && subject.contains(&b'\x0b');
        self.spaces.iter().take(if has_tab { usize::MAX } else { 0 })
    }
}

fn longer<'d>(all: &'d [Long], subject: &[u8]) -> impl Iterator<Item = &'d Head> {
    let length = subject.len();
    all.iter().take_while(move |long| long.longest < length).map(|long| &long.head)
}

impl Head {
    fn fits(&self, subject: &[u8], limit: usize) -> bool {
        self.index < limit && syntax::begins(subject, &self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::first_match::{Doubt, First, FirstMatch};

    fn index(pattern: &str) -> FirstMatch {
        FirstMatch::new(&[pattern.as_bytes()]).expect("a small index")
    }

    /// What a pattern begins with tells that it does not match; what stands behind a choice does not.
    #[test]
    fn heads() {
        let long = [b"/x".as_slice(), &vec![b'a'; 2_600]].concat();
        assert_eq!(index("^/(?:foo|bar)(?:[^x]|y)*z$").first(&long, 1), First::Unknown(0, Doubt::Effort));
        assert_eq!(index("^/foo(?:[^x]|y)*z$").first(&long, 1), First::None);
        assert_eq!(index(r"^/(?:foo|bar)\s$").first(b"/x\x0b", 1), First::Unknown(0, Doubt::Unportable));
        assert_eq!(index(r"^/foo\s$").first(b"/x\x0b", 1), First::None);
        assert_eq!(index(r"^/(?:foo|bar)\s$").first(b"/x", 1), First::None);
    }

    /// No spelling is ruled out of a pattern that may take long.
    #[test]
    fn any_case() {
        assert!(index("^/t/(a+)+$").may_match_some_case(b"/t/bx1b", 1));
        assert!(!index("^/t/(a+)+$").may_match_some_case(b"/u/bx1b", 1));
        assert!(!index("^/t/a+$").may_match_some_case(b"/t/bx1b", 1));
        assert!(index(r"^/(?:foo|bar)\s$").may_match_some_case(b"/x\x0b", 1));
    }
}
