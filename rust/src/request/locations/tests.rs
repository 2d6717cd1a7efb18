use hashbrown::HashMap;
use proptest::prelude::*;

use super::{Locations, Selection};
use crate::request::site::{Build, Kind, Level, Site, Stated};

/// A location: its words, whether it has a `proxy_pass`, and the locations in it.
struct Location {
    words: Vec<&'static str>,
    passes: bool,
    inner: Vec<Location>,
}

fn location(words: &'static str, inner: Vec<Location>) -> Location {
    Location { words: words.split(' ').collect(), passes: false, inner }
}

fn passing(words: &'static str) -> Location {
    Location { passes: true, ..location(words, Vec::new()) }
}

/// A site of one server with these locations. Levels and nodes are numbered in the order of the text, from 2 on.
fn site(locations: &[Location], version: (u32, u32, u32)) -> Site {
    let build = Build { version, fixes: Default::default(), prefix: "/".into() };
    let directives = vec![Stated { node: 0, args: vec!["http://u".into()] }];
    let mut site = Site {
        build,
        sockets: Vec::new(),
        servers: Vec::new(),
        levels: vec![level(Kind::Http, 0, None, &[]), level(Kind::Server, 1, Some(0), &[])],
        directives,
        variables: Vec::new(),
        upstreams: Vec::new(),
        opaque: Vec::new(),
    };
    add(&mut site, 1, locations);
    site
}

fn add(site: &mut Site, parent: usize, locations: &[Location]) {
    for location in locations {
        let id = site.levels.len();
        let mut inner = level(Kind::Location, id as u32, Some(parent), &location.words);
        if location.passes {
            inner.settings.insert("proxy_pass".into(), Some(vec![0]));
        }
        site.levels.push(inner);
        site.levels[parent].locations.push(id);
        add(site, id, &location.inner);
    }
}

fn level(kind: Kind, node: u32, parent: Option<usize>, words: &[&str]) -> Level {
    Level {
        kind,
        node,
        parent,
        args: words.iter().map(|word| (*word).into()).collect(),
        script: Vec::new(),
        locations: Vec::new(),
        limit_except: None,
        settings: HashMap::default(),
        opaque: Vec::new(),
        filters: Vec::new(),
    }
}

const VERSION: (u32, u32, u32) = (1, 22, 1);

fn select(locations: &[Location], uri: &str) -> Selection {
    let locations = Locations::new(&site(locations, VERSION), 1).expect("locations that nginx takes");
    locations.select(uri.as_bytes()).expect("a certain answer")
}

/// The words of the chosen location, followed by `/` if nginx redirects to its name.
fn chosen(locations: &[Location], uri: &str) -> String {
    let selection = select(locations, uri);
    let site = site(locations, VERSION);
    let words = |level: usize| {
        let words: Vec<String> = site.levels[level].args.iter().map(|word| word.escape_ascii().to_string()).collect();
        words.join(" ")
    };
    let sign = if selection.redirect { " redirects" } else { "" };
    selection.location.map_or("none".to_owned(), |level| words(level) + sign)
}

fn refused(locations: &[Location]) -> Option<String> {
    Locations::new(&site(locations, VERSION), 1).err().map(|refused| refused.message)
}

/// An exact location is chosen at once. Otherwise the longest prefix is, unless a pattern of the same level matches and
/// the prefix has no `^~`.
#[test]
fn order() {
    let locations = || {
        ["/", "= /a", "/a", "^~ /img/", "/img/big/", "~ \\.png$", "~* ^/A", "~ ^/a"]
            .map(|words| location(words, vec![]))
    };
    for (uri, expected) in [
        ("/a", "= /a"),
        ("/ab", "~* ^/A"),
        ("/AB", "~* ^/A"),
        ("/img/x.png", "^~ /img/"),
        ("/img/big/x.png", "~ \\\\.png$"),
        ("/img/big/x", "/img/big/"),
        ("/x", "/"),
        ("", "none"),
    ] {
        assert_eq!(chosen(&locations(), uri), expected, "{uri}");
    }
}

/// Names are compared with the decoded URI, byte by byte; the modifier may be joined to the name.
#[test]
fn names() {
    let joined = ["=/a", "^~/b", "~^/c", "~*^/d", "foo"].map(|words| location(words, vec![]));
    for (uri, expected) in
        [("/a", "=/a"), ("/b/", "^~/b"), ("/c", "~^/c"), ("/D", "~*^/d"), ("/A", "none"), ("food", "foo")]
    {
        assert_eq!(chosen(&joined, uri), expected, "{uri}");
    }
}

/// `^~` protects only against patterns of its own level, not against those of enclosing levels or those nested in it. A
/// longer prefix wins against it.
#[test]
fn no_regex_guards_its_level() {
    let locations = || {
        vec![
            location("/a/", vec![location("^~ /a/c", vec![location("~ inner", vec![])])]),
            location("~ x", vec![]),
            location("^~ /b", vec![]),
            location("/b/b", vec![]),
            location("~ b$", vec![]),
        ]
    };
    for (uri, expected) in [
        ("/a/c/x", "~ x"),
        ("/a/c/inner", "~ inner"),
        ("/a/c/inner/x", "~ inner"),
        ("/b/ab", "^~ /b"),
        ("/b/b", "~ b$"),
    ] {
        assert_eq!(chosen(&locations(), uri), expected, "{uri}");
    }
}

/// If an exact location or a pattern nested in a prefix matches, the search ends. If a nested prefix matches, it does
/// not.
#[test]
fn nested() {
    let locations = || {
        vec![
            location("/a/", vec![location("= /a/e", vec![]), location("/a/p", vec![]), location("~ r$", vec![])]),
            location("~ [epr]$", vec![]),
        ]
    };
    for (uri, expected) in [("/a/e", "= /a/e"), ("/a/p", "~ [epr]$"), ("/a/r", "~ r$"), ("/a/px", "/a/p")] {
        assert_eq!(chosen(&locations(), uri), expected, "{uri}");
    }
}

/// Once a pattern has matched, only patterns nested in it are tried. nginx never finds a prefix or exact location in
/// it.
#[test]
fn dead_inside_a_pattern() {
    let inner =
        || vec![location("/ab", vec![location("~ b", vec![])]), location("= /ac", vec![]), location("~ d$", vec![])];
    let locations = || vec![location("~ /a", inner()), location("/abcd", vec![])];
    for (uri, expected) in [("/ab", "~ /a"), ("/ac", "~ /a"), ("/ad", "~ d$"), ("/abcd", "~ d$")] {
        assert_eq!(chosen(&locations(), uri), expected, "{uri}");
    }
}

/// If a location `X/` passes requests on, nginx redirects `X` to it before it tries patterns, also if `X/` is exact or
/// nested. It does not if there is a location `X`.
#[test]
fn redirects() {
    for (locations, uri, expected) in [
        (vec![passing("/a/"), location("~ a", vec![])], "/a", "/a/ redirects"),
        (vec![passing("= /e/"), location("~ e", vec![])], "/e", "= /e/ redirects"),
        (vec![passing("/a/"), location("= /a", vec![])], "/a", "= /a"),
        (vec![passing("/a/"), location("/a", vec![])], "/a", "/a"),
        (vec![location("/a/", vec![])], "/a", "none"),
        (vec![passing("/a")], "/", "none"),
        (vec![location("/", vec![passing("/a/")])], "/a", "/a/ redirects"),
        (vec![passing("~ /a/")], "/a", "none"),
        (vec![passing("/a/"), location("/a-b", vec![]), location("/a.c", vec![])], "/a", "/a/ redirects"),
    ] {
        assert_eq!(chosen(&locations, uri), expected, "{uri}");
    }
}

/// The numbered captures are those of the last pattern that matched. Named captures are kept from all.
#[test]
fn captures() {
    let locations = [location("~ ^/(?<first>.)(.*)$", vec![location("~ (?<second>.)$", vec![])])];
    let captures = select(&locations, "/abc").captures;
    let named: Vec<_> = captures.iter().flat_map(|captures| captures.named.clone()).collect();
    assert_eq!(named, [("first".into(), "a".into()), ("second".into(), "c".into())]);
    assert_eq!(captures.last().unwrap().groups, [Some("c".into()), Some("c".into())]);
}

/// Named locations are found by their names only.
#[test]
fn named() {
    let site = site(&[location("@a", vec![]), location("/", vec![])], VERSION);
    let locations = Locations::new(&site, 1).unwrap();
    assert_eq!((locations.named(b"@a"), locations.named(b"@b")), (Some(2), None));
    assert_eq!(locations.select(b"@a").unwrap().location, None);
}

/// nginx refuses two locations of the same name, and locations in wrong places. It does not check locations that it
/// never looks at.
#[test]
fn refused_locations() {
    let one = |words| location(words, vec![]);
    for (locations, message) in [
        (vec![one("/a"), one("^~ /a")], Some("duplicate location \"/a\"")),
        (vec![one("= /a"), one("= /a")], Some("duplicate location \"/a\"")),
        (vec![one("= /a"), one("/a")], None),
        (vec![one("~ a"), one("~ a")], None),
        (vec![one("^= /a")], Some("invalid location modifier \"^=\"")),
        (
            vec![location("= /a", vec![one("/a/b")])],
            Some("location \"/a/b\" cannot be inside the exact location \"/a\""),
        ),
        (vec![location("@a", vec![one("/b")])], Some("location \"/b\" cannot be inside the named location \"@a\"")),
        (vec![location("/a", vec![one("/b")])], Some("location \"/b\" is outside location \"/a\"")),
        (vec![location("/a", vec![one("@b")])], Some("named location \"@b\" can be on the server level only")),
        (vec![location("~ a", vec![one("ab"), one("ab")])], None),
        (vec![location("/a", vec![one("~ b")])], None),
    ] {
        assert_eq!(refused(&locations).as_deref(), message);
    }
    assert!(refused(&[one("~ (")]).is_some());
}

/// Each location that matches but is not chosen has a reason, and so has each pattern that was tried.
#[test]
fn reasons() {
    let reasons = |locations: &[Location], uri: &str| {
        let locations = Locations::new(&site(locations, VERSION), 1).unwrap();
        let passed_over = locations.passed_over(uri.as_bytes()).into_iter();
        passed_over.map(|passed| format!("{} {}", passed.node, passed.reason)).collect::<Vec<_>>()
    };
    let flat = || ["/", "^~ /img/", "~ \\.png$", "~ ^/x", "/ab", "~ b$"].map(|words| location(words, vec![]));
    assert_eq!(reasons(&flat(), "/img/a.png"), ["2 a longer prefix matches", "4 the prefix is ^~"]);
    assert_eq!(reasons(&flat(), "/x"), ["2 the pattern ^/x matches", "4 does not match"].map(str::to_owned));
    assert_eq!(
        reasons(&flat(), "/ab"),
        ["2 a longer prefix matches", "6 the pattern b$ matches", "4 does not match", "5 does not match"]
    );
    let nested = [location("/a", vec![location("~ b", vec![])]), location("~ a", vec![])];
    assert_eq!(reasons(&nested, "/ab"), ["4 a location inside the prefix is chosen"]);
    let dead = [location("~ /a", vec![location("/ab", vec![])])];
    assert_eq!(reasons(&dead, "/ab"), ["3 prefixes inside a location with a pattern are never tried"]);
    assert_eq!(reasons(&[location("= /a", vec![]), location("/a", vec![])], "/a"), ["3 the exact location matches"]);
}

/// Before 1.23.4, nginx stored the length of a name in one byte, so it does not find a name of 256 bytes or more.
#[test]
fn long_names() {
    let name: &'static str = Box::leak(format!("/{}", "a".repeat(299)).into_boxed_str());
    let locations = [location(name, vec![]), location("/", vec![])];
    let find =
        |version| Locations::new(&site(&locations, version), 1).unwrap().select(name.as_bytes()).unwrap().location;
    assert_eq!((find((1, 23, 4)), find((1, 23, 3))), (Some(2), Some(2)));
    let other = format!("{}b", &name[..44]);
    let find =
        |version| Locations::new(&site(&locations, version), 1).unwrap().select(other.as_bytes()).unwrap().location;
    assert_eq!((find((1, 23, 4)), find((1, 23, 3))), (Some(3), Some(2)));
}

/// The longest prefix, by a scan.
fn scan(names: &[String], uri: &str) -> Option<usize> {
    let matching = names.iter().enumerate().filter(|(_, name)| uri.starts_with(name.as_str()));
    matching.max_by_key(|(_, name)| name.len()).map(|(place, _)| place + 2)
}

proptest! {
    /// The tree finds the longest prefix of many.
    #[test]
    fn tree_agrees_with_a_scan(mut names in prop::collection::vec("/[ab./-]{0,5}", 0..40), uri in "/[ab./-]{0,7}") {
        names.sort();
        names.dedup();
        let words: Vec<Location> = names.iter().map(|name| Location {
            words: vec![Box::leak(name.clone().into_boxed_str())], passes: false, inner: Vec::new(),
        }).collect();
        prop_assert_eq!(select(&words, &uri).location, scan(&names, &uri));
    }
}
