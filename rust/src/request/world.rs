//! The input of the model: a request as a client sends it, and what is known of the world around nginx.

use hashbrown::{HashMap, HashSet};
use serde::Deserialize;

use crate::request::bytes::Bytes;
use crate::request::outcome::Event;
use crate::request::site::{Family, LevelId, Node};

/// A request of a client.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    pub method: Bytes,
    /// The target in the request line: a path with arguments, or an absolute URI.
    pub target: Bytes,
    /// Major and minor.
    pub version: (u16, u16),
    /// The headers in order, including `Host`.
    pub headers: Vec<(Bytes, Bytes)>,
    /// The address of nginx that the client connects to.
    pub connection: Connection,
}

/// The two ends of a client's connection.
#[derive(Clone, Debug, Deserialize)]
pub struct Connection {
    pub family: Family,
    /// The address of nginx, or the path of a unix socket.
    pub host: Bytes,
    pub port: u16,
    pub tls: bool,
    /// Whether it is one over QUIC, whose addresses are others than those of TCP.
    #[serde(default)]
    pub quic: bool,
    /// HTTP/2 or HTTP/3, if the client uses one of them. The request is answered like one of HTTP/1.1.
    #[serde(default)]
    pub protocol: Option<(u16, u16)>,
    /// The server name that the client sends in its TLS handshake.
    pub sni: Option<Bytes>,
    /// The client's address without a port; `None` if it is unknown.
    pub client: Option<Bytes>,
}

/// What is known of the world.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct World {
    pub files: Files,
    /// Values of variables that are known or that the user assumes, by name, in lower case and without `$`.
    pub variables: HashMap<String, Bytes>,
    /// Whether clients may send more than the request has. Arguments, headers and cookies that it does not have are
    /// then unknown, and not absent.
    #[serde(default)]
    pub may_send_more: bool,
    /// The value of `X-Accel-Redirect` in the answer of the first upstream that is asked.
    #[serde(default)]
    pub accel: Option<Bytes>,
    /// The `limit_req` or `limit_conn` that refuses the request, if one does.
    #[serde(default)]
    pub exceeded: Option<Exceeded>,
    #[serde(default)]
    pub limits: Limits,
    /// Whether some events happen, in the branch of an outcome that is looked at.
    #[serde(skip)]
    pub events: Vec<(Event, bool)>,
    /// Whether the client sent the right password, for `auth_basic`; `None` if the request itself says what it sent.
    #[serde(skip)]
    pub password: Option<bool>,
}

/// A limit in force at a level, and the status of the requests that it refuses.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Exceeded {
    pub node: Node,
    pub level: LevelId,
    pub status: u16,
}

/// What one request may cost: nginx itself may need hours, or all memory, for what a small configuration says.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Limits {
    /// The most steps: statements that run, and values that are computed.
    pub steps: u64,
    /// The most bytes that values have in all.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { steps: 1_000_000, bytes: 4 << 20 }
    }
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    File,
    Folder,
    /// A device, a pipe, a socket.
    Other,
}

/// What is known of files.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Files {
    /// Files and, with a final slash, folders that are assumed to exist, with all folders above them.
    pub existing: Existing,
    /// Paths that are assumed to be missing.
    pub missing: HashSet<Bytes>,
    /// Folders without a final slash whose content is known: nothing is in them but what exists.
    #[serde(default)]
    pub listed: Vec<Bytes>,
    /// Whether all other paths are looked up on the disk. If not, it is unknown whether they exist.
    pub disk: bool,
    /// The folder that is put before paths that are looked up on the disk (`--root`).
    pub root: Option<String>,
    /// What is at some paths in the branch of an outcome that is looked at, `None` for nothing. It goes before the rest.
    #[serde(skip)]
    pub tried: Vec<(Bytes, Option<Found>)>,
}

/// What exists.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Vec<Bytes>")]
pub struct Existing {
    /// Files, and folders with a final slash.
    pub files: HashSet<Bytes>,
    /// All folders, without a final slash.
    pub folders: HashSet<Bytes>,
}
