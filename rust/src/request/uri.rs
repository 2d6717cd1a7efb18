//! URIs: decodes those of clients, and escapes those that nginx writes, as nginx does.

mod decode;
mod escape;

pub use decode::{Decoded, decode, is_plain};
pub use escape::{Escape, escape, redirect_target};

/// The extension by which nginx determines the type of a file after the URI has changed (`ngx_http_set_exten`).
///
/// For the path that a client sent, see [`Decoded::extension`].
pub fn extension(path: &[u8]) -> &[u8] {
    let last = path.iter().rposition(|byte| matches!(byte, b'.' | b'/')).unwrap_or(0);
    let is_extension = last > 1 && path[last] == b'.' && path[last - 1] != b'/';
    if is_extension { &path[last + 1..] } else { b"" }
}

/// Returns the value of the first argument of this name, ignoring case (`ngx_http_arg`). `None` if there is none.
pub fn argument<'a>(args: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    args.split(|byte| *byte == b'&').find_map(|argument| {
        let (key, value) = argument.split_at_checked(name.len())?;
        value.strip_prefix(b"=").filter(|_| !name.is_empty() && key.eq_ignore_ascii_case(name))
    })
}

/// Cuts the arguments off a URI (`ngx_http_split_args`).
pub fn split_args(uri: &mut Vec<u8>) -> Vec<u8> {
    match uri.iter().position(|byte| *byte == b'?') {
        Some(question) => {
            let args = uri.split_off(question + 1);
            uri.pop();
            args
        }
        None => Vec::new(),
    }
}

/// Splits a URI from a response or the configuration into path and arguments, and decodes the path if it has a `%`
/// (`ngx_http_parse_unsafe_uri`). `None` if nginx refuses the URI as unsafe.
pub fn decode_unsafe(uri: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let end = uri.iter().position(|byte| *byte == b'?').unwrap_or(uri.len());
    let (path, args) = (&uri[..end], uri.get(end + 1..).unwrap_or_default());
    if path.is_empty() || is_unsafe(path) {
        return None;
    }
    let decoded = if path.contains(&b'%') { escape::unescape(path) } else { path.to_vec() };
    (!is_unsafe(&decoded)).then(|| (decoded, args.to_vec()))
}

/// Whether a path has a NUL or a segment of two dots.
fn is_unsafe(path: &[u8]) -> bool {
    path.contains(&0) || path.split(|byte| *byte == b'/').any(|segment| segment == b"..")
}

#[cfg(test)]
mod tests;
