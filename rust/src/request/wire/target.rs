//! Splits the target in a request line: a path with arguments, an absolute URI, or `host:port` for CONNECT
//! (`ngx_http_parse_request_line`).

use super::refusal::{BAD_REQUEST, Refusal, unknown};
use crate::request::site::Build;

/// The parts of a target.
pub(super) struct Target<'r> {
    /// The host with its port, as the client wrote it.
    pub host: Option<&'r [u8]>,
    /// The path with the arguments, or just `?` and the arguments if there is no path.
    pub uri: &'r [u8],
    /// Whether nothing follows the host.
    pub lacks_path: bool,
}

impl<'r> Target<'r> {
    pub fn read(target: &'r [u8], method: &[u8], build: &Build) -> Result<Target<'r>, Refusal> {
        let is_control = |byte: &u8| matches!(byte, 0..=0x20 | 0x7f);
        let target = without_spaces(target);
        if target.iter().any(is_control) {
            let is_old = build.version < (1, 21, 1) && !target.contains(&0);
            return Err(if is_old { unknown("nginx before 1.21.1 takes blanks in a target") } else { BAD_REQUEST });
        }
        if method == b"CONNECT" && build.version >= (1, 29, 3) {
            return authority(target);
        }
        if target.starts_with(b"/") {
            return Ok(Target { host: None, uri: target, lacks_path: false });
        }
        absolute(target, build)
    }
}

/// nginx skips spaces around a target.
fn without_spaces(target: &[u8]) -> &[u8] {
    let start = target.iter().position(|byte| *byte != b' ').unwrap_or(target.len());
    let end = target.iter().rposition(|byte| *byte != b' ').map_or(start, |last| last + 1);
    &target[start..end]
}

/// `scheme://host[:port][/path][?arguments]`
fn absolute<'r>(target: &'r [u8], build: &Build) -> Result<Target<'r>, Refusal> {
    let colon = memchr::memmem::find(target, b"://").ok_or(BAD_REQUEST)?;
    let (scheme, rest) = (&target[..colon], &target[colon + 3..]);
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !scheme.first().is_some_and(u8::is_ascii_alphabetic) || !scheme.iter().all(is_of_scheme) {
        return Err(BAD_REQUEST);
    }
    let end = host_end(rest).ok_or(BAD_REQUEST)?;
    let (host, uri) = rest.split_at(end);
    match uri.first() {
        None => Ok(Target { host: Some(host), uri: b"/", lacks_path: true }),
        Some(b'?') if build.version < (1, 19, 6) => Err(BAD_REQUEST),
        Some(b'/' | b'?') => Ok(Target { host: Some(host), uri, lacks_path: false }),
        Some(_) => Err(BAD_REQUEST),
    }
}

/// `host:port`; the URI is then `/`.
fn authority(target: &[u8]) -> Result<Target<'_>, Refusal> {
    let end = host_end(target).ok_or(BAD_REQUEST)?;
    let has_port =
        target[..end].last().is_some_and(u8::is_ascii_digit) && target[name_end(target).unwrap_or(0)..end].len() > 1;
    if end < target.len() || !has_port {
        return Err(BAD_REQUEST);
    }
    Ok(Target { host: Some(target), uri: b"/", lacks_path: true })
}

/// The end of a host with a port. `None` if it is an address in brackets that are not closed.
fn host_end(text: &[u8]) -> Option<usize> {
    let name = name_end(text)?;
    let Some(port) = text[name..].strip_prefix(b":") else { return Some(name) };
    Some(name + 1 + port.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// The end of the name or of the address in brackets.
fn name_end(text: &[u8]) -> Option<usize> {
    let Some(inside) = text.strip_prefix(b"[") else {
        let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        return Some(text.iter().take_while(is_of_name).count());
    };
    let close = inside.iter().position(|byte| *byte == b']')?;
    let is_of_literal = |byte: &u8| byte.is_ascii_alphanumeric() || b":-._~!$&'()*+,;=".contains(byte);
    inside[..close].iter().all(is_of_literal).then_some(close + 2)
}
