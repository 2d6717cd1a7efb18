//! Values as nginx writes them: durations, times, sizes, and texts with escapes.

use std::borrow::Cow;

/// How a format escapes values (`log_format ... escape=`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    Default,
    Json,
    None,
}

impl Escape {
    /// Returns a value as it was before nginx escaped it (`ngx_http_log_escape`).
    pub fn unescape<'a>(self, value: &'a [u8]) -> Cow<'a, [u8]> {
        match self {
            Escape::None => Cow::Borrowed(value),
            _ if memchr::memchr(b'\\', value).is_none() => Cow::Borrowed(value),
            Escape::Default => Cow::Owned(without_hex(value)),
            Escape::Json => {
                Cow::Owned(without_escapes(value, |code, text| u8::try_from(code).map(|byte| text.push(byte)).is_ok()))
            }
        }
    }
}

fn without_hex(value: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    let mut at = 0;
    while at < value.len() {
        match hex(value.get(at + 2..at + 4)).filter(|_| value[at..].starts_with(b"\\x")) {
            Some(byte) => {
                text.push(byte as u8);
                at += 4;
            }
            None => {
                text.push(value[at]);
                at += 1;
            }
        }
    }
    text
}

/// Returns the text of a JSON string, without its quotes. Escapes that are none stay as they are.
pub fn of_json(value: &[u8]) -> Vec<u8> {
    without_escapes(value, |code, text| {
        let code = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        text.extend(code.encode_utf8(&mut [0; 4]).bytes());
        true
    })
}

/// Returns a value without the escapes of JSON; `write` writes that of a code, and returns whether it is one.
fn without_escapes(value: &[u8], write: impl Fn(u32, &mut Vec<u8>) -> bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(value.len());
    let mut at = 0;
    while at < value.len() {
        let escape = if value[at] == b'\\' { value.get(at + 1) } else { None };
        let (byte, size) = match escape {
            Some(b'n') => (b'\n', 2),
            Some(b'r') => (b'\r', 2),
            Some(b't') => (b'\t', 2),
            Some(b'b') => (8, 2),
            Some(b'f') => (12, 2),
            Some(byte @ (b'"' | b'\\' | b'/')) => (*byte, 2),
            Some(b'u') if hex(value.get(at + 2..at + 6)).is_some_and(|code| write(code, &mut text)) => {
                at += 6;
                continue;
            }
            _ => (value[at], 1),
        };
        text.push(byte);
        at += size;
    }
    text
}

fn hex(digits: Option<&[u8]>) -> Option<u32> {
    let digits = digits?;
    digits.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

/// Returns the target of a request that has a decoded path and arguments.
pub fn encoded(uri: &[u8], args: &[u8]) -> Vec<u8> {
    const PLAIN: &[u8] = b"/:@!$&'()*+,;=-._~";
    let mut target = Vec::with_capacity(uri.len() + args.len() + 1);
    for byte in uri {
        if byte.is_ascii_alphanumeric() || PLAIN.contains(byte) {
            target.push(*byte);
        } else {
            target.extend(format!("%{byte:02X}").bytes());
        }
    }
    if !args.is_empty() && args != b"-" {
        target.push(b'?');
        target.extend(args);
    }
    target
}

/// Returns a whole number; `None` for `-` and what is none.
pub fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')))
}

/// Returns seconds with decimals as milliseconds; `None` for `-` and what is none.
pub fn milliseconds(text: &[u8]) -> Option<u32> {
    let dot = memchr::memchr(b'.', text).unwrap_or(text.len());
    let mut value = number(&text[..dot])?.checked_mul(1000)?;
    let decimals = text.get(dot + 1..).unwrap_or_default();
    for (digit, unit) in decimals.iter().zip([100, 10, 1]) {
        value += digit.is_ascii_digit().then(|| u64::from(digit - b'0') * unit)?;
    }
    Some(u32::try_from(value).unwrap_or(u32::MAX))
}

/// Returns `$msec`, seconds since 1970 with decimals, as milliseconds.
pub fn milliseconds_since_1970(text: &[u8]) -> Option<i64> {
    let (seconds, decimals) = text.split_at(memchr::memchr(b'.', text)?);
    let seconds = i64::try_from(number(seconds)?).ok()?;
    seconds.checked_mul(1000)?.checked_add(i64::from(milliseconds(&[b"0", decimals].concat())?))
}

/// Returns the sum of the times of all upstreams that were asked: `0.100, 0.200 : 0.300`. `None` if none was.
pub fn upstream_milliseconds(text: &[u8]) -> Option<u32> {
    if memchr::memchr2(b',', b':', text).is_none() {
        return milliseconds(text);
    }
    let times = text.split(|byte| matches!(byte, b',' | b':' | b' ')).filter_map(milliseconds);
    times.reduce(u32::saturating_add)
}

/// Returns the second since 1970 of `27/Nov/2026:00:00:12 +0100`.
pub fn local_time(text: &[u8]) -> Option<i64> {
    let (day, year) = (number(text.get(..2)?)?, number(text.get(7..11)?)?);
    let month = month(text.get(3..6)?)?;
    let zone = zone(text.get(21..26)?)?;
    of_calendar(days(year as i64, month, day as i64) * 86_400 + clock(text.get(12..20)?)? - zone)
}

/// The last value of `$time_local`, which many lines repeat, and its second since 1970.
#[derive(Debug, Default)]
pub struct LastTime {
    text: Vec<u8>,
    second: Option<i64>,
}

impl LastTime {
    /// Returns what [`local_time`] does.
    pub fn local_time(&mut self, text: &[u8]) -> Option<i64> {
        if self.text != text {
            self.text.clear();
            self.text.extend(text);
            self.second = local_time(text);
        }
        self.second
    }
}

fn month(name: &[u8]) -> Option<i64> {
    Some(match name {
        b"Jan" => 1,
        b"Feb" => 2,
        b"Mar" => 3,
        b"Apr" => 4,
        b"May" => 5,
        b"Jun" => 6,
        b"Jul" => 7,
        b"Aug" => 8,
        b"Sep" => 9,
        b"Oct" => 10,
        b"Nov" => 11,
        b"Dec" => 12,
        _ => return None,
    })
}

/// Returns the second since 1970 of `2026-11-27T00:00:12+01:00`.
pub fn iso_time(text: &[u8]) -> Option<i64> {
    let (year, month, day) = (number(text.get(..4)?)?, number(text.get(5..7)?)?, number(text.get(8..10)?)?);
    let (sign, minutes) = (text.get(19..22)?, text.get(23..25)?);
    let zone = zone(&[sign, minutes].concat())?;
    of_calendar(days(year as i64, month as i64, day as i64) * 86_400 + clock(text.get(11..19)?)? - zone)
}

/// The second, if it is one from 1970 to the end of the year 9999, as others count them.
fn of_calendar(second: i64) -> Option<i64> {
    (0..=253_402_300_799).contains(&second).then_some(second)
}

fn clock(text: &[u8]) -> Option<i64> {
    Some((number(&text[..2])? * 3600 + number(&text[3..5])? * 60 + number(&text[6..8])?) as i64)
}

fn zone(text: &[u8]) -> Option<i64> {
    let seconds = (number(text.get(1..3)?)? * 3600 + number(text.get(3..5)?)? * 60) as i64;
    Some(if text[0] == b'-' { -seconds } else { seconds })
}

/// Returns the days from 1970 to a date of the Gregorian calendar (Hinnant's `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(local_time(b"27/Nov/2026:01:00:12 +0100"), Some(1_795_737_612));
        assert_eq!(iso_time(b"2026-11-26T20:00:12-04:00"), Some(1_795_737_612));
        assert_eq!(local_time(b"29/Feb/2024:00:00:00 +0000"), Some(1_709_164_800));
        assert_eq!(local_time(b"-"), None);
        assert_eq!(iso_time(b"2026-11"), None);
        assert_eq!(local_time(b"01/Jan/0000:00:00:00 +0000"), None);
        assert_eq!(iso_time(b"1969-12-31T23:59:59+00:00"), None);
        assert_eq!(iso_time(b"1970-01-01T00:00:00+00:00"), Some(0));
        assert_eq!(local_time(b"31/Dec/9999:23:59:59 -0001"), None);
    }

    #[test]
    fn durations() {
        assert_eq!(milliseconds(b"1.204"), Some(1204));
        assert_eq!(milliseconds(b"-"), None);
        assert_eq!(milliseconds(b""), None);
        assert_eq!(milliseconds(b"1.x"), None);
        assert_eq!(milliseconds(b"99999999999.0"), Some(u32::MAX));
        assert_eq!(upstream_milliseconds(b"0.100, 0.200 : 0.300"), Some(600));
        assert_eq!(upstream_milliseconds(b"-, 0.200"), Some(200));
        assert_eq!(upstream_milliseconds(b"-"), None);
    }

    #[test]
    fn texts() {
        assert_eq!(&*Escape::Default.unescape(b"a\\x22b\\x2"), b"a\"b\\x2");
        assert_eq!(&*Escape::Json.unescape(b"a\\\"b\\u001f\\q"), b"a\"b\x1f\\q");
        assert_eq!(&*Escape::Json.unescape(b"\\u00e9\\u20ac"), b"\xe9\\u20ac"); // nginx writes bytes so
        assert_eq!(of_json(b"\\u00e9\\u20ac\\u0"), "\u{e9}\u{20ac}\\u0".as_bytes());
        assert_eq!(&*Escape::None.unescape(b"a\\x22"), b"a\\x22");
        assert_eq!(encoded(b"/a b", b"-"), b"/a%20b");
        assert_eq!(encoded(b"/a", b"x=1"), b"/a?x=1");
    }
}
