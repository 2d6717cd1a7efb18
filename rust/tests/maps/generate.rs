//! Random maps, from a seed.

use std::fmt::Write;

/// Random numbers (splitmix64). The same seed gives the same numbers.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    pub fn pick<'t, T: ?Sized>(&mut self, choices: &[&'t T]) -> &'t T {
        choices[self.below(choices.len())]
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// The mix of a list: how often its rows have each of some forms.
struct Manner {
    caseless: usize,
    unanchored: usize,
    odd: usize,
    words: usize,
    /// How often a value has a variable.
    variables: usize,
}

/// A map of `$uri` with `count` rows.
pub fn block(dice: &mut Dice, rows: usize) -> String {
    let manner = Manner {
        caseless: *dice.pick(&[&0, &0, &5, &50, &100]),
        unanchored: *dice.pick(&[&0, &0, &5, &50, &100]),
        odd: *dice.pick(&[&0, &0, &5, &30]),
        words: *dice.pick(&[&4, &12, &200]),
        variables: *dice.pick(&[&0, &0, &0, &10]),
    };
    let mut text = String::from("map $uri $to {\n");
    text.push_str(dice.pick(&["", "", "volatile;\n", "hostnames;\n"]));
    text.push_str(dice.pick(&["", "default none;\n", "default \"d$other\";\n", "default \"\";\n"]));
    for number in 0..rows {
        if dice.chance(5) {
            let _ = writeln!(text, "\"/exact-{number}\" \"e{number}\";");
        }
        let sign = if dice.chance(manner.caseless) { "~*" } else { "~" };
        let (pattern, groups) = pattern(dice, &manner);
        let value = value(dice, &manner, number, groups);
        let _ = writeln!(text, "\"{sign}{pattern}\" \"{value}\";");
    }
    text.push_str("}\n");
    text
}

fn value(dice: &mut Dice, manner: &Manner, number: usize, groups: usize) -> String {
    if dice.chance(manner.variables) {
        return format!("v{number}$other");
    }
    match dice.below(10) {
        0 if groups > 0 => format!("v{number}-$1"),
        2 => dice.pick(&["", "same", "/x|y"]).to_owned(),
        _ => format!("v{number}"),
    }
}

fn word(dice: &mut Dice, manner: &Manner) -> String {
    let number = dice.below(manner.words);
    let word = dice.pick(&["a", "doc", "Doc", "product", "x-y", "b.c", "en", "page", "node"]);
    if manner.words > 4 { format!("{word}{number}") } else { word.to_owned() }
}

fn escaped(text: &str, dice: &mut Dice) -> String {
    if dice.chance(50) { text.replace('.', r"\.") } else { text.to_owned() }
}

/// A pattern, and how many groups it has.
fn pattern(dice: &mut Dice, manner: &Manner) -> (String, usize) {
    let anchor = if dice.chance(manner.unanchored) { "" } else { "^" };
    let flag = if dice.chance(2) { "(?i)" } else { "" };
    let mut path = String::new();
    for _ in 0..=dice.below(3) {
        path.push('/');
        path.push_str(&word(dice, manner));
    }
    let path = escaped(&path, dice);
    if dice.chance(manner.odd) {
        return odd(dice, anchor, &path);
    }
    let (tail, groups) = *dice.pick(&[
        &("$", 0),
        &("$", 0),
        &("/?$", 0),
        &(".*$", 0),
        &(".*$", 0),
        &("(.*)$", 1),
        &("", 0),
        &(".*", 0),
        &("/", 0),
        &(".html$", 0),
        &(r"\.html$", 0),
        &(".html.*$", 0),
        &("/([0-9]+)$", 1),
        &("/([^/]+)/x$", 1),
        &("(/.*)?$", 1),
    ]);
    (format!("{flag}{anchor}{path}{tail}"), groups)
}

/// Forms that are rare in real configurations, or that no tree can take.
fn odd(dice: &mut Dice, anchor: &str, path: &str) -> (String, usize) {
    let (pattern, groups) = *dice.pick(&[
        &("^/(.*)/(.*)PATH$", 2),
        &("^(PATH|/x)(.*)$", 2),
        &("^.PATH", 0),
        &("^/.*PATH", 0),
        &("PATH$|^/b", 0),
        &("^/[a-d]+PATH", 0),
        &("^/[ab]/PATH", 0),
        &("^(?:/a|/b|PATH).*$", 0),
        &("PATH(?!x)", 0),
        &("^PATH(?!x)", 0),
        &("^PATH\\n?x", 0),
        &("^PATH\\n.*$", 0),
        &("^PATH(?s:.)x", 0),
        &("^PATH{,2}x", 0),
        &("^PATH(?>a|b)", 0),
        &("(?s)^PATH.*$", 0),
        &(r"^PATH.+\\z", 0),
        &(r"^PATH\\z", 0),
        &(r"^PATH\\b", 0),
        &(r"^PATH\\s", 0),
        &("^/$", 0),
        &("^/", 0),
        &("^", 0),
        &(".", 0),
        &("^[^/]", 0),
        &(r"\\.(php|asp)$", 1),
        &("^PATH(?<name>x)?", 1),
    ]);
    let pattern = pattern.replace("PATH", path);
    (if anchor.is_empty() { pattern.trim_start_matches('^').to_owned() } else { pattern }, groups)
}
