//! Writes tiers: whole maps for the http block, and the statements that replace rules.

use std::borrow::Cow;
use std::io::Write;

use crate::quote::{escape, escape_pattern};
use crate::rewrite::lines::Lines;
use crate::rewrite::runs::NEVER;
use crate::rewrite::stop::write_stop;
use crate::rewrite::tier::{Args, Block, Guard, MapKind, Tier};

/// The names of the variables that the compiled form of a run defines.
#[derive(Clone, Debug)]
pub struct Names {
    /// The start of all names, except that of the group.
    pub stem: String,
    /// The named group that holds the URI without its final newline, or the text that an `if` captures. It is a
    /// variable, too. No run needs both.
    pub group: String,
    /// The start of the names of the maps that look up the group of rules of a URI, and of the named groups in their
    /// patterns.
    pub tree: String,
}

/// The stem of [`Names::unknown`].
pub const UNKNOWN_STEM: &str = "nxo_zzzzzz";

/// The names of the variables of a lookup of groups.
#[derive(Clone, Debug)]
pub struct GroupNames {
    /// Holds the number of the group of the request.
    pub rules: String,
    /// Holds the kind of the rule.
    pub kind: String,
    /// Holds the text in which the targets of a kind differ.
    pub target: String,
    /// The map that gives all of these.
    pub map: String,
    /// The start of the names of the maps that this one leads to, and of the named groups in their patterns.
    pub tree: String,
}

impl GroupNames {
    /// The stem of these names, if they are for a first lookup and as long as those of [`Names::unknown`].
    pub fn usual_stem(&self) -> Option<&str> {
        let stem = self.map.strip_suffix("_pattern").filter(|stem| stem.len() == UNKNOWN_STEM.len())?;
        (self.tree.strip_suffix("_p_") == Some(stem)).then_some(stem)
    }
}

impl Names {
    /// The variable that holds the class.
    fn hit(&self) -> String {
        format!("{}_hit", self.stem)
    }

    /// The variable that holds the URI without a final newline.
    fn line(&self) -> String {
        format!("{}_line", self.stem)
    }

    /// The names for a lookup of groups. Lookups are numbered from 1.
    pub fn of_groups(&self, number: usize) -> GroupNames {
        let (stem, tree) = (&self.stem, &self.tree);
        let number = if number > 1 { number.to_string() } else { String::new() };
        // Names of groups must not be long.
        let short = tree.strip_suffix("_p").unwrap_or(stem);
        GroupNames {
            rules: format!("{short}_rules{number}"),
            kind: format!("{short}_kind{number}"),
            target: format!("{short}_target{number}"),
            map: format!("{stem}_pattern{number}"),
            tree: format!("{tree}{number}_"),
        }
    }

    /// Placeholder names, for a text that is examined before its names are known. They are as long as the usual names,
    /// and differ from all of them, because no checksum contains `z`.
    pub fn unknown() -> Names {
        let stem = UNKNOWN_STEM;
        Names { stem: stem.to_owned(), group: format!("{stem}_rest"), tree: format!("{stem}_p") }
    }

    /// The map that removes a final newline from the URI.
    fn stripped(&self) -> String {
        format!("{}_text", self.stem)
    }

    /// The map of a kind in a tier, from 1.
    fn map(&self, kind: MapKind, tier: usize) -> String {
        let number = if tier > 1 { format!("_{tier}") } else { String::new() };
        format!("{}_{}{number}", self.stem, kind.name())
    }

    /// The source of the maps of a tier.
    fn source(&self, tier: &Tier) -> String {
        if tier.strips_newline { self.line() } else { "uri".to_owned() }
    }
}

impl MapKind {
    fn name(self) -> &'static str {
        match self {
            MapKind::Key => "key",
            MapKind::Class => "class",
            MapKind::To => "to",
            MapKind::ListedTo => "listed_to",
            MapKind::Args => "args",
        }
    }

    fn comment(self) -> &'static str {
        match self {
            MapKind::Key => "Each key as it is spelled.",
            MapKind::Class => "Which of the directives in the server fires.",
            MapKind::To => "Where to, after the constant part in the directive.",
            MapKind::ListedTo => "Where to, after the constant part in the directive, whose pattern lists the keys.",
            MapKind::Args => "The arguments of the rule's own.",
        }
    }
}

/// All variables that the text of a run may define.
pub fn variables(tiers: &[Tier], names: &Names) -> Vec<String> {
    let maps = (1..).zip(tiers).flat_map(|(number, tier)| tier.maps().map(move |(kind, _)| names.map(kind, number)));
    [names.hit(), names.line(), names.stripped(), names.group.clone()].into_iter().chain(maps).collect()
}

/// A piece of the text of maps.
pub enum Piece<'t> {
    Text(Cow<'t, [u8]>),
    Lines(&'t Lines),
}

impl Piece<'_> {
    /// Calls `with` with the bytes.
    pub fn read<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Piece::Text(text) => with(text),
            Piece::Lines(lines) => lines.read(with),
        }
    }
}

/// Returns the text of the maps of a run, in pieces to be joined. The lines are not copied, because they may take
/// hundreds of megabytes.
pub fn maps<'t>(tiers: &'t [Tier], names: &Names) -> Vec<Piece<'t>> {
    let mut pieces = Vec::new();
    if tiers.iter().any(|tier| tier.strips_newline) {
        pieces.push(Piece::Text(Cow::Owned(stripping_map(names))));
    }
    for (number, tier) in (1..).zip(tiers) {
        for (kind, map) in tier.maps() {
            let default = if kind == MapKind::Class { (tier.default + 1).to_string() } else { String::new() };
            let (source, name) = (names.source(tier), names.map(kind, number));
            let head = map_head(kind.comment(), &source, &name, &default, tier.is_volatile(kind));
            let end = Piece::Text(Cow::Borrowed(b"}\n"));
            pieces.extend([Piece::Text(Cow::Owned(head)), Piece::Lines(&map.lines), end]);
        }
    }
    pieces
}

/// The map that removes a final newline from the URI.
fn stripping_map(names: &Names) -> Vec<u8> {
    let comment = "The URI before its final newline; only asked of a URI that ends in one.";
    let mut text = map_head(comment, "uri", &names.stripped(), "", true);
    let group = &names.group;
    push(&mut text, format_args!("    \"~(?s)^(?<{group}>.*)\\n\\z\" ${group};\n}}\n"));
    text
}

/// Writes a map up to its lines. nginx evaluates a volatile map anew for each URI, including that of an internal
/// redirect.
/// Without a default, nginx uses the empty string (`ngx_http_map_block`), which is written out here.
fn map_head(comment: &str, source: &str, name: &str, default: &str, is_volatile: bool) -> Vec<u8> {
    let mut text = Vec::new();
    push(&mut text, format_args!("\n# {comment}\nmap ${source} ${name} {{\n"));
    if is_volatile {
        text.extend_from_slice(b"    volatile;\n");
    }
    push(&mut text, format_args!("    default \"{default}\";\n"));
    text
}

/// Returns the statements that replace the rules of a run. If `clears`, they leave `$1` to `$9` empty if no rule fires.
/// `is_last`: they are the last of the script of a server.
pub fn statements(tiers: &[Tier], names: &Names, clears: bool, is_last: bool) -> Vec<u8> {
    let mut text = Vec::new();
    if tiers.iter().any(|tier| tier.class.is_some()) {
        push(&mut text, format_args!("set ${} \"\";\n", names.hit()));
    }
    if tiers.iter().any(|tier| tier.strips_newline) {
        strip_newline(names, &mut text);
    }
    for (number, tier) in (1..).zip(tiers) {
        push_tier(tier, number, names, is_last && !clears && number == tiers.len(), &mut text);
    }
    if clears {
        text.extend_from_slice(b"# Leaves $1 to $9 empty if no rewrite fired, as the rewrites did.\n");
        push_never("", &mut text);
    }
    text
}

fn strip_newline(names: &Names, text: &mut Vec<u8>) {
    let (line, stripped) = (names.line(), names.stripped());
    text.extend_from_slice(b"# The URI without a final newline: `$` in a pattern matches before one, too.\n");
    push(text, format_args!("set ${line} $uri;\nif (${line} ~ \"\\n\\z\") {{\n    set ${line} ${stripped};\n"));
    push_never("    ", text);
    text.extend_from_slice(b"}\n");
}

fn push_tier(tier: &Tier, number: usize, names: &Names, is_last: bool, text: &mut Vec<u8>) {
    let map = |kind| names.map(kind, number);
    let rewrites = |indent, block: &Block, text: &mut Vec<u8>| {
        push_rewrites(indent, block, &map(tier.to_kind()), &map(MapKind::Args), text);
    };
    match tier.guard {
        Guard::Key(_) => push(text, format_args!("if (${} = ${}) {{\n", map(MapKind::Key), names.source(tier))),
        Guard::Target => push(text, format_args!("if (${}) {{\n", map(MapKind::To))),
        Guard::CapturedTarget => {
            let (to, group) = (map(MapKind::To), &names.group);
            push(text, format_args!("if (${to} ~ \"(?s)^(?<{group}>.+)\") {{\n"));
            push_rewrites("    ", &tier.blocks[0], group, &map(MapKind::Args), text);
            text.extend_from_slice(b"}\n");
            return;
        }
        Guard::Patterns => return rewrites("", &tier.blocks[0], text),
    }
    if tier.class.is_none() {
        rewrites("    ", &tier.blocks[0], text);
        text.extend_from_slice(b"}\n");
        return;
    }
    push(text, format_args!("    set ${} ${};\n}}\n", names.hit(), map(MapKind::Class)));
    if is_last {
        write_stop(&names.hit(), tier.blocks.len(), text);
    }
    for (class, block) in (1..).zip(&tier.blocks) {
        push(text, format_args!("if (${} = {class}) {{\n", names.hit()));
        rewrites("    ", block, text);
        text.extend_from_slice(b"}\n");
    }
}

/// The directives of a block: one, or one for each of its patterns. `to` and `args` are maps.
fn push_rewrites(indent: &str, block: &Block, to: &str, args: &str, text: &mut Vec<u8>) {
    let target = target(block, to, args);
    let mut push_rewrite = |pattern: &[u8]| {
        text.extend_from_slice(indent.as_bytes());
        text.extend_from_slice(&[b"rewrite ", pattern, b" \"", &target, b"\" "].concat());
        text.extend_from_slice(block.class.action.flag().as_bytes());
        text.extend_from_slice(b";\n");
    };
    if block.patterns.is_empty() {
        push_rewrite(b"^");
    }
    for pattern in &block.patterns {
        push_rewrite(&quoted_pattern(pattern));
    }
}

/// The inside of the quoted target of a block.
fn target(block: &Block, to: &str, args: &str) -> Vec<u8> {
    let mut target = Vec::new();
    escape(&block.head, &mut target);
    if block.has_rest {
        push(&mut target, format_args!("${to}"));
    }
    if block.class.own_args {
        target.push(b'?');
        match &block.args {
            Args::Constant(args) => escape(args, &mut target),
            _ => push(&mut target, format_args!("${args}")),
        }
    }
    if block.class.drop_args {
        target.push(b'?');
    }
    target
}

/// Writes a rule that never matches and leaves `$1` to `$9` empty.
fn push_never(indent: &str, text: &mut Vec<u8>) {
    text.extend_from_slice(&[indent.as_bytes(), b"rewrite ", &quoted_pattern(NEVER), b" /;\n"].concat());
}

/// A pattern between quotes.
pub fn quoted_pattern(pattern: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    escape_pattern(pattern, &mut quoted);
    quoted.push(b'"');
    quoted
}

fn push(text: &mut Vec<u8>, arguments: std::fmt::Arguments) {
    text.write_fmt(arguments).expect("a vector takes all that is written");
}
