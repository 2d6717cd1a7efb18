//! Variables with values from a table: `map`, `geo` and `split_clients`.

mod geo;
mod map;
mod split;

use crate::request::bytes::Bytes;
use crate::request::outcome::Unknown;
use crate::request::patterns::Captures;
use crate::request::refused::Refused;
use crate::request::site::{Defined, Node};

pub use geo::Geo;
pub use map::Map;
pub use split::SplitClients;

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub node: Node,
    /// The value as written. In a map it may contain variables and captures; in other tables it is plain text.
    pub value: Bytes,
}

/// A variable and the table of its values.
pub enum Table {
    Map(Box<Map>),
    Geo(Geo),
    SplitClients(SplitClients),
}

/// The result of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The index of the row in [`Table::rows`]. `None` if no row answers, so that the value is empty.
    pub row: Option<usize>,
    /// What the row's pattern captured.
    pub captures: Option<Captures>,
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

    /// Whether the address may come from the header `X-Forwarded-For` instead.
    pub fn has_proxies(&self) -> bool {
        matches!(self, Table::Geo(geo) if geo.has_proxies)
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
