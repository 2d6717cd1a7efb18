//! `$1` and named groups: what sets them, what clears them, when they are escaped.

use super::ask;

/// A rewrite or an `if` that does not match clears `$1`; a location that does not match keeps it, and so do names.
#[test]
fn what_clears_captures() {
    let failed_if = "location ~ ^/a(?<n>.*)$ { if ($arg_x ~ y) { set $q 1; } return 200 [$1][$n]; }";
    assert_eq!(ask(failed_if, "/ab"), "200 [][b]");
    let failed_rewrite = "location ~ ^/a(.*)$ { rewrite ^/z /y; return 200 [$1]; }";
    assert_eq!(ask(failed_rewrite, "/ab"), "200 []");
    let location = "if ($uri ~ ^/(.)) { set $x 1; } location ~ z { return 200 no; } location / { return 200 [$1]; }";
    assert_eq!(ask(location, "/ab"), "200 [a]");
    let last = "location ~ ^/a(.*)$ { rewrite ^/nx /y; rewrite ^/(.) /$1x; return 200 [$1]; }";
    assert_eq!(ask(last, "/ab"), "200 [a]", "the last rewrite matched");
}

/// Captures live on in the locations that follow.
#[test]
fn captures_survive_internal_redirects() {
    let text = "location ~ ^/a(.*)$ { try_files /nx /t; } location /t { return 200 [$1]; }";
    assert_eq!(ask(text, "/ab"), "200 [b]");
    let text = "rewrite ^/(a)(b)$ /z$2 last; location /z { return 200 [$1$2]$uri; }";
    assert_eq!(ask(text, "/ab"), "200 [ab]/zb");
}

/// If the client's path has a `%` or a `+`, `$1` is escaped in `set` before a rewrite matched, in arguments and in
/// redirects; never in `return`, nor by name.
#[test]
fn escaped_captures() {
    let set = "location ~ ^/w/(.*)$ { set $x $1; rewrite ^/w/(.*)$ /v/$1; set $y $1; return 200 $x,$y; }";
    assert_eq!(ask(set, "/w/a%20b"), "200 a%20b,a b");
    assert_eq!(ask(set, "/w/a+b"), "200 a%2Bb,a+b");
    assert_eq!(ask(set, "/w/a&b"), "200 a&b,a&b", "nothing is escaped in a plain path");
    assert_eq!(ask("location ~ ^/w/(?<n>.*)$ { set $x $n; return 200 $x,$1; }", "/w/a%20b"), "200 a b,a b");
    let args = "rewrite ^/w/(.*)$ /v/$1?a=$1 last; location /v { return 200 $uri,$args; }";
    assert_eq!(ask(args, "/w/a%26b"), "200 /v/a&b,a=a%26b");
    assert_eq!(ask("rewrite ^/w/(.*)$ /v/$1 redirect;", "/w/a%20b"), "302 -> http://h:8080/v/a%20b");
    assert_eq!(ask("if ($uri ~ ^/w/(.*)$) { return 200 $1; }", "/w/a%20b"), "200 a b");
}

/// A group that took no part is empty, and so is one that the pattern does not have.
#[test]
fn groups_that_took_no_part() {
    assert_eq!(ask("location ~ ^/(a)|/(b)$ { return 200 [$1][$2][$3]; }", "/b"), "200 [][b][]");
}

/// A map with a pattern sets captures when it is first read, and keeps its value.
#[test]
fn maps_set_captures() {
    let text = "map $uri $m { ~^/(?<n>.)(.*)$ <$2>; } server {
        location ~ ^/a(.)c { set $x $1; set $y $m; return 200 $x,$y,$1,$2,$n,$m; } }";
    let asked = super::Asked { line: "/abcd", ..super::Asked::default() };
    assert_eq!(asked.of_http(text), "200 b,<bcd>,a,bcd,a,<bcd>");
}

/// A map that may have matched may have set captures, until the next match.
#[test]
fn captures_of_a_map_whose_row_is_unknown() {
    let answer = |script: &str| {
        let text = format!("map $msec $m {{ ~^(?<n>.)(.) x; }} server {{ location ~ ^/(.) {{ {script} }} }}");
        super::Asked { line: "/abcd", ..super::Asked::default() }.of_http(&text)
    };
    assert_eq!(answer("return 200 $1;"), "200 a");
    assert_eq!(answer("set $x $m; return 200 $1;"), "200 ?$msec");
    assert_eq!(answer("set $x $m; return 200 $n;"), "200 ?$msec");
    assert_eq!(answer("set $x $m; rewrite ^/z /y; return 200 [$n];"), "200 ?$msec");
    assert_eq!(answer("set $x $m; rewrite ^/z /y; return 200 [$1];"), "200 []");
    assert_eq!(answer("set $x $m; if ($uri ~ b(.)) { return 200 $1; }"), "200 c");
    let plain = "map $msec $m { 1 x; } server { location ~ ^/(.) { set $x $m; return 200 $1; } }";
    assert_eq!(super::Asked { line: "/abcd", ..super::Asked::default() }.of_http(plain), "200 a");
}

/// nginx computes a value twice: captures that a map of it changes are those of the map.
#[test]
fn maps_change_captures_before_them() {
    let text = |uri: &str| format!("map $uri $m {{ {uri} x; }} server {{ location ~ ^/(.) {{ return 200 $1$m; }} }}");
    let asked = super::Asked { line: "/ab", ..super::Asked::default() };
    assert_eq!(asked.of_http(&text("~(b)$")), "200 bx");
    assert_eq!(asked.of_http(&text("~^/(?:)()a")), "200 x");
    let longer = "unknown: a map changes captures that stand before it in the value";
    assert_eq!(asked.of_http(&text("~^/(ab)")), longer, "nginx answers with 500, or writes beyond its memory");
    let old = super::Asked { version: (1, 22, 1), ..asked };
    assert_eq!(
        old.of_http(&text("~^/(?:)()a")),
        "unknown: a map changes captures that stand before it in the value",
        "older versions leave garbage",
    );
}

/// So are the variables of named groups. Outside of scripts a volatile map is looked up once.
#[test]
fn maps_change_groups_before_them() {
    let http = |statement: &str| {
        format!(
            "map $n $v {{ volatile; a A; b B; }} map $uri $m {{ volatile; ~^/(?<n>.) .; }}
            server {{ location ~ ^/.(?<n>.) {{ {statement} }} }}"
        )
    };
    let asked = super::Asked { line: "/ab", ..super::Asked::default() };
    assert_eq!(asked.of_http(&http("return 200 $n$m;")), "200 a.");
    assert_eq!(asked.of_http(&http("return 200 $v$m$n;")), "200 B.a");
    assert_eq!(asked.of_http(&http("set $x $v$m$n; return 200 $x;")), "200 A.a");
}
