//! The variables of a configuration, and where their values come from.

use hashbrown::{HashMap, HashSet};

use crate::request::refused::Refused;
use crate::request::site::Node;
use crate::variables;

/// A variable, by its index among those that the configuration names.
pub type VariableId = usize;

/// Where a variable gets its value from, unless a script or a match sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Request(RequestVariable),
    /// `$http_x`, without the prefix.
    Header(Vec<u8>),
    /// `$cookie_x`
    Cookie(Vec<u8>),
    /// `$arg_x`
    Argument(Vec<u8>),
    /// A map, `geo` or `split_clients`, by its index among these.
    Table(usize),
    /// Empty unless a script or a match sets it.
    Empty,
    /// Neither the configuration nor the request determines the value. The text is a phrase that says why.
    Unknown(String),
}

/// Variables whose values the request itself determines.
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
    IsRequestPort,
    LimitRate,
    NginxVersion,
    ProxyAddXForwardedFor,
    RemoteAddr,
    RemoteUser,
    Request,
    RequestFilename,
    RequestMethod,
    RequestPort,
    RequestUri,
    Scheme,
    SecureLink,
    SecureLinkExpires,
    ServerAddr,
    ServerName,
    ServerPort,
    ServerProtocol,
    SslServerName,
    /// A variable of TLS, which is empty without TLS.
    Tls,
    Status,
    Uri,
}

/// The variables that the configuration names.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    names: Vec<Vec<u8>>,
    ids: HashMap<Vec<u8>, VariableId>,
}

impl Variables {
    /// Returns the variable of a name, ignoring case. Adds it if it is new.
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

/// Returns the source of a variable that no table defines.
///
/// A named group replaces a header, a cookie or an argument of its name even before it matches. A `set` does so only
/// once it runs (`NGX_HTTP_VAR_WEAK`).
pub fn source(name: &[u8], assigned: &Assigned) -> Source {
    let text = String::from_utf8_lossy(name);
    let is_of_group = assigned.by_groups.contains(name);
    let is_assigned = is_of_group || assigned.by_set.contains(name);
    if is_of_group && !is_fixed(name) {
        let is_set = text == "args" && assigned.by_set.contains(name);
        return if is_set { Source::Unknown("$args, which is a named group as well".into()) } else { Source::Empty };
    }
    if let Some(variable) = of_request(&text) {
        let is_later = matches!(variable, RequestVariable::RequestPort | RequestVariable::IsRequestPort);
        // Before 1.29.3, a configuration may define it.
        return if is_later && is_assigned { Source::Empty } else { Source::Request(variable) };
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

/// The error of nginx for a directive that defines one of its own variables.
pub fn duplicate(node: Node, name: &[u8]) -> Refused {
    Refused::new(node, format!("the duplicate \"{}\" variable", name.escape_ascii()))
}

/// Whether nginx refuses a configuration that defines the variable, because it is one of nginx's own without
/// `NGX_HTTP_VAR_CHANGEABLE`. Does not know variables of later versions, or of modules that some builds lack.
pub fn is_fixed(name: &[u8]) -> bool {
    FIXED.split_ascii_whitespace().any(|fixed| fixed.as_bytes() == name)
}

/// The variables that both nginx 1.22.1 and 1.31.3 refuse (verified by `nginx -t` with a `set` of each).
const FIXED: &str = "binary_remote_addr body_bytes_sent bytes_sent connection connection_requests connection_time \
    content_length content_type date_gmt date_local document_root document_uri fastcgi_path_info fastcgi_script_name \
    gzip_ratio host hostname http2 http_cookie http_host http_referer http_user_agent http_via http_x_forwarded_for \
    https is_args limit_conn_status limit_req_status msec nginx_version pid pipe proxy_add_x_forwarded_for \
    proxy_internal_body_length proxy_internal_chunked proxy_protocol_addr proxy_protocol_port \
    proxy_protocol_server_addr proxy_protocol_server_port query_string realip_remote_addr realip_remote_port \
    realpath_root remote_addr remote_port remote_user request request_body request_body_file request_completion \
    request_filename request_id request_length request_method request_time request_uri scheme secure_link \
    secure_link_expires sent_http_cache_control sent_http_connection sent_http_content_length sent_http_content_type \
    sent_http_keep_alive sent_http_last_modified sent_http_link sent_http_location sent_http_transfer_encoding \
    server_addr server_name server_port server_protocol status tcpinfo_rcv_space tcpinfo_rtt tcpinfo_rttvar \
    tcpinfo_snd_cwnd time_iso8601 time_local uid_got uid_set upstream_addr upstream_bytes_received \
    upstream_bytes_sent upstream_cache_etag upstream_cache_last_modified upstream_cache_status upstream_connect_time \
    upstream_header_time upstream_response_length upstream_response_time upstream_status uri";

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
        "is_request_port" => RequestVariable::IsRequestPort,
        "limit_rate" => RequestVariable::LimitRate,
        "nginx_version" => RequestVariable::NginxVersion,
        "proxy_add_x_forwarded_for" => RequestVariable::ProxyAddXForwardedFor,
        "realip_remote_addr" => RequestVariable::ConnectionAddr,
        "remote_addr" => RequestVariable::RemoteAddr,
        "remote_user" => RequestVariable::RemoteUser,
        "request" => RequestVariable::Request,
        "request_filename" => RequestVariable::RequestFilename,
        "request_method" => RequestVariable::RequestMethod,
        "request_port" => RequestVariable::RequestPort,
        "request_uri" => RequestVariable::RequestUri,
        "scheme" => RequestVariable::Scheme,
        "secure_link" => RequestVariable::SecureLink,
        "secure_link_expires" => RequestVariable::SecureLinkExpires,
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
