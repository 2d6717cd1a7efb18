//! Counts the different requests of a log: those that agree in all but their target are a group.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::logs::pattern::{Matches, Pattern};
use crate::logs::value::{self, Escape};

/// The first broken lines that are named.
const MOST_BROKEN: usize = 10;

/// The lines of a log by what they are.
#[derive(Debug, Default)]
pub struct Lines {
    /// Those without an HTTP request.
    pub malformed: u64,
    /// Those of another format; the places of the first, from 1.
    pub broken: u64,
    pub broken_lines: Vec<u64>,
    /// All that are not empty.
    pub read: u64,
    /// The number of ends of lines so far.
    ends: u64,
}

/// A request, and how often a log has it.
struct Counted {
    hash: u64,
    group: usize,
    target: Range<usize>,
    count: u64,
}

/// The requests of a log so far.
pub struct Requests {
    pattern: Pattern,
    escape: Escape,
    /// The groups of the pattern that have the target: one, or the decoded path and its arguments.
    target: Vec<usize>,
    is_decoded: bool,
    /// The other groups of the pattern.
    others: Vec<usize>,
    matches: Matches,
    hasher: DefaultHashBuilder,
    group_ids: HashMap<Vec<u8>, usize>,
    groups: Vec<Vec<u8>>,
    ids: HashTable<usize>,
    counted: Vec<Counted>,
    targets: Vec<u8>,
    pub lines: Lines,
}

impl Requests {
    /// Begins a log whose lines have a pattern. `target` are the names of the groups that have the target: `$uri`, which
    /// is decoded, and its arguments if `is_decoded`. Fails with a message for another pattern.
    pub fn new(pattern: &[u8], target: &[String], is_decoded: bool, escape: Escape) -> Result<Requests, String> {
        let pattern = Pattern::new(pattern)?;
        let place = |name: &String| pattern.names.iter().position(|each| each == name);
        let target: Option<Vec<usize>> = target.iter().map(place).collect();
        let target = target.filter(|target| !target.is_empty()).ok_or("no group has the target")?;
        Ok(Requests {
            escape,
            others: (0..pattern.names.len()).filter(|group| !target.contains(group)).collect(),
            target,
            is_decoded,
            pattern,
            matches: Matches::default(),
            hasher: DefaultHashBuilder::default(),
            group_ids: HashMap::new(),
            groups: Vec::new(),
            ids: HashTable::new(),
            counted: Vec::new(),
            targets: Vec::new(),
            lines: Lines::default(),
        })
    }

    /// The names of the fields of a group.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.others.iter().map(|group| &self.pattern.names[*group][..])
    }

    /// Reads a piece of the log, which has whole lines.
    pub fn read(&mut self, piece: &[u8]) {
        let (mut at, mut group) = (0, Vec::new());
        while at < piece.len() {
            let end = match self.pattern.matches(piece, at, &mut self.matches) {
                Some(end) => {
                    self.lines.read += 1;
                    self.add(piece, &mut group);
                    end
                }
                None => {
                    let end = memchr::memchr(b'\n', &piece[at..]).map_or(piece.len(), |length| at + length);
                    self.lines.add_broken(&piece[at..end]);
                    end
                }
            };
            self.lines.ends += 1 + memchr::memchr_iter(b'\n', &piece[at..end]).count() as u64;
            at = end + 1;
        }
    }

    /// Adds the request of the line that was matched.
    fn add(&mut self, piece: &[u8], group: &mut Vec<u8>) {
        let of = |number: usize| self.matches.group(piece, number);
        let raw = of(self.target[0]);
        if matches!(raw, b"" | b"-") {
            self.lines.malformed += 1;
            return;
        }
        group.clear();
        for number in &self.others {
            group.extend(of(*number));
            group.push(b'\n');
        }
        let path = self.escape.unescape(raw);
        let target = if self.is_decoded {
            let args = self.target.get(1).map_or(&b""[..], |number| of(*number));
            value::encoded(&path, &self.escape.unescape(args)).into()
        } else {
            path
        };
        let id = match self.group_ids.get(&group[..]) {
            Some(id) => *id,
            None => {
                self.groups.push(group.clone());
                self.group_ids.insert(group.clone(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let hash = self.hasher.hash_one((id, &target[..]));
        let (counted, targets) = (&mut self.counted, &mut self.targets);
        let is = |number: &usize| {
            let one = &counted[*number];
            one.group == id && targets[one.target.clone()] == target[..]
        };
        if let Some(number) = self.ids.find(hash, is) {
            counted[*number].count += 1;
            return;
        }
        let start = targets.len();
        targets.extend(&target[..]);
        counted.push(Counted { hash, group: id, target: start..targets.len(), count: 1 });
        self.ids.insert_unique(hash, counted.len() - 1, |number| counted[*number].hash);
    }

    /// The fields of the groups, a line end behind each, in the order of their first lines.
    pub fn groups(&self) -> &[Vec<u8>] {
        &self.groups
    }

    /// The number of the group, the target and the count of each request, in the order of their first lines.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &[u8], u64)> {
        self.counted.iter().map(|one| (one.group, &self.targets[one.target.clone()], one.count))
    }
}

impl Lines {
    /// Counts a line that has no request: it is empty, or broken unless it has nothing but spaces.
    fn add_broken(&mut self, line: &[u8]) {
        self.read += u64::from(!line.is_empty());
        if line.iter().all(|byte| byte.is_ascii_whitespace() || *byte == b'\x0b') {
            return;
        }
        self.broken += 1;
        if self.broken_lines.len() < MOST_BROKEN {
            self.broken_lines.push(self.ends + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, target: &[&str], escape: Escape, log: &[u8]) -> (Requests, Vec<(usize, String, u64)>) {
        let target: Vec<String> = target.iter().map(|name| (*name).to_owned()).collect();
        let is_decoded = target[0] == "uri";
        let mut requests = Requests::new(pattern.as_bytes(), &target, is_decoded, escape).unwrap();
        requests.read(log);
        let text = |target: &[u8]| String::from_utf8_lossy(target).into_owned();
        let counted = requests.counted().map(|(group, target, count)| (group, text(target), count)).collect();
        (requests, counted)
    }

    #[test]
    fn equal_requests_are_counted() {
        let pattern = r"(?P<status>\d+) (?P<request_uri>[^\s]*)";
        let log = b"200 /a\n404 /a\r\n200 /\\x61\n200 -\n200 /b\n \nx\n\n200 /a";
        let (requests, counted) = read(pattern, &["request_uri"], Escape::Default, log);
        assert_eq!(counted, [(0, "/a".to_owned(), 3), (1, "/a".to_owned(), 1), (0, "/b".to_owned(), 1)]);
        assert_eq!(requests.groups(), [b"200\n".to_vec(), b"404\n".to_vec()]);
        let Lines { read, broken, ref broken_lines, malformed, .. } = requests.lines;
        assert_eq!((read, broken, &broken_lines[..], malformed), (8, 1, &[7][..], 1));
    }

    #[test]
    fn decoded_targets_are_encoded() {
        let pattern = r"(?P<uri>[^\t\n]*)\t(?P<args>[^\n]*)";
        let (_, counted) = read(pattern, &["uri", "args"], Escape::None, b"/a b\tx=1\n/\xe4\t-\n\t-\n");
        assert_eq!(counted, [(0, "/a%20b?x=1".to_owned(), 1), (0, "/%E4".to_owned(), 1)]);
        assert!(Requests::new(b"a", &["uri".to_owned()], true, Escape::None).is_err());
    }
}
