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

/// Writes the inside of a double-quoted token that is a pattern: a backslash stays as it is if nginx does not interpret
/// it.
pub fn escape_pattern(token: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in token.iter().enumerate() {
        let is_read = |next: &u8| b"\"'\\trn\t\r\n".contains(next);
        if *byte == b'\\' && !token.get(at + 1).is_none_or(is_read) {
            out.push(b'\\');
        } else {
            escape(&[*byte], out);
        }
    }
}

/// Writes a map key: what nginx would read as a parameter or regex gets a backslash, which `ngx_http_map` removes.
pub fn quote_key(key: &[u8], out: &mut Vec<u8>) {
    let special = matches!(key, b"default" | b"hostnames" | b"include" | b"volatile");
    if special || matches!(key.first(), Some(b'~' | b'\\')) {
        quote(&[b"\\", key].concat(), out);
    } else {
        quote(key, out);
    }
}

/// The length of a token between quotes, with room for a key's backslash.
pub fn quoted_length(token: &[u8]) -> usize {
    let escaped = token.iter().filter(|byte| matches!(byte, b'\\' | b'"' | b'\n' | b'\r' | b'\t')).count();
    token.len() + escaped + 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{Event, Lexer};

    /// A pattern is read back as it was, whatever follows a backslash in it.
    #[test]
    fn patterns_are_read_back() {
        for byte in 1..=255 {
            for pattern in [vec![b'\\', byte, b'x'], vec![b'\\', b'\\', byte], vec![byte, b'\\']] {
                let mut statement = b"a \"".to_vec();
                escape_pattern(&pattern, &mut statement);
                statement.extend_from_slice(b"\";");
                let Some(Ok(Event::Statement { words, .. })) = Lexer::new(&statement).next() else { panic!() };
                assert_eq!(words[1].value, pattern);
            }
        }
    }
}
