//! A configuration as nginx runs it. The lowering (`nginxopt/semantics/site`) makes it of the text, as JSON: includes
//! are followed, and inheritance is applied. What the arguments of directives mean is read here, in the crate.

use hashbrown::{HashMap, HashSet};
use serde::Deserialize;

use crate::request::bytes::Bytes;

/// A directive, by its number in the lowering's list: it has the file, the line and the text.
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
    /// The addresses that nginx listens at.
    pub sockets: Vec<Socket>,
    /// In the order of reading.
    pub servers: Vec<Server>,
    /// The `http` block is the first.
    pub levels: Vec<Level>,
    /// Those that levels refer to.
    pub directives: Vec<Stated>,
    /// The variables that the configuration defines; the last of a name counts, as in nginx.
    pub variables: Vec<Defined>,
    pub upstreams: Vec<Upstream>,
    /// Parts of `http` that were not read or not understood, and may be anything.
    pub opaque: Vec<Opaque>,
}

/// The nginx that runs it.
#[derive(Debug, Deserialize)]
pub struct Build {
    /// Major, minor, patch.
    pub version: (u32, u32, u32),
    /// How a build differs from its version, by the names of fixes that it has besides: `CVE-2026-15176`,
    /// `CVE-2026-42945`.
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
    /// The address as usual (`0.0.0.0` for all), the path of a socket, or a name that is looked up.
    pub host: Bytes,
    /// 0 for a socket of a path.
    pub port: u16,
    pub tls: bool,
    pub http2: bool,
    pub quic: bool,
    pub proxy_protocol: bool,
    /// Whether one of IPv6 takes connections of IPv4 as well (`ipv6only=off`).
    #[serde(default)]
    pub takes_ipv4: bool,
    /// Each once, in the order of reading.
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
    /// As written, in the order of reading; one without `server_name` has the empty name, with its own node.
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
    /// The words behind the name: modifier and path of a location, the methods of a `limit_except`.
    pub args: Vec<Bytes>,
    /// What the rewrite module runs, in its order.
    pub script: Vec<Statement>,
    /// The locations directly in it, in the order of reading.
    pub locations: Vec<LevelId>,
    /// The `limit_except` in a location.
    pub limit_except: Option<LevelId>,
    /// The settings that differ from the level around it: the directives in force by name, in the order of reading; an
    /// empty list where the level has none though the level around it does, and `None` where that is unknown.
    ///
    /// Only directives that [`SETTINGS`] names. Of `types` it is the rows: the type, then its extensions.
    pub settings: HashMap<String, Option<Vec<DirectiveId>>>,
    /// What is in force here and not understood, so that any response is possible once the script has run: Lua, an
    /// unread include. What may act before is a statement of the script.
    pub opaque: Vec<Opaque>,
    /// What may change every response that is sent with these settings.
    pub filters: Vec<Filter>,
}

/// Something that changes responses on their way out, and is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Filter {
    pub node: Node,
    /// A phrase: `sub_filter is not modelled`.
    pub reason: String,
    pub changes: Changes,
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
    /// A run of rewrites that the reader left folded: bytes of a text, which hold `count` of them and comments. They
    /// have the numbers from `node` on.
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
    /// Anything that takes part in the phase and is not understood.
    Opaque(Opaque),
}

/// Something that may do anything, and why it is not understood.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Opaque {
    pub node: Node,
    /// A phrase: `Lua`, `the include is missing`, `unknown directive "foo"`.
    pub reason: String,
}

/// A variable that the configuration defines outside of scripts. Names are as written, with their `$`.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Defined {
    /// The rows are with those of included files: `default`, `hostnames` and `volatile` among them.
    Map {
        node: Node,
        source: Bytes,
        variable: Bytes,
        rows: Vec<Stated>,
    },
    /// Without a source nginx takes `$remote_addr`.
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

/// The directives that the model reads from [`Level::settings`]. The lowering passes exactly these.
pub const SETTINGS: &[&str] = &[
    "absolute_redirect",
    "add_header",
    "add_header_inherit",
    "alias",
    "allow",
    "auth_basic",
    "auth_request",
    "autoindex",
    "client_header_buffer_size",
    "client_max_body_size",
    "dav_methods",
    "default_type",
    "deny",
    "empty_gif",
    "error_page",
    "expires",
    "fastcgi_index",
    "fastcgi_intercept_errors",
    "fastcgi_param",
    "fastcgi_pass",
    "fastcgi_split_path_info",
    "flv",
    "grpc_intercept_errors",
    "grpc_pass",
    "gzip_static",
    "ignore_invalid_headers",
    "index",
    "internal",
    "large_client_header_buffers",
    "limit_conn",
    "limit_req",
    "max_headers",
    "memcached_pass",
    "merge_slashes",
    "mirror",
    "mp4",
    "msie_refresh",
    "port_in_redirect",
    "proxy_cache",
    "proxy_cache_convert_head",
    "proxy_intercept_errors",
    "proxy_method",
    "proxy_pass",
    "proxy_redirect",
    "proxy_set_header",
    "random_index",
    "recursive_error_pages",
    "root",
    "satisfy",
    "scgi_intercept_errors",
    "scgi_pass",
    "server_name_in_redirect",
    "set_real_ip_from",
    "real_ip_header",
    "ssl_verify_client",
    "stub_status",
    "try_files",
    "types",
    "underscores_in_headers",
    "uwsgi_intercept_errors",
    "uwsgi_pass",
];
