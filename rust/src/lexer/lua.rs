//! The end of a `*_by_lua_block`, as OpenResty finds it (`ngx_http_lua_conf_lua_block_parse`): braces balance, except
//! inside Lua's strings, long brackets and comments.

/// Offset of the `}` that closes a block whose body starts at `pos`; `None` if the file ends before it.
///
/// Linear in the length of the body.
pub(super) fn closing_brace(bytes: &[u8], mut pos: usize) -> Option<usize> {
    let mut depth = 1;
    while let Some(&byte) = bytes.get(pos) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(pos),
            b'}' => depth -= 1,
            b'"' | b'\'' => pos = end_of_string(bytes, pos).unwrap_or(pos),
            b'-' if bytes.get(pos + 1) == Some(&b'-') => {
                pos = end_of_comment(bytes, pos)?;
                continue;
            }
            b'[' => {
                if let Some(level) = long_bracket(bytes, pos) {
                    pos = end_of_long_bracket(bytes, pos, level)?;
                    continue;
                }
            }
            _ => {}
        }
        pos += 1;
    }
    None
}

/// Offset of the quote that closes the string opened at `pos`, if one does so in its line.
fn end_of_string(bytes: &[u8], pos: usize) -> Option<usize> {
    let quote = bytes[pos];
    let mut pos = pos + 1;
    loop {
        match *bytes.get(pos)? {
            b'\\' => pos += 2,
            byte if byte == quote => return Some(pos),
            b'\n' => return None,
            _ => pos += 1,
        }
    }
}

/// Offset just after the comment that starts with the `--` at `pos`.
fn end_of_comment(bytes: &[u8], pos: usize) -> Option<usize> {
    let text = pos + 2;
    if let Some(level) = long_bracket(bytes, text) {
        return end_of_long_bracket(bytes, text, level);
    }
    memchr::memchr(b'\n', bytes.get(text..)?).map(|length| text + length + 1)
}

/// The number of `=` of a long bracket (`[[`, `[=[`, ...) opened at `pos`, if there is one.
fn long_bracket(bytes: &[u8], pos: usize) -> Option<usize> {
    if bytes.get(pos) != Some(&b'[') {
        return None;
    }
    let level = bytes[pos + 1..].iter().take_while(|&&byte| byte == b'=').count();
    (bytes.get(pos + 1 + level) == Some(&b'[')).then_some(level)
}

/// Offset just after the `]==]` of the same level as the long bracket opened at `pos`.
fn end_of_long_bracket(bytes: &[u8], pos: usize, level: usize) -> Option<usize> {
    let closing = [&b"]"[..], &b"=".repeat(level), b"]"].concat();
    let body = pos + level + 2;
    memchr::memmem::find(bytes.get(body..)?, &closing).map(|length| body + length + closing.len())
}
