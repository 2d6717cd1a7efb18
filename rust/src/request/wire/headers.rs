//! Reads the headers of a request (`ngx_http_parse_header_line`, `ngx_http_process_request_header`).

use super::refusal::{BAD_REQUEST, Refusal, unknown};
use super::{Head, Reader, valid_host};
use crate::request::bytes::Bytes;
use crate::request::site::Build;

/// The headers that may occur only once, in all versions.
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

impl Reader<'_> {
    pub(super) fn headers(&mut self) -> Result<(), Refusal> {
        let mut buffers = self.buffers();
        for (name, value) in &self.request.headers {
            buffers.take(name.len() + value.len() + ": \r\n".len(), self)?;
            let (name, value) = line(name, value)?;
            if !self.is_kept(&name)? {
                continue;
            }
            if self.head.headers.len() >= self.most_headers() {
                return Err(Refusal::Status(494));
            }
            if name.eq_ignore_ascii_case(b"host") {
                self.host(&value)?;
            } else if is_unique(&name, self.build) && value_of(&self.head, &name).is_some() {
                return Err(BAD_REQUEST);
            }
            self.head.headers.push((name, value));
        }
        buffers.take("\r\n".len(), self)
    }

    /// Whether nginx keeps a header of this name.
    fn is_kept(&mut self, name: &[u8]) -> Result<bool, Refusal> {
        let is_refused = |byte: &u8| matches!(byte, 0..=0x20 | 0x7f);
        if name.is_empty() || name.iter().any(is_refused) {
            return Err(BAD_REQUEST);
        }
        if name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') {
            return Ok(true);
        }
        let settings = self.settings();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        Ok(!settings.ignore_invalid_headers || (settings.underscores_in_headers && name.iter().all(is_plain)))
    }

    /// The most headers of a request.
    fn most_headers(&mut self) -> usize {
        let is_limited = self.build.version >= (1, 29, 8) || self.build.fixes.contains("max_headers");
        if is_limited { self.settings().max_headers } else { usize::MAX }
    }

    fn host(&mut self, value: &[u8]) -> Result<(), Refusal> {
        if value_of(&self.head, b"host").is_some() {
            return Err(BAD_REQUEST);
        }
        let (host, port) = valid_host(value, self.build).ok_or(BAD_REQUEST)?;
        if self.head.host.is_none() {
            self.set_host(host, port);
        }
        Ok(())
    }

    /// Makes the checks of nginx after the last header.
    pub(super) fn finish(&mut self) -> Result<(), Refusal> {
        let head = &mut self.head;
        if value_of(head, b"host").is_none() && head.version > (1, 0) {
            return Err(BAD_REQUEST);
        }
        let length = value_of(head, b"content-length").map(|text| content_length(text).ok_or(BAD_REQUEST));
        head.content_length = length.transpose()?;
        if let Some(coding) = value_of(head, b"transfer-encoding") {
            if head.version < (1, 1) {
                return Err(BAD_REQUEST);
            }
            if !coding.eq_ignore_ascii_case(b"chunked") {
                return Err(Refusal::Status(501));
            }
            if head.content_length.is_some() {
                return Err(BAD_REQUEST);
            }
            head.chunked = true;
        }
        match &*head.method.0 {
            b"CONNECT" if self.build.version >= (1, 29, 3) && head.version == (1, 1) => Err(unknown("CONNECT")),
            b"CONNECT" if self.build.version >= (1, 21, 1) => Err(Refusal::Status(405)),
            b"TRACE" => Err(Refusal::Status(405)),
            _ => Ok(()),
        }
    }
}

/// Splits a header as nginx does: the name ends at the first colon, and spaces around the value are dropped.
fn line(name: &[u8], value: &[u8]) -> Result<(Bytes, Bytes), Refusal> {
    let Some(colon) = name.iter().position(|byte| *byte == b':') else {
        return Ok((name.into(), trimmed(value)?.into()));
    };
    let value = [&name[colon + 1..], b": ", value].concat();
    Ok((name[..colon].into(), trimmed(&value)?.into()))
}

fn trimmed(value: &[u8]) -> Result<&[u8], Refusal> {
    if value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n')) {
        return Err(BAD_REQUEST);
    }
    let start = value.iter().position(|byte| *byte != b' ').unwrap_or(value.len());
    let end = value.iter().rposition(|byte| *byte != b' ').map_or(start, |last| last + 1);
    Ok(&value[start..end])
}

fn value_of<'h>(head: &'h Head, name: &[u8]) -> Option<&'h Bytes> {
    head.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// Whether a header may occur only once (`ngx_http_headers_in`). `Host` is handled elsewhere.
fn is_unique(name: &[u8], build: &Build) -> bool {
    let is_new = build.version >= (1, 29, 7) && name.eq_ignore_ascii_case(b"proxy-authorization");
    is_new || UNIQUE.iter().any(|unique| name.eq_ignore_ascii_case(unique.as_bytes()))
}

fn content_length(text: &[u8]) -> Option<u64> {
    let digits = text.iter().map(|byte| char::from(*byte).to_digit(10).map(u64::from));
    let number = |length: u64, digit: Option<u64>| length.checked_mul(10)?.checked_add(digit?);
    (!text.is_empty())
        .then(|| digits.into_iter().try_fold(0, number))
        .flatten()
        .filter(|length| *length <= i64::MAX as u64)
}
