//! Emitted maps answer as the rows they replace do: both are run, on subjects that tell buckets, keys and borders apart.

mod maps {
    pub mod generate;
    pub mod subjects;
}

use maps::generate::{Dice, block};
use maps::subjects::subjects;
use nginxopt_native::map_block::{read, read_one};
use nginxopt_native::map_machine::{Machine, Request};
use nginxopt_native::maps::{Compiled, Options, Stays, compile};

/// The text of the new maps, with the original map, its patterns gone.
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

/// Compares the original with what it is compiled to; returns how the rows were divided.
fn compare(original: &str, dice: &mut Dice) -> Result<Compiled, Stays> {
    let block = read_one(original.as_bytes()).expect("a map");
    let compiled = compile(&block, &Options { stem: "nxo_1a2b_".to_owned() })?;
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
    let (mut pick, mut lines, mut trees, mut exact, mut floating, mut stay) = (0, 0, 0, 0, 0, 0);
    for round in 0..600 {
        let size = [3, 8, 20, 60, 200][round % 5];
        let original = block(&mut dice, size);
        match compare(&original, &mut dice) {
            Ok(Compiled { shape, .. }) => {
                pick += usize::from(shape.pick);
                lines += usize::from(shape.lines);
                trees += usize::from(shape.in_tree > 0);
                exact += usize::from(shape.exact > 0);
                floating += usize::from(shape.floating > 0);
            }
            Err(_) => stay += 1,
        }
    }
    println!("pick {pick}, lines {lines}, trees {trees}, exact {exact}, floating {floating}, stay {stay}");
    assert!(pick > 20 && trees > 100 && exact > 50 && floating > 50, "{pick} {lines} {trees} {exact} {floating}");
}
