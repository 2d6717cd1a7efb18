"""Configurations that nobody would write: every command ends with a status that is documented, and without a bug."""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.configs import run
from tests.rows import every_row
from tests.support import ROOT

STATUSES = set(range(8))

WHOLE = """events {}
http {
    include nowhere.conf;
    map $uri $to { default ""; ~^/a/(?<rest>.*)$ /b/$rest; /c 1; }
    geo $net { default 0; 10.0.0.0/8 1; }
    split_clients $remote_addr $half { 50% a; * b; }
    upstream app { server 127.0.0.1:9000 max_conns=2; keepalive 4; }
    log_format main '$remote_addr "$request"';
    types { text/plain txt; }
    server {
        listen 127.0.0.1:8080 default_server;
        server_name a.example ~^(?<sub>.+)\\.example$;
        if ($http_host = b.example) { return 301 https://c.example$request_uri; }
        rewrite ^/old/(.*)$ /new/$1 permanent;
        set $x $to;
        add_header X-A $x always;
        error_page 404 = @app;
        location ~ \\.php$ { fastcgi_pass app; fastcgi_param A $uri; }
        location = /p { proxy_pass http://app/q; proxy_set_header Host $host; }
        location @app { try_files $uri =404; expires 1d; allow 10.0.0.0/8; deny all; }
        location /lua { content_by_lua_block { ngx.say("$x") } }
    }
}
"""
FRAGMENT = """include nowhere.conf;
location / { if ($arg_a ~ "x") { set $y 1; } return 200 $y; }
valid_referers none server_names *.example;
"""
TEMPLATE = "server { listen {{ port }}; server_name {{ name }}; set $a b; return 302 https://$a$request_uri; }\n"
BASES = (WHOLE, FRAGMENT, TEMPLATE)

WORDS = (
    *("你好$x", "привет", "مرحبا", "é$1", "$", "${", '""', "{{ a }}", "\udcff\udcfe"),
    *("if {}", "if () {}", "map {}", "map $a;", "geo {}", "types;", "upstream {}", "location {}", "server;", "events;"),
    *("include;", "listen;", "return;", "rewrite;", "set;", "proxy_pass;", "error_page;", "try_files;", "expires;"),
    "content_by_lua_block { ngx.say('你 $uri') }",
    "set_by_lua_block $z { return 'Привет $host' }",
    "location ~ 你$ { return 200 你; }",
    "server_name *.你.example ~^п(?<g>.*)$;",
    "map $host $n { 你 1; ~п 2; default $uri; }",
    "return 301 https://你.example$request_uri;",
)
_STATEMENT = re.compile(r"(\w+)([^;{}\n]*)([;{])")


def changed(text: str, what: int, where: int, word: str) -> str:
    """Return a text with a small change at one of its statements."""
    found = list(_STATEMENT.finditer(text))
    if not found:
        return text
    at = found[where % len(found)]
    match what:
        case 0:  # no arguments
            return text[: at.start(2)] + text[at.end(2) :]
        case 1:  # one fewer
            words = at[2].split()
            return (
                text[: at.start(2)] + " " + " ".join(words[: where % len(words)] if words else []) + text[at.end(2) :]
            )
        case 2:  # one more
            return f"{text[: at.end(2)]} {word.partition(' ')[0]} {text[at.end(2) :]}"
        case 3:  # an empty block
            block = re.compile(r"\{[^{}]*\}").search(text, at.start())
            return text if block is None else text[: block.start()] + "{}" + text[block.end() :]
        case _:  # a statement before it
            return f"{text[: at.start()]}{word} {text[at.start() :]}"


CHANGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 60), st.sampled_from(WORDS)), min_size=1, max_size=3)

COMMANDS = (
    ("lint", "--isolated", "--select", "all", "new.conf"),
    ("lint", "--isolated", "--select", "all", "--unsafe-fixes", "--diff", "new.conf"),
    ("format", "--isolated", "--check", "new.conf"),
    ("rewrite-to-map", "--check", "--verify", "new.conf"),
    ("trace", "new.conf", "http://a.example/a/b.php?a=1"),
    ("trace", "new.conf", "--requests", "requests.txt"),
    ("verify", "new.conf", "old.conf"),
    ("verify", "old.conf", "new.conf"),
    ("test", "new.conf", "table.csv"),
)


def ends_well(folder: Path, old: str, new: str) -> None:
    """Run all commands in a folder on a configuration, and on it beside another one."""
    (folder / "requests.txt").write_text("/\nhttp://b.example/a/b?c=1\n/p\n")
    (folder / "table.csv").write_text("/,,200\n/old/x,/new/x,301\n")
    for name, text in (("old.conf", old), ("new.conf", new)):
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with contextlib.chdir(folder):
        for command in COMMANDS:
            status, said, _ = run(*command)
            assert status in STATUSES, (command, new, said[-2_000:])


CASES = {
    "the words of a setting": ("valid_referers none;", "valid_referers none 你好$x;"),
    "the names of a server": ("valid_referers server_names;", "valid_referers server_names; server_name ~^п(?<g>.*)$;"),
    "a block of Lua": ("server_tokens on;", "server_tokens on; content_by_lua_block { ngx.say('你 $uri') }"),
    "an upstream": ("upstream u { server a; }", "upstream u { server a; hash $привет; }"),
    "an if without a condition": (FRAGMENT, "http { if {} server { listen 80; location / { return 200; } } }"),
    "a template": (TEMPLATE, TEMPLATE.replace("name }};", "name }}\udcff;")),
}


@every_row("case", CASES)
def test_what_once_failed(tmp_path: Path, case: str) -> None:
    """Text that is not Latin-1, and directives without arguments."""
    ends_well(tmp_path, *CASES[case])


@given(base=st.sampled_from(BASES), changes=CHANGES)
@settings(max_examples=8)
def test_every_command_ends_with_its_statuses(
    tmp_path_factory: pytest.TempPathFactory, base: str, changes: list[tuple[int, int, str]]
) -> None:
    """Arguments that are missing, empty blocks, and words in any script are findings or errors."""
    text = base
    for what, where, word in changes:
        text = changed(text, what, where, word)
    ends_well(tmp_path_factory.mktemp("hostile"), base, text)


@pytest.mark.parametrize("command", ["rules test loop", "rules trust loop", "rules trust loop/a", "fleet report loop"])
def test_a_link_to_itself_is_an_error(command: str, tmp_path: Path) -> None:
    """What leads nowhere is no bug."""
    (tmp_path / "loop").symlink_to("loop")
    with contextlib.chdir(tmp_path):
        status, said, _ = run(*command.split())
    assert status in (2, 3), said


LONG = "a" * 5_000
NAMING = (
    *("lint {}", "lint --root {} site.conf", "lint --config {} site.conf"),
    *("lint --rules {} site.conf", "lint --baseline {} site.conf", "lint --output {} site.conf", "check {}"),
    *("format {}", "trace {} http://a/", "trace --requests {} site.conf", "test site.conf {}", "verify {} site.conf"),
    *("rewrite-to-map {}", "rewrite-to-map --output-dir {} site.conf", "profile site.conf {}", "ingress {}"),
    *("rules test {}", "rules new a-b --folder {}", "rules trust {}", "mcp {}", "fleet lint {}", "fleet report {}"),
    *("fleet diff --result {}", "fleet query SELECT --result {}", "fleet lint site.conf --output {}"),
)


@every_row("command", NAMING)
def test_a_name_that_no_file_has_is_an_error(command: str, tmp_path: Path) -> None:
    """A name that is too long is one of a file that is not there."""
    (tmp_path / "site.conf").write_text(WHOLE)
    with contextlib.chdir(tmp_path):
        status, said, _ = run(*command.format(LONG).split())
    assert status in STATUSES, said
    assert "Traceback" not in said


def test_no_path_is_asked_for_by_what_raises() -> None:
    """`Path.is_file` and the like raise for names that are too long and folders that nobody may search: `os.path`
    answers. What `scandir` found has its answer.
    """
    answered = ("os.path", "entry", "e", "info")
    found = [
        f"{path.relative_to(ROOT)}: {ast.unparse(node)}"
        for path in (*(ROOT / "nginxopt").rglob("*.py"), *(ROOT / "rules").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args
        if node.func.attr in ("is_file", "is_dir", "exists", "is_symlink")
        if ast.unparse(node.func.value).rpartition(".")[2] not in answered
    ]
    assert found == []
