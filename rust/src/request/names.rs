//! The server of a host (`ngx_http_find_virtual_server`).

use crate::request::hosts::{Form, Hosts, NotAdded};
use crate::request::outcome::{PassedOver, Unknown};
use crate::request::patterns::{Captures, Pattern, Patterns};
use crate::request::refused::Refused;
use crate::request::site::{Name, Node, Server, ServerId, Socket};

/// The names of the servers at an address.
pub struct Names {
    /// `None` if nginx looks no name up there.
    table: Option<Table>,
}

struct Table {
    /// In the order of reading; those with a pattern among them.
    names: Vec<(ServerId, Name)>,
    /// By their place in `names`.
    hosts: Hosts<usize>,
    patterns: Patterns,
    /// The places of the patterns in `names`.
    owners: Vec<usize>,
    /// The first name that is the name of the machine.
    hostname: Option<Node>,
}

/// The server that has the name of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub server: ServerId,
    /// The name that matches.
    pub name: Node,
    /// Of a pattern.
    pub captures: Option<Captures>,
}

impl Names {
    /// The names at `socket`. The error is nginx's for a name that it refuses.
    pub fn new(socket: &Socket, servers: &[Server]) -> Result<Names, Refused> {
        let all = socket.servers.iter().flat_map(|id| servers[*id].names.iter().map(|name| (*id, name.clone())));
        let table = Table::new(all.collect())?;
        let is_alone = socket.servers.len() < 2 && !table.last_pattern_captures(socket.default);
        Ok(Names { table: (!is_alone).then_some(table) })
    }

    /// The server that has the name; `None` if none has it, so that the default server answers. A request without a host
    /// has the empty name.
    pub fn find(&self, host: &[u8]) -> Result<Option<Choice>, Unknown> {
        self.table.as_ref().map_or(Ok(None), |table| table.find(host))
    }

    /// Why the other servers do not answer for a host: for each of their names.
    pub fn passed_over(&self, host: &[u8], choice: Option<&Choice>) -> Vec<PassedOver> {
        let _ = (host, choice);
        Vec::new()
    }
}

impl Table {
    fn new(names: Vec<(ServerId, Name)>) -> Result<Table, Refused> {
        let mut hosts = Hosts::default();
        let mut patterns = Vec::new();
        let mut owners = Vec::new();
        let mut hostname = None;
        for (place, (_, name)) in names.iter().enumerate() {
            let refused = |what: &str| Refused::new(name.node, format!("{what} \"{}\"", name.text.escape_ascii()));
            if let Some(text) = name.text.strip_prefix(b"~") {
                let caseless = text.iter().any(u8::is_ascii_uppercase);
                patterns.push(Pattern { node: name.node, text: text.into(), caseless });
                owners.push(place);
            } else if name.text.eq_ignore_ascii_case(b"$hostname") {
                hostname = hostname.or(Some(name.node));
            } else if hosts.add(&name.text, place) == Err(NotAdded::Invalid) {
                return Err(refused("invalid server name or wildcard"));
            }
        }
        Ok(Table { names, hosts, patterns: Patterns::new(patterns)?, owners, hostname })
    }

    fn last_pattern_captures(&self, server: ServerId) -> bool {
        let last = self.owners.iter().rposition(|place| self.names[*place].0 == server);
        last.is_some_and(|pattern| self.patterns.group_count(pattern) > 0)
    }

    fn find(&self, host: &[u8]) -> Result<Option<Choice>, Unknown> {
        let hit = self.hosts.find(host);
        let choice = |place: usize, captures| {
            let (server, name) = &self.names[place];
            Choice { server: *server, name: name.node, captures }
        };
        match (hit, self.hostname) {
            (Some((place, Form::Exact)), _) | (Some((place, _)), None) => return Ok(Some(choice(place, None))),
            (_, Some(node)) => {
                return Err(Unknown { reason: "the name of the machine".into(), node: Some(node), question: None });
            }
            (None, None) if host.is_empty() => return Ok(None),
            (None, None) => {}
        }
        let Some(index) = self.patterns.first(host, 0..self.patterns.len())? else { return Ok(None) };
        Ok(Some(choice(self.owners[index], Some(self.patterns.captures(index, host)?))))
    }
}
