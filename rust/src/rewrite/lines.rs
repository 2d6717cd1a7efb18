//! The lines of a map. They may take hundreds of megabytes, so they are in memory only once.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

/// A text that contains lines, among other things.
pub type Text = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// The lines of a map: first as they are written, and later as a part of the finished text.
#[derive(Default)]
pub struct Lines(RwLock<Place>);

enum Place {
    Here(Vec<u8>),
    In(Text, Range<usize>),
}

impl Default for Place {
    fn default() -> Place {
        Place::Here(Vec::new())
    }
}

impl Lines {
    pub fn new(bytes: Vec<u8>) -> Lines {
        Lines(RwLock::new(Place::Here(bytes)))
    }

    /// Calls `with` with the bytes.
    pub fn read<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Place::Here(bytes) => with(bytes),
            Place::In(text, range) => with(&(**text).as_ref()[range.clone()]),
        }
    }

    /// Frees the bytes, and refers to the same bytes in a text from now on. Panics if the lengths differ.
    pub fn move_to(&self, text: &Text, range: Range<usize>) {
        assert_eq!(self.read(<[u8]>::len), range.len(), "the text holds the lines");
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Place::In(Arc::clone(text), range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines are the same before and after they are moved into a text.
    #[test]
    fn move_to() {
        let lines = Lines::new(b"a;\n".to_vec());
        let text: Text = Arc::new(b"map {\na;\n}\n".to_vec());
        assert_eq!(lines.read(<[u8]>::to_vec), b"a;\n");
        lines.move_to(&text, 6..9);
        assert_eq!(lines.read(<[u8]>::to_vec), b"a;\n");
        assert!(Lines::default().read(<[u8]>::is_empty));
    }
}
