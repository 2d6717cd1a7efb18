//! `Location`, `add_header` and `expires`.

use super::{Asked, ask};

/// Before a path, `Location` gets the scheme, the host without the port of `Host`, and the port of the socket. Any
/// other text stays.
#[test]
fn locations() {
    let asked = Asked { headers: &["Host: A.b:99"], ..Asked::default() };
    assert_eq!(asked.of("return 301 /x;"), "301 -> http://a.b:8080/x");
    assert_eq!(asked.of("return 301 //x;"), "301 -> http://a.b:8080//x");
    assert_eq!(asked.of("return 301 x;"), "301 -> x");
    assert_eq!(asked.of("port_in_redirect off; return 301 /x;"), "301 -> http://a.b/x");
    assert_eq!(asked.of("absolute_redirect off; return 301 //evil;"), "301 -> //evil");
    assert_eq!(asked.of("server_name .one two; server_name_in_redirect on; return 301 /;"), "301 -> http://one:8080/");
}

/// Headers are added only for some statuses, unless they have `always`. Empty headers are never added. The headers of a
/// level replace those of the level around it.
#[test]
fn added_headers() {
    let text = "add_header S s; location /a { return 200; } location /b { add_header L l; return 200; }
                location /c { add_header L l; return 404; } location /d { add_header L l always; return 404; }
                location /e { add_header L \"\"; add_header M $arg_m; return 200; }
                location /f { add_header L l; return 301 x; }";
    for (uri, expected) in [
        ("/a", "200 [S: s]"),
        ("/b", "200 [L: l]"),
        ("/c", "404"),
        ("/d", "404 [L: l]"),
        ("/e?m=1", "200 [M: 1]"),
        ("/f", "301 -> x [L: l]"),
    ] {
        assert_eq!(ask(text, uri), expected, "{uri}");
    }
}

/// The headers of the last location count.
#[test]
fn headers_of_the_last_location() {
    let text = "location /a { add_header A a; error_page 404 /b; return 404; } location /b { add_header B b always; return 200; }";
    assert_eq!(ask(text, "/a"), "404 [B: b]");
}

/// Since 1.29.3 headers may be inherited.
#[test]
fn inherited_headers() {
    let text = "add_header S s; location /a { add_header_inherit merge; add_header L l; return 200; }
                location /b { add_header_inherit off; return 200; }";
    assert_eq!(ask(text, "/a"), "200 [L: l] [S: s]");
    assert_eq!(ask(text, "/b"), "200");
}

/// Headers of `expires` that do not depend on the time.
#[test]
fn expires() {
    for (expires, expected) in [
        ("max", "200 [Expires: Thu, 31 Dec 2037 23:55:55 GMT] [Cache-Control: max-age=315360000]"),
        ("epoch", "200 [Expires: Thu, 01 Jan 1970 00:00:01 GMT] [Cache-Control: no-cache]"),
        ("1h", "200 [Cache-Control: max-age=3600]"),
        ("-1", "200 [Cache-Control: no-cache]"),
        ("off", "200"),
        ("$arg_x", "200"),
        ("@1h", "200 ?the time"),
    ] {
        assert_eq!(ask(&format!("expires {expires}; return 200;"), "/"), expected, "{expires}");
    }
    assert_eq!(ask("expires 1h; return 404;", "/"), "404");
    assert_eq!(ask("expires $arg_e; return 200;", "/?e=2m"), "200 [Cache-Control: max-age=120]");
}

/// If the status of an upstream decides, only headers that are certain are in the outcome.
#[test]
fn headers_of_upstreams() {
    let text = "location / { add_header A a always; add_header B b; proxy_pass http://u; }";
    assert_eq!(ask(text, "/"), "up u GET / [A: a] ?the status of the response");
}
