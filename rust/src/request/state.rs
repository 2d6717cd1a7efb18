//! What changes while a request runs.

use crate::request::bytes::Bytes;
use crate::request::handler::Handler;
use crate::request::outcome::Unknown;
use crate::request::site::{LevelId, Node, ServerId};

/// `NGX_HTTP_MAX_URI_CHANGES`, and one that is the error.
const CHANGES: u8 = 11;

/// The state of a request (`ngx_http_request_t`).
#[derive(Clone, Debug)]
pub struct State {
    pub method: Bytes,
    /// `$uri`
    pub uri: Vec<u8>,
    pub args: Vec<u8>,
    pub server: ServerId,
    /// The level whose settings are in force (`r->loc_conf`).
    pub level: LevelId,
    /// The whole match, then `$1` and so on; `None` for a group that took no part.
    pub captures: Vec<Option<Bytes>>,
    /// Why the captures are unknown: a map may have changed them, and which of its rows answers is unknown.
    pub captures_unknown: Option<Box<Unknown>>,
    /// Counts how often a map changed the captures.
    pub map_captures: u32,
    /// The values of variables that are set or computed, by their number.
    pub slots: Vec<Slot>,
    pub internal: bool,
    /// Whether the name of the location begins the URI (`r->valid_location`).
    pub valid_location: bool,
    /// Whether the URI is as the client sent it.
    pub valid_unparsed_uri: bool,
    pub uri_changed: bool,
    /// How often the URI may still change.
    pub changes_left: u8,
    /// Whether an error was answered by a page.
    pub error_page: bool,
    pub add_uri_to_alias: bool,
    /// The handler of the location, and its directive (`r->content_handler`).
    pub handler: Option<(Handler, Node)>,
    /// The status of the response, 0 before it is known (`r->headers_out.status`).
    pub status: u16,
    /// The status that goes before any other, unless it is 0 (`r->err_status`).
    pub err_status: u16,
    /// The header `Location`.
    pub location: Option<Result<Vec<u8>, Unknown>>,
    /// `$limit_rate`, as set.
    pub limit_rate: Option<Vec<u8>>,
    /// The directive that an error comes from, and whether it is a `return`.
    pub cause: Option<Node>,
    pub is_return: bool,
    /// The file whose absence is the error.
    pub missing: Option<Bytes>,
    /// Whether the body was read and dropped, so that its length is no error.
    pub is_body_discarded: bool,
    /// Whether nginx may have read some of the body, which shows in `$content_length` if the body is chunked.
    pub has_read_body: bool,
    /// Whether `$request_filename` had a value: if it has none at first, it never has.
    pub has_filename: bool,
    /// The URI as nginx has split it for FastCGI, which it keeps up to the next internal redirect.
    pub fastcgi: Option<(Vec<u8>, Vec<u8>)>,
    /// What `$secure_link_expires` is, once `$secure_link` was computed. Kept up to the next internal redirect.
    pub link_expires: Option<Vec<u8>>,
    /// Whether a limit has refused the request.
    pub is_limited: bool,
    /// Whether an upstream has answered by `X-Accel-Redirect`.
    pub is_accelerated: bool,
    /// Whether a trusted proxy told the address of the client.
    pub has_real_address: bool,
    /// Whether a value was longer than nginx expected.
    pub has_overrun: bool,
    /// How deep the evaluation of variables is.
    pub depth: u8,
    /// The steps that were taken, and the bytes of the values that were computed.
    pub spent: Spent,
}

/// What a request has cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub steps: u64,
    pub bytes: u64,
}

/// The value of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    #[default]
    Empty,
    /// It stays as it is.
    Known(Vec<u8>),
    /// It stays until the variable is computed anew (`no_cacheable`). Kept for those that depend on captures.
    Computed(Vec<u8>),
    Unknown(Box<Unknown>),
}

impl State {
    pub fn new(server: ServerId, level: LevelId, variables: usize) -> State {
        State {
            method: Bytes::default(),
            uri: Vec::new(),
            args: Vec::new(),
            server,
            level,
            captures: Vec::new(),
            captures_unknown: None,
            map_captures: 0,
            slots: vec![Slot::Empty; variables],
            internal: false,
            valid_location: true,
            valid_unparsed_uri: true,
            uri_changed: false,
            changes_left: CHANGES,
            error_page: false,
            add_uri_to_alias: false,
            handler: None,
            status: 0,
            err_status: 0,
            location: None,
            limit_rate: None,
            cause: None,
            is_return: false,
            missing: None,
            is_body_discarded: false,
            has_read_body: false,
            has_filename: false,
            fastcgi: None,
            link_expires: None,
            is_limited: false,
            is_accelerated: false,
            has_real_address: false,
            has_overrun: false,
            depth: 0,
            spent: Spent::default(),
        }
    }
}
