//! Writes tokens between double quotes.

/// Writes a token between double quotes, as `ngx_conf_read_token` reads it back.
pub fn quote(token: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    escape(token, out);
    out.push(b'"');
}

/// Writes the inside of a double-quoted token.
pub fn escape(token: &[u8], out: &mut Vec<u8>) {
    let mut rest = token;
    while let Some(at) = rest.iter().position(|byte| is_escaped(*byte)) {
        out.extend_from_slice(&rest[..at]);
        let letter = match rest[at] {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            itself => itself,
        };
        out.extend_from_slice(&[b'\\', letter]);
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn is_escaped(byte: u8) -> bool {
    matches!(byte, b'\\' | b'"' | b'\n' | b'\r' | b'\t')
}

/// Writes the inside of a double-quoted token that is a pattern. A backslash is not doubled if nginx does not interpret
/// it.
pub fn escape_pattern(token: &[u8], out: &mut Vec<u8>) {
    let is_read = |next: &u8| b"\"'\\trn\t\r\n".contains(next);
    let mut rest = token;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        escape(&rest[..at], out);
        out.push(b'\\');
        if rest.get(at + 1).is_none_or(is_read) {
            out.push(b'\\');
        }
        rest = &rest[at + 1..];
    }
    escape(rest, out);
}

/// Writes a map key. A key that nginx would read as a parameter or regex gets a backslash, which `ngx_http_map`
/// removes.
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
    let escaped = token.iter().filter(|byte| is_escaped(**byte)).count();
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
