//! Why the reading of a request stops.

use crate::request::outcome::Unknown;

/// Why reading stops.
pub enum Refusal {
    Status(u16),
    Unknown(Unknown),
}

pub const BAD_REQUEST: Refusal = Refusal::Status(400);

pub fn unknown(reason: &str) -> Refusal {
    Refusal::Unknown(Unknown { reason: reason.to_owned(), node: None, question: None })
}
