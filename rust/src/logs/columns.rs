//! The values that are read of a line, by the variables of a format.

use std::ops::Range;

use crate::logs::cells::Line;
use crate::logs::value::{self, Escape, LastTime};
use crate::request::settle::Logged;

/// Where a format has what is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    request: Option<usize>,
    request_uri: Option<usize>,
    uri: Option<usize>,
    args: Option<usize>,
    status: Option<usize>,
    bytes: Option<usize>,
    request_time: Option<usize>,
    upstream_time: Option<usize>,
    connect_time: Option<usize>,
    local_time: Option<usize>,
    iso_time: Option<usize>,
    msec: Option<usize>,
    client: Option<usize>,
    agent: Option<usize>,
    length: Option<usize>,
    content_length: Option<usize>,
    method: Option<usize>,
    user: Option<usize>,
    gzip_ratio: Option<usize>,
    encoding: Option<usize>,
    body_bytes: Option<usize>,
    connection_requests: Option<usize>,
    reused: Option<usize>,
    cache: Option<usize>,
    /// The others that may decide what becomes of a request.
    group: Vec<usize>,
}

/// The parts of `$request`.
struct RequestLine<'a> {
    method: &'a [u8],
    target: &'a [u8],
    version: &'a [u8],
}

impl Columns {
    /// Finds the columns of a format with these variables; those of `group` decide as well.
    pub fn new(variables: &[String], group: &[String]) -> Columns {
        let place = |names: &[&str]| names.iter().find_map(|name| variables.iter().position(|each| each == name));
        Columns {
            request: place(&["request"]),
            request_uri: place(&["request_uri"]),
            uri: place(&["uri", "document_uri"]),
            args: place(&["args", "query_string"]),
            status: place(&["status"]),
            bytes: place(&["bytes_sent", "body_bytes_sent"]),
            request_time: place(&["request_time"]),
            upstream_time: place(&["upstream_response_time"]),
            connect_time: place(&["upstream_connect_time"]),
            local_time: place(&["time_local"]),
            iso_time: place(&["time_iso8601"]),
            msec: place(&["msec"]),
            client: place(&["remote_addr", "realip_remote_addr"]),
            agent: place(&["http_user_agent"]),
            length: place(&["request_length"]),
            content_length: place(&["content_length", "http_content_length"]),
            method: place(&["request_method", "request"]),
            user: place(&["remote_user"]),
            gzip_ratio: place(&["gzip_ratio"]),
            encoding: place(&["sent_http_content_encoding"]),
            body_bytes: place(&["body_bytes_sent", "bytes_sent"]),
            connection_requests: place(&["connection_requests"]),
            reused: place(&["ssl_session_reused"]),
            cache: place(&["upstream_cache_status"]),
            group: group.iter().filter_map(|name| place(&[name])).collect(),
        }
    }

    /// Returns what the line says of the response. `values` are those of its variables.
    pub fn logged(&self, line: &[u8], values: &[Range<usize>]) -> Logged {
        let of = |column: Option<usize>| column.map(|at| &line[values[at].clone()]);
        let status = of(self.status).and_then(value::number).and_then(|status| u16::try_from(status).ok());
        let upstream = of(self.upstream_time).map(|time| time.iter().any(u8::is_ascii_digit));
        let user = of(self.user).map(|user| !matches!(user, b"" | b"-"));
        Logged { status: status.filter(|status| *status > 99), upstream, user }
    }

    /// Returns what the line says of the time and the size of the response.
    pub fn line(&self, line: &[u8], values: &[Range<usize>], last: &mut LastTime) -> Line {
        let of = |column: Option<usize>| column.map(|at| &line[values[at].clone()]);
        let at = of(self.msec).and_then(value::milliseconds_since_1970).map(|at| at.div_euclid(1000));
        let at = at.or_else(|| of(self.iso_time).and_then(value::iso_time));
        let length = of(self.length).and_then(value::number).and_then(|length| u32::try_from(length).ok());
        let body = body(length, of(self.method), of(self.content_length));
        let ratio = of(self.gzip_ratio).and_then(value::milliseconds).map(u64::from);
        // Of an upstream as well, but then nginx's own is not known.
        let is_packed = self.gzip_ratio.is_none() && of(self.encoding) == Some(b"gzip");
        let sent = of(self.body_bytes).and_then(value::number).unwrap_or_default();
        Line {
            at: at.or_else(|| of(self.local_time).and_then(|text| last.local_time(text))),
            bytes: of(self.bytes).and_then(value::number).unwrap_or_default(),
            request: of(self.request_time).and_then(value::milliseconds),
            upstream: of(self.upstream_time).and_then(value::upstream_milliseconds),
            connect: of(self.connect_time).and_then(value::upstream_milliseconds),
            length: length.map(|length| length - body.unwrap_or_default()),
            agent: None,
            body,
            packed: (is_packed || ratio.is_some()).then_some(sent),
            raw: sent.saturating_mul(ratio.unwrap_or_default()) / 1000,
            is_first: of(self.connection_requests) == Some(b"1"),
            is_resumed: of(self.reused) == Some(b"r"),
            is_cached: matches!(of(self.cache), Some(b"HIT" | b"STALE" | b"UPDATING" | b"REVALIDATED")),
            is_repeated: false,
        }
    }

    /// Writes the target of the request, and what else decides: method and version if they are in `$request`, then the
    /// group, an end of line behind each. Returns whether there is a request.
    pub fn request(
        &self,
        line: &[u8],
        values: &[Range<usize>],
        escape: Escape,
        target: &mut Vec<u8>,
        group: &mut Vec<u8>,
    ) -> bool {
        target.clear();
        group.clear();
        let of = |column: usize| &line[values[column].clone()];
        if let Some(column) = self.request {
            let Some(request) = request_line(of(column)) else { return false };
            target.extend(&*escape.unescape(request.target));
            for part in [request.method, request.version] {
                group.extend(part);
                group.push(b'\n');
            }
        } else if let Some(column) = self.request_uri {
            target.extend(&*escape.unescape(of(column)));
        } else if let Some(column) = self.uri {
            let args = self.args.map_or(&b""[..], of);
            *target = value::encoded(&escape.unescape(of(column)), &escape.unescape(args));
        }
        for column in &self.group {
            group.extend(of(*column));
            group.push(b'\n');
        }
        !matches!(&target[..], b"" | b"-")
    }

    /// Whether the format has the time of requests.
    pub fn have_time(&self) -> bool {
        self.msec.or(self.iso_time).or(self.local_time).is_some()
    }

    /// Whether a cache may keep the response, as far as the method shows.
    pub fn may_be_kept(&self, line: &[u8], values: &[Range<usize>]) -> bool {
        self.method.is_none_or(|at| matches!(first_word(&line[values[at].clone()]), b"GET" | b"HEAD"))
    }

    pub fn client<'a>(&self, line: &'a [u8], values: &[Range<usize>]) -> Option<&'a [u8]> {
        self.client.map(|at| &line[values[at].clone()])
    }

    pub fn agent<'a>(&self, line: &'a [u8], values: &[Range<usize>]) -> Option<&'a [u8]> {
        self.agent.map(|at| &line[values[at].clone()])
    }
}

/// Methods of requests that have no body, as a rule.
const BODILESS: [&[u8]; 4] = [b"GET", b"HEAD", b"OPTIONS", b"DELETE"];

/// The usual bytes of headers, as in `nginxopt/profile/terms.py`.
const USUAL_HEADERS: u32 = 500;

/// The bytes of the body of a request of this length: what its headers say, otherwise all beyond usual headers. `None`
/// if it has none, as with the methods of [`BODILESS`]; `method` may be `$request`.
fn body(length: Option<u32>, method: Option<&[u8]>, stated: Option<&[u8]>) -> Option<u32> {
    if let Some(stated) = stated.and_then(value::number) {
        let stated = u32::try_from(stated).unwrap_or(u32::MAX).min(length.unwrap_or(u32::MAX));
        return (stated > 0).then_some(stated);
    }
    let method = method.map(first_word);
    if method.is_some_and(|method| BODILESS.contains(&method)) {
        return None;
    }
    let excess = length.unwrap_or_default().saturating_sub(USUAL_HEADERS);
    (method.is_some() || excess > 0).then_some(excess)
}

/// The method of `$request`, or what is one already.
fn first_word(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == b' ').next().unwrap_or_default()
}

/// Splits `GET /a HTTP/1.1`. A request of HTTP/0.9 has no version.
fn request_line(text: &[u8]) -> Option<RequestLine<'_>> {
    let space = memchr::memchr(b' ', text)?;
    let (method, rest) = (&text[..space], &text[space + 1..]);
    let is_method = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
    if method.is_empty() || !method.iter().all(is_method) {
        return None;
    }
    let (target, version) = match memchr::memchr(b' ', rest) {
        None => (rest, &b""[..]),
        Some(space) => (&rest[..space], rest[space + 1..].strip_prefix(b"HTTP/")?),
    };
    let is_version = matches!(version, [] | [b'0'..=b'9', b'.', b'0'..=b'9']);
    (is_version && !target.is_empty()).then_some(RequestLine { method, target, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines() {
        let parts = |text: &'static [u8]| request_line(text).map(|line| (line.method, line.target, line.version));
        assert_eq!(parts(b"GET /a HTTP/1.1"), Some((&b"GET"[..], &b"/a"[..], &b"1.1"[..])));
        assert_eq!(parts(b"GET /a"), Some((&b"GET"[..], &b"/a"[..], &b""[..])));
        for none in [&b"\\x16\\x03"[..], b"GET", b"GET  HTTP/1.1", b"get /a HTTP/1.1", b"GET /a b HTTP/1.1", b"-", b""]
        {
            assert!(request_line(none).is_none());
        }
    }

    /// The length of a request is divided into headers and body.
    #[test]
    fn bodies() {
        assert_eq!(body(Some(4_000), Some(b"GET /a HTTP/1.1"), None), None);
        assert_eq!(body(Some(4_000), Some(b"GET"), Some(b"-")), None);
        assert_eq!(body(Some(4_000), Some(b"POST /a HTTP/1.1"), None), Some(3_500));
        assert_eq!(body(Some(300), Some(b"POST"), None), Some(0));
        assert_eq!(body(Some(300), Some(b"POST"), Some(b"120")), Some(120));
        assert_eq!(body(Some(300), Some(b"POST"), Some(b"0")), None);
        assert_eq!(body(Some(300), None, Some(b"9999999999999")), Some(300));
        assert_eq!(body(None, Some(b"PUT"), None), Some(0));
        assert_eq!(body(Some(4_000), None, None), Some(3_500));
        assert_eq!(body(Some(400), None, None), None);
    }
}
