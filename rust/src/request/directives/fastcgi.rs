//! `fastcgi_split_path_info`.

use std::sync::Arc;

use crate::request::bytes::Bytes;
use crate::request::patterns::{Pattern, Patterns};
use crate::request::refused::Refused;
use crate::request::setting;
use crate::request::site::Stated;

/// Reads a `fastcgi_split_path_info`.
pub fn split(directive: &Stated) -> Result<Arc<Patterns>, Refused> {
    let text = Bytes::from(setting::argument(directive, 0));
    let patterns = Patterns::new(vec![Pattern { node: directive.node, text: text.clone(), caseless: false }])?;
    if patterns.group_count(0) != 2 {
        let message = format!("pattern \"{}\" must have 2 captures", text.escape_ascii());
        return Err(Refused::new(directive.node, message));
    }
    Ok(Arc::new(patterns))
}
