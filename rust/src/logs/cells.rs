//! What requests took, added up.

use hashbrown::HashMap;
use serde::Serialize;

use crate::first_match::Tries;
use crate::logs::agents::Agent;
use crate::logs::histogram::Histogram;
use crate::request::bytes::Bytes;
use crate::request::outcome::OutcomeKind;
use crate::request::settle::{Settled, Verdict};
use crate::request::site::{LevelId, Node, ServerId};

/// The most clients and names of robots that have a sum of their own; all others share one.
const MOST_CLIENTS: usize = 50_000;
const MOST_ROBOTS: usize = 1_000;

/// What a line tells, besides the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The second since 1970 in which the request ended.
    pub at: Option<i64>,
    pub bytes: u64,
    /// Durations in milliseconds.
    pub request: Option<u32>,
    pub upstream: Option<u32>,
    pub connect: Option<u32>,
    /// The bytes of the headers of the request.
    pub length: Option<u32>,
    /// `User-Agent`, if it is logged.
    pub agent: Option<Agent>,
    /// The bytes of its body, as far as they are known; `None` if it has none.
    pub body: Option<u32>,
    /// The bytes of the body if it was compressed, and before that; 0 if they are not known.
    pub packed: Option<u64>,
    pub raw: u64,
    /// Whether the request is the first of its connection, and whether that resumed a session of TLS.
    pub is_first: bool,
    pub is_resumed: bool,
    /// Whether a cache answered.
    pub is_cached: bool,
    /// Whether the same was asked for shortly before, and a cache might have answered.
    pub is_repeated: bool,
}

impl Line {
    /// The bytes of the response before it was compressed; as sent if those are not known.
    pub fn whole(&self) -> u64 {
        match self.packed {
            Some(packed) if self.raw > 0 => self.bytes.saturating_sub(packed).saturating_add(self.raw),
            _ => self.bytes,
        }
    }
}

/// How requests ended: what the model says, and the status in the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    pub verdict: Verdict,
    pub kind: Option<OutcomeKind>,
    pub expected: Option<u16>,
    pub server: Option<ServerId>,
    pub level: Option<LevelId>,
    pub node: Option<Node>,
    pub reason: Option<String>,
    pub status: Option<u16>,
}

impl Class {
    /// The class of requests with this status that were settled in this way.
    pub fn of(settled: Settled, status: Option<u16>) -> Class {
        let end = settled.end;
        let (kind, expected) = (Some(end.kind), end.status);
        let Settled { verdict, .. } = settled;
        Class {
            verdict,
            kind,
            expected,
            server: end.server,
            level: end.level,
            node: end.node,
            reason: end.reason,
            status,
        }
    }

    /// The class of requests that are not asked about, and why.
    pub fn not_asked(reason: String, status: Option<u16>) -> Class {
        Class {
            verdict: Verdict::Unknown,
            kind: None,
            expected: None,
            server: None,
            level: None,
            node: None,
            reason: Some(reason),
            status,
        }
    }
}

/// What the requests of a class took.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cell {
    pub requests: u64,
    pub bytes: u64,
    pub request: Histogram,
    pub upstream: Histogram,
    pub connect: Histogram,
    /// The number of responses by the bits of their size.
    pub sizes: Vec<u64>,
    pub repeated: u64,
    /// The bytes of the headers of requests whose length is known, and their number.
    pub lengths: u64,
    pub measured: u64,
    /// The number of requests whose `User-Agent` is logged, its bytes, and those that nginx reads to find browsers.
    pub agents: u64,
    pub named: u64,
    pub scanned: u64,
    /// The number of requests with a body, and the bytes of their bodies.
    pub posted: u64,
    pub bodies: u64,
    /// The number of compressed responses, their bytes, and those before compression.
    pub compressed: u64,
    pub packed: u64,
    pub raw: u64,
    /// The number of requests that are the first of their connection, and of those that resumed a session of TLS.
    pub connections: u64,
    pub resumed: u64,
    /// The number of responses from a cache.
    pub cached: u64,
    /// The number of listings of folders, and their bytes before compression.
    pub listings: u64,
    pub listed: u64,
    pub tries: Tries,
    /// When the first ended, and what it asked for.
    pub first: Option<i64>,
    pub last: Option<i64>,
    pub example: Bytes,
}

/// The longest example that is kept.
const EXAMPLE: usize = 200;

impl Cell {
    /// Adds a line that asks for `target`.
    pub fn add(&mut self, line: &Line, target: &[u8]) {
        let target = &target[..target.len().min(EXAMPLE)];
        // One without a time comes last, so that it does not hide when the others began.
        let place = (line.at.is_none(), line.at, target);
        let is_first = self.requests == 0 || place < (self.first.is_none(), self.first, &self.example[..]);
        if is_first {
            self.first = line.at;
            self.example = target.into();
        }
        self.last = self.last.max(line.at);
        self.requests += 1;
        self.bytes += line.bytes;
        for (histogram, duration) in
            [(&mut self.request, line.request), (&mut self.upstream, line.upstream), (&mut self.connect, line.connect)]
        {
            if let Some(duration) = duration {
                histogram.add(duration);
            }
        }
        let bits = (u64::BITS - line.bytes.leading_zeros()) as usize;
        if bits >= self.sizes.len() {
            self.sizes.resize(bits + 1, 0);
        }
        self.sizes[bits] += 1;
        self.repeated += u64::from(line.is_repeated);
        self.lengths += u64::from(line.length.unwrap_or_default());
        self.measured += u64::from(line.length.is_some());
        if let Some(agent) = line.agent {
            self.agents += 1;
            self.named += u64::from(agent.length);
            self.scanned += u64::from(agent.scanned);
        }
        self.posted += u64::from(line.body.is_some());
        self.bodies += u64::from(line.body.unwrap_or_default());
        self.compressed += u64::from(line.packed.is_some());
        self.packed += line.packed.unwrap_or_default();
        self.raw += line.raw;
        self.connections += u64::from(line.is_first);
        self.resumed += u64::from(line.is_first && line.is_resumed);
        self.cached += u64::from(line.is_cached);
    }
}

/// What a client took, or all requests that were under way in a minute: requests, bytes and milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sum {
    pub requests: u64,
    pub bytes: u64,
    pub busy: u64,
    pub upstream: u64,
}

impl Sum {
    fn add(&mut self, line: &Line) {
        self.requests += 1;
        self.bytes += line.bytes;
        self.busy += u64::from(line.request.unwrap_or_default());
        self.upstream += u64::from(line.upstream.unwrap_or_default());
    }

    fn join(&mut self, other: &Sum) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.busy += other.busy;
        self.upstream += other.upstream;
    }
}

/// Sums by a name, of which there may be any number.
#[derive(Debug, Default)]
pub struct Named {
    sums: HashMap<Box<[u8]>, Sum>,
    /// The sum of the names that have none of their own.
    others: Sum,
    most: usize,
}

impl Named {
    pub fn of_clients() -> Named {
        Named { most: MOST_CLIENTS, ..Named::default() }
    }

    pub fn of_robots() -> Named {
        Named { most: MOST_ROBOTS, ..Named::default() }
    }

    pub fn add(&mut self, name: &[u8], line: &Line) {
        let is_full = self.sums.len() >= self.most;
        match self.sums.get_mut(name) {
            Some(sum) => sum.add(line),
            None if is_full => self.others.add(line),
            None => self.sums.entry(name.into()).or_default().add(line),
        }
    }

    /// Returns the names with their sums, in order.
    pub fn sorted(&self) -> Vec<(Bytes, Sum)> {
        let mut sums: Vec<(Bytes, Sum)> = self.sums.iter().map(|(name, sum)| (Bytes(name.to_vec()), *sum)).collect();
        sums.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        sums
    }

    pub fn others(&self) -> Sum {
        self.others
    }
}

/// The minutes of a log.
#[derive(Debug, Default)]
pub struct Minutes {
    sums: HashMap<i64, Sum>,
    /// The minute of the line before, which is that of most lines, and what is to be added to its sum.
    last: i64,
    of_last: Sum,
}

/// A request that is said to take longer is counted in its last minutes only.
const LONGEST: i64 = 24 * 60;

impl Minutes {
    /// Adds a line: its request to the minute in which it ended, its time to all in which it was under way.
    pub fn add(&mut self, line: &Line) {
        let Some(at) = line.at else { return };
        let last = at.div_euclid(60);
        if last != self.last {
            self.add_last();
            self.last = last;
        }
        self.of_last.requests += 1;
        self.of_last.bytes += line.bytes;
        for (duration, is_upstream) in [(line.request, false), (line.upstream, true)] {
            let Some(duration) = duration.map(i64::from) else { continue };
            let (end, start) = (at * 1000, at * 1000 - duration);
            for minute in start.div_euclid(60_000).max(last - LONGEST)..=last {
                let within = end.min((minute + 1) * 60_000) - start.max(minute * 60_000);
                let Ok(within) = u64::try_from(within) else { continue };
                if within > 0 {
                    let sum = if minute == last { &mut self.of_last } else { self.sums.entry(minute).or_default() };
                    *(if is_upstream { &mut sum.upstream } else { &mut sum.busy }) += within;
                }
            }
        }
    }

    fn add_last(&mut self) {
        if self.of_last != Sum::default() {
            self.sums.entry(self.last).or_default().join(&std::mem::take(&mut self.of_last));
        }
    }

    /// Returns the minutes since 1970 with their sums, in order.
    pub fn sorted(&mut self) -> Vec<(i64, Sum)> {
        self.add_last();
        let mut sums: Vec<(i64, Sum)> = self.sums.iter().map(|(minute, sum)| (*minute, *sum)).collect();
        sums.sort_unstable_by_key(|(minute, _)| *minute);
        sums
    }
}
