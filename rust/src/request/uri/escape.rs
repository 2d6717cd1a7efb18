//! Escapes and unescapes URIs as nginx does.

/// Which set of bytes is escaped (`ngx_escape_uri`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// `NGX_ESCAPE_URI`: paths.
    Uri,
    /// `NGX_ESCAPE_ARGS`: captures in rewrites.
    Args,
    /// `NGX_ESCAPE_URI_COMPONENT`
    Component,
}

/// Escapes `text` as this version of nginx (major, minor, patch) does.
pub fn escape(text: &[u8], kind: Escape, version: (u32, u32, u32)) -> Vec<u8> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut escaped = Vec::with_capacity(text.len());
    for byte in text {
        if is_escaped(*byte, kind, version) {
            escaped.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        } else {
            escaped.push(*byte);
        }
    }
    escaped
}

fn is_escaped(byte: u8, kind: Escape, version: (u32, u32, u32)) -> bool {
    // Since 1.21.1 "<", ">", "\", "^", "`", "{", "|", "}" and the quotation mark are escaped as well, and ";" in
    // arguments is since 1.21.1, too.
    let is_new = version >= (1, 21, 1);
    match byte {
        0..=0x20 | 0x7f.. => true,
        b'#' | b'%' | b'?' => true,
        b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => is_new || kind == Escape::Component,
        b'&' | b'+' | b';' => kind != Escape::Uri,
        b'-' | b'.' | b'_' | b'~' => false,
        _ => kind == Escape::Component && !byte.is_ascii_alphanumeric(),
    }
}

/// Unescapes the target of a redirect by a rewrite: decodes escapes of the bytes after `%` up to `~`, up to the first
/// `?` (`NGX_UNESCAPE_REDIRECT`).
pub fn redirect_target(text: &[u8]) -> Vec<u8> {
    let (mut decoded, rest) = unescape_until(text, |byte| matches!(byte, b'&'..=b'~'), true);
    decoded.extend_from_slice(rest);
    decoded
}

/// Decodes every escape. Of an invalid escape, nginx drops what it has read.
pub(super) fn unescape(text: &[u8]) -> Vec<u8> {
    unescape_until(text, |_| true, false).0
}

/// Decodes the escapes of bytes for which `is_decoded` returns true. If `ends`, stops at the first `?`. Returns the
/// decoded text and the rest.
fn unescape_until(text: &[u8], is_decoded: impl Fn(u8) -> bool, ends: bool) -> (Vec<u8>, &[u8]) {
    let mut decoded = Vec::with_capacity(text.len());
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'%' {
            decoded.push(*byte);
            if *byte == b'?' && ends {
                return (decoded, rest);
            }
            continue;
        }
        let [first, after @ ..] = rest else { break };
        rest = after;
        let Some(high) = digit(first) else {
            decoded.push(*first);
            continue;
        };
        let [second, after @ ..] = rest else { break };
        rest = after;
        let Some(low) = digit(second) else { continue };
        let byte = 16 * high + low;
        if is_decoded(byte) {
            decoded.push(byte);
            if byte == b'?' && ends {
                return (decoded, rest);
            }
        } else {
            decoded.extend([b'%', *first, *second]);
        }
    }
    (decoded, rest)
}
