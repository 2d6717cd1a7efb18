//! Error pages (`ngx_http_special_response.c`).

use super::{Asked, ask};

/// A page that is a URI is requested with GET and without arguments. A named location keeps both.
#[test]
fn what_a_page_gets() {
    let text =
        "location /a { error_page 404 PAGE; return 404; } location /t { return 200 \"$request_method $uri?$args\"; }
                location @n { return 200 \"$request_method $uri?$args\"; }";
    assert_eq!(ask(&text.replace("PAGE", "/t"), "POST /a?q"), "404 GET /t?");
    assert_eq!(ask(&text.replace("PAGE", "/t?x=$uri"), "POST /a?q"), "404 GET /t?x=/a");
    assert_eq!(ask(&text.replace("PAGE", "/t?x=1"), "/a"), "404 GET /t?x=1");
    assert_eq!(ask(&text.replace("PAGE", "@n"), "POST /a?q"), "404 POST /a?q");
    assert_eq!(ask(&text.replace("PAGE", "/t"), "HEAD /a"), "404");
}

/// `=200` sets the status, and `=` uses that of the page. Without either, the status of the error replaces a 200.
#[test]
fn statuses_of_pages() {
    for (page, expected) in [("/t", "404 T"), ("=200 /t", "200 T"), ("= /t", "201 T"), ("=302 /t", "302 T")] {
        let text = format!("location /a {{ error_page 404 {page}; return 404; }} location /t {{ return 201 T; }}");
        assert_eq!(ask(&text, "/a"), expected, "{page}");
    }
    let text = "location /a { error_page 404 /t; return 404; } location /t { return 301 /z; }";
    assert_eq!(ask(text, "/a"), "301 -> http://h:8080/z", "a redirect of the page wins");
    let text = "location /a { error_page 404 =200 /nx; return 404; }";
    assert_eq!(ask(text, "/a"), "404", "and so does an error of the page");
}

/// Anything else is a redirect, with 302 or the status given.
#[test]
fn pages_elsewhere() {
    for (page, expected) in [
        ("https://x/$uri", "302 -> https://x//a"),
        ("=301 https://x/", "301 -> https://x/"),
        ("=200 https://x/", "302 -> https://x/"),
        ("x", "302 -> x"),
    ] {
        assert_eq!(ask(&format!("error_page 404 {page}; location /a {{ return 404; }}"), "/a"), expected, "{page}");
    }
}

/// A request gets one error page, unless they are recursive. The first of equal statuses counts, and only pages of the
/// innermost level that has any.
#[test]
fn which_page() {
    let twice =
        "RECURSIVE error_page 404 /b; error_page 403 /f.txt; location /a { return 404; } location /b { return 403; }";
    assert_eq!(ask(&twice.replace("RECURSIVE", ""), "/a"), "403");
    assert_eq!(ask(&twice.replace("RECURSIVE", "recursive_error_pages on;"), "/a"), "403 file /r/f.txt");
    assert_eq!(
        ask("error_page 404 /f.txt; error_page 404 /x.html; location /a { return 404; }", "/a"),
        "404 file /r/f.txt"
    );
    let inner = "error_page 404 /f.txt; location /a { error_page 403 /x.html; return 404; }";
    assert_eq!(ask(inner, "/a"), "404");
}

/// 494 to 497 are sent as 400, but have pages of their own.
#[test]
fn statuses_of_nginx() {
    assert_eq!(ask("error_page 497 /f.txt; location /a { return 497; }", "/a"), "400 file /r/f.txt");
    assert_eq!(ask("error_page 497 =200 /f.txt; location /a { return 497; }", "/a"), "200 file /r/f.txt");
}

/// Errors in the request line get the pages of the default server. After a bad URI, a named location is an error.
#[test]
fn errors_of_the_request_line() {
    assert_eq!(ask("error_page 400 /f.txt;", "/%"), "400 file /r/f.txt");
    assert_eq!(ask("error_page 400 @n; location @n { return 200; }", "/%"), "500");
    assert_eq!(ask("error_page 405 =200 /f.txt;", "TRACE /"), "200 file /r/f.txt");
    let two = "server { server_name d; root /r; error_page 400 /f.txt; } server { server_name m; root /r; error_page 400 /x.html; }";
    let asked = Asked { line: "/", headers: &["Host: m", "Host: m"], ..Asked::default() };
    assert_eq!(asked.of_http(two), "400 file /r/x.html", "the server of the first Host");
    let asked = Asked { line: "/%", headers: &["Host: m"], ..Asked::default() };
    assert_eq!(asked.of_http(two), "400 file /r/f.txt", "the default server");
}

/// A body that is too long causes only one error.
#[test]
fn bodies_that_are_too_long() {
    let text = "client_max_body_size 3; error_page 413 /x.html; location /b { client_max_body_size 0; return 200 b; }";
    let asked = Asked { line: "POST /r", headers: &["Content-Length: 4"], ..Asked::default() };
    assert_eq!(asked.of(text), "413 file /r/x.html");
    assert_eq!(Asked { line: "POST /b", ..asked }.of(text), "200 b");
    let asked = Asked { line: "POST /r", headers: &["Content-Length: 3"], ..Asked::default() };
    assert_eq!(asked.of(text), "404");
}

/// nginx refuses pages of statuses that have none.
#[test]
fn refused_pages() {
    for text in
        ["error_page 200 /x;", "error_page x /x;", "error_page 499 /x;", "error_page 404 =x /x;", "error_page =200 /x;"]
    {
        assert!(ask(text, "/").starts_with("refused: invalid value"), "{text}");
    }
}
