//! The sets that have a name in PCRE2, by its built-in tables (locale "C", no UTF, no UCP).

use super::ByteSet;

/// The vertical tab.
pub(super) const VERTICAL_TAB: u8 = 0x0b;

/// `\d`
pub fn digit() -> ByteSet {
    ByteSet::of(|byte| byte.is_ascii_digit())
}

/// `\w`
pub fn word() -> ByteSet {
    ByteSet::of(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `\s` and `[:space:]`; `\s` contains the vertical tab since PCRE 8.34.
pub fn space() -> ByteSet {
    ByteSet::of(|byte| matches!(byte, b'\t'..=b'\r' | b' '))
}

/// `\h`; 0xA0 is the no-break space of Latin-1.
pub fn horizontal_space() -> ByteSet {
    ByteSet::of(|byte| matches!(byte, b'\t' | b' ' | 0xa0))
}

/// `[:name:]`
pub fn posix(name: &[u8]) -> Option<ByteSet> {
    Some(match name {
        b"alnum" => ByteSet::of(|byte| byte.is_ascii_alphanumeric()),
        b"alpha" => ByteSet::of(|byte| byte.is_ascii_alphabetic()),
        b"ascii" => ByteSet::of(|byte| byte.is_ascii()),
        b"blank" => ByteSet::of(|byte| matches!(byte, b'\t' | b' ')),
        b"cntrl" => ByteSet::of(|byte| byte.is_ascii_control()),
        b"digit" => digit(),
        b"graph" => ByteSet::of(|byte| byte.is_ascii_graphic()),
        b"lower" => ByteSet::of(|byte| byte.is_ascii_lowercase()),
        b"print" => ByteSet::of(|byte| matches!(byte, b' '..=b'~')),
        b"punct" => ByteSet::of(|byte| byte.is_ascii_punctuation()),
        b"space" => space(),
        b"upper" => ByteSet::of(|byte| byte.is_ascii_uppercase()),
        b"word" => word(),
        b"xdigit" => ByteSet::of(|byte| byte.is_ascii_hexdigit()),
        _ => return None,
    })
}
