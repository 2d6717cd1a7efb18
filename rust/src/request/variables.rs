//! The variables of a configuration, and where their values come from.

use hashbrown::{HashMap, HashSet};

use crate::variables;

/// A variable, by its place among those that the configuration names.
pub type VariableId = usize;

/// Where the value of a variable comes from until a script or a match sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Request(RequestVariable),
    /// `$http_x`, without the prefix.
    Header(Vec<u8>),
    /// `$cookie_x`
    Cookie(Vec<u8>),
    /// `$arg_x`
    Argument(Vec<u8>),
    /// A map, `geo` or `split_clients`, by its place among them.
    Table(usize),
    /// Empty unless a script or a match sets it.
    Empty,
    /// Nothing in the configuration or the request tells it; a phrase that says why.
    Unknown(String),
}

/// Variables that the request itself tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestVariable {
    Args,
    BinaryRemoteAddr,
    /// The address that the client connects from.
    ConnectionAddr,
    ContentLength,
    DocumentRoot,
    FastcgiPathInfo,
    FastcgiScriptName,
    Host,
    Https,
    IsArgs,
    LimitRate,
    NginxVersion,
    ProxyAddXForwardedFor,
    RemoteAddr,
    RemoteUser,
    Request,
    RequestFilename,
    RequestMethod,
    RequestUri,
    Scheme,
    ServerAddr,
    ServerName,
    ServerPort,
    ServerProtocol,
    SslServerName,
    /// A variable of TLS: empty without.
    Tls,
    Status,
    Uri,
}

/// Those that the configuration names, by name.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    names: Vec<Vec<u8>>,
    ids: HashMap<Vec<u8>, VariableId>,
}

impl Variables {
    /// The variable of a name, in any case of letters.
    pub fn intern(&mut self, name: &[u8]) -> VariableId {
        let name = name.to_ascii_lowercase();
        if let Some(id) = self.ids.get(&name) {
            return *id;
        }
        self.names.push(name.clone());
        self.ids.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    /// The variable of a name, if it was interned.
    pub fn find(&self, name: &[u8]) -> Option<VariableId> {
        self.ids.get(&name.to_ascii_lowercase()).copied()
    }

    /// The name, in lower case and without its `$`.
    pub fn name(&self, id: VariableId) -> &[u8] {
        &self.names[id]
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(Vec::as_slice)
    }
}

/// The variables that a configuration gives values to, in lower case.
#[derive(Debug, Default)]
pub struct Assigned {
    by_set: HashSet<Vec<u8>>,
    by_groups: HashSet<Vec<u8>>,
}

impl Assigned {
    pub fn add_set(&mut self, name: &[u8]) {
        self.by_set.insert(name.to_ascii_lowercase());
    }

    /// Adds the named groups of a pattern.
    pub fn add_groups(&mut self, pattern: &[u8]) {
        self.by_groups.extend(group_names(pattern));
    }
}

/// The source of a variable that no table defines.
///
/// A named group replaces a header, a cookie or an argument, even before it matches; `set` only once it runs
/// (`NGX_HTTP_VAR_WEAK`).
pub fn source(name: &[u8], assigned: &Assigned) -> Source {
    let text = String::from_utf8_lossy(name);
    let is_of_group = assigned.by_groups.contains(name);
    let is_assigned = is_of_group || assigned.by_set.contains(name);
    if is_of_group && !is_fixed(name) {
        let is_set = text == "args" && assigned.by_set.contains(name);
        return if is_set { Source::Unknown("$args, which is a named group as well".into()) } else { Source::Empty };
    }
    if let Some(variable) = of_request(&text) {
        return Source::Request(variable);
    }
    if let Some(header) = name.strip_prefix(b"http_") {
        return Source::Header(header.to_vec());
    }
    if let Some(cookie) = name.strip_prefix(b"cookie_") {
        return Source::Cookie(cookie.to_vec());
    }
    if let Some(argument) = name.strip_prefix(b"arg_") {
        return Source::Argument(argument.to_vec());
    }
    if text == "content_type" {
        return Source::Header(name.to_vec());
    }
    if is_assigned && !variables::is_own(&text) { Source::Empty } else { Source::Unknown(format!("${text}")) }
}

/// Whether nginx refuses a configuration that defines the variable. Those of later versions are not among them.
pub fn is_fixed(name: &[u8]) -> bool {
    let text = String::from_utf8_lossy(name);
    let is_header = matches!(
        &*text,
        "http_host" | "http_user_agent" | "http_referer" | "http_via" | "http_x_forwarded_for" | "http_cookie"
    );
    let of_request = of_request(&text).is_some_and(|variable| {
        !matches!(variable, RequestVariable::LimitRate | RequestVariable::Tls | RequestVariable::ProxyAddXForwardedFor)
    });
    is_header || text == "content_type" || (of_request && text != "args")
}

/// The names of the named groups of a pattern, in lower case.
pub fn group_names(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    for start in memchr::memmem::find_iter(pattern, b"(?") {
        let text = &pattern[start + 2..];
        let text = text.strip_prefix(b"P").unwrap_or(text);
        let [b'<' | b'\'', name @ ..] = text else { continue };
        let length = name.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(name.len());
        if length > 0 {
            names.push(name[..length].to_ascii_lowercase());
        }
    }
    names
}

fn of_request(name: &str) -> Option<RequestVariable> {
    Some(match name {
        "args" | "query_string" => RequestVariable::Args,
        "binary_remote_addr" => RequestVariable::BinaryRemoteAddr,
        "content_length" => RequestVariable::ContentLength,
        "document_root" => RequestVariable::DocumentRoot,
        "fastcgi_path_info" => RequestVariable::FastcgiPathInfo,
        "fastcgi_script_name" => RequestVariable::FastcgiScriptName,
        "host" => RequestVariable::Host,
        "https" => RequestVariable::Https,
        "is_args" => RequestVariable::IsArgs,
        "limit_rate" => RequestVariable::LimitRate,
        "nginx_version" => RequestVariable::NginxVersion,
        "proxy_add_x_forwarded_for" => RequestVariable::ProxyAddXForwardedFor,
        "realip_remote_addr" => RequestVariable::ConnectionAddr,
        "remote_addr" => RequestVariable::RemoteAddr,
        "remote_user" => RequestVariable::RemoteUser,
        "request" => RequestVariable::Request,
        "request_filename" => RequestVariable::RequestFilename,
        "request_method" => RequestVariable::RequestMethod,
        "request_uri" => RequestVariable::RequestUri,
        "scheme" => RequestVariable::Scheme,
        "server_addr" => RequestVariable::ServerAddr,
        "server_name" => RequestVariable::ServerName,
        "server_port" => RequestVariable::ServerPort,
        "server_protocol" => RequestVariable::ServerProtocol,
        "ssl_server_name" => RequestVariable::SslServerName,
        "status" => RequestVariable::Status,
        "uri" | "document_uri" => RequestVariable::Uri,
        name if name.starts_with("ssl_") && !name.starts_with("ssl_preread_") => RequestVariable::Tls,
        _ => return None,
    })
}
