//! The directives with which a server reads requests, such as `large_client_header_buffers`.

use crate::request::setting::{Own, argument, is_on, number, size};
use crate::request::site::{LevelId, Site, Stated};
use crate::request::wire::Settings;

/// The settings of a server with which nginx reads requests.
pub fn wire_settings(site: &Site, server: LevelId) -> Settings {
    let first = |name: &str| {
        let mut level = Some(server);
        while let Some(id) = level {
            let own = Own { site, level: &site.levels[id] };
            if let Ok(Some(directive)) = own.last(name) {
                return Some(directive);
            }
            level = own.level.parent;
        }
        None
    };
    let defaults = Settings::default();
    let flag = |name: &str, default: bool| first(name).map_or(default, is_on);
    let bytes = |directive: &Stated, place: usize| usize::try_from(size(argument(directive, place))?).ok();
    let count = |directive: &Stated| usize::try_from(number(argument(directive, 0))?).ok();
    let large_buffers =
        first("large_client_header_buffers").and_then(|directive| Some((count(directive)?, bytes(directive, 1)?)));
    let header_buffer = first("client_header_buffer_size").and_then(|directive| bytes(directive, 0));
    Settings {
        merge_slashes: flag("merge_slashes", defaults.merge_slashes),
        underscores_in_headers: flag("underscores_in_headers", defaults.underscores_in_headers),
        ignore_invalid_headers: flag("ignore_invalid_headers", defaults.ignore_invalid_headers),
        header_buffer: header_buffer.unwrap_or(defaults.header_buffer),
        large_buffers: large_buffers.unwrap_or(defaults.large_buffers),
        max_headers: first("max_headers").and_then(count).unwrap_or(defaults.max_headers),
    }
}
