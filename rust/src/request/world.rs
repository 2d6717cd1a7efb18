//! A request as a client sends it, and what is known of the world around nginx.

use hashbrown::{HashMap, HashSet};
use serde::Deserialize;

use crate::request::bytes::Bytes;
use crate::request::site::Family;

/// A request of a client.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    pub method: Bytes,
    /// As in the request line: a path with arguments, or an absolute URI.
    pub target: Bytes,
    /// Major and minor.
    pub version: (u16, u16),
    /// In their order, `Host` among them.
    pub headers: Vec<(Bytes, Bytes)>,
    /// The address of nginx that the client connects to.
    pub connection: Connection,
}

/// Where a client is connected to, and from where.
#[derive(Clone, Debug, Deserialize)]
pub struct Connection {
    pub family: Family,
    /// The local address; the path of a socket.
    pub host: Bytes,
    pub port: u16,
    pub tls: bool,
    /// HTTP/2 or HTTP/3, where the request comes so: it is answered as one of HTTP/1.1.
    #[serde(default)]
    pub protocol: Option<(u16, u16)>,
    /// The name that the client asks for in its TLS handshake.
    pub sni: Option<Bytes>,
    /// The client's address without a port; `None` if it is not known.
    pub client: Option<Bytes>,
}

/// What is known of the world.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct World {
    pub files: Files,
    /// Values of variables by name, without `$`, in lower case: what the client knows or the user assumes.
    pub variables: HashMap<String, Bytes>,
    /// Whether a client may send more than a request has: arguments, headers and cookies that it does not have are
    /// unknown then, and not absent.
    #[serde(default)]
    pub may_send_more: bool,
}

/// Where files are looked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Files {
    /// Files and, with a final slash, folders that are assumed to exist.
    pub existing: HashSet<Bytes>,
    /// Paths that are assumed to be missing.
    pub missing: HashSet<Bytes>,
    /// Whether the disk is asked for all others. If not, it is unknown whether they exist.
    pub disk: bool,
    /// Put before a path that the disk is asked for: `--root`.
    pub root: Option<String>,
}
