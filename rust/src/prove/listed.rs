//! Reads the form without an `if`, which is a sequence of rules whose patterns list the keys.

use std::borrow::Cow;

use crate::prove::effect::{Behaviour, Rewrite, Uri};
use crate::prove::guards::Key;
use crate::prove::maps::Maps;
use crate::prove::node::Node;
use crate::prove::strings::Owners;
use crate::prove::{Discharged, Refutation, trie};

/// Rules that each match a few known strings, in order.
pub struct Listed<'t> {
    rules: Vec<Rewrite<'t>>,
    /// The strings, each with the first rule that matches it.
    exact: Owners,
    /// Strings in lower case that stand for all their spellings, each with the first rule that matches it.
    any_case: Owners,
}

impl<'t> Listed<'t> {
    /// Accepts only rules with a flag and without groups. Their targets must consist of text, variables of nginx and
    /// maps of the URI.
    pub fn read(nodes: &[&'t Node<'t>], maps: &'t Maps<'t>) -> Discharged<Listed<'t>> {
        let mut listed = Listed { rules: Vec::new(), exact: Owners::default(), any_case: Owners::default() };
        for node in nodes {
            let pattern = node.word(1);
            let refute = |why: &str| Refutation::new(format!("the new rule {} {why}", pattern.escape_ascii()));
            let listed_strings =
                trie::read(pattern).ok_or_else(|| refute("has a pattern that does not list strings"))?;
            let flag = node.flag().ok_or_else(|| refute("has no flag"))?;
            let rule = Rewrite::read(Cow::Borrowed(pattern), node.word(2), Some(flag));
            let rule = rule.ok_or_else(|| refute("cannot be read"))?;
            let asks_another = |name: &[u8]| maps.get(name).is_some_and(|map| map.strips() || map.source() != b"uri");
            if rule.variables().any(asks_another) {
                return Err(refute("looks up something other than the URI in a map"));
            }
            let read = rule.variables().filter_map(|name| Some((name, maps.get(name)?)));
            read.into_iter().try_for_each(|(name, map)| map.must_be_volatile(name))?;
            let owner = listed.rules.len() as u32;
            let owners = if listed_strings.any_case { &mut listed.any_case } else { &mut listed.exact };
            listed_strings.strings.iter().for_each(|string| owners.add(string, owner));
            listed.rules.push(rule);
        }
        Ok(listed)
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the effect of the first rule that matches. A URI that stands for many spellings is not one of the listed
    /// strings.
    pub fn run(&self, uri: Uri, maps: &'t Maps<'t>, keep_captures: bool) -> Behaviour<'t> {
        let any_case = (!self.any_case.is_empty()).then(|| self.any_case.get(&uri.text.to_ascii_lowercase())).flatten();
        let exact = if uri.any_case { None } else { self.exact.get(uri.text) };
        match any_case.into_iter().chain(exact).min() {
            None => Behaviour::Falls,
            Some(rule) => {
                let effect = self.rules[rule as usize].effect(uri, &|name| maps.get(name), keep_captures);
                effect.map_or(Behaviour::Unknown, Behaviour::Fires)
            }
        }
    }

    /// The strings that the rules match.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        let exact = self.exact.iter().map(|(text, _)| Key { text, any_case: false, has_twin: false });
        exact.chain(self.any_case.iter().map(|(text, _)| Key { text, any_case: true, has_twin: false }))
    }
}
