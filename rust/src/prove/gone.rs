//! The strings of the removed rules, for which the theorem of [`super`] is checked.

use std::borrow::Cow;

use crate::pcre::{MatchOutcome, Regex};
use crate::prove::enumerate::{self, Enumeration, Letters};
use crate::prove::oracle::Matches;
use crate::prove::residual::Residual;
use crate::prove::strings::{NOBODY, Owners};
use crate::prove::work;
use crate::syntax::{self, Ast, Literal, Readings, Refusal};

/// The most strings listed for one rule.
///
/// The planner lists at most 1,024, and only if no anchor contradicts another. So each text on the way through a
/// pattern is the beginning of one of these strings, with at most three ends and two starts.
pub const LIMIT: usize = 3 * 2 * 1_024;
/// The most calls of PCRE2 for a string of a pattern. The planner allows fewer.
const CALLS: u32 = 100_000;
/// A string with up to this many letters is tried in each spelling.
const FEW_LETTERS: u32 = 8;

/// Returns the pattern of a removed rule as the declared readings have it. Fails for a pattern that cannot be read, if
/// any is declared.
pub fn declared<'p>(pattern: &'p [u8], readings: &Readings) -> Result<Cow<'p, [u8]>, Refusal> {
    Ok(syntax::read_as(pattern, readings)?.map_or(Cow::Borrowed(pattern), Cow::Owned))
}

/// Whether something else than a lookup of rules may have replaced a rule: its strings can be listed as declared, and it
/// is known for each whether one of the `staying` rules before `place` takes it. Otherwise, the rule stays, even if it
/// is never the first to match, so that no lookup finds it.
pub fn may_be_replaced(pattern: &[u8], readings: &Readings, place: usize, staying: &Residual) -> bool {
    let mut strings = GoneStrings::default();
    if !declared(pattern, readings).is_ok_and(|text| strings.add(&text, place).is_ok()) {
        return false;
    }
    let mut some_case = strings.any_case.iter().filter(|(string, _)| !strings.lists_all_spellings(string));
    !some_case.any(|(string, _)| staying.may_take_some_case(string, 0..place))
        && !strings.exact.iter().any(|(string, _)| staying.takes(string, 0..place) == Matches::Unknown)
}

/// The strings of the removed rules, each with the first rule that has it, and the keys of the maps.
#[derive(Default)]
pub struct GoneStrings {
    pub exact: Owners,
    /// Strings in lower case, each of which stands for all its spellings.
    pub any_case: Owners,
}

impl GoneStrings {
    /// An empty set with room for the strings of `count` rules.
    pub fn of_rules(count: usize) -> GoneStrings {
        GoneStrings { exact: Owners::with_capacity(count), any_case: Owners::default() }
    }

    /// Adds the strings of a pattern, or returns why they cannot be listed.
    pub fn add(&mut self, text: &[u8], place: usize) -> Result<(), &'static str> {
        if let Some(literal) = syntax::literal(text) {
            self.add_literal(&literal, place as u32);
            return Ok(());
        }
        self.add_general(text, place)
    }

    fn add_literal(&mut self, literal: &Literal, place: u32) {
        let mut add = |string: &[u8]| match literal.dollar {
            true => self.exact.add_twins(string, place),
            false => self.exact.add(string, place),
        };
        if let Some(optional) = literal.optional {
            add(&[&*literal.stem, &[optional]].concat());
        }
        add(&literal.stem);
    }

    /// Lists the strings of a pattern that is not a literal.
    fn add_general(&mut self, text: &[u8], place: usize) -> Result<(), &'static str> {
        let pattern = syntax::parse(text).map_err(|_| "PCRE versions read its pattern differently")?;
        if pattern.named {
            return Err("it has a named group");
        }
        if pattern.spaces {
            return Err("PCRE versions disagree about which bytes are spaces");
        }
        if !work::ends_in_time(&pattern.ast, 1) || pattern.longest() < usize::MAX {
            return Err("PCRE may give up on a URI that it does not match");
        }
        let ignores_case = pattern.ignores_case();
        let letters = if ignores_case { Letters::SmallOnly } else { Letters::Exact };
        let Enumeration::All(subjects) = enumerate::subjects(&pattern.ast, letters, LIMIT) else {
            return Err("it matches too many strings to list");
        };
        // If the tree is a superset of the language, PCRE2 decides which of its strings are in it.
        let judge = if is_exact(&pattern.ast) {
            None
        } else {
            Some(Regex::new(text).map_err(|_| "PCRE2 does not compile it")?)
        };
        for subject in subjects.iter().filter(|subject| !subject.contains(&0)) {
            match judge.as_ref().map(|regex| regex.is_match(subject, CALLS)) {
                None | Some(MatchOutcome::Yes) => {}
                Some(MatchOutcome::No) => continue,
                Some(MatchOutcome::Error(_)) => return Err("PCRE2 gives up on one of its strings"),
            }
            self.exact.add(subject, place as u32);
            if ignores_case {
                self.any_case.add(subject, place as u32);
            }
        }
        Ok(())
    }

    /// The removed rule that matches every spelling of a string; `NOBODY` if none does.
    pub fn any_case_owner(&self, string: &[u8]) -> u32 {
        if self.any_case.is_empty() {
            return NOBODY;
        }
        self.any_case.get(&string.to_ascii_lowercase()).unwrap_or(NOBODY)
    }

    /// Whether every spelling of `string` is listed.
    pub fn lists_all_spellings(&self, string: &[u8]) -> bool {
        let letters: Vec<usize> = (0..string.len()).filter(|at| string[*at].is_ascii_alphabetic()).collect();
        letters.len() <= FEW_LETTERS as usize
            && (0u32..1 << letters.len()).all(|capitals| {
                let mut spelling = string.to_vec();
                for (bit, at) in letters.iter().enumerate() {
                    if capitals >> bit & 1 == 1 {
                        spelling[*at].make_ascii_uppercase();
                    }
                }
                self.exact.get(&spelling).is_some()
            })
    }
}

/// Whether the tree is exactly the language of the pattern.
fn is_exact(ast: &Ast) -> bool {
    match ast {
        Ast::Superset { .. } | Ast::WordBoundary | Ast::NotWordBoundary => false,
        Ast::Concat(parts) | Ast::Alternation(parts) => parts.iter().all(is_exact),
        Ast::Repeat { sub, .. } | Ast::Capture { sub, .. } => is_exact(sub),
        Ast::Empty | Ast::Byte(_) | Ast::Class(_) | Ast::Start | Ast::Dollar | Ast::End => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule is listed as it is declared, and not as it is written.
    #[test]
    fn listed_as_declared() {
        let is_listed =
            |pattern: &[u8], readings: &Readings| may_be_replaced(pattern, readings, 1, &Residual::default());
        let ends = Readings { literal_ends: true, ..Readings::default() };
        assert!(!is_listed(b"^/old", &Readings::default()) && is_listed(b"^/old", &ends));
        assert!(!is_listed(b"^/old/(.*)$", &ends));
        let dots = Readings { literal_dots: true, ..Readings::default() };
        assert_eq!(declared(b"^/a.b$", &dots).unwrap(), &br"^/a\.b$"[..]);
        assert!(matches!(declared(b"^/a.b$", &Readings::default()), Ok(Cow::Borrowed(_))));
    }

    /// A rule stays behind one of which it is unknown whether it takes a string, or a spelling of one.
    #[test]
    fn behind_doubt() {
        let case = Readings { ignore_case: true, ..Readings::default() };
        let may = |staying: &'static str, pattern: &[u8], readings: &Readings| {
            let staying = Residual::new(std::iter::once((1, staying.as_bytes())));
            (may_be_replaced(pattern, readings, 2, &staying), may_be_replaced(pattern, readings, 1, &staying))
        };
        assert_eq!(may("^/Shop/(.*)$", b"^/shop/all$", &case), (false, true));
        assert_eq!(may("^/shop/(.*)$", b"^/shop/all$", &Readings::default()), (true, true));
        assert_eq!(may("^/shop/(.*)$", b"^/shopping/all$", &case), (true, true));
        assert_eq!(may("^/x{,3}(.*)$", b"^/xylophone$", &Readings::default()), (false, true));
    }
}
