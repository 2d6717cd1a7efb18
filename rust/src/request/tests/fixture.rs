//! Reads sites from text, and writes answers as text. Only structure is read here: the settings of a level are those
//! that it states itself.

use serde_json::{Value as Json, json};

use crate::lexer::{Event, Lexer, Word};
use crate::request::bytes::Bytes;
use crate::request::model::Model;
use crate::request::outcome::{Outcome, OutcomeKind};
use crate::request::record::Steps;
use crate::request::site::{SETTINGS, Site};
use crate::request::world::{Request, World};

/// A request, and what is known of the world.
pub struct Asked<'a> {
    /// `METHOD target`, or a target.
    pub line: &'a str,
    /// Lines `Name: value`; without `Host` that of `h` is sent.
    pub headers: &'a [&'a str],
    pub version: (u32, u32, u32),
    pub fixes: &'a [&'a str],
    pub files: &'a [&'a str],
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Asked { line: "/", headers: &[], version: (1, 31, 3), fixes: &[], files: &FILES }
    }
}

const FILES: [&str; 8] = [
    "/r/f.txt",
    "/r/d/index.html",
    "/r/d/g.txt",
    "/r/x.html",
    "/r/e/",
    "/al/f.txt",
    "/al/index.html",
    "/al/sub/index.html",
];

/// The answer of a server with `root /r` and the statements of `text` to a target.
pub fn ask(text: &str, line: &str) -> String {
    Asked { line, ..Asked::default() }.of(text)
}

/// The branches of the answer of a server: `+` what exists, `-` what does not, and the answer.
pub fn branches(text: &str, line: &str) -> Vec<String> {
    branches_http(&format!("server {{ root /r; {text} }}"), line)
}

/// The branches of the answer of an `http` block.
pub fn branches_http(text: &str, line: &str) -> Vec<String> {
    let asked = Asked { line, ..Asked::default() };
    let model = asked.model(text).expect("a site that starts");
    let listed = |sign: &str, paths: &[Bytes]| -> Vec<String> {
        paths.iter().map(|path| format!("{sign}{}", path.escape_ascii())).collect()
    };
    let branches = model.branches(&asked.request(), &asked.world()).into_iter().map(|branch| {
        let of = branch.conditions;
        let events = |sign: &str, texts: &[String]| texts.iter().map(|text| format!("{sign}{text}")).collect();
        let files = [listed("-", &of.missing), listed("+", &of.exists)];
        let conditions = [files[0].clone(), files[1].clone(), events("!", &of.fails), events("?", &of.happens)];
        let conditions = conditions.concat().join(" ");
        format!("{conditions}: {}", shown(&branch.outcome))
    });
    branches.collect()
}

impl Asked<'_> {
    /// The answer of a server with the statements of `text`.
    pub fn of(&self, text: &str) -> String {
        self.of_http(&format!("server {{ root /r; {text} }}"))
    }

    /// The answer of an `http` block.
    pub fn of_http(&self, text: &str) -> String {
        match self.model(text) {
            Ok(model) => {
                let outcome = model.answer(&self.request(), &self.world(), &mut Steps::default());
                shown(&outcome)
            }
            Err(message) => format!("refused: {message}"),
        }
    }

    pub fn model(&self, text: &str) -> Result<Model, String> {
        let mut reader = Reader::default();
        reader.read(text);
        let (major, minor, patch) = self.version;
        let servers: Vec<usize> = (0..reader.servers.len()).collect();
        let site: Site = serde_json::from_value(json!({
            "build": { "version": [major, minor, patch], "fixes": self.fixes, "prefix": "/n/" },
            "sockets": [{
                "node": null, "family": "inet", "host": "0.0.0.0", "port": 8080, "tls": false, "http2": false,
                "quic": false, "proxy_protocol": false, "servers": servers, "default": 0,
            }],
            "servers": reader.servers, "levels": reader.levels, "directives": reader.directives,
            "variables": reader.variables, "upstreams": [], "opaque": [],
        }))
        .expect("a site");
        Model::new(site, &[]).map_err(|refused| refused.message)
    }

    pub fn request(&self) -> Request {
        let (method, target) = self.line.split_once(' ').unwrap_or(("GET", self.line));
        let mut headers: Vec<(&str, &str)> =
            self.headers.iter().map(|header| header.split_once(": ").expect("a header")).collect();
        if !headers.iter().any(|(name, _)| *name == "Host") {
            headers.push(("Host", "h"));
        }
        serde_json::from_value(json!({
            "method": method, "target": target, "version": [1, 1], "headers": headers,
            "connection": {
                "family": "inet", "host": "127.0.0.1", "port": 8080, "tls": false, "sni": null, "client": "127.0.0.1",
            },
        }))
        .expect("a request")
    }

    pub fn world(&self) -> World {
        serde_json::from_value(json!({
            "files": { "existing": self.files, "missing": ["/r/", "/al/", "/rf.txt", "/rnx", "/rfb.html", "/r=0"], "disk": false, "root": null },
            "variables": {},
        }))
        .expect("a world")
    }
}

/// `200 text`, `301 -> URL`, `up METHOD target`, `file path`, `closed`, `unknown: reason`.
fn shown(outcome: &Outcome) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let mut shown = match outcome.kind {
        OutcomeKind::Unknown => format!("unknown: {}", outcome.unknown.as_ref().expect("a reason").reason),
        OutcomeKind::Closed => "closed".to_owned(),
        _ => outcome.status.map(|status| status.to_string()).unwrap_or_default(),
    };
    if let Some(location) = &outcome.location {
        shown = format!("{shown} -> {}", text(location)).trim_end().to_owned();
    }
    if let Some(body) = outcome.body.as_ref().filter(|body| !body.is_empty()) {
        shown += &format!(" {}", text(body));
    }
    if let Some(file) = outcome.file.as_ref().filter(|_| outcome.kind == OutcomeKind::Static) {
        shown += &format!(" file {}", text(file));
    }
    if let Some(passed) = &outcome.upstream {
        let target = passed.target.as_ref().map(|target| text(target)).unwrap_or_default();
        shown += &format!(" up {} {} {target}", text(&passed.server), text(&passed.method));
    }
    for header in &outcome.headers {
        shown += &format!(" [{}: {}]", text(&header.name), text(&header.value));
    }
    if let Some(unknown) = outcome.unknown.as_ref().filter(|_| outcome.kind != OutcomeKind::Unknown) {
        shown += &format!(" ?{}", unknown.reason);
    }
    shown.trim().to_owned()
}

#[derive(Default)]
struct Reader {
    servers: Vec<Json>,
    levels: Vec<Json>,
    directives: Vec<Json>,
    variables: Vec<Json>,
    node: u32,
}

impl Reader {
    fn read(&mut self, text: &str) {
        let mut lexer = Lexer::new(text.as_bytes());
        self.level("http", None, &[], &mut lexer);
    }

    fn next_node(&mut self) -> u32 {
        self.node += 1;
        self.node
    }

    fn level(&mut self, kind: &str, parent: Option<usize>, args: &[String], lexer: &mut Lexer) -> usize {
        let (level, node) = (self.levels.len(), self.next_node());
        self.levels.push(json!({
            "kind": kind, "node": node, "parent": parent, "args": args, "script": [], "locations": [],
            "limit_except": null, "settings": {}, "opaque": [], "filters": [],
        }));
        while let Some(event) = lexer.next() {
            match event.expect("text that nginx reads") {
                Event::Statement { words, .. } => self.statement(level, &texts(&words)),
                Event::Open { words, .. } => self.block(level, &texts(&words), lexer),
                Event::Close { .. } => break,
                Event::Comment { .. } => {}
            }
        }
        level
    }

    fn block(&mut self, level: usize, words: &[String], lexer: &mut Lexer) {
        let args = &words[1..];
        let name = words[0].as_str();
        if matches!(name, "map" | "geo" | "split_clients") {
            return self.variable(words, lexer);
        }
        let inner = self.level(name, Some(level), args, lexer);
        let node = self.levels[inner]["node"].clone();
        match name {
            "server" => {
                let names = self.levels[inner]["names"].take();
                let names = if names.is_null() { json!([{ "node": node, "text": "" }]) } else { names };
                self.servers.push(json!({ "node": node, "level": inner, "names": names }));
            }
            "location" => push(&mut self.levels[level]["locations"], json!(inner)),
            "limit_except" => self.levels[level]["limit_except"] = json!(inner),
            "if" => {
                let condition = condition(args);
                let statement = json!({ "kind": "if", "node": node, "condition": condition, "level": inner });
                push(&mut self.levels[level]["script"], statement);
            }
            other => panic!("a block {other}"),
        }
    }

    fn variable(&mut self, words: &[String], lexer: &mut Lexer) {
        let node = self.next_node();
        let mut rows = Vec::new();
        while let Some(Ok(Event::Statement { words, .. })) = lexer.next() {
            let words = texts(&words);
            let args = [&words[..1], &words[1..]].concat();
            rows.push(json!({ "node": self.next_node(), "args": args }));
        }
        let variable = words.last().expect("a variable");
        let source = words.get(1).filter(|_| words.len() == 3);
        self.variables
            .push(json!({ "kind": words[0], "node": node, "source": source, "variable": variable, "rows": rows }));
    }

    fn statement(&mut self, level: usize, words: &[String]) {
        let node = self.next_node();
        let (name, args) = (words[0].as_str(), &words[1..]);
        let statement = match name {
            "set" => json!({ "kind": "set", "node": node, "variable": args[0], "value": args[1] }),
            "rewrite" => {
                let flag = args.get(2);
                json!({ "kind": "rewrite", "node": node, "pattern": args[0], "replacement": args[1], "flag": flag })
            }
            "return" => json!({ "kind": "return", "node": node, "args": args }),
            "break" => json!({ "kind": "break", "node": node }),
            "lua" => json!({ "kind": "opaque", "node": node, "reason": "Lua" }),
            "server_name" => {
                let names = args.iter().map(|text| json!({ "node": node, "text": text })).collect::<Vec<_>>();
                self.levels[level]["names"] = json!(names);
                return;
            }
            name => {
                assert!(SETTINGS.contains(&name), "a setting {name}");
                push(&mut self.levels[level]["settings"][name], json!(self.directives.len()));
                self.directives.push(json!({ "node": node, "args": args }));
                return;
            }
        };
        push(&mut self.levels[level]["script"], statement);
    }
}

/// The words between the parentheses.
fn condition(args: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = args.iter().map(String::as_str).collect();
    let (first, last) = (words[0], words.len() - 1);
    words[0] = first.strip_prefix('(').expect("an opening parenthesis");
    words[last] = words[last].strip_suffix(')').expect("a closing parenthesis");
    if words[last].is_empty() && args[last] == ")" {
        words.pop();
    }
    words
}

fn push(list: &mut Json, item: Json) {
    match list {
        Json::Array(list) => list.push(item),
        list => *list = json!([item]),
    }
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| String::from_utf8(word.value.to_vec()).expect("text")).collect()
}
