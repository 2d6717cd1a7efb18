//! The access phase: `allow`, `deny`, `auth_basic`, `auth_request`, `satisfy`.

use std::net::IpAddr;
use std::sync::Arc;

use crate::request::outcome::{Question, StepKind, Unknown};
use crate::request::record::Recorder;
use crate::request::run::{Flow, Run};
use crate::request::setting::{self, Own, Setting};
use crate::request::site::{Node, Stated};

/// The address of an `allow`, `deny` or `set_real_ip_from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub node: Node,
    pub is_denied: bool,
    network: Network,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Network {
    All,
    Unix,
    /// The address and the length of its prefix.
    Inet(IpAddr, u8),
    /// A name, or a text that nginx refuses.
    Name,
}

impl Address {
    pub fn read(directive: &Stated, is_denied: bool) -> Option<Address> {
        let network = Network::read(setting::argument(directive, 0));
        Some(Address { node: directive.node, is_denied, network })
    }

    /// Whether nginx accepts a text as the address of an `allow` or `deny`.
    pub fn is_valid(text: &[u8]) -> bool {
        match Network::read(text) {
            Network::Inet(IpAddr::V4(_), length) => length <= 32 || !text.contains(&b'/'),
            Network::Inet(IpAddr::V6(_), length) => length <= 128,
            Network::Name => false,
            Network::All | Network::Unix => true,
        }
    }

    /// Whether the directive applies to a client's address. Fails if that is unknown.
    pub fn has(&self, client: Option<&[u8]>) -> Result<bool, Unknown> {
        let unknown = |reason: &str| Unknown { reason: reason.to_owned(), node: Some(self.node), question: None };
        if self.network == Network::All {
            return Ok(true);
        }
        let client = client.ok_or_else(|| unknown("the address of the client"))?;
        match (&self.network, parse(client)) {
            (Network::Name, _) => Err(unknown("the address of a name")),
            (Network::Unix, None) => Ok(true),
            (Network::Inet(network, length), Some(client)) => Ok(is_in(client, *network, *length)),
            _ => Ok(false),
        }
    }
}

impl Network {
    fn read(text: &[u8]) -> Network {
        if text == b"all" {
            return Network::All;
        }
        if text == b"unix:" {
            return Network::Unix;
        }
        let (address, length) = match text.iter().position(|byte| *byte == b'/') {
            Some(slash) => (&text[..slash], setting::number(&text[slash + 1..])),
            None => (text, Some(128)),
        };
        match (parse(address), length.and_then(|length| u8::try_from(length).ok())) {
            (Some(address), Some(length)) => Network::Inet(address, length),
            _ => Network::Name,
        }
    }
}

/// Parses an address. `None` for the address of a client on a unix socket.
fn parse(text: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn is_in(client: IpAddr, network: IpAddr, length: u8) -> bool {
    let client = match (client, network) {
        (IpAddr::V6(client), IpAddr::V4(_)) => client.to_ipv4_mapped().map(IpAddr::V4),
        _ => Some(client),
    };
    match (client, network) {
        (Some(IpAddr::V4(client)), IpAddr::V4(network)) => {
            let shift = 32 - u32::from(length.min(32));
            u32::from(client).checked_shr(shift) == u32::from(network).checked_shr(shift)
        }
        (Some(IpAddr::V6(client)), IpAddr::V6(network)) => {
            let shift = 128 - u32::from(length.min(128));
            u128::from(client).checked_shr(shift) == u128::from(network).checked_shr(shift)
        }
        _ => false,
    }
}

/// Reads the addresses of a level, in the order of the text. If it has any of its own, they replace all of the level
/// around it.
pub fn read(own: &Own, outer: &Setting<Arc<[Address]>>) -> Setting<Arc<[Address]>> {
    let allowed = own.all("allow")?.into_iter().filter_map(|directive| Address::read(directive, false));
    let denied = own.all("deny")?.into_iter().filter_map(|directive| Address::read(directive, true));
    let mut addresses: Vec<Address> = allowed.chain(denied).collect();
    if addresses.is_empty() {
        return outer.clone();
    }
    addresses.sort_by_key(|address| address.node);
    Ok(addresses.into())
}

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
        let addresses = self.settings().access.clone()?;
        for address in &*addresses {
            let client = self.client.clone()?;
            if address.has(client.as_ref().map(|client| &client.0[..]))? {
                let refused = Verdict::Refused(403, address.node);
                return Ok(if address.is_denied { refused } else { Verdict::Allowed(address.node) });
            }
        }
        Ok(Verdict::Declined)
    }

    fn password(&mut self) -> Result<Verdict, Unknown> {
        let Some(realm) = self.settings().auth_basic.clone()? else { return Ok(Verdict::Declined) };
        let (node, value) = &*realm;
        if self.evaluate(value)? == b"off" {
            return Ok(Verdict::Declined);
        }
        if self.header(b"authorization").is_none() {
            return Ok(Verdict::Refused(401, *node));
        }
        Err(Unknown { reason: "whether the password is right".into(), node: Some(*node), question: None })
    }

    /// Runs the subrequest of `auth_request`. If its status is 401 or 403, that is the status of the request. 2xx
    /// passes, and any other status becomes 500.
    fn subrequest(&mut self) -> Result<Verdict, Unknown> {
        let Some(uri) = self.settings().auth_request.clone()? else { return Ok(Verdict::Declined) };
        let (node, value) = &*uri;
        let uri = self.evaluate(value)?;
        let outcome = self.ask(&uri, *node)?;
        let question = outcome.upstream.map(|passed| Question::Upstream { server: passed.server });
        let reason = "what the subrequest of auth_request answers";
        let unknown = || Unknown { reason: reason.into(), node: Some(*node), question };
        Ok(match outcome.status.ok_or_else(unknown)? {
            200..300 => Verdict::Allowed(*node),
            status @ (401 | 403) => Verdict::Refused(status, *node),
            _ => Verdict::Refused(500, *node),
        })
    }

    fn note_access(&mut self, node: Node, detail: &'static [u8]) {
        self.note(StepKind::Access, Some(node), || detail.to_vec());
    }
}
