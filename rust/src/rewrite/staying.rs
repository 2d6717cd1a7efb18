//! The rules of a section that stay, because no list of strings replaces them, and what decides where they may stand.

use std::borrow::Cow;
use std::ops::Range;

use crate::first_match::ReadPattern;
use crate::lexer::{Event, Lexer};
use crate::phase::Entering;
use crate::rewrite::filter::FilterRule;
use crate::rewrite::kinds::KindRule;
use crate::rewrite::reason::Reason;
use crate::rewrite::runs::{Barrier, Rule};
use crate::rewrite::target::Action;
use crate::syntax::Pattern;
use crate::unnamed::without_names;

/// A rule that stays, and what decides whether it may be in a group.
pub struct StayingRule<'r> {
    /// Its place in the run.
    pub place: usize,
    /// Its pattern as text, and what was read of it if that is possible.
    pub text: &'r [u8],
    pub read: Option<&'r ReadPattern>,
    /// Its pattern for a lookup, which sets no variables.
    pub unnamed: Cow<'r, [u8]>,
    pub statement: Cow<'r, [u8]>,
    /// If it ends the script: its number among the rules of its run, from 1, and the rule.
    in_run: Option<(usize, &'r Rule<'r>)>,
    /// Whether its pattern could be read, and PCRE may give up on it.
    pub may_give_up: bool,
    /// Whether it may be in a group: it fires on each URI that it matches, and an `if` around it changes nothing else.
    pub may_enter: bool,
}

impl<'r> StayingRule<'r> {
    pub fn new(
        bytes: &'r [u8],
        place: usize,
        (rule, read): (&'r Rule, Option<&'r ReadPattern>),
        number: usize,
        entering: Entering,
    ) -> Option<StayingRule<'r>> {
        let may_enter = entering == Entering::All || rule.action != Action::Break;
        let statement = on_one_line(&bytes[rule.span.clone()])?;
        let staying = StayingRule::read(place, (&rule.pattern, read), statement, may_enter);
        Some(StayingRule { in_run: Some((number, rule)), ..staying })
    }

    /// A rule that does not end the script.
    pub fn going_on(
        bytes: &'r [u8],
        place: usize,
        (barrier, read): (&'r Barrier, Option<&'r ReadPattern>),
    ) -> Option<StayingRule<'r>> {
        let statement = on_one_line(&bytes[barrier.span.clone()])?;
        Some(StayingRule::read(place, (&barrier.pattern, read), statement, false))
    }

    fn read(
        place: usize,
        (text, read): (&'r [u8], Option<&'r ReadPattern>),
        statement: Cow<'r, [u8]>,
        may_enter: bool,
    ) -> StayingRule<'r> {
        let may_give_up = read.is_some_and(|read| !read.bounds.always_answers);
        let unnamed = without_names(text);
        let may_enter = may_enter && read.is_some() && !may_give_up && unnamed.is_some();
        let unnamed = unnamed.unwrap_or(Cow::Borrowed(text));
        StayingRule { place, text, read, unnamed, statement, in_run: None, may_give_up, may_enter }
    }

    /// Its parsed pattern.
    pub fn pattern(&self) -> Option<&'r Pattern> {
        self.read.map(|read| &read.pattern)
    }

    pub fn ends_the_script(&self) -> bool {
        self.in_run.is_some()
    }

    pub fn for_kind(&self) -> Option<KindRule<'_>> {
        let (number, rule) = self.in_run?;
        Some(KindRule { number, rule, pattern: self.pattern()?, statement: &self.statement })
    }

    pub fn for_filter(&self) -> FilterRule<'_> {
        FilterRule { read: self.read, statement: &self.statement, may_fire: self.may_enter }
    }
}

/// Puts the words of a statement on one line, so that it can be indented. `None` if a word has a newline, or there is a
/// comment between the words.
fn on_one_line(statement: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !statement.contains(&b'\n') {
        return Some(Cow::Borrowed(statement));
    }
    let Some(Ok(Event::Statement { words, end })) = Lexer::new(statement).next() else { return None };
    let starts = words.iter().map(|word| word.start).chain([end - 1]);
    let texts: Vec<&[u8]> =
        words.iter().zip(starts.skip(1)).map(|(word, next)| statement[word.start..next].trim_ascii()).collect();
    let is_plain = |text: &&[u8]| !text.iter().any(|byte| b"\n#".contains(byte));
    texts.iter().all(is_plain).then(|| Cow::Owned([texts.join(&b' '), b";".to_vec()].concat()))
}

/// A rule that stays in a section.
#[derive(Clone, Copy)]
pub enum StayingItem<'r> {
    /// A rule that ends the script, its number among the rules of its run, from 1, and why it stays.
    Rule(&'r Rule<'r>, usize, Reason),
    Barrier(&'r Barrier<'r>),
}

impl StayingItem<'_> {
    pub fn span(&self) -> Range<usize> {
        match self {
            StayingItem::Rule(rule, ..) => rule.span.clone(),
            StayingItem::Barrier(barrier) => barrier.span.clone(),
        }
    }

    pub fn pattern(&self) -> &[u8] {
        match self {
            StayingItem::Rule(rule, ..) => &rule.pattern,
            StayingItem::Barrier(barrier) => &barrier.pattern,
        }
    }

    pub fn reason(&self) -> Reason {
        match self {
            StayingItem::Rule(.., reason) => *reason,
            StayingItem::Barrier(barrier) => barrier.reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::on_one_line;

    /// A statement is written on one line, unless it has a comment or a word of several lines.
    #[test]
    fn lines() {
        let line = |text: &str| on_one_line(text.as_bytes()).map(|line| String::from_utf8(line.to_vec()).unwrap());
        assert_eq!(line("rewrite ^/a  /b;").unwrap(), "rewrite ^/a  /b;");
        assert_eq!(line("rewrite ^/a\r\n\t\"/b c\"\n last ;").unwrap(), "rewrite ^/a \"/b c\" last;");
        assert_eq!(line("rewrite ^/a # why\n /b;"), None);
        assert_eq!(line("rewrite ^/a \"/b\n\";"), None);
    }
}
