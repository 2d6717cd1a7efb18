"""What `verify` calls different is answered differently by nginx, and what it calls equivalent is not."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nginxopt import cli
from nginxopt.config import load_text
from nginxopt.request.client import RequestForm
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.verify import RequestWitness, Verification, confirming, verify
from nginxopt.version import Version
from tests.nginx.layouts import Ran
from tests.nginx.running import running
from tests.support import PATIENCE
from tests.verify.pairs import (
    FILES,
    HARMLESS,
    INHERITED_ALIKE,
    INHERITED_UNLIKE,
    MISTAKES,
    UNKNOWN,
    Pair,
    whole,
)
from tests.verify.pairs.denials import DENIED_ALIKE, DENIED_UNLIKE
from tests.verify.pairs.effects import LED, SHOWN, SUPPOSED
from tests.verify.pairs.shapes import LIKE

pytestmark = pytest.mark.nginx

HIDING = tuple(pair for pair in SHOWN if "_hide_header" in pair.old)
_CHANGING = re.compile(rb"^(?:Date|ETag|Last-Modified): .*\r\n", re.MULTILINE)
_ECHO = 'server { listen 127.0.0.1:{U}; location / { return 200 "$request $http_host $http_x"; } }'
_PATHS = ("/", "/a", "/a/", "/a/b", "/a/f.txt", "/b", "/c", "/f.txt", "/nx", "/old", "/x", "/x/y", "/x.php", "/ab?x=1")


@contextlib.contextmanager
def served(binary: nginx.Binary, text: str, ports: tuple[int, ...], folder: str) -> Iterator[None]:
    """Run one side, with an upstream that tells what it got."""
    port, upstream = ports
    data = whole(text, port, upstream, folder).replace("http {\n", "http { access_log off; " + _ECHO, 1)
    with running(binary, data.replace("{U}", str(upstream))):
        yield


def ask(request: RequestForm, port: int, body: bytes = b"") -> bytes:
    """The response to a request, without what changes with time."""
    lines = [f"{request['method']} {request['target']} HTTP/1.{request['version'][1]}"]
    lines += [f"{name}: {value}" for name, value in request["headers"]]
    lines += [f"Content-Length: {len(body)}"] if body else []
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body)
        pieces = iter(lambda: connection.recv(65_536), b"")
        return _CHANGING.sub(b"", b"".join(pieces))


@pytest.fixture
def run_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """A function that runs a command in the temporary folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main(args)
        out, err = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, out, err)

    return call


def model(binary: nginx.Binary, text: str) -> SiteModel:
    """The model of a side."""
    return SiteModel(load_text(text.encode(), "nginx.conf"), Build(Version.of(binary.version)))


def plain(path: str, port: int) -> RequestForm:
    """A request as `curl` sends it."""
    return {
        "method": "GET",
        "target": path,
        "version": (1, 1),
        "headers": [("Host", "h")],
        "connection": {
            "family": "inet", "host": "127.0.0.1", "port": port, "tls": False, "sni": None, "client": None,
        },
    }  # fmt: skip


def make(folder: Path, names: tuple[str, ...]) -> None:
    """Make files that hold their names."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def arrange(folder: Path, existing: tuple[str, ...], missing: tuple[str, ...]) -> None:
    """Make the files that a witness takes to exist, and none that it takes to be missing."""
    assert all(name.startswith(str(folder)) for name in existing)
    for name in existing:
        path = Path(name)
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
    assert not any(Path(name).is_file() for name in missing)


@pytest.mark.extended
@pytest.mark.parametrize("pair", MISTAKES, ids=lambda pair: pair.name)
def test_nginx_answers_a_witness_differently(pair: Pair, binary: nginx.Binary, tmp_path: Path) -> None:
    """The request that `verify` names is answered differently by nginx, too."""
    tmp_path.chmod(0o755)
    with nginx.reserved_ports(2) as ports:
        texts = [whole(text, ports[0], ports[1], str(tmp_path)) for text in (pair.old, pair.new)]
        witness = verify(*(model(binary, text) for text in texts)).witness
        assert witness is not None
        arrange(tmp_path, witness.existing, witness.missing)
        answers = []
        for text in (pair.old, pair.new):
            with served(binary, text, ports, str(tmp_path)):
                answers.append(ask(witness.request, ports[0]))
    assert answers[0] != answers[1]


@pytest.mark.parametrize("pair", [*HARMLESS, *LIKE], ids=lambda pair: pair.name)
def test_nginx_answers_equivalent_sides_alike(pair: Pair, binary: nginx.Binary, tmp_path: Path) -> None:
    """nginx answers requests to equivalent configurations alike."""
    make(tmp_path, FILES)
    tmp_path.chmod(0o755)
    answers = []
    with nginx.reserved_ports(2) as ports:
        for text in (pair.old, pair.new):
            with served(binary, text, ports, str(tmp_path)):
                answers.append([ask(plain(path, ports[0]), ports[0]) for path in _PATHS])
    assert answers[0] == answers[1]


@pytest.mark.parametrize("pair", [*INHERITED_UNLIKE, *INHERITED_ALIKE], ids=lambda pair: pair.name)
def test_nginx_inherits_headers(pair: Pair, each_binary: nginx.Binary, tmp_path: Path) -> None:
    """nginx answers alike with the same headers only."""
    if each_binary.version < (1, 29, 3):
        pytest.skip("this nginx has no add_header_inherit")
    answers = []
    with nginx.reserved_ports(2) as ports:
        for text in (pair.old, pair.new):
            with served(each_binary, text, ports, str(tmp_path)):
                answers.append([ask(plain(path, ports[0]), ports[0]) for path in ("/a", "/b")])
    assert (answers[0] == answers[1]) == (pair in INHERITED_ALIKE)


@pytest.mark.parametrize("pair", [*DENIED_UNLIKE, *DENIED_ALIKE], ids=lambda pair: pair.name)
def test_nginx_denies(pair: Pair, each_binary: nginx.Binary, tmp_path: Path) -> None:
    """nginx answers alike, asked twice, where `verify` says that `deny all` and `return 403` are the same."""
    make(tmp_path, FILES)
    tmp_path.chmod(0o755)
    answers = []
    with nginx.reserved_ports(2) as ports:
        for text in (pair.old, pair.new):
            with served(each_binary, text, ports, str(tmp_path)):
                answers.append([ask(plain(path, ports[0]), ports[0]) for path in _PATHS * 2])
    assert (answers[0] == answers[1]) == (pair in DENIED_ALIKE)


_SHOWN = (
    "referers that are read first where others are valid",
    "referers that a map reads first where others are valid",
    "referers of a location that leads elsewhere",
    "an address that a script reads before a location takes another",
    "a variable of a script that is the key of an upstream",
    "the key of an entry of memcached",
    "the key of an entry of memcached, by a map",
    "whether the cookie of a user is renewed",
    "a map with the name of the host of a pass",
)
"""The pairs of which no request is found, though nginx answers this one differently."""


@pytest.mark.parametrize("pair", [pair for pair in UNKNOWN if pair.name in _SHOWN], ids=lambda pair: pair.name)
def test_what_a_variable_reads_counts(pair: Pair, binary: nginx.Binary, tmp_path: Path) -> None:
    """nginx shows by its variables the settings where they are read, and where some were read first."""
    request = plain("/a", 0)
    request["headers"] += [("Referer", "http://a.test/"), ("X-Real-IP", "192.0.2.9")]
    request["headers"] += [("Cookie", "uid=fwAAAWXOkqkx7wOtAwMEAg==")]
    answers = []
    with nginx.reserved_ports(2) as ports:
        for text in (pair.old, pair.new):
            with served(binary, text, ports, str(tmp_path)):
                answers.append(ask(request, ports[0]))
    assert answers[0] != answers[1]


@pytest.mark.parametrize("pair", [pair for pair in MISTAKES if "proxy_pass" in pair.old or "try_files" in pair.old])
def test_the_command_asks_nginx(pair: Pair, run_command: Callable[..., Ran], tmp_path: Path) -> None:
    """`--nginx` asks nginx about the request, and says that it answers so, too."""
    for name, text in (("old.conf", pair.old), ("new.conf", pair.new)):
        (tmp_path / name).write_text(whole(text))
    ran = run_command("verify", "old.conf", "new.conf", "--nginx")
    assert ran.status == 1, ran.out + ran.err
    assert " answers so, too\n" in ran.out
    assert run_command("verify", "--nginx", "old.conf", "new.conf") == ran


def test_a_witness_that_nginx_does_not_confirm(binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the model is wrong about a request, the result is unknown, and says how."""
    monkeypatch.setattr(confirming, "differences", lambda *_: ["nginx answers 200, not 301"])
    text = whole("return 301 /a;"), whole("return 302 /a;")
    sides = [load_text(data.encode(), "nginx.conf") for data in text]
    models = [SiteModel(config, Build(Version.of(binary.version))) for config in sides]
    result = verify(*models)
    assert result.witness is not None
    asked = result.confirmed(confirming.confirm(result.witness, (sides[0], models[0]), (sides[1], models[1]), binary))
    assert asked.verdict == "unknown"
    assert asked.doubts[0].reason == "the model is wrong about a request: nginx answers 200, not 301"


def test_nginx_counts_internal_redirects_over_error_pages(binary: nginx.Binary, tmp_path: Path) -> None:
    """What `verify` takes as given counts: a shorter way to the same error page keeps nginx from giving up."""
    tmp_path.chmod(0o755)
    chain = "".join(f"location = /{number} {{ rewrite ^ /{number + 1} last; }} " for number in range(1, 9))
    rest = "error_page 404 /e; location = /e { rewrite ^ /f last; } location = /f { rewrite ^ /g last; }"
    rest += " location = /g { return 200 g; } location = /9 { return 404; }"
    statuses = []
    with nginx.reserved_ports(2) as ports:
        for first in (1, 9):
            text = f"location = /0 {{ rewrite ^ /{first} last; }} {chain} {rest}"
            with served(binary, text, ports, str(tmp_path)):
                statuses.append(ask(plain("/0", ports[0]), ports[0]).split()[1])
    assert statuses == [b"500", b"404"]


def confirmed(binary: nginx.Binary, old: str, new: str) -> Verification:
    """The result after nginx was asked `GET /` of both sides, which were called different by that."""
    sides = [load_text(whole(text).encode(), "nginx.conf") for text in (old, new)]
    models = [SiteModel(config, Build(Version.of(binary.version))) for config in sides]
    request, world = plain("/", 8080), World()
    request["connection"]["port"] = models[0].site.site["sockets"][0]["port"]
    before, after = (each.trace(request, world) for each in models)
    witness = RequestWitness(request, before, after)
    result = Verification(witness, (), 1, 1, ())
    return result.confirmed(confirming.confirm(witness, (sides[0], models[0]), (sides[1], models[1]), binary))


@pytest.mark.parametrize("pair", SUPPOSED + HIDING + LED, ids=lambda pair: pair.name)
def test_what_is_supposed_is_so_in_nginx(pair: Pair, binary: nginx.Binary) -> None:
    """Within a location that passes requests on, with variables of other files, with the headers of an upstream."""
    texts = [whole(text) if "{U}" in text else text for text in (pair.old, pair.new)]
    old, new = (load_text(text.encode(), "part.conf", missing_ok=True) for text in texts)
    build = Build(Version.of(binary.version))
    models = SiteModel(old, build), SiteModel(new, build)
    witness = verify(*models).witness
    assert witness is not None
    assert confirming.confirm(witness, (old, models[0]), (new, models[1]), binary).holds


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "proxy_set_header Host $proxy_host;"),
        ("proxy_set_header X-Id $request_id;", "proxy_set_header Host $proxy_host; proxy_set_header X-Id $request_id;"),
        ("add_header ETag a; add_header ETag b;", "add_header ETag b;"),
        ("add_header X-Id $request_id;", "add_header X-Id $request_id$empty;"),
    ],
)
def test_answers_of_nginx_that_are_alike_confirm_nothing(old: str, new: str, binary: nginx.Binary) -> None:
    """If a client and an upstream get the same of both sides, a witness is none."""
    text = 'map "" $empty {{ default ""; }} server {{ listen 127.0.0.1:8080; '
    text += "location / {{ {} proxy_pass http://127.0.0.1:1; }} }}"
    result = confirmed(binary, text.format(old), text.format(new))
    assert result.verdict == "unknown"
    assert f"{binary} answers both configurations alike" in result.doubts[0].reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("proxy_pass http://one;", "proxy_pass http://two;"),
        ("proxy_pass http://127.0.0.1:1;", "proxy_pass http://127.0.0.1:2;"),
        ("proxy_pass http://one;", "proxy_set_header Host x; proxy_pass http://one;"),
        ("fastcgi_param X 1; fastcgi_pass one;", "fastcgi_param X 2; fastcgi_pass one;"),
        ("return 200 a;", "return 200 b;"),
        ("add_header X 1; return 200 a;", "add_header X 2; return 200 a;"),
    ],
)
def test_answers_of_nginx_that_differ_confirm(old: str, new: str, binary: nginx.Binary) -> None:
    """Names of upstreams are passed on as they are; where only the server differs, its echo cannot tell."""
    text = "upstream one {{ server 127.0.0.1:9; }} upstream two {{ server 127.0.0.1:9; }} "
    text += "server {{ listen 127.0.0.1:8080; location / {{ {} }} }}"
    assert confirmed(binary, text.format(old), text.format(new)).verdict == "different"


def test_nginx_inherits_the_redirects_that_a_pass_implies(each_binary: nginx.Binary) -> None:
    """A pass that no request reaches changes what a client gets of the pass inside."""
    pairs = []
    for outer in ("{U}", "1"):
        inner = "location /a/b/ { proxy_pass http://127.0.0.1:{U}/moved/; }"
        pairs.append(f"location /a/ {{ return 404; proxy_pass http://127.0.0.1:{outer}; {inner} }}")
    answers = []
    with nginx.reserved_ports(2) as ports:
        moved = f"location /moved/ {{ return 301 http://127.0.0.1:{ports[1]}/x; }}"
        for text in pairs:
            data = whole(text, ports[0], ports[1], "/nonexistent")
            upstream = f"http {{ access_log off; server {{ listen 127.0.0.1:{ports[1]}; {moved} }}"
            with running(each_binary, data.replace("http {\n", upstream + "\n", 1)):
                answers.append(ask(plain("/a/b/", ports[0]), ports[0]))
    assert answers[0] != answers[1]
    sides = [model(each_binary, whole(text, ports[0], ports[1], "/nonexistent")) for text in pairs]
    assert verify(*sides).verdict == "unknown"
