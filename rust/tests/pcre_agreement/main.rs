//! Compares the crate with PCRE2 on random patterns and subjects.
//!
//! `cargo test` makes rounds for a few seconds. `NGINXOPT_FUZZ=100 cargo test --release --test pcre_agreement` makes a
//! hundred times as many; `NGINXOPT_SEED=7` makes others. With `-- --nocapture`, each test prints what it compared.

mod bounds;
mod finite;
mod first_match;
#[path = "../random/mod.rs"]
mod random;
mod readings;
mod rules;
mod translations;

use nginxopt_native::pcre::{MatchOutcome, Regex};
use nginxopt_native::syntax::{Pattern, Translation, parse};
use random::Random;
use regex_automata::meta;

/// The match limit of PCRE where nginx runs it.
const LIMIT: u32 = 10_000_000;

/// A matcher of a translation; `None` if it is too large to be built.
fn matcher(translation: &Translation) -> Option<meta::Regex> {
    let config = meta::Config::new().utf8_empty(false).nfa_size_limit(Some(4 << 20));
    meta::Builder::new().configure(config).build_from_hir(&translation.hir).ok()
}

/// A pattern that both PCRE2 and the parser accept.
fn both(text: &str) -> Option<(Regex, Pattern)> {
    Some((Regex::new(text.as_bytes()).ok()?, parse(text.as_bytes()).ok()?))
}

fn random_pattern(random: &mut Random) -> String {
    match random.below(3) {
        0 => random::soup(random),
        1 => random::pattern(random),
        _ => random::rule(random),
    }
}

/// The answer of PCRE2; `None` if it gave up.
fn answer(regex: &Regex, subject: &[u8]) -> Option<bool> {
    match regex.is_match(subject, LIMIT) {
        MatchOutcome::Yes => Some(true),
        MatchOutcome::No => Some(false),
        MatchOutcome::Error(_) => None,
    }
}

/// All strings that differ from one by the case of ASCII letters.
fn case_variants(string: &[u8]) -> Vec<Vec<u8>> {
    string.iter().fold(vec![Vec::new()], |variants, byte| {
        let cases = [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()];
        let cases = if cases[0] == cases[1] { &cases[..1] } else { &cases[..] };
        let longer = |variant: &Vec<u8>| cases.iter().map(|case| [variant, &[*case][..]].concat()).collect();
        variants.iter().flat_map(|variant: &Vec<u8>| -> Vec<Vec<u8>> { longer(variant) }).collect()
    })
}
