use proptest::prelude::*;

use super::{Code, Condition, FileTest, Flag, Hit, Rewrite, Run, Script};
use crate::pcre::Regex;
use crate::request::bytes::Bytes;
use crate::request::site::Statement;

fn words(text: &str) -> Vec<Bytes> {
    text.split(' ').map(Bytes::from).collect()
}

fn rewrite(pattern: &str, replacement: &str, flag: Option<&str>) -> Result<Rewrite, String> {
    let flag = flag.map(str::as_bytes);
    Rewrite::new(7, pattern.as_bytes(), replacement.as_bytes(), flag).map_err(|refused| refused.message)
}

fn run(patterns: &[&str]) -> Run {
    let rules = patterns.iter().map(|pattern| rewrite(pattern, "/x", Some("last")).unwrap());
    Run::new(rules.collect()).expect("patterns that PCRE2 takes")
}

fn code(statement: Statement) -> Result<Code, String> {
    let script = Script::new(&[statement], &[]).map_err(|refused| refused.message)?;
    Ok(script.codes.into_iter().next().expect("a code"))
}

/// A replacement that begins with a scheme is a redirect, whatever the flag; a final `?` drops the arguments.
#[test]
fn rewrites() {
    for (replacement, flag, expected, kept, adds_args) in [
        ("/b", None, Flag::None, "/b", true),
        ("/b?", Some("last"), Flag::Last, "/b", false),
        ("/b?x=1", Some("break"), Flag::Break, "/b?x=1", true),
        ("/b?x=1?", Some("redirect"), Flag::Redirect(302), "/b?x=1", false),
        ("/b", Some("permanent"), Flag::Redirect(301), "/b", true),
        ("https://h/b", None, Flag::Redirect(302), "https://h/b", true),
        ("http://h/b", Some("last"), Flag::Redirect(302), "http://h/b", true),
        ("$scheme://h", Some("permanent"), Flag::Redirect(301), "$scheme://h", true),
        ("HTTP://h", None, Flag::None, "HTTP://h", true),
        ("?", None, Flag::None, "", false),
    ] {
        let rule = rewrite("^", replacement, flag).unwrap();
        assert_eq!(
            (rule.flag, rule.adds_args, &*rule.replacement),
            (expected, adds_args, kept.as_bytes()),
            "{replacement}"
        );
    }
    assert_eq!(rewrite("^", "", None), Err("empty replacement".into()));
    assert_eq!(rewrite("^", "/b", Some("Last")), Err("invalid parameter \"Last\"".into()));
}

/// The forms of a condition, and what nginx refuses.
#[test]
fn conditions() {
    let read = |text: &str| Condition::read(7, &words(text)).map_err(|refused| refused.message);
    assert!(matches!(read("$a"), Ok(Condition::IsTrue { variable }) if *variable == *b"a"));
    assert!(matches!(read("$a = b"), Ok(Condition::Equals { value, negated: false, .. }) if *value == *b"b"));
    assert!(matches!(read("$a != b"), Ok(Condition::Equals { negated: true, .. })));
    for (text, subject, negated) in [("$a ~ ^x", "x", false), ("$a !~* ^X", "x", true)] {
        let Ok(Condition::Matches { pattern, negated: is_negated, .. }) = read(text) else { panic!("{text}") };
        assert_eq!((pattern.first(subject.as_bytes(), 0..1), is_negated), (Ok(Some(0)), negated));
    }
    for (text, expected, is_negated) in [
        ("-f /x", FileTest::File, false),
        ("!-d /x", FileTest::Directory, true),
        ("-e /x", FileTest::Exists, false),
        ("!-x /x", FileTest::Executable, true),
    ] {
        let Ok(Condition::File { test, negated, .. }) = read(text) else { panic!("{text}") };
        assert_eq!((test, negated), (expected, is_negated), "{text}");
    }
    for (text, message) in [
        ("a", "invalid condition \"a\""),
        ("$", "invalid condition \"$\""),
        ("$a b", "invalid condition \"$a\""),
        ("$a = b c", "invalid condition \"$a\""),
        ("$a == b", "unexpected \"==\" in condition"),
        ("-f", "invalid condition \"-f\""),
        ("-g /x", "invalid condition \"-g\""),
        ("!-g /x", "invalid condition \"!-g\""),
    ] {
        assert_eq!(read(text).err().as_deref(), Some(message), "{text}");
    }
    assert!(read("$a ~ (").is_err_and(|message| message.starts_with("pcre2_compile() failed")));
}

/// `return` has a code below 1000, or just a URL; `set` needs a variable.
#[test]
fn returns_and_sets() {
    let read = |text: &str| match code(Statement::Return { node: 7, args: words(text) }) {
        Ok(Code::Return(code)) => Ok((code.status, code.text.map(|text| text.escape_ascii().to_string()))),
        Ok(_) => panic!("no return"),
        Err(message) => Err(message),
    };
    assert_eq!((read("404"), read("0 a"), read("600")), (Ok((404, None)), Ok((0, Some("a".into()))), Ok((600, None))));
    assert_eq!(read("https://h"), Ok((302, Some("https://h".into()))));
    assert_eq!((read("301 /x"), read("999")), (Ok((301, Some("/x".into()))), Ok((999, None))));
    for text in ["1000", "/x", "x https://h", "https://h x", "-1", "99999999999"] {
        assert!(read(text).is_err_and(|message| message.starts_with("invalid return code")), "{text}");
    }
    let set = |variable: &str| code(Statement::Set { node: 7, variable: variable.into(), value: "1".into() });
    assert!(matches!(set("$A"), Ok(Code::Set { variable, .. }) if *variable == *b"A"));
    assert_eq!(
        (set("a").err(), set("$").err()),
        (Some("invalid variable name \"a\"".into()), Some("invalid variable name \"$\"".into()))
    );
}

/// Consecutive rewrites are one run, including those of a folded text. Their numbers are consecutive.
#[test]
fn folded_rewrites() {
    let text = b"# old\nrewrite ^/a$ /b last; rewrite \"^/c d$\" '/e;' permanent; # end\n rewrite ^/f /g;".to_vec();
    let rewrite = |node| Statement::Rewrite { node, pattern: "^/x".into(), replacement: "/y".into(), flag: None };
    let folded = Statement::Rewrites { node: 10, count: 3, text: 0, start: 0, end: text.len() };
    let script =
        Script::new(&[rewrite(9), folded, rewrite(13), Statement::Break { node: 14 }, rewrite(15)], &[text]).unwrap();
    let [Code::Rewrites(run), Code::Break { node: 14 }, Code::Rewrites(_)] = &script.codes[..] else { panic!("codes") };
    let rules: Vec<(u32, String, Flag)> =
        run.rewrites().iter().map(|rule| (rule.node, rule.replacement.escape_ascii().to_string(), rule.flag)).collect();
    let expected = [
        (9, "/y", Flag::None),
        (10, "/b", Flag::Last),
        (11, "/e;", Flag::Redirect(301)),
        (12, "/g", Flag::None),
        (13, "/y", Flag::None),
    ];
    assert_eq!(rules, expected.map(|(node, text, flag)| (node, text.to_owned(), flag)));
}

/// A pattern that PCRE2 does not compile is refused with its rule, in a folded text as well.
#[test]
fn refused_patterns() {
    let text = b"rewrite ^/a$ /b; rewrite ^/(a /b;".to_vec();
    let folded = Statement::Rewrites { node: 10, count: 2, text: 0, start: 0, end: text.len() };
    let refused = Script::new(&[folded], &[text]).err().expect("a refusal");
    assert_eq!(refused.node, 11);
    assert!(refused.message.starts_with("pcre2_compile() failed: missing closing parenthesis"));
}

/// The first rule that matches is found, from any place on, whether it is a literal or not.
#[test]
fn first_rule() {
    let run = run(&["^/a$", "^/(b|a)$", "^/a$", "/b", "^/c/?$", "^/c$"]);
    let first = |uri: &str, from| run.first(uri.as_bytes(), from).unwrap().map(|hit| hit.rule);
    for (uri, from, expected) in [
        ("/a", 0, Some(0)),
        ("/a", 1, Some(1)),
        ("/a", 2, Some(2)),
        ("/a", 3, None),
        ("/b", 0, Some(1)),
        ("/x/b", 0, Some(3)),
        ("/c/", 0, Some(4)),
        ("/c", 5, Some(5)),
        ("/a\n", 0, Some(0)),
        ("/d", 0, None),
    ] {
        assert_eq!(first(uri, from), expected, "{uri} {from}");
    }
    let hit = run.first(b"/b", 0).unwrap().unwrap();
    assert_eq!(hit.captures.groups, [Some("/b".into()), Some("b".into())]);
    assert_eq!(run.first(b"/a\n", 0).unwrap().unwrap().captures.groups, [Some("/a".into())]);
}

/// If versions of PCRE differ, or PCRE may give up, the answer is unknown, and names the rule.
#[test]
fn unknown_rules() {
    let run = run(&["^/b$", "^/a[0-9]{,3}$", "^/"]);
    assert!(run.first(b"/b", 0).is_ok_and(|hit| hit.is_some()));
    let unknown = run.first(b"/a1", 0).unwrap_err();
    assert_eq!((unknown.node, &*unknown.reason), (Some(7), "versions of PCRE differ on ^/a[0-9]{,3}$"));
}

/// Finds the first rule by trying one pattern after the other.
fn slowly(patterns: &[&str], uri: &[u8], from: usize) -> Option<(usize, Vec<Option<Bytes>>)> {
    (from..patterns.len()).find_map(|rule| {
        let groups = Regex::new(patterns[rule].as_bytes()).unwrap().captures(uri, 100_000).unwrap()?;
        Some((rule, groups.into_iter().map(|range| range.map(|range| uri[range].into())).collect()))
    })
}

proptest! {
    /// The fast search finds the same rule as trying one after the other, with the same captures.
    #[test]
    fn agrees_with_trying_all(
        rules in prop::collection::vec(prop::sample::select(&[
            "^/a$", "^/b/?$", "^/a\\.b$", "^/(a|b)$", "^/a(.*)$", "b$", "^/(.)/(?<n>.)", "(?i)^/A$", "^", "a?b", "^/ab\\z", "/(a)?(b)?$",
        ][..]), 0..12),
        uri in "/[ab./\n]{0,4}",
        from in 0usize..4,
    ) {
        let from = from.min(rules.len());
        let hit = run(&rules).first(uri.as_bytes(), from).unwrap();
        prop_assert_eq!(hit.map(|Hit { rule, captures }| (rule, captures.groups)), slowly(&rules, uri.as_bytes(), from));
    }
}
