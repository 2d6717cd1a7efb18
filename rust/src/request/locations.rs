//! Finds the location of a URI (`ngx_http_core_find_location`).

mod location;
mod name;
mod reasons;
mod siblings;
#[cfg(test)]
mod tests;
mod tree;

use hashbrown::HashMap;

use crate::first_match::Tries;
use crate::request::outcome::{PassedOver, Unknown};
use crate::request::refused::Refused;
use crate::request::site::{LevelId, Site};

pub use siblings::Selection;

use siblings::Siblings;

/// The locations of a server.
pub struct Locations {
    top: Siblings,
    named: HashMap<Vec<u8>, LevelId>,
}

impl Locations {
    /// Reads the locations of a server. Fails with the message of nginx for the first that it refuses.
    pub fn new(site: &Site, server: LevelId) -> Result<Locations, Refused> {
        let mut locations = Locations { top: Siblings::default(), named: HashMap::default() };
        let mut named = Vec::new();
        locations.top = Siblings::new(site, server, None, false, &mut named)?;
        for location in named {
            locations.named.entry(location.name).or_insert(location.level);
        }
        Ok(locations)
    }

    /// Finds the location `@name`.
    pub fn named(&self, name: &[u8]) -> Option<LevelId> {
        self.named.get(name).copied()
    }

    /// Finds the location for a URI.
    pub fn select(&self, uri: &[u8]) -> Result<Selection, Unknown> {
        let mut selection = Selection::default();
        self.top.find(uri, &mut selection)?;
        Ok(selection)
    }

    /// Counts the patterns that are tried for a URI: each list with its first location.
    pub fn tries(&self, uri: &[u8]) -> Vec<(LevelId, Tries)> {
        let mut found = Vec::new();
        self.top.tries(uri, &mut found);
        found
    }

    /// Returns the locations that match a URI or were tried, but are not chosen for it, with the reason. This takes
    /// longer than [`Locations::select`].
    pub fn passed_over(&self, uri: &[u8]) -> Vec<PassedOver> {
        reasons::of(&self.top, uri)
    }
}
