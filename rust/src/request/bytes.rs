//! Bytes in JSON: each byte is written as the character with its number, as in Latin-1.

use std::fmt;
use std::ops::Deref;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes of a configuration, a request or a response. They need not be UTF-8.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Bytes {
        Bytes(text.as_bytes().to_vec())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(bytes)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) if text.is_ascii() => serializer.serialize_str(text),
            _ => serializer.serialize_str(&self.0.iter().map(|byte| char::from(*byte)).collect::<String>()),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        deserializer.deserialize_str(Latin1)
    }
}

struct Latin1;

impl Visitor<'_> for Latin1 {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string of characters up to U+00FF")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
        if text.is_ascii() {
            return Ok(Bytes(text.as_bytes().to_vec()));
        }
        let bytes = text.chars().map(|char| u8::try_from(u32::from(char))).collect::<Result<_, _>>();
        bytes.map(Bytes).map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;

    /// All bytes come back as they were.
    #[test]
    fn round_trip() {
        let bytes = Bytes((0..=255).collect());
        let json = serde_json::to_string(&bytes).unwrap();
        assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap(), bytes);
        assert!(serde_json::from_str::<Bytes>("\"\u{20ac}\"").is_err());
    }
}
