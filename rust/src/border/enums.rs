//! The enums of the crate that Python sees. Each has the variants of one in the crate, which knows no Python.

use pyo3::prelude::*;

use crate::hash::TableFit;
use crate::phase;
use crate::prove_map::filter::NoFilter;
use crate::prove_map::union::NoUnion;
use crate::rewrite::suspicious;

/// [`phase::Entering`]
#[pyclass(eq, frozen, hash, from_py_object, module = "nginxopt._native", rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entering {
    Nothing,
    AllButBreak,
    All,
}

impl From<Entering> for phase::Entering {
    fn from(entering: Entering) -> phase::Entering {
        match entering {
            Entering::Nothing => phase::Entering::Nothing,
            Entering::AllButBreak => phase::Entering::AllButBreak,
            Entering::All => phase::Entering::All,
        }
    }
}

/// What nginx does with a map: [`TableFit`] without the size.
#[pyclass(eq, frozen, hash, module = "nginxopt._native", rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapVerdict {
    Fits,
    Warns,
    Refused,
    Slow,
}

impl From<TableFit> for MapVerdict {
    fn from(fit: TableFit) -> MapVerdict {
        match fit {
            TableFit::Fits(_) => MapVerdict::Fits,
            TableFit::Warns => MapVerdict::Warns,
            TableFit::Refused => MapVerdict::Refused,
            TableFit::Slow => MapVerdict::Slow,
        }
    }
}

/// Why no ordinary request matches a pattern: [`suspicious::Never`].
#[pyclass(eq, frozen, hash, module = "nginxopt._native", rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Never {
    Impossible,
    Percent,
    Query,
}

impl From<suspicious::Never> for Never {
    fn from(never: suspicious::Never) -> Never {
        match never {
            suspicious::Never::Impossible => Never::Impossible,
            suspicious::Never::Percent => Never::Percent,
            suspicious::Never::Query => Never::Query,
        }
    }
}

/// Why a pattern is not the union of others: [`NoUnion`] without the subject.
#[pyclass(eq, frozen, hash, module = "nginxopt._native", rename_all = "SCREAMING_SNAKE_CASE")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnionFault {
    SetsAName,
    Unknown,
    TurnsAway,
    TooWide,
}

impl From<&NoUnion> for UnionFault {
    fn from(fault: &NoUnion) -> UnionFault {
        match fault {
            NoUnion::NoFilter(NoFilter::SetsAName) => UnionFault::SetsAName,
            NoUnion::NoFilter(NoFilter::Unknown) => UnionFault::Unknown,
            NoUnion::TurnsAway(_) => UnionFault::TurnsAway,
            NoUnion::TooWide => UnionFault::TooWide,
        }
    }
}
