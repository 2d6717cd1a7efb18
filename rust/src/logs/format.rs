//! Splits lines of access logs into values, at the texts that a format has between its variables.
//!
//! A value ends where the next text begins. Where the value would not be one of its variable (`1.2.3.4, 5.6.7.8` in
//! front of a space, when no address has spaces), it ends where the text begins the next time.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::logs::value::Escape;

/// The most that is tried for one line, in values that are looked at.
const MOST_TRIED: usize = 400;

/// What the value of a variable is made of: a bit for [`BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Any = 1,
    Digits = 2,
    Decimal = 4,
    /// Durations of several upstreams.
    Durations = 8,
    /// What has neither space nor quote.
    Word = 16,
    /// What ends in front of a slash.
    Host = 32,
}

/// The kinds that each byte may stand in.
static BYTES: [u8; 256] = {
    let mut kinds = [Kind::Any as u8; 256];
    let mut byte = 0;
    while byte < 256 {
        let each = byte as u8;
        if each.is_ascii_digit() {
            kinds[byte] |= Kind::Digits as u8 | Kind::Decimal as u8 | Kind::Durations as u8;
        }
        if each == b'.' {
            kinds[byte] |= Kind::Decimal as u8;
        }
        if matches!(each, b'.' | b',' | b':' | b'-' | b' ') {
            kinds[byte] |= Kind::Durations as u8;
        }
        if !each.is_ascii_whitespace() && each != b'"' {
            kinds[byte] |= Kind::Word as u8;
            if each != b'/' {
                kinds[byte] |= Kind::Host as u8;
            }
        }
        byte += 1;
    }
    kinds
};

impl Kind {
    fn of(variable: &str) -> Kind {
        match variable {
            "status"
            | "body_bytes_sent"
            | "bytes_sent"
            | "request_length"
            | "connection"
            | "connection_requests"
            | "remote_port"
            | "pid"
            | "server_port" => Kind::Digits,
            "msec" | "request_time" | "connection_time" => Kind::Decimal,
            "upstream_response_time" | "upstream_connect_time" | "upstream_header_time" => Kind::Durations,
            "remote_addr" | "realip_remote_addr" | "server_addr" | "scheme" | "https" | "request_uri"
            | "time_iso8601" | "request_method" | "server_protocol" | "request_id" => Kind::Word,
            "host" | "http_host" | "server_name" => Kind::Host,
            _ => Kind::Any,
        }
    }

    fn fits(self, value: &[u8]) -> bool {
        self == Kind::Any || matches!(value, b"-") || value.iter().all(|byte| BYTES[*byte as usize] & self as u8 != 0)
    }
}

/// A text that stands behind a variable.
struct Text {
    bytes: Box<[u8]>,
    /// Finds a long one in linear time.
    finder: Option<Finder<'static>>,
}

/// Up to this many bytes, a text is looked for by its first byte: most have two or three, and a `Finder` takes longer to
/// start than to find them.
const SHORT: usize = 8;

impl Text {
    fn new(bytes: &[u8]) -> Text {
        let finder = (bytes.len() > SHORT).then(|| Finder::new(bytes).into_owned());
        Text { bytes: bytes.into(), finder }
    }

    /// Returns where the text begins first in `rest`.
    fn find(&self, rest: &[u8]) -> Option<usize> {
        if let Some(finder) = &self.finder {
            return finder.find(rest);
        }
        let first = *self.bytes.first()?;
        let mut at = 0;
        loop {
            at += memchr::memchr(first, &rest[at..])?;
            if self.begins(&rest[at..]) {
                return Some(at);
            }
            at += 1;
        }
    }

    /// Whether it stands at the start of `rest`. Byte by byte, as a call takes longer than two comparisons.
    fn begins(&self, rest: &[u8]) -> bool {
        rest.len() >= self.bytes.len() && self.bytes.iter().zip(rest).all(|(byte, other)| byte == other)
    }
}

/// A variable, and the text behind it.
struct Field {
    kind: Kind,
    text: Text,
    /// The text begins with a quote, and would be escaped in the value: the first quote ends that.
    is_quoted: bool,
    /// The variable behind it, with nothing in between, is a path.
    is_before_path: bool,
}

/// A format of lines.
pub struct Format {
    first: Vec<u8>,
    fields: Vec<Field>,
    pub escape: Escape,
}

impl Format {
    /// Makes the format that begins with `first`, and has a text behind each variable.
    pub fn new(first: &[u8], variables: &[String], texts: &[Vec<u8>], escape: Escape) -> Format {
        let field = |(at, variable): (usize, &String)| Field {
            kind: Kind::of(variable),
            text: Text::new(&texts[at]),
            is_quoted: escape != Escape::None && texts[at].starts_with(b"\""),
            is_before_path: texts[at].is_empty()
                && variables.get(at + 1).is_some_and(|name| matches!(name.as_str(), "request_uri" | "uri")),
        };
        Format { first: first.to_vec(), fields: variables.iter().enumerate().map(field).collect(), escape }
    }

    /// Writes the places of the values of a line, without its end. Returns whether the line has this format.
    ///
    /// Each value is as short as can be; where what follows does not fit then, the last value that can be longer is.
    pub fn split(&self, line: &[u8], values: &mut Vec<Range<usize>>) -> bool {
        values.clear();
        // `memcmp` of no bytes reads an empty vector's address under a mask, and the fault that this hides takes 100 ns.
        if !self.first.is_empty() && !line.starts_with(&self.first) {
            return false;
        }
        let mut start = self.first.len();
        let mut end = start; // where the value may end, at the earliest
        for _ in 0..self.fields.len() + MOST_TRIED {
            let Some(field) = self.fields.get(values.len()) else {
                if start == line.len() {
                    return true;
                }
                let Some(longer) = self.longer(values) else { return false };
                (start, end) = longer;
                continue;
            };
            match self.end(line, values.len(), start, end).filter(|found| field.kind.fits(&line[start..*found])) {
                Some(found) => {
                    values.push(start..found);
                    start = found + field.text.bytes.len();
                    end = start;
                }
                // As no longer value would fit either, one before it has to be longer.
                None => match self.longer(values) {
                    Some(longer) => (start, end) = longer,
                    None => return false,
                },
            }
        }
        false
    }

    /// Takes back values up to the last that may be longer. Returns its start, and where it may end then.
    fn longer(&self, values: &mut Vec<Range<usize>>) -> Option<(usize, usize)> {
        while let Some(value) = values.pop() {
            if !self.fields[values.len()].is_quoted {
                return Some((value.start, value.end + 1));
            }
        }
        None
    }

    /// Returns where a value that begins at `start` may end, from `end` on.
    fn end(&self, line: &[u8], number: usize, start: usize, end: usize) -> Option<usize> {
        let field = &self.fields[number];
        let rest = line.get(end..)?;
        if field.text.bytes.is_empty() {
            return match field.is_before_path {
                true => memchr::memchr(b'/', rest).map(|at| end + at),
                false if number + 1 == self.fields.len() => (end == start).then_some(line.len()),
                false => (end == start).then_some(start),
            };
        }
        if field.is_quoted {
            let quote = end + if self.escape == Escape::Json { quote(rest)? } else { memchr::memchr(b'"', rest)? };
            return field.text.begins(&line[quote..]).then_some(quote);
        }
        field.text.find(rest).map(|at| end + at)
    }
}

/// Returns the place of the first quote that no backslash escapes.
pub fn quote(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(escape: Escape, format: &str, line: &str) -> Option<Vec<String>> {
        let mut pieces = format.split('$');
        let first = pieces.next().unwrap_or_default();
        let (names, texts): (Vec<String>, Vec<Vec<u8>>) = pieces
            .map(|piece| {
                let end = piece.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(piece.len());
                (piece[..end].to_owned(), piece.as_bytes()[end..].to_vec())
            })
            .unzip();
        let mut values = Vec::new();
        let format = Format::new(first.as_bytes(), &names, &texts, escape);
        format
            .split(line.as_bytes(), &mut values)
            .then(|| values.iter().map(|at| line[at.clone()].to_owned()).collect())
    }

    #[test]
    fn values_end_at_the_texts_of_the_format() {
        let format = r#"$remote_addr [$time_local] "$request" $status"#;
        let line = r#"::1 [27/Nov/2026:00:00:12 +0000] "GET /a\x22 HTTP/1.1" 200"#;
        let values = split(Escape::Default, format, line).unwrap();
        assert_eq!(values, ["::1", "27/Nov/2026:00:00:12 +0000", r"GET /a\x22 HTTP/1.1", "200"]);
        assert_eq!(split(Escape::Default, format, &line[..40]), None);
        assert_eq!(split(Escape::Default, format, &format!("{line} more")), None);
        assert_eq!(split(Escape::Default, format, "x"), None);
    }

    #[test]
    fn a_value_may_have_the_text_behind_it() {
        let values =
            split(Escape::Default, "$http_x_forwarded_for $status $http_a", "1.1.1.1, 2.2.2.2 200 x y").unwrap();
        assert_eq!(values, ["1.1.1.1, 2.2.2.2", "200", "x y"]);
        let values = split(Escape::Json, r#"{"a":"$http_a","s":$status}"#, r#"{"a":"x\"y\\","s":404}"#).unwrap();
        assert_eq!(values, [r#"x\"y\\"#, "404"]);
        let values = split(Escape::Default, "$host$request_uri $status", "a.example/x 200").unwrap();
        assert_eq!(values, ["a.example", "/x", "200"]);
    }

    #[test]
    fn what_is_tried_is_bounded() {
        let format = format!("{}$status", "$a ".repeat(20));
        assert_eq!(split(Escape::None, &format, &" x".repeat(8_000)), None);
    }
}
