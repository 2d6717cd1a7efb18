//! The access phase: `allow`, `deny`, `auth_basic`, `auth_request`, `satisfy`.

use crate::first_match::Tries;
use crate::request::credentials;
use crate::request::directives::access::Address;
use crate::request::directives::root::full_name;
use crate::request::outcome::{Event, Question, StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::run::{Flow, Run};
use crate::request::setting::known;
use crate::request::site::Node;
use crate::request::world::Found;

/// The result of a check of the access phase.
enum Verdict {
    Declined,
    Allowed(Node),
    Refused(u16, Node),
}

impl<R: Recorder> Run<'_, R> {
    /// Runs the access phase (`ngx_http_core_access_phase`). Subrequests always pass.
    pub fn access(&mut self) -> Result<Flow, Unknown> {
        if self.main_method.is_some() {
            return Ok(Flow::Next);
        }
        let settings = self.settings();
        let satisfies_any = settings.satisfies_any.clone()?;
        let mut refusal: Option<(u16, Node)> = None;
        for check in 0..3 {
            let verdict = match check {
                0 => self.addresses()?,
                1 => self.password()?,
                _ => self.subrequest()?,
            };
            match verdict {
                Verdict::Declined => {}
                Verdict::Allowed(node) if satisfies_any => {
                    self.note_access(node, b"allowed");
                    return Ok(Flow::Next);
                }
                Verdict::Allowed(node) => self.note_access(node, b"allowed"),
                Verdict::Refused(status @ (401 | 403), node) if satisfies_any => {
                    if refusal.is_none_or(|(status, _)| status != 401) {
                        refusal = Some((status, node));
                    }
                }
                Verdict::Refused(status, node) => {
                    self.note_access(node, b"refused");
                    return Ok(self.fail(status, Some(node)));
                }
            }
        }
        Ok(match refusal {
            Some((status, node)) => {
                self.note_access(node, b"refused");
                self.fail(status, Some(node))
            }
            None => Flow::Next,
        })
    }

    fn addresses(&mut self) -> Result<Verdict, Unknown> {
        let addresses = known(&self.settings().access)?;
        for address in &**addresses {
            let client = self.client.clone()?;
            let applies = match client {
                None if address.depends_on_client() => self.is_client_in(address)?,
                client => address.has(client.as_ref().map(|client| &client.0[..]))?,
            };
            if applies {
                let refused = Verdict::Refused(403, address.node);
                return Ok(if address.is_denied { refused } else { Verdict::Allowed(address.node) });
            }
        }
        Ok(Verdict::Declined)
    }

    fn password(&mut self) -> Result<Verdict, Unknown> {
        let Some(realm) = known(&self.settings().auth_basic)? else { return Ok(Verdict::Declined) };
        let Some(file) = known(&self.settings().auth_basic_user_file)? else { return Ok(Verdict::Declined) };
        let (node, value) = &**realm;
        if self.evaluate(value)? == b"off" {
            return Ok(Verdict::Declined);
        }
        if let Some(is_right) = self.world.password {
            if R::TRIES {
                self.recorder.tries(*node, Tries { passwords: 1, ..Tries::default() });
            }
            return Ok(if is_right { Verdict::Allowed(*node) } else { Verdict::Refused(401, *node) });
        }
        if self.header(b"authorization").and_then(credentials::user).is_none() {
            return Ok(Verdict::Refused(401, *node));
        }
        let path = full_name(self.evaluate(file)?, &self.model.site.build.prefix);
        Ok(match self.look_up(&path, *node)? {
            None => Verdict::Refused(403, *node),
            Some(Found::Folder) => Verdict::Refused(500, *node),
            Some(_) if self.happens(format!("{} has that user and password", path.escape_ascii()), *node)? => {
                Verdict::Allowed(*node)
            }
            Some(_) => Verdict::Refused(401, *node),
        })
    }

    /// Runs the subrequest of `auth_request`. If its status is 401 or 403, that is the status of the request. 2xx
    /// passes, and any other status becomes 500.
    fn subrequest(&mut self) -> Result<Verdict, Unknown> {
        let Some(uri) = known(&self.settings().auth_request)? else { return Ok(Verdict::Declined) };
        let (node, value) = &**uri;
        let uri = self.evaluate(value)?;
        let outcome = self.ask(&uri, *node)?;
        let status = match outcome.status {
            Some(status) => status,
            None => self.answered(&uri, *node)?,
        };
        Ok(match status {
            200..300 => Verdict::Allowed(*node),
            status @ (401 | 403) => Verdict::Refused(status, *node),
            _ => Verdict::Refused(500, *node),
        })
    }

    /// The status with which a subrequest ends that an upstream answers, as far as it matters.
    fn answered(&self, uri: &[u8], node: Node) -> Result<u16, Unknown> {
        for (what, status) in [("2xx", 200), ("401", 401), ("403", 403)] {
            if self.happens(format!("the subrequest to {} ends with {what}", uri.escape_ascii()), node)? {
                return Ok(status);
            }
        }
        Ok(500)
    }

    /// Whether a client whose address is unknown is one of those of an `allow` or `deny`.
    fn is_client_in(&self, address: &Address) -> Result<bool, Unknown> {
        let happens = self.happens(format!("the client is in {}", address.text.escape_ascii()), address.node);
        happens.map_err(|unknown| Unknown { reason: "the address of the client".into(), ..unknown })
    }

    /// Whether an event happens. Unknown unless a branch settles it.
    pub(super) fn happens(&self, text: String, node: Node) -> Result<bool, Unknown> {
        self.settle(Event::of(text), node)
    }

    pub(super) fn settle(&self, event: Event, node: Node) -> Result<bool, Unknown> {
        let settled = self.world.events.iter().find_map(|(other, happens)| event.follows(other, *happens));
        settled.ok_or_else(|| {
            let reason = format!("whether {}", event.text);
            Unknown { reason, node: Some(node), question: Some(Question::Event(event)) }
        })
    }

    fn note_access(&mut self, node: Node, detail: &'static [u8]) {
        self.note(StepKind::Access, Some(node), || detail.to_vec());
    }
}
