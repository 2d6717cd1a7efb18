//! Turns the response of a handler into an outcome (`ngx_http_send_header`).

use crate::request::bytes::Bytes;
use crate::request::outcome::{Header, Outcome, OutcomeKind, Passed, StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::run::{Flow, Run};
use crate::request::site::{Changes, Family, Node};

/// The response of a handler.
#[derive(Debug)]
pub struct Response {
    pub kind: OutcomeKind,
    /// `None` if an upstream decides it.
    pub status: Option<u16>,
    pub node: Option<Node>,
    pub body: Option<Bytes>,
    pub file: Option<Bytes>,
    pub upstream: Option<Passed>,
    /// A part of the response that is unknown.
    pub unknown: Option<Unknown>,
}

impl Default for Response {
    fn default() -> Response {
        let kind = OutcomeKind::Error;
        Response { kind, status: None, node: None, body: None, file: None, upstream: None, unknown: None }
    }
}

impl<R: Recorder> Run<'_, R> {
    /// Ends the request.
    pub fn respond(&mut self, response: Response) -> Result<Flow, Unknown> {
        let mut status = if self.state.err_status == 0 { response.status } else { Some(self.state.err_status) };
        if status == Some(200) {
            match self.conditional_status(&response)? {
                412 => return Ok(self.fail(412, response.node)),
                other => status = Some(other),
            }
        }
        self.state.status = status.unwrap_or(0);
        let mut unknown = response.unknown;
        let is_redirect = self.state.location.is_some();
        let location = match self.state.location.take() {
            Some(Ok(location)) => self.absolute(location, &mut unknown),
            Some(Err(reason)) => {
                unknown = unknown.or(Some(reason));
                None
            }
            None => None,
        };
        let mut headers = self.headers(status, &mut unknown);
        let mut body = response.body;
        self.filter(&mut body, &mut headers, &mut unknown)?;
        let kind = match (response.kind, status) {
            (OutcomeKind::Error | OutcomeKind::Return, Some(300..400)) if is_redirect => OutcomeKind::Redirect,
            (kind, _) => kind,
        };
        self.check_overrun()?;
        let has_body = &*self.state.method != b"HEAD" && !matches!(status, Some(204 | 304));
        self.note(StepKind::Handler, response.node, || kind.name().into());
        Ok(Flow::Done(Box::new(Outcome {
            status,
            location: location.map(Bytes),
            body: body.filter(|_| has_body),
            node: response.node,
            file: response.file,
            upstream: response.upstream,
            headers,
            unknown,
            ..self.outcome(kind)
        })))
    }

    /// Marks what filters may change as unknown.
    fn filter(
        &self,
        body: &mut Option<Bytes>,
        headers: &mut Vec<Header>,
        unknown: &mut Option<Unknown>,
    ) -> Result<(), Unknown> {
        for filter in &self.model.site.levels[self.state.level].filters {
            let reason = Unknown { reason: filter.reason.clone(), node: Some(filter.node), question: None };
            match filter.changes {
                Changes::Response => return Err(reason),
                Changes::Headers => {
                    headers.clear();
                    unknown.get_or_insert(reason);
                }
                Changes::Body => {
                    if body.take_if(|body| filter.may_change(body)).is_some() {
                        unknown.get_or_insert(reason);
                    }
                }
            }
        }
        Ok(())
    }

    /// An outcome of this kind, with the state at the end.
    pub fn outcome(&self, kind: OutcomeKind) -> Outcome {
        Outcome {
            kind,
            status: None,
            location: None,
            body: None,
            uri: Bytes(self.state.uri.clone()),
            args: Bytes(self.state.args.clone()),
            server: Some(self.state.server),
            level: Some(self.state.level),
            node: None,
            file: None,
            upstream: None,
            headers: Vec::<Header>::new(),
            unknown: None,
        }
    }

    /// An unknown outcome.
    pub fn unknown(&self, unknown: Unknown) -> Outcome {
        Outcome { node: unknown.node, unknown: Some(unknown), ..self.outcome(OutcomeKind::Unknown) }
    }

    /// The header `Location` as `ngx_http_header_filter` sends it. `None` if a part of it is unknown.
    fn absolute(&self, location: Vec<u8>, unknown: &mut Option<Unknown>) -> Option<Vec<u8>> {
        match self.origin(&location) {
            Ok(mut origin) => {
                origin.extend_from_slice(&location);
                Some(origin)
            }
            Err(reason) => {
                *unknown = unknown.take().or(Some(reason));
                None
            }
        }
    }

    /// The scheme, host and port to put before a path.
    fn origin(&self, location: &[u8]) -> Result<Vec<u8>, Unknown> {
        let settings = self.settings();
        if !location.starts_with(b"/") || !settings.absolute_redirect.clone()? {
            return Ok(Vec::new());
        }
        let tls = self.request.connection.tls;
        let mut origin = if tls { b"https://".to_vec() } else { b"http://".to_vec() };
        match &self.head.host {
            _ if settings.server_name_in_redirect.clone()? => origin.extend(self.model.server_name(self.state.server)?),
            Some(host) if !host.is_empty() => origin.extend_from_slice(host),
            _ => origin.extend(self.local_address()),
        }
        let port = self.request.connection.port;
        if settings.port_in_redirect.clone()? && port != 0 && port != if tls { 443 } else { 80 } {
            origin.extend(format!(":{port}").bytes());
        }
        Ok(origin)
    }

    /// The address of nginx, as nginx writes it.
    pub fn local_address(&self) -> Vec<u8> {
        match self.request.connection.family {
            Family::Unix => [b"unix:", &self.request.connection.host.0[..]].concat(),
            _ => self.request.connection.host.0.clone(),
        }
    }
}
