//! Asks the model about requests whose status is known, as a log tells it: the status says which files existed, whether
//! a password was right, and how a subrequest ended.
//!
//! Where the outcome depends on a file, the model is asked again with the file, with a folder and with neither; where it
//! depends on an event, with it and without. The outcomes that the status fits remain. So does what a site without a host
//! may be: each candidate is asked.

use crate::first_match::Tries;
use crate::request::branches::Asked;
use crate::request::bytes::Bytes;
use crate::request::model::Model;
use crate::request::outcome::{End, Event, Outcome, OutcomeKind};
use crate::request::record::Worked;
use crate::request::site::{LevelId, Node};
use crate::request::world::{Found, Request, World};

/// The most times that the model is asked about one candidate.
const MOST_ASKED: usize = 48;

/// What a log tells of the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Logged {
    /// `None` if the format does not have it.
    pub status: Option<u16>,
    /// Whether an upstream was asked; `None` if the format does not tell.
    pub upstream: Option<bool>,
    /// Whether the client sent a user; `None` if the format does not tell.
    pub user: Option<bool>,
}

impl Logged {
    /// Whether the client sent the right password where nginx asks for one: a response that is not nginx's 401 says so.
    fn password(&self) -> Option<bool> {
        let is_right = self.status? != 401 || self.upstream == Some(true);
        (self.user != Some(false) && (is_right || self.user.is_some())).then_some(is_right)
    }
}

/// How a logged response relates to the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// One outcome fits.
    Agrees,
    /// None fits: the configuration gives another response.
    Differs,
    /// Several fit, at different levels.
    Ambiguous,
    /// The model does not know the outcome.
    Unknown,
}

/// What became of a logged request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    pub verdict: Verdict,
    /// That of the outcome that fits; of several, or of none that does, the first.
    pub end: End,
    /// The directives that took part whichever outcome it was, in their order.
    pub nodes: Vec<Node>,
    /// What was tried of lists of patterns in that outcome, by the directive that has them, in order.
    pub tries: Vec<(Node, Tries)>,
    /// Whether it was the listing of a folder. If the log does not tell it from the folder's index, it was: who turns
    /// listings on has folders without one.
    pub is_listing: bool,
}

/// How well a status fits an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    No,
    /// What happens to requests whatever the configuration says, such as a client that goes away.
    Possible,
    Full,
}

struct Way {
    end: End,
    nodes: Vec<Node>,
    tries: Vec<(Node, Tries)>,
    fit: Fit,
    is_listing: bool,
}

impl Model {
    /// Says what became of a request to one of several sites, which differ in nothing but the site.
    ///
    /// Counts tries of patterns if `TRIES`. Changes what `world` says of files while it asks. Panics without candidates.
    pub fn settle<const TRIES: bool>(
        &self,
        candidates: &mut [Request],
        target: &[u8],
        logged: Logged,
        world: &mut World,
    ) -> Settled {
        let mut ways = Vec::new();
        for request in candidates {
            request.target = Bytes(target.to_vec());
            self.ways::<TRIES>(request, logged, world, &mut ways);
        }
        chosen(ways)
    }

    /// Adds the ways that a request may take.
    fn ways<const TRIES: bool>(&self, request: &Request, logged: Logged, world: &mut World, ways: &mut Vec<Way>) {
        let mut left = MOST_ASKED;
        world.password = logged.password();
        let mut worked = Worked::<TRIES>::default();
        let arrived = self.arrived(request);
        let outcome = self.outcome(&arrived, world, &mut worked);
        let Some(asked) = question(&outcome).filter(|_| logged.status.is_some()) else {
            ways.push(way(outcome, worked, logged));
            return;
        };
        let before = Known::take(world);
        let mut open = vec![(before.clone(), asked)];
        while let Some((known, asked)) = open.pop() {
            for known in known.answered(&asked) {
                known.clone().put(world);
                left = left.saturating_sub(1);
                let mut worked = Worked::<TRIES>::default();
                let outcome = self.outcome(&arrived, world, &mut worked);
                match question(&outcome).filter(|next| left > 0 && *next != asked) {
                    Some(next) => open.push((known, next)),
                    None => ways.push(way(outcome, worked, logged)),
                }
            }
        }
        before.put(world);
    }
}

/// What is supposed of the world.
#[derive(Clone)]
struct Known {
    tried: Vec<(Bytes, Option<Found>)>,
    events: Vec<(Event, bool)>,
}

impl Known {
    fn take(world: &mut World) -> Known {
        Known { tried: std::mem::take(&mut world.files.tried), events: std::mem::take(&mut world.events) }
    }

    fn put(self, world: &mut World) {
        (world.files.tried, world.events) = (self.tried, self.events);
    }

    /// What is supposed with each answer: a file, a folder and neither; the event and not.
    fn answered(&self, asked: &Asked) -> Vec<Known> {
        let and = |tried: Vec<_>, events: Vec<_>| Known {
            tried: [&self.tried[..], &tried].concat(),
            events: [&self.events[..], &events].concat(),
        };
        match asked {
            Asked::Path(path) => [Some(Found::File), Some(Found::Folder), None]
                .map(|found| and(vec![(path.clone(), found)], vec![]))
                .into(),
            Asked::Event(event) => [true, false].map(|happens| and(vec![], vec![(event.clone(), happens)])).into(),
        }
    }
}

/// Returns what the outcome depends on. A path may be asked for again if its answer was not enough, as to whether a file
/// may be executed.
fn question(outcome: &Outcome) -> Option<Asked> {
    Asked::of(outcome).filter(|_| outcome.kind == OutcomeKind::Unknown)
}

fn way<const TRIES: bool>(outcome: Outcome, worked: Worked<TRIES>, logged: Logged) -> Way {
    let fit = fit(&outcome, logged);
    let is_of_file = matches!(question(&outcome), Some(Asked::Path(_)));
    let is_of_folder = outcome.file.as_ref().is_some_and(|file| file.ends_with(b"/"));
    let is_listing = is_of_folder && outcome.kind == OutcomeKind::Static && logged.status == Some(200);
    let mut end = End::of(outcome);
    if is_of_file {
        end.reason = Some("whether a file exists".to_owned());
    }
    let Worked { used, mut tries } = worked;
    let mut nodes = used.0;
    nodes.sort_unstable();
    tries.sort_unstable();
    Way { end, nodes, tries, fit, is_listing }
}

/// Returns the outcome that fits best.
fn chosen(mut ways: Vec<Way>) -> Settled {
    let best = ways.iter().map(|way| way.fit).max().unwrap_or(Fit::No);
    ways.retain(|way| way.fit == best);
    let page = error_page(&ways);
    let first = ways.remove(page.unwrap_or(0));
    let mut nodes = first.nodes;
    let decides = |end: &End| (end.kind, end.server, end.level.map(|level: LevelId| level));
    let is_one = page.is_some() || ways.iter().all(|way| decides(&way.end) == decides(&first.end));
    let is_listing = first.is_listing || ways.iter().any(|way| way.is_listing);
    for way in &ways {
        nodes.retain(|node| way.nodes.binary_search(node).is_ok());
    }
    let verdict = match (best, first.end.kind) {
        (Fit::No, _) => Verdict::Differs,
        _ if !is_one => Verdict::Ambiguous,
        (_, OutcomeKind::Unknown) => Verdict::Unknown,
        _ => Verdict::Agrees,
    };
    Settled { verdict, end: first.end, nodes, tries: first.tries, is_listing }
}

/// Returns the way with the file of an `error_page`, if that file is all that the ways differ by: with it and without
/// it, the status is the same, and a page that a configuration names is there more often than not.
fn error_page(ways: &[Way]) -> Option<usize> {
    let page = ways.iter().position(|way| way.end.kind == OutcomeKind::Static)?;
    let end = &ways[page].end;
    let is_page = |other: &End| match other.kind {
        OutcomeKind::Static => other.level == end.level,
        OutcomeKind::Error => true,
        _ => false,
    };
    let is_error = end.status.is_some_and(|status| status >= 400);
    let are_alike = |way: &Way| (way.end.status, way.end.server) == (end.status, end.server) && is_page(&way.end);
    (is_error && ways.iter().all(are_alike)).then_some(page)
}

fn fit(outcome: &Outcome, logged: Logged) -> Fit {
    use OutcomeKind::{
        Closed, Error, Fastcgi, Grpc, Handler, Memcached, Proxy, Redirect, Return, Scgi, Static, Unknown, Uwsgi,
    };
    let Some(status) = logged.status else { return Fit::Full };
    let of_connection = matches!(status, 400 | 408 | 414 | 431 | 494..=497 | 499);
    let of_limit = matches!(status, 413 | 429 | 500 | 503);
    let possible = |is_possible: bool| if is_possible { Fit::Possible } else { Fit::No };
    let asked_upstream = logged.upstream == Some(true);
    match outcome.kind {
        Unknown => Fit::Full,
        Proxy | Fastcgi | Uwsgi | Scgi | Grpc | Memcached => match logged.upstream {
            Some(false) => Fit::Possible, // from a cache, or before an upstream was asked
            _ => Fit::Full,
        },
        _ if outcome.status == Some(status) && !asked_upstream => Fit::Full,
        Closed => possible(status == 444 || of_connection),
        Handler if outcome.status.is_none() => Fit::Full,
        Static if matches!(status, 200 | 206 | 304 | 412 | 416) && !asked_upstream => match outcome.status {
            None | Some(200) => Fit::Full,
            Some(_) => Fit::No,
        },
        Static => possible(of_connection || of_limit || matches!(status, 403 | 405)),
        Return | Redirect => possible(of_connection),
        Handler | Error => possible(of_connection || of_limit),
    }
}
