//! Judges a single rule: lists the strings that it matches and what moving it requires, or says why it stays.

use std::collections::{BTreeMap, HashMap};

use regex_syntax::hir::{Hir, Look};

use crate::compile_error::compile_error;
use crate::first_match::effort;
use crate::language::{self, Finite};
use crate::pcre::{MatchOutcome, Regex};
use crate::phase::Phase;
use crate::quote::quoted_length;
use crate::rewrite::options::Options;
use crate::rewrite::reason::Reason;
use crate::rewrite::runs::Rule;
use crate::rewrite::target::{self, Action, Part, Target};
use crate::rewrite::trie;
use crate::syntax::{self, Literal, Readings};
use crate::variables;

/// `ngx_conf_read_token` reads quoted tokens of up to `NGX_CONF_BUFFER - 3` bytes before a blank; the rest is room for
/// the variables in a directive.
pub const MAX_TOKEN: usize = 3_900;

/// The most strings of one rule that differ only in case: each needs a tier of maps, which costs every request as much
/// as the rule itself.
pub const MOST_SPELLINGS: usize = 4;

/// The most calls of PCRE2 for a string of a rule whose strings are listed; `effort::always_ends` allows half.
pub const CALLS: u32 = 40_000;

/// For each string, the path and arguments of a target that depends on captures.
pub type TargetTexts = BTreeMap<Vec<u8>, (Vec<u8>, Option<Vec<u8>>)>;

/// What moving a rule requires besides its keys; nothing for most rules.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// Whether its pattern must run again on a hit, to set `$1` to `$9` as before.
    pub sets_captures: bool,
    /// If its target uses a capture, the text of the target for each string.
    pub folded: Option<TargetTexts>,
    /// Its pattern under the declared readings, if these change it.
    pub read_as: Option<Vec<u8>>,
}

/// A rule that can be moved.
pub struct Movable<'a> {
    pub strings: Strings<'a>,
    /// Whether each string stands for all spellings of its letters.
    pub any_case: bool,
    pub extra: Option<Box<Extra>>,
}

impl Movable<'_> {
    /// Whether a declared reading changes its pattern.
    pub fn is_read_otherwise(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| extra.read_as.is_some())
    }
}

/// The result for one rule: what moving it requires, or why it stays.
pub type Candidate<'a> = Result<Movable<'a>, Reason>;

/// The strings that a rule matches. Literals, which are most rules, are expanded only when needed.
pub enum Strings<'a> {
    Literal(Literal<'a>),
    /// A pattern that is a literal. It is read only when needed, because a million literals take much memory.
    Unread {
        pattern: &'a [u8],
        count: u8,
    },
    Listed(Vec<Vec<u8>>),
}

impl<'a> Strings<'a> {
    /// Reads the strings of a literal that has not been read.
    pub fn read(&self) -> Option<Strings<'a>> {
        match self {
            Strings::Unread { pattern, .. } => syntax::literal(pattern).map(Strings::Literal),
            _ => None,
        }
    }

    /// Whether these are the strings of a literal. No two of them differ only in case.
    pub fn is_literal(&self) -> bool {
        !matches!(self, Strings::Listed(_))
    }

    /// The number of strings.
    pub fn count(&self) -> usize {
        match self {
            Strings::Listed(strings) => strings.len(),
            Strings::Unread { count, .. } => usize::from(*count),
            Strings::Literal(literal) => {
                (1 + usize::from(literal.optional.is_some())) * (1 + usize::from(literal.dollar))
            }
        }
    }

    /// Calls `with` for each string, shorter ones first, until it returns false.
    pub fn all(&self, mut with: impl FnMut(&[u8]) -> bool) -> bool {
        match self {
            Strings::Listed(strings) => strings.iter().all(|string| with(string)),
            Strings::Unread { .. } => self.read().is_none_or(|strings| strings.all(with)),
            Strings::Literal(literal) => {
                let mut string = Vec::with_capacity(literal.stem.len() + 2);
                let ends: &[&[u8]] = if literal.dollar { &[b"", b"\n"] } else { &[b""] };
                ends.iter().all(|end| {
                    [None, literal.optional].iter().take(1 + usize::from(literal.optional.is_some())).all(|optional| {
                        string.clear();
                        string.extend_from_slice(&literal.stem);
                        string.extend(*optional);
                        string.extend_from_slice(end);
                        with(&string)
                    })
                })
            }
        }
    }
}

/// Judges one rule. The outer error is the message of PCRE2 for a pattern that no PCRE compiles.
pub fn judge<'a>(rule: &'a Rule, options: &Options) -> Result<Result<Movable<'a>, Reason>, String> {
    let target = match readable_target(rule) {
        Ok(target) => target,
        Err(reason) => return stays(&rule.pattern, reason),
    };
    let read_as = match syntax::read_as(&rule.pattern, &options.readings) {
        Ok(read_as) => read_as,
        Err(_) => return stays(&rule.pattern, Reason::Unportable),
    };
    let text: &[u8] = read_as.as_deref().unwrap_or(&rule.pattern);
    let Listing { strings, any_case, captures } = match subjects(text, &rule.pattern, options.bound)? {
        Ok(subjects) => subjects,
        Err(reason) => return Ok(Err(reason)),
    };
    let (mut has_dollar, mut has_empty) = (false, false);
    strings.all(|string| {
        has_dollar |= string.contains(&b'$');
        has_empty |= string.is_empty();
        true
    });
    if has_dollar && !any_case {
        return Ok(Err(Reason::DollarInKey));
    }
    if has_empty {
        return Ok(Err(Reason::EmptyUri));
    }
    if strings.spellings() > MOST_SPELLINGS {
        return Ok(Err(Reason::CaseTiers));
    }
    let mut extra = Extra { sets_captures: options.captures_matter && captures, ..Extra::default() };
    if extra.sets_captures && options.phase == Phase::Location {
        return Ok(Err(Reason::CapturesInLocation));
    }
    if repeats_capture(&target) {
        if target.parts().any(|part| matches!(part, Part::Variable { name, .. } if !variables::keeps_captures(name))) {
            return Ok(Err(Reason::CaptureVariable));
        }
        if any_case && captures {
            return Ok(Err(Reason::CaptureCase));
        }
        let Ok(regex) = Regex::new(text) else { return Ok(Err(Reason::Unportable)) };
        match fold(rule.action, &regex, &target, &strings) {
            Some(folded) => extra.folded = Some(folded),
            None => return Ok(Err(Reason::CaptureEscaping)),
        }
    }
    let is_listed = options.phase == Phase::Location;
    if !fits_tokens(&strings, &extra, &rule.replacement, text) || (is_listed && !strings.all(trie::fits)) {
        return Ok(Err(Reason::KeyTooLong));
    }
    // The strings may borrow from the pattern as written, but not from a reading of it, which ends here.
    let strings = match strings {
        Strings::Literal(_) if read_as.is_none() => {
            Strings::Unread { pattern: &rule.pattern, count: strings.count() as u8 }
        }
        strings => Strings::Listed(strings.written()),
    };
    extra.read_as = read_as;
    let needs_none = !extra.sets_captures && extra.folded.is_none() && extra.read_as.is_none();
    Ok(Ok(Movable { strings, any_case, extra: (!needs_none).then(|| Box::new(extra)) }))
}

impl Strings<'_> {
    /// The largest number of strings that differ only by case.
    fn spellings(&self) -> usize {
        let Strings::Listed(strings) = self else { return 1 };
        let mut counts = HashMap::new();
        for string in strings {
            *counts.entry(string.to_ascii_lowercase()).or_insert(0) += 1;
        }
        counts.into_values().max().unwrap_or(0)
    }

    fn written(&self) -> Vec<Vec<u8>> {
        let mut written = Vec::new();
        self.all(|string| {
            written.push(string.to_vec());
            true
        });
        written
    }
}

/// The strings that a pattern matches, if they can be listed.
struct Listing<'a> {
    strings: Strings<'a>,
    any_case: bool,
    /// Whether it has capturing groups.
    captures: bool,
}

/// Lists what `text` matches. `written` is the pattern before any declared reading.
fn subjects<'a>(text: &'a [u8], written: &[u8], bound: usize) -> Result<Result<Listing<'a>, Reason>, String> {
    if let Some(literal) = syntax::literal(text) {
        let listed = Listing { strings: Strings::Literal(literal), any_case: false, captures: false };
        return Ok(if listed.strings.count() > bound { Err(Reason::TooMany) } else { Ok(listed) });
    }
    let pattern = match syntax::parse(text) {
        Ok(pattern) => pattern,
        Err(_) => return stays(text, Reason::Unportable),
    };
    let translation = pattern.translate();
    let exact = translation.exact && !has_word_boundary(&translation.hir);
    let list = if pattern.ignores_case() { language::finite } else { language::finite_spelled };
    let (mut strings, any_case) = match list(&translation.hir, bound) {
        Finite::Strings { strings, any_case } => (strings, any_case),
        Finite::Contradictory => return Ok(Err(Reason::Pattern)),
        Finite::Infinite => return Ok(Err(why_infinite(&translation.hir))),
        Finite::TooMany => return Ok(Err(why_too_many(&translation.hir, written))),
    };
    if pattern.named {
        return Ok(Err(Reason::NamedCapture));
    }
    if pattern.spaces {
        return Ok(Err(Reason::Unportable)); // one of its strings contains a vertical tab
    }
    if !effort::always_ends(&pattern.ast) || pattern.longest() < usize::MAX {
        return Ok(Err(Reason::Backtracking));
    }
    if any_case && !exact {
        return Ok(Err(Reason::Pattern)); // one spelling would have to represent all
    }
    strings.retain(|string| !string.contains(&0)); // no URI contains a zero byte
    strings.sort_by_key(Vec::len); // `/team` reads better before `/team/`
    if !exact {
        let Ok(regex) = Regex::new(text) else { return Ok(Err(Reason::Unportable)) };
        let answers: Vec<MatchOutcome> = strings.iter().map(|string| regex.is_match(string, CALLS)).collect();
        if answers.iter().any(|answer| matches!(answer, MatchOutcome::Error(_))) {
            return Ok(Err(Reason::Backtracking));
        }
        let mut answers = answers.into_iter();
        strings.retain(|_| answers.next() == Some(MatchOutcome::Yes));
    }
    Ok(Ok(Listing { strings: Strings::Listed(strings), any_case, captures: pattern.captures > 0 }))
}

fn repeats_capture(target: &Target) -> bool {
    target.parts().any(|part| matches!(part, Part::Capture(_)))
}

/// Returns why a rule stays whose pattern has not been read. The outer error is the message of PCRE2 for a pattern that
/// no PCRE compiles.
fn stays<T>(pattern: &[u8], reason: Reason) -> Result<Result<T, Reason>, String> {
    compile_error(pattern).map_or(Ok(Err(reason)), Err)
}

/// The target of a rule, if a map can hold it.
fn readable_target<'a>(rule: &'a Rule) -> Result<Target<'a>, Reason> {
    let target = target::parse(&rule.replacement).expect("a rule that was read has a readable target");
    let no_args = target.args.as_ref().is_some_and(|args| target::may_be_empty(args));
    let no_path = target.path.is_empty() || (!rule.action.is_redirect() && target::may_be_empty(&target.path));
    if no_args || no_path {
        return Err(Reason::EmptyTarget);
    }
    Ok(target)
}

fn has_word_boundary(hir: &Hir) -> bool {
    hir.properties().look_set().iter().any(|look| !matches!(look, Look::Start | Look::End))
}

fn why_infinite(hir: &Hir) -> Reason {
    let properties = hir.properties();
    if !properties.look_set_prefix().contains(Look::Start) {
        Reason::Unanchored
    } else if properties.maximum_len().is_none() {
        Reason::Wildcard
    } else {
        Reason::Prefix
    }
}

fn why_too_many(hir: &Hir, pattern: &[u8]) -> Reason {
    let properties = hir.properties();
    if !properties.look_set_prefix().contains(Look::Start) || !properties.look_set_suffix().contains(Look::End) {
        return why_infinite(hir); // too many strings to find out, but the pattern is also open at its start or end
    }
    let dots = Readings { literal_dots: true, ..Readings::default() };
    match syntax::read_as(pattern, &dots) {
        Ok(Some(_)) => Reason::Dot,
        _ => Reason::TooMany,
    }
}

/// Returns the target for each string, with captures substituted. `None` if nginx would escape a capture in some
/// requests and not in others (`ngx_http_script_copy_capture_code`), or read it as a variable.
fn fold(action: Action, regex: &Regex, target: &Target, strings: &Strings) -> Option<TargetTexts> {
    let mut folded = TargetTexts::new();
    for string in strings.written() {
        let captures = regex.captures(&string, CALLS).ok()??;
        let group = |digit: u8| captures.get(usize::from(digit)).cloned().flatten().map_or(&[][..], |at| &string[at]);
        let write = |parts: &[Part], escapes: bool| -> Option<Vec<u8>> {
            let written = parts.iter().map(|part| match part {
                Part::Capture(digit) => {
                    let text = group(*digit);
                    let safe = if escapes {
                        text.iter().all(|byte| target::is_never_escaped(*byte))
                    } else {
                        !text.contains(&b'$')
                    };
                    safe.then_some(Part::Text(text))
                }
                part => Some(part.clone()),
            });
            Some(target::text(&written.collect::<Option<Vec<_>>>()?).into_owned())
        };
        let path = write(&target.path, action.is_redirect())?;
        let args = match &target.args {
            Some(args) => Some(write(args, true)?),
            None => None,
        };
        if path.is_empty() || args.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        folded.insert(string, (path, args));
    }
    Some(folded)
}

/// Whether nginx can read every token that is written for the rule.
fn fits_tokens(strings: &Strings, extra: &Extra, replacement: &[u8], pattern: &[u8]) -> bool {
    let both = |path: &[u8], args: Option<&[u8]>| quoted_length(path) + args.map_or(0, quoted_length) <= MAX_TOKEN;
    let target_fits = match &extra.folded {
        Some(folded) => folded.values().all(|(path, args)| both(path, args.as_deref())),
        None => {
            let (path, args) = target::split(replacement);
            both(path, args)
        }
    };
    let pattern_fits = !extra.sets_captures || quoted_length(pattern) <= MAX_TOKEN;
    target_fits && pattern_fits && strings.all(|string| quoted_length(string) <= MAX_TOKEN)
}
