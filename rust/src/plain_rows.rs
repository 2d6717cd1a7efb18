//! Reads the plain rows of a table of requests: those in which every value means what is written there.
//!
//! `nginxopt/request/table.py` reads all others, and says what is wrong with them. So a line that is odd in any way is
//! not plain: nothing here refuses anything.

use std::borrow::Cow;

/// How a table is written: the numbers of its columns from 0 on.
#[derive(Clone, Debug)]
pub struct Layout {
    pub delimiter: u8,
    pub from: usize,
    pub to: usize,
    pub status: Option<usize>,
    /// The columns that say that a row is special, unless they are empty.
    pub special: Vec<usize>,
    /// The number of fields of a row at most, empty ones at its end apart.
    pub width: usize,
}

/// A plain row.
#[derive(Debug, PartialEq, Eq)]
pub struct PlainRow<'a> {
    /// The offset and the number, from 1, of its line.
    pub start: usize,
    pub line: usize,
    /// The beginning of the URL, up to its path; empty for a path.
    pub site: &'a str,
    /// The path and the arguments as a client sends them.
    pub target: Cow<'a, [u8]>,
    pub to: &'a str,
    pub status: &'a str,
}

/// Calls `take` for plain rows from `start` on, the beginning of the line with number `line`, until it has `most`.
/// Returns the offset and the number of the first line behind them, which is not plain unless there are `most` rows.
pub fn read<'a>(
    data: &'a [u8],
    layout: &Layout,
    (mut start, mut line): (usize, usize),
    most: usize,
    mut take: impl FnMut(PlainRow<'a>),
) -> (usize, usize) {
    let mut fields = Vec::new();
    let mut taken = 0;
    while start < data.len() && taken < most {
        let end = memchr::memchr(b'\n', &data[start..]).map_or(data.len(), |at| start + at);
        let text = &data[start..end];
        if !is_comment(text) {
            if split(text.strip_suffix(b"\r").unwrap_or(text), layout.delimiter, &mut fields).is_none() {
                break;
            }
            if fields.iter().any(|field| !field.is_empty()) {
                let Some((site, target, to, status)) = row(layout, &fields) else { break };
                take(PlainRow { start, line, site, target, to, status });
                taken += 1;
            }
        }
        start = end + 1;
        line += 1;
    }
    (start.min(data.len()), line)
}

fn is_comment(line: &[u8]) -> bool {
    line.iter().find(|byte| !is_blank(**byte)) == Some(&b'#')
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Splits a line into its fields, without quotes and blanks around them. `None` if quotes are in any other place, or
/// around the end of a line.
fn split<'a>(line: &'a [u8], delimiter: u8, fields: &mut Vec<&'a [u8]>) -> Option<()> {
    fields.clear();
    if memchr::memchr(b'"', line).is_none() {
        fields.extend(line.split(|byte| *byte == delimiter).map(trim));
        return Some(());
    }
    if is_blank(delimiter) || line.contains(&b'\r') {
        return None;
    }
    let mut rest = line;
    loop {
        let (value, behind) = match trim(rest).strip_prefix(b"\"") {
            Some(quoted) => quoted.split_at(memchr::memchr(b'"', quoted)?),
            None => rest.split_at(memchr::memchr(delimiter, rest).unwrap_or(rest.len())),
        };
        fields.push(trim(value));
        let behind = behind.strip_prefix(b"\"").unwrap_or(behind);
        let end = memchr::memchr(delimiter, behind).unwrap_or(behind.len());
        if memchr::memchr(b'"', value).is_some() || !trim(&behind[..end]).is_empty() {
            return None;
        }
        match behind.get(end + 1..) {
            Some(following) => rest = following,
            None => return Some(()),
        }
    }
}

fn trim(field: &[u8]) -> &[u8] {
    let start = field.iter().position(|byte| !is_blank(*byte)).unwrap_or(field.len());
    let end = field.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
    &field[start..end]
}

type Values<'a> = (&'a str, Cow<'a, [u8]>, &'a str, &'a str);

/// Returns the values of a plain row.
fn row<'a>(layout: &Layout, fields: &[&'a [u8]]) -> Option<Values<'a>> {
    let field = |number: usize| fields.get(number).copied().unwrap_or_default();
    let is_special = layout.special.iter().any(|number| !field(*number).is_empty());
    if is_special || fields.iter().skip(layout.width).any(|field| !field.is_empty()) {
        return None;
    }
    let to = std::str::from_utf8(field(layout.to)).ok()?;
    let status = std::str::from_utf8(layout.status.map(field).unwrap_or_default()).ok()?;
    let is_address = to.is_empty() || to.starts_with('/') || has_scheme(to.as_bytes());
    if !is_address || !to.bytes().all(is_visible) {
        return None;
    }
    let (site, target) = url(field(layout.from))?;
    Some((site, target, to, status))
}

/// Splits a URL, or a path, in front of its path.
fn url(text: &[u8]) -> Option<(&str, Cow<'_, [u8]>)> {
    if !text.iter().all(|byte| is_visible(*byte) && *byte != b'#') {
        return None;
    }
    let site = match has_scheme(text) {
        true => {
            let behind = memchr::memmem::find(text, b"://")? + 3;
            behind + text[behind..].iter().position(|byte| matches!(byte, b'/' | b'?'))?
        }
        false => 0,
    };
    let (site, target) = text.split_at(site);
    if target.first() != Some(&b'/') {
        return None;
    }
    Some((std::str::from_utf8(site).ok()?, escaped(target)))
}

/// Escapes the bytes of a path that are not ASCII, as clients do; not those of the arguments.
fn escaped(target: &[u8]) -> Cow<'_, [u8]> {
    if target.is_ascii() {
        return Cow::Borrowed(target);
    }
    let (path, arguments) = target.split_at(memchr::memchr(b'?', target).unwrap_or(target.len()));
    let mut escaped = Vec::with_capacity(target.len() * 2);
    for byte in path {
        match byte.is_ascii() {
            true => escaped.push(*byte),
            false => escaped.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    escaped.extend_from_slice(arguments);
    Cow::Owned(escaped)
}

fn has_scheme(text: &[u8]) -> bool {
    let begins = |scheme: &[u8]| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    begins(b"http://") || begins(b"https://")
}

/// Whether a byte is neither a blank nor a control character.
fn is_visible(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(data: &str) -> (Vec<String>, (usize, usize)) {
        let layout = Layout { delimiter: b',', from: 0, to: 1, status: Some(2), special: vec![3], width: 4 };
        let mut rows = Vec::new();
        let end = read(data.as_bytes(), &layout, (0, 1), 3, |row| {
            let target = String::from_utf8_lossy(&row.target);
            rows.push(format!("{}: {} {target} {} {}", row.line, row.site, row.to, row.status));
        });
        (rows, end)
    }

    /// Rows are read up to the first that is not plain, or to the limit.
    #[test]
    fn reads_plain_rows() {
        let (rows, end) = all("/a,/b,301\r\n\n # no\n,,\nhttp://h/ä?ä , \"/c,d\" ,\"\"\n/a b,/c\n");
        assert_eq!(rows, ["1:  /a /b 301", "5: http://h /%C3%A4?ä /c,d "]);
        assert_eq!(end, (49, 6));
        assert_eq!(all("/a\n/b\n/c\n/d").1, (9, 4));
        for odd in
            ["/a,/b,301,x", "/a,,,,x", "/a\"b\",/c", "\"/a\"b,/c", "\"/a\"\"\"", "\"/a\n\"", "a", "http://h", "/a#b"]
        {
            assert_eq!(all(odd), (vec![], (0, 1)), "{odd}");
        }
    }
}
