//! Error responses and `error_page` (`ngx_http_special_response_handler`).

use crate::request::bytes::Bytes;
use crate::request::directives::error_page::ErrorPage;
use crate::request::outcome::{Outcome, OutcomeKind, StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::response::Response;
use crate::request::run::{Flow, Run};
use crate::request::setting::known;
use crate::request::site::Node;
use crate::request::uri::split_args;

impl<R: Recorder> Run<'_, R> {
    /// Ends the phase with a status. `node` is the directive that causes it.
    pub fn fail(&mut self, status: u16, node: Option<Node>) -> Flow {
        self.state.cause = node;
        Flow::Error(status)
    }

    /// `ngx_http_finalize_request`
    pub fn finalize(&mut self, status: u16) -> Result<Flow, Unknown> {
        match status {
            201 | 204 | 300.. if !matches!(status, 408 | 444 | 499) => self.special_response(status),
            _ => Ok(Flow::Done(Box::new(self.closed()))),
        }
    }

    /// Whether there is an `error_page` for a status.
    pub fn has_page(&self, status: u16) -> Result<bool, Unknown> {
        Ok(known(&self.settings().error_pages)?.iter().any(|page| page.status == status))
    }

    fn special_response(&mut self, status: u16) -> Result<Flow, Unknown> {
        self.state.err_status = status;
        self.state.has_read_body = true;
        let settings = self.settings();
        let pages = known(&settings.error_pages)?;
        if !self.state.error_page && !pages.is_empty() && self.state.changes_left > 0 {
            self.state.error_page = !settings.recursive_error_pages.clone()?;
            if let Some(page) = pages.iter().find(|page| page.status == status) {
                return self.send_error_page(page);
            }
        }
        if matches!(status, 494..=497) {
            self.state.err_status = 400;
        }
        self.respond_with_error(status)
    }

    /// Responds with nginx's own error page.
    fn respond_with_error(&mut self, status: u16) -> Result<Flow, Unknown> {
        if matches!(status, 301 | 302) && self.refreshes()? {
            return self.respond_with_refresh(self.state.cause);
        }
        let kind = if self.state.is_return { OutcomeKind::Return } else { OutcomeKind::Error };
        let node = self.state.cause;
        let file = self.state.missing.take();
        self.respond(Response { kind, status: Some(status), node, file, ..Response::default() })
    }

    fn send_error_page(&mut self, page: &ErrorPage) -> Result<Flow, Unknown> {
        self.recorder.uses(page.node);
        if let Some(status) = page.overwrite {
            self.state.err_status = status;
        }
        let mut target = self.evaluate(&page.target)?;
        self.note(StepKind::ErrorPage, Some(page.node), || target.clone());
        match target.first() {
            Some(b'/') => {
                let args = if page.target.constant().is_some() { page.args.0.clone() } else { split_args(&mut target) };
                if &*self.state.method != b"HEAD" {
                    self.state.method = b"GET"[..].into();
                }
                Ok(self.internal_redirect(target, args, page.node))
            }
            Some(b'@') => Ok(self.named_location(&target, page.node)),
            _ => {
                if !matches!(page.overwrite, Some(301 | 302 | 303 | 307 | 308)) {
                    self.state.err_status = 302;
                }
                self.state.location = Some(Ok(target));
                if self.refreshes()? {
                    return self.respond_with_refresh(Some(page.node));
                }
                let status = Some(self.state.err_status);
                let kind = OutcomeKind::Redirect;
                self.respond(Response { kind, status, node: Some(page.node), ..Response::default() })
            }
        }
    }

    /// Whether a redirect becomes a page that redirects: for browsers that `msie_refresh` is about
    /// (`ngx_http_process_user_agent`).
    fn refreshes(&self) -> Result<bool, Unknown> {
        let agent = self.header(b"user_agent").unwrap_or_default();
        let found = agent.windows(5).position(|part| part == b"MSIE ");
        let is_msie = found.is_some_and(|at| at + 7 < agent.len()) && !agent.windows(5).any(|part| part == b"Opera");
        Ok(is_msie && self.state.location.is_some() && self.settings().msie_refresh.clone()?)
    }

    /// `ngx_http_send_refresh`
    fn respond_with_refresh(&mut self, node: Option<Node>) -> Result<Flow, Unknown> {
        self.state.err_status = 200;
        let (body, unknown) = match self.state.location.take().unwrap_or(Ok(Vec::new())) {
            Ok(location) => (Some(Bytes(refresh_page(&location))), None),
            Err(unknown) => (None, Some(unknown)),
        };
        let kind = OutcomeKind::Return;
        self.respond(Response { kind, status: Some(200), node, body, unknown, ..Response::default() })
    }

    fn closed(&self) -> Outcome {
        Outcome { node: self.state.cause, ..self.outcome(OutcomeKind::Closed) }
    }
}

/// The page that leads to a location, escaped by `NGX_ESCAPE_REFRESH`.
fn refresh_page(location: &[u8]) -> Vec<u8> {
    let mut page = b"<html><head><meta http-equiv=\"Refresh\" content=\"0; URL=".to_vec();
    for byte in location {
        match byte {
            0..=b' ' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'~'.. => {
                page.extend(format!("%{byte:02X}").bytes());
            }
            _ => page.push(*byte),
        }
    }
    page.extend_from_slice(b"\"></head><body></body></html>\r\n");
    page
}
