//! The requests that upstreams get.

use super::{Asked, ask};

/// If the directive has no URI, the upstream gets the target as the client sent it. After any change, it gets the
/// escaped URI with the arguments.
#[test]
fn proxies_without_a_uri() {
    let text = "location /a { STATEMENT proxy_pass http://u; }";
    let of = |statement: &str, uri: &str| ask(&text.replace("STATEMENT", statement), uri);
    assert_eq!(of("", "/a%2f?q"), "up u GET /a%2f?q");
    assert_eq!(of("set $args z;", "/a%2f?q"), "up u GET /a/?z");
    assert_eq!(of("rewrite ^ /a%20 break;", "/a"), "up u GET /a%2520");
    assert_eq!(of("rewrite ^ \"/a b\" break;", "/a?q"), "up u GET /a%20b?q");
}

/// The URI of the directive replaces the name of the location.
#[test]
fn proxies_with_a_uri() {
    assert_eq!(ask("location /z { proxy_pass http://u/w?k=v; }", "/za?q"), "up u GET /w?k=va?q");
    assert_eq!(ask("location /z/ { proxy_pass http://u/; }", "/z/a%20b"), "up u GET /a%20b");
    assert_eq!(ask("location /z/ { proxy_pass http://u/; }", "/z/a;b"), "up u GET /a;b");
    assert_eq!(ask("location = /z { proxy_pass http://u/w; }", "/z"), "up u GET /w");
    assert_eq!(ask("location /z { location /z/y { proxy_pass http://u/w; } }", "/z/y/x"), "up u GET /w/x");
}

/// If the directive has variables, its URI is sent as it is. If it has variables and no URI, it behaves as without
/// variables.
#[test]
fn proxies_with_variables() {
    let text = "location /v/ { set $u u; proxy_pass http://$uREST; }".replace("$u", "${u}");
    let text = text.replace("set ${u} u", "set $u u");
    let of = |rest: &str, uri: &str| ask(&text.replace("REST", rest), uri);
    assert_eq!(of("/", "/v/a?q"), "up u GET /");
    assert_eq!(of("", "/v/a?q"), "up u GET /v/a?q");
    assert_eq!(of("?x", "/v/a"), "up u GET /?x");
    assert_eq!(of("/w$uri$is_args$args", "/v/a%20b?q"), "up u GET /w/v/a b?q");
    assert_eq!(ask("location / { proxy_pass $arg_u; }", "/?u=x"), "500", "no URL");
}

/// Named locations and errors keep or lose the client's own target.
#[test]
fn proxies_behind_redirects() {
    let text = "location /a { try_files /nx @n; } location @n { proxy_pass http://u; }
                location /b { error_page 404 /p; return 404; } location /p { proxy_pass http://u; }";
    assert_eq!(ask(text, "/a%2f?q"), "up u GET /a%2f?q");
    assert_eq!(ask(text, "/b?q"), "404 up u GET /p");
}

/// gRPC passes a path, and other protocols pass parameters.
#[test]
fn other_protocols() {
    assert_eq!(ask("location / { fastcgi_pass unix:/f.sock; }", "/a"), "up unix:/f.sock GET");
    assert_eq!(ask("location / { grpc_pass grpc://g:1; }", "/a%20?q"), "up g:1 GET /a%20?q");
    assert_eq!(ask("location / { rewrite ^ \"/ b\" break; grpc_pass g:1; }", "/a"), "up g:1 GET /%20b");
    assert_eq!(ask("location / { memcached_pass m:1; }", "POST /"), "405");
}

/// The last handler of a location counts, and a method may be set.
#[test]
fn handlers_and_methods() {
    assert_eq!(ask("location / { empty_gif; proxy_pass http://u; }", "/a"), "up u GET /a");
    assert_eq!(ask("location / { proxy_pass http://u; fastcgi_pass f:1; }", "/a"), "up f:1 GET");
    assert_eq!(ask("location / { proxy_method PUT; proxy_pass http://u; }", "/a"), "up u PUT /a");
}

/// If a location `/a/` passes requests on, nginx redirects `/a` to its escaped name.
#[test]
fn missing_slashes() {
    let text =
        "location \"/s p/\" { proxy_pass http://u; } location /n/ { return 200 n; } location / { return 200 r; }";
    assert_eq!(ask(text, "/s%20p?q"), "301 -> http://h:8080/s%20p/?q");
    assert_eq!(ask(text, "POST /s%20p"), "301 -> http://h:8080/s%20p/");
    assert_eq!(ask(text, "/n"), "200 r");
    let old = Asked { line: "/s%20p", version: (1, 20, 0), ..Asked::default() };
    assert_eq!(old.of(text), "301 -> http://h:8080/s p/");
}

/// nginx refuses a URI in a location whose name it cannot replace.
#[test]
fn refused_uris() {
    for text in [
        "location ~ a { proxy_pass http://u/w; }",
        "location @n { proxy_pass http://u/w; }",
        "location / { if ($arg_a) { proxy_pass http://u/w; } }",
        "location / { limit_except GET { proxy_pass http://u/w; } }",
    ] {
        assert!(ask(text, "/").starts_with("refused: \"proxy_pass\" cannot have URI part"), "{text}");
    }
    assert_eq!(ask("location / { proxy_pass u; }", "/"), "refused: invalid URL prefix");
}
