//! The compiler of rewrites: any text, as one section.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nginxopt_native::phase::{Entering, Phase};
use nginxopt_native::rewrite::options::Options;
use nginxopt_native::rewrite::planner::plan;
use nginxopt_native::rewrite::runs::{Section, read};
use nginxopt_native::syntax::Readings;

fuzz_target!(|input: (bool, &[u8])| {
    let (is_server, bytes) = input;
    let section = Section { ranges: std::iter::once(0..bytes.len()).collect(), is_behind_if: false, is_last: false };
    let Ok(runs) = read(bytes, &[section]) else { return };
    let phase = if is_server { Phase::Server } else { Phase::Location };
    let options = Options {
        phase,
        captures_matter: true,
        reruns: None,
        readings: Readings::default(),
        bound: 1000,
        entering: Entering::All,
    };
    for run in &runs.runs {
        let _ = plan(run, &options);
    }
});
