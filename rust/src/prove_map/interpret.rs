//! Evaluates maps for a subject as nginx does, with real PCRE2, to find a counterexample when a proof fails.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use crate::language::{Limits, Question, Subjects, Witness, witness_among};
use crate::map_block::MapBlock;
use crate::pcre::Regex;
use crate::prove_map::row::{as_text, group_names};
use crate::prove_map::text::Texts;
use crate::syntax::Hir;
use crate::variables;

/// The most `match()` calls for a pattern and a subject. That is enough for the subjects that are tried here.
const CALLS: u32 = 10_000;
/// The most work of an interpreter: rows that are tried, and calls for patterns on which PCRE gives up.
const MOST_WORK: usize = 3_000_000;
/// The most states to visit to find the shortest match of a pattern.
const MOST_STATES: usize = 2_000;
/// The most rows from which subjects are derived, and the most subjects that are tried.
const MOST_ROWS: usize = 400;
const MOST_SUBJECTS: usize = 8_000;
/// The deepest nesting of evaluations. A value nested deeper is unknown; proved maps nest at most 40 deep.
const DEEPEST: usize = 60;

/// Evaluates maps, which are stored by the name of their variable with the patterns compiled so far.
pub struct Interpreter<'b> {
    source: &'b [u8],
    maps: HashMap<&'b [u8], &'b MapBlock<'b>>,
    regexes: RefCell<Regexes<'b>>,
    /// How much work is left.
    left: Cell<usize>,
}

/// Compiled patterns, by whether they ignore case, and by their text; `None` for a pattern that PCRE2 does not compile.
type Regexes<'b> = HashMap<(bool, &'b [u8]), Option<Regex>>;

/// The groups of a match, by number and by name.
type MatchGroups = (Vec<Vec<u8>>, Vec<(Vec<u8>, Vec<u8>)>);

/// What the last match captured, by number, and the variables that matches set by name.
#[derive(Default)]
struct Captured {
    numbered: Vec<Vec<u8>>,
    named: HashMap<Vec<u8>, Vec<u8>>,
}

impl<'b> Interpreter<'b> {
    pub fn new(source: &'b [u8], maps: impl Iterator<Item = &'b MapBlock<'b>>) -> Interpreter<'b> {
        let maps = maps.map(|block| (&*block.variable, block)).collect();
        Interpreter { source, maps, regexes: RefCell::default(), left: Cell::new(MOST_WORK) }
    }

    /// Returns the value of a variable for a subject. Variables that no map defines stay as written. `None` if the
    /// value is unknown, because maps are nested too deep, a pattern takes too long, or no work is left.
    pub fn value(&self, variable: &[u8], subject: &[u8]) -> Option<Vec<u8>> {
        self.evaluate(self.maps.get(variable)?, subject, &mut Captured::default(), 0)
    }

    fn evaluate(
        &self,
        block: &'b MapBlock<'b>,
        subject: &[u8],
        captures: &mut Captured,
        depth: usize,
    ) -> Option<Vec<u8>> {
        if depth > DEEPEST {
            return None;
        }
        let looked_up = self.expand(&block.source, subject, captures, depth)?;
        let looked_up = match looked_up.strip_suffix(b".") {
            Some(name) if block.hostnames => name,
            _ => &looked_up,
        };
        self.work(block.exact.len())?;
        if let Some(row) = block.exact.iter().find(|row| row.key.eq_ignore_ascii_case(looked_up)) {
            return self.expand(&row.value, subject, captures, depth);
        }
        for row in block.patterns.iter().filter(|_| !looked_up.is_empty()) {
            self.work(1)?;
            let Ok(found) = self.captures(&row.pattern, row.caseless, looked_up) else {
                return self.work(CALLS as usize).and(None);
            };
            if let Some(groups) = found {
                *captures = Captured { numbered: groups.0, named: std::mem::take(&mut captures.named) };
                captures.named.extend(groups.1);
                return self.expand(&row.value, subject, captures, depth);
            }
        }
        self.expand(block.fallback(), subject, captures, depth)
    }

    /// Subtracts from the work that is left. `None` if less is left.
    fn work(&self, work: usize) -> Option<()> {
        let left = self.left.get().checked_sub(work);
        self.left.set(left.unwrap_or(0));
        left.map(drop)
    }

    fn has_work_left(&self) -> bool {
        self.left.get() > 0
    }

    /// The groups of the match; `None` if there is no match. The error is a code of PCRE2.
    fn captures(&self, pattern: &'b [u8], caseless: bool, subject: &[u8]) -> Result<Option<MatchGroups>, i32> {
        let mut regexes = self.regexes.borrow_mut();
        let compile = || Regex::new(&as_text(pattern, caseless)).ok();
        let Some(regex) = regexes.entry((caseless, pattern)).or_insert_with(compile) else { return Ok(None) };
        let Some(ranges) = regex.captures(subject, CALLS)? else { return Ok(None) };
        let groups: Vec<Vec<u8>> =
            ranges.into_iter().map(|range| range.map(|range| subject[range].to_vec()).unwrap_or_default()).collect();
        let named = named_groups(pattern)
            .into_iter()
            .map(|(number, name)| (name.to_vec(), groups.get(number).cloned().unwrap_or_default()));
        let named = named.collect();
        Ok(Some((groups, named)))
    }

    /// Expands variables of the maps and captures in a value. A value that equals the source gives the subject.
    fn expand(&self, text: &'b [u8], subject: &[u8], captures: &mut Captured, depth: usize) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        let mut rest = text;
        while let Some((first, behind)) = rest.split_first() {
            if rest == self.source {
                value.extend_from_slice(subject);
                break;
            }
            let length = behind.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
            let name = &behind[..length];
            if *first != b'$' || name.is_empty() {
                value.push(*first);
                rest = behind;
            } else if name[0].is_ascii_digit() {
                let group = captures.numbered.get(usize::from(name[0] - b'0'));
                value.extend_from_slice(group.map_or(&[], Vec::as_slice));
                rest = &behind[1..];
            } else {
                match (self.maps.get(name), captures.named.get(name)) {
                    (Some(block), _) => value.extend(self.evaluate(block, subject, captures, depth + 1)?),
                    (None, Some(set)) => value.extend_from_slice(set),
                    (None, None) => value.extend_from_slice(&rest[..length + 1]),
                }
                rest = &behind[length..];
            }
        }
        Some(value)
    }
}

/// The named groups, each with its number.
fn named_groups(pattern: &[u8]) -> Vec<(usize, &[u8])> {
    let mut names = group_names(pattern).into_iter();
    let opens = (0..pattern.len()).filter(|&at| pattern[at] == b'(' && (at == 0 || pattern[at - 1] != b'\\'));
    let is_named = |at: usize| {
        let rest = &pattern[at..];
        rest.starts_with(b"(?P<")
            || rest.starts_with(b"(?<") && !rest.starts_with(b"(?<=") && !rest.starts_with(b"(?<!")
    };
    let capturing = opens.filter(|&at| pattern.get(at + 1) != Some(&b'?') || is_named(at));
    capturing.zip(1..).filter(|(at, _)| is_named(*at)).filter_map(|(_, number)| Some((number, names.next()?))).collect()
}

/// Searches for a subject for which the two texts give different values, among subjects that the rows suggest.
pub fn counterexample(texts: &Texts, suggested: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let original = Interpreter::new(&texts.original.source, std::iter::once(&texts.original));
    let emitted = Interpreter::new(&texts.original.source, texts.emitted());
    let variable = &texts.original.variable;
    let has_no_newline = variables::has_no_newline(&texts.original.source);
    let differs = |subject: &[u8]| {
        if has_no_newline && subject.contains(&b'\n') {
            return false;
        }
        let values = (original.value(variable, subject), emitted.value(variable, subject));
        matches!(values, (Some(before), Some(after)) if before != after)
    };
    let tried = suggested.into_iter().chain(suggestions(texts)).take(MOST_SUBJECTS);
    let mut tried = tried.take_while(|_| original.has_work_left() && emitted.has_work_left());
    tried.find_map(|subject| variants(&subject).into_iter().find(|variant| differs(variant)))
}

/// The empty subject, each key, and the shortest match of each pattern.
fn suggestions(texts: &Texts) -> impl Iterator<Item = Vec<u8>> {
    let blocks = || texts.emitted().chain([&texts.original]);
    let patterns = blocks().flat_map(|block| &block.patterns).map(|row| as_text(&row.pattern, row.caseless));
    let shortest = patterns.take(MOST_ROWS).filter_map(|text| {
        let hir: Hir = crate::syntax::parse(&text).ok()?.translate().hir;
        let limits = Limits { states: MOST_STATES, ..Limits::default() };
        match witness_among(Subjects::All, Question::Outside, &hir, &[], &limits) {
            Witness::Found(subject) => Some(subject),
            Witness::Nothing | Witness::Unknown => None,
        }
    });
    let keys = blocks().flat_map(|block| &block.exact).map(|row| row.key.to_vec());
    [Vec::new()].into_iter().chain(keys).chain(shortest)
}

/// A subject and close variants of it.
fn variants(subject: &[u8]) -> Vec<Vec<u8>> {
    let longer = [&b"x"[..], b"/", b"\n", b"\n\n", b"\nx", b"/x", b".", b"1"].map(|end| [subject, end].concat());
    let shorter = subject.split_last().map(|(_, rest)| rest.to_vec());
    let cases = [subject.to_ascii_uppercase(), subject.to_ascii_lowercase()];
    [subject.to_vec()].into_iter().chain(longer).chain(shorter).chain(cases).collect()
}

#[cfg(test)]
mod tests {
    use super::{Interpreter, MOST_WORK, counterexample};
    use crate::map_block;
    use crate::prove_map::Proved;
    use crate::prove_map::text::Texts;

    /// Order, exact keys, captures, the empty subject and nested maps behave as in nginx.
    #[test]
    fn as_nginx() {
        let text = br#"map $uri $v { "/E" $k; "~^/(?<n>a)(b)" "$1$2$n$host"; "~*^/C" c; default $w; }
            map $uri $k { "~^(?<key>/x|/e)" $key; } map "$k>$uri" $w { "~(?s)^(.+)>\1\z" same; default no; }"#;
        let blocks = map_block::read(text).unwrap();
        let maps = Interpreter::new(b"$uri", blocks.iter());
        for (subject, value) in
            [("/e", "/e"), ("/ab", "aba$host"), ("/c/", "c"), ("/x", "same"), ("/x>", "no"), ("", "no")]
        {
            assert_eq!(maps.value(b"v", subject.as_bytes()).unwrap(), value.as_bytes(), "{subject}");
        }
    }

    /// A value is unknown if a pattern takes too much work, or if all work is used up.
    #[test]
    fn bounded() {
        let text = br#"map $uri $v { "~^(a|aa)+$" 1; default 0; }"#;
        let blocks = map_block::read(text).unwrap();
        let maps = Interpreter::new(b"$uri", blocks.iter());
        assert_eq!(maps.value(b"v", b"aaa").unwrap(), b"1");
        assert_eq!(maps.value(b"v", &[&[b'a'; 60][..], b"b"].concat()), None);
        maps.work(MOST_WORK);
        assert_eq!((maps.value(b"v", b"aaa"), maps.has_work_left()), (None, false));
    }

    /// The search ends after a bounded amount of work, however many rows and keys there are.
    #[test]
    fn search_ends() {
        let rows = |value: &str| (0..20_000).map(|number| format!("~x{number}y {value};")).collect::<String>();
        let [original, emitted] = ["1", "1"].map(|value| format!("map $uri $v {{ {} }}", rows(value)));
        let texts = Texts::read(original.as_bytes(), emitted.as_bytes(), &Proved::default()).unwrap();
        assert_eq!(counterexample(&texts, None), None);
        let emitted = format!("map $uri $v {{ {} }}", rows("2"));
        let texts = Texts::read(original.as_bytes(), emitted.as_bytes(), &Proved::default()).unwrap();
        assert_eq!(counterexample(&texts, Some(b"x7y".to_vec())), Some(b"x7y".to_vec()));
    }
}
