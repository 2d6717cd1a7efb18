//! Splits lines of access logs into values, at the texts that a format has between its variables.
//!
//! A value ends where the next text begins. Where the value would not be one of its variable (`1.2.3.4, 5.6.7.8` in
//! front of a space, when no address has spaces), it ends where the text begins the next time.
//!
//! What nginx logs of several upstreams is a list with spaces (`10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80`), which ends in
//! front of a text that does not continue it.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::logs::value::Escape;

/// The most that is tried for one line, in values that are looked at.
const MOST_TRIED: usize = 400;

/// What the value of a variable is made of: bits for [`BYTES`].
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Digits = 1,
    Decimal = 2,
    /// Times and sizes of several upstreams.
    Numbers = 4,
    /// One of them.
    Number = 8,
    /// What has neither space nor quote.
    Word = 16,
    /// What ends in front of a slash.
    Host = 32,
    /// The address or the name of an upstream.
    Upstream = 64,
    /// A quote, which only `escape=default` writes as something else.
    Quote = 128,
}

/// Any bytes.
const ANY: u8 = u8::MAX;

/// The kinds that each byte may stand in.
static BYTES: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let each = byte as u8;
        if each.is_ascii_digit() {
            kinds[byte] |= Kind::Digits as u8 | Kind::Decimal as u8;
        }
        if each == b'.' {
            kinds[byte] |= Kind::Decimal as u8;
        }
        if each.is_ascii_digit() || matches!(each, b'.' | b'-') {
            kinds[byte] |= Kind::Numbers as u8 | Kind::Number as u8;
        }
        if matches!(each, b',' | b':' | b' ') {
            kinds[byte] |= Kind::Numbers as u8;
        }
        if each == b'"' {
            kinds[byte] |= Kind::Quote as u8;
        } else if !each.is_ascii_whitespace() {
            kinds[byte] |= Kind::Word as u8;
            if each != b'/' {
                kinds[byte] |= Kind::Host as u8;
            }
            if each != b',' {
                kinds[byte] |= Kind::Upstream as u8;
            }
        }
        byte += 1;
    }
    kinds
};

/// Returns the kinds of the values of a variable, and those of the items of its list if it is one.
fn kinds(variable: &str, is_before_path: bool) -> (u8, Option<u8>) {
    let kind = match variable {
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
        "upstream_response_time"
        | "upstream_connect_time"
        | "upstream_header_time"
        | "upstream_queue_time"
        | "upstream_status"
        | "upstream_response_length"
        | "upstream_bytes_received"
        | "upstream_bytes_sent" => return (Kind::Numbers as u8, Some(Kind::Number as u8)),
        "upstream_addr" => return (ANY, Some(Kind::Upstream as u8)),
        "remote_addr" | "realip_remote_addr" | "server_addr" | "scheme" | "https" | "request_uri" | "time_iso8601"
        | "request_method" | "server_protocol" | "request_id" => Kind::Word,
        "host" | "server_name" => Kind::Host,
        "http_host" if is_before_path => Kind::Host, // else it may be one that nginx refuses
        _ => return (ANY, None),
    };
    (kind as u8, None)
}

/// Whether all bytes of a value are of some kinds.
fn fits(value: &[u8], kinds: u8) -> bool {
    kinds == ANY || matches!(value, b"-") || value.iter().all(|byte| BYTES[*byte as usize] & kinds != 0)
}

/// Returns the length of what stands between two items of a list at the start of `rest`; 0 if nothing does.
fn separator(rest: &[u8]) -> usize {
    match rest {
        [b',', b' ', ..] => 2,
        [b' ', b':', b' ', ..] => 3,
        _ => 0,
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

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.bytes == other.bytes
    }
}

/// A variable, and the text behind it.
#[derive(PartialEq)]
struct Field {
    kinds: u8,
    text: Text,
    /// The kinds of the items, if the value is a list that no quotes enclose. An item may be missing.
    items: Option<u8>,
    /// The text begins with a quote, and would be escaped in the value: the first quote ends that.
    is_quoted: bool,
    /// The variable behind it, with nothing in between, is a path.
    is_before_path: bool,
}

impl Field {
    /// Returns where a list that begins at `start` may end, from `end` on.
    fn end_of_list(&self, line: &[u8], items: u8, start: usize, end: usize) -> Option<usize> {
        let mut at = start;
        loop {
            let rest = &line[at..];
            let separator = separator(rest);
            let is_end = match self.text.bytes.len() {
                0 => rest.is_empty(),
                size => separator <= size && self.text.begins(rest),
            };
            if is_end && at >= end {
                return Some(at);
            }
            match separator {
                0 if BYTES[*rest.first()? as usize] & items == 0 => return None,
                0 => at += 1,
                size => at += size,
            }
        }
    }
}

/// A format of lines.
#[derive(PartialEq)]
pub struct Format {
    first: Vec<u8>,
    fields: Vec<Field>,
    pub escape: Escape,
    /// The number of ends of lines in its texts.
    pub breaks: usize,
}

impl Format {
    /// Makes the format that begins with `first`, and has a text behind each variable.
    pub fn new(first: &[u8], variables: &[String], texts: &[Vec<u8>], escape: Escape) -> Format {
        let field = |(at, variable): (usize, &String)| {
            let text = &texts[at];
            let next = variables.get(at + 1).map(String::as_str);
            let is_before_path = text.is_empty() && matches!(next, Some("request_uri" | "uri"));
            let is_quoted = escape != Escape::None && text.starts_with(b"\"");
            let is_divided = (at == 0 || !texts[at - 1].is_empty()) && (next.is_none() || !text.is_empty());
            let (kinds, items) = kinds(variable, is_before_path);
            let quote = if escape == Escape::Default { 0 } else { Kind::Quote as u8 };
            Field {
                kinds: if items.is_some() && !is_divided { ANY } else { kinds | quote },
                items: items.filter(|_| is_divided && !is_quoted),
                text: Text::new(text),
                is_quoted,
                is_before_path,
            }
        };
        let all = texts.iter().map(Vec::as_slice).chain([first]);
        Format {
            first: first.to_vec(),
            fields: variables.iter().enumerate().map(field).collect(),
            escape,
            breaks: all.map(|text| memchr::memchr_iter(b'\n', text).count()).sum(),
        }
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
            match self.end(line, values.len(), start, end).filter(|found| fits(&line[start..*found], field.kinds)) {
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
        if let Some(items) = field.items {
            return field.end_of_list(line, items, start, end);
        }
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
    fn lists_of_upstreams() {
        let lists = "$upstream_addr $upstream_status $upstream_response_time";
        let cases: [(Escape, &str, &str, &[&str]); 12] = [
            (
                Escape::Default,
                lists,
                "a:80, b:80 : c:80 502, 502 : 200 0.1, 0.2 : 0.3",
                &["a:80, b:80 : c:80", "502, 502 : 200", "0.1, 0.2 : 0.3"],
            ),
            // The last upstream, or one among others, was never chosen.
            (Escape::Default, lists, "a:80 :  502 :  0.000 : ", &["a:80 : ", "502 : ", "0.000 : "]),
            (
                Escape::Default,
                lists,
                "a:80 : , c:80 502 : -, 200 0.1 : 0.0, -",
                &["a:80 : , c:80", "502 : -, 200", "0.1 : 0.0, -"],
            ),
            (Escape::Default, lists, "- - -", &["-", "-", "-"]),
            (Escape::Json, lists, "  ", &["", "", ""]),
            (
                Escape::Default,
                lists,
                "unix:/run/a.sock, [::1]:80 502, 200 0.1, 0.2",
                &["unix:/run/a.sock, [::1]:80", "502, 200", "0.1, 0.2"],
            ),
            (Escape::Default, "$upstream_addr \"$http_a\"", "a:80, b:80 \"x, y : z\"", &["a:80, b:80", "x, y : z"]),
            (
                Escape::Default,
                "$upstream_status,$upstream_addr,$http_a",
                "502, 200,a:80, b:80,x, y",
                &["502, 200", "a:80, b:80", "x, y"],
            ),
            (Escape::Default, "[$upstream_addr] $status", "[[::1]:80, b:80] 200", &["[::1]:80, b:80", "200"]),
            (
                Escape::Default,
                "$upstream_addr : $upstream_status",
                "a:80 : b:80 : 502 : 200",
                &["a:80 : b:80", "502 : 200"],
            ),
            (Escape::Default, "\"$upstream_addr\" $status", "\"unix:/a b, c:80\" 200", &["unix:/a b, c:80", "200"]),
            (Escape::None, "$upstream_addr\"$status", "a:80, b:80\"200", &["a:80, b:80", "200"]),
        ];
        for (escape, format, line, values) in cases {
            assert_eq!(split(escape, format, line).unwrap(), values, "{line}");
        }
        assert_eq!(split(Escape::Default, lists, "a:80, b:80 502, 200"), None);
        assert_eq!(split(Escape::Default, "$upstream_status $status", "502 x 200"), None);
    }

    #[test]
    fn quotes_in_words() {
        let format = r#"{"uri":"$request_uri","host":"$host"}"#;
        let values = split(Escape::Json, format, r#"{"uri":"/a?\"b\\","host":"a\"b"}"#).unwrap();
        assert_eq!(values, [r#"/a?\"b\\"#, r#"a\"b"#]);
        assert_eq!(split(Escape::Default, format, r#"{"uri":"/a?\"b","host":"a"}"#), None);
        let values = split(Escape::None, "\"$request_uri\" $status", "\"/a\"b\" 200").unwrap();
        assert_eq!(values, ["/a\"b", "200"]);
        let values = split(Escape::Default, "\"$http_host\" $http_host$request_uri", "\"a/b\" c/d").unwrap();
        assert_eq!(values, ["a/b", "c", "/d"]);
    }

    #[test]
    fn what_is_tried_is_bounded() {
        let format = format!("{}$status", "$a ".repeat(20));
        assert_eq!(split(Escape::None, &format, &" x".repeat(8_000)), None);
    }
}
