//! `try_files` and `index`.

use super::ask;

/// `try_files` tests a file or, with a final slash, a folder. What it finds becomes the URI, and the location stays.
#[test]
fn files_and_folders() {
    let text = "location / { try_files $uri $uri/ /x.html; }";
    assert_eq!(ask(text, "/f.txt"), "200 file /r/f.txt");
    assert_eq!(ask(text, "/d"), "301 -> http://h:8080/d/");
    assert_eq!(ask(text, "/nx"), "200 file /r/x.html");
    assert_eq!(ask("location / { try_files f.txt =404; }", "/"), "404", "glued to the root");
    assert_eq!(ask("location / { try_files /d =404; }", "/"), "404", "a folder is no file");
}

/// The last argument is a status, a named location, or a URI, which drops the arguments of the request.
#[test]
fn the_last_one() {
    for (last, expected) in [
        ("=404", "404"),
        ("=301", "301"),
        ("=200", "closed"),
        ("=444", "closed"),
        ("=0", "404"),
        ("@n", "200 n/a?q"),
        ("/t", "200 t/t?"),
        ("/t?$args", "200 t/t?q"),
        ("/t%20", "200 t/t%20?"),
        ("nx", "404"),
    ] {
        let text = format!(
            "location /a {{ try_files /nx {last}; }} location @n {{ return 200 n$uri?$args; }}
             location /t {{ return 200 t$uri?$args; }}"
        );
        assert_eq!(ask(&text, "/a?q"), expected, "{last}");
    }
    let method = "location /a { try_files /nx /t; } location /t { return 200 $request_method; }";
    assert_eq!(ask(method, "POST /a"), "200 POST");
}

/// With `alias`, the name of the location is cut from values with variables, including the last one.
#[test]
fn try_files_with_alias() {
    let text = "location /b/ { alias /al/; try_files $uri LAST; }";
    let of = |last: &str, uri: &str| ask(&text.replace("LAST", last), uri);
    assert_eq!(of("=404", "/b/f.txt"), "200 file /al/f.txt");
    assert_eq!(of("=404", "/b/nx"), "404");
    assert_eq!(of("/b/fb.html?x=$args", "/b/nx"), "404");
    assert_eq!(of("f.txt =404", "/b/nx"), "200 file /al/f.txt");
    let pattern = "location ~ ^/im/(.*)$ { alias /al/; try_files $1 =404; }";
    assert_eq!(ask(pattern, "/im/f.txt"), "200 file /al/f.txt");
}

/// If `proxy_pass` has a URI, the upstream gets the file that was found in place of the request's URI.
#[test]
fn try_files_before_a_proxy() {
    assert_eq!(ask("location /o1 { try_files /f.txt =404; proxy_pass http://u/v; }", "/o1/x"), "up u GET /vtxt");
    assert_eq!(ask("location /o1 { try_files /f.txt =404; proxy_pass http://u; }", "/o1/x"), "up u GET /o1/x");
    let short = "location /longlong { try_files /f.txt =404; proxy_pass http://u/v; }";
    assert_eq!(ask(short, "/longlong"), "up u GET /v");
    for (version, target) in [
        ((1, 22, 1), "?nginx cuts more of the URI than it has"),
        ((1, 28, 0), "?nginx cuts more of the URI than it has"),
        ((1, 28, 1), "up u GET /v"),
        ((1, 29, 3), "?nginx cuts more of the URI than it has"),
        ((1, 29, 4), "up u GET /v"),
    ] {
        let asked = super::Asked { line: "/longlong", version, ..super::Asked::default() };
        assert_eq!(asked.of(short), target, "{version:?}");
    }
}

/// nginx redirects internally to the first index that exists, and keeps the arguments.
#[test]
fn index() {
    let text = "location = / { index x.html; } location / { return 200 r$uri?$args; } location /d/ { }";
    assert_eq!(ask(text, "/?q"), "200 r/x.html?q");
    assert_eq!(ask("location /d/ { index nx g.txt; }", "/d/"), "200 file /r/d/g.txt");
    assert_eq!(ask("location /d/ { }", "/d/"), "200 file /r/d/index.html");
    assert_eq!(ask("location /d/ { }", "POST /d/"), "405");
    assert_eq!(ask("location /d/ { }", "PUT /d/"), "405");
}

/// Without an index, nginx sends a listing or 403; without the folder, 404. An index that begins with a slash is not
/// tested.
#[test]
fn folders_without_index() {
    assert_eq!(ask("location / { }", "/e/"), "403");
    assert_eq!(ask("location / { autoindex on; }", "/e/"), "200 file /r/e/");
    assert_eq!(ask("location / { autoindex on; }", "POST /e/"), "403");
    assert_eq!(ask("location / { }", "/nx/"), "404");
    assert_eq!(ask("location / { }", "/f.txt/"), "404");
    assert_eq!(ask("location /e/ { index a /t?x; } location /t { return 200 $uri?$args; }", "/e/?q"), "200 /t?x?q");
}
