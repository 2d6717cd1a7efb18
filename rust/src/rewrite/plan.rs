//! Which rules of a run a map can answer, and which stay.
//!
//! A rule is *moved* when the strings it matches are few enough to list; each string becomes a key, owned by the first
//! rule that matches it. A string that an earlier kept rule matches is left out of the map: the kept rule answers it.
//! Rules that differ by letter case alone go to different *tiers* of maps, because nginx folds the case of map keys.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher};

use hashbrown::{DefaultHashBuilder, HashTable};

use regex_syntax::hir::{Hir, Look};

use crate::first_match::{First, FirstMatch, effort};
use crate::language::{self, Finite};
use crate::pcre::{Outcome, Regex};
use crate::rewrite::emit;
use crate::rewrite::overlap::Overlap;
use crate::rewrite::program::{Rule, Run};
use crate::rewrite::reason::Reason;
use crate::rewrite::target::{self, Action, Part, Target};
use crate::syntax::{self, Readings};
use crate::variables;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Server,
    Location,
    /// Not known: only what is right at both levels is done.
    Either,
}

/// What the planner is told about a run.
#[derive(Clone, Debug)]
pub struct Options {
    pub level: Level,
    /// Whether `$1` to `$9` may be read after the run: what it leaves in them is then kept as it was.
    pub captures_matter: bool,
    pub readings: Readings,
    /// How many strings a rule may match to be moved.
    pub bound: usize,
}

/// How many rules may differ by case alone: each tier costs every request another look-up.
pub const MAX_TIERS: usize = 4;
/// `ngx_conf_read_token` reads quoted tokens of up to `NGX_CONF_BUFFER - 3` bytes before a blank; the rest is room for
/// the variables in a directive.
pub const MAX_TOKEN: usize = 3_900;

/// What becomes of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its strings are keys.
    Moved,
    /// It stays in its place.
    Kept(Reason),
    /// It can never be the first to match: `by` is the rule that takes `witness`. Both are `None` for a pattern that
    /// matches nothing at all.
    Dead { by: Option<usize>, witness: Option<Vec<u8>> },
    /// It says again what rule `of` says.
    Duplicate { of: usize },
}

/// A key of the maps.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    start: u32,
    length: u16,
    /// The tier of maps it stands in.
    pub tier: u8,
    /// It answers every spelling of its letters.
    pub any_case: bool,
    /// The rule that owns it.
    pub rule: u32,
    /// The next entry whose key differs from this one's by case alone, or `NONE`.
    next: u32,
}

const NONE: u32 = u32::MAX;

/// The path and arguments a rule's target has for one string, where they depend on what the rule captures.
pub type Folded = BTreeMap<Vec<u8>, (Vec<u8>, Option<Vec<u8>>)>;

/// What moving a rule takes, besides its keys.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    strings: Vec<Vec<u8>>,
    any_case: bool,
    /// Its pattern is run again on a hit, so that it leaves in `$1` what it left there before.
    pub sets_captures: bool,
    /// Its target repeats a capture: the text for each string.
    pub folded: Option<Box<Folded>>,
    /// Its pattern under the declared readings, where they change it.
    pub read_as: Option<Vec<u8>>,
}

/// The division of a run.
#[derive(Debug, Default)]
pub struct Plan {
    pub fates: Vec<Fate>,
    pub entries: Vec<Entry>,
    /// By rule; `None` for a rule that stays.
    pub moved: Vec<Option<Moved>>,
    keys: Vec<u8>,
}

impl Plan {
    /// The bytes of an entry's key.
    pub fn key(&self, entry: &Entry) -> &[u8] {
        &self.keys[entry.start as usize..entry.start as usize + usize::from(entry.length)]
    }

    /// The rules that stay, in order.
    pub fn kept(&self) -> impl Iterator<Item = (usize, Reason)> + '_ {
        self.fates.iter().enumerate().filter_map(|(rule, fate)| match fate {
            Fate::Kept(reason) => Some((rule, *reason)),
            _ => None,
        })
    }
}

/// A pattern that PCRE2 does not compile; nginx would not start with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPattern {
    /// The rule's place in its run.
    pub rule: usize,
    pub message: String,
}

/// Divides a run. Linear in the rules but for PCRE2 on strings that kept rules may match.
pub fn plan(run: &Run, options: &Options) -> Result<Plan, BadPattern> {
    let mut candidates = Vec::with_capacity(run.rules.len());
    for (index, rule) in run.rules.iter().enumerate() {
        let candidate = candidate(rule, options);
        candidates.push(candidate.map_err(|message| BadPattern { rule: index, message })?);
    }
    // A rule that an earlier kept rule gets in the way of is kept itself, and everything is asked again.
    loop {
        let claims = Claims::make(run, &candidates)?;
        if claims.demoted.is_empty() {
            return Ok(claims.into_plan(run, candidates));
        }
        for (rule, reason) in claims.demoted {
            candidates[rule] = Err(reason);
        }
    }
}

/// The strings of one rule with what moving it takes, or why it stays. The outer error is PCRE2's.
fn candidate(rule: &Rule, options: &Options) -> Result<Result<Moved, Reason>, String> {
    let target = match readable_target(rule, options.level) {
        Ok(target) => target,
        Err(reason) => return Ok(Err(reason)),
    };
    let Ok(read_as) = syntax::read_as(&rule.pattern, &options.readings) else {
        return Ok(Err(Reason::Pattern));
    };
    let text: &[u8] = read_as.as_deref().unwrap_or(&rule.pattern);
    let Subjects { strings, any_case, captures } = match subjects(text, &rule.pattern, options.bound)? {
        Ok(subjects) => subjects,
        Err(reason) => return Ok(Err(reason)),
    };
    if !any_case && strings.iter().any(|string| string.contains(&b'$')) {
        return Ok(Err(Reason::DollarInKey));
    }
    if strings.iter().any(Vec::is_empty) {
        return Ok(Err(Reason::EmptyUri));
    }
    let repeats = target.parts().any(|part| matches!(part, Part::Capture(_)));
    if repeats && target.parts().any(|part| matches!(part, Part::Variable(name) if !variables::keeps_captures(name))) {
        return Ok(Err(Reason::CaptureVariable));
    }
    if repeats && any_case && captures {
        return Ok(Err(Reason::CaptureCase));
    }
    let sets_captures = options.captures_matter && captures;
    let mut moved = Moved { strings, any_case, sets_captures, ..Moved::default() };
    if repeats {
        match fold(rule.action, &compile(text)?, &target, &moved.strings) {
            Some(folded) => moved.folded = Some(Box::new(folded)),
            None => return Ok(Err(Reason::CaptureEscaping)),
        }
    }
    if !fits_tokens(&moved, &target, text) {
        return Ok(Err(Reason::KeyTooLong));
    }
    moved.read_as = read_as;
    Ok(Ok(moved))
}

/// What a pattern matches, where that can be listed.
struct Subjects {
    strings: Vec<Vec<u8>>,
    any_case: bool,
    /// Whether it has capturing groups.
    captures: bool,
}

/// Lists what `text` matches, `written` being the pattern before any declared reading of it.
fn subjects(text: &[u8], written: &[u8], bound: usize) -> Result<Result<Subjects, Reason>, String> {
    if let Some(literal) = syntax::literal(text) {
        let mut strings: Vec<Vec<u8>> = literal.strings().collect();
        strings.sort_by_key(Vec::len);
        let listed = Subjects { strings, any_case: false, captures: false };
        return Ok(if listed.strings.len() > bound { Err(Reason::TooMany) } else { Ok(listed) });
    }
    let Ok(pattern) = syntax::parse(text) else {
        compile(text)?; // what is not understood may not be a pattern at all
        return Ok(Err(Reason::Pattern));
    };
    if pattern.named {
        return Ok(Err(Reason::NamedCapture));
    }
    if !effort::always_ends(&pattern.ast) {
        return Ok(Err(Reason::Backtracking));
    }
    let translation = pattern.translate();
    let exact = translation.exact && !has_word_boundary(&translation.hir);
    let (mut strings, any_case) = match language::finite(&translation.hir, bound) {
        Finite::Strings { strings, any_case } => (strings, any_case),
        Finite::Infinite => return Ok(Err(why_infinite(&translation.hir))),
        Finite::TooMany => return Ok(Err(why_too_many(written))),
    };
    if any_case && !exact {
        return Ok(Err(Reason::Pattern)); // one spelling has to speak for all
    }
    strings.retain(|string| !string.contains(&0)); // no URI holds a zero byte
    strings.sort_by_key(Vec::len); // `/team` reads better before `/team/`
    if !exact {
        let regex = compile(text)?;
        strings.retain(|string| regex.is_match(string) == Outcome::Yes);
    }
    Ok(Ok(Subjects { strings, any_case, captures: pattern.captures > 0 }))
}

fn compile(pattern: &[u8]) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| error.to_string())
}

/// The target of a rule, where a map can take it over at this level.
fn readable_target<'a>(rule: &'a Rule, level: Level) -> Result<Target<'a>, Reason> {
    if rule.action == Action::Break && level != Level::Server {
        return Err(Reason::BreakInLocation);
    }
    let target = target::parse(&rule.replacement).ok_or(Reason::Refused)?;
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

fn why_too_many(pattern: &[u8]) -> Reason {
    let dots = Readings { literal_dots: true, ..Readings::default() };
    match syntax::read_as(pattern, &dots) {
        Ok(Some(_)) => Reason::Dot,
        _ => Reason::TooMany,
    }
}

/// The target for each string with what the rule captures written out, or `None` where nginx would escape it in some
/// requests and not in others (`ngx_http_script_copy_capture_code`), or read it as a variable.
fn fold(action: Action, regex: &Regex, target: &Target, strings: &[Vec<u8>]) -> Option<Folded> {
    let mut folded = Folded::new();
    for string in strings {
        let captures = regex.captures(string).ok()??;
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
        folded.insert(string.clone(), (path, args));
    }
    Some(folded)
}

/// Whether every token to be written for the rule is one that nginx can read.
fn fits_tokens(moved: &Moved, target: &Target, pattern: &[u8]) -> bool {
    let length = |text: &[u8]| emit::quoted_length(text);
    let both = |path: &[u8], args: Option<&[u8]>| length(path) + args.map_or(0, length) <= MAX_TOKEN;
    let target_fits = match &moved.folded {
        Some(folded) => folded.values().all(|(path, args)| both(path, args.as_deref())),
        None => both(&target::text(&target.path), target.args.as_deref().map(target::text).as_deref()),
    };
    let pattern_fits = !moved.sets_captures || length(pattern) <= MAX_TOKEN;
    target_fits && pattern_fits && moved.strings.iter().all(|string| length(string) <= MAX_TOKEN)
}

/// Who owns which string: the rules are asked in order, and the first that matches a string takes it.
struct Claims {
    entries: Vec<Entry>,
    keys: Vec<u8>,
    /// The first entry of each set of keys that differ by case alone.
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// By rule: whether it owns a key; and for one that owns none, who took its first string.
    owns: Vec<bool>,
    taken: Vec<Option<(usize, Vec<u8>)>>,
    demoted: Vec<(usize, Reason)>,
}

impl Claims {
    fn make(run: &Run, candidates: &[Result<Moved, Reason>]) -> Result<Claims, BadPattern> {
        let kept: Vec<usize> = (0..candidates.len()).filter(|rule| candidates[*rule].is_err()).collect();
        let patterns: Vec<&[u8]> = kept.iter().map(|rule| &*run.rules[*rule].pattern).collect();
        let first =
            FirstMatch::new(&patterns).map_err(|limit| BadPattern { rule: kept[0], message: limit.to_string() })?;
        let mut overlap = Overlap::new(&patterns);
        let mut claims = Claims {
            entries: Vec::new(),
            keys: Vec::new(),
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            owns: vec![false; candidates.len()],
            taken: vec![None; candidates.len()],
            demoted: Vec::new(),
        };
        let mut kept_before = 0;
        for (rule, candidate) in candidates.iter().enumerate() {
            let Ok(moved) = candidate else {
                kept_before += 1;
                continue;
            };
            for string in &moved.strings {
                let outcome = if moved.any_case {
                    if overlap.may_match_some_case(string, kept_before) { Err(Reason::CaseOverlap) } else { Ok(None) }
                } else {
                    match first.first(string, kept_before) {
                        First::None => Ok(None),
                        First::Match(index) => Ok(Some(kept[index])),
                        First::Error(..) => Err(Reason::MatchLimit),
                    }
                };
                let owner = match outcome {
                    Ok(Some(kept)) => Some(kept),
                    Ok(None) => match claims.claim(rule, string, moved.any_case) {
                        Ok(owner) => owner,
                        Err(reason) => {
                            claims.demoted.push((rule, reason));
                            break;
                        }
                    },
                    Err(reason) => {
                        claims.demoted.push((rule, reason));
                        break;
                    }
                };
                match owner {
                    None => claims.owns[rule] = true,
                    Some(owner) if claims.taken[rule].is_none() => claims.taken[rule] = Some((owner, string.clone())),
                    Some(_) => {}
                }
            }
        }
        Ok(claims)
    }

    /// Makes `rule` the owner of `string`, or says who is.
    fn claim(&mut self, rule: usize, string: &[u8], any_case: bool) -> Result<Option<usize>, Reason> {
        let hash = self.hasher.hash_one(Lowered(string));
        let head = self.table.find(hash, |entry| self.bytes(*entry).eq_ignore_ascii_case(string)).copied();
        let (mut tier, mut at) = (0, head.unwrap_or(NONE));
        let mut last = NONE;
        while at != NONE {
            let entry = self.entries[at as usize];
            if entry.any_case || (!any_case && self.bytes(at) == string) {
                return Ok(Some(entry.rule as usize));
            }
            (last, at, tier) = (at, entry.next, tier + 1);
        }
        if tier >= MAX_TIERS {
            return Err(Reason::CaseTiers);
        }
        let index = self.entries.len() as u32;
        let start = self.keys.len() as u32;
        self.keys.extend_from_slice(string);
        self.entries.push(Entry {
            start,
            length: string.len() as u16,
            tier: tier as u8,
            any_case,
            rule: rule as u32,
            next: NONE,
        });
        if last == NONE {
            let (entries, keys, hasher) = (&self.entries, &self.keys, &self.hasher);
            self.table.insert_unique(hash, index, |entry| hasher.hash_one(Lowered(bytes(entries, keys, *entry))));
        } else {
            self.entries[last as usize].next = index;
        }
        Ok(None)
    }

    fn bytes(&self, entry: u32) -> &[u8] {
        bytes(&self.entries, &self.keys, entry)
    }

    fn into_plan(self, run: &Run, candidates: Vec<Result<Moved, Reason>>) -> Plan {
        let fates = candidates.iter().enumerate().map(|(rule, candidate)| match (candidate, &self.taken[rule]) {
            (Err(reason), _) => Fate::Kept(*reason),
            _ if self.owns[rule] => Fate::Moved,
            (Ok(_), Some((of, _))) if says_the_same(&run.rules[rule], &run.rules[*of]) => Fate::Duplicate { of: *of },
            (Ok(_), Some((by, witness))) => Fate::Dead { by: Some(*by), witness: Some(witness.clone()) },
            (Ok(_), None) => Fate::Dead { by: None, witness: None },
        });
        Plan {
            fates: fates.collect(),
            entries: self.entries,
            keys: self.keys,
            moved: candidates.into_iter().map(|candidate| candidate.ok().map(Moved::without_strings)).collect(),
        }
    }
}

impl Moved {
    /// The strings are keys by now.
    fn without_strings(self) -> Moved {
        Moved { strings: Vec::new(), ..self }
    }
}

fn bytes<'a>(entries: &[Entry], keys: &'a [u8], entry: u32) -> &'a [u8] {
    let entry = &entries[entry as usize];
    &keys[entry.start as usize..entry.start as usize + usize::from(entry.length)]
}

/// Whether two rules are the same in all but their place.
pub fn says_the_same(one: &Rule, other: &Rule) -> bool {
    one.pattern == other.pattern && one.replacement == other.replacement && one.action == other.action
}

/// Bytes that hash as nginx's map keys compare: in lower case.
struct Lowered<'a>(&'a [u8]);

impl Hash for Lowered<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut lowered = [0u8; 64];
        for chunk in self.0.chunks(lowered.len()) {
            let lowered = &mut lowered[..chunk.len()];
            lowered.copy_from_slice(chunk);
            lowered.make_ascii_lowercase();
            state.write(lowered);
        }
    }
}
