//! Parses addresses (`ngx_inet_addr`, `ngx_inet6_addr`).

use std::net::Ipv6Addr;

/// An address. An IPv6 address that maps an IPv4 address is read as that IPv4 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    V4(u32),
    V6(u128),
}

impl Address {
    /// The address that nginx uses if it cannot read one.
    pub const NONE: Address = Address::V4(u32::MAX);

    /// Reads an address of a client.
    pub fn read(text: &[u8]) -> Option<Address> {
        let address = Address::read_as_written(text)?;
        match address {
            Address::V6(bits) if bits >> 32 == 0xffff => Some(Address::V4(bits as u32)),
            address => Some(address),
        }
    }

    /// Reads an address of a configuration.
    pub fn read_as_written(text: &[u8]) -> Option<Address> {
        let v6 = || std::str::from_utf8(text).ok()?.parse::<Ipv6Addr>().ok();
        v4(text).map(Address::V4).or_else(|| v6().map(|address| Address::V6(address.to_bits())))
    }
}

/// Parses four numbers of at most 255. nginx reads a missing number as 0.
pub(super) fn v4(text: &[u8]) -> Option<u32> {
    let mut octets = text.split(|byte| *byte == b'.').map(octet);
    let address = (0..4).try_fold(0, |address, _| Some(address << 8 | octets.next()??))?;
    octets.next().is_none().then_some(address)
}

fn octet(digits: &[u8]) -> Option<u32> {
    let add = |octet: u32, byte: &u8| Some(octet * 10 + char::from(*byte).to_digit(10)?).filter(|octet| *octet <= 255);
    digits.iter().try_fold(0, add)
}
