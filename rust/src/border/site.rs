//! [`crate::request::site`] for Python: what the lowering has to know.

use pyo3::prelude::*;

use crate::request::site;

/// The directives that the model reads from the settings of a level.
#[pyfunction]
pub fn request_settings() -> Vec<&'static str> {
    site::SETTINGS.to_vec()
}
