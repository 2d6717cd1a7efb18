//! Reads the host in the request line or the header `Host` (`ngx_http_validate_host`).

use crate::request::site::Build;

/// Returns the name in lower case, without port and one final dot, and the port, or 0 if there is none. `None` if nginx
/// answers 400.
pub fn valid_host(host: &[u8], build: &Build) -> Option<(Vec<u8>, u16)> {
    let (end, port) = if build.version >= (1, 29, 4) { strict(host)? } else { lenient(host)? };
    // In `a.:1.`, nginx before 1.29.4 looks at the last dot.
    let last_dot = host.iter().rposition(|byte| *byte == b'.');
    let end = if last_dot.is_some_and(|dot| dot + 1 == end) { end - 1 } else { end };
    (end > 0).then(|| (host[..end].to_ascii_lowercase(), port))
}

/// Returns the end of the name, and the port. Since 1.29.4, only the bytes of RFC 3986 are allowed.
fn strict(host: &[u8]) -> Option<(usize, u16)> {
    let is_literal = host.starts_with(b"[");
    let end = if is_literal {
        host.iter().position(|byte| *byte == b']')? + 1
    } else {
        host.iter().position(|byte| *byte == b':').unwrap_or(host.len())
    };
    let name = if is_literal { &host[1..end - 1] } else { &host[..end] };
    let is_of_name = |byte: &u8| {
        let is_other = if is_literal { *byte == b':' } else { *byte == b'%' };
        byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(byte) || is_other
    };
    if !name.iter().all(is_of_name) || has_two_dots(name) {
        return None;
    }
    match &host[end..] {
        [] => Some((end, 0)),
        [b':', digits @ ..] => Some((end, port(digits)?)),
        _ => None,
    }
}

fn port(digits: &[u8]) -> Option<u16> {
    let add = |port: u16, digit: &u8| {
        let digit = char::from(*digit).to_digit(10)?;
        port.checked_mul(10)?.checked_add(digit as u16)
    };
    digits.iter().try_fold(0, add)
}

/// As before 1.29.4, when all printable bytes except slashes were allowed.
fn lenient(host: &[u8]) -> Option<(usize, u16)> {
    let is_refused = |byte: &u8| matches!(byte, 0..=0x20 | b'/' | 0x7f);
    if host.iter().any(is_refused) || has_two_dots(host) {
        return None;
    }
    let colon = || host.iter().position(|byte| *byte == b':').unwrap_or(host.len());
    let close = || host.iter().position(|byte| *byte == b']').map_or(host.len(), |close| close + 1);
    Some((if host.starts_with(b"[") { close() } else { colon() }, 0))
}

fn has_two_dots(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"..").is_some()
}
