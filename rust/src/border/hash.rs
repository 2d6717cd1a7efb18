//! [`crate::hash`] for Python: the sizes of nginx's hash tables.

use std::collections::HashSet;

use pyo3::prelude::*;

use crate::border::enums::MapVerdict;
use crate::border::run::CompiledRun;
use crate::border::working::working_if;
use crate::hash::{self, Element, Sizes};
use crate::variables;

/// From this many keys, tables take more than a few milliseconds.
const MANY: usize = 1_000;

/// Returns values for `map_hash_max_size` and `map_hash_bucket_size`, at least `max` and `bucket`, with which nginx
/// builds without a warning the maps of all these runs, maps with the keys of `tables`, and if possible other maps with
/// the same keys. `None` if there are no such sizes. If `as_is`, returns the given sizes if they suffice.
#[pyfunction]
#[pyo3(signature = (runs, tables, others, max, bucket, *, as_is))]
pub fn map_sizes(
    py: Python<'_>,
    runs: Vec<Py<CompiledRun>>,
    tables: Vec<Vec<Vec<u8>>>,
    others: Vec<Vec<Vec<u8>>>,
    max: usize,
    bucket: usize,
    as_is: bool,
) -> PyResult<Option<(usize, usize)>> {
    let mut ours: Vec<Vec<Element>> = tables.iter().map(|keys| elements(keys)).collect();
    for run in &runs {
        ours.extend(run.get().tree_elements());
        ours.extend(run.get().tiers.iter().flat_map(|tier| tier.maps().map(|(_, map)| map.elements.clone())));
    }
    let least = Sizes { max, bucket };
    let is_large = ours.iter().map(Vec::len).sum::<usize>() + others.iter().map(Vec::len).sum::<usize>() >= MANY;
    let sizes = working_if(py, is_large, move || {
        let all: Vec<Vec<Element>> = others.iter().map(|keys| elements(keys)).chain(ours.iter().cloned()).collect();
        let given = Some(least).filter(|sizes| as_is && hash::fit(&all, *sizes));
        given.or_else(|| hash::sizes(&all, least)).or_else(|| hash::sizes(&ours, least))
    })?;
    Ok(sizes.map(|sizes| (sizes.max, sizes.bucket)))
}

/// Returns values for `variables_hash_max_size` and `variables_hash_bucket_size`, at least `max` and `bucket`, with
/// which nginx builds its table of variables with these names besides its own, and with those of `may_be` that fit into
/// it.
#[pyfunction]
#[pyo3(signature = (names, max, bucket, may_be=Vec::new()))]
pub fn variable_sizes(names: Vec<Vec<u8>>, max: usize, bucket: usize, may_be: Vec<Vec<u8>>) -> Option<(usize, usize)> {
    let mut all: HashSet<Vec<u8>> = names.into_iter().collect();
    all.extend(variables::hashed().map(|name| name.as_bytes().to_vec()));
    let may_be: Vec<Vec<u8>> = may_be.into_iter().filter(|name| !all.contains(name)).collect();
    let names: Vec<Vec<u8>> = all.into_iter().collect();
    let sizes = hash::sizes_of_variables(&elements(&names), &elements(&may_be), Sizes { max, bucket });
    sizes.map(|sizes| (sizes.max, sizes.bucket))
}

#[pyfunction]
pub fn map_verdict(py: Python<'_>, keys: Vec<Vec<u8>>, max: usize, bucket: usize) -> PyResult<MapVerdict> {
    let fit = working_if(py, keys.len() >= MANY, move || hash::simulate(&elements(&keys), Sizes { max, bucket }))?;
    Ok(fit.into())
}

fn elements(keys: &[Vec<u8>]) -> Vec<Element> {
    keys.iter().map(|key| Element::new(key)).collect()
}
