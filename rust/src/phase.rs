//! The phases of nginx in which rewrites are tried (`ngx_http_rewrite_handler`).

/// Where a run of rules stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Server,
    /// A location, or unknown: what is right in a location is also right in a server.
    Location,
}

/// Which rules may stand in an `if` that certainly ends the script. In a server, all may, because a true `if` changes
/// nothing else there. In a location, a true `if` replaces the location's configuration by its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entering {
    Nothing,
    /// The location has `try_files`, which an `if` does not inherit.
    AllButBreak,
    All,
}
