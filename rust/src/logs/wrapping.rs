//! Lines of access logs inside of JSON, as Docker and journald keep them.

use std::borrow::Cow;

use crate::logs::format::quote;
use crate::logs::value::of_json;

/// The members that have the line: of `docker logs` (`json-file`), and of `journalctl -o json`.
const MEMBERS: [&[u8]; 2] = [b"\"log\":", b"\"MESSAGE\":"];

/// Returns the line that is a string in a JSON object, or the line itself, without the ends of lines.
pub fn unwrapped(line: &[u8]) -> Cow<'_, [u8]> {
    let start = MEMBERS.iter().find_map(|member| memchr::memmem::find(line, member).map(|at| at + member.len()));
    let string = start.and_then(|start| line[start..].trim_ascii_start().strip_prefix(b"\""));
    let Some((string, end)) = string.and_then(|string| Some((string, quote(string)?))) else {
        return Cow::Borrowed(line);
    };
    let mut inner = of_json(&string[..end]);
    while inner.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        inner.pop();
    }
    Cow::Owned(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docker_and_journald() {
        assert_eq!(&*unwrapped(br#"{"log":"a \"b\"\n","stream":"stdout"}"#), br#"a "b""#);
        assert_eq!(&*unwrapped(br#"{"_PID" : "1", "MESSAGE": "x"}"#), b"x");
        assert_eq!(&*unwrapped(b"plain"), b"plain");
        assert_eq!(&*unwrapped(br#"{"log":"cut"#), br#"{"log":"cut"#);
    }
}
