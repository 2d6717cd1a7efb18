//! Explains why locations that match a URI are not chosen for it.

use super::location::Location;
use super::siblings::{Search, Selection, Siblings};
use super::tree::Found;
use crate::request::outcome::PassedOver;

/// The reasons for these locations and those nested in them, in the order in which nginx tries them.
pub(super) fn of(siblings: &Siblings, uri: &[u8]) -> Vec<PassedOver> {
    let (mut reasons, no_regex) = statics(siblings, uri);
    match (first(siblings, uri), no_regex) {
        (Some(index), None) => {
            let reason = format!("the pattern {} matches", siblings.regexes[index].name.escape_ascii());
            reasons.extend(deepest(siblings, uri).map(|location| passed_over(location, &reason)));
            reasons.extend(regexes(siblings, uri, index));
            let inner = siblings.inner.get(&siblings.regexes[index].level);
            reasons.extend(inner.map(|inner| of(inner, uri)).unwrap_or_default());
        }
        (_, Some(reason)) => {
            let matching = siblings.regexes.iter().enumerate().filter(|(index, _)| is_match(siblings, uri, *index));
            reasons.extend(matching.map(|(_, regex)| passed_over(regex, reason)));
        }
        (None, None) => reasons.extend(regexes(siblings, uri, siblings.regexes.len())),
    }
    reasons
}

/// The reasons for prefix and exact locations, and why patterns of the same level are not tried.
fn statics(siblings: &Siblings, uri: &[u8]) -> (Vec<PassedOver>, Option<&'static str>) {
    let (level, reason, no_regex) = match siblings.tree.find(uri) {
        Found::None if siblings.is_dead => (None, "prefixes inside a location with a pattern are never tried", None),
        Found::None => return (Vec::new(), None),
        Found::Exact(level) => (Some(level), "the exact location matches", Some("the exact location matches")),
        Found::Redirect(level) => {
            (Some(level), "the URI lacks the slash of a location", Some("the URI lacks the slash of a location"))
        }
        Found::Prefix { level, no_regex } => {
            (Some(level), "a longer prefix matches", no_regex.then_some("the prefix is ^~"))
        }
    };
    let others = siblings.statics.iter().filter(|location| Some(location.level) != level && location.matches(uri));
    let mut reasons: Vec<PassedOver> = others.map(|location| passed_over(location, reason)).collect();
    let Some(inner) = level.and_then(|level| siblings.inner.get(&level)) else { return (reasons, no_regex) };
    reasons.extend(of(inner, uri));
    let is_over = inner.find(uri, &mut Selection::default()) == Ok(Search::Over);
    (reasons, if is_over { Some("a location inside the prefix is chosen") } else { no_regex })
}

/// The reasons for patterns. Those before the chosen one were tried, and those after it may match as well.
fn regexes(siblings: &Siblings, uri: &[u8], chosen: usize) -> Vec<PassedOver> {
    let reason = |index: usize| match index.cmp(&chosen) {
        std::cmp::Ordering::Less => Some("does not match"),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => is_match(siblings, uri, index).then_some("an earlier pattern matches"),
    };
    let all = siblings.regexes.iter().enumerate();
    all.filter_map(|(index, regex)| reason(index).map(|reason| passed_over(regex, reason))).collect()
}

/// The prefix that would be chosen if there were no patterns on its level.
fn deepest<'s>(siblings: &'s Siblings, uri: &[u8]) -> Option<&'s Location> {
    let Found::Prefix { level, .. } = siblings.tree.find(uri) else { return None };
    let inner = siblings.inner.get(&level).and_then(|inner| deepest(inner, uri));
    inner.or_else(|| siblings.statics.iter().find(|location| location.level == level))
}

fn first(siblings: &Siblings, uri: &[u8]) -> Option<usize> {
    let patterns = siblings.patterns.as_ref()?;
    patterns.first(uri, 0..patterns.len()).ok()?
}

fn is_match(siblings: &Siblings, uri: &[u8], index: usize) -> bool {
    let patterns = siblings.patterns.as_ref();
    patterns.is_some_and(|patterns| patterns.first(uri, index..index + 1) == Ok(Some(index)))
}

fn passed_over(location: &Location, reason: &str) -> PassedOver {
    PassedOver { node: location.node, reason: reason.to_owned() }
}

impl Location {
    /// Whether a prefix or exact location matches a URI.
    fn matches(&self, uri: &[u8]) -> bool {
        if self.is_exact { uri == self.name } else { uri.starts_with(&self.name) }
    }
}
