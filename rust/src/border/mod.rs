//! The Python extension module `nginxopt._native`. Its files only convert between Python and the crate.
//!
//! `nginxopt/_native.pyi` documents the module for callers.

mod enums;
mod hash;
mod lexer;
mod logs;
mod map_block;
mod maps;
mod memory;
mod patterns;
mod plain_rows;
mod prove;
mod prove_map;
mod request;
mod rewrite;
mod run;
mod signals;
mod site;
mod spans;
mod work;
mod working;

use pyo3::prelude::*;

/// The native core of nginxopt.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::memory::return_large_blocks();
        super::memory::end_without_memory();
        super::working::note_panics();
        module.add("PanicException", module.py().get_type::<pyo3::panic::PanicException>())?;
        Ok(())
    }

    #[pymodule_export]
    use super::enums::{Entering, MapVerdict, Never, UnionFault};
    #[pymodule_export]
    use super::hash::{map_sizes, map_verdict, variable_sizes};
    #[pymodule_export]
    use super::lexer::{Events, LexError, statement_spans};
    #[pymodule_export]
    use super::logs::{LineFormat, LogDigest, LogRequests};
    #[pymodule_export]
    use super::map_block::{map_blocks, map_evaluations, map_spans};
    #[pymodule_export]
    use super::maps::{CompiledMap, RefusedRow, StayingMap, compile_map, map_reasons};
    #[pymodule_export]
    use super::memory::{end_lacking, release_memory, reserve_memory};
    #[pymodule_export]
    use super::patterns::{
        Patterns, common_subject, exact_union, gives_up, never, not_the_union, pattern_error, pattern_facts,
        suspicious_rewrites, without_captures,
    };
    #[pymodule_export]
    use super::plain_rows::plain_rows;
    #[pymodule_export]
    use super::prove::{Refuted, prove_rewrites};
    #[pymodule_export]
    use super::prove_map::{MapProof, prove_map};
    #[pymodule_export]
    use super::request::{RequestModel, RequestTally, SiteRefusedError, captures};
    #[pymodule_export]
    use super::rewrite::{Compilation, PatternError, RefusedError, compile_rewrites, reasons};
    #[pymodule_export]
    use super::run::{CompiledRun, maps_text};
    #[pymodule_export]
    use super::signals::{count_orderly, watch_signals};
    #[pymodule_export]
    use super::site::request_settings;
    #[pymodule_export]
    use super::work::{TooMuchWork, work_done};
    #[pymodule_export]
    use super::working::{interrupt, panic_place, work_forever};
}
