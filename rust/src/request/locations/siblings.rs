//! The locations of one level, and the search among them and within them.

use hashbrown::HashMap;

use super::location::Location;
use super::name::Name;
use super::tree::{Found, Tree};
use crate::first_match::Tries;
use crate::request::outcome::Unknown;
use crate::request::patterns::{Captures, Pattern, Patterns};
use crate::request::refused::Refused;
use crate::request::site::{Kind, LevelId, Site};

/// The locations directly in a server or a location.
#[derive(Default)]
pub struct Siblings {
    pub tree: Tree,
    pub regexes: Vec<Location>,
    pub patterns: Option<Patterns>,
    /// The locations nested in each of these.
    pub inner: HashMap<LevelId, Siblings>,
    /// The prefix and exact locations.
    pub statics: Vec<Location>,
    /// Whether nginx never finds the prefix and exact locations, because they are in a location with a pattern.
    pub is_dead: bool,
}

/// The location that nginx chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The level of the location. `None` if no location matches, so that the settings of the server are in force.
    pub location: Option<LevelId>,
    /// Whether nginx redirects to the name of the location, which is the URI with a slash.
    pub redirect: bool,
    /// The captures of the patterns that matched, in this order. The numbered captures are those of the last pattern;
    /// named captures are kept from all. These are the pattern that is chosen and those around the chosen location.
    pub captures: Vec<Captures>,
}

/// Whether the search continues in the enclosing levels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Search {
    Over,
    Open,
}

impl Siblings {
    /// Reads the locations directly in a level, and adds those with an `@` to `named`.
    pub fn new(
        site: &Site,
        level: LevelId,
        around: Option<&Name>,
        is_dead: bool,
        named: &mut Vec<Location>,
    ) -> Result<Siblings, Refused> {
        let mut siblings = Siblings { is_dead, ..Siblings::default() };
        let mut patterns = Vec::new();
        let locations = site.levels[level].locations.iter().map(|id| (*id, &site.levels[*id]));
        for (id, inner) in locations.filter(|(_, inner)| inner.kind == Kind::Location) {
            let name = Name::read(inner)?;
            name.check(inner.node, around)?;
            let location = name.location(id, inner);
            match name.caseless() {
                Some(caseless) => {
                    patterns.push(Pattern { node: inner.node, text: name.text.clone(), caseless });
                    siblings.regexes.push(location);
                }
                None if name.is_named() => named.push(location),
                None => siblings.statics.push(location),
            }
            let within = Siblings::new(site, id, Some(&name), is_dead || name.caseless().is_some(), named)?;
            if !within.is_empty() {
                siblings.inner.insert(id, within);
            }
        }
        if !is_dead {
            siblings.tree = Tree::new(&siblings.statics, site.build.version)?;
        }
        siblings.patterns = if patterns.is_empty() { None } else { Some(Patterns::new(patterns)?) };
        Ok(siblings)
    }

    fn is_empty(&self) -> bool {
        self.statics.is_empty() && self.regexes.is_empty()
    }

    /// Finds a location for a URI among these. If none matches, the location chosen so far stays.
    pub fn find(&self, uri: &[u8], selection: &mut Selection) -> Result<Search, Unknown> {
        let mut search = Search::Open;
        let mut no_regex = false;
        match self.tree.find(uri) {
            Found::None => {}
            Found::Exact(level) => {
                selection.location = Some(level);
                return Ok(Search::Over);
            }
            Found::Redirect(level) => {
                (selection.location, selection.redirect) = (Some(level), true);
                return Ok(Search::Over);
            }
            Found::Prefix { level, no_regex: is_last } => {
                selection.location = Some(level);
                no_regex = is_last;
                search = self.find_within(level, uri, selection)?;
            }
        }
        if search == Search::Over || no_regex {
            return Ok(search);
        }
        let Some(patterns) = &self.patterns else { return Ok(search) };
        let Some(index) = patterns.first(uri, 0..patterns.len())? else { return Ok(search) };
        let level = self.regexes[index].level;
        selection.captures.push(patterns.captures(index, uri)?);
        selection.location = Some(level);
        self.find_within(level, uri, selection)?;
        Ok(Search::Over)
    }

    /// Adds what [`Siblings::find`] tries. Returns whether the search is over.
    pub fn tries(&self, uri: &[u8], found: &mut Vec<(LevelId, Tries)>) -> Search {
        match self.tree.find(uri) {
            Found::Exact(_) | Found::Redirect(_) => return Search::Over,
            Found::Prefix { level, no_regex } => {
                let search = self.inner.get(&level).map_or(Search::Open, |inner| inner.tries(uri, found));
                if search == Search::Over || no_regex {
                    return search;
                }
            }
            Found::None => {}
        }
        let Some(patterns) = &self.patterns else { return Search::Open };
        let all = 0..patterns.len();
        let Ok(first) = patterns.first(uri, all.clone()) else { return Search::Over };
        found.push((self.regexes[0].level, patterns.tries(uri, all, first)));
        let Some(index) = first else { return Search::Open };
        if let Some(inner) = self.inner.get(&self.regexes[index].level) {
            inner.tries(uri, found);
        }
        Search::Over
    }

    fn find_within(&self, level: LevelId, uri: &[u8], selection: &mut Selection) -> Result<Search, Unknown> {
        self.inner.get(&level).map_or(Ok(Search::Open), |inner| inner.find(uri, selection))
    }
}
