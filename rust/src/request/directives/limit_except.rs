//! `limit_except`.

use crate::request::bytes::Bytes;
use crate::request::site::LevelId;

/// The block of a `limit_except`, and the methods that it names, for which the block does not apply.
#[derive(Clone, Debug)]
pub struct LimitExcept {
    pub level: LevelId,
    pub except: Vec<Bytes>,
}

impl LimitExcept {
    /// `GET` stands for `HEAD`, too.
    pub fn applies_to(&self, method: &[u8]) -> bool {
        let is_except = |except: &Bytes| {
            except.eq_ignore_ascii_case(method) || (except.eq_ignore_ascii_case(b"GET") && method == b"HEAD")
        };
        !self.except.iter().any(is_except)
    }
}
