//! Redirects inside nginx: their count, what they keep, and where they start.

use super::ask;

/// Ten changes of the URI are allowed, of all kinds together; the error has no page.
#[test]
fn at_most_ten_changes() {
    let endless = "error_page 500 /x.html; location / { rewrite ^ /a last; }";
    assert_eq!(ask(endless, "/a"), "500");
    let steps = |count: usize| {
        let locations: String =
            (0..count).map(|step| format!("location = /{step} {{ rewrite ^ /{} last; }}", step + 1)).collect();
        format!("error_page 500 /x.html; {locations} location / {{ return 200 $uri; }}")
    };
    assert_eq!(ask(&steps(10), "/0"), "200 /10");
    assert_eq!(ask(&steps(11), "/0"), "500");
    let mixed = format!("error_page 418 /0; {} location = /go {{ return 418; }}", steps(10));
    assert_eq!(ask(&mixed, "/go"), "500", "an error page counts, too");
}

/// Rewrites of the server are not counted.
#[test]
fn changes_of_the_server_are_free() {
    let rewrites: String = (0..20).map(|step| format!("rewrite ^/{step}$ /{};", step + 1)).collect();
    assert_eq!(ask(&format!("{rewrites} location / {{ return 200 $uri; }}"), "/0"), "200 /20");
}

/// The script of the server runs again for a URI, not for a named location; variables stay.
#[test]
fn the_script_of_the_server_runs_again() {
    let text = "set $n ${n}x; location /a { try_files /nx /t; } location /t { return 200 $n; }
                location /b { try_files /nx @n; } location @n { return 200 $n$uri?$args; }";
    assert_eq!(ask(text, "/a?q"), "200 xx");
    assert_eq!(ask(text, "/b?q"), "200 x/b?q");
    assert_eq!(ask("error_page 503 /m; location = /m { } return 503;", "/"), "503");
    assert_eq!(ask("error_page 503 @m; return 503; location @m { rewrite ^ /f.txt break; }", "/"), "503 file /r/f.txt");
}

/// Any rewrite that matches gives access to `internal` locations. Without one, nginx answers 404.
#[test]
fn internal_locations() {
    let text = "rewrite ^/i$ /i; location /i { internal; return 200 i; }";
    assert_eq!(ask(text, "/i"), "200 i");
    assert_eq!(ask(text, "/i2"), "404");
    let nested = "location /i { internal; location /i/j { return 200 j; } }";
    assert_eq!(ask(nested, "/i/j"), "404", "and so are those in them");
}

/// A named location that does not exist is an error.
#[test]
fn unknown_named_locations() {
    assert_eq!(ask("location / { try_files /nx @n; }", "/"), "500");
}

/// A change with `break` loses the name of the location: `alias` has no path, `proxy_pass` no URI.
#[test]
fn break_loses_the_location() {
    let alias = "rewrite ^/x(.*) /al$1 break; location /al/ { alias /al/; }";
    assert_eq!(ask(alias, "/x/f.txt"), "500");
    assert_eq!(ask(alias, "/al/f.txt"), "200 file /al/f.txt");
    let proxy = "rewrite ^/x(.*) /p$1 break; location /p/ { proxy_pass http://u/v/; }";
    assert_eq!(ask(proxy, "/x/1"), "up u GET /p/1");
    assert_eq!(ask(proxy, "/p/1"), "up u GET /v/1");
    let redirected =
        "location /x { error_page 404 /p/2; rewrite ^ /y break; return 404; } location /p/ { proxy_pass http://u/v/; }";
    assert_eq!(ask(redirected, "/x"), "404 up u GET /v/2");
}

/// Without a location, the settings of the server are in force.
#[test]
fn no_location() {
    assert_eq!(ask("try_files /f.txt =404; location /a { }", "/b"), "200 file /r/f.txt");
    assert_eq!(ask("try_files /f.txt =404; location / { }", "/b"), "404");
}
