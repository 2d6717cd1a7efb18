//! `split_clients` (`ngx_http_split_clients_variable`).

use crate::request::bytes::Bytes;
use crate::request::refused::Refused;
use crate::request::site::Stated;
use crate::request::tables::{Answer, Row};

/// Rows that each answer a share of all values, by a hash of the value.
pub struct SplitClients {
    rows: Vec<Row>,
    /// By row.
    pub shares: Vec<Share>,
}

/// What a row answers.
pub struct Share {
    /// The hash below which it does, or `None` if it answers all the rest.
    pub below: Option<u32>,
    /// As it is written: `10%`.
    pub stated: Bytes,
}

impl SplitClients {
    /// Reads the rows of the block (`ngx_conf_split_clients_block`).
    pub fn new(stated: &[Stated]) -> Result<SplitClients, Refused> {
        let mut split = SplitClients { rows: Vec::new(), shares: Vec::new() };
        let (mut sum, mut last) = (0u32, 0u32);
        for row in stated {
            let share = split.add(row)?;
            sum = if share > 0 { sum.saturating_add(share) } else { 10_000 };
            if sum > 10_000 {
                return Err(Refused::new(row.node, "percent total is greater than 100%"));
            }
            let is_rest = share == 0 || sum == 10_000;
            if !is_rest {
                last = last.wrapping_add((u64::from(share) * 0xffff_ffff / 10_000) as u32);
            }
            split.shares.push(Share { below: (!is_rest).then_some(last), stated: row.args[0].clone() });
        }
        Ok(split)
    }

    /// In their order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row for a value.
    pub fn find(&self, source: &[u8]) -> Answer {
        let hash = murmur2(source);
        let row = self.shares.iter().position(|share| share.below.is_none_or(|below| hash < below));
        Answer { row, captures: None }
    }

    /// Adds a row. Its share is in hundredths of a percent, or 0 for the rest.
    fn add(&mut self, stated: &Stated) -> Result<u32, Refused> {
        let [share, value, ..] = &stated.args[..] else {
            return Err(Refused::new(stated.node, "invalid number of the split_clients parameters"));
        };
        self.rows.push(Row { node: stated.node, value: value.clone() });
        let invalid = || Refused::new(stated.node, format!("invalid percent value \"{}\"", share.escape_ascii()));
        if **share == *b"*" { Ok(0) } else { percent(share).ok_or_else(invalid) }
    }
}

/// Parses a percentage, and returns hundredths of a percent, more than 0 (`ngx_atofp`).
fn percent(text: &[u8]) -> Option<u32> {
    let number = text.strip_suffix(b"%").filter(|number| !number.is_empty())?;
    let (whole, fraction) = match number.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&number[..dot], &number[dot + 1..]),
        None => (number, &b""[..]),
    };
    let digits = whole.iter().chain(fraction).chain(b"00".iter().skip(fraction.len()));
    let add = |sum: u32, byte: &u8| sum.checked_mul(10)?.checked_add(char::from(*byte).to_digit(10)?);
    digits.into_iter().try_fold(0, add).filter(|share| fraction.len() <= 2 && *share > 0)
}

/// `ngx_murmur_hash2`.
fn murmur2(text: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = text.len() as u32;
    let words = text.chunks_exact(4);
    let rest = words.remainder();
    for word in words {
        let mut k = u32::from_le_bytes(word.try_into().expect("four bytes")).wrapping_mul(M);
        k = (k ^ (k >> 24)).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    if !rest.is_empty() {
        let tail = rest.iter().rev().fold(0u32, |tail, byte| (tail << 8) | u32::from(*byte));
        hash = (hash ^ tail).wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    hash ^ (hash >> 15)
}
