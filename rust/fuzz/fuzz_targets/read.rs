//! Reading: tokens from any offset, folded runs, and `map` blocks. Offsets of events are within the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nginxopt_native::lexer::bulk::Folding;
use nginxopt_native::lexer::{Checkpoint, Event, Lexer};
use nginxopt_native::map_block;

fuzz_target!(|input: (usize, usize, &[u8])| {
    let (start, fold, bytes) = input;
    for event in Lexer::new(bytes) {
        if let Ok(Event::Statement { words, end }) = event {
            assert!(words[0].start < end && end <= bytes.len());
        }
    }
    let from = Checkpoint::at(start.min(bytes.len()), 1);
    Folding::new(bytes, fold % 16, from).take(bytes.len() + 1).for_each(drop);
    let _ = map_block::read(bytes);
});
