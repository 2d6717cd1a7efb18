//! Requests as nginx reads them: the request line, then the headers (`ngx_http_process_request_line`,
//! `ngx_http_process_request_headers`). No body is read.

mod headers;
mod host;
mod target;

pub use host::valid_host;

use crate::request::bytes::Bytes;
use crate::request::outcome::Unknown;
use crate::request::site::Build;
use crate::request::uri::{self, Decoded};
use crate::request::world::Request;

use target::Target;

/// The settings of a server that reading depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub merge_slashes: bool,
    pub underscores_in_headers: bool,
    pub ignore_invalid_headers: bool,
    /// `large_client_header_buffers`: how many, and the bytes of each.
    pub large_buffers: (usize, usize),
}

impl Default for Settings {
    /// The defaults of nginx.
    fn default() -> Settings {
        Settings {
            merge_slashes: true,
            underscores_in_headers: false,
            ignore_invalid_headers: true,
            large_buffers: (4, 8192),
        }
    }
}

/// What nginx has read of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub method: Bytes,
    /// Major and minor: (0, 9) for a request line without a version.
    pub version: (u16, u16),
    /// `$uri`, `$args`; empty if the URI was refused.
    pub uri: Decoded,
    /// `$request_uri`: the target as sent, without scheme and host.
    pub unparsed_uri: Bytes,
    /// Whether the target is an absolute URI with arguments and no path (`http://h?x`); nginx then never passes
    /// [`Head::unparsed_uri`] on.
    pub empty_path: bool,
    /// The host by which the server is chosen, `$host`: lower-case, without port and final dot. `None` without one.
    pub host: Option<Bytes>,
    /// The port that the client gives with it: 0 if none (`$request_port`).
    pub port: u16,
    /// The headers that nginx keeps, in their order, without blanks around the values.
    pub headers: Vec<(Bytes, Bytes)>,
    /// The length of the body as stated.
    pub content_length: Option<u64>,
    pub chunked: bool,
}

/// Why a request is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// nginx answers with this status, or with the `error_page` for it of the server known by then: that of the host in
    /// `head`, the first one (see [`read`]) if it has none.
    Rejected {
        status: u16,
        head: Box<Head>,
    },
    Unknown(Unknown),
}

/// Reads a request that is sent as HTTP/1.x.
///
/// `settings` are those of the server of a host; of none, those of the server of the handshake or the default server.
pub fn read(request: &Request, build: &Build, settings: &dyn Fn(Option<&[u8]>) -> Settings) -> Result<Head, Stop> {
    let mut head = Head { method: request.method.clone(), version: request.version, ..Head::default() };
    let first = settings(None);
    let result = request_line(request, build, first, &mut head)
        .and_then(|()| headers::read(request, build, settings, &mut head))
        .map_err(|stop| match stop {
            Refusal::Status(status) => Err(status),
            Refusal::Unknown(unknown) => Ok(unknown),
        });
    match result {
        Ok(()) => Ok(head),
        Err(Err(status)) => Err(Stop::Rejected { status, head: Box::new(head) }),
        Err(Ok(unknown)) => Err(Stop::Unknown(unknown)),
    }
}

/// Why reading ends.
enum Refusal {
    Status(u16),
    Unknown(Unknown),
}

const BAD_REQUEST: Refusal = Refusal::Status(400);

fn unknown(reason: &str) -> Refusal {
    Refusal::Unknown(Unknown { reason: reason.to_owned(), node: None, question: None })
}

fn request_line(request: &Request, build: &Build, settings: Settings, head: &mut Head) -> Result<(), Refusal> {
    let is_of_method = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
    if request.method.is_empty() || !request.method.iter().all(is_of_method) {
        return Err(BAD_REQUEST);
    }
    let target = Target::read(&request.target, &request.method, build)?;
    version(request)?;
    head.unparsed_uri = target.uri.into();
    head.empty_path = target.uri.starts_with(b"?");
    match uri::decode(target.uri, settings.merge_slashes) {
        Some(uri) => head.uri = uri,
        None => return Err(BAD_REQUEST),
    }
    if let Some(host) = target.host {
        let (host, port) = valid_host(host, build).ok_or(BAD_REQUEST)?;
        (head.host, head.port) = (Some(host.into()), port);
    }
    Ok(())
}

/// `HTTP/` and two numbers.
fn version(request: &Request) -> Result<(), Refusal> {
    match request.version {
        (0, 9) if &*request.method == b"GET" => Ok(()),
        (0, _) => Err(BAD_REQUEST),
        (1, minor) if minor <= 999 => Ok(()),
        (1, _) => Err(BAD_REQUEST),
        _ => Err(Refusal::Status(505)),
    }
}
