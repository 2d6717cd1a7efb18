//! Tokens between double quotes.

/// Writes a token between double quotes, as `ngx_conf_read_token` reads it back.
pub fn quote(token: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    escape(token, out);
    out.push(b'"');
}

/// Writes the inside of a double-quoted token.
pub fn escape(token: &[u8], out: &mut Vec<u8>) {
    for byte in token {
        match byte {
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => out.push(*byte),
        }
    }
}

/// Writes a map key: what nginx would read as a parameter or a regex gets the backslash that `ngx_http_map` takes off.
pub fn quote_key(key: &[u8], out: &mut Vec<u8>) {
    let special = matches!(key, b"default" | b"hostnames" | b"include" | b"volatile");
    if special || matches!(key.first(), Some(b'~' | b'\\')) {
        quote(&[b"\\", key].concat(), out);
    } else {
        quote(key, out);
    }
}

/// How long a token is between quotes, with room for a key's backslash.
pub fn quoted_length(token: &[u8]) -> usize {
    let escaped = token.iter().filter(|byte| matches!(byte, b'\\' | b'"' | b'\n' | b'\r' | b'\t')).count();
    token.len() + escaped + 2
}
