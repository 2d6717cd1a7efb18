//! Maps planned for random maps are proved, and proved maps give every tried subject the same value as before.

use nginxopt_native::first_match::ReadPatterns;
use nginxopt_native::map_block::{self, MapBlock};
use nginxopt_native::maps::{
    Compiled, LargeForms, Stays, compile, compile_keeping_captures, compile_with, read_patterns,
};
use nginxopt_native::prove_map::interpret::Interpreter;
use nginxopt_native::prove_map::{MapRefutation, Obligation, Proved, prove, prove_keeping_captures};
use nginxopt_native::quote::quote;
use proptest::prelude::*;

type Compile = fn(&MapBlock, &ReadPatterns, &str) -> Result<Compiled, Stays>;
type Prove = fn(&[u8], &[u8], Option<&ReadPatterns>) -> Result<Proved, MapRefutation>;

/// Rows of common forms over few letters, so that they often match the same subjects.
fn row() -> impl Strategy<Value = String> {
    let path =
        prop::collection::vec(prop::sample::select(vec!["/a", "/b", "/a.b", r"/a\.b", "/ab", "/A", "/[ab]"]), 1..4)
            .prop_map(|parts| parts.concat());
    let start = prop::sample::select(vec!["~^", "~^", "~^", "~*^", "~", "~^(?:/b)?"]);
    let end = prop::sample::select(vec![
        "$",
        "$",
        ".*$",
        "",
        "(.*)$",
        "/?$",
        "(/.*)?$",
        r"\z",
        ".*a$",
        "(?!b)",
        "[ab]+x",
        "(a|b)*/$",
        "(?:ab){2,}",
        "(b|/a+)?$",
    ]);
    (start, path, end, 0..4).prop_map(|(start, path, end, value)| {
        let capture = if end.contains('(') && !end.contains('!') && value == 0 { "$1" } else { "" };
        format!("    \"{start}{path}{end}\" \"v{value}{capture}\";\n")
    })
}

fn map(rows: &[String]) -> String {
    format!("map $uri $to {{\n    default none;\n    \"/a/b\" exact;\n{}}}\n", rows.concat())
}

fn compile_as_large(map: &MapBlock, patterns: &ReadPatterns, stem: &str) -> Result<Compiled, Stays> {
    compile_with(map, patterns, stem, LargeForms::ALWAYS)
}

/// The emitted text for a map, if it is compiled.
fn emitted(original: &str, compile: Compile) -> Option<Vec<u8>> {
    let block = map_block::read_one(original.as_bytes()).expect("a map");
    let compiled = compile(&block, &read_patterns(&block), "nxo_1_").ok()?;
    let mut text = b"map $uri $to {\n    \"/a/b\" exact;\n    default ".to_vec();
    quote(&compiled.default, &mut text);
    text.extend_from_slice(b";\n");
    if let Some(guard) = compiled.guard_row() {
        text.extend(guard);
        block.patterns.iter().for_each(|row| text.extend_from_slice(&original.as_bytes()[row.span.clone()]));
    }
    text.extend_from_slice(b"}\n");
    text.extend(compiled.text());
    Some(text)
}

/// Checks that what is compiled is proved, and gives the same values.
fn check(rows: &[String], subjects: &[String], compile: Compile, prove: Prove) -> Result<(), TestCaseError> {
    let original = map(rows);
    if let Some(emitted) = emitted(&original, compile) {
        let text = String::from_utf8_lossy(&emitted);
        let proof = prove(original.as_bytes(), &emitted, None);
        prop_assert!(proof.is_ok(), "{}\n{}\n{}", proof.unwrap_err(), original, text);
        prop_assert_eq!(agree(original.as_bytes(), &emitted, subjects), Ok(()), "{}\n{}", original, text);
    }
    Ok(())
}

/// Whether both texts give the same value for a subject.
fn agree(original: &[u8], emitted: &[u8], subjects: &[String]) -> Result<(), String> {
    let (before, after) = (map_block::read(original).expect("maps"), map_block::read(emitted).expect("maps"));
    let before = Interpreter::new(b"$uri", before.iter());
    let after = Interpreter::new(b"$uri", after.iter());
    for subject in subjects {
        if before.value(b"to", subject.as_bytes()) != after.value(b"to", subject.as_bytes()) {
            return Err(format!("{subject:?}"));
        }
    }
    Ok(())
}

fn subjects() -> impl Strategy<Value = Vec<String>> {
    let part = prop::sample::select(vec!["/a", "/b", "/ab", "/A", "/a.b", "/axb", "/", "b", "\n", "a", "x"]);
    prop::collection::vec(prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat()), 60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The planner's text is proved.
    #[test]
    fn compiled_is_proved(rows in prop::collection::vec(row(), 1..40), subjects in subjects()) {
        check(&rows, &subjects, compile, prove)?;
    }

    /// The planner's text with the forms for large lists is proved, too.
    #[test]
    fn large_forms_are_proved(rows in prop::collection::vec(row(), 1..40), subjects in subjects()) {
        check(&rows, &subjects, compile_as_large, prove)?;
    }

    /// The text that keeps captures is proved, too.
    #[test]
    fn kept_captures_are_proved(rows in prop::collection::vec(row(), 1..20), subjects in subjects()) {
        check(&rows, &subjects, compile_keeping_captures, prove_keeping_captures)?;
    }

    /// A text with one word replaced by another is refuted, or gives the same values.
    #[test]
    fn what_is_proved_agrees(
        rows in prop::collection::vec(row(), 4..30),
        subjects in subjects(),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
        as_large in any::<bool>(),
    ) {
        let original = map(&rows);
        if let Some(emitted) = emitted(&original, if as_large { compile_as_large } else { compile }) {
            let text = String::from_utf8(emitted).expect("ASCII");
            let words: Vec<&str> = text.split_inclusive([' ', ';', '\n']).collect();
            let (from, to) = (from.index(words.len()), to.index(words.len()));
            let mut damaged = words.clone();
            damaged[from] = words[to];
            let damaged = damaged.concat();
            if prove(original.as_bytes(), damaged.as_bytes(), None).is_ok() {
                prop_assert_eq!(agree(original.as_bytes(), damaged.as_bytes(), &subjects), Ok(()), "{}\n{}", original, damaged);
            }
        }
    }
}

/// A guard before several rows may have the same pattern as one of them. The proof does not mistake one for the other.
#[test]
fn a_row_may_stand_for_its_neighbours() {
    let starts = ["~^/a.b$", "~^/a", "~^/a.b$"].map(|pattern| format!("    \"{pattern}\" \"v0\";\n"));
    let original = map(&starts);
    let text = emitted(&original, compile_keeping_captures).expect("it is compiled");
    assert!(prove_keeping_captures(original.as_bytes(), &text, None).is_ok());
    let inside = (0..40).map(|number| format!("    \"~*bot{}\" \"v{number}\";\n", "x".repeat(39 - number)));
    let original = map(&inside.collect::<Vec<_>>());
    let text = emitted(&original, compile).expect("it is compiled");
    assert!(prove(original.as_bytes(), &text, None).is_ok());
}

/// A value may be that of several rows: one that covers the bucket and comes to it no more, and a later one.
#[test]
fn a_row_that_filters_let_pass_gives_a_value() {
    let rows = [
        ("~^/a/[ab]", "v2"),
        ("~^/b.*$", "v0"),
        ("~^/b(?!b)", "v0"),
        ("~^/[ab]/[ab](a|b)*/$", "v0$1"),
        (r"~^/a\.b$", "v0"),
        ("~^/a/?$", "v0"),
        ("~^/a.b$", "v2"),
    ];
    let original = map(&rows.map(|(pattern, value)| format!("    \"{pattern}\" \"{value}\";\n")));
    let text = emitted(&original, compile).expect("it is compiled");
    assert!(prove(original.as_bytes(), &text, None).is_ok());
}

/// Many buckets are checked in two halves in parallel. A fault in either half is found, and the first of two is
/// reported.
#[test]
fn many_buckets() {
    let rows = (0..3_000).map(|number| format!("    \"~^/P{number:04}/.*$\" v{number:04};\n"));
    let original = map(&rows.collect::<Vec<_>>());
    let text = emitted(&original, compile).expect("it is compiled");
    let text = String::from_utf8(text).expect("ASCII");
    let holds = prove(original.as_bytes(), text.as_bytes(), None).expect("it is proved");
    assert!(holds.count(Obligation::Bucket) > 2_000, "{holds:?}");
    let refuted = |faults: &[(&str, &str)]| {
        let wrong = faults.iter().fold(text.clone(), |text, (from, to)| text.replacen(from, to, 1));
        prove(original.as_bytes(), wrong.as_bytes(), None).expect_err("it is wrong")
    };
    let [first, last] = [("v0003", "v0004"), ("v2990", "v2991")];
    let [of_first, of_last, of_both] = [refuted(&[first]), refuted(&[last]), refuted(&[first, last])];
    assert!(of_first.what.contains("P0003") && of_last.what.contains("P2990"), "{of_first} {of_last}");
    assert_eq!(of_both.what, of_first.what);
    assert_eq!(of_first.counterexample.map(|subject| subject.starts_with(b"/P0003/")), Some(true));
}
