//! Reads the lines of a log that comes in pieces, and counts those that have no request.

use std::ops::Range;
use std::sync::Arc;

use crate::logs::columns::Columns;
use crate::logs::format::Format;
use crate::logs::wrapping::unwrapped;

/// The first broken lines that are named.
const MOST_BROKEN: usize = 10;

/// Bytes of a line that goes over pieces at most: what is longer is no line of nginx. [`LONG`] is kept instead of its
/// start, and has no format.
const LONGEST: usize = 1 << 20;
const LONG: &[u8] = b"\0";

/// How often lines of a log were read, and which could not be.
#[derive(Debug, Default)]
pub struct Lines {
    /// The number of lines that are not empty.
    pub read: u64,
    /// The number of lines of another format, and the first of them, from 1.
    pub broken: u64,
    pub broken_lines: Vec<u64>,
    /// The number of lines without an HTTP request.
    pub malformed: u64,
    /// The line that was read last, from 1.
    pub number: u64,
}

/// A line that has the format of its log. `values` are those of its variables.
pub struct LogLine<'a> {
    pub columns: &'a Columns,
    pub line: &'a [u8],
    pub values: &'a [Range<usize>],
    /// The target of the request.
    pub target: &'a [u8],
    /// The other fields on which the outcome may depend, an end of line behind each; `None` without an HTTP request.
    pub group: Option<&'a [u8]>,
}

/// How to read the lines of a log.
#[derive(PartialEq)]
pub struct LineFormat {
    pub format: Format,
    pub columns: Columns,
    /// Whether lines are inside of JSON.
    pub is_wrapped: bool,
}

/// A log that is read.
pub struct Reader {
    of: Arc<LineFormat>,
    /// What the last piece began, and did not end.
    rest: Vec<u8>,
    values: Vec<Range<usize>>,
    target: Vec<u8>,
    group: Vec<u8>,
    pub lines: Lines,
}

impl Reader {
    pub fn new(of: Arc<LineFormat>) -> Reader {
        let (rest, values, target, group) = Default::default();
        Reader { of, rest, values, target, group, lines: Lines::default() }
    }

    /// Reads a piece of the log; an empty one is its end. Calls `each` with the lines that have the format.
    pub fn read(&mut self, piece: &[u8], mut each: impl FnMut(&LogLine<'_>)) {
        let mut rest = std::mem::take(&mut self.rest);
        let mut text = piece;
        if !rest.is_empty() {
            rest.extend(piece);
            text = &rest;
        }
        while let Some(end) = self.end(text, piece.is_empty()) {
            let lines = &text[..end];
            let has_format = self.read_lines(lines, &mut each);
            let end = if has_format { end } else { memchr::memchr(b'\n', lines).unwrap_or(end) };
            text = text.get(end + 1..).unwrap_or_default();
        }
        self.rest = match text.len() > LONGEST {
            true => LONG.to_vec(),
            false => text.to_vec(),
        };
    }

    /// Returns where the lines that begin a text, and may have the format, end.
    fn end(&self, text: &[u8], is_last: bool) -> Option<usize> {
        let end = memchr::memchr_iter(b'\n', text).nth(self.of.format.breaks);
        end.or_else(|| (is_last && !text.is_empty()).then_some(text.len()))
    }

    /// Reads as many lines as the format has. Returns whether they have it; else only the first of them was read.
    fn read_lines(&mut self, text: &[u8], each: &mut impl FnMut(&LogLine<'_>)) -> bool {
        let Reader { of, values, target, group, lines, .. } = self;
        let LineFormat { format, columns, is_wrapped } = &**of;
        lines.number += 1;
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let first = memchr::memchr(b'\n', text).map_or(text, |end| &text[..end]);
        if text.trim_ascii().is_empty() {
            return false;
        }
        let line = if *is_wrapped { unwrapped(text) } else { text.into() };
        if !format.split(&line, values) {
            if !first.trim_ascii().is_empty() {
                lines.add_broken();
            }
            return false;
        }
        lines.read += 1;
        lines.number += format.breaks as u64;
        let is_request = columns.request(&line, values, format.escape, target, group);
        lines.malformed += u64::from(!is_request);
        each(&LogLine { columns, line: &line, values, target, group: is_request.then_some(group) });
        true
    }
}

impl Lines {
    fn add_broken(&mut self) {
        self.read += 1;
        self.broken += 1;
        if self.broken_lines.len() < MOST_BROKEN {
            self.broken_lines.push(self.number);
        }
    }
}
