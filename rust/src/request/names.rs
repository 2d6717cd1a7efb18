//! Finds the server of a host (`ngx_http_find_virtual_server`).

use crate::request::hosts::{Form, Hosts, NotAdded};
use crate::request::outcome::{PassedOver, Unknown};
use crate::request::patterns::{Captures, Pattern, Patterns};
use crate::request::refused::Refused;
use crate::request::site::{Name, Node, Server, ServerId, Socket};

/// The names of the servers that listen on an address.
pub struct Names {
    /// `None` if nginx does not look up names there.
    table: Option<Table>,
    default: ServerId,
}

struct Table {
    /// In the order of reading; those with a pattern among them.
    names: Vec<(ServerId, Name)>,
    /// By their place in `names`.
    hosts: Hosts<usize>,
    patterns: Named,
    /// The place of the first name that is the name of the machine.
    hostname: Option<usize>,
}

/// The names that are patterns.
struct Named {
    patterns: Patterns,
    /// Their places among the names.
    places: Vec<usize>,
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
    /// Reads the names at `socket`. Fails with the message of nginx for a name that it refuses.
    pub fn new(socket: &Socket, servers: &[Server]) -> Result<Names, Refused> {
        let servers = socket.servers.iter().map(|id| (*id, &servers[*id]));
        let names = servers.flat_map(|(id, server)| server.names.iter().map(move |name| (id, name.clone())));
        let names: Vec<(ServerId, Name)> = names.collect();
        names.iter().try_for_each(|(_, name)| check(name))?;
        let patterns = Named::new(&names)?;
        let is_looked_up = socket.servers.len() > 1 || patterns.last_captures(&names, socket.default);
        let table = is_looked_up.then(|| Table::new(names, patterns)).transpose()?;
        Ok(Names { table, default: socket.default })
    }

    /// Finds the server that has a name. `None` if no server has it, so that the default server answers. A request
    /// without a host has the empty name.
    pub fn find(&self, host: &[u8]) -> Result<Option<Choice>, Unknown> {
        self.table.as_ref().map_or(Ok(None), |table| table.find(host))
    }

    /// Whether a server may have the name, even if nginx does not look up names here.
    pub fn may_have(&self, host: &[u8], servers: &[Server]) -> bool {
        let is_pattern = |name: &[u8]| name.starts_with(b".") || name.iter().any(|byte| b"*~".contains(byte));
        match &self.table {
            Some(table) => !matches!(table.find(host), Ok(None)),
            None => {
                let names = &servers[self.default].names;
                names.iter().any(|name| name.text.eq_ignore_ascii_case(host) || is_pattern(&name.text))
            }
        }
    }

    /// Explains why the other servers do not answer for a host, name by name. Empty if nginx does not look up names
    /// here.
    pub fn passed_over(&self, host: &[u8], choice: Option<&Choice>) -> Vec<PassedOver> {
        let server = choice.map_or(self.default, |choice| choice.server);
        let names = self.table.iter().flat_map(|table| table.names.iter().map(move |name| (table, name)));
        let others = names.filter(|(_, (id, _))| *id != server);
        let passed_over = |(table, (_, name)): (&Table, &(ServerId, Name))| PassedOver {
            node: name.node,
            reason: table.reason(&name.text, host, choice).to_owned(),
        };
        others.map(passed_over).collect()
    }
}

impl Named {
    fn new(names: &[(ServerId, Name)]) -> Result<Named, Refused> {
        let patterns = names.iter().enumerate().filter_map(|(place, (_, name))| {
            let text = name.text.strip_prefix(b"~")?;
            let caseless = text.iter().any(u8::is_ascii_uppercase);
            Some((place, Pattern { node: name.node, text: text.into(), caseless }))
        });
        let (places, patterns): (Vec<usize>, Vec<Pattern>) = patterns.unzip();
        Ok(Named { patterns: Patterns::new(patterns)?, places })
    }

    /// Whether the last pattern of a server has groups. If so, nginx looks up the name even if the server is alone.
    fn last_captures(&self, names: &[(ServerId, Name)], server: ServerId) -> bool {
        let last = self.places.iter().rposition(|place| names[*place].0 == server);
        last.is_some_and(|index| self.patterns.group_count(index) > 0)
    }
}

/// Checks what nginx requires of every name (`ngx_http_core_server_name`).
fn check(name: &Name) -> Result<(), Refused> {
    let text = name.text.escape_ascii();
    match &*name.text {
        b"~" => Err(Refused::new(name.node, format!("empty regex in server name \"{text}\""))),
        b"." | b"*" | b"*." => Err(Refused::new(name.node, format!("server name \"{text}\" is invalid"))),
        [b'*', second, ..] if *second != b'.' => {
            Err(Refused::new(name.node, format!("server name \"{text}\" is invalid")))
        }
        _ => Ok(()),
    }
}

impl Table {
    fn new(names: Vec<(ServerId, Name)>, patterns: Named) -> Result<Table, Refused> {
        let mut hosts = Hosts::default();
        let mut hostname = None;
        for (place, (_, name)) in names.iter().enumerate() {
            if name.text.starts_with(b"~") {
                continue;
            }
            if name.text.eq_ignore_ascii_case(b"$hostname") {
                hostname = hostname.or(Some(place));
            } else if hosts.add(&name.text, place) == Err(NotAdded::Invalid) {
                let text = name.text.escape_ascii();
                return Err(Refused::new(name.node, format!("invalid server name or wildcard \"{text}\"")));
            }
        }
        Ok(Table { names, hosts, patterns, hostname })
    }

    fn find(&self, host: &[u8]) -> Result<Option<Choice>, Unknown> {
        let hit = self.hosts.find(host);
        let choice = |place: usize, captures| {
            let (server, name) = &self.names[place];
            Choice { server: *server, name: name.node, captures }
        };
        match (hit, self.hostname) {
            (Some((place, _)), None) => return Ok(Some(choice(place, None))),
            (Some((place, Form::Exact)), Some(hostname)) if place < hostname => return Ok(Some(choice(place, None))),
            (_, Some(place)) => {
                let node = Some(self.names[place].1.node);
                return Err(Unknown { reason: "the name of the machine".into(), node, question: None });
            }
            (None, None) if host.is_empty() => return Ok(None),
            (None, None) => {}
        }
        let Named { patterns, places } = &self.patterns;
        let Some(index) = patterns.first(host, 0..patterns.len())? else { return Ok(None) };
        Ok(Some(choice(places[index], Some(patterns.captures(index, host)?))))
    }

    /// Explains why a name does not answer for a host.
    fn reason(&self, name: &[u8], host: &[u8], choice: Option<&Choice>) -> &'static str {
        if !matches(name, host) {
            return "does not match";
        }
        let chosen = choice.and_then(|choice| self.names.iter().find(|(_, other)| other.node == choice.name));
        match chosen.map(|(_, chosen)| (&chosen.text, form(&chosen.text, host))) {
            Some((chosen, _)) if chosen.eq_ignore_ascii_case(name) => "an earlier server has the name",
            Some((_, Some(Form::Exact))) => "an exact name matches",
            Some((_, Some(form_of_chosen))) if form(name, host) == Some(form_of_chosen) => "a longer name matches",
            Some((_, Some(Form::Head))) => "a name that begins with a wildcard matches",
            Some((_, Some(Form::Tail))) => "a name that ends in a wildcard matches",
            Some((_, None)) => "an earlier pattern matches",
            None => "an earlier server has the name",
        }
    }
}

/// Whether a name, by itself, matches a host.
fn matches(name: &[u8], host: &[u8]) -> bool {
    let Some(text) = name.strip_prefix(b"~") else { return form(name, host).is_some() };
    let caseless = text.iter().any(u8::is_ascii_uppercase);
    let pattern = Patterns::new(vec![Pattern { node: 0, text: text.into(), caseless }]);
    pattern.is_ok_and(|pattern| pattern.first(host, 0..1) == Ok(Some(0)))
}

/// The form in which a name matches a host. The name is not a pattern.
fn form(name: &[u8], host: &[u8]) -> Option<Form> {
    let mut hosts = Hosts::default();
    hosts.add(name, ()).ok()?;
    hosts.find(host).map(|((), form)| form)
}

#[cfg(test)]
mod tests;
