//! Maps, and texts that take their place: each is proved.

pub const ORIGINAL: &str = r#"map $uri $to {
    volatile;
    default "$d";
    "/x" exact;
    "~^/a/b.*$" 1;
    "~^/a/c$" 2;
    "~^/a/d/(.*)$" "3$1";
    "~^/a/d/e" 4;
    "~^/f.g$" 5;
    "~^/h$|^/i$" 6;
    "~z$" 7;
    "~(a|b)x" 8;
}"#;

pub const TREE: &str = r#"map $uri $to { volatile; "/x" exact; default $m_lines; }
map $uri $m_lines { volatile; "~(?s)\n." $m_newline; default $m_known; }
map $uri $m_newline { volatile; "~^/a/d/e" 4; "~z$" 7; "~(a|b)x" 8; default "$d"; }
map $uri $m_exact { volatile; "/a/c" "/a/c"; "/a/c\n" "/a/c\n"; "/h" "/h"; "/h\n" "/h\n"; "/i" "/i"; "/i\n" "/i\n"; }
map $m_exact $m_known { volatile; "" $m_tree; default $m_same; }
map "$m_exact>$uri" $m_same { volatile; "~(?s)^(.+)>\1\z" $m_answer; default $m_tree; }
map $m_exact $m_answer { volatile; "/a/c" 2; "/a/c\n" 2; "/h" 6; "/h\n" 6; "/i" 6; "/i\n" 6; }
map $uri $m_prefix { volatile; "~^(?<m_key>/(?:a/(?:b|d/)|f))" $m_key; }
map $m_prefix $m_tree { volatile; "/a/b" 1; "/a/d/" $m_leaf1; "/f" $m_leaf2; default $m_float; }
map $uri $m_leaf1 { volatile; "~^/a/d/(.*)$" "3$1"; "~^/a/d/e" 4; default $m_float; }
map $uri $m_leaf2 { volatile; "~^(?!/f[^\n]g)" $m_float; "~^/f.g$" 5; default $m_float; }
map $uri $m_float { volatile; "~z|x" $m_rows; default "$d"; }
map $uri $m_rows { volatile; "~z$" 7; "~(a|b)x" 8; default "$d"; }
"#;

/// Any case, chunks, hostnames, and a row of another source.
pub const ORIGINAL_CHUNKS: &str = r#"map $host $to {
    hostnames;
    .example.com site;
    "~*^a\.b\..*$" 1;
    "~*^a\.c\." 2;
    "~*^a\." 3;
    "~*^b[0-9]" 4;
    "~^B7" 5;
    "~*^c" 6;
    "~*^d" 7;
}"#;

pub const CHUNKS: &str = r#"map $host $to { hostnames; .example.com site; default $m_tree; }
map $host $m_root { hostnames; "~*^(?<m_key>[ab]|c|d)" $m_key; }
map $m_root $m_prefix { "a" $m_sub1; "b" $m_sub2; "c" $m_sub3; "d" $m_sub3; }
map $host $m_sub1 { hostnames; "~*^(?<m_key>a(?:\.(?:b\.|c\.)?)?)" $m_key; }
map $host $m_sub2 { hostnames; "~*^(?<m_key>b)" $m_key; }
map $host $m_sub3 { hostnames; "~*^(?<m_key>c|d)" $m_key; }
map $m_prefix $m_tree { "a." 3; "a.b." $m_leaf1; "a.c." 2; "b" $m_leaf2; "c" 6; "d" 7; }
map $host $m_leaf1 { hostnames; "~*^a\.b\..*$" 1; default 3; }
map $host $m_leaf2 { hostnames; "~*^(?!b[0-9])" ""; "~*^b[0-9]" 4; "~^B7" 5; }
"#;

/// Floats between rows of the tree: the smaller number answers.
pub const ORIGINAL_PICK: &str = r#"map $uri $to {
    default d;
    "~^/a.*" 0;
    "~^/b/(.*)$" "1$1";
    "~c$" "2$host";
    "~^/c/d$" 3;
    "~^/e.*$" 4;
    "~e$" 5;
}"#;

pub const PICK: &str = r#"map $uri $to { default $m_pick; }
map $m_float1 $m_pick { "" $m_value; default $m_lower; }
map $m_tree $m_value { "~(?s)^[0-9]{2}\|(?<m_text>.*)\z" $m_text; default d; }
map $m_float1 $m_fvalue { "~(?s)^[0-9]{2}\|(?<m_text>.*)\z" $m_text; default d; }
map $m_float1 $m_fn { "~^(?<m_number>[0-9]{2})\|" $m_number; }
map $m_tree $m_tn { "~^(?<m_number>[0-9]{2})\|" $m_number; }
map "$m_fn:$m_tn" $m_lower {
    "~^([0-9]*)(?:0[0-9]*:\1[1-9]|1[0-9]*:\1[2-9]|2[0-9]*:\1[3-9]|3[0-9]*:\1[4-9]|4[0-9]*:\1[5-9]|5[0-9]*:\1[6-9]|6[0-9]*:\1[7-9]|7[0-9]*:\1[8-9]|8[0-9]*:\1[9-9])" $m_fvalue;
    "~^[0-9]+:\z" $m_fvalue;
    default $m_value;
}
map $uri $m_float1 { "~c$" "02|2$host"; default $m_float2; }
map $uri $m_float2 { "~e$" "05|5"; }
map $uri $m_prefix { "~^(?<m_key>/(?:a|b/|c/d|e))" $m_key; }
map $m_prefix $m_tree { "/a" "00|0"; "/b/" $m_leaf1; "/c/d" $m_leaf2; "/e" $m_leaf2; }
map $uri $m_leaf1 { "~^/b/(.*)$" "01|1$1"; }
map $uri $m_leaf2 { "~^(?!/c/d|/e)" ""; "~^/c/d$" "03|3"; "~^/e.*$" "04|4"; }
"#;

/// Rows on which PCRE may give up, and rows that come before all others.
pub const ORIGINAL_EFFORT: &str = r#"map "$scheme$uri" $to {
    default d;
    "~p$" 0;
    "~^http/a/(.*)/(.*)$" 1;
    "~^http/a/b" 2;
    "~^http/c" 3;
    "~(x+)+y$" 4;
}"#;

pub const EFFORT: &str = r#"map "$scheme$uri" $to { default $m_first; }
map "$scheme$uri" $m_first { "~p$" 0; default $m_tree; }
map "$scheme$uri" $m_prefix { "~^(?<m_key>http/(?:a/|c))" $m_key; }
map $m_prefix $m_tree { "http/a/" $m_leaf; "http/c" 3; default $m_last; }
map "$scheme$uri" $m_leaf { "~^http/a/(.*)/(.*)$" 1; "~^http/a/b" 2; "~^" $m_last; default d; }
map "$scheme$uri" $m_last { "~(x+)+y$" 4; default d; }
"#;

/// A few rows behind a guard.
pub const ORIGINAL_FEW: &str = r#"map $uri $to { default d; "~*^/a/b" 1; "~*^/a/(?<rest>.*)$" "$rest"; "~^/c" 3; }"#;
pub const FEW: &str =
    r#"map $uri $to { default d; "~*^(?!/a/|/c)" d; "~*^/a/b" 1; "~*^/a/(?<rest>.*)$" "$rest"; "~^/c" 3; }"#;

/// Strings without capital letters, and keys that several patterns capture.
pub const ORIGINAL_SMALL: &str = r#"map $uri $to {
    default d;
    "~^/a\z" 1;
    "~^/b$" 2;
    "~^/A\z" 3;
    "~^/c/.*" 4;
    "~^/d/.*" 5;
    "~^/e/f" 6;
}"#;

pub const SMALL: &str = r#"map $uri $to { default $m_found; }
map $m_listed $m_found { "" $m_tree; default $m_small; }
map $uri $m_small { "~[A-Z]" $m_tree; default $m_listed; }
map $uri $m_listed { "/a" 1; "/b" 2; "/b\n" 2; }
map $uri $m_prefix { "~^(?<m_key>/c/)" $m_key; "~^(?<m_key>/(?:d/|e/f))" $m_key; "~^(?<m_key>/A)" $m_key; }
map $m_prefix $m_tree { "/A" $m_leaf; "/c/" 4; "/d/" 5; "/e/f" 6; default d; }
map $uri $m_leaf { "~^/A\z" 3; default d; }
"#;

/// A table of rows before a tree.
pub const ORIGINAL_FRONT: &str = r#"map $uri $to {
    default d;
    "~^/about-the-company" 0;
    "~^/v1.0/ab" 1;
    "~^/v1.0/cd.html$" 2;
    "~^/v1\.0/ef" 3;
    "~^/w/x$" 4;
    "~^/w/xyzabc" 5;
    "~^/v1[0-9]2/b" 6;
    "~^/w/x[a-z]+" 7;
}"#;

pub const FRONT: &str = r#"map $uri $to { default $m_front; }
map $uri $m_start { "~^(?<m_key>/(?:a|v1|w/))" $m_key; }
map $m_start $m_candidate { "/a" $m_front1; "/v1" $m_front2; "/w/" $m_front1; }
map $uri $m_front1 { "~^(?<m_key>/(?:a[^A-Z]{16}|w/x(?:y[^A-Z]{4}|(?=$))))" $m_key; }
map $uri $m_front2 {
    "~^/v1[^\x0a](?<m_key>0/(?:ab|cd(?=[^\x0a]html$)))" "/v1.$m_key";
    "~^(?<m_key>/v1\.0/ef)" $m_key;
}
map $m_candidate $m_front {
    "/about-the-company" 0;
    "/v1.0/ab" 1;
    "/v1.0/cd" 2;
    "/v1.0/ef" 3;
    "/w/x" 4;
    "/w/xyzabc" 5;
    default $m_tree;
}
map $uri $m_prefix { "~^(?<m_key>/(?:v1|w/x))" $m_key; }
map $m_prefix $m_tree { "/v1" $m_leaf; "/w/x" $m_leaf; default d; }
map $uri $m_leaf { "~^/v1[0-9]2/b" 6; "~^/w/x[a-z]+" 7; default d; }
"#;

/// Rows that are found by the beginnings of a table, which captures pieces that are no key, and with dots in two
/// places.
pub const ORIGINAL_ROOTED: &str = r#"map $uri $to {
    default d;
    "~^/v1.0/ab" 0;
    "~^/v1.0/acd" 1;
    "~^/v1\.0/ef" 2;
    "~^/w/x.*z$" 3;
    "~^/v1[0-9]2/b" 4;
    "~^/[w-x]/y" 5;
}"#;

pub const ROOTED: &str = r#"map $uri $to { default $m_front; }
map $uri $m_start { "~^(?<m_key>/(?:v1|w/))" $m_key; }
map $m_start $m_candidate { "/v1" $m_front1; }
map $uri $m_front1 {
    "~^(?<m_key>/v1\.0/(?:a(?:[b]|cd|)|ef))" $m_key;
    "~^/v1[^\x0a\x2e](?<m_key>0/a(?:b|cd))" "/v1.$m_key";
}
map $m_candidate $m_front { "/v1.0/ab" 0; "/v1.0/acd" 1; "/v1.0/ef" 2; default $m_rooted; }
map $m_start $m_rooted { "/v1" $m_under1; "/w/" $m_under2; default $m_tree; }
map $uri $m_under1 { "~^/v1[0-9]2/b" 4; default d; }
map $uri $m_under2 { "~^/w/x.*z$" 3; "~^/[w-x]/y" 5; default d; }
map $uri $m_prefix { "~^(?<m_key>/[wx]/)" $m_key; }
map $m_prefix $m_tree { "/w/" $m_leaf; "/x/" $m_leaf; default d; }
map $uri $m_leaf { "~^/[w-x]/y" 5; default d; }
"#;

/// A guard that looks at the last slash.
pub const ORIGINAL_SEGMENT: &str = r#"map $uri $to {
    default d;
    "~/about$" 1;
    "~/use.html$" 2;
    "~^/x/[a-z]+/y" 3;
    "~./[ab]c$" 4;
}"#;

pub const SEGMENT: &str = r#"map $uri $to { default $m_float2; }
map $uri $m_float2 {
    "~^(?:/x/|(?>(?:[^/]*+/){0,16})(?:[^/]*+/|about|use[^\x0a]html|html|[ab]c))" $m_float1;
    default d;
}
map $uri $m_float1 { "~/about$" 1; "~/use.html$" 2; "~^/x/[a-z]+/y" 3; "~./[ab]c$" 4; default d; }
"#;

/// Families of rows behind a probe, and one without.
pub const ORIGINAL_FAMILY: &str = r#"map $uri $to {
    default d;
    "~^/a/b/(.*)$" 0;
    "~^/a/c/" 1;
    "~^/b/d.html$" 2;
    "~^/b/e.html" 3;
    "~^/c/f(/.*)?$" 4;
    "~^/c/g/([0-9]+)$" 5;
    "~^/x/(.*)$" 6;
    "~^/y.z" 7;
    "~^/a/b/c" 8;
}"#;

pub const FAMILY: &str = r#"map $uri $to { default $m_probe; }
map $uri $m_key0 { "~(?<!\.)html" "*"; "~^(?<m_key>/[^/A-Z\x0a]*/[^./A-Z\x0a]*)" $m_key; }
map $m_key0 $m_probe {
    "*" $m_f1; "/a/b" $m_f1; "/a/c" $m_f2; "/b/d" $m_f3; "/b/e" $m_f4; "/c/f" $m_f5; "/c/g" $m_f6;
    default $m_f7;
}
map $uri $m_key1 { "~^(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*/)(.*)$" $m_key; }
map $m_key1 $m_f1 { "/a/b/" 0; default $m_f2; }
map $uri $m_key2 { "~^(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*/)" $m_key; }
map $m_key2 $m_f2 { "/a/c/" 1; default $m_f3; }
map $uri $m_key3 { "~^(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*).html$" $m_key; }
map $m_key3 $m_f3 { "/b/d" 2; default $m_f4; }
map $uri $m_key4 { "~^(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*?).html" $m_key; }
map $m_key4 $m_f4 { "/b/e" 3; default $m_f5; }
map $uri $m_key5 { "~^(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*)(/.*)?$" $m_key; }
map $m_key5 $m_f5 { "/c/f" 4; default $m_f6; }
map $uri $m_key6 { "~^(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*/)([0-9]+)$" $m_key; }
map $m_key6 $m_f6 { "/c/g/" 5; default $m_f7; }
map $uri $m_key7 { "~^(?<m_key>/[^/A-Z\x0a]*/)(.*)$" $m_key; }
map $m_key7 $m_f7 { "/x/" 6; default $m_last; }
map $uri $m_last { "~^/y.z" 7; "~^/a/b/c" 8; default d; }
"#;

/// Tables of what subjects end with, before a chain and a tree.
pub const ORIGINAL_ENDS: &str = r#"map $uri $to {
    default d;
    "~/x/y\.php$" 0;
    "~/z\.htm$" 1;
    "~q" 2;
    "~/w/z\.htm$" 3;
    "~^/a" 4;
    "~^/b" 5;
}"#;

pub const ENDS: &str = r#"map $uri $to { default $m_guard; }
map $uri $m_guard { "~\.(?:php|htm)$" $m_e1; default $m_float; }
map $uri $m_key1 { "~(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*)$" $m_key; }
map $m_key1 $m_e1 { "/x/y.php" 0; default $m_e2; }
map $uri $m_key2 { "~(?<m_key>/[^/A-Z\x0a]*)$" $m_key; }
map $m_key2 $m_e2 { "/z.htm" 1; default $m_float; }
map $uri $m_float { "~q" 2; "~/w/z\.htm$" 3; default $m_tree; }
map $uri $m_prefix { "~^(?<m_key>/[ab])" $m_key; }
map $m_prefix $m_tree { "/a" 4; "/b" 5; default d; }
"#;

/// A guard of ends before a choice of two answers, whose values begin with numbers.
pub const ORIGINAL_OWN: &str = r#"map $uri $to {
    "~^/a.*" "01 a";
    "~/x\.php$" "02 b";
    "~^/b/(.*)$" "03 c";
    "~/w/y\.htm$" "04 d";
}"#;

pub const OWN: &str = r#"map $uri $to { default $m_guard; }
map $uri $m_guard { "~\.(?:php|htm)$" $m_pick; default $m_tree; }
map $m_tree $m_pick { "" $m_e1; default $m_lower; }
map $m_e1 $m_fn { "~^(?<m_number>[0-9]{2}) " $m_number; }
map $m_tree $m_tn { "~^(?<m_number>[0-9]{2}) " $m_number; }
map "$m_fn:$m_tn" $m_lower {
    "~^([0-9]*)(?:0[0-9]*:\1[1-9]|1[0-9]*:\1[2-9]|2[0-9]*:\1[3-9]|3[0-9]*:\1[4-9]|4[0-9]*:\1[5-9]|5[0-9]*:\1[6-9]|6[0-9]*:\1[7-9]|7[0-9]*:\1[8-9]|8[0-9]*:\1[9-9])" $m_e1;
    "~^[0-9]+:\z" $m_e1;
    default $m_tree;
}
map $uri $m_key1 { "~(?<m_key>/[^/A-Z\x0a]*)$" $m_key; }
map $m_key1 $m_e1 { "/x.php" "02 b"; default $m_e2; }
map $uri $m_key2 { "~(?<m_key>/[^/A-Z\x0a]*/[^/A-Z\x0a]*)$" $m_key; }
map $m_key2 $m_e2 { "/w/y.htm" "04 d"; }
map $uri $m_prefix { "~^(?<m_key>/(?:a|b/))" $m_key; }
map $m_prefix $m_tree { "/a" "01 a"; "/b/" $m_leaf1; }
map $uri $m_leaf1 { "~^/b/(.*)$" "03 c"; }
"#;

/// The same where values have numbers in front of them.
pub const ORIGINAL_GUARDED: &str = r#"map $uri $to {
    default d;
    "~^/a.*" a;
    "~/x\.php$" b;
    "~^/b/(.*)$" c;
}"#;

pub const GUARDED: &str = r#"map $uri $to { default $m_guard; }
map $uri $m_guard { "~\.php$" $m_pick; default $m_value; }
map $m_tree $m_pick { "" $m_fvalue; default $m_lower; }
map $m_tree $m_value { "~(?s)^[0-9]{2}\|(?<m_text>.*)\z" $m_text; default d; }
map $m_e1 $m_fvalue { "~(?s)^[0-9]{2}\|(?<m_text>.*)\z" $m_text; default d; }
map $m_e1 $m_fn { "~^(?<m_number>[0-9]{2})\|" $m_number; }
map $m_tree $m_tn { "~^(?<m_number>[0-9]{2})\|" $m_number; }
map "$m_fn:$m_tn" $m_lower {
    "~^([0-9]*)(?:0[0-9]*:\1[1-9]|1[0-9]*:\1[2-9]|2[0-9]*:\1[3-9]|3[0-9]*:\1[4-9]|4[0-9]*:\1[5-9]|5[0-9]*:\1[6-9]|6[0-9]*:\1[7-9]|7[0-9]*:\1[8-9]|8[0-9]*:\1[9-9])" $m_fvalue;
    "~^[0-9]+:\z" $m_fvalue;
    default $m_value;
}
map $uri $m_key1 { "~(?<m_key>/[^/A-Z\x0a]*)$" $m_key; }
map $m_key1 $m_e1 { "/x.php" "01|b"; }
map $uri $m_prefix { "~^(?<m_key>/(?:a|b/))" $m_key; }
map $m_prefix $m_tree { "/a" "00|a"; "/b/" $m_leaf1; }
map $uri $m_leaf1 { "~^/b/(.*)$" "02|c"; }
"#;

/// A row that sets a variable, and one on which PCRE may give up, are kept apart from the others.
pub const ORIGINAL_APART: &str = r#"map $uri $to {
    default d;
    "~^/a/" 0;
    "~^/(?<u>.*)\.$" "$u";
    "~^/c/(.*)foo(.*)bar(.*)baz" 2;
    "~^/b/" 3;
}"#;

pub const APART: &str = r#"map $uri $to { default $m_apart; }
map $uri $m_apart { "~*foo" $m_original; "~^/[^\x0a]*\.$" $m_original; default $m_tree; }
map $uri $m_original {
    "~^/a/" 0; "~^/(?<u>.*)\.$" "$u"; "~^/c/(.*)foo(.*)bar(.*)baz" 2; "~^/b/" 3;
    default d;
}
map $uri $m_prefix { "~^(?<m_key>/[ab]/)" $m_key; }
map $m_prefix $m_tree { "/a/" 0; "/b/" 3; default d; }
"#;

/// PCRE may give up on a row for nearly every long subject.
pub const ORIGINAL_LONG: &str = r#"map $uri $to {
    default d;
    "~^/a/" 0;
    "~^/.+/.*/foo.*bar" 1;
    "~^/b/" 2;
}"#;

pub const LONG: &str = r#"map $uri $to { default $m_apart; }
map $uri $m_apart { "~*/foo" $m_original; "~(?s)^.{1025}" $m_original; default $m_tree; }
map $uri $m_original {
    "~^/a/" 0; "~^/.+/.*/foo.*bar" 1; "~^/b/" 2;
    default d;
}
map $uri $m_prefix { "~^(?<m_key>/[ab]/)" $m_key; }
map $m_prefix $m_tree { "/a/" 0; "/b/" 2; default d; }
"#;

/// Rows of one value share patterns; others keep their place between them.
pub const ORIGINAL_WORDS: &str = r#"map $http_referer $to {
    default d;
    "~*\bcar\b" 1;
    "~*(?:\b)cart(?:\b)" 1;
    "~*\b(bus)\b" 1;
    "~*\bcab\b" 2;
    "~*x(y)" "$1";
    "~*\bcart\b" 2;
    "~.*van.*" 1;
    "~va(t|x)" 1;
}"#;

pub const WORDS: &str = r#"map $http_referer $to { default $m_words; }
map $http_referer $m_words {
    "~*\b(?:bus|car(?:t|))\b" 1;
    "~*\bcab\b" 2;
    "~*x(y)" "$1";
    "~va(?:n|t|x)" 1;
    default d;
}
"#;

pub const PROGRAMS: [(&str, &str); 16] = [
    (ORIGINAL, TREE),
    (ORIGINAL_CHUNKS, CHUNKS),
    (ORIGINAL_PICK, PICK),
    (ORIGINAL_EFFORT, EFFORT),
    (ORIGINAL_FEW, FEW),
    (ORIGINAL_SMALL, SMALL),
    (ORIGINAL_FRONT, FRONT),
    (ORIGINAL_ROOTED, ROOTED),
    (ORIGINAL_SEGMENT, SEGMENT),
    (ORIGINAL_FAMILY, FAMILY),
    (ORIGINAL_ENDS, ENDS),
    (ORIGINAL_OWN, OWN),
    (ORIGINAL_GUARDED, GUARDED),
    (ORIGINAL_APART, APART),
    (ORIGINAL_WORDS, WORDS),
    (ORIGINAL_LONG, LONG),
];
