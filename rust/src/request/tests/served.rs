//! Files, folders, and handlers of nginx.

use super::ask;

/// GET and HEAD get a file; other methods do not. A folder is redirected, with its arguments.
#[test]
fn static_files() {
    for (line, expected) in [
        ("/f.txt", "200 file /r/f.txt"),
        ("HEAD /f.txt", "200 file /r/f.txt"),
        ("POST /f.txt", "405"),
        ("PUT /f.txt", "405"),
        ("/nx", "404"),
        ("/d", "301 -> http://h:8080/d/"),
        ("POST /d?a=b", "301 -> http://h:8080/d/?a=b"),
        ("/f.txt/x", "404"),
    ] {
        assert_eq!(ask("", line), expected, "{line}");
    }
}

/// An `alias` replaces the name of its own location, also of a nested one. In a location with a pattern, it replaces
/// the whole path.
#[test]
fn aliases() {
    let text = "location /a/ { alias /al/; location ~ txt$ { } location ~ ^/a/(s.*)$ { alias /al/$1; } }
                location /b { alias /al/; }";
    assert_eq!(ask(text, "/a/f.txt"), "200 file /al/f.txt");
    assert_eq!(ask(text, "/a/sub/"), "200 file /al/sub/index.html");
    assert_eq!(ask(text, "/b../f.txt"), "404", "/al/../f.txt");
    let folder = "301 -> http://h:8080/im/x/index.html/";
    assert_eq!(ask("location ~ ^/im/ { alias /al/; }", "/im/x/"), folder, "each path is the folder");
}

/// A relative root is below the prefix of nginx.
#[test]
fn roots() {
    assert_eq!(ask("location / { root x/; }", "/f"), "unknown: whether /n/x/f exists");
    assert_eq!(ask("location / { root $arg_r/x; }", "/f?r=y"), "unknown: whether /n/y/x/f exists");
    assert_eq!(ask("location / { root /$arg_r; }", "/f.txt?r=r"), "200 file /r/f.txt");
    let asked = super::Asked { line: "/f", ..super::Asked::default() };
    assert_eq!(asked.of_http("server { }"), "unknown: whether /n/html/f exists");
}

/// nginx refuses a root that contains the variable of the root itself.
#[test]
fn refused_roots() {
    let message = "refused: the $document_root variable cannot be used in the \"root\" directive";
    assert_eq!(ask("location / { root ${document_root}/d; }", "/"), message);
}

/// A handler answers instead of files, for GET and HEAD.
#[test]
fn handlers() {
    let text = "location /g { empty_gif; } location /s { stub_status; } location /m { mp4; }";
    assert_eq!(ask(text, "/g"), "200");
    assert_eq!(ask(text, "POST /g"), "405");
    assert_eq!(ask(text, "/s"), "200");
    assert_eq!(ask(text, "/m.mp4"), "404");
    assert_eq!(ask(text, "/m.mp4?start=1"), "unknown: a part of a media file");
}

/// `$request_filename` is empty if an alias gives no path, and stays empty from then on.
#[test]
fn request_filename() {
    let text = "location /al/ { alias /al/; rewrite ^ /zzz/f.txt; return 200 [$request_filename]; }";
    assert_eq!(ask(text, "/al/q"), "200 [/al//f.txt]");
    let fixed = super::Asked { line: "/al/q", fixes: &["CVE-2026-15176"], ..super::Asked::default() };
    assert_eq!(fixed.of(text), "200 []");
    assert_eq!(ask("location / { return 200 $document_root|$request_filename; }", "/x"), "200 /r|/r/x");
}
