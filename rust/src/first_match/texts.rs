//! The texts of patterns.

/// Byte strings in one buffer.
pub(super) struct PatternTexts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl PatternTexts {
    pub fn new(texts: &[&[u8]]) -> PatternTexts {
        let bytes = texts.concat();
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len();
            Some(*end)
        });
        PatternTexts { bytes, ends: ends.collect() }
    }

    pub fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}
