"""Public files made to run: their addresses, paths and certificates become those of the stage, and what this nginx does
not know, or what names a file that is not there, is taken out until it starts."""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from nginxopt.config import Block, Directive, load_text
from nginxopt.errors import InputError
from nginxopt.semantics import Address, read_addresses
from nginxopt.semantics.values import PORT
from nginxopt.system import nginx
from nginxopt.text import Draft, Edit, Span
from tests.fuzz.fixes.case import MAIN, Case, Start
from tests.fuzz.fixes.locations import Server, Target
from tests.fuzz.fixes.origins import HTTP_KINDS, REPLICAS
from tests.fuzz.fixes.play import PORTS, Stage
from tests.fuzz.fixes.requests import steps
from tests.fuzz.fixes.text import b
from tests.fuzz.fixes.world import World
from tests.support import nginx_verdict

_TRIES = 40
_ANYWHERE = Address("inet", "0.0.0.0", PORT)
_AROUND = {
    "http": ("events {}\nhttp {\n", "\n}\n"),
    "server": ("events {}\nhttp {\nserver {\nlisten 80;\n", "\n}\n}\n"),
    "location": ("events {}\nhttp {\nserver {\nlisten 80;\nlocation / {\n", "\n}\n}\n}\n"),
    "upstream": (
        "events {}\nhttp {\nupstream app {\n",
        "\n}\nserver { listen 80; location / { proxy_pass http://app; } }\n}\n",
    ),
}  # fmt: skip
_GONE = (
    "user", "pid", "daemon", "master_process", "lock_file", "load_module", "ssl_dhparam", "ssl_stapling",
    "ssl_stapling_verify", "ssl_password_file", "auth_basic", "auth_basic_user_file", "resolver", "worker_rlimit_core",
    "working_directory", "ssl_ecdh_curve", "proxy_bind", "env",
)  # fmt: skip
_LOGS = ("access_log", "error_log")
_PARAMS = ("fastcgi_params", "uwsgi_params", "scgi_params", "proxy_params", "mime.types", "fastcgi.conf")
_PASSES = {"fastcgi_pass": "fastcgi", "uwsgi_pass": "uwsgi", "scgi_pass": "scgi"}


class Place(Protocol):
    """Where files are tried with a binary."""

    @property
    def binary(self) -> nginx.Binary:
        """The nginx that tries them."""

    @property
    def prefix(self) -> Path:
        """The prefix that they are in."""

    def lay(self, files: Mapping[str, bytes]) -> None:
        """Put files into the prefix, and nothing else."""


def cases(
    folder: Path, stage: Stage, seed: int, first: int, count: int, kinds: Sequence[str] | None = None
) -> Iterator[Case]:
    """Yield cases: each file in turn, the next time with other origins and requests. Those that never start are left
    out, and origins are of `kinds` only, if they are given."""
    found = list(texts(folder))
    for number in range(first, first + count):
        name, text = found[number % len(found)]
        case = runnable(text, stage, random.Random(f"{seed}-{number}"), f"{number} {name}", kinds)
        if case:
            yield case


def texts(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the production-like files of a corpus that are no templates, with the blocks around them."""
    with (folder / "index.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            head, tail = _AROUND.get(row["context"].split(" ")[0], ("", ""))
            if (
                row["set"] == "B"
                and "template" not in row["note"]
                and row["context"].split(" ")[0] in (*_AROUND, "main")
            ):
                yield row["file"], head.encode() + (folder / row["file"]).read_bytes() + tail.encode()


def runnable(
    text: bytes, stage: Place, rng: random.Random, name: str, kinds: Sequence[str] | None = None
) -> Case | None:
    """Return a case of a text that nginx starts with; None if there is none."""
    try:
        text, servers = _Mapping(rng, kinds).mapped(text)
    except InputError:
        return None
    files = {MAIN: text, **{param: Path("/etc/nginx", param).read_bytes() for param in _PARAMS}}
    for _ in range(_TRIES):
        stage.lay(files)
        verdict = nginx_verdict(stage.binary, stage.prefix, "-g", "pid nginx.pid;")
        if verdict.ok:
            world = World(rng, stage.binary.version, lua=False)
            return Case(files, steps(world, servers), Start(), name) if servers else None
        place = next((message.place for message in verdict.messages if message.place), "")
        shorter = _without_line(files[MAIN], int(place.rpartition(":")[2])) if place.startswith(f"{MAIN}:") else None
        if shorter is None:
            return None
        files[MAIN] = shorter
    return None


def _without_line(text: bytes, line: int) -> bytes | None:
    """Return a text without the directive that nginx was reading at the end of a line."""
    try:
        root = load_text(text, includes=False).main.block
    except InputError:
        return None
    deepest = None
    for directive in _inside(root):
        start = directive.source.position(directive.span.start).line
        head = directive.source.position(directive.block.span.start if directive.block else directive.span.end - 1).line
        last = directive.source.position(directive.span.end - 1).line
        if start <= line <= head or (directive.block is not None and line == last):
            deepest = directive
            if head == line:
                break
    if deepest is None or deepest.name in ("http", "events"):
        return None
    return text[: deepest.span.start] + text[deepest.span.end :]


def _inside(block: Block) -> Iterator[Directive]:
    for directive in block.directives():
        yield directive
        if directive.block:
            yield from _inside(directive.block)


class _Mapping:
    """What addresses and paths become: the same for the same."""

    def __init__(self, rng: random.Random, kinds: Sequence[str] | None) -> None:
        self._rng = rng
        self._choices = list(kinds or (*HTTP_KINDS, "plain", "plain"))
        self._ports: dict[int, int] = {}
        self._kinds: dict[str, str] = {}
        self._upstreams: set[str] = set()
        self._defaults: set[int] = set()
        self._edits: list[Edit] = []
        self._servers: list[Server] = []

    def mapped(self, text: bytes) -> tuple[bytes, list[Server]]:
        """Return a text for the stage, and the servers in it."""
        root = load_text(text, includes=False).main.block
        self._upstreams = {
            str(directive.args[0]) for directive in _inside(root) if directive.name == "upstream" and directive.args
        }
        self._walk(root, None, "")
        draft = Draft(text)
        draft.change(self._edits)
        return draft.text, self._servers

    def _walk(self, block: Block, server: Server | None, upstream: str) -> None:
        listened: set[int] = set()
        for directive in block.directives():
            name = str(directive.name)
            if name == "server" and directive.block:
                inner = Server(b("server"), -1, "a.test")
                self._walk(directive.block, inner, "")
                if inner.port < 0:
                    end = directive.block.span.start + 1
                    inner.port = self._port(PORT)
                    self._edits.append(Edit(Span(end, end), f" listen 127.0.0.1:@port{inner.port}@;".encode()))
                inner.targets.append(Target("/"))
                self._servers.append(inner)
            elif name == "listen" and server is not None and directive.args:
                self._listen(directive, server, listened)
            else:
                self._other(directive, name, server, upstream)

    def _other(self, directive: Directive, name: str, server: Server | None, upstream: str) -> None:
        if server is not None and name == "server_name" and directive.args:
            plain = next((word for word in directive.args if re.fullmatch(r"[\w.-]+\.[\w-]+", word)), None)
            server.name = str(plain or server.name)
        if server is not None and name == "location" and directive.args:
            path = re.split(r"[\\^$.*+?()\[\]|{}]", directive.args[-1].lstrip("^~*= "))[0]
            server.targets.append(Target(path if path.startswith("/") else f"/{path.lstrip('@')}"))
        words = self._words(directive, name, upstream)
        if words is None:
            self._edits.append(Edit(Span(directive.span.start, directive.span.end), b""))
        elif words != [str(word) for word in directive.args]:
            for word, new in zip(directive.args, words, strict=False):
                if new != str(word):
                    self._edits.append(Edit(word.span, new.encode()))
        if directive.block and words is not None and not name.endswith("_by_lua_block"):
            self._walk(directive.block, server, str(directive.args[0]) if name == "upstream" and directive.args else "")

    def _listen(self, directive: Directive, server: Server, listened: set[int]) -> None:
        address = next(iter(read_addresses(directive.args[0])), _ANYWHERE)
        port = self._port(address.port or PORT)
        rest = [str(word) for word in directive.args[1:] if word in ("ssl", "default_server", "default", "http2")]
        if address.family == "inet6" or "quic" in directive.args or port in listened:
            self._edits.append(Edit(Span(directive.span.start, directive.span.end), b""))
            return
        if port in self._defaults:
            rest = [word for word in rest if not word.startswith("default")]
        if any(word.startswith("default") for word in rest):
            self._defaults.add(port)
        listened.add(port)
        if server.port < 0:
            server.port, server.tls = port, "ssl" in rest
        words = " ".join(["listen", f"127.0.0.1:@port{port}@", *rest])
        self._edits.append(Edit(Span(directive.span.start, directive.span.end), f"{words};".encode()))

    def _port(self, written: int) -> int:
        return self._ports.setdefault(written, len(self._ports) % PORTS)

    def _origin(self, host: str) -> str:
        """Return the origin that stands for a server, which is always of the same kind for the same name."""
        kind = self._kinds.setdefault(host, self._rng.choice(self._choices))
        return f"@{kind}{len(self._kinds) % REPLICAS}@"

    def _words(self, directive: Directive, name: str, upstream: str) -> list[str] | None:
        """Return what the arguments of a directive become; None if it goes."""
        words = [str(word) for word in directive.args]
        if name in _GONE or name.startswith(("geoip", "perl", "brotli", "pagespeed", "vhost_traffic")):
            return None
        if name == "include":
            return words if words and Path(words[0]).name in _PARAMS and not words[0].startswith("/") else None
        if not words:
            return words
        if name in _LOGS:
            off = words[0] == "off" or name == "error_log"
            return words if words[0] == "off" else [f"logs/{'error' if off else 'access'}.log", *words[1:]]
        if name == "server" and upstream:
            return [self._origin(upstream), *(word for word in words[1:] if word != "resolve")]
        if name in _PASSES:
            known = words[0] in self._upstreams or "$" in words[0]
            return words if known else [f"@{_PASSES[name]}0@"]
        return self._paths(name, words)

    def _paths(self, name: str, words: list[str]) -> list[str]:
        match name:
            case "ssl_certificate" | "proxy_ssl_certificate":
                return ["tls/server.pem"]
            case "ssl_certificate_key" | "proxy_ssl_certificate_key":
                return ["tls/server.key"]
            case "ssl_client_certificate" | "ssl_trusted_certificate" | "proxy_ssl_trusted_certificate":
                return ["tls/ca.pem"]
            case "ssl_crl" | "proxy_ssl_crl":
                return ["tls/none.crl"]
            case "root":
                return ["html"]
            case "alias":
                return ["html/" if words[0].endswith("/") else "html/a.html"]
            case "set" if len(words) == 2 and "upstream" in words[0] and "$" not in words[1]:
                kinds = {"_port": "@plain0_port@", "_proto": "http"}
                return [words[0], next((new for end, new in kinds.items() if words[0].endswith(end)), "127.0.0.1")]
            case "proxy_pass":
                match = re.fullmatch(r"(https?)://([^/$]+)(/.*)?", words[0])
                if match and match[2] not in self._upstreams:
                    return [f"http://{self._origin(match[2])}{match[3] or ''}"]
                return [words[0].replace("https://", "http://")]
        if name.endswith("_cache_path"):
            return [f"cache/{name.partition('_')[0]}", *words[1:]]
        if name.endswith("_temp_path"):
            return [f"temp/{name.partition('_')[0]}"]
        return words
