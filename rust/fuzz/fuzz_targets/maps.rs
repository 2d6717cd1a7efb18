//! The proof of maps: of any two texts it says something, and a map stands for itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nginxopt_native::prove_map::prove;

fuzz_target!(|texts: (&[u8], &[u8])| {
    let _ = prove(texts.0, texts.1, None);
});
