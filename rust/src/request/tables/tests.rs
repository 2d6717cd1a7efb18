use super::Table;
use crate::request::site::{Defined, Stated};

/// Defines a variable by the directive of this name. Each row of the block is given as its words.
fn table(kind: &str, rows: &str) -> Result<Table, String> {
    let rows = rows.split(';').map(str::trim).filter(|row| !row.is_empty());
    let words = |row: &str| row.split(' ').map(|word| if word == "''" { "" } else { word }.into()).collect();
    let rows = rows.zip(0..).map(|(row, node)| Stated { node, args: words(row) }).collect();
    let (node, source, variable) = (0, "$s".into(), "$v".into());
    let defined = match kind {
        "map" => Defined::Map { node, source, variable, rows },
        "geo" => Defined::Geo { node, source: Some(source), variable, rows },
        _ => Defined::SplitClients { node, source, variable, rows },
    };
    let table = Table::new(&defined).map_err(|refused| format!("{} {}", refused.node, refused.message))?;
    Ok(table.expect("a table that is understood"))
}

fn find(kind: &str, rows: &str, source: &str) -> String {
    let table = table(kind, rows).expect("rows that nginx takes");
    let answer = table.find(source.as_bytes()).expect("a certain answer");
    answer.row.map_or("none".to_owned(), |row| table.rows()[row].value.escape_ascii().to_string())
}

fn refused(kind: &str, rows: &str) -> Option<String> {
    table(kind, rows).err()
}

/// Exact keys ignore case and come before patterns, which come in their order; an empty value matches no pattern.
#[test]
fn order_of_a_map() {
    let rows = "~^/a 1; ~*^/AB 2; /ab 3; default 4; ~ 5";
    for (source, value) in [("/AB", "3"), ("/abc", "1"), ("/ABC", "2"), ("/c", "5"), ("", "4")] {
        assert_eq!(find("map", rows, source), value, "{source}");
    }
    assert_eq!((find("map", "'' 1; ~ 2", ""), find("map", "~x 1", "y")), ("1".into(), "none".into()));
}

/// A backslash marks a plain key.
#[test]
fn plain_keys_of_a_map() {
    let rows = "\\default 1; \\~a 2; \\hostnames 3; \\\\x 4; default 5";
    for (source, value) in [("default", "1"), ("~a", "2"), ("hostnames", "3"), ("\\x", "4"), ("a", "5")] {
        assert_eq!(find("map", rows, source), value, "{source}");
    }
}

/// Keys after `hostnames` may be wildcards. With `hostnames` anywhere in the block, a final dot of the value is
/// removed.
#[test]
fn hostnames() {
    let rows = "*.early 0; hostnames; *.x.com 1; .y.com 2; z.* 3; a.x.com 4; ~x 5; default 6";
    for (source, value) in [
        ("a.x.com", "4"),
        ("b.x.com.", "1"),
        ("B.X.COM", "1"),
        ("x.com", "5"),
        ("y.com", "2"),
        ("a.y.com", "2"),
        ("z.a", "3"),
        ("z", "6"),
        ("a.early", "6"),
        ("*.early", "0"),
        (".", "6"),
    ] {
        assert_eq!(find("map", rows, source), value, "{source}");
    }
    assert_eq!(find("map", "*.x 1; .y 2", "a.x"), "none");
}

/// The captures of a pattern are set for the value and stay set after it.
#[test]
fn captures_of_a_map() {
    let table = table("map", "~^/(?<n>.)(x)? $n$2; volatile").unwrap();
    let answer = table.find(b"/ax").unwrap();
    let captures = answer.captures.expect("captures");
    assert_eq!(captures.groups, [Some("/ax".into()), Some("a".into()), Some("x".into())]);
    assert_eq!(captures.named, [("n".into(), "a".into())]);
    assert!(table.is_volatile() && table.find(b"").unwrap().captures.is_none());
}

/// What nginx refuses in a map, with its row.
#[test]
fn refused_rows() {
    for (rows, message) in [
        ("a 1; A 2", "1 conflicting parameter \"A\""),
        ("default 1; default 2", "1 duplicate default map parameter"),
        ("a", "0 invalid number of the map parameters"),
        ("a b c", "0 invalid number of the map parameters"),
        ("hostnames; a..b 1", "1 invalid hostname or wildcard \"a..b\""),
        ("hostnames; *.a 1; .a 2", "2 conflicting parameter \".a\""),
    ] {
        assert_eq!(refused("map", rows).as_deref(), Some(message), "{rows}");
    }
    assert_eq!((refused("map", "a..b 1; *.a 1; .a 2"), refused("map", "~a 1; ~a 2")), (None, None));
    assert!(refused("map", "~( 1").is_some_and(|message| message.contains("missing closing parenthesis")));
}

/// The longest network that contains an address answers. A later row for the same network replaces an earlier one.
#[test]
fn networks() {
    let rows = "default 0; 10.0.0.0/8 1; 10.1.0.0/16 2; 10.1.2.3 3; 10.1.0.0/16 4; 2001:db8::/32 6; 2001:db8::1 7; 10.9.9.9/16 9";
    for (source, value) in [
        ("10.1.2.3", "3"),
        ("10.1.2.4", "4"),
        ("10.2.0.0", "1"),
        ("10.9.0.1", "9"),
        ("11.0.0.0", "0"),
        ("2001:DB8::1", "7"),
        ("2001:db8::2", "6"),
        ("::1", "0"),
        ("::ffff:10.1.2.3", "3"),
        ("x", "0"),
        ("", "0"),
    ] {
        assert_eq!(find("geo", rows, source), value, "{source}");
    }
    assert_eq!(
        (find("geo", "255.255.255.255 1", "unix:"), find("geo", "::/0 1", "1.2.3.4")),
        ("1".into(), "none".into())
    );
    assert_eq!(find("geo", "10.0.0.0/8 1; 10.1.0.0/16 2; delete 10.1.0.0/16", "10.1.0.0"), "1");
    assert_eq!(find("geo", "default 1; 0.0.0.0/0 2", "1.2.3.4"), "2");
}

/// A range inside an earlier one replaces that part of it, also across the blocks of nginx.
#[test]
fn ranges() {
    let rows = "ranges; default 0; 10.0.0.0-10.3.255.255 1; 10.0.255.0-10.2.0.9 2; 10.1.0.5-10.1.0.5 3";
    for (source, value) in [
        ("10.0.0.0", "1"),
        ("10.0.255.0", "2"),
        ("10.1.0.4", "2"),
        ("10.1.0.5", "3"),
        ("10.2.0.9", "2"),
        ("10.2.0.10", "1"),
        ("10.4.0.0", "0"),
        ("::1", "0"),
        ("x", "0"),
    ] {
        assert_eq!(find("geo", rows, source), value, "{source}");
    }
    assert_eq!(find("geo", "ranges; 10.0.0.0-10.0.0.9 1; delete 10.0.0.0-10.0.0.9", "10.0.0.5"), "none");
}

/// What nginx refuses in a `geo`.
#[test]
fn refused_blocks() {
    for (rows, message) in [
        ("1.2.3 1", "0 invalid network \"1.2.3\""),
        ("1.2.3.4/33 1", "0 invalid network \"1.2.3.4/33\""),
        ("::/129 1", "0 invalid network \"::/129\""),
        ("255.255.255.255/32 1", "0 invalid network \"255.255.255.255/32\""),
        ("a b c", "0 invalid number of the geo parameters"),
        ("ranges; 1.0.0.9-1.0.0.0 1", "1 invalid range \"1.0.0.9-1.0.0.0\""),
        ("ranges; 1.0.0.0/8 1", "1 invalid range \"1.0.0.0/8\""),
        ("ranges; 1.0.0.0-1.0.0.5 1; 1.0.0.3-1.0.0.9 2", "2 range \"1.0.0.3-1.0.0.9\" overlaps another"),
        ("default 1; ranges", "1 the \"ranges\" directive must be the first directive inside \"geo\" block"),
    ] {
        assert_eq!(refused("geo", rows).as_deref(), Some(message), "{rows}");
    }
    let Ok(Table::Geo(geo)) = table("geo", "proxy 10.0.0.0/8; proxy_recursive; volatile; ranges; 1.0.0.0-1.0.0.1 1")
    else {
        panic!("a geo")
    };
    assert!(geo.has_proxies && geo.is_volatile());
}

/// Shares are by murmur2, as in nginx: `abc`, `a` and the empty string get the rows that nginx gives them.
#[test]
fn shares() {
    let rows = "10% a; 20.5% b; 0.01% c; * d";
    let values = ["", "a", "ab", "abc", "abcd", "abcde", "x1", "x2"].map(|source| find("split", rows, source));
    assert_eq!(values, ["a", "d", "b", "a", "b", "d", "d", "a"]);
    assert_eq!((find("split", "0.01% a", "abc"), find("split", "100% a", "abc")), ("none".into(), "a".into()));
    for (rows, message) in [
        ("60% a; 60% b", "1 percent total is greater than 100%"),
        ("* a; 1% b", "1 percent total is greater than 100%"),
        ("0% a", "0 invalid percent value \"0%\""),
        ("1.234% a", "0 invalid percent value \"1.234%\""),
        ("1 a", "0 invalid percent value \"1\""),
        ("% a", "0 invalid percent value \"%\""),
        ("1%", "0 invalid number of the split_clients parameters"),
    ] {
        assert_eq!(refused("split", rows).as_deref(), Some(message), "{rows}");
    }
    assert_eq!(refused("split", ".5% a; 99.5% b"), None);
}
