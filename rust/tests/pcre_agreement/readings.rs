//! Declared readings change nothing but what they declare.

use crate::random::{Random, rounds};
use crate::{answer, both, random, random_pattern};
use nginxopt_native::pcre::Regex;
use nginxopt_native::syntax::{Readings, read_as};

/// Each reading changes only what it declares: case, fewer strings, or strings with a final newline.
#[test]
fn declared_readings() {
    let mut random = Random::new(8);
    let mut changed = 0u64;
    for _ in 0..rounds(15_000) {
        let text = random_pattern(&mut random);
        let Some((regex, _)) = both(&text) else {
            continue;
        };
        let which = random.below(4);
        let readings = Readings {
            ignore_case: which == 0,
            literal_dots: which == 1,
            literal_ends: which == 2,
            drop_newline_twins: which == 3,
        };
        let Ok(read) = read_as(text.as_bytes(), &readings) else {
            continue; // it is not portable under this reading
        };
        let expected = if which == 0 { Some(format!("(?i){text}").into_bytes()) } else { read.clone() };
        changed += u64::from(read.is_some());
        let compile =
            |text: &Option<Vec<u8>>| text.as_ref().map(|text| Regex::new(text).expect("a reading is a pattern"));
        let (read, expected) = (compile(&read), compile(&expected));
        for _ in 0..8 {
            let subject = random::subject(&mut random, &text);
            let as_is = answer(&regex, &subject);
            let now = read.as_ref().map_or(as_is, |read| answer(read, &subject));
            let holds = match which {
                0 => now == answer(expected.as_ref().expect("a text"), &subject),
                3 if subject.last() != Some(&b'\n') => now == as_is,
                _ => now <= as_is,
            };
            assert!(holds, "{text:?} {readings:?} on {:?}", subject.escape_ascii().to_string());
        }
    }
    assert!(changed > 1_000);
    println!("{changed} patterns changed");
}
