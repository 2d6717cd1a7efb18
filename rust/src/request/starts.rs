//! Finds where chains of redirects begin: statements that redirect to a URL that may be redirected again.

use std::ops::Range;

use hashbrown::HashMap;

use crate::parallel;
use crate::request::bytes::Bytes;
use crate::request::model::Model;
use crate::request::outcome::Outcome;
use crate::request::record::Silent;
use crate::request::script::Example;
use crate::request::site::{Node, ServerId};
use crate::request::world::{Request, World};

/// The status of a request whose URI changes too often.
const CYCLE: u16 = 500;

/// A statement, and a path that it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub node: Node,
    pub uri: Vec<u8>,
    /// As [`Example::is_constant`].
    pub is_constant: bool,
}

impl Model {
    /// Returns the statements of a server whose redirects may be followed by another redirect, or that may change a URI
    /// without end. Requests are like `request`, except for their target. Their URLs begin with `site`. Uses all
    /// processors.
    pub fn starts(&self, server: ServerId, request: &Request, world: &World, site: &[u8]) -> Vec<Start> {
        let examples = self.examples(server);
        let part = |range: Range<usize>| {
            let mut client = Client { model: self, request: request.clone(), world, site, sites: HashMap::new() };
            range.filter_map(|at| client.start(&examples[at])).collect::<Vec<_>>()
        };
        parallel::ranges(examples.len(), part).into_iter().flatten().collect()
    }
}

struct Client<'m> {
    model: &'m Model,
    request: Request,
    world: &'m World,
    site: &'m [u8],
    /// For each site so far, whether the configuration may serve it.
    sites: HashMap<Vec<u8>, bool>,
}

impl Client<'_> {
    fn start(&mut self, example: &Example) -> Option<Start> {
        let uri = example.uris.iter().find(|uri| self.begins(uri, example.node))?;
        Some(Start { node: example.node, uri: uri.clone(), is_constant: example.is_constant })
    }

    fn begins(&mut self, uri: &[u8], node: Node) -> bool {
        let outcome = self.ask(uri);
        if !is_redirect(&outcome) {
            return outcome.status == Some(CYCLE);
        }
        let location = outcome.location.unwrap_or_default();
        if outcome.node != Some(node) {
            return false;
        }
        match location.strip_prefix(self.site).unwrap_or(&location) {
            target @ [b'/', ..] => {
                let next = self.ask(target);
                is_redirect(&next) || next.status == Some(CYCLE)
            }
            other => self.may_have(site_of(other)),
        }
    }

    /// Whether a server may have the host of a site, or the host is that of the request.
    fn may_have(&mut self, site: &[u8]) -> bool {
        if let Some(known) = self.sites.get(site) {
            return *known;
        }
        let host = host_of(site);
        let servers = &self.model.site.servers;
        let may_have =
            host == host_of(self.site) || self.model.names.iter().any(|names| names.may_have(&host, servers));
        self.sites.insert(site.to_vec(), may_have);
        may_have
    }

    fn ask(&mut self, target: &[u8]) -> Outcome {
        let end = memchr::memchr(b'#', target).unwrap_or(target.len());
        self.request.target = Bytes(target[..end].to_vec());
        self.model.answer(&self.request, self.world, &mut Silent)
    }
}

/// The beginning of a URL: scheme, host and port.
fn site_of(url: &[u8]) -> &[u8] {
    let start = memchr::memmem::find(url, b"://").map_or(0, |at| at + 3);
    let length = url[start..].iter().position(|byte| b"/?#".contains(byte)).unwrap_or(url.len() - start);
    &url[..start + length]
}

/// The host of a site, in lower case.
fn host_of(site: &[u8]) -> Vec<u8> {
    let authority = &site[memchr::memmem::find(site, b"://").map_or(0, |at| at + 3)..];
    let port = authority.iter().rposition(|byte| *byte == b':');
    let end = port.filter(|at| authority[at + 1..].iter().all(u8::is_ascii_digit)).unwrap_or(authority.len());
    authority[..end].to_ascii_lowercase()
}

/// Whether an outcome redirects the client to another URL.
fn is_redirect(outcome: &Outcome) -> bool {
    matches!(outcome.status, Some(301 | 302 | 303 | 307 | 308)) && outcome.location.is_some()
}
