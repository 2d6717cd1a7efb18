//! The emitted statements as a program, and what it does with a URI (`ngx_http_rewrite_handler`).

use std::borrow::Cow;

use crate::pcre::{Outcome, Regex};
use crate::prove::align::Node;
use crate::prove::maps::{Map, Maps};
use crate::prove::residual::Residual;
use crate::prove::{Proof, Refutation};
use crate::syntax;
use crate::variables;

/// How a rule ends the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Redirect(u16),
    Last,
    Break,
}

impl End {
    /// The end that a replacement and a flag bring about; `None` for a rule that does not end the script, or does so
    /// in a way of its own.
    pub fn of(replacement: &[u8], flag: Option<&[u8]>) -> Option<End> {
        let redirects = replacement.starts_with(b"http://")
            || replacement.starts_with(b"https://")
            || replacement.starts_with(b"$scheme");
        match flag {
            Some(b"permanent") => Some(End::Redirect(301)),
            Some(b"redirect") => Some(End::Redirect(302)),
            None | Some(b"last") if redirects => Some(End::Redirect(302)),
            Some(b"last") => Some(End::Last),
            Some(b"break") if !redirects => Some(End::Break),
            _ => None,
        }
    }
}

/// A URI the program is run on.
#[derive(Clone, Copy, Debug)]
pub struct Uri<'u> {
    pub text: &'u [u8],
    /// It stands for all spellings of its letters that no exact key has.
    pub any_case: bool,
}

/// A piece of a target, as it will be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(Vec<u8>),
    Variable(Vec<u8>),
    /// A captured text that nginx escapes in some requests and not in others.
    Escapable(Vec<u8>),
    /// A group of a pattern run on a URI that stands for many.
    Spelled(u8),
}

/// What `$1` to `$9` hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Captures {
    /// The texts of the groups, empty ones at the end left out.
    Texts(Vec<Vec<u8>>),
    /// The groups of this pattern on a URI that stands for many.
    Of(Vec<u8>),
}

/// All that a rule that fires does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    pub end: End,
    pub path: Vec<Piece>,
    pub args: Option<Vec<Piece>>,
    pub appends_args: bool,
    pub captures: Captures,
}

/// What is known of a `rewrite` before it runs.
pub struct Rewrite<'t> {
    pub pattern: Cow<'t, [u8]>,
    pub groups: u32,
    end: End,
    path: Vec<Part<'t>>,
    args: Option<Vec<Part<'t>>>,
    appends_args: bool,
    regex: std::sync::OnceLock<Option<Regex>>,
}

enum Part<'t> {
    Text(&'t [u8]),
    Variable(&'t [u8]),
    Capture(u8),
}

impl Part<'_> {
    /// A variable may be a map with a regex, which sets `$1` to `$9` before the target's own are written.
    fn may_set_captures(&self) -> bool {
        matches!(self, Part::Variable(name) if !variables::keeps_captures(name))
    }
}

/// Whether a pattern matches a URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    Yes,
    No,
    /// It depends on the spelling, or PCRE2 gave up.
    Unknown,
}

impl<'t> Rewrite<'t> {
    /// Reads a replacement the way `ngx_http_script_compile` walks over it.
    pub fn read(pattern: Cow<'t, [u8]>, replacement: &'t [u8], flag: Option<&[u8]>) -> Option<Rewrite<'t>> {
        let end = End::of(replacement, flag)?;
        let has_groups = pattern.contains(&b'(');
        let groups = if has_groups { syntax::parse(&pattern).ok()?.captures } else { 0 };
        let (text, appends_args) = match replacement {
            [text @ .., b'?'] => (text, false),
            text => (text, true),
        };
        let (mut parts, mut path) = (Vec::new(), None);
        let (mut at, mut start) = (0, 0);
        while at < text.len() {
            let part = match text[at] {
                b'?' if path.is_none() => None,
                b'$' => Some(variable(&text[at..])?),
                _ => {
                    at += 1;
                    continue;
                }
            };
            if start < at {
                parts.push(Part::Text(&text[start..at]));
            }
            match part {
                None => {
                    path = Some(std::mem::take(&mut parts));
                    at += 1;
                }
                Some((part, length)) => {
                    parts.push(part);
                    at += length;
                }
            }
            start = at;
        }
        if start < text.len() {
            parts.push(Part::Text(&text[start..]));
        }
        let (path, args) = match path {
            Some(path) => (path, Some(parts)),
            None => (parts, None),
        };
        Some(Rewrite { pattern, groups, end, path, args, appends_args, regex: std::sync::OnceLock::new() })
    }

    /// Whether the rule matches; for a URI that stands for many, `own` says that it is known to match all of them.
    fn matches(&self, uri: Uri, own: &dyn Fn(&[u8]) -> bool) -> Matches {
        if &*self.pattern == b"^" {
            return Matches::Yes;
        }
        if uri.any_case {
            return if own(&self.pattern) { Matches::Yes } else { matches_some_case(&self.pattern, uri.text) };
        }
        match self.regex().map(|regex| regex.is_match(uri.text)) {
            Some(Outcome::Yes) => Matches::Yes,
            Some(Outcome::No) => Matches::No,
            Some(Outcome::Error(_)) | None => Matches::Unknown,
        }
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.pattern).ok()).as_ref()
    }

    /// What the rule does with a URI that it matches. Without `keep_captures` nobody reads the captures afterwards.
    pub fn effect(&self, uri: Uri, maps: Option<&Maps>, keep_captures: bool) -> Option<Effect> {
        let repeats = self.parts().any(|part| matches!(part, Part::Capture(_)));
        if repeats && self.parts().any(Part::may_set_captures) {
            return None;
        }
        let captures = match (self.groups > 0 && (keep_captures || repeats), uri.any_case) {
            (false, _) => Captures::Texts(Vec::new()),
            (true, true) => Captures::Of(self.pattern.to_vec()),
            (true, false) => Captures::Texts(self.groups_of(uri.text)?),
        };
        let redirects = matches!(self.end, End::Redirect(_));
        let write = |parts: &[Part], escapes| written(parts, &captures, escapes, maps, uri.text);
        let path = write(&self.path, redirects)?;
        let args = match &self.args {
            Some(args) => Some(write(args, true)?),
            None => None,
        };
        let captures = if keep_captures { captures } else { Captures::Texts(Vec::new()) };
        Some(Effect { end: self.end, path, args, appends_args: self.appends_args, captures })
    }

    fn parts(&self) -> impl Iterator<Item = &Part<'t>> {
        self.path.iter().chain(self.args.iter().flatten())
    }

    fn groups_of(&self, uri: &[u8]) -> Option<Vec<Vec<u8>>> {
        let ranges = self.regex()?.captures(uri).ok()??;
        let text = |range: Option<std::ops::Range<usize>>| range.map_or_else(Vec::new, |range| uri[range].to_vec());
        let mut texts: Vec<Vec<u8>> = ranges.into_iter().skip(1).map(text).collect();
        while texts.last().is_some_and(Vec::is_empty) {
            texts.pop();
        }
        Some(texts)
    }
}

/// A variable at a `$`, with the bytes it takes.
fn variable(text: &[u8]) -> Option<(Part<'_>, usize)> {
    let name = |from: usize| {
        let rest = &text[from..];
        &rest[..rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len())]
    };
    match text.get(1)? {
        digit @ b'1'..=b'9' => Some((Part::Capture(digit - b'0'), 2)),
        b'{' => {
            let name = name(2);
            (!name.is_empty() && text.get(2 + name.len()) == Some(&b'}'))
                .then_some((Part::Variable(name), name.len() + 3))
        }
        _ => {
            let name = name(1);
            (!name.is_empty()).then_some((Part::Variable(name), name.len() + 1))
        }
    }
}

/// The pieces of a target; variables of `maps` are looked up.
fn written(parts: &[Part], captures: &Captures, escapes: bool, maps: Option<&Maps>, uri: &[u8]) -> Option<Vec<Piece>> {
    let mut out = Vec::with_capacity(1);
    for part in parts {
        match part {
            Part::Text(text) => push_text(&mut out, text),
            Part::Capture(digit) => match captures {
                Captures::Of(_) => out.push(Piece::Spelled(*digit)),
                Captures::Texts(texts) => {
                    let text = texts.get(usize::from(*digit) - 1).map_or(&[][..], Vec::as_slice);
                    if escapes && !text.iter().all(|byte| is_plain(*byte)) {
                        out.push(Piece::Escapable(text.to_vec()));
                    } else {
                        push_text(&mut out, text);
                    }
                }
            },
            Part::Variable(name) => match maps.and_then(|maps| maps.get(name)) {
                None => out.push(Piece::Variable(name.to_vec())),
                Some(map) => push_value(&mut out, map.get(uri))?,
            },
        }
    }
    Some(out)
}

fn push_text(out: &mut Vec<Piece>, text: &[u8]) {
    match out.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(last)) => last.extend_from_slice(text),
        _ => out.push(Piece::Text(text.to_vec())),
    }
}

/// The value of a map: text and variables, and no captures, which a map would take from who knows where.
fn push_value(out: &mut Vec<Piece>, value: &[u8]) -> Option<()> {
    let mut rest = value;
    while let Some(at) = memchr::memchr(b'$', rest) {
        push_text(out, &rest[..at]);
        match variable(&rest[at..])? {
            (Part::Variable(name), length) => {
                out.push(Piece::Variable(name.to_vec()));
                rest = &rest[at + length..];
            }
            _ => return None,
        }
    }
    push_text(out, rest);
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
        _ => Matches::Unknown,
    }
}

/// The emitted statements of a run.
pub struct Script<'t> {
    steps: Vec<Step<'t>>,
}

enum Step<'t> {
    /// `if ($key = $uri)` with what it does.
    Guard(&'t Map<'t>, Then<'t>),
    /// `if ($hit = number)`.
    Class(&'t [u8], Rewrites<'t>),
}

enum Then<'t> {
    SetClass(&'t Map<'t>),
    Rewrite(Rewrites<'t>),
}

/// What the program does.
#[derive(Debug, PartialEq, Eq)]
pub enum Result {
    Fires(Effect),
    Falls,
    /// A guard is true of the URI, and nothing fires: in a location, the `if` has swapped the configuration by then.
    Entered,
    /// It cannot be told.
    Unknown,
}

impl<'t> Script<'t> {
    /// Admits a variable that is emptied first, exact guards, and comparisons of that variable with a number: nothing
    /// that could do anything for a URI that is no key.
    pub fn read(nodes: &[&'t Node<'t>], maps: &'t Maps<'t>) -> Proof<Script<'t>> {
        let mut hit: Option<&[u8]> = None;
        let mut steps = Vec::new();
        for node in nodes {
            match (node.sets(), condition(node)) {
                (Some((name, b"")), _) if hit.is_none() && steps.is_empty() => hit = Some(name),
                (_, Some((left, right, body))) => steps.push(Step::read(left, right, body, hit, maps)?),
                _ => return Err(Refutation::new("an emitted statement is neither a guard nor a class")),
            }
        }
        Ok(Script { steps })
    }

    /// Runs the program. `own` tells the pattern that is known to match a URI that stands for many.
    pub fn run(&self, uri: Uri, maps: &Maps, keep_captures: bool, own: &dyn Fn(&[u8]) -> bool) -> Result {
        let mut class: &[u8] = b"";
        let mut entered = false;
        for step in &self.steps {
            let rewrites = match step {
                Step::Guard(keys, then) if is_key(keys, uri) => match then {
                    Then::SetClass(map) => {
                        class = map.get(uri.text);
                        entered = true;
                        continue;
                    }
                    Then::Rewrite(rewrites) => rewrites,
                },
                Step::Class(number, rewrites) if class == *number => rewrites,
                _ => continue,
            };
            entered = true;
            for rewrite in rewrites.that_may_match(uri.text) {
                match rewrite.matches(uri, own) {
                    Matches::No => {}
                    Matches::Unknown => return Result::Unknown,
                    Matches::Yes => {
                        return rewrite.effect(uri, Some(maps), keep_captures).map_or(Result::Unknown, Result::Fires);
                    }
                }
            }
        }
        if entered { Result::Entered } else { Result::Falls }
    }

    /// The keys that the guards answer, and whether each answers every spelling.
    pub fn keys(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let maps = self.steps.iter().filter_map(|step| match step {
            Step::Guard(keys, _) => Some(keys),
            Step::Class(..) => None,
        });
        let rows = maps.flat_map(|map| map.rows()).filter(|(key, _)| !key.is_empty());
        rows.map(|(key, value)| (key, value == b"$uri"))
    }
}

impl<'t> Step<'t> {
    fn read(
        left: &'t [u8],
        right: &'t [u8],
        body: &'t [Node<'t>],
        hit: Option<&[u8]>,
        maps: &'t Maps<'t>,
    ) -> Proof<Step<'t>> {
        if Some(left) == hit && !right.is_empty() && right.iter().all(u8::is_ascii_digit) {
            return Ok(Step::Class(right, rewrites(body)?));
        }
        let Some(keys) = maps.get(left).filter(|map| right == b"$uri" && map.is_guard()) else {
            return Err(Refutation::new("a condition is not an exact guard"));
        };
        if let Some((name, value)) = body.first().filter(|_| body.len() == 1).and_then(Node::sets) {
            let class = value.strip_prefix(b"$").and_then(|value| maps.get(value));
            let class = class.filter(|_| Some(name) == hit);
            let class = class.ok_or_else(|| Refutation::new("a guard sets a variable that no class reads"))?;
            return Ok(Step::Guard(keys, Then::SetClass(class)));
        }
        Ok(Step::Guard(keys, Then::Rewrite(rewrites(body)?)))
    }
}

/// `if ($left = right) { body }`.
fn condition<'t>(node: &'t Node<'t>) -> Option<(&'t [u8], &'t [u8], &'t [Node<'t>])> {
    let is_equality = node.words().len() == 4 && node.word(0) == b"if" && node.word(2) == b"=";
    let left = node.word(1).strip_prefix(b"($").filter(|_| is_equality)?;
    Some((left, node.word(3).strip_suffix(b")")?, node.block.as_deref()?))
}

/// The directives of a block, tried in order.
struct Rewrites<'t> {
    all: Vec<Rewrite<'t>>,
    /// Tells which may match, where there are many: a class whose rules set captures has one for each.
    index: Option<Box<Residual<'t>>>,
}

/// So many are sooner tried than looked up.
const FEW: usize = 8;

impl<'t> Rewrites<'t> {
    fn that_may_match(&self, uri: &[u8]) -> impl Iterator<Item = &Rewrite<'t>> {
        let places = self.index.as_ref().map_or_else(|| (0..self.all.len()).collect(), |index| index.candidates(uri));
        places.into_iter().map(|place| &self.all[place])
    }
}

fn rewrites<'t>(body: &'t [Node<'t>]) -> Proof<Rewrites<'t>> {
    let read = |node: &'t Node<'t>| {
        let flag = node.flag().filter(|_| node.is_rule())?;
        Rewrite::read(Cow::Borrowed(node.word(1)), node.word(2), Some(flag))
    };
    let all: Option<Vec<_>> = body.iter().map(read).collect();
    let all = all
        .filter(|all| !all.is_empty())
        .ok_or_else(|| Refutation::new("a guard does something else than to rewrite with a flag"))?;
    let index = (all.len() > FEW).then(|| Box::new(Residual::new(body.iter().map(|node| node.word(1)).enumerate())));
    Ok(Rewrites { all, index })
}

/// `if ($key = $uri)` for this URI.
fn is_key(keys: &Map, uri: Uri) -> bool {
    match keys.get(uri.text) {
        b"$uri" => true,
        key => !uri.any_case && key == uri.text,
    }
}
