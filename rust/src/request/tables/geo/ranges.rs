//! Ranges of IPv4 addresses (`ngx_http_geo_add_range`). A range inside an earlier one replaces that part of it.

use hashbrown::HashMap;

use super::address::{self, Address};

/// Rows by ranges, in blocks of 65,536 addresses, as in nginx.
#[derive(Default)]
pub struct Ranges {
    parts: HashMap<u16, Vec<Range>>,
}

#[derive(Clone, Copy)]
struct Range {
    start: u16,
    end: u16,
    row: usize,
}

impl Ranges {
    /// Reads `address-address`.
    pub fn read(text: &[u8]) -> Option<(u32, u32)> {
        let dash = text.iter().position(|byte| *byte == b'-')?;
        let of = |text| address::v4(text).filter(|address| *address != u32::MAX);
        let (start, end) = (of(&text[..dash])?, of(&text[dash + 1..])?);
        (start <= end).then_some((start, end))
    }

    /// Adds a range. Fails if it overlaps an earlier range without being inside it.
    pub fn add(&mut self, start: u32, end: u32, row: usize) -> Result<(), ()> {
        parts(start, end).try_for_each(|(part, start, end)| {
            let ranges = self.parts.entry(part).or_default();
            insert(ranges, Range { start, end, row })
        })
    }

    /// Deletes the range if there is one with the same ends.
    pub fn delete(&mut self, start: u32, end: u32) {
        for (part, start, end) in parts(start, end) {
            if let Some(ranges) = self.parts.get_mut(&part) {
                ranges.retain(|range| (range.start, range.end) != (start, end));
            }
        }
    }

    /// An address of IPv6 counts as 255.255.255.255.
    pub fn find(&self, address: Address) -> Option<usize> {
        let address = if let Address::V4(address) = address { address } else { u32::MAX };
        let ranges = self.parts.get(&((address >> 16) as u16))?;
        let low = address as u16;
        ranges.iter().find(|range| range.start <= low && low <= range.end).map(|range| range.row)
    }
}

/// Splits a range into its parts in the blocks.
fn parts(start: u32, end: u32) -> impl Iterator<Item = (u16, u16, u16)> {
    (start >> 16..=end >> 16).map(move |part| {
        let first = if part == start >> 16 { start as u16 } else { 0 };
        let last = if part == end >> 16 { end as u16 } else { u16::MAX };
        (part as u16, first, last)
    })
}

/// Adds a range to the ranges of a block, which are ascending.
fn insert(ranges: &mut Vec<Range>, new: Range) -> Result<(), ()> {
    let after = ranges.iter().rposition(|range| new.end >= range.start);
    let Some(at) = after else {
        ranges.insert(0, new);
        return Ok(());
    };
    let old = ranges[at];
    if new.start > old.end {
        ranges.insert(at + 1, new);
        return Ok(());
    }
    if new.start < old.start || new.end > old.end {
        return Err(());
    }
    let before = (new.start > old.start).then(|| Range { end: new.start - 1, ..old });
    let behind = (new.end < old.end).then(|| Range { start: new.end + 1, ..old });
    ranges.splice(at..=at, before.into_iter().chain([new]).chain(behind));
    Ok(())
}
