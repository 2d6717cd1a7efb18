//! `map` (`ngx_http_map_variable`, `ngx_http_map_find`).

use crate::first_match::Tries;
use crate::request::hosts::{Hosts, NotAdded};
use crate::request::outcome::Unknown;
use crate::request::patterns::{Pattern, Patterns};
use crate::request::refused::Refused;
use crate::request::site::Stated;
use crate::request::tables::{Answer, Row};
use crate::request::variables;

/// A map. Values are kept as text.
pub struct Map {
    rows: Vec<Row>,
    hosts: Hosts<usize>,
    patterns: Patterns,
    /// The rows of the patterns.
    owners: Vec<usize>,
    default: Option<usize>,
    hostnames: bool,
    volatile: bool,
}

impl Map {
    /// Reads the rows of the block (`ngx_http_map`).
    pub fn new(stated: &[Stated]) -> Result<Map, Refused> {
        let mut reader = Reader::default();
        for row in stated {
            reader.add(row)?;
        }
        Ok(Map {
            rows: reader.rows,
            hosts: reader.hosts,
            patterns: Patterns::new(reader.patterns)?,
            owners: reader.owners,
            default: reader.default,
            hostnames: reader.hostnames,
            volatile: reader.volatile,
        })
    }

    /// In their order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    pub fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// The names of the groups in its patterns, in lower case.
    pub fn group_names(&self) -> Vec<Vec<u8>> {
        (0..self.patterns.len()).flat_map(|index| variables::group_names(&self.patterns.get(index).text)).collect()
    }

    /// Looks up a value: first exact keys, ignoring case, then wildcards, then patterns in order unless the value is
    /// empty, then the default.
    pub fn find(&self, source: &[u8]) -> Result<Answer, Unknown> {
        let source = if self.hostnames { source.strip_suffix(b".").unwrap_or(source) } else { source };
        if let Some((row, _)) = self.hosts.find(&source.to_ascii_lowercase()) {
            return Ok(Answer { row: Some(row), captures: None });
        }
        if !source.is_empty()
            && let Some(index) = self.patterns.first(source, 0..self.patterns.len())?
        {
            let captures = Some(self.patterns.captures(index, source)?);
            return Ok(Answer { row: Some(self.owners[index]), captures });
        }
        Ok(Answer { row: self.default, captures: None })
    }
}

impl Map {
    /// Counts what is compared for a source whose row is `row`.
    pub fn tries(&self, source: &[u8], row: Option<usize>) -> Tries {
        let lookup = Tries { lookups: 1, keyed: source.len() as u64, ..Tries::default() };
        let source = if self.hostnames { source.strip_suffix(b".").unwrap_or(source) } else { source };
        if source.is_empty() || self.hosts.find(&source.to_ascii_lowercase()).is_some() {
            return lookup;
        }
        let first = row.and_then(|row| self.owners.iter().position(|owner| *owner == row));
        let Tries { lookups, keyed, .. } = lookup;
        Tries { lookups, keyed, ..self.patterns.tries(source, 0..self.patterns.len(), first) }
    }
}

#[derive(Default)]
struct Reader {
    rows: Vec<Row>,
    hosts: Hosts<usize>,
    patterns: Vec<Pattern>,
    owners: Vec<usize>,
    default: Option<usize>,
    hostnames: bool,
    volatile: bool,
}

impl Reader {
    fn add(&mut self, stated: &Stated) -> Result<(), Refused> {
        let args: Vec<&[u8]> = stated.args.iter().map(|arg| &**arg).collect();
        match args[..] {
            [b"hostnames"] => self.hostnames = true,
            [b"volatile"] => self.volatile = true,
            [key, value] => {
                self.rows.push(Row { node: stated.node, value: value.into() });
                return self.add_row(stated, key);
            }
            _ => return Err(Refused::new(stated.node, "invalid number of the map parameters")),
        }
        Ok(())
    }

    fn add_row(&mut self, stated: &Stated, key: &[u8]) -> Result<(), Refused> {
        let row = self.rows.len() - 1;
        let (text, caseless) = match key {
            b"default" if self.default.is_some() => {
                return Err(Refused::new(stated.node, "duplicate default map parameter"));
            }
            b"default" => {
                self.default = Some(row);
                return Ok(());
            }
            [b'~', b'*', text @ ..] => (text, true),
            [b'~', text @ ..] => (text, false),
            _ => return self.add_key(stated, key, row),
        };
        self.patterns.push(Pattern { node: stated.node, text: text.into(), caseless });
        self.owners.push(row);
        Ok(())
    }

    fn add_key(&mut self, stated: &Stated, key: &[u8], row: usize) -> Result<(), Refused> {
        let key = key.strip_prefix(b"\\").unwrap_or(key);
        let added = if self.hostnames { self.hosts.add(key, row) } else { self.hosts.add_exact(key, row) };
        let text = key.escape_ascii();
        added.map_err(|error| {
            let message = match error {
                NotAdded::Invalid => format!("invalid hostname or wildcard \"{text}\""),
                NotAdded::Conflict => format!("conflicting parameter \"{text}\""),
            };
            Refused::new(stated.node, message)
        })
    }
}
