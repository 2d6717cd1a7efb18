//! A compressed trie over byte strings: a path without branches is one node.

/// A string and its owner.
type OwnedString = (Vec<u8>, u32);

/// Finds the owners of all strings that a subject starts with.
#[derive(Debug, Default)]
pub(super) struct PrefixTrie {
    /// The children of a node are adjacent, in the order of their first bytes. The first node is the root.
    nodes: Vec<PrefixNode>,
    /// The first byte of each node's label, adjacent for the search among siblings; 0 for the root.
    heads: Vec<u8>,
    labels: Vec<u8>,
    owners: Vec<u32>,
}

/// Ranges into the trie's vectors, each by its start and its length.
#[derive(Debug, Default)]
struct PrefixNode {
    label: u32,
    label_len: u32,
    children: u32,
    owners: u32,
    owners_len: u32,
    /// At most 256.
    children_len: u16,
}

impl PrefixTrie {
    /// O(n log n) for the sort, and at most 2n nodes of 24 bytes.
    pub fn new(mut strings: Vec<OwnedString>) -> PrefixTrie {
        if strings.is_empty() {
            return PrefixTrie::default();
        }
        strings.sort_unstable();
        let mut trie = PrefixTrie::default();
        trie.nodes.push(PrefixNode::default());
        trie.heads.push(0);
        // The strings under each node, and how many of their bytes the path to the node has.
        let mut under = vec![(0..strings.len(), 0)];
        let mut node = 0;
        while node < trie.nodes.len() {
            let (range, depth) = under[node].clone();
            let (here, below) = split_at_depth(&strings[range.clone()], depth);
            trie.nodes[node].owners = trie.owners.len() as u32;
            trie.nodes[node].owners_len = here.len() as u32;
            trie.owners.extend(here.iter().map(|(_, owner)| owner));
            trie.nodes[node].children = trie.nodes.len() as u32;
            let mut start = range.start + here.len();
            for siblings in below.chunk_by(|(a, _), (b, _)| a[depth] == b[depth]) {
                let label = shared(siblings, depth);
                trie.push(label);
                under.push((start..start + siblings.len(), depth + label.len()));
                trie.nodes[node].children_len += 1;
                start += siblings.len();
            }
            node += 1;
        }
        trie
    }

    fn push(&mut self, label: &[u8]) {
        let (start, len) = (self.labels.len() as u32, label.len() as u32);
        self.nodes.push(PrefixNode { label: start, label_len: len, ..PrefixNode::default() });
        self.heads.push(label[0]);
        self.labels.extend_from_slice(label);
    }

    /// Returns the owners of the strings that `subject` starts with, shorter strings first. O(length log 256).
    pub fn of<'t>(&'t self, subject: &'t [u8]) -> impl Iterator<Item = u32> + 't {
        let mut rest = subject;
        let path = std::iter::successors(self.nodes.first(), move |node| {
            let child = self.child(node, *rest.first()?)?;
            let label = &self.labels[child.label as usize..][..child.label_len as usize];
            rest = rest.strip_prefix(label)?;
            Some(child)
        });
        path.flat_map(|node| &self.owners[node.owners as usize..][..node.owners_len as usize]).copied()
    }

    fn child(&self, node: &PrefixNode, head: u8) -> Option<&PrefixNode> {
        let children = node.children as usize..node.children as usize + usize::from(node.children_len);
        let place = self.heads[children.clone()].binary_search(&head).ok()?;
        self.nodes.get(children.start + place)
    }
}

/// Splits sorted strings into those that end at `depth`, which come first, and longer ones.
fn split_at_depth(strings: &[OwnedString], depth: usize) -> (&[OwnedString], &[OwnedString]) {
    strings.split_at(strings.partition_point(|(string, _)| string.len() == depth))
}

/// The common prefix of sorted strings from `depth` on.
fn shared(strings: &[OwnedString], depth: usize) -> &[u8] {
    let (first, last) = (&strings[0].0[depth..], &strings[strings.len() - 1].0[depth..]);
    let len = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    &first[..len]
}

#[cfg(test)]
mod tests {
    use super::PrefixTrie;
    use proptest::prelude::*;

    /// Nodes are as small as their documentation says.
    #[test]
    fn small() {
        assert_eq!(size_of::<super::PrefixNode>(), 24);
    }

    /// The empty trie and the empty string.
    #[test]
    fn empty() {
        assert_eq!(PrefixTrie::new(vec![]).of(b"/a").count(), 0);
        assert_eq!(PrefixTrie::new(vec![(vec![], 7)]).of(b"").collect::<Vec<_>>(), [7]);
    }

    proptest! {
        /// The trie finds the same strings as a linear scan.
        #[test]
        fn agrees_with_a_scan(
            strings in prop::collection::vec("[ab/\u{0}]{0,5}", 0..40),
            subject in "[ab/\u{0}]{0,8}",
        ) {
            let entries: Vec<_> = strings.iter().map(|s| s.clone().into_bytes()).zip(0u32..).collect();
            let mut owners: Vec<u32> = PrefixTrie::new(entries).of(subject.as_bytes()).collect();
            owners.sort_unstable();
            let scanned = (0u32..).zip(&strings).filter(|(_, s)| subject.starts_with(s.as_str()));
            prop_assert_eq!(owners, scanned.map(|(owner, _)| owner).collect::<Vec<_>>());
        }
    }
}
