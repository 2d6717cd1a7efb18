//! Conditional requests, which may get another status than 200 (`ngx_http_not_modified_header_filter`).

use crate::request::outcome::{OutcomeKind, Unknown};
use crate::request::record::Recorder;
use crate::request::response::Response;
use crate::request::run::Run;

impl<R: Recorder> Run<'_, R> {
    /// Returns the status of a response that would have status 200 without conditions.
    ///
    /// The response of a `return` has neither a date nor an entity tag, so only `*` matches it. For other responses,
    /// date and entity tag are unknown.
    pub fn conditional_status(&self, response: &Response) -> Result<u16, Unknown> {
        if self.main_method.is_some() || !self.has_condition() {
            return Ok(200);
        }
        let status = self.status_without_tag();
        if response.kind == OutcomeKind::Return && (status != 412 || !self.has_page(412)?) {
            return Ok(status);
        }
        let reason = "whether the response meets the conditions of the request".to_owned();
        Err(Unknown { reason, node: response.node, question: None })
    }

    fn status_without_tag(&self) -> u16 {
        let is_any = |name: &'static [u8]| self.header(name).map(|value| value == b"*");
        if self.header(b"if_unmodified_since").is_some() || is_any(b"if_match") == Some(false) {
            return 412;
        }
        let is_match = self.header(b"if_modified_since").is_none() && is_any(b"if_none_match") == Some(true);
        if is_match { 304 } else { 200 }
    }

    fn has_condition(&self) -> bool {
        let conditions: [&[u8]; 4] = [b"if_match", b"if_none_match", b"if_modified_since", b"if_unmodified_since"];
        conditions.iter().any(|name| self.header(name).is_some())
    }
}
