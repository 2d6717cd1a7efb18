//! Runs one `rewrite` as nginx does: whether it matches a URI, and everything it does with the URI
//! (`ngx_http_script_regex_start_code`, `ngx_http_script_regex_end_code`).

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::pcre::{MatchOutcome, Regex};
use crate::prove::enumerate::{self, Enumeration, Letters};
use crate::prove::gone::LIMIT;
use crate::prove::maps::{Near, UriMap};
use crate::prove::oracle::Matches;
use crate::prove::target::{End, Target, TargetPart, variable};
use crate::syntax::{self, Ast};

/// The most calls of PCRE2. The planner allows fewer.
const CALLS: u32 = 100_000;

/// A URI on which both texts are run.
#[derive(Clone, Copy, Debug)]
pub struct Uri<'u> {
    pub text: &'u [u8],
    /// Whether it stands for all spellings of its letters that are not exact keys.
    pub any_case: bool,
    /// Where the maps found the previous URI.
    pub near: &'u Near,
}

/// A piece of a target as nginx will write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'e> {
    Text(Cow<'e, [u8]>),
    Variable(&'e [u8]),
    /// A captured text that nginx escapes only in some requests.
    Escapable(Vec<u8>),
    /// A group of a pattern that was run on a URI that stands for many.
    Spelled(u8),
}

/// The contents of `$1` to `$9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Captures {
    /// The texts of the groups, without empty ones at the end.
    Texts(Vec<Vec<u8>>),
    /// The groups of this pattern on a URI that stands for many.
    Of(Vec<u8>),
}

/// Returns the map of the URI whose value a variable has, if it is one.
pub type MapOf<'m, 'e> = &'m dyn Fn(&[u8]) -> Option<&'e UriMap<'e>>;

/// Everything that a rule does when it fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect<'e> {
    pub end: End,
    pub path: Vec<Piece<'e>>,
    pub args: Option<Vec<Piece<'e>>>,
    pub appends_args: bool,
    pub captures: Captures,
}

/// What emitted statements do with a URI.
#[derive(Debug, PartialEq, Eq)]
pub enum Behaviour<'e> {
    Fires(Effect<'e>),
    Falls,
    /// A guard is true for the URI, but no rule fires. In a location, the `if` has already changed the configuration.
    Entered,
    /// Unknown.
    Unknown,
}

/// A `rewrite` that can be run on URIs.
pub struct Rewrite<'t> {
    pub pattern: Cow<'t, [u8]>,
    pub groups: u32,
    target: Target<'t>,
    regex: OnceLock<Option<Regex>>,
}

impl<'t> Rewrite<'t> {
    /// Reads a rule that ends the script.
    pub fn read(pattern: Cow<'t, [u8]>, replacement: &'t [u8], flag: Option<&[u8]>) -> Option<Rewrite<'t>> {
        let has_groups = pattern.contains(&b'(');
        let groups = if has_groups { syntax::parse(&pattern).ok()?.captures } else { 0 };
        let target = Target::read(replacement, flag)?;
        Some(Rewrite { pattern, groups, target, regex: OnceLock::new() })
    }

    /// The variables its target reads.
    pub fn variables(&self) -> impl Iterator<Item = &[u8]> {
        self.target.variables()
    }

    /// Whether the rule redirects the client.
    pub fn redirects(&self) -> bool {
        matches!(self.target.end, End::Redirect(_))
    }

    /// Whether the rule matches. For a URI that stands for many, `own` returns whether a pattern is known to match all
    /// of them.
    pub fn matches(&self, uri: Uri, own: &dyn Fn(&[u8]) -> bool) -> Matches {
        if &*self.pattern == b"^" {
            return Matches::Yes;
        }
        if uri.any_case {
            return if own(&self.pattern) { Matches::Yes } else { matches_some_case(&self.pattern, uri.text) };
        }
        match self.regex().map(|regex| regex.is_match(uri.text, CALLS)) {
            Some(MatchOutcome::Yes) => Matches::Yes,
            Some(MatchOutcome::No) => Matches::No,
            Some(MatchOutcome::Error(_)) | None => Matches::Unknown,
        }
    }

    /// The answer of PCRE2, for a pattern that every PCRE reads alike.
    fn regex(&self) -> Option<&Regex> {
        let compile = || {
            syntax::literal(&self.pattern).map(|_| ()).or_else(|| syntax::parse(&self.pattern).ok().map(|_| ()))?;
            Regex::new(&self.pattern).ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }

    /// The effect of the rule on a URI that it matches. If not `keep_captures`, nothing reads the captures afterwards.
    ///
    /// `maps` returns the map whose value a variable has.
    pub fn effect<'e>(&self, uri: Uri, maps: MapOf<'_, 'e>, keep_captures: bool) -> Option<Effect<'e>>
    where
        't: 'e,
    {
        let repeats = self.target.parts().any(|part| matches!(part, TargetPart::Capture(_)));
        if repeats && self.target.parts().any(TargetPart::may_set_captures) {
            return None;
        }
        let captures = match (self.groups > 0 && (keep_captures || repeats), uri.any_case) {
            (false, _) => Captures::Texts(Vec::new()),
            (true, true) => Captures::Of(self.pattern.to_vec()),
            (true, false) => Captures::Texts(self.groups_of(uri.text)?),
        };
        let redirects = matches!(self.target.end, End::Redirect(_));
        let write = |parts: &[TargetPart<'t>], escapes| written(parts, &captures, escapes, maps, uri);
        let path = write(&self.target.path, redirects)?;
        let args = match &self.target.args {
            Some(args) => Some(write(args, true)?),
            None => None,
        };
        let captures = if keep_captures { captures } else { Captures::Texts(Vec::new()) };
        Some(Effect { end: self.target.end, path, args, appends_args: self.target.appends_args, captures })
    }

    fn groups_of(&self, uri: &[u8]) -> Option<Vec<Vec<u8>>> {
        let ranges = self.regex()?.captures(uri, CALLS).ok()??;
        let text = |range: Option<std::ops::Range<usize>>| range.map_or_else(Vec::new, |range| uri[range].to_vec());
        let mut texts: Vec<Vec<u8>> = ranges.into_iter().skip(1).map(text).collect();
        while texts.last().is_some_and(Vec::is_empty) {
            texts.pop();
        }
        Some(texts)
    }
}

/// The pieces of a target; variables of `maps` are looked up.
fn written<'e>(
    parts: &[TargetPart<'e>],
    captures: &Captures,
    escapes: bool,
    maps: MapOf<'_, 'e>,
    uri: Uri,
) -> Option<Vec<Piece<'e>>> {
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            TargetPart::Text(text) => push_text(&mut out, Cow::Borrowed(text)),
            TargetPart::Capture(digit) => match captures {
                Captures::Of(_) => out.push(Piece::Spelled(*digit)),
                Captures::Texts(texts) => {
                    let text = texts.get(usize::from(*digit) - 1).map_or(&[][..], Vec::as_slice);
                    if escapes && !text.iter().all(|byte| is_plain(*byte)) {
                        out.push(Piece::Escapable(text.to_vec()));
                    } else {
                        push_text(&mut out, Cow::Owned(text.to_vec()));
                    }
                }
            },
            TargetPart::Variable(name) => match maps(name) {
                None => out.push(Piece::Variable(name)),
                Some(map) => push_value(&mut out, map.get_near(uri.text, uri.near))?,
            },
        }
    }
    Some(out)
}

fn push_text<'e>(out: &mut Vec<Piece<'e>>, text: Cow<'e, [u8]>) {
    match out.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(Cow::Owned(last))) => last.extend_from_slice(&text),
        Some(Piece::Text(last)) => *last = Cow::Owned([&**last, &*text].concat()),
        _ => out.push(Piece::Text(text)),
    }
}

/// Adds the value of a map, which consists of text and variables. Captures are not allowed, because it would be unknown
/// which match set them.
fn push_value<'e>(out: &mut Vec<Piece<'e>>, value: &'e [u8]) -> Option<()> {
    let mut rest = value;
    while let Some(at) = memchr::memchr(b'$', rest) {
        push_text(out, Cow::Borrowed(&rest[..at]));
        match variable(&rest[at..])? {
            (TargetPart::Variable(name), length) => {
                out.push(Piece::Variable(name));
                rest = &rest[at + length..];
            }
            _ => return None,
        }
    }
    push_text(out, Cow::Borrowed(rest));
    Some(())
}

/// Bytes that `NGX_ESCAPE_ARGS` leaves alone in every version of nginx.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' | b',' | b':' | b'=' | b'@'
        | b'!' | b'*' | b'(' | b')' | b'\'')
}

/// Whether a pattern matches any spelling of `text`: never a false `No`.
pub fn matches_some_case(pattern: &[u8], text: &[u8]) -> Matches {
    let Ok(pattern) = syntax::parse(pattern) else {
        return Matches::Unknown;
    };
    let folded = pattern.translate_folded().hir;
    let config = regex_automata::meta::Config::new().utf8_empty(false);
    match regex_automata::meta::Regex::builder().configure(config).build_from_hir(&folded) {
        Ok(regex) if !regex.is_match(text) => Matches::No,
        _ if lists_no_spelling(&pattern.ast, text) => Matches::No,
        _ => Matches::Unknown,
    }
}

/// Whether the strings of a pattern can be listed, and none is a spelling of `text`. The automaton of the pattern may
/// match more, for example if a `$` comes before other items.
fn lists_no_spelling(ast: &Ast, text: &[u8]) -> bool {
    match enumerate::subjects(ast, Letters::Exact, LIMIT) {
        Enumeration::All(subjects) => !subjects.iter().any(|subject| subject.eq_ignore_ascii_case(text)),
        Enumeration::TooMany => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Matches, matches_some_case};

    /// A pattern with a `$` before other items is listed; one of its strings may be spelled in another case.
    #[test]
    fn spellings() {
        let pattern = br"^/((a$|b))?(a$|b)(a$|b)\z";
        assert_eq!(matches_some_case(pattern, b"/aaa"), Matches::No);
        assert_eq!(matches_some_case(pattern, b"/bba"), Matches::Unknown);
        assert_eq!(matches_some_case(br"^/(A$|B)(a$|b)\z", b"/bb"), Matches::Unknown);
        assert_eq!(matches_some_case(br"^/.*(a$|b)(a$|b)\z", b"/aaa"), Matches::Unknown);
    }
}
