//! Random patterns and subjects. The same seed gives the same ones.
#![allow(dead_code)] // each test uses a part of it

mod wild;

pub use wild::{odd_rule, wild};

/// A small generator (SplitMix64), so that a run can be repeated without a dependency.
pub struct Random(u64);

impl Random {
    /// `stream` tells the tests of one run apart; `NGINXOPT_SEED` tells runs apart.
    pub fn new(stream: u64) -> Random {
        let seed: u64 = number_from("NGINXOPT_SEED").unwrap_or(0);
        Random(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    fn join(&mut self, count: usize, between: &str, mut part: impl FnMut(&mut Random) -> String) -> String {
        (0..count).map(|_| part(self)).collect::<Vec<_>>().join(between)
    }
}

/// How many rounds a test makes: `rounds` times `NGINXOPT_FUZZ`, which is 1 unless set.
pub fn rounds(rounds: u64) -> u64 {
    rounds * number_from("NGINXOPT_FUZZ").unwrap_or(1)
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Pieces of PCRE2's syntax, the nasty ones included. Any sequence of them is a pattern, or an error.
const PIECES: &[&str] = &[
    "a",
    "b",
    "A",
    "B",
    "/",
    "1",
    "-",
    "_",
    ".",
    r"\.",
    "^",
    "$",
    "$",
    "*",
    "+",
    "?",
    "*?",
    "+?",
    "??",
    "*+",
    "++",
    "?+",
    "{2}",
    "{1,2}",
    "{0,1}",
    "{2,}",
    "{,2}",
    "{",
    "}",
    "{a}",
    "(",
    "(",
    ")",
    ")",
    ")",
    "(?:",
    "|",
    "[",
    "]",
    "[ab]",
    "[^a]",
    "[a-z]",
    "[^/]",
    "[0-9]",
    "[a-b-c]",
    "[]a]",
    "[^]a]",
    "[-a]",
    "[a-]",
    "[a&&b]",
    "[a--b]",
    "[+--]",
    "[[]",
    "[[ab]",
    "[a[b]]",
    "[.]",
    "[.a]",
    "[.a.]",
    "[.-]",
    "[:a]",
    "[:a:]",
    "[=]",
    "[[.a]",
    "[[:alpha:]]",
    "[[:^digit:]]",
    "[[:punct:]]",
    "[[:word:]]",
    "[[:space:]]",
    "[[:print:]]",
    "[[:cntrl:]]",
    "[[:graph:]]",
    "[[:blank:]]",
    "[[:xdigit:]]",
    "[[:ascii:]]",
    "[[:upper:]]",
    r"[\w-]",
    r"[\d/]",
    r"[\s]",
    r"[\b]",
    r"[\x41-C]",
    r"[\101]",
    r"[\.]",
    r"[^\n]",
    r"[\h]",
    r"[\v]",
    r"[\Qa]b\E]",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    r"\h",
    r"\H",
    r"\v",
    r"\V",
    r"\N",
    r"\R",
    r"\b",
    r"\B",
    r"\<",
    r"\A",
    r"\z",
    r"\Z",
    r"\G",
    r"\K",
    r"\Q",
    r"\E",
    r"\Qa.b\E",
    r"\Q\E",
    r"\x41",
    r"\x{41}",
    r"\x{e9}",
    r"\xe9",
    r"\x",
    r"\x4",
    r"\101",
    r"\01",
    r"\0",
    r"\1",
    r"\2",
    r"\8",
    r"\n",
    r"\r",
    r"\t",
    r"\f",
    r"\a",
    r"\e",
    r"\cA",
    r"\/",
    r"\-",
    r"\_",
    r"\ ",
    " ",
    "#",
    "\n",
    "\\\n",
    "é",
    "[é]",
    "é+",
    "(?i)",
    "(?s)",
    "(?m)",
    "(?x)",
    "(?-i)",
    "(?i:",
    "(?s:",
    "(?m:",
    "(?-s:",
    "(?i-s:",
    "(?U)",
    "(?R)",
    "(?1)",
    "(?<n>",
    "(?P<m>",
    "(?'q'",
    "(?P=m)",
    r"\k<n>",
    "(?=",
    "(?!",
    "(?<=",
    "(?<!",
    "(?>",
    "(?#x)",
    "(?|",
    "(?(1)",
    "(?C)",
    r"\p{L}",
    r"\pL",
    r"\P{Lu}",
    r"\X",
    r"\C",
    "(*FAIL)",
    r"\g{1}",
    r"\u0041",
    r"\o{101}",
    r"\%",
    r"\@",
    r"\'",
    "\\\"",
    r"\,",
    "&",
    "~",
    r"\&",
    r"\~",
    r"\#",
    r"\!",
    "(?^)",
    "(?i-i:",
    "(?+1)",
    "(?-1)",
    "(?&n)",
    "(?P>n)",
    r"\g<n>",
    r"\g1",
    "\0",
];

/// A few pieces in any order.
pub fn soup(random: &mut Random) -> String {
    let count = 1 + random.below(7);
    let text = random.join(count, "", |random| (*random.pick(PIECES)).to_owned());
    anchored(random, text)
}

/// What has no parts.
const LEAVES: &[&str] = &[
    "a",
    "a",
    "b",
    "/",
    "/",
    "-",
    "1",
    "A",
    r"\n",
    "\n",
    ".",
    r"\.",
    "[ab]",
    "[^/]",
    "[^a]",
    "[aA]",
    "[.]",
    r"\w",
    r"\s",
    r"\d",
    r"\h",
    r"\R",
    "(?:)",
    "$",
    "$",
    "^",
    r"\b",
    r"\B",
    r"\z",
    r"\Z",
    r"\A",
    "[[:lower:]]",
    "[^[:upper:]]",
    "(?i)",
    "(?s)",
    "(?-i)",
];

const QUANTIFIERS: &[&str] =
    &["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{0}", "{2,}", "*?", "+?", "??", "*+", "++", "?+"];

/// A well-formed pattern, parts within parts down to `depth`.
pub fn structured(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.one_in(7) {
        return (*random.pick(LEAVES)).to_owned();
    }
    let part = |random: &mut Random| structured(random, depth - 1);
    let branches = 1 + random.below(3);
    match random.below(10) {
        0..=3 => random.join(branches + 1, "", part),
        4 => format!("(?:{})", random.join(branches, "|", part)),
        5 => format!("({})", random.join(branches, "|", part)),
        6 => format!("({}){}", part(random), random.pick(QUANTIFIERS)),
        7 => format!("(?:{}){}", part(random), random.pick(QUANTIFIERS)),
        8 => format!("{}{}", random.pick(LEAVES), random.pick(QUANTIFIERS)),
        _ => {
            let opening = random.pick(&["?i:", "?s:", "?>", "?=", "?!", "?<=", "?<!", "?-i:"]);
            format!("({opening}{})", part(random))
        }
    }
}

/// A structured part of a pattern.
pub fn part(random: &mut Random) -> String {
    let depth = random.below(3);
    structured(random, depth)
}

/// A structured pattern, often tied to the ends.
pub fn pattern(random: &mut Random) -> String {
    let depth = 1 + random.below(4);
    let text = structured(random, depth);
    anchored(random, text)
}

fn anchored(random: &mut Random, text: String) -> String {
    match random.below(6) {
        0 | 1 => format!("^{text}$"),
        2 => format!("{text}$"),
        3 => format!("^{text}"),
        4 => format!("^/{text}$"),
        _ => text,
    }
}

/// What the patterns of rules look like: a path, perhaps optional or alternative parts, perhaps a wildcard.
pub fn rule(random: &mut Random) -> String {
    let flags = if random.one_in(8) { "(?i)" } else { "" };
    let start = random.pick(&["^/", "^/", "^/", "^", "/"]);
    let end = random.pick(&["$", "$", "", r"\z", "/?$", "/$", "/", "(/|$)"]);
    let count = 1 + random.below(3);
    let segments = random.join(count, "/", segment);
    format!("{flags}{start}{segments}{end}")
}

fn segment(random: &mut Random) -> String {
    const PARTS: &[&str] = &[
        "a",
        "b",
        "ab",
        "A",
        "-",
        ".",
        r"\.",
        ".a",
        "(a|b)",
        "(?:a|ab|)",
        "a?",
        "(ab)?",
        "[ab]",
        "[.]",
        r"\Qa.\E",
        "1",
        "(.*)",
        "([^/]+)",
        "[a-z]*",
        r"\d+",
        ".+",
        "b{1,2}",
        "(a|b)/?",
        r"\-",
    ];
    let count = 1 + random.below(3);
    random.join(count, "", |random| (*random.pick(PARTS)).to_owned())
}

/// Bytes that patterns above tell apart.
const BYTES: &[u8] = b"aabbAB//11-_. \n\n\r\t\x0b\xc3\xa9\xe9\x80CE{}[]&~,\x08\x00'<sQ:=";

/// A short subject near the pattern: bytes of its text, bytes above, any bytes; often a newline at the end.
pub fn subject(random: &mut Random, pattern: &str) -> Vec<u8> {
    let length = random.below(7);
    let mut subject: Vec<u8> = (0..length)
        .map(|_| match random.below(12) {
            0..=3 if !pattern.is_empty() => *random.pick(pattern.as_bytes()),
            4 => random.below(256) as u8,
            5..=7 => *random.pick(b"aab/\n"),
            _ => *random.pick(BYTES),
        })
        .collect();
    if random.one_in(4) {
        subject.push(b'\n');
    }
    if random.one_in(3) {
        subject.insert(0, b'/');
    }
    subject
}

/// All strings of up to `length` bytes of `alphabet` behind `start`, the shorter first.
pub fn all_strings(start: &str, alphabet: &[u8], length: usize) -> Vec<Vec<u8>> {
    let mut strings = vec![start.as_bytes().to_vec()];
    let mut from = 0;
    for _ in 0..length {
        let to = strings.len();
        for index in from..to {
            for byte in alphabet {
                strings.push([strings[index].as_slice(), &[*byte]].concat());
            }
        }
        from = to;
    }
    strings
}

/// Any of all these.
pub fn any_pattern(random: &mut Random) -> String {
    match random.below(6) {
        0 => soup(random),
        1 => pattern(random),
        2 => rule(random),
        3 => odd_rule(random),
        _ => wild(random),
    }
}
