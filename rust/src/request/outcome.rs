//! The outcome of a request, as the model predicts it, and the steps that led to it.

use serde::Serialize;

use crate::request::bytes::Bytes;
use crate::request::site::{LevelId, Node, ServerId};
use crate::request::value::Value;

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub kind: OutcomeKind,
    /// The status that the client gets; `None` if an upstream or a handler decides it.
    pub status: Option<u16>,
    /// The header `Location` as it is sent.
    pub location: Option<Bytes>,
    /// The body of a `return`.
    pub body: Option<Bytes>,
    /// `$uri` and `$args` at the end.
    pub uri: Bytes,
    pub args: Bytes,
    /// `None` if the request is refused before a server is chosen.
    pub server: Option<ServerId>,
    /// The location, `if` or server whose settings are in force.
    pub level: Option<LevelId>,
    /// The directive that decides: the `return`, the `rewrite`, the `proxy_pass`, the `try_files`.
    pub node: Option<Node>,
    /// The file that is sent, or that is missing.
    pub file: Option<Bytes>,
    /// Where the request is passed on to.
    pub upstream: Option<Passed>,
    /// The headers of `add_header` and `expires` that are sent.
    pub headers: Vec<Header>,
    pub unknown: Option<Unknown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The response of a `return` that is not a redirect.
    Return,
    /// A redirect by `return`, `rewrite`, `error_page`, or because of a missing slash.
    Redirect,
    /// A file, an index or a listing of a folder.
    Static,
    /// A response that nginx makes by itself: an error, or one of its error pages.
    Error,
    /// The connection is closed without a response (`return 444`).
    Closed,
    Proxy,
    Fastcgi,
    Uwsgi,
    Scgi,
    Grpc,
    Memcached,
    /// `stub_status`, `empty_gif` and other handlers of nginx.
    Handler,
    Unknown,
}

/// How requests end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End {
    pub kind: OutcomeKind,
    pub status: Option<u16>,
    pub server: Option<ServerId>,
    pub level: Option<LevelId>,
    pub node: Option<Node>,
    /// If the outcome is unknown, why.
    pub reason: Option<String>,
}

impl End {
    /// The end of requests of which several fit their status; `end` is one of these.
    pub fn ambiguous(end: End) -> End {
        let reason = Some("which of several responses with its status it is".to_owned());
        End { kind: OutcomeKind::Unknown, status: None, node: None, reason, ..end }
    }

    pub fn of(outcome: Outcome) -> End {
        let Outcome { kind, status, server, level, node, unknown, .. } = outcome;
        let reason = unknown.filter(|_| kind == OutcomeKind::Unknown).map(|unknown| unknown.reason);
        End { kind, status, server, level, node, reason }
    }
}

impl OutcomeKind {
    /// Whether an upstream answers.
    pub fn passes_on(self) -> bool {
        use OutcomeKind::{Fastcgi, Grpc, Memcached, Proxy, Scgi, Uwsgi};
        matches!(self, Proxy | Fastcgi | Uwsgi | Scgi | Grpc | Memcached)
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            OutcomeKind::Return => "return",
            OutcomeKind::Redirect => "redirect",
            OutcomeKind::Static => "static",
            OutcomeKind::Error => "error",
            OutcomeKind::Closed => "closed",
            OutcomeKind::Proxy => "proxy",
            OutcomeKind::Fastcgi => "fastcgi",
            OutcomeKind::Uwsgi => "uwsgi",
            OutcomeKind::Scgi => "scgi",
            OutcomeKind::Grpc => "grpc",
            OutcomeKind::Memcached => "memcached",
            OutcomeKind::Handler => "handler",
            OutcomeKind::Unknown => "unknown",
        }
    }
}

/// A request as it is passed on to an upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// The name of the upstream, or the address, as evaluated: `backend`, `127.0.0.1:8080`, `unix:/run/app.sock`.
    pub server: Bytes,
    /// `http`, `https`, `grpc`, `grpcs`; empty for others.
    pub scheme: Bytes,
    pub method: Bytes,
    /// The request target; `None` for protocols that pass parameters.
    pub target: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    pub node: Node,
    pub name: Bytes,
    pub value: Bytes,
}

/// Why an outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// What is unknown, as a phrase: `Lua`, `whether /srv/a.html exists`, `$geoip_country_code`.
    pub reason: String,
    /// The directive that needs to know it.
    pub node: Option<Node>,
    pub question: Option<Question>,
}

/// A question about the world. Its answer would make the outcome known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Question {
    File { path: Bytes },
    Variable { name: Bytes },
    Upstream { server: Bytes },
    Event(Event),
}

/// Something that no configuration shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// A clause: `the subrequest to /auth ends with 401`.
    pub text: String,
    #[serde(skip)]
    pub share: Option<Share>,
}

/// That a `split_clients` puts a source below a bound. Tables with the same source do so alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    pub source: Value,
    pub below: u32,
}

impl Event {
    pub fn of(text: String) -> Event {
        Event { text, share: None }
    }

    /// Whether it happens if another one does, or does not; `None` if that does not tell.
    pub fn follows(&self, other: &Event, happens: bool) -> Option<bool> {
        match (&self.share, &other.share) {
            (Some(mine), Some(its)) if mine.source == its.source => {
                let is_told = if happens { its.below <= mine.below } else { its.below >= mine.below };
                is_told.then_some(happens)
            }
            _ => (self == other).then_some(happens),
        }
    }
}

impl Outcome {
    /// What its branches depend on: what the client gets is unknown, or its text, its target or the upstream is.
    pub fn asks(&self) -> Option<&Question> {
        let question = self.unknown.as_ref()?.question.as_ref()?;
        let is_asked = match question {
            Question::File { .. } => self.kind == OutcomeKind::Unknown,
            Question::Event(_) => match self.kind {
                OutcomeKind::Unknown => true,
                OutcomeKind::Return => self.body.is_none(),
                OutcomeKind::Redirect => self.location.is_none(),
                kind => kind.passes_on() && self.upstream.is_none(),
            },
            _ => false,
        };
        is_asked.then_some(question)
    }
}

/// A decision that nginx makes on the way to the outcome. Steps are in the order in which nginx makes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    pub kind: StepKind,
    /// The directive: the `listen`, the `server`, the `rewrite`, the `location`.
    pub node: Option<Node>,
    /// The result, for people: the new URI, the value of a variable, the file that is looked for.
    pub detail: Bytes,
    /// The captures of the pattern, the whole match first; `None` for a group that took no part.
    pub captures: Vec<Option<Bytes>>,
    /// The directives that were considered and not chosen, with the reason.
    pub passed_over: Vec<PassedOver>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    Socket,
    Server,
    Set,
    /// An `if`, true or false.
    If,
    Rewrite,
    Return,
    Break,
    Location,
    /// A redirect inside nginx: by `last`, `try_files`, `index`, `error_page`, or to a named location.
    Internal,
    Access,
    TryFiles,
    Index,
    ErrorPage,
    Handler,
    /// A map that was evaluated, and the row that answered.
    Map,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    pub node: Node,
    /// Why it was not chosen, as a phrase: `a longer prefix matches`, `does not match`, `/a is ^~`.
    pub reason: String,
}
