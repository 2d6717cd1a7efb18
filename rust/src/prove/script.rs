//! The emitted statements as a program, and what it does with a URI (`ngx_http_rewrite_handler`).

use std::borrow::Cow;

use crate::prove::effect::{Effect, Matches, Rewrite, Uri};
use crate::prove::maps::{Map, Maps};
use crate::prove::node::Node;
use crate::prove::{Proof, Refutation};

/// The emitted statements of a run.
pub struct Script<'t> {
    steps: Vec<Step<'t>>,
}

enum Step<'t> {
    /// `if ($key = $uri)` with what it does.
    Guard(&'t Map<'t>, Then<'t>),
    /// `if ($hit = number)`.
    Class(&'t [u8], Vec<Rewrite<'t>>),
}

enum Then<'t> {
    SetClass(&'t Map<'t>),
    Rewrite(Vec<Rewrite<'t>>),
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
            for rewrite in rewrites {
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

fn rewrites<'t>(body: &'t [Node<'t>]) -> Proof<Vec<Rewrite<'t>>> {
    let read = |node: &'t Node<'t>| {
        let flag = node.flag().filter(|_| node.is_rule())?;
        Rewrite::read(Cow::Borrowed(node.word(1)), node.word(2), Some(flag))
    };
    let all: Option<Vec<_>> = body.iter().map(read).collect();
    all.filter(|all| !all.is_empty())
        .ok_or_else(|| Refutation::new("a guard does something else than to rewrite with a flag"))
}

/// `if ($key = $uri)` for this URI.
fn is_key(keys: &Map, uri: Uri) -> bool {
    match keys.get(uri.text) {
        b"$uri" => true,
        key => !uri.any_case && key == uri.text,
    }
}
