//! `add_header` and `expires`.

use crate::request::bytes::Bytes;
use crate::request::refused::Refused;
use crate::request::setting;
use crate::request::site::{Node, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

/// An `add_header`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddHeader {
    pub node: Node,
    pub name: Bytes,
    pub value: Value,
    pub is_always: bool,
}

/// An `expires` that is not `off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expires {
    pub node: Node,
    pub value: Value,
    /// Whether the time counts from the modification of the file (`modified`).
    pub is_modified: bool,
}

impl AddHeader {
    pub fn read(directive: &Stated, variables: &mut Variables) -> Result<AddHeader, Refused> {
        let refused = |message| Refused::new(directive.node, message);
        Ok(AddHeader {
            node: directive.node,
            name: setting::argument(directive, 0).into(),
            value: Value::parse(setting::argument(directive, 1), variables).map_err(refused)?,
            is_always: setting::argument(directive, 2) == b"always",
        })
    }
}

impl Expires {
    pub fn read(directive: &Stated, variables: &mut Variables) -> Result<Option<Expires>, Refused> {
        let refused = |message| Refused::new(directive.node, message);
        let is_modified = directive.args.len() == 2;
        let text = setting::argument(directive, usize::from(is_modified));
        let value = Value::parse(text, variables).map_err(refused)?;
        Ok((text != b"off").then_some(Expires { node: directive.node, value, is_modified }))
    }
}

/// Why nginx refuses the words of an `expires` (`ngx_http_parse_expires`).
pub fn fault(words: &[&[u8]]) -> Option<&'static str> {
    let (text, is_modified) = match words {
        [text] => (*text, false),
        [b"modified", text] => (*text, true),
        _ => return Some("invalid value"),
    };
    let time = match text {
        _ if text.contains(&b'$') => return None,
        b"off" | b"epoch" | b"max" if !is_modified => return None,
        [b'@', ..] if is_modified => return Some("daily time cannot be used with \"modified\" parameter"),
        [b'@', time @ ..] if seconds(time).is_some_and(|seconds| seconds > 86_400) => {
            return Some("daily time value must be less than 24 hours");
        }
        [b'@' | b'+' | b'-', time @ ..] | time => time,
    };
    seconds(time).is_none().then_some("invalid value")
}

/// Parses a time such as `1h 30m` or `45`, and returns seconds (`ngx_parse_time`).
pub fn seconds(text: &[u8]) -> Option<i64> {
    const UNITS: [(u8, i64); 7] =
        [(b'y', 31_536_000), (b'M', 2_592_000), (b'w', 604_800), (b'd', 86_400), (b'h', 3_600), (b'm', 60), (b's', 1)];
    let mut rest = text;
    let mut units = &UNITS[..];
    let mut total: i64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let length = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let number = i64::try_from(setting::number(&rest[..length])?).ok()?;
        rest = &rest[length..];
        let factor = match rest.split_first() {
            None => 1,
            Some((b' ', after)) => {
                rest = after;
                1
            }
            Some((unit, after)) => {
                let place = units.iter().position(|(letter, _)| letter == unit)?;
                let factor = units[place].1;
                units = &units[place + 1..];
                rest = after;
                factor
            }
        };
        total = total.checked_add(number.checked_mul(factor)?)?;
        while let [b' ', after @ ..] = rest {
            rest = after;
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    /// Units descend, and each occurs once. A number without a unit counts seconds.
    #[test]
    fn times() {
        for (text, expected) in [
            ("1h 30m", Some(5400)),
            ("45", Some(45)),
            ("30d", Some(2_592_000)),
            ("1y1M", Some(34_128_000)),
            ("0", Some(0)),
        ] {
            assert_eq!(seconds(text.as_bytes()), expected, "{text}");
        }
        for text in ["", "x", "1m1h", "h"] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }
}
