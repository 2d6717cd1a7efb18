//! What is known of each row with a pattern.

use std::borrow::Cow;

use crate::first_match::{Bounds, needed_literals};
use crate::language::{Finite, finite};
use crate::map_block::{MapBlock, PatternRow};
use crate::maps::captures::{self, Groups};
use crate::maps::sequence::{Beginnings, Sequence, Tail, beginnings};
use crate::parallel;
use crate::syntax::{self, Ast, ByteSet, Pattern, Translation};

/// The most strings of a row that are keys.
const MOST_STRINGS: usize = 64;

/// A row and what is known of its pattern.
pub struct Row<'m> {
    pub row: &'m PatternRow<'m>,
    /// The pattern as PCRE reads it without options.
    pub text: Cow<'m, [u8]>,
    /// What each match begins with.
    pub beginnings: Option<Beginnings>,
    /// Literals, in small letters, of which one is in each match, in any case of letters; empty if none is known.
    pub needs: Vec<Vec<u8>>,
    /// Whether PCRE never gives up on it, whatever the subject.
    pub is_certain: bool,
    /// Whether PCRE says No to a subject with another beginning.
    pub is_skippable: bool,
    /// Whether it may match a subject with a newline that is not its last byte.
    pub spans_lines: bool,
    /// Whether its value is the same wherever it is evaluated, and nothing else shows that it has matched.
    pub is_plain: bool,
    /// All that it matches, if that is not much.
    pub strings: Option<Strings>,
}

/// The strings of a finite row.
pub struct Strings {
    pub strings: Vec<Vec<u8>>,
    /// Whether they are in small letters and stand for all spellings.
    pub any_case: bool,
}

/// Reads all the rows, in small letters if `folded`.
pub fn read<'m>(map: &'m MapBlock<'m>, groups: &Groups, folded: bool) -> Vec<Row<'m>> {
    let rows = &map.patterns;
    parallel::ranges(rows.len(), |part| rows[part].iter().map(|row| Row::new(row, groups, folded)).collect::<Vec<_>>())
        .into_iter()
        .flatten()
        .collect()
}

impl<'m> Row<'m> {
    fn new(row: &'m PatternRow<'m>, groups: &Groups, folded: bool) -> Row<'m> {
        let text =
            if row.caseless { Cow::Owned([b"(?i)", &*row.pattern].concat()) } else { Cow::Borrowed(&*row.pattern) };
        // A row with a named group sets the variable of that name where it matches.
        let is_plain = !groups.are_in(&row.value) && !captures::names_a_group(&row.pattern);
        match syntax::parse(&text) {
            Ok(pattern) => Row::read(row, text, &pattern, is_plain, folded),
            Err(_) => {
                let beginnings = unread_beginning(&text, folded);
                let is_skippable = beginnings.is_some();
                let needs = Vec::new();
                let (is_certain, spans_lines, strings) = (false, true, None);
                Row { row, text, beginnings, needs, is_certain, is_skippable, spans_lines, is_plain, strings }
            }
        }
    }

    fn read(row: &'m PatternRow<'m>, text: Cow<'m, [u8]>, pattern: &Pattern, is_plain: bool, folded: bool) -> Row<'m> {
        let beginnings = beginnings(pattern, folded);
        let translation = pattern.translate();
        let Bounds { always_answers: is_certain, before_prefix } = Bounds::of(pattern, &translation.hir);
        let is_skippable = is_certain || before_prefix;
        let needs = if beginnings.is_none() { needed_literals(&text) } else { Vec::new() };
        let spans_lines = !is_certain || beginnings.is_none() || !is_one_line(&pattern.ast);
        let strings = if is_plain { strings(&translation) } else { None };
        Row { row, text, beginnings, needs, is_certain, is_skippable, spans_lines, is_plain, strings }
    }

    /// Whether it matches all subjects that begin like it: those without a newline inside if `in_lines`.
    pub fn covers(&self, in_lines: bool) -> bool {
        self.is_certain
            && match self.beginnings.as_ref().map(|beginnings| beginnings.tail) {
                Some(Tail::Anything) => true,
                Some(Tail::Line) => in_lines,
                _ => false,
            }
    }

    pub fn sequences(&self) -> &[Sequence] {
        self.beginnings.as_ref().map_or(&[], |beginnings| &beginnings.sequences)
    }
}

/// The beginning of a pattern that is not read, whatever PCRE takes it for.
fn unread_beginning(text: &[u8], folded: bool) -> Option<Beginnings> {
    let prefix = syntax::prefix(text);
    let mut sequence = Sequence::default();
    for byte in prefix.into_iter().take(super::sequence::LONGEST) {
        let set = if folded { ByteSet::of(|other| other == byte) } else { ByteSet::of(|other| other == byte).fold() };
        sequence.push(&set);
    }
    let sequences = vec![sequence];
    (!sequences[0].bytes.is_empty()).then_some(Beginnings { sequences, tail: Tail::Unknown })
}

/// Whether each match goes to the end of a subject that has no newline but for the last byte.
fn is_one_line(ast: &Ast) -> bool {
    ends(ast) && !holds_newline(ast)
}

/// Whether each match ends where the subject does, or before its final newline.
fn ends(ast: &Ast) -> bool {
    match ast {
        Ast::Dollar | Ast::End => true,
        Ast::Concat(items) => items.last().is_some_and(ends),
        Ast::Alternation(branches) => branches.iter().all(ends),
        Ast::Capture { sub, .. } => ends(sub),
        _ => false,
    }
}

fn holds_newline(ast: &Ast) -> bool {
    match ast {
        Ast::Byte(byte) => *byte == b'\n',
        Ast::Class(set) => set.contains(b'\n'),
        Ast::Concat(items) | Ast::Alternation(items) => items.iter().any(holds_newline),
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } | Ast::Superset { sub, .. } => holds_newline(sub),
        _ => false,
    }
}

fn strings(translation: &Translation) -> Option<Strings> {
    match finite(&translation.hir, MOST_STRINGS) {
        Finite::Strings { strings, any_case } if translation.exact => Some(Strings { strings, any_case }),
        _ => None,
    }
}
