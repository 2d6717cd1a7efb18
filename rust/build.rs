//! Writes lists of nginx's directives as Rust, from the tables that the Python package reads, too: `nginxopt/facts`.
//!
//! A line `@_bind` stands for `proxy_bind`, `fastcgi_bind` and so on, as far as nginx declares them, unless a directive
//! has a line of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

const GATEWAYS: [&str; 7] = ["proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached", "tunnel"];

/// The cells of each directive, by column.
type Facts = BTreeMap<String, BTreeMap<String, String>>;

fn main() {
    // The script runs in the folder of the crate, and names no other: a copy elsewhere shares what it has compiled.
    let folder = Path::new("../nginxopt/facts");
    let declared: BTreeSet<String> = rows(&folder.join("directives.tsv")).into_iter().map(|(name, _)| name).collect();
    let facts = facts(rows(&folder.join("facts.tsv")), &declared);
    let is_in =
        |group: &'static str| move |row: &BTreeMap<String, String>| row["groups"].split(' ').any(|it| it == group);
    let mut text = String::new();
    let script = names(&facts, |row| row["effect"] == "script").filter(|name| declared.contains(*name));
    write_bytes(&mut text, "SCRIPT", "The statements of nginx's rewrite module.", script);
    let about = "The blocks whose statements are no directives, but rows of data.";
    write_bytes(&mut text, "ROWS", about, names(&facts, is_in("rows")));
    write(&mut text, "PASSES", "The directives that pass requests on.", names(&facts, is_in("pass")));
    let about = "The settings that the model of requests reads.";
    write(&mut text, "SETTINGS", about, names(&facts, |row| row["model"] == "read"));
    let output = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("facts.rs");
    fs::write(output, text).expect("the folder is writable");
}

/// The lines of a table, each with its first cell, and all cells by the names of the columns.
fn rows(table: &Path) -> Vec<(String, BTreeMap<String, String>)> {
    println!("cargo::rerun-if-changed={}", table.display());
    let text = fs::read_to_string(table).unwrap_or_else(|error| panic!("{}: {error}", table.display()));
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned));
    let columns: Vec<String> = lines.next().expect("a line with the names of the columns").collect();
    let row = |cells| columns.iter().cloned().zip(cells).collect::<BTreeMap<String, String>>();
    lines.map(row).map(|row| (row["name"].clone(), row)).collect()
}

fn facts(rows: Vec<(String, BTreeMap<String, String>)>, declared: &BTreeSet<String>) -> Facts {
    let (shared, own): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(name, _)| name.starts_with('@'));
    let of_gateway = |(name, row): (String, BTreeMap<String, String>)| {
        GATEWAYS.map(|gateway| (name.replace('@', gateway), row.clone()))
    };
    let shared = shared.into_iter().flat_map(of_gateway).filter(|(name, _)| declared.contains(name));
    shared.chain(own).collect() // of equal names the last counts
}

fn names(facts: &Facts, is_one: impl Fn(&BTreeMap<String, String>) -> bool) -> impl Iterator<Item = &str> {
    facts.iter().filter(move |(_, row)| is_one(row)).map(|(name, _)| name.as_str())
}

fn write<'a>(text: &mut String, list: &str, about: &str, names: impl Iterator<Item = &'a str>) {
    let names: Vec<&str> = names.collect();
    writeln!(text, "/// {about}\npub const {list}: &[&str] = &{names:?};").expect("a String takes any text");
}

fn write_bytes<'a>(text: &mut String, list: &str, about: &str, names: impl Iterator<Item = &'a str>) {
    let names: Vec<String> = names.map(|name| format!("b{name:?}")).collect();
    let names = names.join(", ");
    writeln!(text, "/// {about}\npub const {list}: &[&[u8]] = &[{names}];").expect("a String takes any text");
}
