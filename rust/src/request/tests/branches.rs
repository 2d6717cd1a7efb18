//! Outcomes that depend on files.

use super::fixture::{branches, branches_http};

/// Each line is a condition and an outcome: `+` what exists, `-` what does not.
fn check(text: &str, line: &str, expected: &[&str]) {
    assert_eq!(branches(text, line), expected, "{text} {line}");
}

/// The same for the text of an `http` block.
fn check_http(text: &str, line: &str, expected: &[&str]) {
    assert_eq!(branches_http(text, line), expected, "{text} {line}");
}

/// A path may be a file, a folder or nothing. What is the same for two of them is one branch.
#[test]
fn files() {
    check(
        "location / { root /w; }",
        "/a",
        &["+/w/a: 200 file /w/a", "+/w/a/: 301 -> http://h:8080/a/", "-/w/a -/w/a/: 404"],
    );
    check("location / { root /w; try_files $uri =404; }", "/a", &["+/w/a: 200 file /w/a", "-/w/a: 404"]);
    check(
        "location / { root /w; if (-d $request_filename) { return 403; } return 410; }",
        "/a",
        &["+/w/a/: 403", "-/w/a/: 410"],
    );
    check(
        "location / { root /w; try_files $uri /f; } location = /f { return 200 x; }",
        "/a",
        &["+/w/a: 200 file /w/a", "-/w/a: 200 x"],
    );
}

/// What does not change the outcome leaves one branch without conditions, and what is known is none.
#[test]
fn none() {
    check("location / { root /w; if (-f /w/a) { set $x 1; } return 200 x; }", "/", &[": 200 x"]);
    check("location / { return 200 x; }", "/", &[]);
    check("", "/f.txt", &[]);
}

/// A file has nothing below it, and a folder above a file that exists is one.
#[test]
fn what_follows() {
    check(
        "location / { root /w; try_files $uri $uri/b =404; }",
        "/a",
        &["+/w/a: 200 file /w/a", "+/w/a/ +/w/a/b: 200 file /w/a/b", "-/w/a/b +/w/a/: 404", "-/w/a -/w/a/: 404"],
    );
    check(
        "location / { root /w; try_files $uri/b $uri/ =404; } location /a/ { return 200 x; }",
        "/a",
        &[
            "+/w/a/b: 200 file /w/a/b",
            "+/w/a/b/: 301 -> http://h:8080/a/",
            "-/w/a/b -/w/a/b/ +/w/a/: 301 -> http://h:8080/a/",
            "-/w/a/b -/w/a/b/ -/w/a/: 404",
        ],
    );
}

/// A folder that is asked for with a slash may be a file that is asked for without one.
#[test]
fn a_slash() {
    check(
        "location / { root /w; if (-d $request_filename) { return 403; } rewrite ^(.*)/$ $1; }",
        "/a/",
        &["+/w/a: 200 file /w/a", "+/w/a/: 403", "-/w/a -/w/a/: 404"],
    );
}

/// Behind six paths the outcome is unknown, and so is what is left behind seven branches.
#[test]
fn too_many() {
    let names: Vec<String> = (0..7).map(|name| format!("/{name}")).collect();
    let text = |count: usize| format!("location / {{ root /w; try_files {} =404; }}", names[..count].join(" "));
    assert_eq!(branches(&text(6), "/").last().unwrap(), "-/w/0 -/w/1 -/w/2 -/w/3 -/w/4 -/w/5: 404");
    assert_eq!(
        branches(&text(7), "/").last().unwrap(),
        "-/w/0 -/w/1 -/w/2 -/w/3 -/w/4 -/w/5: unknown: whether /w/6 exists"
    );
    let ifs: String = (0..4).map(|name| format!("if (-f /w/{name}) {{ set $x $x-{name}; }} ")).collect();
    let told = branches(&format!("location / {{ set $x a; {ifs} return 200 $x; }}"), "/");
    assert_eq!(told.len(), 8);
    assert_eq!(told[0], "+/w/0 +/w/1 +/w/2 +/w/3: 200 a-0-1-2-3");
    assert_eq!(told[7], ": unknown: what else exists or happens");
}

/// A folder is looked for only where the outcome depends on it, so that no branch is listed twice.
#[test]
fn folders_come_late() {
    check(
        "error_page 404 /e; location / { root /w; try_files $uri $uri.html $uri/ =404; }",
        "/a",
        &[
            "+/w/a: 200 file /w/a",
            "-/w/a +/w/a.html: 200 file /w/a.html",
            "-/w/a.html +/w/a/: 301 -> http://h:8080/a/",
            "-/w/a -/w/a.html -/w/a/ +/w/e: 404 file /w/e",
            "-/w/a -/w/a.html -/w/a/ -/w/e +/w/e.html: 404 file /w/e.html",
            "-/w/a -/w/a.html -/w/a/ -/w/e.html +/w/e/: 301 -> http://h:8080/e/",
            "-/w/a -/w/a.html -/w/a/ -/w/e -/w/e.html -/w/e/: 404",
        ],
    );
}

/// Whether a file is executable stays unknown.
#[test]
fn executable() {
    check(
        "location / { root /w; if (-x /w/a) { return 403; } return 410; }",
        "/",
        &["+/w/a: unknown: whether /w/a is executable", "+/w/a/: 403", "-/w/a -/w/a/: 410"],
    );
}

/// What an upstream answers to the subrequest of `auth_request` is an event, and whether a password is right. With
/// `satisfy any`, an address may do.
#[test]
fn events() {
    let auth = "location = /auth { proxy_pass http://u; }";
    check(
        &format!("location / {{ auth_request /auth; }} {auth}"),
        "/f.txt",
        &[
            "?the subrequest to /auth ends with 2xx: 200 file /r/f.txt",
            "!the subrequest to /auth ends with 2xx ?the subrequest to /auth ends with 401: 401",
            "!the subrequest to /auth ends with 2xx !the subrequest to /auth ends with 401 ?the subrequest to /auth ends \
         with 403: 403",
            "!the subrequest to /auth ends with 2xx !the subrequest to /auth ends with 401 !the subrequest to /auth ends \
         with 403: 500",
        ],
    );
    check(&format!("location / {{ satisfy any; allow all; auth_request /auth; }} {auth}"), "/f.txt", &[]);
}

/// Who gets which value of a `split_clients` is chance, and the last row gets the rest, which may be nothing. One value
/// that is known is none; a source that a script sets is another question.
#[test]
fn chance() {
    let split = |rows: &str| format!("split_clients $request_id $v {{ {rows} }} server {{ return 200 $v; }}");
    let both =
        ["?$v is a (10%): 200 a", "!$v is a (10%) ?$v is b (20.5%): 200 b", "!$v is a (10%) !$v is b (20.5%): 200 c"];
    check_http(&split("10% a; 20.5% b; * c;"), "/", &both);
    check_http(&split("10% a; 20.5% b; 69.5% c;"), "/", &both);
    check_http(&split("50% a;"), "/", &["?$v is a (50%): 200 a", "!$v is a (50%): 200"]);
    check_http(&split("* a;"), "/", &[]);
    let set = "split_clients $x$request_id $v { 1% a; * b; } server { set $x y; return 200 $v; }";
    check_http(set, "/", &[]);
}

/// Tables with one source split it alike: who is below 10 % is below 30 %, and who is not below 30 % is not below 10 %.
#[test]
fn shares_of_one_source() {
    let split = |source: &str| {
        format!(
            "split_clients $request_id $v {{ 10% a; * b; }} split_clients {source} $w {{ 30% c; * d; }}
             server {{ location /v {{ return 200 $v$w; }} location /w {{ return 200 $w$v; }} }}"
        )
    };
    check_http(
        &split("$request_id"),
        "/v",
        &["?$v is a (10%): 200 ac", "!$v is a (10%) ?$w is c (30%): 200 bc", "!$v is a (10%) !$w is c (30%): 200 bd"],
    );
    check_http(
        &split("$request_id"),
        "/w",
        &["?$w is c (30%) ?$v is a (10%): 200 ca", "!$v is a (10%) ?$w is c (30%): 200 cb", "!$w is c (30%): 200 db"],
    );
    assert_eq!(branches_http(&split("x$request_id"), "/v").len(), 4);
}

/// Where a request or its client is sent is asked; what a header says beside a known answer is not.
#[test]
fn chance_of_a_target() {
    let split = "split_clients $request_id $v { 10% a; * b; }";
    check_http(
        &format!("{split} server {{ location / {{ proxy_pass http://$v; }} }}"),
        "/x",
        &["?$v is a (10%): up a GET /x", "!$v is a (10%): up b GET /x"],
    );
    check_http(
        &format!("{split} server {{ return 301 http://$v; }}"),
        "/x",
        &["?$v is a (10%): 301 -> http://a", "!$v is a (10%): 301 -> http://b"],
    );
    check_http(&format!("{split} server {{ add_header X $v; return 200 x; }}"), "/", &[]);
}
