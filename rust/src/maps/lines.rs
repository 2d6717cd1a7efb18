//! Sends subjects with an inner newline to maps of their own, so that elsewhere `.*$` matches everything.

use crate::maps::text::Key;
use crate::maps::writer::Writer;

/// Writes the maps that send subjects with an inner newline to the rows that may match one, and all others to `next`.
/// Returns the variable of the first map.
pub fn write(writer: &mut Writer, next: &[u8]) -> Vec<u8> {
    let mut rows = writer.of_source("newline");
    let spanning = (0..writer.rows.len()).filter(|row| writer.rows[*row].spans_lines);
    rows.rows = spanning.map(|row| writer.verbatim(row)).collect();
    rows.default = writer.fallback();
    let rows = writer.add(rows);
    let mut lines = writer.of_source("lines");
    lines.rows.push((Key::Pattern { pattern: br"(?s)\n.".to_vec(), caseless: false }, rows));
    lines.default = next.to_vec();
    writer.add(lines)
}
