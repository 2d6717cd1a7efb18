//! The phases of nginx in which rewrites are tried (`ngx_http_rewrite_handler`).

/// Where a run of rules stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Server,
    /// A location, or either of them: what is right in a location is right in a server.
    Location,
}

/// Which rules may stand in an `if` that certainly ends the script. In a server all may, as a true `if` changes nothing
/// there; in a location, one replaces the location's configuration by its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entering {
    Nothing,
    /// The location has `try_files`, which an `if` does not inherit.
    AllButBreak,
    All,
}
