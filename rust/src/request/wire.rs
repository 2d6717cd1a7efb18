//! Reads requests as nginx does: the request line, then the headers (`ngx_http_process_request_line`,
//! `ngx_http_process_request_headers`). The body is not read.

mod buffers;
mod headers;
mod host;
mod refusal;
mod target;
#[cfg(test)]
mod tests;

pub use host::valid_host;

use crate::request::bytes::Bytes;
use crate::request::outcome::Unknown;
use crate::request::site::Build;
use crate::request::uri::{self, Decoded};
use crate::request::world::Request;

use refusal::{BAD_REQUEST, Refusal};
use target::Target;

/// The settings of a server with which nginx reads requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub merge_slashes: bool,
    pub underscores_in_headers: bool,
    pub ignore_invalid_headers: bool,
    /// `client_header_buffer_size`, in bytes.
    pub header_buffer: usize,
    /// `large_client_header_buffers`: how many, and the bytes of each.
    pub large_buffers: (usize, usize),
    /// `max_headers`; nginx has it since 1.29.8.
    pub max_headers: usize,
}

impl Default for Settings {
    /// The defaults of nginx.
    fn default() -> Settings {
        Settings {
            merge_slashes: true,
            underscores_in_headers: false,
            ignore_invalid_headers: true,
            header_buffer: 1024,
            large_buffers: (4, 8192),
            max_headers: 1000,
        }
    }
}

/// What nginx has read of a request. Nothing is kept if it refuses the request line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub method: Bytes,
    /// Major and minor: (0, 9) for a request line without a version, (0, 0) if it was refused.
    pub version: (u16, u16),
    /// `$uri`, `$args`; empty if the URI was refused.
    pub uri: Decoded,
    /// `$request_uri`: the target as sent, without scheme and host.
    pub unparsed_uri: Bytes,
    /// Whether the target is an absolute URI with arguments and no path (`http://h?x`); nginx then never passes
    /// [`Head::unparsed_uri`] on.
    pub empty_path: bool,
    /// The host by which the server is chosen (`$host`), in lower case, without port and final dot. `None` if there is
    /// none.
    pub host: Option<Bytes>,
    /// The port that the client sends with the host (`$request_port`). 0 if there is none, and before 1.29.4.
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
    /// nginx answers with this status, or with its `error_page` in the server that is known by then: the server of the
    /// host in `head`, or the first one (see [`read`]) if there is no host.
    Rejected {
        status: u16,
        head: Box<Head>,
    },
    Unknown(Unknown),
}

/// Reads a request that is sent as HTTP/1.x.
///
/// `settings` returns the settings of the server of a host. Without a host, these are those of the server of the TLS
/// handshake or of the default server. Most requests need no settings.
pub fn read(request: &Request, build: &Build, settings: &dyn Fn(Option<&[u8]>) -> Settings) -> Result<Head, Stop> {
    let mut reader = Reader { request, build, settings, known: None, head: Head::default() };
    let result = reader.read();
    match result {
        Ok(()) => Ok(reader.head),
        Err(Refusal::Status(status)) => Err(Stop::Rejected { status, head: Box::new(reader.head) }),
        Err(Refusal::Unknown(unknown)) => Err(Stop::Unknown(unknown)),
    }
}

/// Reads a request. Holds what has been read so far.
struct Reader<'r> {
    request: &'r Request,
    build: &'r Build,
    settings: &'r dyn Fn(Option<&[u8]>) -> Settings,
    /// The settings of the server known by now, if they were needed.
    known: Option<Settings>,
    head: Head,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Refusal> {
        self.check_request_line_length()?;
        self.request_line()?;
        if self.request.version < (1, 0) {
            return Ok(());
        }
        self.headers()?;
        self.finish()
    }

    fn request_line(&mut self) -> Result<(), Refusal> {
        let is_of_method = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
        let method = &self.request.method;
        if method.is_empty() || !method.iter().all(is_of_method) {
            return Err(BAD_REQUEST);
        }
        let target = Target::read(&self.request.target, method, self.build)?;
        self.version()?;
        if self.request.version < (1, 0) && target.lacks_path {
            return Err(BAD_REQUEST);
        }
        (self.head.method, self.head.version) = (method.clone(), self.request.version);
        let merges_slashes = uri::is_plain(target.uri) || self.settings().merge_slashes;
        self.head.uri = uri::decode(target.uri, merges_slashes).ok_or(BAD_REQUEST)?;
        self.head.unparsed_uri = target.uri.into();
        self.head.empty_path = target.uri.starts_with(b"?");
        if let Some(host) = target.host {
            let (host, port) = valid_host(host, self.build).ok_or(BAD_REQUEST)?;
            self.set_host(host, port);
        }
        Ok(())
    }

    /// Reads `HTTP/` and two numbers.
    fn version(&self) -> Result<(), Refusal> {
        match self.request.version {
            (0, 9) if &*self.request.method == b"GET" => Ok(()),
            (0, _) => Err(BAD_REQUEST),
            (1, minor) if minor <= 999 => Ok(()),
            (1, _) => Err(BAD_REQUEST),
            _ => Err(Refusal::Status(505)),
        }
    }

    /// The settings of the server known by now.
    fn settings(&mut self) -> Settings {
        *self.known.get_or_insert_with(|| (self.settings)(self.head.host.as_deref()))
    }

    fn set_host(&mut self, host: Vec<u8>, port: u16) {
        (self.head.host, self.head.port) = (Some(host.into()), port);
        self.known = None;
    }
}
