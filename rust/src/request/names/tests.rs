use super::Names;
use crate::request::site::{Family, Name, Server, Socket};

/// Servers of one address, each with its names; the default is the first.
fn names(servers: &[&[&str]]) -> (Names, Vec<Server>) {
    let name = |node: usize, text: &&str| Name { node: node as u32, text: (*text).into() };
    let server = |(id, names): (usize, &&[&str])| Server {
        node: id as u32,
        level: 0,
        names: names.iter().enumerate().map(|(place, text)| name(100 * id + place, text)).collect(),
    };
    let servers: Vec<Server> = servers.iter().enumerate().map(server).collect();
    let names = Names::new(&socket(servers.len()), &servers).expect("names that nginx takes");
    (names, servers)
}

fn socket(servers: usize) -> Socket {
    Socket {
        node: None,
        family: Family::Inet,
        host: "0.0.0.0".into(),
        port: 80,
        tls: false,
        http2: false,
        quic: false,
        proxy_protocol: false,
        takes_ipv4: false,
        servers: (0..servers).collect(),
        default: 0,
    }
}

fn server(servers: &[&[&str]], host: &str) -> Option<usize> {
    names(servers).0.find(host.as_bytes()).expect("a certain answer").map(|choice| choice.server)
}

fn refused(servers: &[&[&str]]) -> Option<String> {
    let name = |text: &&str| Name { node: 7, text: (*text).into() };
    let server = |names: &&[&str]| Server { node: 0, level: 0, names: names.iter().map(name).collect() };
    let servers: Vec<Server> = servers.iter().map(server).collect();
    Names::new(&socket(servers.len()), &servers).err().map(|refused| refused.message)
}

/// An exact name, the longest with a wildcard in front, the longest with one at the end, the first pattern.
#[test]
fn order_of_forms() {
    let servers: &[&[&str]] = &[
        &["d"],
        &["a.x.*", "*.com"],
        &["*.x.com", "ex.org"],
        &["~^a", "*.ex.com"],
        &["a.x.com", "~x"],
        &["b.*", "b.x.*"],
        &[".dot.com"],
    ];
    for (host, expected) in [
        ("a.x.com", Some(4)),
        ("b.x.com", Some(2)),
        ("a.x.org", Some(1)),
        ("x.com", Some(1)),
        ("a.b.ex.com", Some(3)),
        (".ex.com", Some(3)),
        ("b.x.org", Some(5)),
        ("b.y.org", Some(5)),
        ("dot.com", Some(6)),
        ("a.dot.com", Some(6)),
        ("axa", Some(3)),
        ("yx", Some(4)),
        ("y", None),
        ("b", None),
        ("b.", Some(5)),
    ] {
        assert_eq!(server(servers, host), expected, "{host}");
    }
}

/// The second of two equal names is ignored. A `.x.com` after `x.com` or `*.x.com` is ignored altogether, but still
/// reserves `x.com`.
#[test]
fn equal_names() {
    assert_eq!(server(&[&["d"], &["x.com"], &["X.com"]], "x.com"), Some(1));
    assert_eq!(server(&[&["d"], &["x.com"], &[".x.com"]], "a.x.com"), None);
    assert_eq!(server(&[&["d"], &["*.x.com"], &[".x.com"]], "x.com"), None);
    assert_eq!(server(&[&["d"], &[".x.com"], &["x.com"]], "x.com"), Some(1));
    assert_eq!(server(&[&["d"], &["*.x.com"], &[".x.com"], &["x.com"]], "x.com"), None);
}

/// A name with a final dot or a port is never a host.
#[test]
fn names_that_never_match() {
    assert_eq!(server(&[&["d"], &["t.com."]], "t.com"), None);
    assert_eq!(server(&[&["d"], &["t.com:80"]], "t.com"), None);
}

/// Patterns are not anchored, and a pattern with a capital letter ignores case. Captures are kept.
#[test]
fn patterns() {
    let servers: &[&[&str]] = &[&["d"], &["~^(?<sub>.+)\\.(rx)\\.com$"], &["~UP"]];
    assert_eq!((server(servers, "upper"), server(servers, "rx.com")), (Some(2), None));
    let choice = names(servers).0.find(b"a.b.rx.com").unwrap().unwrap();
    let captures = choice.captures.expect("captures");
    assert_eq!((choice.server, choice.name), (1, 100));
    assert_eq!(captures.groups, [Some("a.b.rx.com".into()), Some("a.b".into()), Some("rx".into())]);
    assert_eq!(captures.named, [("sub".into(), "a.b".into())]);
}

/// If there is only one server, nginx does not look up its name, unless its last pattern has groups.
#[test]
fn alone() {
    assert_eq!(server(&[&["~^(?<s>.+)\\.a$", "~b$"]], "q.a"), None);
    assert_eq!(server(&[&["~b$", "~^(?<s>.+)\\.a$", "c"]], "q.a"), Some(0));
    assert_eq!((server(&[&["x"]], "x"), server(&[&["x", "~^(x)"]], "x")), (None, Some(0)));
}

/// A request without a host has the empty name. The first server without a name, or with the empty name, answers it.
#[test]
fn no_host() {
    assert_eq!(server(&[&["d"], &[""], &["", "~."]], ""), Some(1));
    assert_eq!(server(&[&["d"], &["~^"]], ""), None);
}

/// nginx refuses invalid names. It checks wildcards only if it looks up names.
#[test]
fn refused_names() {
    for (name, message) in [
        (".", "server name \".\" is invalid"),
        ("*.", "server name \"*.\" is invalid"),
        ("*a", "server name \"*a\" is invalid"),
        ("~", "empty regex in server name \"~\""),
    ] {
        assert_eq!(refused(&[&[name]]), Some(message.to_owned()));
    }
    for name in ["a*b", "a..b", "*.a.*", "a.*.b"] {
        let message = format!("invalid server name or wildcard \"{name}\"");
        assert_eq!((refused(&[&[name]]), refused(&[&[name], &["x"]])), (None, Some(message)));
    }
    assert!(refused(&[&["~("]]).is_some_and(|message| message.contains("missing closing parenthesis")));
}

/// The name of the machine is unknown, and may equal any exact name. Only an earlier exact name certainly wins against
/// it, because the first of equal names counts.
#[test]
fn name_of_the_machine() {
    let (names, _) = names(&[&["a"], &["$hostname"], &["b", "*.b"]]);
    assert_eq!(names.find(b"a").map(|choice| choice.map(|choice| choice.server)), Ok(Some(0)));
    assert_eq!(names.find(b"b").map_err(|unknown| unknown.node), Err(Some(100)));
    assert_eq!(names.find(b"x.b").map_err(|unknown| unknown.node), Err(Some(100)));
}

/// Every name of the other servers has a reason.
#[test]
fn reasons() {
    let servers: &[&[&str]] = &[&["d"], &["a.x.com"], &["*.x.com", "A.x.com"], &["a.*", "~^a", "q"]];
    let reasons = |servers, host: &str| {
        let (names, _) = names(servers);
        let choice = names.find(host.as_bytes()).unwrap();
        let reasons = names.passed_over(host.as_bytes(), choice.as_ref());
        reasons.into_iter().map(|passed| format!("{} {}", passed.node, passed.reason)).collect::<Vec<_>>()
    };
    assert_eq!(
        reasons(servers, "a.x.com"),
        [
            "0 does not match",
            "200 an exact name matches",
            "201 an earlier server has the name",
            "300 an exact name matches",
            "301 an exact name matches",
            "302 does not match",
        ]
    );
    let wildcards: &[&[&str]] = &[&["d"], &["*.x.com"], &["*.com", "b.*", "~b"], &["~x"]];
    assert_eq!(
        reasons(wildcards, "b.x.com")[1..],
        [
            "200 a longer name matches",
            "201 a name that begins with a wildcard matches",
            "202 a name that begins with a wildcard matches",
            "300 a name that begins with a wildcard matches",
        ]
    );
    assert_eq!(
        reasons(wildcards, "bx")[..],
        ["0 does not match", "100 does not match", "300 an earlier pattern matches"]
    );
}
