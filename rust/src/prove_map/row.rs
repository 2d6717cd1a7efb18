//! The regex rows of the original, and what is known of each.

use std::collections::HashMap;

use crate::first_match::{Bounds, Required};
use crate::map_block::MapBlock;
use crate::parallel;
use crate::prove_map::guard::Reach;
use crate::prove_map::heads::heads;
use crate::prove_map::obligation::{MapRefutation, Obligation, Proved, refute};
use crate::prove_map::prover::Numbers;
use crate::syntax::{self, Pattern, Translation};

/// A regex row of the original.
pub struct OriginalRow<'b> {
    pub pattern: &'b [u8],
    pub caseless: bool,
    pub value: &'b [u8],
    /// The pattern as PCRE takes it without options.
    pub text: Vec<u8>,
    /// The parsed pattern; `None` if PCRE versions read it differently.
    pub language: Option<Language>,
    /// Whether PCRE may give up on a subject of up to 65,536 bytes, on which nginx then answers the default.
    pub may_give_up: bool,
    /// The same for subjects without an inner newline.
    pub may_give_up_in_lines: bool,
    /// Whether PCRE neither matches nor gives up on a subject that differs from the beginning of the pattern.
    has_heads: bool,
    /// Whether a group has a name: a match then sets a variable.
    pub is_named: bool,
    /// Whether the value has captures, which only a match of its own pattern sets.
    pub has_captures: bool,
}

pub struct Language {
    pub pattern: Pattern,
    pub translation: Translation,
}

impl Language {
    /// Reads a pattern that PCRE takes without options.
    pub fn of(text: &[u8]) -> Option<Language> {
        let pattern = syntax::parse(text).ok()?;
        let translation = pattern.translate();
        Some(Language { pattern, translation })
    }
}

impl<'b> OriginalRow<'b> {
    /// What is known of the pattern of a rule.
    pub fn of_pattern(pattern: &'b [u8]) -> OriginalRow<'b> {
        OriginalRow::new(pattern, false, b"")
    }

    fn new(pattern: &'b [u8], caseless: bool, value: &'b [u8]) -> OriginalRow<'b> {
        let text = as_text(pattern, caseless);
        let language = Language::of(&text);
        let bounds = language.as_ref().map(|Language { pattern, translation }| Bounds::of(pattern, &translation.hir));
        let is_anchored = language.as_ref().is_some_and(|language| is_anchored(&language.translation));
        let may_give_up = bounds.is_none_or(|bounds| !bounds.always_answers);
        OriginalRow {
            pattern,
            caseless,
            value,
            has_heads: match bounds {
                Some(bounds) => is_anchored && (!may_give_up || bounds.before_prefix),
                None => true,
            },
            may_give_up,
            may_give_up_in_lines: bounds.is_none_or(|bounds| !bounds.in_lines),
            is_named: language.as_ref().map_or_else(|| may_have_names(pattern), |language| language.pattern.named),
            has_captures: has_captures(value),
            text,
            language,
        }
    }

    /// What each match contains, for an index.
    pub fn required(&self) -> Required {
        match &self.language {
            Some(language) => Required::of_read(&language.pattern, &language.translation),
            None => Required::of_unread(&self.text),
        }
    }

    /// The strings that subjects begin with where PCRE matches or gives up. With `fold` they are in lower case. Without
    /// it, the prefix of a pattern that could not be parsed is [`Heads::AnyCase`].
    pub fn heads(&self, fold: bool) -> Heads {
        match &self.language {
            _ if !self.has_heads => Heads::Exact(vec![Vec::new()]),
            Some(language) => Heads::Exact(heads(&language.pattern.ast, fold)),
            None => match syntax::prefix(&self.text) {
                prefix if fold || prefix.is_empty() => Heads::Exact(vec![prefix]),
                prefix => Heads::AnyCase(prefix),
            },
        }
    }

    /// The language, if it is known exactly and PCRE never gives up on it.
    pub fn exact(&self) -> Option<&Language> {
        self.language.as_ref().filter(|language| language.translation.exact && !self.may_give_up)
    }

    /// The parsed pattern, if PCRE neither matches nor gives up on a subject that differs from it before the first
    /// unbounded repetition.
    pub fn beginning(&self) -> Option<&Language> {
        self.language.as_ref().filter(|_| self.has_heads)
    }

    /// How far a guard may be compared with the pattern.
    pub fn reach(&self) -> Reach {
        if self.may_give_up { Reach::Repetition } else { Reach::End }
    }

    /// A language that contains all subjects on which PCRE matches or gives up; `None` stands for all subjects.
    pub fn events(&self) -> Option<&Language> {
        self.language.as_ref().filter(|_| !self.may_give_up)
    }
}

/// The beginnings of subjects: spelled as requested, or in any case of letters.
pub enum Heads {
    Exact(Vec<Vec<u8>>),
    AnyCase(Vec<u8>),
}

/// The pattern, with `~*` written as `(?i)`.
pub fn as_text(pattern: &[u8], caseless: bool) -> Vec<u8> {
    if caseless { [b"(?i)", pattern].concat() } else { pattern.to_vec() }
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

/// Everything that may be the name of a group.
pub fn group_names(pattern: &[u8]) -> Vec<&[u8]> {
    let name = |rest: &'_ [u8]| -> Option<usize> {
        let skipped = [&b"(?<"[..], b"(?P<", b"(?'"].into_iter().find(|opening| rest.starts_with(opening))?.len();
        rest.get(skipped).is_some_and(|byte| !b"=!".contains(byte)).then_some(skipped)
    };
    let names = (0..pattern.len()).filter_map(|at| Some(at + name(&pattern[at..])?));
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    names.map(|start| &pattern[start..][..pattern[start..].iter().take_while(|byte| is_word(byte)).count()]).collect()
}

/// The rows in order, and an index from their text to their places.
pub struct Rows<'b> {
    pub list: Vec<OriginalRow<'b>>,
    /// The places of case-sensitive rows, and of caseless rows.
    places: [HashMap<&'b [u8], Vec<usize>>; 2],
}

impl<'b> Rows<'b> {
    /// O(total length of the patterns), on all processors.
    pub fn new(block: &'b MapBlock<'_>) -> Rows<'b> {
        let patterns = &block.patterns;
        let read =
            |place: usize| OriginalRow::new(&patterns[place].pattern, patterns[place].caseless, &patterns[place].value);
        let list: Vec<OriginalRow> = parallel::collect(patterns.len(), read);
        let mut places: [HashMap<_, Vec<usize>>; 2] = Default::default();
        for (place, row) in list.iter().enumerate() {
            places[usize::from(row.caseless)].entry(row.pattern).or_default().push(place);
        }
        Rows { list, places }
    }

    /// The first row with this text and value after the row `behind`, else the first of all such rows.
    pub fn find(&self, caseless: bool, pattern: &[u8], value: &[u8], behind: Option<usize>) -> Option<usize> {
        let equal = || self.with_text(caseless, pattern).iter().filter(|&&place| self.list[place].value == value);
        equal().find(|&&place| behind.is_none_or(|last| place > last)).or_else(|| equal().next()).copied()
    }

    /// All rows with this text.
    pub fn with_text(&self, caseless: bool, pattern: &[u8]) -> &[usize] {
        self.places[usize::from(caseless)].get(pattern).map_or(&[], Vec::as_slice)
    }

    /// The name of a row in messages, counted from 1.
    pub fn name(&self, row: usize) -> String {
        format!("row {} \"{}\"", row + 1, self.list[row].pattern.escape_ascii())
    }

    /// Whether a value is that of a row, as it is written with or without numbers.
    pub fn says(&self, row: usize, value: &[u8], numbers: Option<Numbers>) -> bool {
        match numbers {
            None => value == self.list[row].value,
            Some(numbers) => numbers.split(value) == Some((row, self.list[row].value)),
        }
    }

    /// Checks that the value of a row may stand without its own pattern.
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

    /// Whether no earlier row has the same text. An earlier one would decide on all subjects of this one.
    pub fn is_first_of_its_text(&self, place: usize) -> bool {
        let row = &self.list[place];
        self.with_text(row.caseless, row.pattern).first() == Some(&place)
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
