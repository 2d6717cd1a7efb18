//! A configuration as nginx runs it, with includes followed and inheritance applied.
//!
//! The lowering (`nginxopt/semantics/site`) builds it from the text, and passes it as JSON. The crate interprets the
//! arguments of directives.

use hashbrown::{HashMap, HashSet};
use serde::Deserialize;

pub use crate::facts::SETTINGS;
use crate::request::bytes::Bytes;

/// A directive, by its number in the lowering's list, which has the file, the line and the text.
pub type Node = u32;

/// A server, by its place in [`Site::servers`].
pub type ServerId = usize;

/// A level, by its place in [`Site::levels`].
pub type LevelId = usize;

/// A directive in force, by its place in [`Site::directives`].
pub type DirectiveId = usize;

/// The `http` block.
#[derive(Debug, Deserialize)]
pub struct Site {
    pub build: Build,
    /// The addresses on which nginx listens.
    pub sockets: Vec<Socket>,
    /// The servers, in the order of the text.
    pub servers: Vec<Server>,
    /// All levels. The `http` block is the first.
    pub levels: Vec<Level>,
    /// The directives to which levels refer.
    pub directives: Vec<Stated>,
    /// The variables that the configuration defines. The last definition of a name counts, as in nginx.
    pub variables: Vec<Defined>,
    pub upstreams: Vec<Upstream>,
    /// Parts of `http` that were not read or not understood, and may mean anything.
    pub opaque: Vec<Opaque>,
}

/// The nginx that runs the configuration.
#[derive(Debug, Deserialize)]
pub struct Build {
    /// Major, minor, patch.
    pub version: (u32, u32, u32),
    /// Fixes that the build has in addition to its version: `CVE-2026-15176`, `CVE-2026-42945`.
    pub fixes: HashSet<String>,
    /// The prefix of relative paths, with a final slash: `/usr/share/nginx/`.
    pub prefix: Bytes,
}

/// An address, and the servers that listen there.
#[derive(Debug, Deserialize)]
pub struct Socket {
    /// The first `listen` of the address; `None` if no server states one.
    pub node: Option<Node>,
    pub family: Family,
    /// The address (`0.0.0.0` for all), the path of a unix socket, or a name that nginx looks up.
    pub host: Bytes,
    /// The port; 0 for a unix socket.
    pub port: u16,
    pub tls: bool,
    pub http2: bool,
    pub quic: bool,
    pub proxy_protocol: bool,
    /// Whether a socket of IPv6 accepts connections over IPv4 as well (`ipv6only=off`).
    #[serde(default)]
    pub takes_ipv4: bool,
    /// The servers, each once, in the order of the text.
    pub servers: Vec<ServerId>,
    pub default: ServerId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    Inet,
    Inet6,
    Unix,
    Name,
}

#[derive(Debug, Deserialize)]
pub struct Server {
    pub node: Node,
    pub level: LevelId,
    /// The names as written, in the order of the text. A server without `server_name` has the empty name, with the node
    /// of the server.
    pub names: Vec<Name>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Name {
    pub node: Node,
    pub text: Bytes,
}

/// A block whose settings may differ from those around it.
#[derive(Debug, Deserialize)]
pub struct Level {
    pub kind: Kind,
    pub node: Node,
    /// `None` for `http`.
    pub parent: Option<LevelId>,
    /// The arguments of the block: the modifier and path of a location, the methods of a `limit_except`.
    pub args: Vec<Bytes>,
    /// The statements that the rewrite module runs, in order.
    pub script: Vec<Statement>,
    /// The locations directly in it, in the order of the text.
    pub locations: Vec<LevelId>,
    /// The `limit_except` in a location.
    pub limit_except: Option<LevelId>,
    /// The settings that differ from those of the level around it: the directives in force, by name, in the order of
    /// the text. The list is empty if the level has none although the level around it does, and `None` if that is
    /// unknown.
    ///
    /// Contains only directives that [`SETTINGS`] names. For `types`, these are the rows: the type, then its
    /// extensions.
    pub settings: HashMap<String, Option<Vec<DirectiveId>>>,
    /// Directives in force here that are not understood, such as Lua or an unread include. Any response is possible
    /// once the script has run. Directives that may act earlier are statements of the script.
    pub opaque: Vec<Opaque>,
    /// Filters that may change every response that is sent with these settings.
    pub filters: Vec<Filter>,
}

/// Something that changes responses on their way out, and is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Filter {
    pub node: Node,
    /// Why it is not understood, as a phrase: `sub_filter is not modelled`.
    pub reason: String,
    pub changes: Changes,
    /// A text without which a body stays as it is.
    #[serde(default)]
    pub needs: Option<Bytes>,
}

impl Filter {
    /// Whether the filter may change a body.
    pub fn may_change(&self, body: &[u8]) -> bool {
        self.needs.as_ref().is_none_or(|text| body.windows(text.len().max(1)).any(|part| part == &text[..]))
    }
}

/// What a [`Filter`] may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changes {
    Body,
    /// Headers other than `Location`.
    Headers,
    /// Anything.
    Response,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Http,
    Server,
    Location,
    If,
    LimitExcept,
}

/// A directive with its arguments, as nginx reads them.
#[derive(Debug, Deserialize)]
pub struct Stated {
    pub node: Node,
    pub args: Vec<Bytes>,
}

/// A statement of the rewrite module (`ngx_http_rewrite_module.c`).
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Statement {
    /// The variable is with its `$`.
    Set {
        node: Node,
        variable: Bytes,
        value: Bytes,
    },
    /// The words between the parentheses. The level has the script of the block.
    If {
        node: Node,
        condition: Vec<Bytes>,
        level: LevelId,
    },
    Rewrite {
        node: Node,
        pattern: Bytes,
        replacement: Bytes,
        flag: Option<Bytes>,
    },
    /// A run of rewrites that the reader left folded: a part of a text with `count` rewrites and perhaps comments. The
    /// rewrites are numbered from `node` on.
    Rewrites {
        node: Node,
        count: u32,
        text: usize,
        start: usize,
        end: usize,
    },
    Return {
        node: Node,
        args: Vec<Bytes>,
    },
    Break {
        node: Node,
    },
    /// Anything that acts in the same phase and is not understood.
    Opaque(Opaque),
}

/// A directive that may do anything, and why it is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Opaque {
    pub node: Node,
    /// The reason, as a phrase: `Lua`, `the include is missing`, `unknown directive "foo"`.
    pub reason: String,
}

/// A variable that the configuration defines outside of scripts. Names are as written, with their `$`.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Defined {
    /// The rows include those of included files, and the parameters `default`, `hostnames` and `volatile`.
    Map {
        node: Node,
        source: Bytes,
        variable: Bytes,
        rows: Vec<Stated>,
    },
    /// Without a source, nginx uses `$remote_addr`.
    Geo {
        node: Node,
        source: Option<Bytes>,
        variable: Bytes,
        rows: Vec<Stated>,
    },
    SplitClients {
        node: Node,
        source: Bytes,
        variable: Bytes,
        rows: Vec<Stated>,
    },
    /// `js_set`, `perl_set`, `geoip2`, a map with a file that is missing.
    Opaque {
        node: Node,
        variable: Bytes,
        reason: String,
    },
}

#[derive(Debug, Deserialize)]
pub struct Upstream {
    pub node: Node,
    pub name: Bytes,
    /// The addresses of its servers, as written.
    pub servers: Vec<Bytes>,
}
