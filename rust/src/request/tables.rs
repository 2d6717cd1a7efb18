//! Variables with values from a table: `map`, `geo` and `split_clients`.

mod geo;
mod map;
mod row;
mod split;

use crate::first_match::Tries;
use crate::request::outcome::Unknown;
use crate::request::refused::Refused;
use crate::request::site::Defined;

pub use geo::Geo;
pub use map::Map;
pub use row::{Answer, Row};
pub use split::SplitClients;

/// A variable and the table of its values.
pub enum Table {
    Map(Box<Map>),
    Geo(Geo),
    SplitClients(SplitClients),
}

impl Table {
    /// Reads the table of a variable. `None` if it is not understood. Fails with the message of nginx.
    pub fn new(defined: &Defined) -> Result<Option<Table>, Refused> {
        Ok(Some(match defined {
            Defined::Map { rows, .. } => Table::Map(Box::new(Map::new(rows)?)),
            Defined::Geo { rows, .. } => Table::Geo(Geo::new(rows)?),
            Defined::SplitClients { rows, .. } => Table::SplitClients(SplitClients::new(rows)?),
            Defined::Opaque { .. } => return Ok(None),
        }))
    }

    /// The rows that can answer, including the default.
    pub fn rows(&self) -> &[Row] {
        match self {
            Table::Map(map) => map.rows(),
            Table::Geo(geo) => geo.rows(),
            Table::SplitClients(split) => split.rows(),
        }
    }

    /// Whether the value is computed at each use.
    pub fn is_volatile(&self) -> bool {
        match self {
            Table::Map(map) => map.is_volatile(),
            Table::Geo(geo) => geo.is_volatile(),
            Table::SplitClients(_) => false,
        }
    }

    /// The row whose value the variable has whatever the source is; `None` if it may have several values.
    pub fn only(&self) -> Option<usize> {
        match self {
            Table::Geo(geo) => geo.only(),
            Table::Map(_) | Table::SplitClients(_) => None,
        }
    }

    /// Whether the address may come from the header `X-Forwarded-For` instead.
    pub fn has_proxies(&self) -> bool {
        matches!(self, Table::Geo(geo) if geo.has_proxies)
    }

    /// Counts what is compared for a source whose row is `row`.
    pub fn tries(&self, source: &[u8], row: Option<usize>) -> Tries {
        match self {
            Table::Map(map) => map.tries(source, row),
            Table::Geo(_) => Tries { lookups: 1, ..Tries::default() },
            Table::SplitClients(_) => Tries { lookups: 1, keyed: source.len() as u64, ..Tries::default() },
        }
    }

    /// Looks up the value of the source. The source of a `geo` is an address as text. Any other text, such as that of a
    /// client on a unix socket, counts as 255.255.255.255.
    pub fn find(&self, source: &[u8]) -> Result<Answer, Unknown> {
        match self {
            Table::Map(map) => map.find(source),
            Table::Geo(geo) => Ok(geo.find(source)),
            Table::SplitClients(split) => Ok(split.find(source)),
        }
    }
}

#[cfg(test)]
mod tests;
