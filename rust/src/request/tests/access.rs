//! `allow`, `deny`, `satisfy`, passwords and subrequests; `limit_except`.

use super::{Asked, ask};

/// The first `allow` or `deny` that matches decides. If a level has any, they replace all of the level around it.
#[test]
fn allow_and_deny_in_order() {
    let text = "deny all; location / { try_files /f.txt =404; } location /a { allow 127.0.0.1; deny all; try_files /f.txt =404; }
                location /b { deny all; allow 127.0.0.1; } location /c { allow 1.1.1.1; try_files /f.txt =404; }
                location /d { deny 127.0.0.0/8; } location /e { allow 10.0.0.0/8; deny 127.0.0.1/16; }";
    for (uri, expected) in [
        ("/", "403"),
        ("/a", "200 file /r/f.txt"),
        ("/b", "403"),
        ("/c", "200 file /r/f.txt"),
        ("/d", "403"),
        ("/e", "403"),
    ] {
        assert_eq!(ask(text, uri), expected, "{uri}");
    }
}

/// The script of a location comes before its checks.
#[test]
fn return_before_deny() {
    assert_eq!(ask("location / { deny all; return 200 x; }", "/"), "200 x");
}

/// Without a user and a password, nginx answers 401; without the file, 403. Whether the file has both is an event.
/// Without `auth_basic_user_file`, no password is asked for.
#[test]
fn passwords() {
    let text = "auth_basic_user_file /r/f.txt; location / { auth_basic x; try_files /f.txt =404; }
                location /o { auth_basic off; try_files /f.txt =404; }
                location /m { auth_basic x; auth_basic_user_file /r/missing; }
                location /d { auth_basic x; auth_basic_user_file /r/d; }";
    assert_eq!(ask(text, "/"), "401");
    assert_eq!(ask(text, "/o"), "200 file /r/f.txt");
    assert_eq!(ask("location / { auth_basic x; try_files /f.txt =404; }", "/"), "200 file /r/f.txt");
    for (header, line, expected) in [
        ("Authorization: Basic eDp5", "/", "unknown: whether /r/f.txt has that user and password"),
        ("Authorization: basic   eDp5=", "/", "unknown: whether /r/f.txt has that user and password"),
        ("Authorization: Bearer eDp5", "/", "401"),
        ("Authorization: Basic eHk=", "/", "401"),
        ("Authorization: Basic OnB3", "/", "401"),
        ("Authorization: Basic e", "/", "401"),
        ("Authorization: Basic eDp5", "/m", "403"),
        ("Authorization: Basic eDp5", "/d", "500"),
    ] {
        assert_eq!(Asked { line, headers: &[header], ..Asked::default() }.of(text), expected, "{header} {line}");
    }
    let users = Asked { headers: &["Authorization: Basic YWxpY2U6OnB3"], ..Asked::default() };
    assert_eq!(users.of("return 200 $remote_user;"), "200 alice");
}

/// `all`: a denied client is not asked for a password. `any`: the first check that passes is enough.
#[test]
fn satisfy() {
    let text = "location / { satisfy MODE; ADDRESS; auth_basic x; auth_basic_user_file /u; try_files /f.txt =404; }";
    let of = |mode: &str, address: &str| ask(&text.replace("MODE", mode).replace("ADDRESS", address), "/");
    assert_eq!(of("all", "deny all"), "403");
    assert_eq!(of("all", "allow all"), "401");
    assert_eq!(of("any", "allow all"), "200 file /r/f.txt");
    assert_eq!(of("any", "deny all"), "401");
}

/// If the subrequest has status 2xx, the request passes; 401 and 403 are its own status; anything else becomes 500. The
/// checks of the subrequest's own location do not apply.
#[test]
fn subrequests() {
    let text = "location /f { auth_request /s; } location /s { deny all; return STATUS; }";
    for (status, expected) in
        [("204", "200 file /r/f.txt"), ("403", "403"), ("401", "401"), ("404", "500"), ("302 /", "500")]
    {
        assert_eq!(ask(&text.replace("STATUS", status), "/f.txt"), expected, "{status}");
    }
    let passed = "location /f { auth_request /s; } location /s { proxy_pass http://u; }";
    assert_eq!(ask(passed, "/f.txt"), "unknown: whether the subrequest to /s ends with 2xx");
}

/// A subrequest shares the variables, and sees the method of its request.
#[test]
fn variables_of_subrequests() {
    let text = "location /f { auth_request /s; set $v main; add_header V $v; } location /s { set $v $request_method$uri; return 200; }";
    assert_eq!(ask(text, "HEAD /f.txt"), "200 file /r/f.txt [V: HEAD/s]");
}

/// For methods that a `limit_except` does not name, its settings are in force, and the script of the location does not
/// run. GET implies HEAD.
#[test]
fn limit_except() {
    let text = "location / { limit_except GET { allow all; } return 200 x; }";
    assert_eq!(ask(text, "/"), "200 x");
    assert_eq!(ask(text, "HEAD /"), "200");
    assert_eq!(ask(text, "POST /f.txt"), "405");
    let denied = "location / { error_page 403 =200 /x.html; limit_except GET { deny all; } proxy_pass http://u/v; } location = /x.html { }";
    assert_eq!(ask(denied, "/a"), "up u GET /va");
    assert_eq!(ask(denied, "POST /a"), "200 file /r/x.html");
    let inherited = "location /a { limit_except GET { allow all; } proxy_pass http://u/v; }";
    assert_eq!(ask(inherited, "POST /a1"), "up u POST /v1");
    let gif = "location /a { limit_except GET { allow all; } empty_gif; }";
    assert_eq!(ask(gif, "/a1"), "200");
    assert_eq!(ask(gif, "POST /a1"), "404");
}

/// A trusted proxy sends the address of the client.
#[test]
fn real_addresses() {
    let text = "set_real_ip_from 127.0.0.1; location / { allow 9.9.9.9; deny all; try_files /f.txt =404; }";
    assert_eq!(ask(text, "/"), "403");
    let asked = Asked { headers: &["X-Real-IP: 9.9.9.9"], ..Asked::default() };
    assert_eq!(asked.of(text), "200 file /r/f.txt");
    assert_eq!(Asked { headers: &["X-Real-IP: x"], ..Asked::default() }.of(text), "403");
    assert_eq!(asked.of(&text.replace("from 127.0.0.1", "from 10.0.0.0/8")), "403");
    let chain =
        Asked { headers: &["X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 2.2.2.2, 9.9.9.9"], ..Asked::default() };
    let chained = format!("real_ip_header X-Forwarded-For; {text}");
    assert_eq!(chain.of(&chained), "200 file /r/f.txt", "the last address of the last header");
    let trusted = Asked { headers: &["X-Forwarded-For: 9.9.9.9, 127.0.0.1"], ..Asked::default() };
    assert_eq!(trusted.of(&chained), "unknown: the address of the client behind a proxy");
    let inner = "location / { set_real_ip_from 127.0.0.1; allow 9.9.9.9; deny all; return 200 $remote_addr; }
                 location /f { set_real_ip_from 127.0.0.1; allow 9.9.9.9; deny all; }";
    assert_eq!(asked.of(inner), "200 127.0.0.1", "the script runs before");
    assert_eq!(Asked { line: "/f.txt", ..asked }.of(inner), "200 file /r/f.txt");
    let both = "set_real_ip_from 127.0.0.1; return 200 $remote_addr,$realip_remote_addr;";
    assert_eq!(Asked { line: "/", ..asked }.of(both), "200 9.9.9.9,127.0.0.1");
}
