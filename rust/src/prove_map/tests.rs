//! Correct emitted texts, and the obligation that refutes each fault put into them.

use super::row::as_text;
use super::{MapRefutation, Obligation, Proved, prove};
use crate::first_match::ReadPatterns;
use crate::map_block::read_one;

mod faults;
mod programs;

use faults::FAULTS;
use programs::*;

/// Returns the verdict. Checks that it does not change with patterns that have been read before, or with those of
/// another map.
fn verdict(original: &str, emitted: &str) -> Result<Proved, MapRefutation> {
    let verdict = prove(original.as_bytes(), emitted.as_bytes(), None);
    let Ok(map) = read_one(original.as_bytes()) else { return verdict };
    let texts: Vec<_> = map.patterns.iter().map(|row| as_text(&row.pattern, row.caseless)).collect();
    let patterns = ReadPatterns::of(&texts.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    for _ in 0..100 {
        patterns.first().expect("a small index").first(&[b'x'; 60], texts.len());
    }
    for patterns in [patterns, ReadPatterns::of(&[b"^/other"])] {
        assert_eq!(prove(original.as_bytes(), emitted.as_bytes(), Some(&patterns)), verdict, "{emitted}");
    }
    verdict
}

fn proved(original: &str, emitted: &str) -> Proved {
    verdict(original, emitted).unwrap_or_else(|refutation| panic!("{refutation}\n{emitted}"))
}

fn refuted(original: &str, emitted: &str) -> MapRefutation {
    verdict(original, emitted).expect_err(emitted)
}

/// A text without a fault is proved, and what was checked is counted.
#[test]
fn tree() {
    let proved = proved(ORIGINAL, TREE);
    for (obligation, count) in [
        (Obligation::Bucket, 3),
        (Obligation::Empty, 1),
        (Obligation::Cover, 1),
        (Obligation::Guard, 3),
        (Obligation::ExactAnswer, 6),
        (Obligation::Newline, 1),
        (Obligation::Trie, 1),
    ] {
        assert_eq!(proved.count(obligation), count, "{}", obligation.name());
    }
    assert_eq!(proved.counts().count(), Obligation::ALL.len());
}

/// The other forms are proved, too.
#[test]
fn forms() {
    assert!(proved(ORIGINAL_CHUNKS, CHUNKS).count(Obligation::Chunk) >= 3);
    assert!(proved(ORIGINAL_PICK, PICK).count(Obligation::Number) >= 5);
    assert!(proved(ORIGINAL_EFFORT, EFFORT).count(Obligation::Floating) >= 3);
    assert_eq!(proved(ORIGINAL_FEW, FEW).count(Obligation::Guard), 3);
    assert_eq!(proved(ORIGINAL_SMALL, SMALL).count(Obligation::ExactKey), 3);
    assert_eq!(proved(ORIGINAL_FRONT, FRONT).count(Obligation::Front), 6);
    assert_eq!(proved(ORIGINAL_ROOTED, ROOTED).count(Obligation::Front), 5);
    assert_eq!(proved(ORIGINAL_SEGMENT, SEGMENT).count(Obligation::Guard), 4);
    let families = proved(ORIGINAL_FAMILY, FAMILY);
    assert_eq!([Obligation::Family, Obligation::Probe].map(|obligation| families.count(obligation)), [7, 6]);
    assert_eq!(proved(ORIGINAL_ENDS, ENDS).count(Obligation::Family), 2);
    for (original, emitted) in [(ORIGINAL_OWN, OWN), (ORIGINAL_GUARDED, GUARDED)] {
        assert!(proved(original, emitted).count(Obligation::Pick) >= 2);
    }
}

/// Numbers that values begin with tell the order of rows only if they ascend, and are of one length.
#[test]
fn own_numbers() {
    for (old, new) in [("02 b", "05 b"), ("02 b", "01 b"), ("02 b", "2 b"), ("02 b", "02b"), ("02 b", "x2 b")] {
        let [original, emitted] = [ORIGINAL_OWN, OWN].map(|text| text.replace(old, new));
        assert_eq!(refuted(&original, &emitted).obligation, Obligation::Pick, "{new}");
    }
    let [original, emitted] = [ORIGINAL_OWN, OWN].map(|text| text.replacen("$to {", "$to { default d;", 1));
    assert_eq!(refuted(&original, &emitted.replace("default d; default", "default")).obligation, Obligation::Pick);
}

/// Each fault changes the text, and is refuted by the obligation that it breaks.
#[test]
fn faults() {
    let mut mistakes = Vec::new();
    for (program, old, new, obligation) in FAULTS {
        let (original, right) = PROGRAMS[*program];
        let wrong = right.replace(old, new);
        assert_ne!(wrong, right, "{old}");
        match verdict(original, &wrong) {
            Ok(_) => mistakes.push(format!("proved: {old} -> {new}")),
            Err(refutation) if refutation.obligation != *obligation => {
                mistakes.push(format!("{}: {old} -> {new}: {refutation}", obligation.name()));
            }
            Err(_) => {}
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

/// A key may have the value of a row that covers it also if filters let all its subjects pass, with later rows that the
/// filters need not let pass. It may have no other value.
#[test]
fn covers_behind_filters() {
    let rows = r#""~^/c/foo" 4; "~^/c/[a-z]*$" 5; "~^/b/" 3;"#;
    let [original, emitted] = [ORIGINAL_APART, APART].map(|text| text.replace(r#""~^/b/" 3;"#, rows));
    let emitted = emitted
        .replace("/[ab]/", "/(?:[ab]/|c/(?:foo|))")
        .replace(r#""/b/" 3; default d; }"#, r#""/b/" 3; "/c/foo" 4; "/c/" $m_leaf; default d; }"#)
        + r#"map $uri $m_leaf { "~^/c/[a-z]*$" 5; default d; }"#;
    assert!(proved(&original, &emitted).count(Obligation::Cover) >= 3);
    assert_eq!(
        refuted(&original, &emitted.replace(r#""/c/foo" 4; "/c/" "#, r#""/c/foo" 3; "/c/" "#)).obligation,
        Obligation::Bucket
    );
    let later = |text: &str| text.replace(r#""~^/c/foo" 4; "~^/c/[a-z]*$" 5;"#, r#""~^/c/[a-z]*$" 5; "~^/c/foo" 4;"#);
    assert_eq!(refuted(&later(&original), &later(&emitted)).obligation, Obligation::Bucket);
}

/// A row of a table must not be tried before an earlier row outside the table that may match the same subject.
#[test]
fn tables_in_order() {
    let (row, other) = (r#""~^/w/xyzabc" 5;"#, r#""~^/w/x[a-z]+" 7;"#);
    let original = ORIGINAL_FRONT.replace(row, "ROW").replace(other, row).replace("ROW", other);
    let refutation = refuted(&original, FRONT);
    assert_eq!(refutation.obligation, Obligation::Order);
    assert!(refutation.counterexample.is_some_and(|subject| subject.starts_with(b"/w/xyzabc")));
}

/// A table looks up subjects in lower case, so a row with capital letters after the captured piece cannot have a key.
#[test]
fn tables_with_capital_letters() {
    let capital = |text: &str| text.replace("the-company", "the-Company");
    assert_eq!(refuted(&capital(ORIGINAL_FRONT), &capital(FRONT)).obligation, Obligation::Front);
    let whole = capital(FRONT).replace("a[^A-Z]{16}", "about-the-Company");
    proved(&capital(ORIGINAL_FRONT), &whole);
    proved(&capital(ORIGINAL_FRONT), &whole.replace(r#""/about-the-Company" 0"#, r#""/about-the-company" 0"#));
}

/// A row that is open at its end, or has no slash, cannot be found by what follows the last slash of a subject.
#[test]
fn segments_of_other_rows() {
    for row in ["/about", "about$", r"/about\z", "/(about)$", "[/x]about$", "/about/?$", "/about|/x$"] {
        let [original, emitted] = [ORIGINAL_SEGMENT, SEGMENT].map(|text| text.replace("~/about$", &format!("~{row}")));
        assert_eq!(refuted(&original, &emitted).obligation, Obligation::Guard, "{row}");
    }
}

/// A table cannot hold the value of a row with captures, or of a row on which PCRE may give up.
#[test]
fn tables_of_other_rows() {
    let captures = ORIGINAL_FRONT.replace(r#"/v1.0/ab" 1;"#, r#"/v1.0/ab(.*)" "$1";"#);
    let emitted = FRONT.replace(r#""/v1.0/ab" 1;"#, r#""/v1.0/ab" "$1";"#);
    assert_eq!(refuted(&captures, &emitted).obligation, Obligation::Captures);
    let row = ORIGINAL_FRONT.replace("~^/v1.0/ab\"", "~^/v1.0/ab.*$\"");
    assert_eq!(refuted(&row, FRONT).obligation, Obligation::Front);
}

/// If some subject shows a fault, the refutation names a subject for which the two texts give different values.
#[test]
fn counterexamples() {
    let seen = FAULTS.iter().filter(|(program, old, new, _)| {
        let (original, right) = PROGRAMS[*program];
        refuted(original, &right.replace(old, new)).counterexample.is_some()
    });
    assert!(seen.count() * 20 >= FAULTS.len() * 11);
}

/// `$request_uri` has no newline, so `.*$` matches everything that follows, and `$` only the end of the subject.
#[test]
fn subjects_without_newlines() {
    let original = r#"map $request_uri $to { default d; "~^/a/.*$" 1; "~^/b$" 2; }"#;
    let emitted = r#"map $request_uri $to { default $m_found; }
        map $m_listed $m_found { "" $m_tree; default $m_small; }
        map $request_uri $m_small { "~[A-Z]" $m_tree; default $m_listed; }
        map $request_uri $m_listed { "/b" 2; }
        map $request_uri $m_prefix { "~^(?<m_key>/a/)" $m_key; }
        map $m_prefix $m_tree { "/a/" 1; default d; }"#;
    proved(original, emitted);
    proved(&original.replace("request_uri", "{request_uri}"), &emitted.replace("request_uri", "{request_uri}"));
    for source in ["uri", "args", "http_x", "request_urix"] {
        let [original, emitted] = [original, emitted].map(|text| text.replace("request_uri", source));
        let refutation = refuted(&original, &emitted);
        assert_eq!(refutation.obligation, Obligation::Cover);
        assert!(refutation.counterexample.is_some_and(|subject| subject.contains(&b'\n')));
    }
    let wrong = emitted.replace(r#""/b" 2; "#, "");
    assert_eq!(refuted(original, &wrong).counterexample.as_deref(), Some(&b"/b"[..]));
}

/// Some rows make PCRE give up only on subjects with an inner newline. Their values may be used where there are none.
#[test]
fn rows_that_answer_lines() {
    let original = r#"map $request_uri $to { default d; "~^/a(.*).*$" 1; "~^/b" 2; "~^/c" 3; }"#;
    let emitted = r#"map $request_uri $to { default $m_tree; }
        map $request_uri $m_prefix { "~^(?<m_key>/[abc])" $m_key; }
        map $m_prefix $m_tree { "/a" 1; "/b" 2; "/c" 3; default d; }"#;
    assert_eq!(proved(original, emitted).count(Obligation::Cover), 3);
    let [original, emitted] = [original, emitted].map(|text| text.replace("request_uri", "uri"));
    assert_eq!(refuted(&original, &emitted).obligation, Obligation::Effort);
}

/// A row of the original that matches everything counts as a row also if it has a number, and not as a step to the next
/// map.
#[test]
fn numbered_rows_that_match_anything() {
    let original = ORIGINAL_PICK.replace(r#""~e$" 5;"#, r#""~^" 5;"#);
    let emitted = PICK.replace(r#""~e$" "05|5";"#, r#""~^" "05|5";"#);
    proved(&original, &emitted);
    assert_eq!(refuted(&original, &emitted.replace("05|5", "05|4")).obligation, Obligation::End);
}

/// Values that a bucket may and may not have instead of rows.
#[test]
fn values() {
    let original = r#"map $uri $to { default d; "~^/a(.*)" "$1"; "~^/b(?<n>.*)" 2; "~" 3; "~^/z" 4; }"#;
    let tree = r#"map $uri $to { default $m_tree; }
        map $uri $m_prefix { "~^(?<m_key>/[ab])" $m_key; }
        map $m_prefix $m_tree { "/a" $m_a; "/b" $m_b; "" $m_rest; default d; }
        map $uri $m_a { "~^/a(.*)" "$1"; default d; } map $uri $m_b { "~^/b(?<n>.*)" 2; default d; }
        map $uri $m_rest { "~" 3; default d; }"#;
    proved(original, tree);
    for (old, new, obligation) in [
        (r#""/a" $m_a"#, r#""/a" "$1""#, Obligation::Captures),
        (r#""/b" $m_b"#, r#""/b" 2"#, Obligation::Captures),
        (r#""" $m_rest"#, r#""" 3"#, Obligation::Empty),
    ] {
        assert_eq!(refuted(original, &tree.replace(old, new)).obligation, obligation, "{old}");
    }
    let captured = original.replace("default d;", "default $1;");
    assert_eq!(refuted(&captured, &tree.replace("default d;", "default $1;")).obligation, Obligation::Captures);
}
