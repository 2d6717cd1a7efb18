//! Long runs of `rewrite` folded into one item, so that a file of a million rules is not a million objects.

use super::{Checkpoint, Event, LexError, Lexer, RawEvent};

/// A run of `rewrite` statements with nothing but blanks and comments between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulk {
    /// Offset of the first statement.
    pub start: usize,
    /// Offset just after the last statement's `;`.
    pub end: usize,
    /// Line of the first statement, from 1.
    pub line: u32,
    /// How many statements there are.
    pub count: usize,
}

/// What [`Folding`] yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoldedEvent<'a> {
    /// An event that is not part of a long run.
    Event(Event<'a>),
    /// A long run.
    Bulk(Bulk),
}

/// The events of a file, with runs of at least `least` rewrites folded.
///
/// Linear: each statement is read once, and at most once more if a run turns out to be too short.
#[derive(Debug)]
pub struct Folding<'a> {
    bytes: &'a [u8],
    lexer: Lexer<'a>,
    least: usize,
    /// Runs that start before this offset are known to be too short.
    too_short: usize,
}

impl<'a> Folding<'a> {
    /// The events of `bytes` from a checkpoint on; `least` = 0 folds nothing.
    pub fn new(bytes: &'a [u8], least: usize, from: Checkpoint) -> Self {
        Self { bytes, lexer: Lexer::resume(bytes, from), least, too_short: 0 }
    }

    /// Whether the place reached is between two statements: see [`Lexer::is_between`].
    pub fn is_between(&self) -> bool {
        self.lexer.is_between()
    }

    /// The place reached.
    pub fn into_checkpoint(self) -> Checkpoint {
        self.lexer.into_checkpoint()
    }

    /// Reads the run at the place reached and moves past it. Does not move if the run is too short.
    fn bulk(&mut self) -> Option<Bulk> {
        let (pos, _) = self.lexer.place();
        if self.least == 0 || pos < self.too_short || !self.lexer.is_between() {
            return None;
        }
        if !self.bytes.get(pos..)?.trim_ascii_start().starts_with(b"rewrite") {
            return None;
        }
        let from = self.lexer.take_checkpoint();
        let mut bulk = Bulk { start: 0, end: 0, line: 0, count: 0 };
        let mut after = self.lexer.place();
        while let Some(Ok(step)) = self.lexer.step() {
            match (step, self.lexer.words()) {
                (RawEvent::Statement { end }, [name, ..]) if name.value.as_ref() == b"rewrite" => {
                    if bulk.count == 0 {
                        (bulk.start, bulk.line) = (name.start, name.line);
                    }
                    bulk.count += 1;
                    bulk.end = end;
                    after = self.lexer.place();
                }
                (RawEvent::Comment { .. }, _) => {}
                _ => break,
            }
        }
        self.lexer = Lexer::resume(self.bytes, from);
        if bulk.count < self.least {
            self.too_short = after.0;
            return None;
        }
        self.lexer.skip_to(after.0, after.1);
        Some(bulk)
    }
}

impl<'a> Iterator for Folding<'a> {
    type Item = Result<FoldedEvent<'a>, LexError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(bulk) = self.bulk() {
            return Some(Ok(FoldedEvent::Bulk(bulk)));
        }
        self.lexer.next().map(|event| event.map(FoldedEvent::Event))
    }
}
