//! Counts the different requests of a log: those that agree in all but their target are a group.

use std::hash::BuildHasher;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::logs::reader::LogLine;

/// A request, and how often a log has it.
struct Counted {
    hash: u64,
    group: usize,
    target: Range<usize>,
    count: u64,
}

/// The requests of a log so far.
#[derive(Default)]
pub struct Requests {
    hasher: DefaultHashBuilder,
    group_ids: HashMap<Vec<u8>, usize>,
    groups: Vec<Vec<u8>>,
    ids: HashTable<usize>,
    counted: Vec<Counted>,
    targets: Vec<u8>,
}

impl Requests {
    /// Adds the request of a line, if it has one.
    pub fn add(&mut self, line: &LogLine<'_>) {
        let Some(fields) = line.group else { return };
        let id = match self.group_ids.get(fields) {
            Some(id) => *id,
            None => {
                self.groups.push(fields.to_vec());
                self.group_ids.insert(fields.to_vec(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let hash = self.hasher.hash_one((id, line.target));
        let (counted, targets) = (&mut self.counted, &mut self.targets);
        let is = |number: &usize| {
            let one = &counted[*number];
            one.group == id && targets[one.target.clone()] == *line.target
        };
        if let Some(number) = self.ids.find(hash, is) {
            counted[*number].count += 1;
            return;
        }
        let start = targets.len();
        targets.extend(line.target);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::logs::columns::Columns;
    use crate::logs::format::Format;
    use crate::logs::reader::{LineFormat, Lines, Reader};
    use crate::logs::value::Escape;

    /// Reads a log that comes in pieces of some bytes, of a format with these variables and the texts behind them.
    fn read(format: &[(&str, &str)], escape: Escape, log: &[u8], piece: usize) -> (Requests, Lines) {
        let (names, texts): (Vec<String>, Vec<Vec<u8>>) =
            format.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).unzip();
        let columns = Columns::new(&names, &["status".to_owned()]);
        let format = Format::new(b"", &names, &texts, escape);
        let mut reader = Reader::new(Arc::new(LineFormat { format, columns, is_wrapped: false }));
        let mut requests = Requests::default();
        log.chunks(piece).chain([&b""[..]]).for_each(|piece| reader.read(piece, |line| requests.add(line)));
        (requests, reader.lines)
    }

    fn counted(requests: &Requests) -> Vec<(usize, String, u64)> {
        let text = |target: &[u8]| String::from_utf8_lossy(target).into_owned();
        requests.counted().map(|(group, target, count)| (group, text(target), count)).collect()
    }

    #[test]
    fn equal_requests_are_counted() {
        let log = b"200 /a\n404 /a\r\n200 /\\x61\n200 -\n200 /b\n \nx\n\n200 /a";
        for piece in [1, 3, 100] {
            let format = [("status", " "), ("request_uri", "")];
            let (requests, lines) = read(&format, Escape::Default, log, piece);
            let expected = [(0, "/a".to_owned(), 3), (1, "/a".to_owned(), 1), (0, "/b".to_owned(), 1)];
            assert_eq!(counted(&requests), expected);
            assert_eq!(requests.groups(), [b"200\n".to_vec(), b"404\n".to_vec()]);
            let Lines { read, broken, ref broken_lines, malformed, number } = lines;
            assert_eq!((read, broken, &broken_lines[..], malformed, number), (7, 1, &[7][..], 1, 9));
        }
    }

    #[test]
    fn decoded_targets_are_encoded() {
        let log = b"/a b\tx=1\n/\xe4\t-\n\t-\n";
        let (requests, lines) = read(&[("uri", "\t"), ("args", "")], Escape::None, log, 5);
        assert_eq!(counted(&requests), [(0, "/a%20b?x=1".to_owned(), 1), (0, "/%E4".to_owned(), 1)]);
        assert_eq!(lines.malformed, 1);
    }

    #[test]
    fn a_format_may_have_several_lines() {
        let format = [("request_uri", "\n  "), ("status", "\n")];
        let log = b"/a\n  200\n\n/b\nx\n/c\n  404\n\n/d\n";
        for piece in [1, 4, 100] {
            let (requests, lines) = read(&format, Escape::Json, log, piece);
            assert_eq!(counted(&requests), [(0, "/a".to_owned(), 1), (1, "/c".to_owned(), 1)]);
            assert_eq!((lines.read, lines.broken, &lines.broken_lines[..]), (5, 3, &[4, 5, 9][..]));
        }
    }
}
