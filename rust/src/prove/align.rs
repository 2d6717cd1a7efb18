//! Aligns the two texts. All statements other than rules must be the same, in the same order, and each run of rules
//! must be replaced by its compiled form.

use std::collections::HashSet;

use crate::phase::{Entering, Phase};
use crate::prove::groups::{self, Flat};
use crate::prove::guards;
use crate::prove::known::Known;
use crate::prove::maps::Maps;
use crate::prove::names::{self, Used};
use crate::prove::node::Node;
use crate::prove::run::{self, CompiledForm};
use crate::prove::surroundings;
use crate::prove::tables::{self, Behind, Include};
use crate::prove::{Checked, Discharged, Pair, Refutation};

/// Compares a file before and after. Exactly one of all files contains `include`.
pub fn file<'t>(
    before: &'t [Node<'t>],
    after: &'t [Node<'t>],
    pair: &Pair,
    known: &Known<'t, '_>,
    include: &mut Include,
) -> Discharged<Checked> {
    let mut alignment = Alignment { known, pair, include };
    let block = pair.in_http.then_some(&b"http"[..]);
    if pair.in_http {
        alignment.include.find(after, Behind::NotSeen)?;
    }
    alignment.scope(before, after, pair.in_location, block)
}

struct Alignment<'t, 'f> {
    known: &'f Known<'t, 'f>,
    pair: &'f Pair<'f>,
    include: &'f mut Include,
}

impl<'t> Alignment<'t, '_> {
    fn scope(
        &mut self,
        before: &'t [Node<'t>],
        after: &'t [Node<'t>],
        in_location: bool,
        block: Option<&[u8]>,
    ) -> Discharged<Checked> {
        let transparent = &self.known.facts.transparent;
        let is_transparent = |node: &&Node| transparent.contains(node.word(0));
        let (before_others, before_script): (Vec<_>, Vec<_>) = before.iter().partition(is_transparent);
        let (after_others, after_script): (Vec<_>, Vec<_>) =
            after.iter().filter(|node| !self.is_added(node, block)).partition(is_transparent);
        let phase = self.phase(in_location, block);
        let entering = self.entering(before, phase, block);
        let (mut checked, emitted) = self.script(&before_script, &after_script, phase, entering, block)?;
        let is_rule = |node: &Node| phase.is_some() && node.is_rewrite();
        let is_emitted = |node: &Node| {
            emitted.contains(&std::ptr::from_ref(node)) || self.is_include(node, block) || self.is_added(node, block)
        };
        let stays = |node: &&Node| is_transparent(node) || !is_rule(node);
        let before_order = before.iter().filter(stays).map(|node| is_transparent(&node));
        let after_order =
            after.iter().filter(|node| stays(node) && !is_emitted(node)).map(|node| is_transparent(&node));
        if !before_order.eq(after_order) {
            return Err(changed(None));
        }
        for (before, after) in before_others.into_iter().zip(after_others) {
            checked += self.other(before, after, in_location)?;
        }
        Ok(checked)
    }

    /// The phase of the rules of a block. `None` if nginx allows no rules there, or no `if` that could replace them.
    fn phase(&self, in_location: bool, block: Option<&[u8]>) -> Option<Phase> {
        let takes_rules = match block {
            None => self.pair.takes_rules,
            Some(name) => name == b"server" || name == b"location",
        };
        takes_rules.then_some(if in_location { Phase::Location } else { Phase::Server })
    }

    /// Which rules may stand in an `if` of a block. None of a location if not all of its statements are here.
    fn entering(&self, before: &[Node], phase: Option<Phase>, block: Option<&[u8]>) -> Entering {
        match phase {
            Some(Phase::Server) => Entering::All,
            Some(Phase::Location) if block == Some(b"location") => {
                surroundings::entering(before, self.known.facts, self.known.headers_inherited)
            }
            _ => Entering::Nothing,
        }
    }

    /// Compares a statement outside the script: its words must be the same, and its block is compared in turn.
    fn other(&mut self, before: &'t Node<'t>, after: &'t Node<'t>, in_location: bool) -> Discharged<Checked> {
        if before.words != after.words && !tables::is_raised(before, after) {
            return Err(changed(Some(before)));
        }
        match (&before.block, &after.block) {
            (None, None) => Ok(Checked::default()),
            (Some(block_before), Some(block_after)) => {
                if before.word(0) == b"http" {
                    self.include.find(block_after, Behind::Nothing)?;
                }
                let in_location = match before.word(0) {
                    b"server" => false,
                    b"location" => true,
                    _ => in_location,
                };
                self.scope(block_before, block_after, in_location, Some(before.word(0)))
            }
            _ => Err(changed(Some(before))),
        }
    }

    /// Compares the statements of the rewrite module. Also returns those that replaced rules.
    fn script(
        &mut self,
        before: &[&'t Node<'t>],
        after: &[&'t Node<'t>],
        phase: Option<Phase>,
        entering: Entering,
        block: Option<&[u8]>,
    ) -> Discharged<(Checked, HashSet<*const Node<'t>>)> {
        let mut checked = Checked::default();
        let maps = self.known.maps;
        let is_whole = phase == Some(Phase::Server) && block == Some(b"server");
        let flat = match phase {
            Some(_) => groups::flatten(after, self.known, entering, before, is_whole)?,
            None => Flat { statements: after.to_vec(), grouping: Vec::new() },
        };
        let after = &flat.statements;
        let mut emitted: HashSet<_> = flat.grouping.iter().copied().map(std::ptr::from_ref).collect();
        let emitted_names = EmittedNames::find(after, maps);
        emitted_names.check_names(self.known.used)?;
        let (mut at, mut emitted_at) = (0, 0);
        while at < before.len() || emitted_at < after.len() {
            if after.get(emitted_at).is_some_and(|node| self.is_include(node, block)) {
                emitted_at += 1;
                continue;
            }
            if let Some(phase) = phase.filter(|_| before.get(at).is_some_and(|node| node.is_rule())) {
                let rules = &before[at..at + count(&before[at..], |node| node.is_rule())];
                let (compiled, length) =
                    CompiledForm::split(&after[emitted_at..], |node| emitted_names.is_emitted(node));
                let facts = self.known.facts;
                let is_last = is_whole && emitted_at + length == after.len();
                compiled.check_stop(is_last)?;
                let (captures_matter, reruns) = (self.known.captures_matter, self.known.reruns.as_ref());
                checked += run::check(rules, &compiled, maps, &facts.readings, phase, captures_matter, reruns)?;
                emitted.extend(compiled.new_statements().map(std::ptr::from_ref));
                at += rules.len();
                emitted_at += length;
                continue;
            }
            match (before.get(at), after.get(emitted_at)) {
                (Some(node_before), Some(node_after)) if node_before == node_after => {}
                (node_before, node_after) => return Err(changed(node_before.or(node_after).copied())),
            }
            (at, emitted_at) = (at + 1, emitted_at + 1);
        }
        Ok((checked, emitted))
    }

    /// Whether the statement sets the size of a hash table and is new in the http block.
    fn is_added(&self, node: &Node, block: Option<&[u8]>) -> bool {
        block == Some(b"http") && self.include.is_added(node)
    }

    /// Whether the statement is the new `include` of the maps in the http block.
    fn is_include(&self, node: &Node, block: Option<&[u8]>) -> bool {
        block == Some(b"http") && self.include.is(node)
    }
}

fn changed(node: Option<&Node>) -> Refutation {
    let name = node.map_or_else(String::new, |node| format!(" ({})", node.word(0).escape_ascii()));
    Refutation::new(format!("a statement other than a compiled rule has changed{name}"))
}

fn count<T>(items: &[T], test: impl Fn(&T) -> bool) -> usize {
    items.iter().take_while(|item| test(item)).count()
}

/// The names by which an emitted statement is recognised: it reads an emitted map, or the variable that holds the
/// class.
struct EmittedNames<'t> {
    maps: &'t Maps<'t>,
    classes: HashSet<&'t [u8]>,
    /// The variables that hold the URI without a final newline.
    lines: HashSet<&'t [u8]>,
    /// The variables in which conditions capture a target.
    captured: HashSet<&'t [u8]>,
}

impl<'t> EmittedNames<'t> {
    fn find(after: &[&'t Node<'t>], maps: &'t Maps<'t>) -> EmittedNames<'t> {
        let sets = after.iter().flat_map(|node| node.block.iter().flatten());
        let class = |node: &'t Node<'t>| {
            let (name, value) = node.sets()?;
            maps.get(value.strip_prefix(b"$")?).map(|_| name)
        };
        let lines = maps.sources().filter(|source| *source != b"uri").collect::<HashSet<_>>();
        let classes = sets.filter_map(class).filter(|name| !lines.contains(name)).collect();
        let conditions = after.iter().filter_map(|node| guards::target_condition(node));
        let captured = conditions.filter_map(|(map, captured)| maps.get(map).and(captured)).collect();
        EmittedNames { maps, classes, lines, captured }
    }

    /// Checks that nothing else sets the variable of a class, not even a map, and that each variable has one use.
    fn check_names(&self, used: &Used) -> Discharged<()> {
        let is_set = |name: &&&[u8]| self.classes.contains(*name) || self.lines.contains(*name);
        if self.captured.iter().any(|name| is_set(&name) || self.maps.names().any(|other| other == *name)) {
            return Err(Refutation::new("a condition captures a target in a variable that something else sets"));
        }
        for name in self.classes.iter().chain(&self.lines).chain(&self.captured) {
            names::is_free(name)?;
            used.leave(name)?;
            if self.maps.get(name).is_some() {
                return Err(Refutation::new("a `set` assigns to the variable of a map"));
            }
        }
        Ok(())
    }

    fn is_emitted(&self, node: &Node) -> bool {
        let name = match (node.word(0), node.word(1)) {
            (b"set", [b'$', name @ ..]) => return self.classes.contains(name) || self.lines.contains(name),
            (b"if", [b'(', b'$', name @ ..]) => name.strip_suffix(b")").unwrap_or(name),
            _ => return false,
        };
        self.maps.get(name).is_some() || self.classes.contains(name) || self.lines.contains(name)
    }
}
