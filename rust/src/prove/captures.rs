//! Decides whether anything may read `$1` to `$9` after the rules. Nothing does if the configuration is complete, its
//! text does not mention them, and no directive runs programs.

use std::collections::HashSet;

use crate::facts::ROWS;
use crate::prove::node::Node;

/// A file of the configuration.
pub struct File<'n> {
    pub nodes: &'n [Node<'n>],
    /// Whether its statements are the rows of a block such as `map`, not directives.
    pub holds_rows: bool,
}

/// Whether `$1` to `$9` may be read. `harmless` are the directives that read captures only in their text.
pub fn may_be_read(files: &[File], harmless: &HashSet<Vec<u8>>) -> bool {
    let is_whole = files.iter().flat_map(|file| file.nodes).any(|node| node.word(0) == b"http" && node.block.is_some());
    !is_whole
        || files.iter().any(|file| CaptureSearch { harmless, around: Vec::new() }.any(file.nodes, file.holds_rows))
}

struct CaptureSearch<'r, 'n> {
    harmless: &'r HashSet<Vec<u8>>,
    /// The enclosing blocks in this file.
    around: Vec<&'n Node<'n>>,
}

impl<'n> CaptureSearch<'_, 'n> {
    fn any(&mut self, nodes: &'n [Node<'n>], are_rows: bool) -> bool {
        nodes.iter().any(|node| if are_rows { reads_in_row(node) } else { self.statement(node) })
    }

    fn statement(&mut self, node: &'n Node<'n>) -> bool {
        let is_off = node.word(0) == b"ssi" && node.words().get(1..) == Some(&[b"off"]);
        if !self.harmless.contains(node.word(0)) && !is_off {
            return true;
        }
        let is_set_first = |block: &&Node| sets_for(block, node);
        if node.word(0) != b"rewrite" && mentions(node) && !self.around.iter().any(is_set_first) {
            return true;
        }
        let Some(block) = &node.block else { return false };
        self.around.push(node);
        let reads = self.any(block, has_rows(node));
        self.around.pop();
        reads
    }
}

/// Whether the statements of a block are rows.
pub fn has_rows(block: &Node) -> bool {
    ROWS.contains(&block.word(0))
}

/// A row with a regex sets the captures before it reads them.
fn reads_in_row(row: &Node) -> bool {
    mentions(row) && !row.word(0).starts_with(b"~")
}

/// Whether the parameters contain `$1` to `$9`.
fn mentions(node: &Node) -> bool {
    let starts_capture = |rest: &[u8]| matches!(rest, [b'1'..=b'9', ..] | [b'{', b'1'..=b'9', ..]);
    node.words().iter().skip(1).any(|word| memchr::memchr_iter(b'$', word).any(|at| starts_capture(&word[at + 1..])))
}

/// Whether entering `block` sets the captures that `node` in it reads. The condition of an `if` does, because its
/// statements follow at once, and so does a regex location in which no rule can come between.
fn sets_for(block: &Node, node: &Node) -> bool {
    match block.word(0) {
        b"if" => is_match(block) && matches!(node.word(0), b"set" | b"return" | b"break"),
        b"location" => block.word(1).starts_with(b"~") && !block.block.as_deref().is_some_and(may_have_rules),
        _ => false,
    }
}

/// `if ($variable ~ regex)`, with or without blanks inside the parentheses.
fn is_match(block: &Node) -> bool {
    let operator = if block.word(1) == b"(" { 3 } else { 2 };
    matches!(block.word(operator), b"~" | b"~*")
}

fn may_have_rules(nodes: &[Node]) -> bool {
    let may = |node: &Node| {
        matches!(node.word(0), b"rewrite" | b"include") || node.block.as_deref().is_some_and(may_have_rules)
    };
    nodes.iter().any(may)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::node;

    fn is_read(server: &str) -> bool {
        let text = format!("http {{ map $a $b {{ ~^/(x) $1; x y; }} server {{ {server} }} }}");
        let nodes = node::parse(text.as_bytes(), "it").unwrap();
        let known = "http map server location if set return rewrite add_header include proxy_pass";
        let harmless = known.split(' ').map(|name| name.as_bytes().to_vec()).collect();
        may_be_read(&[File { nodes: &nodes, holds_rows: false }], &harmless)
    }

    /// Directives that may read earlier captures, and those that cannot.
    #[test]
    fn readers() {
        for server in [
            "",
            "rewrite ^/(a)$ /$1 last;",
            "if ($a ~ (b)) { set $c $1; }",
            "if ( $a ~* (b) ) { return 200 $1; }",
            "location ~ ^/(a) { proxy_pass http://b/$1; location /x { add_header A $1; } }",
            "ssi off;",
        ] {
            assert!(!is_read(server), "{server}");
        }
        for server in [
            "set $c $1;",
            "add_header A ${1};",
            "if ($a ~ (b)) { add_header A $1; }",
            "if ($a = ~) { set $c $1; }",
            "if ($a !~ (b)) { set $c $1; }",
            "location ~ ^/(a) { rewrite ^/b$ /c last; proxy_pass http://b/$1; }",
            "location ~ ^/(a) { include more.conf; proxy_pass http://b/$1; }",
            "location = ~a { return 200 $1; }",
            "location /a { return 200 $1; }",
            "ssi on;",
            "content_by_lua_file x.lua;",
            "nobody_knows this;",
        ] {
            assert!(is_read(server), "{server}");
        }
        assert!(may_be_read(&[], &HashSet::new()));
    }
}
