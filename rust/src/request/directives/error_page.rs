//! `error_page`.

use crate::request::bytes::Bytes;
use crate::request::refused::Refused;
use crate::request::setting;
use crate::request::site::{Node, Stated};
use crate::request::value::Value;
use crate::request::variables::Variables;

/// An `error_page`, for one status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorPage {
    pub node: Node,
    pub status: u16,
    /// The status to send (`=200`). 0 stands for `=`: the status of the page itself is sent.
    pub overwrite: Option<u16>,
    pub target: Value,
    /// The arguments of a target without variables.
    pub args: Bytes,
}

impl ErrorPage {
    pub fn read(directive: &Stated, variables: &mut Variables) -> Result<Vec<ErrorPage>, Refused> {
        let refused = |message: String| Refused::new(directive.node, message);
        let invalid = |text: &[u8]| refused(format!("invalid value \"{}\"", text.escape_ascii()));
        let Some((target, statuses)) = directive.args.split_last() else { return Err(invalid(b"")) };
        let (overwrite, statuses) = match statuses.split_last() {
            Some((last, rest)) if last.starts_with(b"=") && !rest.is_empty() => {
                let status = match &last[1..] {
                    b"" => Some(0),
                    text => setting::number(text).and_then(|number| u16::try_from(number).ok()),
                };
                (Some(status.ok_or_else(|| invalid(last))?), rest)
            }
            _ => (None, statuses),
        };
        let mut value = Value::parse(target, variables).map_err(refused)?;
        let mut args = Bytes::default();
        let question = target.iter().position(|byte| *byte == b'?').filter(|_| target.starts_with(b"/"));
        if let (Some(question), Some(_)) = (question, value.constant()) {
            value = Value::text(&target[..question]);
            args = target[question + 1..].into();
        }
        let page = |text: &Bytes| {
            let status = setting::number(text).and_then(|status| u16::try_from(status).ok());
            let status = status.filter(|status| (300..=599).contains(status) && *status != 499);
            let status = status.ok_or_else(|| invalid(text))?;
            let overwrite = overwrite.or(matches!(status, 494..=497).then_some(400));
            Ok(ErrorPage { node: directive.node, status, overwrite, target: value.clone(), args: args.clone() })
        };
        statuses.iter().map(page).collect()
    }
}
