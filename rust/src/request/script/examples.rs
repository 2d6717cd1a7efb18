//! Example URIs for finding redirects: for each statement that redirects, a few URIs that it may answer.

use crate::parallel;
use crate::request::model::Model;
use crate::request::rules::Flag;
use crate::request::script::steps::Step;
use crate::request::site::{LevelId, Node, ServerId};
use crate::request::uri;
use crate::request::value::{Part, Value};
use crate::syntax;

/// Variables that have the same value for all URIs of a site.
const OF_SITE: [&[u8]; 8] =
    [b"host", b"hostname", b"http_host", b"https", b"scheme", b"server_addr", b"server_name", b"server_port"];

/// A statement that redirects the client, or that changes the URI in its location so that nginx looks for another
/// location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    pub node: Node,
    /// Paths that it may answer. A client can send them as they are.
    pub uris: Vec<Vec<u8>>,
    /// Whether it leads all URIs to the same path.
    pub is_constant: bool,
}

/// A statement with its place.
struct Candidate<'m> {
    node: Node,
    place: Place<'m>,
    pattern: Option<&'m [u8]>,
    target: &'m Value,
}

/// A server or location.
#[derive(Clone, Copy)]
struct Place<'m> {
    /// The path or the pattern of the location.
    path: Option<&'m [u8]>,
    pattern: Option<&'m [u8]>,
    is_exact: bool,
    is_server: bool,
}

impl Model {
    /// Returns the statements of a server that may redirect, in the order of levels. Uses all processors.
    pub fn examples(&self, server: ServerId) -> Vec<Example> {
        let candidates = self.candidates(server);
        parallel::collect(candidates.len(), |at| candidates[at].example(self))
    }

    /// The servers that have such statements.
    pub fn redirecting(&self) -> Vec<ServerId> {
        (0..self.site.servers.len()).filter(|server| !self.candidates(*server).is_empty()).collect()
    }

    fn candidates(&self, server: ServerId) -> Vec<Candidate<'_>> {
        let mut candidates = Vec::new();
        let place = Place { path: Some(b"/"), pattern: None, is_exact: false, is_server: true };
        self.add_block(self.site.servers[server].level, place, &mut candidates);
        candidates
    }

    fn add_block<'m>(&'m self, level: LevelId, place: Place<'m>, candidates: &mut Vec<Candidate<'m>>) {
        self.add_script(level, place, candidates);
        for location in &self.site.levels[level].locations {
            self.add_block(*location, self.place(*location), candidates);
        }
    }

    fn add_script<'m>(&'m self, level: LevelId, place: Place<'m>, candidates: &mut Vec<Candidate<'m>>) {
        for step in &self.scripts[level].steps {
            match step {
                Step::Rewrites(run, targets) => {
                    let rewrites = run.rewrites().iter().zip(targets);
                    candidates.extend(rewrites.filter(|(rewrite, _)| place.is_taken(rewrite.flag)).map(
                        |(rewrite, target)| {
                            let pattern = Some(&*rewrite.pattern.0);
                            Candidate { node: rewrite.node, place, pattern, target }
                        },
                    ));
                }
                Step::Return { node, status: 301 | 302 | 303 | 307 | 308, text: Some(target) } => {
                    candidates.push(Candidate { node: *node, place, pattern: None, target });
                }
                Step::If { level, .. } => self.add_script(*level, place, candidates),
                _ => {}
            }
        }
    }

    fn place(&self, location: LevelId) -> Place<'_> {
        let level = &self.site.levels[location];
        let first = level.args.first().map_or(&b""[..], |word| &word.0);
        let path = level.plain_name();
        let pattern = match &*level.args {
            [_, pattern, ..] if first.starts_with(b"~") => Some(&*pattern.0),
            [_] if first.starts_with(b"~") => Some(first.strip_prefix(b"~*").unwrap_or(&first[1..])),
            _ => None,
        };
        Place { path, pattern, is_exact: first.starts_with(b"="), is_server: false }
    }
}

impl Place<'_> {
    /// Whether a rewrite redirects the client, or makes nginx look for another location.
    fn is_taken(self, flag: Flag) -> bool {
        match flag {
            Flag::Redirect(_) => true,
            Flag::Last => !self.is_server,
            Flag::None | Flag::Break => false,
        }
    }
}

impl Candidate<'_> {
    fn example(&self, model: &Model) -> Example {
        let is_literal = self.pattern.is_some_and(|pattern| syntax::literal(pattern).is_some());
        let is_constant = is_literal || self.place.is_exact || is_fixed(self.target, model);
        let own = self.pattern.and_then(uri_of);
        let around = || self.place.path.map(<[u8]>::to_vec).or_else(|| self.place.pattern.and_then(uri_of));
        let around = if self.pattern.is_some() && self.place.is_server { None } else { around() };
        let mut uris: Vec<Vec<u8>> = own.into_iter().chain(around).filter(|uri| is_plain(uri)).collect();
        uris.dedup();
        Example { node: self.node, uris, is_constant }
    }
}

/// Returns a short path that a pattern may match.
fn uri_of(pattern: &[u8]) -> Option<Vec<u8>> {
    match syntax::literal(pattern) {
        Some(literal) => Some(literal.stem.into_owned()),
        None => syntax::example(&syntax::parse(pattern).ok()?.ast),
    }
}

/// Whether a client can send a path as it is in `$uri`.
fn is_plain(path: &[u8]) -> bool {
    let is_written = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~/,:=@!*()'".contains(byte);
    uri::is_plain(path) && path.iter().all(is_written)
}

/// Whether the path of a target is the same for all URIs of a site.
fn is_fixed(target: &Value, model: &Model) -> bool {
    for part in &target.parts {
        match part {
            Part::Text(text) if text.contains(&b'?') => return true,
            Part::Text(_) => {}
            Part::Arguments => return true,
            Part::Capture(_) => return false,
            Part::Variable(variable) if OF_SITE.contains(&model.variables.name(*variable)) => {}
            Part::Variable(_) => return false,
        }
    }
    true
}
