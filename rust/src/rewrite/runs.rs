//! Reads the bytes of a configuration into runs: maximal sequences of rules that each end the script when they match.

use std::borrow::Cow;
use std::ops::Range;

use crate::lexer::{LexError, Lexer, RawEvent, Word};
use crate::quote::quote;
use crate::rewrite::reason::Reason;
use crate::rewrite::target::{self, Action, NotTerminal};

/// One `rewrite` as written.
#[derive(Clone, Debug)]
pub struct Rule<'a> {
    /// The range of the statement in the file, `;` included.
    pub span: Range<usize>,
    pub pattern: Cow<'a, [u8]>,
    pub replacement: Cow<'a, [u8]>,
    pub action: Action,
}

impl Rule<'_> {
    /// The rule as a statement, with another pattern.
    pub fn written(&self, pattern: &[u8]) -> Vec<u8> {
        let mut out = b"rewrite ".to_vec();
        quote(pattern, &mut out);
        out.push(b' ');
        quote(&self.replacement, &mut out);
        out.push(b' ');
        out.extend_from_slice(self.action.flag().as_bytes());
        out.push(b';');
        out
    }
}

/// A sequence of terminal rules with nothing of the rewrite module between them.
#[derive(Clone, Debug, Default)]
pub struct Run<'a> {
    pub rules: Vec<Rule<'a>>,
    /// As [`Barrier::portion`].
    pub portion: usize,
    /// Whether statements that an earlier compilation wrote come directly before the run.
    pub is_behind: bool,
    /// Whether it is the last of the script of a server.
    pub is_last: bool,
    /// The number of rules that come before the run without anything between, including those of an earlier
    /// compilation.
    pub before: usize,
}

impl Run<'_> {
    /// The number, from 1, of the rule at a place among all rules that follow one another.
    pub fn number(&self, place: usize) -> usize {
        self.before + place + 1
    }
}

/// A rule that does not end the script. It ends a run.
#[derive(Clone, Debug)]
pub struct Barrier<'a> {
    pub span: Range<usize>,
    pub pattern: Cow<'a, [u8]>,
    pub reason: Reason,
    /// Rules and barriers with the same number have no other statement of the rewrite module between them.
    pub portion: usize,
}

/// Why rewrites cannot be read. nginx does not start with them either.
#[derive(Debug)]
pub enum Unreadable {
    Lexer(LexError),
    /// nginx refuses a statement: its range, and the message of nginx.
    Refused(Range<usize>, String),
}

/// The rewrites of sections.
#[derive(Clone, Debug, Default)]
pub struct Runs<'a> {
    pub runs: Vec<Run<'a>>,
    pub barriers: Vec<Barrier<'a>>,
}

/// Statements with nothing of the rewrite module between them.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The ranges of the statements in the file. Each holds whole statements.
    pub ranges: Vec<Range<usize>>,
    /// Whether an `if` that an earlier compilation may have written comes directly before.
    pub is_behind_if: bool,
    /// Whether they are the last of the script of a server.
    pub is_last: bool,
}

/// Reads the `rewrite` statements in sections of `bytes`. Linear in their length.
pub fn read<'a>(bytes: &'a [u8], sections: &[Section]) -> Result<Runs<'a>, Unreadable> {
    let mut read = Runs::default();
    let mut portion = 0;
    for section in sections {
        portion += 1;
        let mut run = Run { portion, is_behind: section.is_behind_if, ..Run::default() };
        for range in &section.ranges {
            let mut lexer = Lexer::new(&bytes[range.clone()]);
            while let Some(step) = lexer.step() {
                let RawEvent::Statement { end } = step.map_err(Unreadable::Lexer)? else {
                    continue;
                };
                let words = lexer.words();
                let span = range.start + words[0].start..range.start + end;
                if is_emitted(words) {
                    portion += 1;
                    let before = run.before + run.rules.len() + 1;
                    read.close(&mut run, portion);
                    run.is_behind = true;
                    run.before = if words.len() == 4 { before } else { 0 }; // one without a flag is no rule
                    continue;
                }
                match rule(words, span.clone()).map_err(|says| Unreadable::Refused(span.clone(), says))? {
                    Ok(rule) => run.rules.push(rule),
                    Err(reason) => {
                        let pattern = words.get(1).map(|word| word.value.clone()).unwrap_or_default();
                        read.barriers.push(Barrier { span, pattern, reason, portion });
                        read.close(&mut run, portion);
                    }
                }
            }
        }
        run.is_last = section.is_last;
        read.close(&mut run, portion);
    }
    Ok(read)
}

impl<'a> Runs<'a> {
    /// Adds a run unless it is empty, and begins another one.
    fn close(&mut self, run: &mut Run<'a>, portion: usize) {
        let closed = std::mem::replace(run, Run { portion, ..Run::default() });
        if !closed.rules.is_empty() {
            self.runs.push(closed);
        }
    }
}

/// Whether an earlier compilation wrote a statement, so that it is not compiled again: it is a rule that never matches,
/// or a rule whose target is in a map and whose pattern lists the keys.
fn is_emitted(words: &[Word]) -> bool {
    match words {
        [_, pattern, target] => &*pattern.value == NEVER && &*target.value == b"/",
        [_, _, target, _] => memchr::memchr_iter(b'$', &target.value).any(|at| is_listed(&target.value[at + 1..])),
        _ => false,
    }
}

/// Whether a text begins with a variable whose name ends in [`LISTED`], with or without the number of a tier.
fn is_listed(text: &[u8]) -> bool {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(text.len());
    let name = &text[..end];
    let number = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let unnumbered = name[..name.len() - number].strip_suffix(b"_").filter(|_| number > 0);
    name.ends_with(LISTED) || unnumbered.is_some_and(|name| name.ends_with(LISTED))
}

/// A pattern that matches nothing, and leaves `$1` to `$9` empty.
pub const NEVER: &[u8] = b"^a(?!)";

/// The end of the names of variables that hold the targets of listed keys.
pub const LISTED: &[u8] = b"_listed_to";

/// Reads one statement. The inner error is the reason why a rule does not end the script; the outer error is the
/// message with which nginx refuses the statement.
fn rule<'a>(words: &[Word<'a>], span: Range<usize>) -> Result<Result<Rule<'a>, Reason>, String> {
    let (pattern, replacement, flag) = match words {
        [_, pattern, replacement] => (&pattern.value, &replacement.value, None),
        [_, pattern, replacement, flag] => (&pattern.value, &replacement.value, Some(&*flag.value)),
        _ => return Err("invalid number of arguments in \"rewrite\" directive".to_owned()),
    };
    debug_assert_eq!(&*words[0].value, b"rewrite");
    if target::parse(replacement).is_none() {
        return Err(target::refusal(replacement));
    }
    match target::action(replacement, flag) {
        Ok(action) => Ok(Ok(Rule { span, pattern: pattern.clone(), replacement: replacement.clone(), action })),
        Err(NotTerminal::NoFlag) => Ok(Err(Reason::NoFlag)),
        Err(NotTerminal::BreakRedirect) => Ok(Err(Reason::BreakRedirect)),
        Err(NotTerminal::Refused) => {
            let flag = String::from_utf8_lossy(flag.unwrap_or_default()).into_owned();
            Err(format!("invalid parameter \"{flag}\""))
        }
    }
}

/// Returns the span of a statement, or of its whole line with the line end if nothing else is on the line.
pub fn whole_line(bytes: &[u8], span: Range<usize>) -> (usize, usize) {
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = span.start - bytes[..span.start].iter().rev().take_while(is_blank).count();
    let mut end = span.end + bytes[span.end..].iter().take_while(is_blank).count();
    let starts_line = start == 0 || bytes[start - 1] == b'\n';
    let ends_line = end == bytes.len() || bytes[end] == b'\n';
    if !starts_line {
        return (span.start, span.end);
    }
    if !ends_line {
        return (span.start, end); // what follows takes its place
    }
    end += usize::from(end < bytes.len());
    (start, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> Vec<usize> {
        let section = Section { ranges: std::iter::once(0..text.len()).collect(), is_behind_if: false, is_last: false };
        let read = read(text.as_bytes(), &[section]).unwrap();
        read.runs.iter().map(|run| run.rules.len()).collect()
    }

    /// A rule that continues with the new URI ends a run; a redirect by its replacement does not.
    #[test]
    fn barriers_end_runs() {
        assert_eq!(
            runs("rewrite ^/a$ /b last; rewrite ^/c$ http://d/; rewrite ^/e$ /f; rewrite ^/g$ /h last;"),
            [2, 1]
        );
        assert!(runs("rewrite ^/a$ /b; # none\n").is_empty());
    }

    /// If a statement is alone on its line, the line is removed with it, whatever its line end. A comment or another
    /// statement keeps the line.
    #[test]
    fn lines() {
        let line = |text: &str, span| {
            let (start, end) = whole_line(text.as_bytes(), span);
            text[start..end].to_string()
        };
        assert_eq!(line("a\n  b; \r\nc", 4..6), "  b; \r\n");
        assert_eq!(line("  b;", 2..4), "  b;");
        assert_eq!(line("  b; # c\n", 2..4), "b; ");
        assert_eq!(line("a; b;\n", 3..5), "b;");
    }
}
