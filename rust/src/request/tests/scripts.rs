//! `set`, `if`, `return`, `break` and rewrites (`ngx_http_rewrite_module.c`).

use super::{Asked, ask};

/// Only the empty text and `0` are false.
#[test]
fn if_is_false_for_empty_and_zero() {
    let text = "if ($arg_v) { return 200 true; } return 200 false;";
    for (value, expected) in [("", "false"), ("0", "false"), ("00", "true"), ("false", "true"), ("%20", "true")] {
        assert_eq!(ask(text, &format!("/?v={value}")), format!("200 {expected}"), "{value}");
    }
    assert_eq!(ask(text, "/?V=1&v=0"), "200 true", "the first argument of the name, in any case");
}

/// `=` and `!=` compare bytes; a variable that is not set equals the empty text.
#[test]
fn if_compares_bytes() {
    let text = "if ($arg_v = a) { return 200 a; } if ($arg_v != \"\") { return 200 other; } return 200 none;";
    assert_eq!(ask(text, "/?v=a"), "200 a");
    assert_eq!(ask(text, "/?v=A"), "200 other");
    assert_eq!(ask(text, "/"), "200 none");
}

/// `-f` is a file, `-d` a folder, `-e` either; a slash behind a file makes it missing.
#[test]
fn if_asks_for_files() {
    let text = "set $o o; if (-f $document_root$uri) { set $o ${o}f; } if (-d $document_root$uri) { set $o ${o}d; }
                if (-e $document_root$uri) { set $o ${o}e; } if (!-e $document_root$uri) { set $o ${o}n; } return 200 $o;";
    for (uri, expected) in [("/f.txt", "ofe"), ("/d", "ode"), ("/d/", "ode"), ("/f.txt/", "on"), ("/nx", "on")] {
        assert_eq!(ask(text, uri), format!("200 {expected}"), "{uri}");
    }
    let elsewhere = "if (-f /elsewhere) { return 200 f; } return 200 n;";
    assert_eq!(ask(elsewhere, "/"), "unknown: whether /elsewhere exists");
}

/// A status is sent if it is below 400 or has a text. Others may have an error page. Without a text, some statuses
/// close the connection.
#[test]
fn return_sends_a_text_or_a_status() {
    for (statement, expected) in [
        ("return 200;", "200"),
        ("return 204;", "204"),
        ("return 404;", "404"),
        ("return 404 \"\";", "404"),
        ("return 404 x;", "404 x"),
        ("return 301;", "301 ->"),
        ("return 301 /a;", "301 -> http://h:8080/a"),
        ("return https://x/$host;", "302 -> https://x/h"),
        ("return 444;", "closed"),
        ("return 408;", "closed"),
        ("return 499;", "closed"),
        ("return 408 x;", "408 x"),
        ("return 497;", "400"),
        ("return 600;", "600"),
    ] {
        assert_eq!(ask(statement, "/"), expected, "{statement}");
    }
}

/// A text that evaluates to the empty string is an empty body, and leads to no error page.
#[test]
fn return_with_an_empty_variable_has_no_error_page() {
    let text = "error_page 404 =200 /x.html; location /a { return 404 $arg_e; } location /b { return 404; }";
    assert_eq!(ask(text, "/a"), "404");
    assert_eq!(ask(text, "/b"), "200 file /r/x.html");
}

/// A `?` at the end of a target drops the arguments. Another `?` separates them.
#[test]
fn rewrites_keep_or_drop_arguments() {
    for (target, expected) in [("/t", "/t?o=1"), ("/t?", "/t?"), ("/t?x=1", "/t?x=1&o=1"), ("/t?x=1?", "/t?x=1")] {
        let text = format!("rewrite ^ {target} last; location /t {{ return 200 $uri?$args; }}");
        assert_eq!(ask(&text, "/a?o=1"), format!("200 {expected}"), "{target}");
        let text = format!("rewrite ^ {target} redirect;");
        let expected = expected.strip_suffix('?').unwrap_or(expected);
        assert_eq!(ask(&text, "/a?o=1"), format!("302 -> http://h:8080{expected}"), "{target}");
    }
}

/// A target with a scheme is a redirect, whatever the flag; without a flag the script goes on, with `last` it ends.
#[test]
fn flags_of_rewrites() {
    assert_eq!(ask("rewrite ^ http://x/a;", "/"), "302 -> http://x/a");
    assert_eq!(ask("rewrite ^ $scheme://x/a last;", "/"), "302 -> http://x/a");
    assert_eq!(ask("rewrite ^ /a permanent;", "/"), "301 -> http://h:8080/a");
    let inner = "rewrite ^ /b FLAG; return 200 on$uri; location /b { return 200 b; }";
    assert_eq!(ask(&inner.replace("FLAG", ""), "/a"), "200 on/b");
    assert_eq!(ask(&inner.replace("FLAG", "last"), "/a"), "200 b");
    assert_eq!(ask(&inner.replace("FLAG", "break"), "/a"), "200 b");
    assert_eq!(ask("rewrite ^ $arg_nx;", "/"), "500", "a URI of no length");
}

/// An unescaped URI is written unchanged into a redirect.
#[test]
fn a_newline_in_the_uri_splits_the_location() {
    assert_eq!(ask("return 301 https://h$uri;", "/a%0d%0aX:1"), "301 -> https://h/a\\r\\nX:1");
}

/// A rewrite that redirects decodes escapes of bytes that need none, up to the first question mark.
#[test]
fn redirects_are_decoded() {
    assert_eq!(ask("rewrite ^/r/(.*)$ /t/$1 redirect;", "/r/a%3Fb%20c"), "302 -> http://h:8080/t/a?b%20c");
    assert_eq!(ask("rewrite ^/r/(.*)$ /t/$1 last; location /t { return 200 $uri; }", "/r/a%20%2Eb"), "200 /t/a .b");
}

/// A true `if` of a location drops `try_files` and takes its own settings; the root and the handler stay.
#[test]
fn if_changes_the_settings_of_a_location() {
    let tried = "location / { try_files /f.txt =404; if ($arg_b) { set $x 1; } }";
    assert_eq!(ask(tried, "/zz"), "200 file /r/f.txt");
    assert_eq!(ask(tried, "/zz?b=1"), "404");
    let handled = "location /g { proxy_pass http://u/v; if ($arg_b) { set $x 1; } }";
    assert_eq!(ask(handled, "/g1?b=1"), "up u GET /v1?b=1");
    let rooted = "location / { if ($arg_b) { root /al; } }";
    assert_eq!(ask(rooted, "/f.txt?b=1"), "200 file /al/f.txt");
    let passed = "location / { if ($arg_b) { proxy_pass http://u; } return 200 no; }";
    assert_eq!(ask(passed, "/?b=1"), "200 no", "the script goes on behind the block");
}

/// An `if` of a server changes no settings.
#[test]
fn if_of_a_server_changes_nothing_else() {
    let text = "if ($arg_b) { set $x 1; } try_files /f.txt =404; location / { return 200 [$x]; }";
    assert_eq!(ask(text, "/?b=1"), "200 [1]");
}

/// `break` ends the script; it loses the location only after a change of the URI.
#[test]
fn break_without_a_change() {
    let text = "location /p/ { break; proxy_pass http://u/v/; return 200 no; }";
    assert_eq!(ask(text, "/p/1"), "up u GET /v/1");
}

/// Everything after a statement that is not understood is unknown.
#[test]
fn opaque_statements() {
    let text = "if ($arg_a) { return 200 a; } lua; return 200 b;";
    assert_eq!(ask(text, "/?a=1"), "200 a");
    assert_eq!(ask(text, "/"), "unknown: Lua");
}

/// Scripts with which nginx does not start.
#[test]
fn refused_scripts() {
    for (text, message) in [
        ("set $uri /x;", "the duplicate \"uri\" variable"),
        ("set x 1;", "invalid variable name \"x\""),
        ("return 200 $;", "invalid variable name"),
        ("return 200 ${a;", "the closing bracket in \"a\" variable is missing"),
        ("return x;", "invalid return code \"x\""),
        ("rewrite ^ \"\";", "empty replacement"),
    ] {
        assert_eq!(ask(text, "/"), format!("refused: {message}"), "{text}");
    }
}

/// `set $args` changes the arguments; `set $limit_rate` is read as bytes, and one that nginx cannot read changes nothing.
#[test]
fn set_of_nginx_variables() {
    assert_eq!(ask("set $args z=1; return 200 $args,$arg_q,$arg_z,$request_uri;", "/a?q"), "200 z=1,,1,/a?q");
    assert_eq!(ask("set $limit_rate 1k; return 200 $limit_rate;", "/"), "200 1024");
    assert_eq!(ask("set $limit_rate 1m; set $limit_rate 1g; return 200 $limit_rate;", "/"), "200 1048576");
    assert_eq!(ask("set $limit_rate x; return 200 $limit_rate;", "/"), "200 0");
}

/// The version decides whether `$1` is escaped after a rewrite with arguments.
#[test]
fn captures_after_arguments_by_version() {
    let text = "rewrite ^/w/(.*)$ /w/z?x=1; set $y $1; return 200 $y;";
    let asked = Asked { line: "/w/a%20b", ..Asked::default() };
    assert_eq!(asked.of(text), "200 a b");
    let old = Asked { version: (1, 22, 1), ..asked };
    assert_eq!(old.of(text), "200 a%20b");
    assert_eq!(Asked { fixes: &["CVE-2026-42945"], ..old }.of(text), "200 a b");
}
