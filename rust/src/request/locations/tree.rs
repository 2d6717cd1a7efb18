//! The tree in which nginx looks for prefix and exact locations (`ngx_http_init_static_location_trees`,
//! `ngx_http_core_find_static_location`).
//!
//! It is built and searched as in nginx. A slash sorts before all other bytes (`ngx_filename_cmp`), so the search for
//! `/a` passes `/a/`, to which nginx may redirect.

use std::cmp::Ordering;

use super::location::Location;
use crate::request::refused::Refused;
use crate::request::site::LevelId;

/// The locations of a level without patterns.
#[derive(Default)]
pub struct Tree {
    nodes: Vec<TreeNode>,
    root: Option<usize>,
}

struct TreeNode {
    /// The name without that of the node around this one.
    name: Vec<u8>,
    exact: Option<LevelId>,
    /// The prefix location, and whether it has `^~`.
    inclusive: Option<(LevelId, bool)>,
    redirects: bool,
    left: Option<usize>,
    right: Option<usize>,
    within: Option<usize>,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    None,
    Exact(LevelId),
    Prefix {
        level: LevelId,
        no_regex: bool,
    },
    /// The location whose name is the URI with a slash.
    Redirect(LevelId),
}

/// The locations of one name: an exact one, a prefix, or both.
struct Entry {
    name: Vec<u8>,
    exact: Option<LevelId>,
    inclusive: Option<(LevelId, bool)>,
    redirects: bool,
}

impl Tree {
    /// Fails with the message of nginx if two locations have the same name.
    pub fn new(locations: &[Location], version: (u32, u32, u32)) -> Result<Tree, Refused> {
        let entries = joined(locations)?;
        let mut tree = Tree::default();
        // Before 1.23.4, nginx stored the length of a name in one byte.
        let is_short = version < (1, 23, 4);
        let heads = heads(&entries);
        tree.root = tree.add(&entries, &heads, 0, is_short);
        Ok(tree)
    }

    /// Finds the longest name that the URI begins with. O(length of the URI x log of the number of names).
    pub fn find(&self, uri: &[u8]) -> Found {
        let mut found = Found::None;
        let mut rest = uri;
        let mut next = self.root;
        while let Some(at) = next {
            let node = &self.nodes[at];
            let length = rest.len().min(node.name.len());
            next = match order(&rest[..length], &node.name[..length]) {
                Ordering::Less => node.left,
                Ordering::Greater => node.right,
                Ordering::Equal if rest.len() > length => match node.inclusive {
                    Some((level, no_regex)) => {
                        found = Found::Prefix { level, no_regex };
                        rest = &rest[length..];
                        node.within
                    }
                    None => node.right,
                },
                Ordering::Equal if rest.len() == node.name.len() => {
                    let prefix = |(level, no_regex)| Found::Prefix { level, no_regex };
                    return node.exact.map(Found::Exact).or(node.inclusive.map(prefix)).unwrap_or(Found::None);
                }
                Ordering::Equal => {
                    let level = node.exact.or(node.inclusive.map(|(level, _)| level));
                    if rest.len() + 1 == node.name.len()
                        && node.redirects
                        && let Some(level) = level
                    {
                        found = Found::Redirect(level);
                    }
                    node.left
                }
            };
        }
        found
    }

    /// Adds the nodes of `heads` and returns their root. Each head is a name, with the number of following names that
    /// begin with it.
    fn add(&mut self, entries: &[Entry], heads: &[(usize, usize)], prefix: usize, is_short: bool) -> Option<usize> {
        let middle = heads.len() / 2;
        let (start, end) = *heads.get(middle)?;
        let entry = &entries[start];
        let length = entry.name.len() - prefix;
        let kept = if is_short { length % 256 } else { length };
        let left = self.add(entries, &heads[..middle], prefix, is_short);
        let right = self.add(entries, &heads[middle + 1..], prefix, is_short);
        let inside = &entries[start + 1..end];
        let within = self.add(inside, &self::heads(inside), prefix + length, is_short);
        self.nodes.push(TreeNode {
            name: entry.name[prefix..prefix + kept].to_vec(),
            exact: entry.exact,
            inclusive: entry.inclusive,
            redirects: entry.redirects,
            left,
            right,
            within,
        });
        Some(self.nodes.len() - 1)
    }
}

/// Compares names by bytes, with a slash before all other bytes.
fn order(one: &[u8], two: &[u8]) -> Ordering {
    let at = one.iter().zip(two).position(|(one, two)| one != two);
    at.map_or(one.len().cmp(&two.len()), |at| match (one[at], two[at]) {
        (b'/', _) => Ordering::Less,
        (_, b'/') => Ordering::Greater,
        (one, two) => one.cmp(&two),
    })
}

/// Sorts locations by name and joins an exact one with the prefix of the same name.
fn joined(locations: &[Location]) -> Result<Vec<Entry>, Refused> {
    let mut locations: Vec<&Location> = locations.iter().collect();
    locations.sort_by(|one, two| order(&one.name, &two.name).then(two.is_exact.cmp(&one.is_exact)));
    let mut entries: Vec<Entry> = Vec::new();
    for location in locations {
        let level = location.level;
        let prefix = (!location.is_exact).then_some((level, location.no_regex));
        match entries.last_mut() {
            Some(entry) if entry.name == location.name => {
                if location.is_exact || entry.inclusive.is_some() {
                    let text = location.name.escape_ascii();
                    return Err(Refused::new(location.node, format!("duplicate location \"{text}\"")));
                }
                entry.inclusive = prefix;
                entry.redirects |= location.redirects;
            }
            _ => {
                let exact = location.is_exact.then_some(level);
                let redirects = location.redirects;
                entries.push(Entry { name: location.name.clone(), exact, inclusive: prefix, redirects });
            }
        }
    }
    Ok(entries)
}

/// Returns the entries that do not begin with an earlier prefix location, each with the end of the entries that begin
/// with it.
fn heads(entries: &[Entry]) -> Vec<(usize, usize)> {
    let mut heads = Vec::new();
    let mut start = 0;
    while let Some(entry) = entries.get(start) {
        let is_within = |other: &Entry| entry.inclusive.is_some() && other.name.starts_with(&entry.name);
        let end = start + 1 + entries[start + 1..].iter().take_while(|other| is_within(other)).count();
        heads.push((start, end));
        start = end;
    }
    heads
}
