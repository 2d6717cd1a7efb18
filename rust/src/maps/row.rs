//! Collects what is known of each regex row: how its matches begin, what they contain, whether PCRE may give up on it.

use std::borrow::Cow;

use crate::first_match::{ReadPattern, ReadPatterns, needed_literals};
use crate::language::{Finite, finite};
use crate::map_block::{MapBlock, PatternRow};
use crate::maps::captures::{self, CaptureNames};
use crate::maps::sequence::{Beginnings, Sequence, Tail, beginnings};
use crate::parallel;
use crate::syntax::{self, Ast, ByteSet, Translation};
use crate::variables;

/// The most strings of a row that become keys.
const MOST_STRINGS: usize = 64;

/// A row and what is known of its pattern.
pub struct RowFacts<'m> {
    pub row: &'m PatternRow<'m>,
    /// The pattern as PCRE reads it without options.
    pub text: &'m [u8],
    /// The beginnings of its matches.
    pub beginnings: Option<Beginnings>,
    /// Literals in lower case. Each match contains one of them, ignoring case. Empty if none is known, or if
    /// `beginnings` are.
    pub needs: Vec<Vec<u8>>,
    /// Whether PCRE never gives up on it, for any subject.
    pub is_certain: bool,
    /// Whether PCRE never gives up on it for a subject without an inner newline.
    pub is_certain_in_lines: bool,
    /// Whether PCRE always answers "no match", and never gives up, for a subject with another beginning.
    pub is_skippable: bool,
    /// Whether it may match a subject with a newline that is not its last byte.
    pub spans_lines: bool,
    /// Whether the value has no captures and the pattern sets no variable, so that the value may be used without a
    /// match.
    pub is_plain: bool,
    /// The number of single bytes and sets that directly follow the `^` of the pattern.
    pub singles: usize,
    /// Whether they are followed by a `$` and nothing else.
    pub is_line: bool,
    /// All strings that the row matches, if they are few, the row does not ignore case, and a table can hold its value.
    pub strings: Option<Vec<Vec<u8>>>,
}

/// Reads the patterns of a map.
pub fn read_patterns(map: &MapBlock) -> ReadPatterns {
    let texts: Vec<Cow<[u8]>> = map.patterns.iter().map(text).collect();
    ReadPatterns::of(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// The pattern of a row as PCRE takes it without options.
fn text<'r>(row: &'r PatternRow) -> Cow<'r, [u8]> {
    if row.caseless { Cow::Owned([b"(?i)", &*row.pattern].concat()) } else { Cow::Borrowed(&row.pattern) }
}

/// Collects the facts about all rows of a map. If `folded`, beginnings are in lower case.
pub fn facts<'m>(
    map: &'m MapBlock<'m>,
    patterns: &'m ReadPatterns,
    groups: &CaptureNames,
    folded: bool,
) -> Vec<RowFacts<'m>> {
    let has_no_newline = variables::has_no_newline(&map.source);
    let facts = |at: usize| {
        let mut facts = RowFacts::new(&map.patterns[at], (patterns.text(at), patterns.get(at)), groups, folded);
        if has_no_newline && let Some(strings) = &mut facts.strings {
            strings.retain(|string| !string.contains(&b'\n'));
        }
        facts
    };
    parallel::collect(map.patterns.len(), facts)
}

impl<'m> RowFacts<'m> {
    fn new(
        row: &'m PatternRow<'m>,
        (text, read): (&'m [u8], Option<&ReadPattern>),
        groups: &CaptureNames,
        folded: bool,
    ) -> RowFacts<'m> {
        // If a row with a named group matches, it sets the variable of that name.
        let is_plain = !groups.are_in(&row.value) && !captures::names_a_group(&row.pattern);
        let Some(read) = read else {
            let beginnings = unread_beginning(text, folded);
            return RowFacts {
                row,
                text,
                is_skippable: beginnings.is_some(),
                beginnings,
                needs: Vec::new(),
                is_certain: false,
                is_certain_in_lines: false,
                spans_lines: true,
                is_plain,
                singles: 0,
                is_line: false,
                strings: None,
            };
        };
        let ReadPattern { pattern, translation, bounds, .. } = read;
        let beginnings = beginnings(pattern, folded);
        let is_certain = bounds.always_answers;
        let (singles, rest) = singles(&pattern.ast);
        RowFacts {
            row,
            text,
            needs: if beginnings.is_none() { needed_literals(read) } else { Vec::new() },
            is_certain,
            is_certain_in_lines: bounds.in_lines,
            is_skippable: is_certain || bounds.before_prefix,
            spans_lines: !is_certain || beginnings.is_none() || !is_one_line(&pattern.ast),
            is_plain,
            singles,
            is_line: matches!(rest, [Ast::Dollar]),
            strings: if is_plain && may_be_finite(&pattern.ast) { strings(translation) } else { None },
            beginnings,
        }
    }

    /// Whether the row matches all subjects with one of its beginnings; if `in_lines`, all of these without an inner
    /// newline.
    pub fn covers(&self, in_lines: bool) -> bool {
        self.is_certain_here(in_lines)
            && match self.beginnings.as_ref().map(|beginnings| beginnings.tail) {
                Some(Tail::Anything) => true,
                Some(Tail::Line) => in_lines,
                _ => false,
            }
    }

    /// Whether PCRE never gives up on the row; if `in_lines`, for subjects without an inner newline.
    pub fn is_certain_here(&self, in_lines: bool) -> bool {
        self.is_certain || (in_lines && self.is_certain_in_lines)
    }

    pub fn sequences(&self) -> &[Sequence] {
        self.beginnings.as_ref().map_or(&[], |beginnings| &beginnings.sequences)
    }
}

/// The beginning of a pattern that could not be parsed. It holds however a PCRE reads the rest of the pattern.
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

/// The number of single bytes and sets directly after the `^` of a pattern, and the items that follow them.
fn singles(ast: &Ast) -> (usize, &[Ast]) {
    let Ast::Concat(items) = ast else { return (0, &[]) };
    let [Ast::Start, items @ ..] = items.as_slice() else { return (0, &[]) };
    let count = items.iter().take_while(|item| matches!(item, Ast::Byte(_) | Ast::Class(_))).count();
    (count, &items[count..])
}

/// Whether the pattern matches only subjects in which no byte but the last is a newline.
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

/// Whether a pattern may match few enough strings to list them.
fn may_be_finite(ast: &Ast) -> bool {
    fn is_small(ast: &Ast) -> bool {
        match ast {
            Ast::Class(set) => set.len() <= MOST_STRINGS,
            Ast::Concat(items) | Ast::Alternation(items) => items.iter().all(is_small),
            Ast::Repeat { max, sub, .. } => max.is_some() && is_small(sub),
            Ast::Capture { sub, .. } => is_small(sub),
            Ast::Superset { .. } => false,
            _ => true,
        }
    }
    ends(ast) && is_small(ast)
}

fn strings(translation: &Translation) -> Option<Vec<Vec<u8>>> {
    match finite(&translation.hir, MOST_STRINGS) {
        Finite::Strings { strings, any_case: false } if translation.exact => Some(strings),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::maps::example::with_rows;

    /// The beginnings, needs and strings of a row are found, and where PCRE may give up on it.
    #[test]
    fn known() {
        with_rows(
            &[
                "'~^/a$' 1;",
                "'~^/a/(.*)$' /b/$1;",
                "~^/a.*/b.*$ 3;",
                "~*agent 4;",
                "'~^/id/[0-9]{,3}' 5;",
                "~(?<n>x) 6;",
            ],
            false,
            |_, rows| {
                let facts =
                    |row: &super::RowFacts| (row.is_certain, row.is_certain_in_lines, row.spans_lines, row.is_plain);
                assert_eq!(facts(&rows[0]), (true, true, false, true));
                assert_eq!(rows[0].strings.as_deref(), Some(&[b"/a".to_vec(), b"/a\n".to_vec()][..]));
                assert_eq!(facts(&rows[1]), (true, true, false, false));
                assert!(rows[1].covers(true) && !rows[1].covers(false) && rows[1].strings.is_none());
                assert_eq!(facts(&rows[2]), (false, true, true, true));
                assert!(rows[2].is_skippable && !rows[2].covers(true));
                assert_eq!(
                    (rows[3].needs.as_slice(), facts(&rows[3])),
                    (&[b"agent".to_vec()][..], (true, true, true, true))
                );
                assert_eq!(facts(&rows[4]), (false, false, true, true));
                assert!(rows[4].is_skippable && rows[4].sequences()[0].bytes.len() == 3);
                assert!(!rows[5].is_plain && rows[5].beginnings.is_none());
            },
        );
    }
}
