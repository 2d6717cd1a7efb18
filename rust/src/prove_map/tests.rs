//! Correct emitted texts, and the obligation that refutes each fault put into them.

use super::row::as_text;
use super::{MapRefutation, Obligation, Proved, prove};
use crate::first_match::ReadPatterns;
use crate::map_block::read_one;

mod programs;

use programs::*;

/// The verdict, which is the same with patterns that have been read and asked before, and with those of another map.
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

/// So are the other forms.
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
}
/// A fault: the text it is put into, what is replaced by what, and the obligation that refutes it.
type Fault = (usize, &'static str, &'static str, Obligation);

const FAULTS: &[Fault] = &[
    // What is read.
    (0, "map $uri $m_float", "geo $uri $m_float", Obligation::Reads),
    (0, "map $uri $to", "map $uri $other", Obligation::Reads),
    (0, r#""/x" exact; default"#, r#""/x" exact2; default"#, Obligation::OwnMap),
    (0, r#""/x" exact; default"#, "default", Obligation::OwnMap),
    (0, "$to { volatile;", "$to {", Obligation::OwnMap),
    (0, "map $uri $to", "map $request_uri $to", Obligation::OwnMap),
    (1, "$to { hostnames;", "$to {", Obligation::OwnMap),
    // Names and flags.
    (0, "$m_leaf1", "$host", Obligation::Names),
    (0, "$m_leaf1", "$d", Obligation::Names),
    (0, "$m_leaf1", "$m_Leaf", Obligation::Names),
    (0, "$m_leaf1", "$m_leaf2", Obligation::Names),
    (0, "m_key", "m_tree", Obligation::Names),
    (0, "m_key", "uri", Obligation::Names),
    (4, "(?!/a/", "(?!(?<rest>)/a/", Obligation::Names),
    (0, "$m_float { volatile;", "$m_float {", Obligation::Flags),
    (3, "$m_last { ", "$m_last { volatile; ", Obligation::Flags),
    (1, "map $host $m_leaf1 { hostnames;", "map $host $m_leaf1 {", Obligation::Flags),
    (1, "map $m_prefix $m_tree {", "map $m_prefix $m_tree { hostnames;", Obligation::Flags),
    // Kinds.
    (0, "map $uri $m_leaf1", "map $request_uri $m_leaf1", Obligation::Bucket),
    (0, "map $m_prefix $m_tree", "map $uri $m_tree", Obligation::KnownMap),
    (0, "map $m_prefix $m_tree", "map $request_uri $m_tree", Obligation::KnownMap),
    (2, "map $m_tree $m_tn", "map $uri $m_more { } map $m_tree $m_tn", Obligation::KnownMap),
    (0, r#""~z|x" $m_rows"#, r#""~z|x" $m_float"#, Obligation::Depth),
    // Rows.
    (0, r#""~^/a/d/e" 4; default $m_float"#, r#""~^/a/d/f" 4; default $m_float"#, Obligation::Row),
    (0, r#""~^/f.g$" 5; default $m_float"#, r#""~^/f.g$" 6; default $m_float"#, Obligation::Row),
    (0, r#""~^/f.g$" 5; default $m_float"#, r#""~*^/f.g$" 5; default $m_float"#, Obligation::Row),
    (0, r#""~z$" 7; "~(a|b)x" 8;"#, r#""~(a|b)x" 8; "~z$" 7;"#, Obligation::Order),
    (0, r#""~^/a/d/(.*)$" "3$1"; "~^/a/d/e" 4;"#, r#""~^/a/d/e" 4; "~^/a/d/(.*)$" "3$1";"#, Obligation::Order),
    (
        4,
        r#""~*^/a/b" 1; "~*^/a/(?<rest>.*)$" "$rest";"#,
        r#""~*^/a/(?<rest>.*)$" "$rest"; "~*^/a/b" 1;"#,
        Obligation::Order,
    ),
    (0, r#"$m_leaf1 { volatile; "~^/a/d/(.*)$" "3$1";"#, "$m_leaf1 { volatile;", Obligation::Bucket),
    (0, r#""/f" $m_leaf2"#, r#""/f" $m_leaf1"#, Obligation::Bucket),
    (0, r#""/f" $m_leaf2; "#, "", Obligation::Bucket),
    (0, r#""/a/b" 1; "#, "", Obligation::Bucket),
    (0, r#""/a/b" 1;"#, r#""/a/b" 4;"#, Obligation::Bucket),
    (0, r#""/a/b" 1;"#, r#""/a/b" "$d";"#, Obligation::Bucket),
    (1, r#" "~^B7" 5; }"#, " }", Obligation::Bucket),
    (4, r#""~^/c" 3; "#, "", Obligation::Bucket),
    (3, r#""~^http/a/b" 2; "#, "", Obligation::Bucket),
    (0, "default $m_known", "default $m_tree", Obligation::Bucket),
    (0, "$m_leaf2; default $m_float", r#"$m_leaf2; "" 8; default $m_float"#, Obligation::Bucket),
    (0, "$m_leaf2; default $m_float", r#"$m_leaf2; default "$d""#, Obligation::Bucket),
    // Tries, chunks, keys.
    (0, "b|d/)|f", "b|d)|f", Obligation::BucketKey),
    (0, "a/(?:b|d/)", "a/(?:b(?:|c)|d/)", Obligation::Trie),
    (0, "~^(?<m_key>/(?:a", "~(?<m_key>/(?:a", Obligation::Trie),
    (0, "~^(?<m_key>/(?:a", "~^(?<m_key>.(?:a", Obligation::BucketKey),
    (0, "|f))\" $m_key;", "|f))\" $m_key; default \"/f\";", Obligation::Trie),
    (0, "a/(?:b|d/)", "a/(?:b+|d/)", Obligation::Trie),
    (0, "~^(?<m_key>/(?:a/", "~*^(?<m_key>/(?:a/", Obligation::Cover),
    (0, r#""/a/b" 1;"#, r#""/a/b" 1; "/a/bc" 1;"#, Obligation::BucketKey),
    (0, "a/(?:b|d/)", "a/(?:b|B|d/)", Obligation::BucketKey),
    (1, r"a(?:\.(?:b\.|c\.)?)?", r"a(?:\.(?:b\.)?)?", Obligation::BucketKey),
    (1, "(?<m_key>b)", "(?<m_key>c)", Obligation::Chunk),
    (1, r#""b" $m_sub2;"#, r#""b" $m_sub3;"#, Obligation::Chunk),
    (1, r#""b" $m_sub2;"#, "", Obligation::Chunk),
    (1, "(?<m_key>b)", "(?<m_key>b|c)", Obligation::Chunk),
    (1, "(?<m_key>c|d)", "(?<m_key>c)", Obligation::Chunk),
    (1, "(?<m_key>c|d)", "(?<m_key>c|d|a1)", Obligation::Chunk),
    (1, r#""d" $m_sub3;"#, r#""d" $m_sub2;"#, Obligation::Chunk),
    (1, "~*^(?<m_key>b)", "~^(?<m_key>b)", Obligation::Chunk),
    (1, r#""a" $m_sub1;"#, r#""a" $m_sub1; "" $m_sub1;"#, Obligation::Chunk),
    // Guards.
    (0, r"~^(?!/f[^\n]g)", "~^(?!/f[a-z]g)", Obligation::Guard),
    (4, "~*^(?!/a/|/c)", "~*^(?!/a/)", Obligation::Guard),
    (4, "~*^(?!/a/|/c)", "~^(?!/a/|/c)", Obligation::Guard),
    (0, "~z|x", "~z", Obligation::Guard),
    (0, r#"g)" $m_float"#, r#"g)" "$d""#, Obligation::Guard),
    (1, "$m_leaf2 { hostnames;", "$m_leaf2 { hostnames; default x;", Obligation::Guard),
    (4, "~*^(?!/a/|/c)", r"~*^(?!/(a)/\1|/c)", Obligation::Pattern),
    (4, "~*^(?!/a/|/c)", "~*^(?!/a/|/c|(?:x*)*y)", Obligation::Effort),
    // What covers, and what is said at the end.
    (1, r#""a.b." $m_leaf1;"#, r#""a.b." 1;"#, Obligation::Cover),
    (0, r#""~(?s)\n." $m_newline; default $m_known"#, "default $m_known", Obligation::Cover),
    (0, r#""~(a|b)x" 8; default "$d"; }"#, r#""~(a|b)x" 8; }"#, Obligation::End),
    (2, r#""~e$" "05|5"; }"#, r#""~e$" "05|5"; default "05|5"; }"#, Obligation::End),
    (3, r#""~^" $m_last; default d;"#, r#""~^" $m_last;"#, Obligation::End),
    // Floats.
    (3, r#"$m_first { "~p$" 0;"#, r#"$m_first { "~p$" 0; "~^http/a/b" 2;"#, Obligation::Floating),
    // Newlines.
    (0, r"~(?s)\n.", r"~\n.", Obligation::Guard),
    (0, r"~(?s)\n.", r"~*(?s)\n.", Obligation::Newline),
    (0, r#"$m_newline { volatile; "~^/a/d/e" 4;"#, "$m_newline { volatile;", Obligation::Newline),
    // Exact strings.
    (0, r#""/h" "/h";"#, r#""/h" "/i";"#, Obligation::ExactKey),
    (0, r#""/h" "/h"; "#, "", Obligation::ExactKey),
    (0, r#""/h" 6; "#, "", Obligation::ExactKey),
    (0, r#""/h" "/h"; "#, r#""/h" "/h"; "/H" "/H"; "#, Obligation::ExactKey),
    (0, r"~(?s)^(.+)>\1\z", r"~(?s)^(.+)>\1", Obligation::ExactKey),
    (0, r"~(?s)^(.+)>\1\z", r"~(?is)^(.+)>\1\z", Obligation::ExactKey),
    (0, "$m_exact>$uri", "$m_exact>$request_uri", Obligation::ExactKey),
    (0, "$m_answer; default $m_tree; }", "$m_answer; default $m_float; }", Obligation::ExactKey),
    (0, "$m_tree; default $m_same", "$m_tree; default $m_tree", Obligation::ExactKey),
    (0, r#""/h\n" "/h\n"; "#, "", Obligation::ExactKey),
    (0, r#""/h" 6;"#, r#""/h" 2;"#, Obligation::ExactAnswer),
    (0, r#""/a/c" 2; "/a/c\n" 2;"#, r#""/a/c" 2; "/a/c\n" 6;"#, Obligation::ExactAnswer),
    (5, r#""/a" 1;"#, r#""/A" 1;"#, Obligation::ExactKey),
    (5, r#""/a" 1;"#, r#""/a" 1; "" 1;"#, Obligation::ExactKey),
    (5, "$m_listed { ", "$m_listed { \"/b\" 2; ", Obligation::ExactKey),
    (5, r#""/b\n" 2;"#, r#""/b\n" 2; default $m_tree;"#, Obligation::ExactKey),
    (5, r#""/b\n" 2;"#, r#""/b\n" 2; "/x" "";"#, Obligation::ExactKey),
    (5, r#""/b\n" 2;"#, r#""/b\n" 2; "/x" $host;"#, Obligation::ExactKey),
    (5, r#""~[A-Z]" $m_tree"#, r#""~[A-Z]" d"#, Obligation::ExactKey),
    (5, "default $m_listed", "default $m_tree", Obligation::ExactKey),
    (5, "[A-Z]", "[A-Y]", Obligation::ExactKey),
    (5, "~[A-Z]", "~*[A-Z]", Obligation::ExactKey),
    (5, "map $uri $m_small", "map $m_listed $m_small", Obligation::ExactKey),
    (5, "map $uri $m_listed", "map $request_uri $m_listed", Obligation::Pick),
    (5, r#""/b" 2;"#, r#""/b" 1;"#, Obligation::ExactAnswer),
    (5, r#""/b\n" 2;"#, r#""/b\n" d;"#, Obligation::ExactAnswer),
    (5, r#""/b\n" 2;"#, "", Obligation::Bucket),
    // Keys of several patterns.
    (5, "e/f))", "e/f|c/x))", Obligation::Trie),
    (5, "e/f))", "e/f)|/c/)", Obligation::Trie),
    (5, "~^(?<m_key>/A)", "~*^(?<m_key>/A)", Obligation::Trie),
    (5, "~^(?<m_key>/A)", "~^(?<m_key>/[a-f])", Obligation::BucketKey),
    (5, r#""~^(?<m_key>/A)" $m_key; "#, "", Obligation::BucketKey),
    // A table before a tree: what patterns capture.
    (6, "a[^A-Z]{16}", "a[^A-Z]{15}", Obligation::Front),
    (6, "a[^A-Z]{16}", "a[^A-Z]{1,16}", Obligation::Front),
    (6, "a[^A-Z]{16}", "a[^A-Z]{8}b[^A-Z]{7}", Obligation::Front),
    (6, "a[^A-Z]{16}", "a[^a-z]{16}", Obligation::Front),
    (6, "a[^A-Z]{16}", "a.{16}", Obligation::Front),
    (6, "y[^A-Z]{4}|(?=$)", "y[^A-Z]{4}|", Obligation::Front),
    (6, "y[^A-Z]{4}|(?=$)", "y[^A-Z]{4}|[^A-Z]{5}|(?=$)", Obligation::Front),
    (6, "0/(?:ab|cd", "0/(?:ab|ab|cd", Obligation::Front),
    (6, "0/(?:ab|cd", "0/(?:ab(?=.)|cd", Obligation::Front),
    (6, "0/(?:ab|cd", "0/(?:a|cd", Obligation::Bucket),
    (6, "html$)", "html)", Obligation::Front),
    (6, r"cd(?=[^\x0a]html$)", r"cd(?=\.html$)", Obligation::Front),
    (6, r"cd(?=[^\x0a]html$)", r"cd(?:[^\x0a]html$)", Obligation::Front),
    (6, r"cd(?=[^\x0a]html$)", r"cd(?=[^\x0a]html)x", Obligation::Front),
    (6, r"cd(?=[^\x0a]html$)", r"cd([^\x0a]html$)", Obligation::Front),
    (6, r"cd(?=[^\x0a]html$)", r"cd(?![^\x0a]html$)", Obligation::Front),
    (6, r"cd(?=[^\x0a]html$)", r"cd(?<=d)(?=[^\x0a]html$)", Obligation::Pattern),
    (6, r"~^/v1[^\x0a](?<m_key>0", r"~(?i)^/v1[^\x0a](?<m_key>0", Obligation::Front),
    (6, r"cd(?=[^\x0a]html$)", r"cd\(?=[^\x0a]html$", Obligation::Front),
    (6, r"~^/v1[^\x0a](?<m_key>0", r"~*^/v1[^\x0a](?<m_key>0", Obligation::Front),
    (6, r"~^/v1[^\x0a](?<m_key>0", r"~/v1[^\x0a](?<m_key>0", Obligation::Front),
    (6, r"~^/v1[^\x0a](?<m_key>0", r"~^/v1\.(?<m_key>0", Obligation::Front),
    (6, r"~^/v1[^\x0a](?<m_key>0", r"~^/v1[\x00-\xff](?<m_key>0", Obligation::Front),
    (6, r#""/v1.$m_key""#, r#""/v1$m_key""#, Obligation::Front),
    (6, r#""/v1.$m_key""#, r#""/v1.$m_key>""#, Obligation::Front),
    (6, r#""/v1.$m_key""#, r#""/v1.0/ab""#, Obligation::Front),
    (6, r#"/v1\.0/ef)" $m_key;"#, r#"/v1\.0/ef)" $m_key; default x;"#, Obligation::Front),
    // What leads to them.
    (6, r#""/a" $m_front1;"#, r#""/a" $m_front2;"#, Obligation::Front),
    (6, r#""/a" $m_front1;"#, r#""/a" $m_leaf;"#, Obligation::Front),
    (6, r#" "/w/" $m_front1;"#, "", Obligation::Front),
    (6, r#" "/w/" $m_front1;"#, r#" "/w/" $m_front1; default $m_front1;"#, Obligation::Front),
    (6, r#" "/w/" $m_front1;"#, r#" "/w/" $m_front1; "/x/" $m_front1;"#, Obligation::Front),
    (6, "(?:a|v1|w/)", "(?:a|v1|v|w/)", Obligation::Front),
    (6, "(?:a|v1|w/)", "(?:a|v1|w/|A)", Obligation::Front),
    (6, "(?:a|v1|w/)", "(?:a|v1|w/+)", Obligation::Trie),
    (6, "~^(?<m_key>/(?:a|v1|w/)", "~*^(?<m_key>/(?:a|v1|w/)", Obligation::Front),
    (6, "~^(?<m_key>/(?:a|v1|w/)", "~(?<m_key>/(?:a|v1|w/)", Obligation::Trie),
    // The keys.
    (6, r#""/v1.0/ab" 1;"#, r#""/v1.0/ab" 2;"#, Obligation::Front),
    (6, r#""/v1.0/ab" 1;"#, "", Obligation::Bucket),
    (6, r#""/v1.0/ab" 1;"#, r#""/v1.0/ab" 1; "" 1;"#, Obligation::Front),
    (6, r#""/v1.0/ab" 1;"#, r#""/v1.0/ab" 1; "/V1.0/AB" 1;"#, Obligation::Front),
    (6, r#""/v1.0/ab" 1;"#, r#""/v1.0/ab" 1; "~^/v1" 1;"#, Obligation::Front),
    (6, r#""/v1.0/ab" 1;"#, r#""/v1.0/ab" 1; "/about-the-companx" 1;"#, Obligation::Front),
    (6, "default $m_tree", "default d", Obligation::Trie),
    (6, r#""/v1" $m_leaf; "#, "", Obligation::Bucket),
    // Pieces that are no key, and dots in two places.
    (7, "a(?:[b]|cd|)", "a(?:|[b]|cd)", Obligation::Front),
    (7, "a(?:[b]|cd|)", "a(?:cd|)", Obligation::Front),
    (7, "a(?:[b]|cd|)", "a(?:[b]|cd|(?=.))", Obligation::Front),
    (7, "a(?:[b]|cd|)", "a(?:[^b]|cd|)", Obligation::Front),
    (7, "a(?:[b]|cd|)", "a(?:[b-c]|cd|)", Obligation::Front),
    (7, r"\.0/(?:a(?:[b]|cd|)|ef)", r"(?:\.0/(?:a(?:[b]|cd|)|ef)|)", Obligation::Front),
    (7, r#""/v1.0/ab" 0;"#, r#""/v1.0/ab" 0; "/v1.0/a" 0;"#, Obligation::Front),
    (7, r"[^\x0a\x2e]", r"[^\x0a]", Obligation::Front),
    (7, r"[^\x0a\x2e]", r"[^\x0a\x2d]", Obligation::Front),
    (7, r"[^\x0a\x2e]", r"\.", Obligation::Front),
    (7, r#""~^/v1[^\x0a\x2e](?<m_key>0/a(?:b|cd))" "/v1.$m_key";"#, "", Obligation::Front),
    (7, "0/a(?:b|cd)", "0/a(?:b|ce)", Obligation::Front),
    (7, "0/a(?:b|cd)", "0/a(?:b|cd|b)", Obligation::Front),
    // Rows that are found by the beginnings of a table.
    (7, r#""~^/w/x.*z$" 3; "~^/[w-x]/y" 5; default d"#, r#""~^/w/x.*z$" 3; default d"#, Obligation::Bucket),
    (7, r#""/w/" $m_under2;"#, r#""/w/" $m_under1;"#, Obligation::Bucket),
    (7, r#""/w/" $m_under2;"#, "", Obligation::Bucket),
    (7, r#""/x/" $m_leaf; "#, "", Obligation::Bucket),
    (7, "$m_under2; default $m_tree", "$m_under2; default d", Obligation::Bucket),
    (7, r#""/v1" $m_under1; "/w/""#, r#""/v1" $m_under1; "/W/""#, Obligation::BucketKey),
    (7, r#""/v1" $m_under1;"#, r#""/v1" $m_under1; "~^/v2" d;"#, Obligation::BucketKey),
    (7, r#""/v1" $m_under1;"#, r#""/v1" $m_under1; "" 5;"#, Obligation::Empty),
    (7, r#""~^/v1[0-9]2/b" 4; default d;"#, r#""~^/v1[0-9]2/b" 4; default x;"#, Obligation::End),
    // Guards that look at the last slash.
    (8, "|html", "", Obligation::Guard),
    (8, r"use[^\x0a]html", r"use\.html", Obligation::Guard),
    (8, "|[ab]c", "|ac", Obligation::Guard),
    (8, "/x/|", "/x/y|", Obligation::Guard),
    (8, "|about|", "|abouts|", Obligation::Guard),
    (8, "{0,16}", "{1,16}", Obligation::Pattern),
    (8, "(?>(?:[^/]", "(?:(?:[^/]", Obligation::Pattern),
    (8, "(?:[^/]*+/|about", "(?:about", Obligation::Pattern),
    (8, "|about|", "|(about)|", Obligation::Pattern),
    (8, "|about|", "|(?=about)|", Obligation::Pattern),
    (8, "|about|", "|(?:x*)*y|about|", Obligation::Effort),
    (8, "~^(?:/x/", "~*^(?:/x/", Obligation::Pattern),
    (8, "~^(?:/x/", "~^(?:(?i)/x/", Obligation::Pattern),
    (8, "~^(?:/x/", "~^(?:[/x/", Obligation::Pattern),
    // Families: what their patterns capture.
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/\x0a]*/)(.*)$", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z]*/)(.*)$", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^A-Z\x0a]*/)(.*)$", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*?/)(.*)$", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]+/)(.*)$", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/)(.*)$", Obligation::Family),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/[^/A-Z\x0a]*/)(.*)$", Obligation::Family),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(.+)$", Obligation::Family),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(.*?)$", Obligation::Family),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(?s)(.*)$", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(.*)\z", Obligation::Family),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(.*)", Obligation::Family),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(.*)$|x", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(?<m_rest>.*)$", Obligation::Probe),
    (9, r"*/[^/A-Z\x0a]*/)(.*)$", r"*/[^/A-Z\x0a]*/)(?=.)(.*)$", Obligation::Probe),
    (9, "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$", "~(?<m_key>/[^/A-Z\\x0a]*/)(.*)$", Obligation::Family),
    (9, "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$", "~*^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$", Obligation::Trie),
    (
        9,
        "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$\" $m_key;",
        "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$\" $m_key; default x;",
        Obligation::Family,
    ),
    (
        9,
        "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$\" $m_key;",
        "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$\" $m_key; \"/x\" \"/x/\";",
        Obligation::Pick,
    ),
    (
        9,
        "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$\" $m_key;",
        "~^(?<m_key>/[^/A-Z\\x0a]*/)(.*)$\" \"$m_key/\";",
        Obligation::Pick,
    ),
    (9, "[^/A-Z\\x0a]*?).html", "[^/A-Z\\x0a]*).html", Obligation::Family),
    (9, "[^/A-Z\\x0a]*).html$", "[^/A-Z\\x0a]*?).html$", Obligation::Family),
    (9, "[^/A-Z\\x0a]*)(/.*)?$", "[^/A-Z\\x0a]*?)(/.*)?$", Obligation::Family),
    (9, "[^/A-Z\\x0a]*)(/.*)?$", "[^/A-Z\\x0a]*)(.*)?$", Obligation::Effort),
    // What their tables have.
    (9, r#""/a/b/" 0;"#, r#""/a/b/" 1;"#, Obligation::Family),
    (9, r#""/a/b/" 0;"#, r#""/A/b/" 0;"#, Obligation::Probe),
    (9, r#""/a/b/" 0;"#, r#""/a/b" 0;"#, Obligation::Probe),
    (9, r#""/a/b/" 0;"#, r#""/a/b/" 0; "/a/b/" 0;"#, Obligation::Family),
    (9, r#""/a/b/" 0;"#, r#""/a/b/" 0; "~^/a" 0;"#, Obligation::Family),
    (9, r#""/x/" 6;"#, r#""/x/" 6; "" 6;"#, Obligation::Family),
    (9, r#""/x/" 6;"#, r#""/x/" 6; "/z/" 6;"#, Obligation::Family),
    (9, r#""/x/" 6; "#, "", Obligation::Bucket),
    (9, r#""/x/" 6; default $m_last"#, r#""/x/" 6; default d"#, Obligation::Bucket),
    // What leads to them.
    (9, r#""/a/c" $m_f2;"#, "", Obligation::Probe),
    (9, r#""/a/c" $m_f2;"#, r#""/a/c" $m_f3;"#, Obligation::Probe),
    (9, r#""/a/c" $m_f2;"#, r#""/a/c" $m_f2; "/A/C" $m_f7;"#, Obligation::Probe),
    (9, r#""/a/c" $m_f2;"#, r#""/a/c" $m_f2; "/a/c" $m_f2;"#, Obligation::Probe),
    (9, r#""/a/c" $m_f2;"#, r#""/a/c" $m_f2; "~^/b" $m_f2;"#, Obligation::Probe),
    (9, r#""/a/c" $m_f2;"#, r#""/a/c" $m_f2; "/z" x;"#, Obligation::Probe),
    (9, r#""/a/c" $m_f2;"#, r#""/a/c" $m_f2; "/z" $m_last;"#, Obligation::Probe),
    (9, r#""/a/c" $m_f2;"#, r#""/a/c" $m_f2; "" 1;"#, Obligation::Probe),
    (9, r#""*" $m_f1;"#, "", Obligation::Probe),
    (9, r#""*" $m_f1;"#, r#""*" $m_f2;"#, Obligation::Probe),
    (9, r#""~(?<!\.)html" "*"; "#, "", Obligation::Probe),
    (9, r#""~(?<!\.)html" "*"; "#, r#""~(?<!\.)htmx" "*"; "#, Obligation::Probe),
    (9, r#""~(?<!\.)html" "*"; "#, r#""~(?<!\.)html" "/a"; "#, Obligation::Pick),
    (9, r#""~(?<!\.)html" "*"; "#, r#""~(?<!\.)html" "*"; "~x" "*"; "#, Obligation::Pick),
    (9, r#""~(?<!\.)html" "*"; "#, r#""~(?<!\.)html" "*"; "~(?<!\.)htm" "+"; "#, Obligation::Pick),
    (9, r#""~(?<!\.)html" "*"; "#, r#""~(?<!h)html" "*"; "#, Obligation::Pick),
    (9, r#""~(?<!\.)html" "*"; "#, r#""~*(?<!\.)html" "*"; "#, Obligation::Pick),
    (9, r#""~(?<!\.)html" "*"; "~^"#, r#""~^"#, Obligation::Probe),
    (9, r"/[^./A-Z\x0a]*)", r"/[^/A-Z\x0a]*)", Obligation::Pick),
    (9, r"/[^./A-Z\x0a]*)", r"/[^.A-Z\x0a]*)", Obligation::Pick),
    (9, r"/[^./A-Z\x0a]*)", r"/[^./A-Z\x0a]+)", Obligation::Pick),
    (9, r"/[^./A-Z\x0a]*)", r"/[^./A-Z\x0a]*)/", Obligation::Pick),
    (9, r"*/[^./A-Z\x0a]*)", r"*/[^/A-Z\x0a]*/[^./A-Z\x0a]*)", Obligation::Probe),
    (9, "default $m_f7;\n}", "default $m_last;\n}", Obligation::Probe),
    (9, r#""/b/e" 3; default $m_f5"#, r#""/b/e" 3; default $m_f6"#, Obligation::Probe),
    (9, r#""/b/e" 3; default $m_f5"#, r#""/b/e" 3; default d"#, Obligation::Probe),
    // Rows that a table answers and an earlier row matches.
    (9, r#""~^/y.z" 7; "~^/a/b/c" 8;"#, r#""~^/a/b/c" 8; "~^/y.z" 7;"#, Obligation::Order),
    // What subjects end with.
    (10, r"\.(?:php|htm)$", r"\.(?:php|html)$", Obligation::Guard),
    (10, r"\.(?:php|htm)$", r"\.(?:php|htm)", Obligation::Guard),
    (10, r"\.(?:php|htm)$", r"y\.(?:php|htm)$", Obligation::Guard),
    (10, r"~\.(?:php|htm)$", r"~*\.(?:php|htm)$", Obligation::Guard),
    (10, "$m_e1; default $m_float", "$m_e1; default $m_tree", Obligation::Guard),
    (10, r#""/x/y.php" 0;"#, r#""/x/y.php" 1;"#, Obligation::Family),
    (10, r#""/x/y.php" 0;"#, r#""/x/y.php" 0; "/w/z.htm" 3;"#, Obligation::Order),
    (10, r#""/z.htm" 1;"#, r#""/z.htm" 1; "/w/z.htm" 3;"#, Obligation::Family),
    (10, r#""/z.htm" 1;"#, "", Obligation::Floating),
    (10, "~(?<m_key>/[^/A-Z\\x0a]*)$", "~(?<m_key>/[^/A-Z\\x0a]*)", Obligation::Guard),
    (10, "~(?<m_key>/[^/A-Z\\x0a]*)$", "~(?<m_key>/[^/A-Z\\x0a]*)\\z", Obligation::Family),
    (10, "~(?<m_key>/[^/A-Z\\x0a]*)$", "~(?<m_key>/[^/A-Z]*)$", Obligation::Guard),
    (10, "~(?<m_key>/[^/A-Z\\x0a]*)$", "~(?<m_key>[^/A-Z\\x0a]*)$", Obligation::Guard),
    (10, "~(?<m_key>/[^/A-Z\\x0a]*)$", "~^(?<m_key>/[^/A-Z\\x0a]*)$", Obligation::Guard),
    // Two answers.
    (2, r#""" $m_value; default $m_lower"#, r#""" $m_lower; default $m_value"#, Obligation::Pick),
    (2, r"8[0-9]*:\1[9-9]", r"8[0-9]*:\1[8-9]", Obligation::Pick),
    (2, r"8[0-9]*:\1[9-9]", r"8[0-9]*:\19", Obligation::Pick),
    (2, r"0[0-9]*:\1[1-9]|", "", Obligation::Pick),
    (2, r#""~^[0-9]+:\z" $m_fvalue;"#, r#""~^[0-9]+:\z" $m_value;"#, Obligation::Pick),
    (2, "$m_fn:$m_tn", "$m_tn:$m_fn", Obligation::Pick),
    (2, "$m_fvalue;\n    default $m_value", "$m_fvalue;\n    default $m_fvalue", Obligation::Pick),
    (2, r#"$m_fn { "~^(?<m_number>[0-9]{2})"#, r#"$m_fn { "~^(?<m_number>[0-9]{1})"#, Obligation::Pick),
    (2, r#"$m_fvalue { "~(?s)^[0-9]{2}\|"#, r#"$m_fvalue { "~^[0-9]{2}\|"#, Obligation::Pick),
    (2, r#""03|3""#, r#""01|3""#, Obligation::Number),
    (2, r#""04|4""#, r#""05|4""#, Obligation::Number),
    (2, r#""03|3""#, r#""3|3""#, Obligation::Number),
    (2, r#""00|0""#, r#""00|1""#, Obligation::Bucket),
    // Captures, and where PCRE gives up.
    (3, r#""~^" $m_last; default d;"#, "default $m_last;", Obligation::Effort),
];

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

/// A row of a table may not come before an earlier one that is not.
#[test]
fn tables_in_order() {
    let (row, other) = (r#""~^/w/xyzabc" 5;"#, r#""~^/w/x[a-z]+" 7;"#);
    let original = ORIGINAL_FRONT.replace(row, "ROW").replace(other, row).replace("ROW", other);
    let refutation = refuted(&original, FRONT);
    assert_eq!(refutation.obligation, Obligation::Order);
    assert!(refutation.counterexample.is_some_and(|subject| subject.starts_with(b"/w/xyzabc")));
}

/// A table looks up in small letters, so that a key with capital letters behind what is captured is none of its rows'.
#[test]
fn tables_with_capital_letters() {
    let capital = |text: &str| text.replace("the-company", "the-Company");
    assert_eq!(refuted(&capital(ORIGINAL_FRONT), &capital(FRONT)).obligation, Obligation::Front);
    let whole = capital(FRONT).replace("a[^A-Z]{16}", "about-the-Company");
    proved(&capital(ORIGINAL_FRONT), &whole);
    proved(&capital(ORIGINAL_FRONT), &whole.replace(r#""/about-the-Company" 0"#, r#""/about-the-company" 0"#));
}

/// A row that goes on behind its last slash, or has none, is not found by what is behind the last slash of a subject.
#[test]
fn segments_of_other_rows() {
    for row in ["/about", "about$", r"/about\z", "/(about)$", "[/x]about$", "/about/?$", "/about|/x$"] {
        let [original, emitted] = [ORIGINAL_SEGMENT, SEGMENT].map(|text| text.replace("~/about$", &format!("~{row}")));
        assert_eq!(refuted(&original, &emitted).obligation, Obligation::Guard, "{row}");
    }
}

/// The value of a row with captures does not stand in a table, and neither does a row on which PCRE may give up.
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

/// `$request_uri` has no newline, so that `.*$` matches all that begins like it, and `$` ends the subject.
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

/// On some rows PCRE gives up for subjects with a newline inside only; what they say may stand where there are none.
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

/// A row of the original that matches anything is one also where it has a number, and no step to the next map.
#[test]
fn numbered_rows_that_match_anything() {
    let original = ORIGINAL_PICK.replace(r#""~e$" 5;"#, r#""~^" 5;"#);
    let emitted = PICK.replace(r#""~e$" "05|5";"#, r#""~^" "05|5";"#);
    proved(&original, &emitted);
    assert_eq!(refuted(&original, &emitted.replace("05|5", "05|4")).obligation, Obligation::End);
}

/// What a bucket of its own would say, and what it may not.
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
