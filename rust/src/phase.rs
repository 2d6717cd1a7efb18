//! The phases of nginx in which rewrites are tried (`ngx_http_rewrite_handler`).

/// Where a run of rules stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Server,
    /// A location, or either of them: what is right in a location is right in a server.
    Location,
}
