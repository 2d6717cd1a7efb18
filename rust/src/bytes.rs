//! Tables of bytes.

/// Returns a table that is true for all bytes except these.
pub(crate) const fn all_but(bytes: &[u8]) -> [bool; 256] {
    let mut table = [true; 256];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = false;
        at += 1;
    }
    table
}
