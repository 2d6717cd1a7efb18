//! Answers a request: finds the socket, reads the request, finds the server, and runs the phases.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::request::bytes::Bytes;
use crate::request::levels::Verify;
use crate::request::model::Model;
use crate::request::names::Choice;
use crate::request::outcome::{Outcome, OutcomeKind, StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::run::{Flow, Phase, Run};
use crate::request::site::{Family, Node, ServerId, Socket};
use crate::request::state::State;
use crate::request::wire::{self, Head, Settings, Stop};
use crate::request::world::{Request, World};
use crate::work::spend;

/// A request that nginx has read, and the server that it goes to: all that does not depend on the world.
pub struct Arrived<'r> {
    request: Cow<'r, Request>,
    head: Head,
    socket: usize,
    /// `None` for the default server.
    choice: Option<Choice>,
    /// The status if the request is refused.
    status: Option<u16>,
}

impl Model {
    /// Returns the outcome of a request.
    pub fn answer<R: Recorder>(&self, request: &Request, world: &World, recorder: &mut R) -> Outcome {
        self.outcome(&self.arrived(request), world, recorder)
    }

    /// Reads a request, and finds its server. It may then be answered in several worlds.
    pub fn arrived<'r>(&self, request: &'r Request) -> Result<Arrived<'r>, Unknown> {
        if let Some(opaque) = self.site.opaque.first() {
            return Err(Unknown { reason: opaque.reason.clone(), node: Some(opaque.node), question: None });
        }
        let (request, socket) = match self.socket(request) {
            Ok(socket) => (Cow::Borrowed(request), socket),
            Err(unknown) => {
                let mapped = self.mapped(request).ok_or(unknown)?;
                let socket = self.socket(&mapped)?;
                (Cow::Owned(mapped), socket)
            }
        };
        let settings = |host: Option<&[u8]>| self.wire_settings(socket, &request, host);
        let (head, status) = match wire::read(&request, &self.site.build, &settings) {
            Ok(head) => (head, None),
            Err(Stop::Rejected { status, head }) => (*head, Some(status)),
            Err(Stop::Unknown(unknown)) => return Err(unknown),
        };
        let host = head.host.as_ref().map(|host| &host.0[..]).or(status.is_none().then_some(b""));
        let (choice, status) = self.serve(socket, &request, host, status)?;
        Ok(Arrived { request, head, socket, choice, status })
    }

    /// Returns the outcome of a request that has arrived.
    pub fn outcome<R: Recorder>(&self, arrived: &Result<Arrived, Unknown>, world: &World, recorder: &mut R) -> Outcome {
        spend(1); // work that nobody waits for ends here
        let arrived = match arrived {
            Ok(arrived) => arrived,
            Err(unknown) => return nowhere(unknown.clone()),
        };
        let Arrived { request, head, socket, choice, status } = arrived;
        let server = choice.as_ref().map_or(self.site.sockets[*socket].default, |choice| choice.server);
        let mut run = Run::new(self, world, request, head, recorder, server);
        run.note_server(*socket, head.host.as_deref().unwrap_or_default(), choice.as_ref());
        if let Some(captures) = choice.as_ref().and_then(|choice| choice.captures.clone()) {
            run.capture(captures);
        }
        let flow = match status {
            Some(status) => run.fail(*status, None),
            None => Flow::To(Phase::ServerRewrite),
        };
        run.run(flow)
    }

    /// If a request over IPv4, to which no socket of IPv4 listens, goes to one of IPv6, returns the request with both
    /// addresses written as IPv6.
    fn mapped(&self, request: &Request) -> Option<Request> {
        let port = request.connection.port;
        let quic = request.connection.quic;
        let takes = |socket: &Socket| {
            socket.takes_ipv4 && socket.port == port && socket.quic == quic && same(&socket.host, b"::")
        };
        if request.connection.family != Family::Inet || !self.site.sockets.iter().any(takes) {
            return None;
        }
        let address = |text: &Bytes| Bytes([b"::ffff:", &text.0[..]].concat());
        let mut mapped = request.clone();
        mapped.connection.family = Family::Inet6;
        mapped.connection.host = address(&mapped.connection.host);
        mapped.connection.client = mapped.connection.client.as_ref().map(address);
        Some(mapped)
    }

    /// The socket that the client is connected to: one with just that address, or else the one for all addresses
    /// (`ngx_http_init_connection`). Those of QUIC, which use UDP, are apart (`ngx_http_add_listen`).
    fn socket(&self, request: &Request) -> Result<usize, Unknown> {
        let connection = &request.connection;
        let sockets = &self.site.sockets;
        let position = |family: Family, host: Option<&[u8]>| {
            sockets.iter().position(|socket| {
                socket.family == family
                    && socket.port == connection.port
                    && socket.quic == connection.quic
                    && host.is_none_or(|host| same(&socket.host, host))
            })
        };
        if let Some(socket) = position(connection.family, Some(&connection.host)) {
            return Ok(socket);
        }
        if let Some(name) = position(Family::Name, None).map(|socket| &sockets[socket]) {
            let reason = format!("the address of {}", name.host.escape_ascii());
            return Err(Unknown { reason, node: name.node, question: None });
        }
        let any: &[u8] = if connection.family == Family::Inet { b"0.0.0.0" } else { b"::" };
        position(connection.family, Some(any)).ok_or_else(|| {
            let reason = format!("nginx does not listen at {}:{}", connection.host.escape_ascii(), connection.port);
            Unknown { reason, node: None, question: None }
        })
    }

    /// Finds the server of a request, or `None` for the default one, and the status if the request is refused
    /// (`ngx_http_set_virtual_server`, `ngx_http_process_request`).
    fn serve(
        &self,
        socket: usize,
        request: &Request,
        host: Option<&[u8]>,
        status: Option<u16>,
    ) -> Result<(Option<Choice>, Option<u16>), Unknown> {
        let greeted = self.greeted(socket, request)?;
        let Some(host) = host else { return Ok((greeted, status)) };
        let sni = request.connection.sni.as_ref().filter(|_| greeted.is_some());
        let choice = match sni {
            Some(name) if name.eq_ignore_ascii_case(host) => greeted.clone(),
            _ => self.names[socket].find(host)?,
        };
        if status.is_some() {
            return Ok((choice, status));
        }
        let server = choice.as_ref().map_or(self.site.sockets[socket].default, |choice| choice.server);
        let level = self.site.servers[server].level;
        let verify = self.settings[level].verifies_client.clone()?;
        let is_other = sni.is_some_and(|name| !name.eq_ignore_ascii_case(host));
        if is_other && verify != Verify::Never {
            return Ok((greeted, Some(421)));
        }
        if self.site.sockets[socket].tls && !request.connection.tls {
            return Ok((choice, Some(497)));
        }
        if request.connection.tls && verify == Verify::Always {
            let reason = "the certificate of the client".to_owned();
            return Err(Unknown { reason, node: Some(self.settings[level].node), question: None });
        }
        Ok((choice, None))
    }

    /// The server with the name that the client sends in its TLS handshake. `None` if no server has it.
    fn greeted(&self, socket: usize, request: &Request) -> Result<Option<Choice>, Unknown> {
        match request.connection.sni.as_ref().filter(|_| request.connection.tls) {
            Some(name) => self.names[socket].find(&name.to_ascii_lowercase()),
            None => Ok(None),
        }
    }

    /// The settings with which nginx reads the request.
    fn wire_settings(&self, socket: usize, request: &Request, host: Option<&[u8]>) -> Settings {
        let choice = match host {
            Some(host) => self.names[socket].find(host),
            None => self.greeted(socket, request),
        };
        let choice = choice.ok().flatten();
        self.wire[choice.map_or(self.site.sockets[socket].default, |choice| choice.server)]
    }
}

/// The outcome if the request is unknown before a server is found.
fn nowhere(unknown: Unknown) -> Outcome {
    Outcome {
        kind: OutcomeKind::Unknown,
        status: None,
        location: None,
        body: None,
        uri: Bytes::default(),
        args: Bytes::default(),
        server: None,
        level: None,
        node: unknown.node,
        file: None,
        upstream: None,
        headers: Vec::new(),
        unknown: Some(unknown),
    }
}

/// Whether two texts are the same address.
fn same(left: &[u8], right: &[u8]) -> bool {
    let address = |text: &[u8]| -> Option<IpAddr> {
        let text = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text);
        std::str::from_utf8(text).ok()?.parse().ok()
    };
    left == right || matches!((address(left), address(right)), (Some(left), Some(right)) if left == right)
}

impl<'m, R: Recorder> Run<'m, R> {
    fn new(
        model: &'m Model,
        world: &'m World,
        request: &'m Request,
        head: &'m Head,
        recorder: &'m mut R,
        server: ServerId,
    ) -> Run<'m, R> {
        let level = model.site.servers[server].level;
        let mut state = State::new(server, level, model.variables.len());
        state.method = head.method.clone();
        state.uri = head.uri.path.clone();
        state.args = head.uri.args.clone();
        state.valid_unparsed_uri = !head.empty_path;
        let client = Ok(request.connection.client.clone());
        let mut run = Run { model, world, request, head, recorder, state, client, main_method: None };
        run.find_client();
        run
    }

    fn note_server(&mut self, socket: usize, host: &[u8], choice: Option<&Choice>) {
        let model = self.model;
        let node = model.site.servers[self.state.server].node;
        self.recorder.uses(node);
        if R::STEPS {
            let place = &model.site.sockets[socket];
            let address = format!("{}:{}", place.host.escape_ascii(), place.port);
            self.note(StepKind::Socket, place.node, || address.into_bytes());
            let passed_over = model.names[socket].passed_over(host, choice);
            let captures = choice.and_then(|choice| choice.captures.clone()).unwrap_or_default().groups;
            self.note_step(StepKind::Server, Some(node), host.to_vec(), captures, passed_over);
        }
    }

    /// Answers a subrequest (`ngx_http_subrequest`), which shares the variables of the request.
    pub fn ask(&mut self, uri: &[u8], node: Node) -> Result<Outcome, Unknown> {
        let mut state = State::new(self.state.server, self.server_level(), 0);
        state.slots = std::mem::take(&mut self.state.slots);
        state.method = b"GET"[..].into();
        state.uri = uri.to_vec();
        state.internal = true;
        state.valid_unparsed_uri = self.state.valid_unparsed_uri;
        self.note(StepKind::Access, Some(node), || uri.to_vec());
        let mut run = Run {
            model: self.model,
            world: self.world,
            request: self.request,
            head: self.head,
            recorder: &mut *self.recorder,
            state,
            client: self.client.clone(),
            main_method: Some(self.main_method.as_ref().unwrap_or(&self.state.method).clone()),
        };
        let outcome = run.run(Flow::To(Phase::ServerRewrite));
        self.state.slots = std::mem::take(&mut run.state.slots);
        match outcome.unknown {
            Some(unknown) if outcome.status.is_none() => Err(unknown),
            _ => Ok(outcome),
        }
    }
}
