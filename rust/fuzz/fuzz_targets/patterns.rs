//! Patterns: what is read of one, and what PCRE2 says of those that are not.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nginxopt_native::compile_error::compile_error;
use nginxopt_native::syntax;

fuzz_target!(|pattern: &[u8]| {
    let read = syntax::parse(pattern);
    let _ = syntax::parse_to_match(pattern);
    if read.is_ok() {
        assert_eq!(compile_error(pattern), None, "what is read compiles");
    }
});
