//! Patterns that are read once and shared by all code that asks about them.

use std::fmt;
use std::sync::OnceLock;
use std::thread;

use super::effort::{Bounds, longest_answered};
use super::first::{FirstMatch, Required};
use super::texts::PatternTexts;
use crate::parallel;
use crate::pattern_text::most;
use crate::syntax::{self, Ast, Pattern, Translation};

/// From this many patterns on, another thread frees their memory.
const MANY: usize = 4_096;

/// The most items of a beginning.
const MOST_ITEMS: usize = 1_024;

/// A pattern that every PCRE reads alike.
#[derive(Debug)]
pub struct ReadPattern {
    pub pattern: Pattern,
    pub translation: Translation,
    /// The subjects on which PCRE certainly finds an answer.
    pub bounds: Bounds,
    /// See [`ReadPattern::events`].
    head: OnceLock<Option<Box<ReadPattern>>>,
}

impl ReadPattern {
    /// Reads a pattern as PCRE does without options. `None` if PCRE versions read it differently. O(length).
    pub fn of(text: &[u8]) -> Option<ReadPattern> {
        let pattern = syntax::parse(text).ok()?;
        let translation = pattern.translate();
        let bounds = Bounds::of(&pattern, &translation.hir);
        Some(ReadPattern { pattern, translation, bounds, head: OnceLock::new() })
    }

    /// A pattern that matches every subject on which PCRE matches this one or gives up on it. PCRE never gives up on it.
    /// It is this pattern or a beginning of it: where the beginning does not match, PCRE answers "no match" for the
    /// whole, as it tries nothing behind the beginning.
    pub fn events(&self) -> Option<&ReadPattern> {
        if self.bounds.always_answers {
            return Some(self);
        }
        self.head
            .get_or_init(|| longest_head(&self.pattern, |head| head.bounds.always_answers).map(Box::new))
            .as_deref()
    }

    /// As [`ReadPattern::events`], for subjects of at most `length` bytes: the result matches each of these on which PCRE
    /// matches this pattern or gives up on it. PCRE answers on the result for all of them, but may give up on it for
    /// longer ones.
    pub fn events_within(&self, length: usize) -> Option<ReadPattern> {
        longest_head(&self.pattern, |head| longest_answered(&head.pattern, &head.translation.hir) >= length)
    }
}

/// The longest beginning of a pattern, in items, that is certain enough. `None` if there is none, or the pattern is no
/// sequence of items.
fn longest_head(pattern: &Pattern, is_certain: impl Fn(&ReadPattern) -> bool) -> Option<ReadPattern> {
    let Ast::Concat(items) = &pattern.ast else { return None };
    let regular = items.iter().take_while(|item| item.is_regular()).count().min(MOST_ITEMS);
    let read = |count: usize| {
        let ast = Ast::Concat(items[..count].to_vec());
        let head = Pattern { ast, looks: Vec::new(), ..pattern.clone() };
        let translation = head.translate();
        let bounds = Bounds::of(&head, &translation.hir);
        Some(ReadPattern { pattern: head, translation, bounds, head: OnceLock::new() }).filter(&is_certain)
    };
    if regular == 0 { None } else { read(most(regular, |count| read(count).is_some())) }
}

/// Literals in lower case: each match of an exactly known pattern contains one of them, in any case of letters. The set
/// with the longest literals is taken; empty if none is known.
pub(crate) fn needed_literals(pattern: &ReadPattern) -> Vec<Vec<u8>> {
    let shortest = |literals: &&[Vec<u8>]| literals.iter().map(Vec::len).min().unwrap_or(0);
    let Required(requirements) = Required::of_read(&pattern.pattern, &pattern.translation);
    let sets = requirements.iter().map(|requirement| requirement.need.literals());
    sets.max_by_key(shortest).unwrap_or_default().to_vec()
}

/// A list of patterns that have been read, and an index over all of them.
///
/// The result depends only on the texts, so the compiler and the proof may share it.
pub struct ReadPatterns {
    texts: PatternTexts,
    list: Vec<Option<ReadPattern>>,
    first: OnceLock<Option<FirstMatch>>,
}

impl ReadPatterns {
    /// Reads patterns. O(total length), on all processors.
    pub fn of(texts: &[&[u8]]) -> ReadPatterns {
        let list = parallel::collect(texts.len(), |at| ReadPattern::of(texts[at]));
        ReadPatterns { texts: PatternTexts::new(texts), list, first: OnceLock::new() }
    }

    /// Returns the list in `known` that has these texts. If there is none, reads the texts into `own`.
    pub fn known_or<'p>(
        known: impl IntoIterator<Item = &'p ReadPatterns>,
        texts: &[&[u8]],
        own: &'p mut Option<ReadPatterns>,
    ) -> &'p ReadPatterns {
        known.into_iter().find(|known| known.are(texts)).unwrap_or_else(|| own.insert(ReadPatterns::of(texts)))
    }

    /// The number of patterns.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Whether the list has exactly these patterns, in this order.
    pub fn are(&self, texts: &[&[u8]]) -> bool {
        texts.len() == self.list.len() && texts.iter().enumerate().all(|(at, text)| self.texts.get(at) == *text)
    }

    /// The text of a pattern.
    pub fn text(&self, at: usize) -> &[u8] {
        self.texts.get(at)
    }

    /// The pattern at a place, as it was read. `None` if PCRE versions read it differently.
    pub fn get(&self, at: usize) -> Option<&ReadPattern> {
        self.list[at].as_ref()
    }

    /// The index over all patterns, which is built on first use. `None` if the patterns have too many literals.
    pub fn first(&self) -> Option<&FirstMatch> {
        let make = || {
            let texts: Vec<&[u8]> = (0..self.list.len()).map(|at| self.text(at)).collect();
            FirstMatch::of_required(&texts, parallel::collect(texts.len(), |at| self.required(at))).ok()
        };
        self.first.get_or_init(make).as_ref()
    }

    /// Forgets on which patterns PCRE2 took too long, so that later answers do not depend on earlier questions.
    pub fn rest(&self) {
        if let Some(Some(first)) = self.first.get() {
            first.rest();
        }
    }

    fn required(&self, at: usize) -> Required {
        match self.get(at) {
            Some(read) => Required::of_read(&read.pattern, &read.translation),
            None => Required::of_unread(self.text(at)),
        }
    }
}

impl fmt::Debug for ReadPatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} patterns", self.list.len())
    }
}

impl Drop for ReadPatterns {
    fn drop(&mut self) {
        if self.list.len() >= MANY {
            let (list, first) = (std::mem::take(&mut self.list), self.first.take());
            // If no thread can be started, they are freed here.
            _ = thread::Builder::new().spawn(move || drop((list, first)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReadPatterns;
    use crate::first_match::{Doubt, First};

    /// Two lists are the same if they have the same texts in the same order.
    #[test]
    fn are_the_same() {
        let patterns = ReadPatterns::of(&[b"^/a", b"^/b{,3}"]);
        assert!(patterns.are(&[b"^/a", b"^/b{,3}"]));
        for others in [&[&b"^/a"[..]][..], &[b"^/b{,3}", b"^/a"], &[b"^/a", b"^/b{,3}", b"c"], &[b"^/ab", b"^/{,3}"]] {
            assert!(!patterns.are(others));
        }
        assert!(patterns.get(0).is_some() && patterns.get(1).is_none() && patterns.text(1) == b"^/b{,3}");
        assert_eq!(patterns.first().unwrap().first(b"/b", 2), First::Unknown(1, Doubt::Unportable));
    }

    /// A pattern on which PCRE2 took too long is tried again after a rest.
    #[test]
    fn rested() {
        let patterns = ReadPatterns::of(&[b"^/(a+)+$"]);
        let first = patterns.first().unwrap();
        let subject = [b"/".as_slice(), &[b'a'; 40], b"!"].concat();
        while first.first(b"/a!", 1) == First::None {
            assert_eq!(first.first(&subject, 1), First::Unknown(0, Doubt::Effort));
        }
        patterns.rest();
        assert_eq!(first.first(b"/a!", 1), First::None);
    }
}
