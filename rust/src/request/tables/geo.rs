//! `geo` (`ngx_http_geo_cidr_variable`, `ngx_http_geo_range_variable`).

mod address;
mod networks;
mod ranges;

use crate::request::refused::Refused;
use crate::request::site::Stated;
use crate::request::tables::{Answer, Row};

use address::Address;
use networks::Networks;
use ranges::Ranges;

/// A table of addresses.
pub struct Geo {
    rows: Vec<Row>,
    blocks: Blocks,
    /// The default of ranges. The default of networks is itself a network.
    default: Option<usize>,
    /// Whether it has `proxy`, so that the address may come from the header `X-Forwarded-For`.
    pub has_proxies: bool,
    volatile: bool,
    has_default: bool,
}

enum Blocks {
    Networks(Networks),
    Ranges(Ranges),
}

impl Geo {
    /// Reads the rows of the block (`ngx_http_geo`).
    pub fn new(stated: &[Stated]) -> Result<Geo, Refused> {
        let blocks = Blocks::Networks(Networks::default());
        let mut geo =
            Geo { rows: Vec::new(), blocks, default: None, has_proxies: false, volatile: false, has_default: false };
        for row in stated {
            geo.add(row)?;
        }
        Ok(geo)
    }

    /// In their order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row whose value every address has; `None` if there are several values.
    pub fn only(&self) -> Option<usize> {
        let (first, rest) = self.rows.split_first()?;
        (self.has_default && rest.iter().all(|row| row.value == first.value)).then_some(0)
    }

    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Looks up an address given as text. Any other text counts as 255.255.255.255.
    pub fn find(&self, source: &[u8]) -> Answer {
        let address = Address::read(source).unwrap_or(Address::NONE);
        let row = match &self.blocks {
            Blocks::Networks(networks) => networks.find(address),
            Blocks::Ranges(ranges) => ranges.find(address),
        };
        Answer { row: row.or(self.default), captures: None }
    }

    fn add(&mut self, stated: &Stated) -> Result<(), Refused> {
        let args: Vec<&[u8]> = stated.args.iter().map(|arg| &**arg).collect();
        match args[..] {
            [b"ranges"] => self.set_ranges(stated)?,
            [b"proxy_recursive"] => {}
            [b"volatile"] => self.volatile = true,
            [b"proxy", network] => {
                Networks::read(network).ok_or_else(|| invalid(stated, "network", network))?;
                self.has_proxies = true;
            }
            [b"delete", block] => self.delete(stated, block)?,
            [block, value] => {
                self.rows.push(Row { node: stated.node, value: value.into() });
                self.has_default |= block == b"default";
                self.add_row(stated, block)?;
            }
            _ => return Err(Refused::new(stated.node, "invalid number of the geo parameters")),
        }
        Ok(())
    }

    fn set_ranges(&mut self, stated: &Stated) -> Result<(), Refused> {
        match &self.blocks {
            Blocks::Networks(networks) if networks.is_used => {
                let message = "the \"ranges\" directive must be the first directive inside \"geo\" block";
                Err(Refused::new(stated.node, message))
            }
            Blocks::Networks(_) => {
                self.blocks = Blocks::Ranges(Ranges::default());
                Ok(())
            }
            Blocks::Ranges(_) => Ok(()),
        }
    }

    fn add_row(&mut self, stated: &Stated, block: &[u8]) -> Result<(), Refused> {
        let row = self.rows.len() - 1;
        match &mut self.blocks {
            Blocks::Networks(networks) if block == b"default" => networks.set_default(row),
            Blocks::Networks(networks) => {
                let network = Networks::read(block).ok_or_else(|| invalid(stated, "network", block))?;
                networks.add(network, row);
            }
            Blocks::Ranges(_) if block == b"default" => self.default = Some(row),
            Blocks::Ranges(ranges) => {
                let (start, end) = Ranges::read(block).ok_or_else(|| invalid(stated, "range", block))?;
                let overlaps =
                    |()| invalid_text(stated, format!("range \"{}\" overlaps another", block.escape_ascii()));
                ranges.add(start, end, row).map_err(overlaps)?;
            }
        }
        Ok(())
    }

    fn delete(&mut self, stated: &Stated, block: &[u8]) -> Result<(), Refused> {
        match &mut self.blocks {
            Blocks::Networks(networks) => {
                networks.delete(Networks::read(block).ok_or_else(|| invalid(stated, "network", block))?);
            }
            Blocks::Ranges(ranges) => {
                let (start, end) = Ranges::read(block).ok_or_else(|| invalid(stated, "range", block))?;
                ranges.delete(start, end);
            }
        }
        Ok(())
    }
}

fn invalid(stated: &Stated, what: &str, text: &[u8]) -> Refused {
    invalid_text(stated, format!("invalid {what} \"{}\"", text.escape_ascii()))
}

fn invalid_text(stated: &Stated, message: String) -> Refused {
    Refused::new(stated.node, message)
}
