//! Proves filters. A filter is a pattern that matches every subject on which PCRE matches one of several patterns, or
//! gives up on one of them.

use crate::first_match::{First, FirstMatch, ReadPattern};
use crate::prove_map::ask::Questions;
use crate::prove_map::guard::{Guarding, are_same};
use crate::prove_map::row::OriginalRow;
use crate::syntax::{Ast, Hir, Pattern};

/// A filter. PCRE never gives up on it.
pub struct Filter<'f> {
    text: &'f [u8],
    language: ReadPattern,
    questions: Questions,
}

/// Why a pattern is no filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFilter {
    /// A named group sets a variable.
    SetsAName,
    /// The language of the pattern is not known exactly, or PCRE may give up on the pattern.
    Unknown,
}

/// A filter turns away a subject that should pass. Holds that subject, if one was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnedAway(pub Option<Vec<u8>>);

impl<'f> Filter<'f> {
    /// Reads the pattern of a filter.
    pub fn read(text: &'f [u8]) -> Result<Filter<'f>, NoFilter> {
        let language = ReadPattern::of(text);
        let row = OriginalRow::of_pattern(text, language.as_ref());
        if row.is_named {
            return Err(NoFilter::SetsAName);
        }
        if row.exact().is_none() {
            return Err(NoFilter::Unknown);
        }
        let language = language.ok_or(NoFilter::Unknown)?;
        Ok(Filter { text, language, questions: Questions::default() })
    }

    /// Checks that every subject passes on which PCRE matches a pattern or gives up on it.
    pub fn lets_pass(&self, pattern: &[u8]) -> Result<(), TurnedAway> {
        let read = ReadPattern::of(pattern);
        let row = OriginalRow::of_pattern(pattern, read.as_ref());
        let hir = &self.language.translation.hir;
        let guarding = Guarding::new(&self.language.pattern.ast);
        let by_beginning =
            || row.beginning().is_some_and(|begun| guarding.is_begun_by_pattern(&begun.pattern.ast, row.reach()));
        let by_content = || {
            row.events().is_some_and(|events| {
                guarding.is_held_by_pattern(&events.pattern.ast)
                    || self.questions.is_included(&events.translation.hir, &[hir])
            })
        };
        if (by_beginning() || by_content()) && self.passes_if_empty(pattern) {
            return Ok(());
        }
        Err(TurnedAway(row.events().and_then(|events| self.questions.outside(&events.translation.hir, hir))))
    }

    /// Whether each subject that passes is matched by one of the patterns, and PCRE gives up on none of these.
    pub fn is_exact(&self, patterns: &[&[u8]]) -> bool {
        let read: Vec<Option<ReadPattern>> = patterns.iter().map(|pattern| ReadPattern::of(pattern)).collect();
        let rows = patterns.iter().zip(&read).map(|(pattern, read)| OriginalRow::of_pattern(pattern, read.as_ref()));
        let exact: Option<Vec<&ReadPattern>> = rows.map(|row| row.exact()).collect();
        exact.is_some_and(|exact| self.is_in(&exact)) && (!matches_empty(&[self.text]) || matches_empty(patterns))
    }

    /// Whether the patterns match all that the filter does. A branch of the filter that is a branch of a pattern needs no
    /// automaton, which would be large for `[a-z]{2000}`.
    fn is_in(&self, patterns: &[&ReadPattern]) -> bool {
        let own = branches(&self.language.pattern.ast);
        let of_patterns: Vec<&[Ast]> = patterns.iter().map(|pattern| branches(&pattern.pattern.ast)).collect();
        let is_one_of = |branch: &Ast, others: &[Ast]| others.iter().any(|other| are_same(branch, other));
        let has = |branch: &&Ast| of_patterns.iter().any(|others| is_one_of(branch, others));
        let others: Vec<Ast> = own.iter().filter(|branch| !has(branch)).cloned().collect();
        if others.is_empty() {
            return true;
        }
        let is_in = |language: &Hir, patterns: &[&ReadPattern]| {
            let hirs: Vec<&Hir> = patterns.iter().map(|pattern| &pattern.translation.hir).collect();
            self.questions.is_included(language, &hirs)
        };
        let is_all_own = |at: &usize| of_patterns[*at].iter().all(|branch| is_one_of(branch, own));
        let left: Vec<&ReadPattern> = (0..patterns.len()).filter(|at| !is_all_own(at)).map(|at| patterns[at]).collect();
        let others = Pattern { ast: Ast::Alternation(others), ..self.language.pattern.clone() }.translate();
        (left.len() < patterns.len() && others.exact && is_in(&others.hir, &left))
            || is_in(&self.language.translation.hir, patterns)
    }

    /// Whether the empty subject passes, if it has to.
    fn passes_if_empty(&self, pattern: &[u8]) -> bool {
        let Ok(index) = FirstMatch::new(&[pattern]) else { return false };
        index.first(b"", 1) == First::None || matches_empty(&[self.text])
    }
}

/// The branches of a pattern.
fn branches(ast: &Ast) -> &[Ast] {
    match ast {
        Ast::Alternation(branches) => branches,
        Ast::Capture { sub, .. } => branches(sub),
        ast => std::slice::from_ref(ast),
    }
}

/// Whether PCRE may give up on a pattern.
pub fn may_give_up(pattern: &[u8]) -> bool {
    ReadPattern::of(pattern).is_none_or(|read| !read.bounds.always_answers)
}

/// Whether one of the patterns certainly matches the empty subject, and none before it gives up.
fn matches_empty(patterns: &[&[u8]]) -> bool {
    FirstMatch::new(patterns).is_ok_and(|index| matches!(index.first(b"", patterns.len()), First::Match(_)))
}

#[cfg(test)]
mod tests {
    use super::{Filter, NoFilter, TurnedAway};

    fn check(filter: &str, patterns: &[&str]) -> Result<bool, TurnedAway> {
        let filter = Filter::read(filter.as_bytes()).unwrap();
        let patterns: Vec<&[u8]> = patterns.iter().map(|pattern| pattern.as_bytes()).collect();
        patterns.iter().try_for_each(|pattern| filter.lets_pass(pattern))?;
        Ok(filter.is_exact(&patterns))
    }

    /// A filter lets pass all that the patterns match, and possibly more.
    #[test]
    fn languages() {
        assert_eq!(check("^/(?:a|b)", &["^/a/(.*)$", "^/b"]), Ok(false));
        assert_eq!(check("^/(?:a/[^\n]*$|b)", &["^/a/(.*)$", "^/b"]), Ok(true));
        assert_eq!(check("^/(?:a|b)?$", &["^/a$", "^/b$"]), Ok(false));
        assert_eq!(check("(?i)bot|x", &["(?i)(Bot|x)", "BOT"]), Ok(true));
        assert!(check("^/(?:a|b)", &["^/a", "/b"]).is_err() && check("^/b$", &[r"^/b\n?$"]).is_err());
        assert_eq!(check("^/a", &["^/A"]), Err(TurnedAway(Some(b"/A".to_vec()))));
        assert_eq!(Filter::read(b"^/(?<n>a|b)").err(), Some(NoFilter::SetsAName));
        for unclear in ["^/a(?!b)", "^/(a+)+$", "^/(.*)/(.*)x", r"^/a\s", r"(a)\1"] {
            assert_eq!(Filter::read(unclear.as_bytes()).err(), Some(NoFilter::Unknown), "{unclear}");
        }
    }

    /// Branches that a pattern has are compared as they are written.
    #[test]
    fn same_branches() {
        let long = ["(?i)([a-z0-9]{2000})", "(?i)(javascript:)(.*)(;|%3B)", "(?i)eval(\\()"];
        assert_eq!(check("(?i)[0-9a-z]{2000}|javascript:.*(?:;|%3b)|eval\\(", &long), Ok(true));
        assert_eq!(check("^/a|^/(?:b|c)|x$", &["^/a", "^/b", "x$", "^/c"]), Ok(true));
        assert_eq!(check("^/a|^/(?:b|c)|x", &["^/a", "^/b", "x$", "^/c"]), Ok(false));
    }

    /// Subjects on which PCRE gives up pass.
    #[test]
    fn giving_up() {
        assert_eq!(check("^/a", &["^/a(b+)+$", "^/a/(.*)/(.*)x"]), Ok(false));
        assert_eq!(check("/a/", &["^.*/a/.*-(b+)(c|d)?$", "^/x/a/(b+)+$"]), Ok(false));
        assert!(check("/a/b", &["^.*/a/.*-(.*)-(.*)b$"]).is_err() && check("^/a/", &["^.*/a/.*-(.*)-(.*)b$"]).is_err());
        assert!(check("^/abb", &["^/a(b+)+$"]).is_err());
        assert!(check("^/a/", &["^/a/x/(.*)/(.*)x", "^/(a|b)+c"]).is_err());
        assert!(check("x", &["(.*)/(.*)x"]).is_err());
        assert!(check("^/a", &["^/a(?=b)"]).is_err() && check("^/a", &["^/a{,3}"]).is_err());
    }

    /// The empty subject, to which `try_files` may lead, is a subject like the others.
    #[test]
    fn empty() {
        assert!(check("^/", &["^(?:/.*)?$"]).is_err());
        assert_eq!(check("^(?:/[^\n]*)?$", &["^(?:/.*)?$"]), Ok(true));
        assert_eq!(check("^(?:/|\\z)", &["^/"]), Ok(false));
    }
}
