//! The regex rows of the original map, and what is known of each.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::first_match::{ReadPattern, ReadPatterns};
use crate::map_block::{MapBlock, PatternRow};
use crate::parallel;
use crate::prove_map::guard::Reach;
use crate::prove_map::heads::heads;
use crate::prove_map::obligation::{MapRefutation, Obligation, Proved, refute};
use crate::prove_map::words::Ways;
use crate::syntax::{self, Translation};

/// A regex row of the original.
pub struct OriginalRow<'b> {
    pub pattern: &'b [u8],
    pub caseless: bool,
    pub value: &'b [u8],
    /// The pattern, written as PCRE reads it without options.
    text: &'b [u8],
    /// The parsed pattern; `None` if PCRE versions read it differently.
    pub language: Option<&'b ReadPattern>,
    /// Whether PCRE may give up on a subject of up to 65,536 bytes. nginx then answers the default.
    pub may_give_up: bool,
    /// Whether PCRE may give up on such a subject that has no inner newline.
    pub may_give_up_in_lines: bool,
    /// Whether PCRE neither matches nor gives up on a subject that differs from the beginning of the pattern.
    has_heads: bool,
    /// Whether a group has a name, so that a match sets a variable.
    pub is_named: bool,
    /// Whether the value has captures, so that it needs a match of its own pattern.
    pub has_captures: bool,
}

impl<'b> OriginalRow<'b> {
    /// A row for a pattern that belongs to no map.
    pub fn of_pattern(pattern: &'b [u8], read: Option<&'b ReadPattern>) -> OriginalRow<'b> {
        OriginalRow::new((pattern, false, b""), (pattern, read))
    }

    /// Takes the pattern of a row, whether it ignores case, and the value; then the pattern, written as PCRE reads it
    /// without options, and what was read of it.
    fn new(
        (pattern, caseless, value): (&'b [u8], bool, &'b [u8]),
        (text, language): (&'b [u8], Option<&'b ReadPattern>),
    ) -> OriginalRow<'b> {
        let is_anchored = language.is_some_and(|language| is_anchored(&language.translation));
        let may_give_up = language.is_none_or(|language| !language.bounds.always_answers);
        OriginalRow {
            pattern,
            caseless,
            value,
            text,
            has_heads: language.is_none_or(|language| is_anchored && (!may_give_up || language.bounds.before_prefix)),
            may_give_up,
            may_give_up_in_lines: language.is_none_or(|language| !language.bounds.in_lines),
            is_named: language.map_or_else(|| may_have_names(pattern), |language| language.pattern.named),
            has_captures: has_captures(value),
            language,
        }
    }

    /// The strings with which every subject begins on which PCRE matches or gives up. If `fold`, they are in lower
    /// case; otherwise, the prefix of a pattern that could not be parsed is [`Heads::AnyCase`].
    pub fn heads(&self, fold: bool) -> Heads {
        match self.language {
            _ if !self.has_heads => Heads::Exact(vec![Vec::new()]),
            Some(language) => Heads::Exact(heads(&language.pattern.ast, fold)),
            None => match syntax::prefix(self.text) {
                prefix if fold || prefix.is_empty() => Heads::Exact(vec![prefix]),
                prefix => Heads::AnyCase(prefix),
            },
        }
    }

    /// The language, if it is known exactly and PCRE never gives up on it.
    pub fn exact(&self) -> Option<&'b ReadPattern> {
        self.language.filter(|language| language.translation.exact && !self.may_give_up)
    }

    /// The parsed pattern, if PCRE neither matches nor gives up on a subject that differs from it before the first
    /// unbounded repetition.
    pub fn beginning(&self) -> Option<&'b ReadPattern> {
        self.language.filter(|_| self.has_heads)
    }

    /// How far a guard may be compared with the pattern.
    pub fn reach(&self) -> Reach {
        if self.may_give_up { Reach::Repetition } else { Reach::End }
    }

    /// A language that contains all subjects on which PCRE matches or gives up; `None` stands for all subjects.
    pub fn events(&self) -> Option<&'b ReadPattern> {
        self.language.and_then(ReadPattern::events)
    }

    /// The text that every match begins with, as far as it is known of a pattern that could not be parsed.
    pub fn prefix(&self) -> Vec<u8> {
        syntax::prefix(self.text)
    }
}

/// The beginnings of subjects, either spelled exactly or in any case.
pub enum Heads {
    Exact(Vec<Vec<u8>>),
    AnyCase(Vec<u8>),
}

/// The pattern, with `~*` written as `(?i)`.
pub fn as_text(pattern: &[u8], caseless: bool) -> Cow<'_, [u8]> {
    if caseless { Cow::Owned([b"(?i)", pattern].concat()) } else { Cow::Borrowed(pattern) }
}

/// Whether each match starts at the start of the subject.
pub fn is_anchored(translation: &Translation) -> bool {
    translation.hir.properties().look_set_prefix().contains(regex_syntax::hir::Look::Start)
}

/// Whether a value has numbered captures such as `$1`.
pub fn has_captures(value: &[u8]) -> bool {
    let is_capture = |rest: &[u8]| matches!(rest, [b'$', b'0'..=b'9', ..] | [b'$', b'{', b'0'..=b'9', ..]);
    (0..value.len()).any(|at| is_capture(&value[at..]))
}

/// Whether a pattern that could not be parsed may have a named group.
fn may_have_names(pattern: &[u8]) -> bool {
    !group_names(pattern).is_empty()
}

/// Returns everything that may be the name of a group.
pub fn group_names(pattern: &[u8]) -> Vec<&[u8]> {
    let name = |rest: &'_ [u8]| -> Option<usize> {
        let skipped = [&b"(?<"[..], b"(?P<", b"(?'"].into_iter().find(|opening| rest.starts_with(opening))?.len();
        rest.get(skipped).is_some_and(|byte| !b"=!".contains(byte)).then_some(skipped)
    };
    let names = (0..pattern.len()).filter_map(|at| Some(at + name(&pattern[at..])?));
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    names.map(|start| &pattern[start..][..pattern[start..].iter().take_while(|byte| is_word(byte)).count()]).collect()
}

/// The rows in order, and an index from their patterns to their places.
pub struct Rows<'b> {
    pub list: Vec<OriginalRow<'b>>,
    /// Their patterns.
    pub patterns: &'b ReadPatterns,
    /// The places of case-sensitive rows, and of caseless rows.
    places: [HashMap<&'b [u8], Vec<usize>>; 2],
    values: HashSet<&'b [u8]>,
    ways: OnceLock<Ways<'b>>,
}

impl<'b> Rows<'b> {
    /// Collects the rows of a map. `patterns` are those of the rows. O(total length), on all processors.
    pub fn new(block: &'b MapBlock<'_>, patterns: &'b ReadPatterns) -> Rows<'b> {
        let row = |place: usize| {
            let row = &block.patterns[place];
            let read = (patterns.text(place), patterns.get(place));
            OriginalRow::new((&row.pattern, row.caseless, &row.value), read)
        };
        let list: Vec<OriginalRow> = parallel::collect(block.patterns.len(), row);
        let mut places: [HashMap<_, Vec<usize>>; 2] = Default::default();
        for (place, row) in list.iter().enumerate() {
            places[usize::from(row.caseless)].entry(row.pattern).or_default().push(place);
        }
        let values = list.iter().map(|row| row.value).collect();
        Rows { list, patterns, places, values, ways: OnceLock::new() }
    }

    /// The rows by the ways through their patterns.
    pub fn ways(&self) -> &Ways<'b> {
        let read = |(place, row): (usize, &OriginalRow<'b>)| {
            let language = row.exact().filter(|language| language.pattern.looks.is_empty())?;
            Some((place, row.value, &language.pattern.ast))
        };
        let is_free = |(place, _): &(usize, &OriginalRow<'b>)| self.why_bound(*place).is_none();
        self.ways
            .get_or_init(|| Ways::new(self.list.len(), self.list.iter().enumerate().filter(is_free).filter_map(read)))
    }

    /// Whether a value is that of some row.
    pub fn has_value(&self, value: &[u8]) -> bool {
        self.values.contains(value)
    }

    /// Whether an emitted row has the value of some row, but the pattern of none.
    pub fn is_new(&self, row: &PatternRow) -> bool {
        self.has_value(&row.value) && self.with_text(row.caseless, &row.pattern).is_empty()
    }

    /// The first row with this pattern and value after the row `behind`, or else the first of all such rows.
    pub fn find(&self, caseless: bool, pattern: &[u8], value: &[u8], behind: Option<usize>) -> Option<usize> {
        let equal = || self.with_text(caseless, pattern).iter().filter(|&&place| self.list[place].value == value);
        equal().find(|&&place| behind.is_none_or(|last| place > last)).or_else(|| equal().next()).copied()
    }

    /// All rows with this pattern.
    pub fn with_text(&self, caseless: bool, pattern: &[u8]) -> &[usize] {
        self.places[usize::from(caseless)].get(pattern).map_or(&[], Vec::as_slice)
    }

    /// The name of a row in messages, counted from 1.
    pub fn name(&self, row: usize) -> String {
        format!("row {} \"{}\"", row + 1, self.list[row].pattern.escape_ascii())
    }

    /// Whether a value is the value of a row, as it is written with or without numbers.
    pub fn says(&self, row: usize, value: &[u8], numbers: Option<Numbers>) -> bool {
        match numbers {
            None => value == self.list[row].value,
            Some(numbers) => numbers.split(value) == Some((row, self.list[row].value)),
        }
    }

    /// Checks that the value of a row may be used without its pattern.
    pub fn check_moves(&self, row: usize, proved: &Proved) -> Result<(), MapRefutation> {
        let Some(what) = self.why_bound(row) else {
            proved.discharge(Obligation::Captures);
            return Ok(());
        };
        refute(Obligation::Captures, format!("{} {what}, but stands without its pattern", self.name(row)))
    }

    pub fn why_bound(&self, row: usize) -> Option<&'static str> {
        let row = &self.list[row];
        match () {
            () if row.has_captures => Some("has captures in its value"),
            () if row.is_named => Some("sets a variable by name"),
            () => None,
        }
    }

    /// Whether no earlier row has the same pattern. Such a row would decide on all subjects of this one.
    pub fn is_first_of_its_text(&self, place: usize) -> bool {
        let row = &self.list[place];
        self.with_text(row.caseless, row.pattern).first() == Some(&place)
    }
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    pub digits: usize,
}

impl Numbers {
    /// Splits a value into the number of its row and the rest.
    pub fn split<'v>(&self, value: &'v [u8]) -> Option<(usize, &'v [u8])> {
        let number = value.get(..self.digits).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
        let number: usize = std::str::from_utf8(number).ok()?.parse().ok()?;
        Some((number, value[self.digits..].strip_prefix(b"|")?))
    }
}

#[cfg(test)]
mod tests {
    use super::{group_names, has_captures};

    /// Captures are distinguished from other variables and from a lone dollar.
    #[test]
    fn captures() {
        assert!(has_captures(b"/a/$1") && has_captures(b"${2}x"));
        assert!(!has_captures(b"/a/$host$") && !has_captures(b"1$"));
    }

    /// The three spellings of named groups are found; look-behinds have no name.
    #[test]
    fn names() {
        assert_eq!(group_names(b"^(?<a>x)(?P<b_1>y)(?'c'z)(?<=d)(?<!e)"), [&b"a"[..], b"b_1", b"c"]);
    }
}
