//! Networks of a `geo`: the row with the longest prefix of an address answers.

use hashbrown::HashMap;

use super::address::Address;

/// An address with all bits after the prefix cleared, and the length of the prefix in bits.
pub type Network = (Address, u32);

/// Rows by their networks.
#[derive(Default)]
pub struct Networks {
    rows: HashMap<Network, usize>,
    /// Whether the block has a line about a network.
    pub is_used: bool,
}

impl Networks {
    /// Reads `address/bits` (`ngx_ptocidr`). Bits after the prefix are cleared.
    pub fn read(text: &[u8]) -> Option<Network> {
        let (address, bits) = match text.iter().position(|byte| *byte == b'/') {
            Some(slash) => (&text[..slash], Some(number(&text[slash + 1..])?)),
            None => (text, None),
        };
        let address = Address::read_as_written(address)?;
        if bits.is_some() && address == Address::NONE {
            return None;
        }
        let most = if matches!(address, Address::V4(_)) { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then(|| (prefix(address, bits), bits))
    }

    /// The networks of all addresses.
    pub fn set_default(&mut self, row: usize) {
        self.add((Address::V4(0), 0), row);
        self.add((Address::V6(0), 0), row);
    }

    /// Adds a row. It replaces an earlier row for the same network.
    pub fn add(&mut self, network: Network, row: usize) {
        self.is_used = true;
        self.rows.insert(network, row);
    }

    pub fn delete(&mut self, network: Network) {
        self.is_used = true;
        self.rows.remove(&network);
    }

    pub fn find(&self, address: Address) -> Option<usize> {
        let most = if matches!(address, Address::V4(_)) { 32 } else { 128 };
        (0..=most).rev().find_map(|bits| self.rows.get(&(prefix(address, bits), bits))).copied()
    }
}

fn prefix(address: Address, bits: u32) -> Address {
    match address {
        Address::V4(address) => Address::V4(address & u32::MAX.checked_shl(32 - bits).unwrap_or(0)),
        Address::V6(address) => Address::V6(address & u128::MAX.checked_shl(128 - bits).unwrap_or(0)),
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    let add = |number: u32, byte: &u8| number.checked_mul(10)?.checked_add(char::from(*byte).to_digit(10)?);
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add)).flatten()
}
