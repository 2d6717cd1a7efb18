//! The addresses of `allow`, `deny` and `set_real_ip_from`.

use std::net::IpAddr;
use std::sync::Arc;

use crate::request::bytes::Bytes;
use crate::request::outcome::Unknown;
use crate::request::setting::{self, Own, Setting};
use crate::request::site::{Node, Stated};

/// The address of an `allow`, `deny` or `set_real_ip_from`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub node: Node,
    pub is_denied: bool,
    pub text: Bytes,
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
        let text = setting::argument(directive, 0);
        Some(Address { node: directive.node, is_denied, text: Bytes(text.to_vec()), network: Network::read(text) })
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

    /// Whether it depends on the address of the client, and on nothing else, whether the directive applies.
    pub fn depends_on_client(&self) -> bool {
        matches!(self.network, Network::Unix | Network::Inet(..))
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
