//! The user of `Authorization` (`ngx_http_auth_basic_user`).

/// Returns the user that a header names with a password; `None` for what nginx takes for no credentials.
pub fn user(authorization: &[u8]) -> Option<Vec<u8>> {
    let (scheme, encoded) = authorization.split_at_checked(b"Basic ".len())?;
    if !scheme.eq_ignore_ascii_case(b"Basic ") {
        return None;
    }
    let mut decoded = decode(without_spaces(encoded))?;
    let end = decoded.iter().position(|byte| *byte == b':').filter(|end| *end > 0)?;
    decoded.truncate(end);
    Some(decoded)
}

fn without_spaces(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| *byte != b' ').unwrap_or(text.len());
    &text[start..]
}

/// `ngx_decode_base64`: what comes behind a `=` does not count.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    decode_by(text, [b'+', b'/'])
}

/// `ngx_decode_base64url`
pub fn decode_url(text: &[u8]) -> Option<Vec<u8>> {
    decode_by(text, [b'-', b'_'])
}

/// Decodes base64 with these two digits behind the letters and numbers.
fn decode_by(text: &[u8], last: [u8; 2]) -> Option<Vec<u8>> {
    let digits = text.split(|byte| *byte == b'=').next().unwrap_or_default();
    if digits.len() % 4 == 1 {
        return None;
    }
    let (mut bits, mut count, mut decoded) = (0u32, 0, Vec::with_capacity(digits.len() / 4 * 3 + 2));
    for digit in digits {
        bits = bits << 6 | value(*digit, last)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(decoded)
}

fn value(digit: u8, last: [u8; 2]) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        _ => 62 + last.iter().position(|other| *other == digit)? as u8,
    }))
}
