//! How nginx reads requests. Verified on 1.22.1 and 1.31.3.

use super::{Head, Settings, Stop, read, valid_host};
use crate::request::site::{Build, Family};
use crate::request::world::{Connection, Request};

const OLD: (u32, u32, u32) = (1, 22, 1);
const NEW: (u32, u32, u32) = (1, 31, 3);

fn build(version: (u32, u32, u32)) -> Build {
    Build { version, fixes: Default::default(), prefix: "/".into() }
}

fn request(method: &str, target: &str, version: (u16, u16), headers: &[(&str, &str)]) -> Request {
    let client = Connection {
        family: Family::Inet,
        host: "".into(),
        port: 80,
        tls: false,
        quic: false,
        protocol: None,
        sni: None,
        client: None,
    };
    let headers = headers.iter().map(|(name, value)| (latin(name), latin(value))).collect();
    Request { method: method.into(), target: latin(target), version, headers, connection: client }
}

fn latin(text: &str) -> crate::request::bytes::Bytes {
    text.chars().map(|char| char as u8).collect::<Vec<u8>>().into()
}

fn answer_of(version: (u32, u32, u32), request: &Request, settings: Settings) -> Result<Head, u16> {
    read(request, &build(version), &|_| settings).map_err(|stop| match stop {
        Stop::Rejected { status, .. } => status,
        Stop::Unknown(_) => 0,
    })
}

fn answer(request: &Request) -> Result<Head, u16> {
    let without_port = |head| Head { port: 0, ..head }; // it is read since 1.29.4
    let [old, new] = [OLD, NEW].map(|version| answer_of(version, request, Settings::default()).map(without_port));
    assert_eq!(old, new);
    new
}

fn get(target: &str) -> Result<(String, String, String), u16> {
    let head = answer(&request("GET", target, (1, 1), &[("Host", "h")]))?;
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    Ok((text(&head.uri.path), text(&head.uri.args), text(&head.unparsed_uri)))
}

fn status(method: &str, version: (u16, u16), headers: &[(&str, &str)]) -> u16 {
    answer(&request(method, "/a", version, headers)).err().unwrap_or(200)
}

/// Methods are capitals, `_` and `-`; TRACE and CONNECT are refused.
#[test]
fn methods() {
    let host = [("Host", "h")];
    for (method, expected) in [
        ("FOO", 200),
        ("A-B", 200),
        ("_", 200),
        ("get", 400),
        ("A1", 400),
        ("", 400),
        ("GE T", 400),
        ("TRACE", 405),
        ("OPTIONS", 200),
    ] {
        assert_eq!(status(method, (1, 1), &host), expected, "{method}");
    }
    let connect = |version, target| {
        answer_of(version, &request("CONNECT", target, (1, 1), &host), Settings::default()).err().unwrap_or(200)
    };
    assert_eq!((connect(OLD, "/a"), connect(OLD, "h:1")), (405, 400));
    assert_eq!((connect(NEW, "/a"), connect(NEW, "h"), connect(NEW, "h:"), connect(NEW, "h:1")), (400, 400, 400, 0));
}

/// A request without a version is HTTP/0.9, which has only GET; 1.10 is served, 2.0 is not.
#[test]
fn versions() {
    let host = [("Host", "h")];
    for (version, expected) in [
        ((1, 0), 200),
        ((1, 2), 200),
        ((1, 10), 200),
        ((1, 999), 200),
        ((1, 1000), 400),
        ((2, 0), 505),
        ((3, 0), 505),
        ((0, 1), 400),
    ] {
        assert_eq!(status("GET", version, &host), expected, "{version:?}");
    }
    assert_eq!((status("GET", (0, 9), &[]), status("POST", (0, 9), &[])), (200, 400));
    assert_eq!(answer(&request("GET", "http://h", (0, 9), &[])), Err(400));
    assert!(answer(&request("GET", "http://h/", (0, 9), &[])).is_ok());
}

/// A target is a path or an absolute URI of any scheme, whose host has only letters, digits, dots and hyphens.
#[test]
fn targets() {
    for (target, path) in [
        ("ftp://h/x", "/x"),
        ("HTTP://O.EX/Q", "/Q"),
        ("h+t-t.p://h/x", "/x"),
        ("http://h:99/x", "/x"),
        ("http://h:/x", "/x"),
        ("http://h", "/"),
        ("http://[::1]/x", "/x"),
        ("http://[::1]:8/x", "/x"),
        (" /a ", "/a"),
    ] {
        assert_eq!(get(target).map(|(uri, ..)| uri), Ok(path.to_owned()), "{target}");
    }
    for target in [
        "*",
        "?x",
        "x/y",
        "",
        "1a://h/",
        "http:/h/",
        "http//h",
        "http://h_x/",
        "http://u@h/",
        "http:///x",
        "http://[::1/",
        "http://[a%]/",
        "http://a..b/",
        "http://./",
        "http://h#",
        "http://h:8x/",
    ] {
        assert_eq!(get(target), Err(400), "{target}");
    }
    assert_eq!(get("http://h?z"), Ok(("/".into(), "z".into(), "?z".into())));
    let old = answer_of((1, 19, 5), &request("GET", "http://h?z", (1, 1), &[("Host", "h")]), Settings::default());
    assert_eq!(old, Err(400));
}

/// Control characters, spaces and DEL are refused in a path and in arguments. Bytes from 0x80 on are not.
#[test]
fn bytes_of_a_target() {
    for target in ["/a\u{1}", "/a\u{7f}", "/a b", "/a?\u{1f}", "/a?x y", "/a\t"] {
        assert_eq!(get(target), Err(400), "{target:?}");
    }
    assert_eq!(get("/\u{fc}?\u{80}"), Ok(("/\\xfc".into(), "\\x80".into(), "/\\xfc?\\x80".into())));
    let blank = answer_of((1, 20, 2), &request("GET", "/a b", (1, 1), &[("Host", "h")]), Settings::default());
    assert_eq!(blank, Err(0), "nginx before 1.21.1 has other rules, which are not modelled");
}

/// The path is decoded once. A decoded slash or dot counts like any other, but a decoded `%`, `#` or `?` is plain text.
#[test]
fn decoding() {
    for (target, path, args) in [
        ("/a%25%32%66", "/a%2f", ""),
        ("/a%2f..%2fb", "/b", ""),
        ("/a%23b#c?x", "/a#b", ""),
        ("/a%3Fb?c", "/a?b", "c"),
        ("/a?x#y", "/a", "x"),
        ("/a??b", "/a", "?b"),
        ("/a?%zz%00", "/a", "%zz%00"),
        ("/a+b%2B;\\", "/a+b+;\\\\", ""),
        ("/a/./b/.", "/a/b/", ""),
        ("/a//b", "/a/b", ""),
        ("/.../..a/b..", "/.../..a/b..", ""),
        ("/a/..?x", "/", "x"),
        ("/a/b/%2E%2e/c", "/a/c", ""),
    ] {
        assert_eq!(get(target), Ok((path.into(), args.into(), target.replace('\\', "\\\\"))), "{target}");
    }
    for target in ["/..", "/a/../..", "/../a", "/a%00", "/a%", "/a%2", "/a%zz", "/%2e%2e/x"] {
        assert_eq!(get(target), Err(400), "{target}");
    }
}

/// With `merge_slashes off`, slashes stay, and `..` removes an empty segment.
#[test]
fn slashes_stay() {
    let settings = Settings { merge_slashes: false, ..Settings::default() };
    for (target, path) in [("//x", "//x"), ("/a//../b", "/a/b"), ("/a%2f%2fb", "/a//b"), ("/a//", "/a//")] {
        let head = answer_of(NEW, &request("GET", target, (1, 1), &[("Host", "h")]), settings).unwrap();
        assert_eq!(head.uri.path, path.as_bytes(), "{target}");
    }
}

/// The type of a file is determined by what follows the last dot of the path, unless that dot begins a segment.
#[test]
fn extensions() {
    for (target, extension) in [
        ("/a.b.c?x.y", "c"),
        ("/a%2ehtml", "html"),
        ("/.html", ""),
        ("/a.b/c", ""),
        ("/a.b/", ""),
        ("/a.", ""),
        ("/a.x#.y", "x"),
        ("/a.b/../c", ""),
        ("/./a.b", "b"),
    ] {
        let head = answer(&request("GET", target, (1, 1), &[("Host", "h")])).unwrap();
        assert_eq!(head.uri.extension(), extension.as_bytes(), "{target}");
    }
}

/// Whether the client's path has a `%` or a `+` decides later whether nginx escapes.
#[test]
fn escapes_of_the_client() {
    let flags = |target| {
        let uri = answer(&request("GET", target, (1, 1), &[("Host", "h")])).unwrap().uri;
        (uri.quoted, uri.plus)
    };
    assert_eq!(
        (flags("/a?%+"), flags("/a%20"), flags("/a+"), flags("/%2b")),
        ((false, false), (true, false), (false, true), (true, true))
    );
}

/// `merge_slashes` and `underscores_in_headers` are those of the server that is known by then.
#[test]
fn settings_of_the_server_known_by_then() {
    let settings = |host: Option<&[u8]>| Settings {
        merge_slashes: host.is_none(),
        underscores_in_headers: host.is_some(),
        ..Settings::default()
    };
    let headers = [("X_A", "1"), ("Host", "m"), ("X_B", "2")];
    let head = read(&request("GET", "//a", (1, 1), &headers), &build(NEW), &settings).unwrap();
    assert_eq!(head.uri.path, b"/a");
    assert_eq!(head.headers.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), [&b"Host"[..], b"X_B"]);
    let absolute = read(&request("GET", "http://m//a", (1, 1), &headers), &build(NEW), &settings).unwrap();
    assert_eq!((&*absolute.uri.path, absolute.headers.len()), (&b"/a"[..], 3));
}

/// HTTP/1.1 needs a `Host`, even with an absolute URI. Two are refused, as are others that may occur only once.
#[test]
fn headers_once() {
    assert_eq!((status("GET", (1, 1), &[]), status("GET", (1, 0), &[])), (400, 200));
    assert_eq!(answer(&request("GET", "http://h/", (1, 1), &[])), Err(400));
    assert_eq!(status("GET", (1, 0), &[("Host", "h"), ("host", "h")]), 400);
    for (name, expected) in [
        ("Authorization", 400),
        ("If-Match", 400),
        ("Expect", 400),
        ("Content-Range", 400),
        ("User-Agent", 200),
        ("Cookie", 200),
        ("X-A", 200),
    ] {
        assert_eq!(status("GET", (1, 1), &[("Host", "h"), (name, "1"), (name, "1")]), expected, "{name}");
    }
    let proxy =
        request("GET", "/", (1, 1), &[("Host", "h"), ("Proxy-Authorization", "1"), ("Proxy-Authorization", "1")]);
    let answers = [OLD, NEW].map(|version| answer_of(version, &proxy, Settings::default()).err());
    assert_eq!(answers, [None, Some(400)]);
}

/// A header name with a space or control character is refused. One with other invalid bytes is ignored, unless
/// `ignore_invalid_headers` is off.
#[test]
fn names_of_headers() {
    let host = ("Host", "h");
    for name in ["X Y", "X\u{1}", "X\u{7f}", "", " a"] {
        assert_eq!(status("GET", (1, 1), &[host, (name, "1")]), 400, "{name:?}");
    }
    let kept = |name, settings| {
        let head = answer_of(NEW, &request("GET", "/", (1, 1), &[host, (name, "  v ")]), settings).unwrap();
        head.headers.get(1).map(|(_, value)| value.to_vec())
    };
    let all = Settings { ignore_invalid_headers: false, ..Settings::default() };
    let underscores = Settings { underscores_in_headers: true, ..Settings::default() };
    assert_eq!((kept("X-A", Settings::default()), kept("X(", Settings::default())), (Some(b"v".to_vec()), None));
    assert_eq!((kept("X_A", Settings::default()), kept("X_A", underscores)), (None, Some(b"v".to_vec())));
    assert_eq!((kept("X_(", underscores), kept("X_(", all)), (None, Some(b"v".to_vec())));
    assert_eq!(kept("X:", Settings::default()), Some(b":   v".to_vec()));
}

/// The length of a body is a number. `chunked` is the only transfer coding, and only for HTTP/1.1.
#[test]
fn bodies() {
    let host = ("Host", "h");
    for (name, value, version, expected) in [
        ("Content-Length", "5", (1, 1), 200),
        ("Content-Length", "9223372036854775807", (1, 1), 200),
        ("Content-Length", "9223372036854775808", (1, 1), 400),
        ("Content-Length", "-1", (1, 1), 400),
        ("Content-Length", "", (1, 1), 400),
        ("Transfer-Encoding", "CHUNKED", (1, 1), 200),
        ("Transfer-Encoding", "chunked", (1, 0), 400),
        ("Transfer-Encoding", "gzip", (1, 1), 501),
    ] {
        assert_eq!(status("POST", version, &[host, (name, value)]), expected, "{name} {value}");
    }
    assert_eq!(status("POST", (1, 1), &[host, ("Content-Length", "1"), ("Transfer-Encoding", "chunked")]), 400);
}

/// A host is cut at its port and one final dot, and is in lower case.
#[test]
fn hosts() {
    let hosts = |host: &str| [OLD, NEW].map(|version| valid_host(&latin(host), &build(version)));
    let host = |text| hosts(text).map(|host| host.map(|(name, _)| String::from_utf8(name).unwrap()));
    for (text, name) in [
        ("EX.com", "ex.com"),
        ("ex.com.", "ex.com"),
        ("ex.com.:81", "ex.com"),
        ("a_b%,'", "a_b%,'"),
        ("[::1]:80", "[::1]"),
        ("[A.]", "[a.]"),
        (".ex.com", ".ex.com"),
        ("a:", "a"),
        ("-", "-"),
    ] {
        assert_eq!(host(text), [Some(name.to_owned()), Some(name.to_owned())], "{text}");
    }
    for text in ["", ".", ":80", "a..b", "/", "a/b", "a b", "a\u{1}", "a\u{7f}", "ex.com.."] {
        assert_eq!(host(text), [None, None], "{text:?}");
    }
    for (text, name) in [
        ("a:x", "a"),
        ("a:65536", "a"),
        ("a@b", "a@b"),
        ("a\\b", "a\\b"),
        ("a\"b", "a\"b"),
        ("a|b", "a|b"),
        ("[::1", "[::1"),
        ("x[y]", "x[y]"),
        ("[::1]x", "[::1]"),
        ("a.:8.", "a."),
    ] {
        assert_eq!(host(text), [Some(name.to_owned()), None], "{text}");
    }
    assert_eq!(hosts("\u{fc}"), [Some((vec![0xfc], 0)), None]);
    assert_eq!(valid_host(b"a:65535", &build(NEW)), Some((b"a".to_vec(), 65535)));
}

/// The host of an absolute URI comes before the header, which must be valid as well.
#[test]
fn host_of_an_absolute_uri() {
    let head = answer(&request("GET", "http://A:77/", (1, 1), &[("Host", "d")])).unwrap();
    assert_eq!(head.host, Some("a".into()));
    assert_eq!(answer(&request("GET", "http://a/", (1, 1), &[("Host", "a/b")])), Err(400));
    assert_eq!(answer(&request("GET", "/", (1, 0), &[])).unwrap().host, None);
}

/// What nginx has read of a request that it refuses: nothing of a bad URI, the host that was valid.
#[test]
fn refused_requests() {
    let rejected =
        |target, headers: &[(&str, &str)]| match read(&request("GET", target, (1, 1), headers), &build(NEW), &|_| {
            Settings::default()
        }) {
            Err(Stop::Rejected { status, head }) => (status, head.uri.path, head.host.map(|host| host.to_vec())),
            other => panic!("{other:?}"),
        };
    assert_eq!(rejected("/%", &[("Host", "h")]), (400, Vec::new(), None));
    assert_eq!(rejected("/a", &[("Host", "h"), ("Host", "i")]), (400, b"/a".to_vec(), Some(b"h".to_vec())));
}

/// A request line has to fit into a buffer: 8,192 bytes, including its end.
#[test]
fn long_request_lines() {
    let line =
        |bytes: usize| answer(&request("GET", &format!("/{}", "a".repeat(bytes - 16)), (1, 1), &[("Host", "h")]));
    assert!(line(8192).is_ok());
    assert_eq!(line(8193), Err(414));
    let small = Settings { large_buffers: (1, 1024), header_buffer: 2048, ..Settings::default() };
    let target = format!("/{}", "a".repeat(2048 - 16));
    assert!(answer_of(NEW, &request("GET", &target, (1, 1), &[]), small).is_err_and(|status| status != 414));
}

/// Each header has to fit into one of the buffers: the first of 1,024 bytes, and four of 8,192.
#[test]
fn long_headers() {
    let headers = |lengths: &[usize]| {
        let values: Vec<String> = lengths.iter().map(|length| "v".repeat(length - "X: \r\n".len())).collect();
        let mut headers = vec![("Host", "h")];
        headers.extend(values.iter().map(|value| ("X", value.as_str())));
        status("GET", (1, 1), &headers)
    };
    assert_eq!((headers(&[8192]), headers(&[8193])), (200, 494));
    assert_eq!((headers(&[8000; 4]), headers(&[8000; 5])), (200, 494));
    assert_eq!((headers(&[4097; 4]), headers(&[4097; 5])), (200, 494));
    assert_eq!((headers(&[8192; 3]), headers(&[8192; 4])), (200, 494));
}

/// Since 1.29.8, and in builds with that fix, a request may have at most 1,000 headers.
#[test]
fn many_headers() {
    let headers: Vec<(&str, &str)> = std::iter::once(("Host", "h")).chain([("X", "1"); 1000]).collect();
    let [some, more] = [&headers[..1000], &headers].map(|headers| request("GET", "/", (1, 1), headers));
    let status = |build: &Build, request| match read(request, build, &|_| Settings::default()) {
        Err(Stop::Rejected { status, .. }) => status,
        _ => 200,
    };
    assert_eq!((status(&build(NEW), &some), status(&build(NEW), &more), status(&build(OLD), &more)), (200, 494, 200));
    let debian = Build { fixes: ["max_headers".to_owned()].into_iter().collect(), ..build(OLD) };
    assert_eq!(status(&debian, &more), 494);
}
