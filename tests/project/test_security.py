"""SECURITY.md: its table of what the commands do is true. The table is the data of these tests."""

from __future__ import annotations

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from nginxopt.cli import nginxopt
from tests.project import observer
from tests.support import PATIENCE, ROOT

pytestmark = pytest.mark.no_cover

TEXT = (ROOT / "SECURITY.md").read_text()
HEADER = "| command | runs | writes | connects to | untrusted input |"

NOTHING = "nothing"
FREE = frozenset({"`nginx -v` and workers of its own", "the rules that it tests", "`nginx`, and `docker` or `vegeta`"})
"""What runs by the table, where a cell does not begin with nothing, and other tests look at it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A command, and its cells: what it does without options, and what with which."""

    command: str
    cells: Mapping[str, tuple[str, Mapping[str, str]]]


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    lines = TEXT.partition(HEADER)[2].splitlines()[2:]
    for line in lines[: lines.index("")]:
        name, *cells, _ = (cell.strip() for cell in line.strip("|").split("|"))
        columns = ("run", "write", "connect")
        yield Row(name.strip("`"), dict(zip(columns, map(_cell, cells), strict=True)))


def _cell(text: str) -> tuple[str, Mapping[str, str]]:
    first, *others = text.split("; ")
    by_option: dict[str, str] = {}
    for part in others:
        what, _, options = part.partition(" with ")
        by_option |= dict.fromkeys(re.findall(r"--[a-z-]+", options), what)
    return first, by_option


TABLE = {row.command: row for row in rows()}


def commands(command: click.Command = nginxopt, name: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of all commands; those of `bench` are one."""
    if isinstance(command, click.Group) and name != ("bench",):
        context = click.Context(command)
        for part in command.list_commands(context):
            inner = command.get_command(context, part)
            assert inner is not None
            yield from commands(inner, (*name, part))
        if not command.invoke_without_command:
            return
    yield " ".join(name)


def test_every_command_is_told() -> None:
    """The table has all commands, and each has what it is."""
    assert sorted(TABLE) == sorted(commands())


TRAPS = {
    "nginx.conf": """\
load_module {here}/evil.so;
error_log {here}/error.log;
pid {here}/nginx.pid;
events {{ }}
http {{
    access_log {here}/access.log;
    include site.conf;
    perl_modules {here};
    init_by_lua_file {here}/evil.lua;
    server {{
        listen 80;
        ssl_certificate_key {here}/secret.key;
        auth_basic_user_file {here}/secret.key;
        resolver 192.0.2.1;
        location / {{ proxy_pass http://192.0.2.1; }}
        location /x {{ js_import {here}/evil.js; root {here}; }}
    }}
}}
""",
    "site.conf": "gzip on;\ngzip_types text/css;\ngzip_comp_level 9;\n",
    "plain.conf": "events {{}} http {{ gzip on; gzip_types a/b; gzip_comp_level 9;\n"
    "server {{ listen 8080; location / {{ return 204; }} }} }}\n",
    "rules.conf": "".join(f"rewrite ^/a{number}$ /b{number} permanent;\n" for number in range(9)),
    "nginxopt.toml": 'rules = ["own"]\n',
    "own/own_rule.py": 'import subprocess\nsubprocess.run(["touch", "{here}/ran"], check=False)\n',
    "secret.key": "secret\n",
    "evil.lua": "os.execute('touch {here}/ran')\n",
    "access.log": '127.0.0.1 - - [01/Nov/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 2 "-" "-"\n',
    "plain.log": '127.0.0.1 - - [01/Nov/2026:00:00:00 +0000] "GET / HTTP/1.1" 204 0 "-" "-"\n',
    "paths.csv": "from,to,status\nhttp://localhost:8080/,,204\n",
    "ingress.yaml": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: a, annotations: "
    '{{nginx.ingress.kubernetes.io/server-snippet: "include {here}/evil.lua;"}}}}\n'
    "spec: {{rules: [{{host: a.example}}]}}\n",
    "hosts/a/nginx.conf": "events {{}}\nhttp {{ gzip on; gzip_comp_level 9; }}\n",
}
"""A folder of a stranger: what is named in it are traps."""

URL = "http://localhost:8080/"
CALLS: Mapping[str, Sequence[str]] = {
    "lint": ["nginx.conf"],
    "check": ["nginx.conf"],
    "explain": ["gzip-level"],
    "rules": [],
    "rules new": ["acme-rule", "--folder", "new", "--isolated"],
    "rules trust": [],
    "format": ["plain.conf"],
    "trace": ["plain.conf", URL],
    "test": ["plain.conf", "paths.csv"],
    "verify": ["plain.conf", "plain.conf"],
    "profile": ["plain.conf", "access.log"],
    "rewrite-to-map": ["rules.conf", "--context", "server"],
    "fleet lint": ["hosts", "--output", "out.duckdb", "--workers", "1"],
    "fleet query": ["SELECT 1", "--result", "fleet.duckdb"],
    "fleet report": ["fleet.duckdb"],
    "fleet diff": ["--result", "fleet.duckdb"],
    "lsp": [],
    "mcp": [],
    "ingress": ["ingress.yaml"],
}
"""How each command is called; where another result of `fleet lint` is needed, it is made before."""

VALUES: Mapping[str, Sequence[str]] = {
    "--output": ["out.txt"],
    "--write-baseline": ["out.json"],
    "--report": ["out.json"],
    "--save": ["out.profile"],
    "--html": ["out.html"],
    "--output-dir": ["out"],
    "--diff-base": ["HEAD"],
    "--settings-from": ["HEAD"],
    "--target-version": ["1.22.1"],
    "lint --report": ["sarif=out.json"],
    "--live": ["http://127.0.0.1:9"],
}
INSTEAD: Mapping[tuple[str, str], Sequence[str]] = {
    ("lint", "--fix"): ["plain.conf"],
    ("profile", "--measure"): ["plain.conf", "plain.log"],
}
"""Calls for options that need another file: the trap is refused, or gives nothing to measure."""

WRITTEN: Mapping[str, Sequence[str]] = {
    "the named files": ["plain.conf", "rules.conf"],
    "the named files and others beside them": ["rules.conf", ".rules.conf.nginxopt-orig"],
    "FILE": ["out.txt", "out.json", "out.html", "out.profile"],
    "FOLDER": ["out"],
    "the new files": ["new"],
    "the result": ["out.duckdb"],
    "`nginxopt/trusted` in the configuration folder": ["home"],
    NOTHING: [],
}
"""The names of what may be written, by the words of the table."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a command did, and what it printed."""

    status: int
    output: str
    run: frozenset[str]
    write: frozenset[str]
    read: frozenset[str]
    connect: frozenset[str]


class Stranger:
    """A folder of a stranger, and what commands do in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "site"
        for name, text in TRAPS.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text.format(here=self.folder))
        (home / "hook").mkdir()
        shutil.copy(observer.__file__, home / "hook" / "sitecustomize.py")
        (home / "tmp").mkdir()

    def git(self, *words: str) -> None:
        """Run git in the folder."""
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True, capture_output=True, timeout=PATIENCE)

    def run(self, *words: str) -> Observed:
        """Run a command of nginxopt and return what it did."""
        log = self.home / "observed"
        log.unlink(missing_ok=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        environment |= {
            "OBSERVED": str(log),
            "PYTHONPATH": str(self.home / "hook"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(self.home / "tmp"),
            "XDG_CONFIG_HOME": str(self.folder / "home"),
        }
        done = subprocess.run(
            [sys.executable, "-P", "-m", "nginxopt", *words],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        seen: dict[str, set[str]] = {kind: set() for kind in ("run", "write", "read", "connect", "listen")}
        for line in log.read_text().splitlines():
            kind, what = line.split("\t")
            seen[kind].add(ast.literal_eval(what))
        return Observed(
            done.returncode,
            done.stdout,
            frozenset(seen["run"]),
            frozenset(path for path in seen["write"] if not self._is_temporary(path)),
            frozenset(os.path.relpath(path, self.folder) for path in seen["read"] if path.startswith(str(self.home))),
            frozenset(seen["connect"] | seen["listen"]),
        )

    def _is_temporary(self, path: str) -> bool:
        return path.startswith((str(self.home / "tmp"), "/dev/null")) or path == os.devnull

    def allowed(self, words: str) -> tuple[str, ...]:
        """Return the beginnings of the paths that may be written by the words of the table; a file is replaced by one
        beside it, whose name says so.
        """
        names = WRITTEN[words]
        return tuple(f"{self.folder}/{name}" for name in (*names, *([".nginxopt-"] if names else [])))


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    """A stranger's folder."""
    return Stranger(tmp_path)


def programs(cell: str) -> set[str]:
    """Return the programs that a cell names. The rule of the stranger runs one of its own."""
    return {"touch"} if cell == "rules" else set(re.findall(r"`(\w+)(?: -v)?`", cell))


def check(stranger: Stranger, done: Observed, row: Row, option: str | None = None) -> None:
    """Assert that a command did what the table says, and fell into no trap."""
    cells = {column: first if option is None else by.get(option, first) for column, (first, by) in row.cells.items()}
    run, write, connect = cells["run"], cells["write"], cells["connect"]
    if run not in FREE:
        assert programs(run) <= done.run, done.output
        may = programs(run) | (set() if run == NOTHING else programs(row.cells["run"][0]))
        assert done.run <= may | ({"openssl"} if option == "--nginx" else set()), done.output
    allowed = stranger.allowed(write)
    assert [path for path in sorted(done.write) if not path.startswith(allowed)] == [], done.output
    if connect.startswith(NOTHING):
        assert done.connect == frozenset(), done.output
    elif connect.startswith("127.0.0.1"):
        assert {str(address) for address in done.connect} <= {"127.0.0.1"}
    assert "secret.key" not in done.read
    assert "Traceback" not in done.output, done.output
    assert (stranger.folder / "ran").exists() == (run == "rules")


@pytest.mark.parametrize("command", [name for name in CALLS if not name.startswith("fleet")])
def test_without_options(stranger: Stranger, command: str) -> None:
    """A command does what stands first in each cell; in a folder of traps, it falls into none."""
    done = stranger.run(*command.split(), *CALLS[command])
    assert done.status in (0, 1), done.output
    check(stranger, done, TABLE[command])


@pytest.mark.extended
def test_a_fleet(stranger: Stranger) -> None:
    """The commands for fleets do what stands first in each cell, and with `--output`."""
    stranger.run("fleet", "lint", "hosts", "--output", "fleet.duckdb", "--workers", "1", "--isolated", "--diff")
    for command in (name for name in CALLS if name.startswith("fleet")):
        done = stranger.run(*command.split(), *CALLS[command])
        assert done.status in (0, 1), done.output
        check(stranger, done, TABLE[command])
        if "--output" in TABLE[command].cells["write"][1]:
            done = stranger.run(*command.split(), *CALLS[command], "--output", "out.txt")
            check(stranger, done, TABLE[command], "--output")


OPTIONS = sorted({(row.command, option) for row in TABLE.values() for _, by in row.cells.values() for option in by})


@pytest.mark.extended
@pytest.mark.parametrize(("command", "option"), [pair for pair in OPTIONS if not pair[0].startswith("fleet")])
def test_with_an_option(stranger: Stranger, command: str, option: str) -> None:
    """An option that the table names does what it says, and nothing that another option does."""
    row = TABLE[command]
    needed = {"--nginx": ["nginx"], "--measure": ["nginx", "valgrind", "vgdb"]}.get(option, [])
    for program in needed:
        if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            pytest.skip(f"no {program}")
    if option in ("--diff-base", "--settings-from"):
        for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "a"]):
            stranger.git(*words)
    value = VALUES.get(f"{command} {option}", VALUES.get(option, ()))
    call = [*command.split(), *INSTEAD.get((command, option), CALLS[command]), option, *value]
    done = stranger.run(*call)
    check(stranger, done, row, option)
    if row.cells["write"][1].get(option, NOTHING) != NOTHING:
        assert done.write, done.output


def test_probe_connects_to_what_is_named(stranger: Stranger) -> None:
    """And to nothing else."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = stranger.run("probe", f"http://127.0.0.1:{port}/", "--wait", "1")
    assert done.status == 5, done.output
    assert done.connect == {"127.0.0.1"}
    assert not done.run | done.write


def test_the_observer_sees(stranger: Stranger, tmp_path: Path) -> None:
    """What the tests rely on: that writes, programs and connections are seen."""
    code = "import os, socket, subprocess\nopen('w', 'w'); os.mkdir('d'); os.rename('w', 'x')\n"
    code += "subprocess.run(['env', 'A=b', 'true'])\n"
    code += "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('127.0.0.1', 9))\n"
    environment = {**os.environ, "OBSERVED": str(tmp_path / "log"), "PYTHONPATH": str(stranger.home / "hook")}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE
    )
    lines = (tmp_path / "log").read_text()
    for name in ("w", "d", "x"):
        assert f"write\t'{tmp_path}/{name}'\n" in lines
    assert "run\t'true'\n" in lines
    assert "connect\t'127.0.0.1'\n" in lines


def test_the_page_is_found() -> None:
    """README and the site link to it."""
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text()
    assert "security.md" in (ROOT / "mkdocs.yml").read_text()


SECTIONS = (
    "What nginxopt trusts",
    "What the commands do",
    "What nginx may do",
    "What is shown and changed",
    "What a configuration may cost",
    "How releases are made",
)
"""The sections whose sentences are promises."""


def sentences() -> Iterator[str]:
    """Yield the sentences of these sections, without those of the table."""
    for section in SECTIONS:
        body = TEXT.partition(f"## {section}\n")[2].partition("\n## ")[0]
        for block in re.split(r"\n\n|\n(?=- )", body):
            words = " ".join(block.split()).removeprefix("- ")
            if words and not words.startswith("|"):
                yield from re.split(r"(?<=[.:]) (?=[A-Z`])", words)


def test_each_sentence_has_tests() -> None:
    """`promises.tsv` has the beginning of each sentence, in order, and tests that hold it; `-` for one that is none."""
    rows = [row.split("\t") for row in (ROOT / "tests/project/promises.tsv").read_text().splitlines()[1:]]
    told = list(sentences())
    assert [text[: len(start)] for text, (start, _) in zip(told, rows, strict=True)] == [start for start, _ in rows]
    for name in " ".join(tests for _, tests in rows if tests != "-").split():
        path, _, test = name.partition("::")
        assert re.search(rf"^def {test}\(", (ROOT / path).read_text(), re.MULTILINE), name
