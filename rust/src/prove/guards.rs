//! Reads the form for a server, which is emitted statements behind guards, and runs it on a URI
//! (`ngx_http_rewrite_handler`).
//!
//! # Targets as guards
//!
//! `if ($to) { rewrite PATTERN ... }`, where `$to` is a map of the URI, is entered for each spelling of a key of the map
//! and for no other URI: all values are texts that `if` takes for true, and all other URIs get the empty string. Maps
//! fold only the letters from `A` to `Z`. So if no key has one of these, and PATTERN matches exactly the URIs without
//! them, the rewrite fires on the keys and on nothing else; if PATTERN is `^`, it fires on each spelling.
//!
//! `if ($to ~ "(?s)^(?<text>.+)")` is entered for the same URIs. `$text` then has the value of `$to` for this URI, as
//! the pattern matches all of a value that is not empty. It never reads an older one, as only a statement behind this
//! condition may read it.

use std::borrow::Cow;

use crate::prove::effect::{Behaviour, Effect, Rewrite, Uri};
use crate::prove::maps::{LONGEST_GROUP, Maps, UriMap};
use crate::prove::node::{Node, is_stop};
use crate::prove::oracle::Matches;
use crate::prove::reruns::Reruns;
use crate::prove::residual::Residual;
use crate::prove::{Discharged, Refutation};
use crate::syntax;

/// The emitted statements of a run: guards and the rules behind them.
pub struct Guards<'t> {
    /// The variable that holds the URI without a final newline.
    line: Option<&'t [u8]>,
    statements: Vec<Statement<'t>>,
}

enum Statement<'t> {
    /// `if ($key = $uri)` and its effect.
    Guard(&'t UriMap<'t>, Then<'t>),
    /// `if ($to)`.
    Target(TargetGuard<'t>),
    /// `if ($hit = number)`.
    Class(&'t [u8], Rewrites<'t>),
}

enum Then<'t> {
    SetClass(&'t UriMap<'t>),
    Rewrite(Rewrites<'t>),
}

/// A map of targets whose values guard a rewrite.
struct TargetGuard<'t> {
    targets: &'t UriMap<'t>,
    /// The variable that the condition captures the target in.
    captured: Option<&'t [u8]>,
    rewrite: Rewrite<'t>,
}

/// Whether statements leave `$1` to `$9` empty if no rule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clears {
    Always,
    Never,
    /// For some URIs.
    Sometimes,
}

/// A pattern that matches exactly the URIs without a letter from `A` to `Z`.
const NO_CAPITAL: &[u8] = br"^[^A-Z]*\z";

impl<'t> Guards<'t> {
    /// Accepts only statements that cannot affect a URI that is not a key: a variable that is emptied first, a variable
    /// without the final newline of the URI, exact guards, targets that exclude other spellings, and comparisons of the
    /// first variable with a number.
    pub fn read(nodes: &[&'t Node<'t>], maps: &'t Maps<'t>, reruns: Option<&Reruns>) -> Discharged<Guards<'t>> {
        let (hit, rest) = match nodes {
            [set, rest @ ..] if set.sets().is_some_and(|(_, value)| value.is_empty()) => (set.sets(), rest),
            rest => (None, rest),
        };
        let (line, rest) = match rest {
            [set, strip, rest @ ..] if set.sets().is_some_and(|(_, value)| value == b"$uri") => {
                (Some(read_line(set, strip, maps)?), rest)
            }
            rest => (None, rest),
        };
        let scope = Scope { hit: hit.map(|(name, _)| name), line, maps };
        let mut statements = Vec::new();
        for node in rest {
            // It is checked that only statements that compare `hit` come behind it.
            if scope.hit.is_some_and(|hit| is_stop(node, hit)) {
                continue;
            }
            if let Some((targets, captured)) = target_condition(node) {
                statements.push(Statement::Target(scope.target(targets, captured, node)?));
                continue;
            }
            let Some((left, right, body)) = condition(node) else {
                return Err(Refutation::new("an emitted statement is neither a guard nor a class"));
            };
            statements.push(scope.statement(left, right, body)?);
        }
        let guards = Guards { line, statements };
        let are_known = reruns.is_some_and(|reruns| !guards.keys().any(|key| reruns.may_be(key.text)));
        guards.check_kept(maps, reruns.filter(|_| are_known))?;
        Ok(guards)
    }

    /// Checks that each map is volatile whose value may be read with another URI of the same request: see
    /// [`super::reruns`]. `reruns` have no key; `None` if they may have.
    fn check_kept(&self, maps: &Maps, reruns: Option<&Reruns>) -> Discharged<()> {
        for statement in &self.statements {
            let mut volatile = Vec::new();
            let rewrites = match statement {
                Statement::Guard(keys, then) => {
                    volatile.push(*keys);
                    match then {
                        Then::SetClass(class) => {
                            volatile.push(*class);
                            &[]
                        }
                        Then::Rewrite(rewrites) => &*rewrites.all,
                    }
                }
                Statement::Class(_, rewrites) => &rewrites.all,
                Statement::Target(guard) => {
                    let may_be_kept = |reruns: &Reruns| {
                        guard.rewrite.redirects() && (guard.fires_on_all_spellings() || reruns.keep_capitals())
                    };
                    if !reruns.is_some_and(may_be_kept) {
                        volatile.push(guard.targets);
                    }
                    std::slice::from_ref(&guard.rewrite)
                }
            };
            volatile.into_iter().try_for_each(|map| map.must_be_volatile(maps.name(map)))?;
            if reruns.is_none() {
                let read = rewrites.iter().flat_map(Rewrite::variables);
                read.filter_map(|name| Some((name, maps.get(name)?)))
                    .try_for_each(|(name, map)| map.must_be_volatile(name))?;
            }
        }
        Ok(())
    }

    /// Whether the statements leave `$1` to `$9` empty if no rule fires. The pattern that looks for a newline empties
    /// them if it does not match (`ngx_http_script_regex_start_code`); if it does, the statements of its block do. The
    /// pattern that captures a target does as well; if it matches, the one of the rewrite behind it does. Without it,
    /// only that of a rewrite does, for other spellings of a key.
    pub fn clears_captures(&self) -> Clears {
        let mut clears = if self.line.is_some() { Clears::Always } else { Clears::Never };
        for statement in &self.statements {
            match statement {
                Statement::Target(TargetGuard { captured: Some(_), .. }) => clears = Clears::Always,
                Statement::Target(_) if clears == Clears::Never => clears = Clears::Sometimes,
                _ => {}
            }
        }
        clears
    }

    /// Runs the statements. `own` decides whether a pattern is known to match a URI that stands for many.
    pub fn run(&self, uri: Uri, maps: &'t Maps<'t>, keep_captures: bool, own: &dyn Fn(&[u8]) -> bool) -> Behaviour<'t> {
        let mut class: &[u8] = b"";
        let mut entered = false;
        for statement in &self.statements {
            let rewrites = match statement {
                Statement::Guard(keys, then) if is_key(keys, uri) => match then {
                    Then::SetClass(map) => {
                        class = map.get_near(uri.text, uri.near);
                        entered = true;
                        continue;
                    }
                    Then::Rewrite(rewrites) => rewrites,
                },
                Statement::Class(number, rewrites) if class == *number => rewrites,
                Statement::Target(guard) if guard.fires(uri) => {
                    return guard.effect(uri, maps, keep_captures).map_or(Behaviour::Unknown, Behaviour::Fires);
                }
                _ => continue,
            };
            entered = true;
            for rewrite in rewrites.that_may_match(uri.text) {
                match rewrite.matches(uri, own) {
                    Matches::No => {}
                    Matches::Unknown => return Behaviour::Unknown,
                    Matches::Yes => {
                        return rewrite
                            .effect(uri, &|name| maps.get(name), keep_captures)
                            .map_or(Behaviour::Unknown, Behaviour::Fires);
                    }
                }
            }
        }
        if entered { Behaviour::Entered } else { Behaviour::Falls }
    }

    /// The strings that the guards answer.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        let maps = self.statements.iter().filter_map(|statement| match statement {
            Statement::Guard(keys, _) => Some((*keys, None)),
            Statement::Target(guard) => Some((guard.targets, Some(guard.fires_on_all_spellings()))),
            Statement::Class(..) => None,
        });
        let rows = maps.flat_map(|(map, any_case)| map.rows().map(move |row| (row, map.is_of_lines(), any_case)));
        rows.filter(|((key, _), ..)| !key.is_empty()).map(|((text, value), has_twin, any_case)| Key {
            text,
            any_case: any_case.unwrap_or(value == b"$uri"),
            has_twin,
        })
    }
}

impl<'t> TargetGuard<'t> {
    /// Whether the rewrite fires on every spelling of a key, and not only on the keys.
    fn fires_on_all_spellings(&self) -> bool {
        &*self.rewrite.pattern == b"^"
    }

    /// A URI that stands for many spellings is not a key, as all keys are looked at by themselves.
    fn fires(&self, uri: Uri) -> bool {
        let is_spelled_right = || !uri.any_case && !uri.text.iter().any(u8::is_ascii_uppercase);
        !self.targets.get_near(uri.text, uri.near).is_empty() && (self.fires_on_all_spellings() || is_spelled_right())
    }

    fn effect(&self, uri: Uri, maps: &'t Maps<'t>, keep_captures: bool) -> Option<Effect<'t>> {
        let value = |name: &[u8]| if Some(name) == self.captured { Some(self.targets) } else { maps.get(name) };
        self.rewrite.effect(uri, &value, keep_captures)
    }
}

/// A string that a compiled form answers.
pub struct Key<'k> {
    pub text: &'k [u8],
    /// Whether it stands for every spelling of its letters.
    pub any_case: bool,
    /// Whether the string with one more newline is answered, too.
    pub has_twin: bool,
}

/// Reads `set $line $uri;` and `if ($line ~ "\n\z") { set $line $text; rewrite NEVER /; }`, where `$text` is the URI
/// without its final newline. Returns the variable.
fn read_line<'t>(set: &'t Node<'t>, strip: &'t Node<'t>, maps: &Maps) -> Discharged<&'t [u8]> {
    let refute = || Refutation::new("the final newline of the URI is not removed correctly");
    let (line, _) = set.sets().ok_or_else(refute)?;
    let Some([again, clear]) = strip.block.as_deref() else { return Err(refute()) };
    let (name, text) = again.sets().ok_or_else(refute)?;
    let strips = text.strip_prefix(b"$").and_then(|text| maps.get(text)).is_some_and(UriMap::strips);
    let tested = [b"($", line].concat();
    let is_condition = strip.words() == [&b"if"[..], &tested, b"~", b"\n\\z", b")"];
    let admitted = is_condition && name == line && strips && clear.is_clear();
    if admitted { Ok(line) } else { Err(refute()) }
}

/// The variables and maps that the statements may refer to.
struct Scope<'t> {
    hit: Option<&'t [u8]>,
    line: Option<&'t [u8]>,
    maps: &'t Maps<'t>,
}

impl<'t> Scope<'t> {
    fn statement(&self, left: &'t [u8], right: &'t [u8], body: &'t [Node<'t>]) -> Discharged<Statement<'t>> {
        if Some(left) == self.hit && !right.is_empty() && right.iter().all(u8::is_ascii_digit) {
            return Ok(Statement::Class(right, self.rewrites(body)?));
        }
        let compared = right.strip_prefix(b"$").unwrap_or_default();
        let keys = self.map(left)?.filter(|map| map.source() == compared && map.is_guard());
        let keys = keys.ok_or_else(|| Refutation::new("a condition is not an exact guard"))?;
        if let Some((name, value)) = body.first().filter(|_| body.len() == 1).and_then(Node::sets) {
            let class = self.map(value.strip_prefix(b"$").unwrap_or_default())?.filter(|_| Some(name) == self.hit);
            let class = class.ok_or_else(|| Refutation::new("a guard sets a variable that no class reads"))?;
            return Ok(Statement::Guard(keys, Then::SetClass(class)));
        }
        Ok(Statement::Guard(keys, Then::Rewrite(self.rewrites(body)?)))
    }

    /// Reads what is behind a map of targets.
    fn target(&self, name: &[u8], captured: Option<&'t [u8]>, node: &'t Node<'t>) -> Discharged<TargetGuard<'t>> {
        let targets = self.map(name)?.filter(|map| map.source() == b"uri" && map.has_texts());
        let targets = targets.ok_or_else(|| Refutation::new("a target is read that is not one text for each key"))?;
        let Rewrites { mut all, .. } = self.rewrites(node.block.as_deref().unwrap_or_default())?;
        let Some(rewrite) = all.pop().filter(|_| all.is_empty()) else {
            return Err(Refutation::new("a target guards more than one rewrite"));
        };
        let guard = TargetGuard { targets, captured, rewrite };
        let has_capital = |(key, _): (&[u8], &[u8])| key.iter().any(u8::is_ascii_uppercase);
        let excludes_spellings = || &*guard.rewrite.pattern == NO_CAPITAL && !targets.rows().any(has_capital);
        if !guard.fires_on_all_spellings() && !excludes_spellings() {
            return Err(Refutation::new("a target fires on other spellings of its keys, or not on a key"));
        }
        Ok(guard)
    }

    /// The map of this name, whose source must be known.
    fn map(&self, name: &[u8]) -> Discharged<Option<&'t UriMap<'t>>> {
        let map = self.maps.get(name);
        let is_known = |map: &&UriMap| !map.strips() && (map.source() == b"uri" || Some(map.source()) == self.line);
        if map.as_ref().is_none_or(is_known) {
            Ok(map)
        } else {
            Err(Refutation::new("a map looks up something other than the URI"))
        }
    }

    fn rewrites(&self, body: &'t [Node<'t>]) -> Discharged<Rewrites<'t>> {
        let rewrites = rewrites(body)?;
        for name in rewrites.all.iter().flat_map(Rewrite::variables) {
            self.map(name)?;
        }
        Ok(rewrites)
    }
}

/// `if ($left = right) { body }`.
fn condition<'t>(node: &'t Node<'t>) -> Option<(&'t [u8], &'t [u8], &'t [Node<'t>])> {
    let is_equality = node.words().len() == 4 && node.word(0) == b"if" && node.word(2) == b"=";
    let left = node.word(1).strip_prefix(b"($").filter(|_| is_equality)?;
    Some((left, node.word(3).strip_suffix(b")")?, node.block.as_deref()?))
}

/// Reads the condition `if ($to)` or `if ($to ~ "(?s)^(?<text>.+)")`: the names of the map and of the variable of the
/// text.
pub fn target_condition<'t>(node: &'t Node<'t>) -> Option<(&'t [u8], Option<&'t [u8]>)> {
    node.block.as_ref()?;
    match node.words()[..] {
        [b"if", map] => Some((map.strip_prefix(b"($")?.strip_suffix(b")")?, None)),
        [b"if", map, b"~", pattern, b")"] => {
            let text = pattern.strip_prefix(b"(?s)^(?<")?.strip_suffix(b">.+)")?;
            (text.len() <= LONGEST_GROUP).then_some((map.strip_prefix(b"($")?, Some(text)))
        }
        _ => None,
    }
}

/// The directives of a block, tried in order.
struct Rewrites<'t> {
    all: Vec<Rewrite<'t>>,
    /// Finds the rules that may match, if there are many. A class that sets captures has a directive for each rule.
    index: Option<Box<Residual<'t>>>,
}

/// Up to this many rules, trying all is faster than searching for those that may match.
const FEW: usize = 8;

impl<'t> Rewrites<'t> {
    fn that_may_match(&self, uri: &[u8]) -> impl Iterator<Item = &Rewrite<'t>> {
        let found = self.index.as_ref().map(|index| index.that_may_match(uri));
        let all = found.is_none().then_some(0..self.all.len());
        found.into_iter().flatten().chain(all.into_iter().flatten()).map(|place| &self.all[place])
    }
}

fn rewrites<'t>(body: &'t [Node<'t>]) -> Discharged<Rewrites<'t>> {
    let read = |node: &'t Node<'t>| {
        let flag = node.flag().filter(|_| node.is_rule())?;
        Rewrite::read(Cow::Borrowed(node.word(1)), node.word(2), Some(flag))
    };
    let all: Option<Vec<_>> = body.iter().map(read).collect();
    let all = all
        .filter(|all| !all.is_empty())
        .ok_or_else(|| Refutation::new("a guard contains something other than rewrites with a flag"))?;
    if body.iter().any(|node| sets_a_name(node.word(1))) {
        return Err(Refutation::new("a rewrite behind a guard sets a variable by a named group"));
    }
    let index = (all.len() > FEW).then(|| Box::new(Residual::new(body.iter().map(|node| node.word(1)).enumerate())));
    Ok(Rewrites { all, index })
}

/// Whether a pattern has a named group, which sets a variable that others may read. One with groups has been read.
fn sets_a_name(pattern: &[u8]) -> bool {
    pattern.contains(&b'(') && syntax::parse(pattern).is_ok_and(|pattern| pattern.named)
}

/// `if ($key = $uri)` for this URI, or the same of the URI without a final newline.
fn is_key(keys: &UriMap, uri: Uri) -> bool {
    match keys.get_near(uri.text, uri.near) {
        b"$uri" => true,
        key => !uri.any_case && key == keys.subject(uri.text),
    }
}
