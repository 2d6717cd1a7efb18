//! Variables, maps and other tables.

use super::{Asked, ask};

/// Variables that the request determines.
#[test]
fn variables_of_the_request() {
    let asked = Asked {
        line: "POST /a%20b?x=1&Y=2",
        headers: &["Host: EX:1", "X-A: 0", "X-A: 1", "Cookie: a=1; b=2", "Content-Type: t/t", "Content-Length: 0"],
        ..Asked::default()
    };
    for (value, expected) in [
        ("$uri|$document_uri|$request_uri", "/a b|/a b|/a%20b?x=1&Y=2"),
        ("$args|$query_string|$is_args|$arg_y", "x=1&Y=2|x=1&Y=2|?|2"),
        ("$host|$http_host|$server_name", "ex|EX:1|"),
        ("$request_port|$is_request_port", "1|:"),
        ("$request_method|$server_protocol|$request", "POST|HTTP/1.1|POST /a%20b?x=1&Y=2 HTTP/1.1"),
        ("$scheme|$https|$server_addr|$server_port", "http||127.0.0.1|8080"),
        ("$remote_addr|$remote_user|$content_type|$content_length", "127.0.0.1||t/t|0"),
        ("$http_x_a|$cookie_b|$http_nx|$cookie_nx", "0, 1|2||"),
        ("$proxy_add_x_forwarded_for|$nginx_version|$status", "127.0.0.1|1.31.3|200"),
        ("$ssl_protocol|$ssl_server_name|$URI|${uri}x", "||/a b|/a bx"),
    ] {
        assert_eq!(asked.of(&format!("return 200 \"{value}\";")), format!("200 {expected}"), "{value}");
    }
    let old = Asked { version: (1, 22, 1), ..asked };
    assert_eq!(old.of("return 200 $http_x_a;"), "200 0");
}

/// A variable that nothing determines is unknown, and is named. That matters only if its value is used.
#[test]
fn variables_that_are_not_known() {
    assert_eq!(ask("return 200 $time_local;", "/"), "200 ?$time_local");
    assert_eq!(ask("set $x $pid; return 200 ok;", "/"), "200 ok");
    assert_eq!(ask("set $x $pid; if ($x) { return 200 ok; }", "/"), "unknown: $pid");
    assert_eq!(ask("return 301 /$connection;", "/"), "301 ?$connection");
    assert_eq!(ask("rewrite ^ /$nobody;", "/"), "unknown: $nobody");
    assert_eq!(ask("add_header A $msec; return 200 x;", "/"), "200 x ?$msec");
    assert_eq!(ask("proxy_method $request_id; location / { proxy_pass http://u; }", "/"), "?$request_id");
}

/// A named group replaces a header, a cookie or an argument of its name even if it does not match. A `set` does so only
/// once it runs.
#[test]
fn names_with_a_prefix() {
    let asked = Asked { line: "GET /?x=1", headers: &["Host: h", "Foo: f", "Cookie: c=1"], ..Asked::default() };
    let read = "return 200 \"$http_foo|$cookie_c|$arg_x\";";
    let set = "if ($arg_never) { set $http_foo s; set $cookie_c s; set $arg_x s; }";
    let groups = "if ($uri ~ ^/n(?<http_foo>.)(?<cookie_c>.)(?<arg_x>.)) { }";
    assert_eq!(
        (asked.of(&format!("{set} {read}")), asked.of(&format!("{groups} {read}"))),
        ("200 f|1|1".into(), "200 ||".into())
    );
    assert_eq!(ask("if ($uri ~ ^/n(?<args>.)) { } return 200 <$args>;", "/?q"), "200 <>");
}

/// Maps are computed once, unless they are volatile.
#[test]
fn maps() {
    let text = "map $arg_a $m { default d; x 1; ~^y(.*)$ <$1>; } map $args $v { volatile; default $args; }
                server { set $one $m$v; set $args a=x; return 200 $one,$m,$v; }";
    for (target, expected) in [("/?a=x", "1a=x,1,a=x"), ("/?a=yz", "<z>a=yz,<z>,a=x"), ("/?a=q", "da=q,d,a=x")] {
        assert_eq!(Asked { line: target, ..Asked::default() }.of_http(text), format!("200 {expected}"), "{target}");
    }
    let text = "map $host $m { hostnames; default d; *.x w; } server { return 200 $m; }";
    let asked = Asked { headers: &["Host: a.x"], ..Asked::default() };
    assert_eq!(asked.of_http(text), "200 w");
}

/// Tables by address, and shares.
#[test]
fn other_tables() {
    let text = "geo $g { default d; 127.0.0.0/8 l; } geo $arg_ip $i { default d; 10.0.0.0/8 t; }
                split_clients a $s { * all; } server { return 200 $g$i$s; }";
    assert_eq!(Asked { line: "/?ip=10.1.1.1", ..Asked::default() }.of_http(text), "200 ltall");
}

/// A `geo` with one value has it whatever the address is. One without a default may have the empty value, too.
#[test]
fn geo_with_one_value() {
    let one = "geo $geoip_city $g { default a; 10.0.0.0/8 a; } server { return 200 $g; }";
    assert_eq!(Asked::default().of_http(one), "200 a");
    for rows in ["default b; 10.0.0.0/8 a;", "10.0.0.0/8 a;"] {
        let several = format!("geo $geoip_city $g {{ {rows} }} server {{ return 200 $g; }}");
        assert!(Asked::default().of_http(&several).contains("$geoip_city"), "{rows}");
    }
}

/// If `geo` trusts a proxy, the address is that in a header.
#[test]
fn geo_behind_a_proxy() {
    let text = "geo $g { proxy 127.0.0.1; default d; 127.0.0.1 l; } server { return 200 $g; }";
    assert_eq!(Asked::default().of_http(text), "200 l");
    let asked = Asked { headers: &["X-Forwarded-For: 9.9.9.9"], ..Asked::default() };
    assert_eq!(asked.of_http(text), "200 ?the address of the client behind a proxy");
}

/// Variables that depend on each other without end.
#[test]
fn cycles() {
    let text = "map $a $b { default $a; } map $b $a { default $b; } server { return 200 $a; }";
    assert_eq!(Asked::default().of_http(text), "200 ?variables that depend on each other");
}

/// A filter that is not understood may change what is sent.
#[test]
fn a_set_variable_of_a_header() {
    assert_eq!(ask("set $http_x 1; return 200 $http_x;", "/"), "200 1");
    let asked = Asked { headers: &["X: 2"], ..Asked::default() };
    assert_eq!(asked.of("if ($arg_s) { set $http_x 1; } return 200 $http_x;"), "200 2");
}
