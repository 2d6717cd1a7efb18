//! The headers of a request (`ngx_http_parse_header_line`, `ngx_http_process_request_header`).

use super::{BAD_REQUEST, Head, Refusal, Settings, unknown, valid_host};
use crate::request::bytes::Bytes;
use crate::request::site::Build;
use crate::request::world::Request;

/// The headers that may stand only once; `Host` is another one (`ngx_http_headers_in`).
const UNIQUE: [&str; 10] = [
    "authorization",
    "content-length",
    "content-range",
    "expect",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "transfer-encoding",
];

pub(super) fn read(
    request: &Request,
    build: &Build,
    settings: &dyn Fn(Option<&[u8]>) -> Settings,
    head: &mut Head,
) -> Result<(), Refusal> {
    if request.version < (1, 0) {
        return Ok(());
    }
    for (name, value) in &request.headers {
        let settings = settings(head.host.as_deref());
        if !is_kept(name, settings)? {
            continue;
        }
        let name_read = &**name;
        let value = trimmed(value)?;
        if name_read.eq_ignore_ascii_case(b"host") {
            host(value, build, head)?;
        } else if is_repeated(head, name) {
            return Err(BAD_REQUEST);
        }
        head.headers.push((name.clone(), value.into()));
    }
    finish(build, head)
}

/// Whether a header is kept, by its name.
fn is_kept(name: &[u8], settings: Settings) -> Result<bool, Refusal> {
    let is_refused = |byte: &u8| matches!(byte, 0..=0x20 | 0x7f | b':');
    if name.is_empty() || name.iter().any(is_refused) {
        return Err(BAD_REQUEST);
    }
    let is_plain =
        |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || (*byte == b'_' && settings.underscores_in_headers);
    Ok(!settings.ignore_invalid_headers || name.iter().all(is_plain))
}

fn trimmed(value: &[u8]) -> Result<&[u8], Refusal> {
    if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
        return Err(BAD_REQUEST);
    }
    let start = value.iter().position(|byte| *byte != b' ').unwrap_or(value.len());
    let end = value.iter().rposition(|byte| *byte != b' ').map_or(start, |last| last + 1);
    Ok(&value[start..end])
}

fn value_of<'h>(head: &'h Head, name: &str) -> Option<&'h Bytes> {
    let header = head.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name.as_bytes()));
    header.map(|(_, value)| value)
}

fn is_repeated(head: &Head, name: &[u8]) -> bool {
    let unique = UNIQUE.iter().find(|unique| name.eq_ignore_ascii_case(unique.as_bytes()));
    unique.is_some_and(|unique| value_of(head, unique).is_some())
}

fn host(value: &[u8], build: &Build, head: &mut Head) -> Result<(), Refusal> {
    if value_of(head, "host").is_some() {
        return Err(BAD_REQUEST);
    }
    let (host, port) = valid_host(value, build).ok_or(BAD_REQUEST)?;
    if head.host.is_none() {
        (head.host, head.port) = (Some(host.into()), port);
    }
    Ok(())
}

/// What nginx checks after the last header.
fn finish(build: &Build, head: &mut Head) -> Result<(), Refusal> {
    if value_of(head, "host").is_none() && head.version > (1, 0) {
        return Err(BAD_REQUEST);
    }
    let length = value_of(head, "content-length").map(|text| content_length(text).ok_or(BAD_REQUEST)).transpose()?;
    head.content_length = length;
    if let Some(coding) = value_of(head, "transfer-encoding") {
        if head.version < (1, 1) {
            return Err(BAD_REQUEST);
        }
        if !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(Refusal::Status(501));
        }
        if length.is_some() {
            return Err(BAD_REQUEST);
        }
        head.chunked = true;
    }
    match &*head.method.0 {
        b"CONNECT" if build.version >= (1, 29, 3) && head.version == (1, 1) => Err(unknown("CONNECT")),
        b"CONNECT" if build.version >= (1, 21, 1) => Err(Refusal::Status(405)),
        b"TRACE" => Err(Refusal::Status(405)),
        _ => Ok(()),
    }
}

fn content_length(text: &[u8]) -> Option<u64> {
    let digits = text.iter().map(|byte| char::from(*byte).to_digit(10).map(u64::from));
    let number = |length: u64, digit: Option<u64>| length.checked_mul(10)?.checked_add(digit?);
    (!text.is_empty())
        .then(|| digits.into_iter().try_fold(0, number))
        .flatten()
        .filter(|length| *length <= i64::MAX as u64)
}
