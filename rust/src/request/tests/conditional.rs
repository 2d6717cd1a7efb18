//! Conditional requests.

use super::Asked;

fn ask(headers: &[&str], text: &str, line: &str) -> String {
    Asked { line, headers, ..Asked::default() }.of(text)
}

/// A `return 200` has neither a date nor an entity tag: only `*` matches it, and it was never modified before any date.
#[test]
fn conditions_of_a_return() {
    for (header, expected) in [
        ("If-Match: \"x\"", "412"),
        ("If-Match: *", "200 t"),
        ("If-Unmodified-Since: x", "412"),
        ("If-None-Match: *", "304"),
        ("If-None-Match: \"x\"", "200 t"),
        ("If-Modified-Since: x", "200 t"),
        ("Range: bytes=0-0", "200 t"),
    ] {
        assert_eq!(ask(&["Host: h", header], "return 200 t;", "/"), expected, "{header}");
    }
    assert_eq!(ask(&["Host: h", "If-None-Match: *", "If-Modified-Since: x"], "return 200 t;", "/"), "200 t");
    assert_eq!(ask(&["Host: h", "If-Match: x"], "return 201 t;", "/"), "201 t");
    let page = "error_page 404 =200 @p; location / { return 404; } location @p { return 200 page; }";
    assert_eq!(ask(&["Host: h", "If-Match: x"], page, "/"), "412");
}

/// The dates and entity tags of other responses are unknown. Conditions do not apply to errors.
#[test]
fn conditions_of_other_responses() {
    for header in ["If-Match: x", "If-None-Match: *", "If-Modified-Since: x", "If-Unmodified-Since: x"] {
        let gif = ask(&["Host: h", header], "empty_gif;", "/");
        assert_eq!(gif, "unknown: whether the response meets the conditions of the request", "{header}");
        let file = "file /r/f.txt ?the time and size of the file, for a conditional or partial request";
        assert_eq!(ask(&["Host: h", header], "", "/f.txt"), file, "{header}");
        let page = "error_page 404 /x.html;";
        assert_eq!(ask(&["Host: h", header], page, "/nx"), "404 file /r/x.html", "{header}");
        let page = "error_page 412 416 /x.html;";
        assert!(ask(&["Host: h", header], page, "/f.txt").starts_with("unknown: "), "{header}");
    }
    assert_eq!(ask(&["Host: h", "If-Match: x"], "", "/nx"), ask(&["Host: h"], "", "/nx"));
}
