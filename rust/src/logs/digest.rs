//! Reads pieces of a log, and adds up what the requests of each class took.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::first_match::Tries;
use crate::logs::agents::{self, Agent};
use crate::logs::cells::{Cell, Class, Line, Minutes, Named};
use crate::logs::reader::LogLine;
use crate::logs::value::LastTime;
use crate::parallel;
use crate::request::model::Model;
use crate::request::settle::{Logged, Settled};
use crate::request::site::Node;
use crate::request::world::{Request, World};

/// From so many groups or remembered bytes on, all are forgotten, and asked about again.
const MOST_GROUPS: usize = 20_000;
const MOST_REMEMBERED: usize = 64 << 20;

/// A cache is taken to keep what was asked for this long, in seconds; so many requests are remembered.
const CACHED: i64 = 10;
const MOST_RECENT: usize = 1 << 20;

/// So many texts of User-Agent are remembered.
const MOST_AGENTS: usize = 1 << 14;

/// The cost of a User-Agent, and the robot that it names.
type Known = (Agent, Option<Box<[u8]>>);
type GroupId = usize;
type ClassId = usize;

/// The requests that differ in nothing but target and response: the sites that they may go to, or why none.
pub type Place = Result<Vec<Request>, String>;

/// A request of the piece that is read. Without a group it is none.
struct Key {
    hash: u64,
    group: Option<GroupId>,
    target: Range<usize>,
    logged: Logged,
}

/// A request that was asked about, and what became of it.
struct Remembered {
    hash: u64,
    group: GroupId,
    target: Box<[u8]>,
    logged: Logged,
    answer: Answer,
}

#[derive(Clone, Copy)]
struct Answer {
    class: ClassId,
    /// The list of directives that took part.
    nodes: usize,
    /// The list of patterns that were tried.
    tries: usize,
    is_listing: bool,
}

/// The piece that is read: its different requests, with the text of their targets, and its lines.
#[derive(Default)]
struct Piece {
    ids: HashTable<usize>,
    keys: Vec<Key>,
    targets: Vec<u8>,
    /// The key of each line, and what it tells.
    lines: Vec<(usize, Line)>,
}

/// The sums of a log so far.
pub struct Digest {
    hasher: DefaultHashBuilder,
    groups: Vec<Place>,
    group_ids: HashMap<Vec<u8>, GroupId>,
    /// The fields of the groups that have no place yet.
    new: Vec<Vec<u8>>,
    last_time: LastTime,
    piece: Piece,
    remembered: HashTable<Remembered>,
    remembered_bytes: usize,
    node_ids: HashMap<Vec<Node>, usize>,
    node_lists: Vec<Vec<Node>>,
    tries_ids: HashMap<Vec<(Node, Tries)>, usize>,
    tries_lists: Vec<Vec<(Node, Tries)>>,
    class_ids: HashMap<Class, ClassId>,
    /// What is known of each User-Agent, as it takes a while to find.
    agents: HashMap<Vec<u8>, Known>,
    /// When requests came last, by their hash.
    recent: HashMap<u64, i64>,
    /// The number of lines whose time is none, in a format that has one.
    pub undated: u64,
    pub classes: Vec<(Class, Cell)>,
    pub uses: HashMap<Node, u64>,
    /// What was tried of patterns, by the directive that has them.
    pub tries: HashMap<Node, Tries>,
    pub clients: Named,
    pub robots: Named,
    pub minutes: Minutes,
}

impl Default for Digest {
    fn default() -> Digest {
        Digest {
            hasher: DefaultHashBuilder::default(),
            groups: Vec::new(),
            group_ids: HashMap::new(),
            new: Vec::new(),
            last_time: LastTime::default(),
            piece: Piece::default(),
            remembered: HashTable::new(),
            remembered_bytes: 0,
            node_ids: HashMap::new(),
            node_lists: Vec::new(),
            tries_ids: HashMap::new(),
            tries_lists: Vec::new(),
            class_ids: HashMap::new(),
            agents: HashMap::new(),
            recent: HashMap::new(),
            undated: 0,
            classes: Vec::new(),
            uses: HashMap::new(),
            tries: HashMap::new(),
            clients: Named::of_clients(),
            robots: Named::of_robots(),
            minutes: Minutes::default(),
        }
    }
}

impl Digest {
    /// Adds a line to the piece, and to the sums that no outcome is needed for.
    pub fn add(&mut self, logged: &LogLine<'_>) {
        let LogLine { columns, line, values, target, group } = *logged;
        let group = group.map(|fields| self.group(fields));
        let logged = columns.logged(line, values);
        let hash = self.hasher.hash_one((group, logged, target));
        let mut told = columns.line(line, values, &mut self.last_time);
        self.undated += u64::from(told.at.is_none() && columns.have_time());
        let may_be_kept = logged.status == Some(200) && columns.may_be_kept(line, values);
        told.is_repeated = may_be_kept && self.is_repeated(hash, told.at);
        self.minutes.add(&told);
        if let Some(client) = columns.client(line, values) {
            self.clients.add(client, &told);
        }
        if let Some(agent) = columns.agent(line, values) {
            self.add_agent(agent, &mut told);
        }
        let key = self.piece.key(hash, group, logged, target);
        self.piece.lines.push((key, told));
    }

    /// Returns the number of a group, which may be new.
    fn group(&mut self, fields: &[u8]) -> GroupId {
        if let Some(id) = self.group_ids.get(fields) {
            return *id;
        }
        let id = self.groups.len() + self.new.len();
        self.group_ids.insert(fields.to_vec(), id);
        self.new.push(fields.to_vec());
        id
    }

    /// Returns the fields of the groups that are new, which are to be placed: method and version of `$request`, then
    /// those of the group, an end of line behind each.
    pub fn unplaced(&self) -> &[Vec<u8>] {
        &self.new
    }

    /// Tells a line what nginx reads of its User-Agent, and adds it to the sum of the robot that this names, if any.
    fn add_agent(&mut self, agent: &[u8], line: &mut Line) {
        if self.agents.len() >= MOST_AGENTS {
            self.agents.clear();
        }
        let read = || (Agent::of(agent), agents::robot(agent).map(Box::from));
        let (cost, robot) = self.agents.entry_ref(agent).or_insert_with(read);
        line.agent = Some(*cost);
        if let Some(name) = robot {
            self.robots.add(name, line);
        }
    }

    /// Returns the different User-Agents that are remembered.
    pub fn agents(&self) -> impl Iterator<Item = &[u8]> {
        self.agents.keys().map(Vec::as_slice)
    }

    /// Whether a request came shortly before; remembers it.
    fn is_repeated(&mut self, hash: u64, at: Option<i64>) -> bool {
        let Some(at) = at else { return false };
        if self.recent.len() >= MOST_RECENT {
            self.recent.retain(|_, before| at - *before <= CACHED);
            if self.recent.len() >= MOST_RECENT {
                self.recent.clear();
            }
        }
        self.recent.insert(hash, at).is_some_and(|before| (at - before).abs() <= CACHED)
    }

    /// Is told where the new groups go, in the order of [`Digest::unplaced`].
    pub fn place(&mut self, places: impl IntoIterator<Item = Place>) {
        self.groups.extend(places);
        self.new.clear();
    }

    /// Asks the model about the requests of the piece, and adds its lines to their classes.
    ///
    /// Panics if a group has not been placed.
    pub fn settle(&mut self, model: &Model, world: &World) {
        let mut piece = std::mem::take(&mut self.piece);
        let mut answers: Vec<Option<Answer>> = piece.keys.iter().map(|key| self.known(key, &piece)).collect();
        let open: Vec<usize> = (0..answers.len()).filter(|at| answers[*at].is_none()).collect();
        for (at, settled) in open.iter().zip(self.asked(model, world, &piece, &open)) {
            answers[*at] = Some(self.learn(&piece.keys[*at], &piece, settled));
        }
        let mut counts = vec![0; piece.keys.len()];
        for (key, line) in &piece.lines {
            let Some(answer) = answers[*key] else { continue };
            let cell = &mut self.classes[answer.class].1;
            cell.add(line, &piece.targets[piece.keys[*key].target.clone()]);
            cell.listings += u64::from(answer.is_listing);
            cell.listed += if answer.is_listing { line.whole() } else { 0 };
            counts[*key] += 1;
        }
        let mut of_nodes = vec![0; self.node_lists.len()];
        let mut of_tries: HashMap<(ClassId, usize), u64> = HashMap::new();
        for (answer, count) in answers.iter().zip(counts) {
            let Some(answer) = answer else { continue };
            of_nodes[answer.nodes] += count;
            *of_tries.entry((answer.class, answer.tries)).or_default() += count;
        }
        for (nodes, count) in self.node_lists.iter().zip(of_nodes).filter(|(_, count)| *count > 0) {
            nodes.iter().for_each(|node| *self.uses.entry(*node).or_default() += count);
        }
        for ((class, tries), count) in of_tries {
            for (node, tries) in &self.tries_lists[tries] {
                self.tries.entry(*node).or_default().add(tries, count);
                self.classes[class].1.tries.add(tries, count);
            }
        }
        piece.clear();
        self.piece = piece; // with its memory
        if self.groups.len() > MOST_GROUPS || self.remembered_bytes > MOST_REMEMBERED {
            self.forget();
        }
    }

    fn known(&self, key: &Key, piece: &Piece) -> Option<Answer> {
        let target = &piece.targets[key.target.clone()];
        let is = |one: &Remembered| (Some(one.group), one.logged) == (key.group, key.logged) && *one.target == *target;
        self.remembered.find(key.hash, is).map(|found| found.answer)
    }

    /// Returns what became of some requests of a piece, in their order. Uses all processors.
    fn asked(&self, model: &Model, world: &World, piece: &Piece, open: &[usize]) -> Vec<Result<Settled, String>> {
        let part = |range: Range<usize>| {
            let mut world = world.clone();
            let mut candidates: HashMap<GroupId, Vec<Request>> = HashMap::new();
            let ask = |place: usize| {
                let key = &piece.keys[open[place]];
                let Some(group) = key.group else { return Err("no HTTP request".to_owned()) };
                let requests = self.groups[group].as_ref().map_err(String::clone)?;
                let requests = candidates.entry(group).or_insert_with(|| requests.clone());
                Ok(model.settle::<true>(requests, &piece.targets[key.target.clone()], key.logged, &mut world))
            };
            range.map(ask).collect::<Vec<_>>()
        };
        parallel::ranges(open.len(), part).into_iter().flatten().collect()
    }

    fn learn(&mut self, key: &Key, piece: &Piece, settled: Result<Settled, String>) -> Answer {
        let status = key.logged.status;
        let is_listing = settled.as_ref().is_ok_and(|settled| settled.is_listing);
        let (class, nodes, tries) = match settled {
            Ok(mut settled) => {
                let (nodes, tries) = (std::mem::take(&mut settled.nodes), std::mem::take(&mut settled.tries));
                (Class::of(settled, status), nodes, tries)
            }
            Err(reason) => (Class::not_asked(reason, status), Vec::new(), Vec::new()),
        };
        let (class, nodes, tries) = (self.class(class), self.node_list(nodes), self.tries_list(tries));
        let answer = Answer { class, nodes, tries, is_listing };
        if let Some(group) = key.group {
            let target: Box<[u8]> = piece.targets[key.target.clone()].into();
            self.remembered_bytes += target.len() + size_of::<Remembered>();
            let one = Remembered { hash: key.hash, group, target, logged: key.logged, answer };
            self.remembered.insert_unique(key.hash, one, |one| one.hash);
        }
        answer
    }

    fn class(&mut self, class: Class) -> ClassId {
        let classes = &mut self.classes;
        *self.class_ids.entry(class).or_insert_with_key(|class| {
            classes.push((class.clone(), Cell::default()));
            classes.len() - 1
        })
    }

    fn node_list(&mut self, nodes: Vec<Node>) -> usize {
        let lists = &mut self.node_lists;
        *self.node_ids.entry(nodes).or_insert_with_key(|nodes| {
            lists.push(nodes.clone());
            lists.len() - 1
        })
    }

    fn tries_list(&mut self, tries: Vec<(Node, Tries)>) -> usize {
        let lists = &mut self.tries_lists;
        let bytes = &mut self.remembered_bytes;
        *self.tries_ids.entry(tries).or_insert_with_key(|tries| {
            *bytes += 2 * size_of_val(&tries[..]);
            lists.push(tries.clone());
            lists.len() - 1
        })
    }

    /// Forgets what only saves time, so that memory is bounded.
    fn forget(&mut self) {
        self.groups.clear();
        self.group_ids.clear();
        self.remembered.clear();
        self.remembered_bytes = 0;
        self.node_ids.clear();
        self.node_lists.clear();
        self.tries_ids.clear();
        self.tries_lists.clear();
    }
}

impl Piece {
    fn clear(&mut self) {
        let Piece { ids, keys, targets, lines } = self;
        ids.clear();
        keys.clear();
        targets.clear();
        lines.clear();
    }

    /// Returns the number of a request.
    fn key(&mut self, hash: u64, group: Option<GroupId>, logged: Logged, target: &[u8]) -> usize {
        let (keys, targets) = (&mut self.keys, &mut self.targets);
        let is = |id: &usize| {
            let key = &keys[*id];
            (key.group, key.logged) == (group, logged) && targets[key.target.clone()] == *target
        };
        if let Some(id) = self.ids.find(hash, is) {
            return *id;
        }
        let id = keys.len();
        let start = targets.len();
        targets.extend(target);
        keys.push(Key { hash, group, target: start..targets.len(), logged });
        self.ids.insert_unique(hash, id, |id| keys[*id].hash);
        id
    }
}
