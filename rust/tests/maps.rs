//! Emitted maps give the values of the rows they replace: both run on subjects that distinguish buckets, keys and
//! boundaries.

mod maps {
    pub mod generate;
    pub mod subjects;
}

use std::collections::BTreeMap;

use maps::generate::{Dice, block};
use maps::subjects::subjects;
use nginxopt_native::map_block::{read, read_one};
use nginxopt_native::map_machine::{Machine, Request};
use nginxopt_native::maps::{Compiled, Stays, compile, read_patterns};

/// The text of the new maps and the original map without its patterns.
fn emitted(original: &str, compiled: &Compiled) -> Vec<u8> {
    let block = read_one(original.as_bytes()).expect("a map");
    let mut text = compiled.text();
    text.extend_from_slice(b"map \"");
    text.extend_from_slice(&block.source);
    text.extend_from_slice(b"\" $");
    text.extend_from_slice(&block.variable);
    text.extend_from_slice(b" {\n");
    for (flag, is_set) in [("volatile;\n", block.volatile), ("hostnames;\n", block.hostnames)] {
        text.extend_from_slice(if is_set { flag.as_bytes() } else { b"" });
    }
    text.extend_from_slice(&compiled.default_row());
    let exact = block.exact.iter().map(|row| row.span.clone());
    let patterns = block.patterns.iter().map(|row| row.span.clone()).filter(|_| compiled.guard.is_some());
    text.extend_from_slice(&compiled.guard_row().unwrap_or_default());
    for span in exact.chain(patterns) {
        text.extend_from_slice(&original.as_bytes()[span]);
        text.push(b'\n');
    }
    text.extend_from_slice(b"}\n");
    text
}

/// Compares the original with the compiled maps; returns how the rows were divided.
fn compare(original: &str, dice: &mut Dice) -> Result<Compiled, Stays> {
    let block = read_one(original.as_bytes()).expect("a map");
    let compiled = compile(&block, &read_patterns(&block), "nxo_1a2b_")?;
    let text = emitted(original, &compiled);
    let after = read(&text).unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&text)));
    let (before, after) = (Machine::new(std::slice::from_ref(&block)), Machine::new(&after));
    for subject in subjects(&block, dice) {
        let mut request = Request::with(b"uri", &subject);
        request.set(b"other", b"OTHER");
        let answer = |machine: &Machine| machine.variable(&mut request.clone(), b"to");
        assert_eq!(
            answer(&before).escape_ascii().to_string(),
            answer(&after).escape_ascii().to_string(),
            "\"{}\"\n{original}\n{}",
            subject.escape_ascii(),
            String::from_utf8_lossy(&text),
        );
    }
    Ok(compiled)
}

/// Lists of every kind, small and large.
#[test]
fn random_maps() {
    let mut dice = Dice::new(1);
    let (mut pick, mut trees, mut exact, mut floating, mut guards) = (0, 0, 0, 0, 0);
    let mut stay: BTreeMap<&str, usize> = BTreeMap::new();
    for round in 0..300 {
        let size = [3, 8, 20, 60, 200][round % 5];
        let original = block(&mut dice, size);
        match compare(&original, &mut dice) {
            Ok(Compiled { shape, guard, .. }) => {
                guards += usize::from(guard.is_some());
                pick += usize::from(shape.pick);
                trees += usize::from(shape.in_tree > 0);
                exact += usize::from(shape.exact > 0);
                floating += usize::from(shape.floating > 0);
            }
            Err(reason) => *stay.entry(reason.code()).or_default() += 1,
        }
    }
    println!("{pick} {trees} {exact} {floating} {guards} {stay:?}");
    assert!(pick > 20 && trees > 60 && exact > 40 && floating > 60 && guards > 5);
}

fn map(rows: impl Iterator<Item = String>) -> String {
    let rows: Vec<String> = rows.collect();
    format!("map $uri $to {{ default none; {} }}", rows.concat())
}

/// A compiled map that agrees with the original.
fn compiled(rows: impl Iterator<Item = String>) -> Compiled {
    compare(&map(rows), &mut Dice::new(7)).unwrap_or_else(|reason| panic!("{reason:?}"))
}

/// Thousands of keys are distinguished by chunks of chunks.
#[test]
fn chunks() {
    let rows = |number: usize| format!("\"~^/{:x}/page-{number}.*\" {number};", number * 7919 % 5003);
    let compiled = compiled((0..3000).map(rows));
    let named = |what: &str| compiled.maps.iter().filter(|map| map.name.starts_with(what.as_bytes())).count();
    assert!(named("nxo_1a2b_chunk") > 10 && named("nxo_1a2b_leaf") == 0, "{:?}", compiled.shape);
    assert!(compiled.cost.worst <= 3, "{:?}", compiled.cost);
}

/// Rows that end in `.*$` have values in the table of the tree, as subjects with an inner newline have a map of their
/// own.
#[test]
fn lines() {
    let rows = |number: usize| match number % 10 {
        0 => format!("\"~^/open{number}\" {number};"),
        _ => format!("\"~^/line{number}-.*$\" {number};"),
    };
    let compiled = compiled((0..700).map(rows));
    assert!(compiled.shape.lines && compiled.shape.leaves == 0, "{:?}", compiled.shape);
    assert!(compiled.cost.worst <= 3, "{:?}", compiled.cost);
}

/// If PCRE may give up only on subjects with an inner newline, numbers decide which row comes first.
#[test]
fn pick() {
    let rows = |number: usize| match number % 10 {
        3 => format!("\"~/any{number}$\" {number};"),
        7 => format!("\"~^/wide{number}/.*/x.*$\" {number};"),
        _ => format!("\"~^/page{number}/\" {number};"),
    };
    let compiled = compiled((0..120).map(rows));
    assert!(compiled.shape.pick && compiled.shape.lines, "{:?}", compiled.shape);
}

/// Rows whose keys differ only in case still match.
#[test]
fn cases() {
    let rows = |number: usize| {
        let page = format!("page{}", number / 3);
        let page = match number % 3 {
            0 => page.to_uppercase(),
            1 => page.replace("page", "Page"),
            _ => page,
        };
        format!("\"~^/{page}/.*\" {number};")
    };
    let compiled = compiled((0..180).map(rows));
    assert_eq!((compiled.shape.in_tree, compiled.shape.floating), (180, 0));
}

/// A thousand rows without an anchor make few groups, and maps nest no deeper than nginx allows.
#[test]
fn floating() {
    let compiled = compiled((0..1000).map(|number| format!("\"~*agent-{number}x\" {number};")));
    assert!(compiled.depth() <= 40 && compiled.cost.far <= 5, "{:?} {}", compiled.cost, compiled.depth());
}

/// A few rows stay in place, behind a guard.
#[test]
fn guard() {
    let compiled = compiled((0..5).map(|number| format!("\"~^/[a-z]/{number}\" {number};")));
    assert!(compiled.guard.is_some() && compiled.maps.is_empty() && compiled.cost.far == 1);
}

/// If hardly any subject has another byte than a dot, the path with the dot is a key.
#[test]
fn dots() {
    let compiled = compiled((0..300).map(|number| format!("\"~^/v1.0/page{number}.html.*\" {number};")));
    assert!(compiled.cost.worst <= 4, "{:?}", compiled.cost);
    assert!(compiled.shape.buckets > 300);
}
