//! Statements with which chains of redirects begin.

use super::Asked;
use crate::request::model::Model;
use crate::request::record::Silent;
use crate::request::world::World;

fn model(text: &str) -> Model {
    let server = format!("server {{ server_name h; {text} }}");
    Asked::default().model(&server).expect("a site")
}

/// For each statement, the URIs that it may answer, and `=` if it leads all of them to the same path.
fn examples(text: &str) -> Vec<String> {
    let shown = |uris: &[Vec<u8>]| uris.iter().map(|uri| uri.escape_ascii().to_string()).collect::<Vec<_>>().join(" ");
    let examples = model(text).examples(0).into_iter();
    examples.map(|example| shown(&example.uris) + if example.is_constant { " =" } else { "" }).collect()
}

/// The URIs at which chains may begin.
fn starts(text: &str) -> Vec<String> {
    let asked = Asked::default();
    let world = World { may_send_more: true, ..asked.world() };
    let starts = model(text).starts(0, &asked.request(), &world, b"http://h:8080");
    starts.into_iter().map(|start| String::from_utf8(start.uri).expect("a path")).collect()
}

/// The examples are a short path that the pattern matches, then one of the enclosing location.
#[test]
fn examples_are_of_the_pattern_and_the_location() {
    assert_eq!(examples("rewrite ^/a$ /b permanent; rewrite ^/c/(.*)$ /d/$1 redirect;"), ["/a =", "/c/"]);
    assert_eq!(examples("rewrite ^/a$ /b last; rewrite ^/a$ /b break; rewrite ^/a$ /b;"), [""; 0]);
    assert_eq!(examples("location /l/ { rewrite ^/l/(x+)$ /m/$1 last; }"), ["/l/x /l/"]);
    assert_eq!(
        examples("location ~ ^/l[0-9]$ { return 301 /x; } location ~* ^/M { return 302 $uri; }"),
        ["/l0 =", "/M"]
    );
    assert_eq!(examples("location = /e { return 301 /x$request_uri; } location @n { return 301 /y; }"), ["/e =", " ="]);
    assert_eq!(examples("return 301 $scheme://$host:$server_port/x?$args;"), ["/ ="]);
    assert_eq!(examples("if ($scheme = http) { return 301 https://$host$request_uri; } return 200;"), ["/"]);
    assert_eq!(examples(r"rewrite ^/a\ b$ /c permanent;"), [" ="]);
}

/// A URI begins no chain if another statement answers it, or if the redirect leads to no other redirect.
#[test]
fn chains_begin_where_a_redirect_may_follow() {
    assert_eq!(starts("rewrite ^/a$ /b permanent; rewrite ^/b$ /c permanent; rewrite ^/a$ /b permanent;"), ["/a"]);
    assert_eq!(starts("rewrite ^/a$ http://other/ permanent; rewrite ^/b$ http://H:99/ permanent;"), ["/b"]);
    assert_eq!(starts("location / { rewrite ^ /x last; }"), ["/"]);
    assert_eq!(
        starts("rewrite ^/a$ /b#c permanent; location = /b { if ($args) { return 200; } return 301 /d; }"),
        [""; 0]
    );
    assert_eq!(starts("rewrite ^/a$ /b#c permanent; location = /b { return 301 /d; }"), ["/a"]);
}

/// A value that doubles with each change of the URI is not computed without end.
#[test]
fn a_value_without_end_is_not_known() {
    let text = format!("location / {{ rewrite ^/(.*)$ /x{} last; }}", "$1".repeat(1000));
    let asked = Asked { line: "/abc", ..Asked::default() };
    let outcome = model(&text).answer(&asked.request(), &asked.world(), &mut Silent);
    assert_eq!(outcome.unknown.expect("a reason").reason, "a value of more than a megabyte");
}
