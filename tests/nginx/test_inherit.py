"""The model of inheritance and its defaults against the nginx binary.

The model and nginx read the same random configurations. A request for each location, `if` and `limit_except` shows
which directives nginx applies there, and the model must name the same ones.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nginxopt.config import load
from nginxopt.semantics import Level, Setting, levels
from nginxopt.system import nginx
from nginxopt.system.http import Client, RequestBytes
from nginxopt.version import Version
from tests.nginx.modules import require_directive

pytestmark = pytest.mark.nginx

OLD = Version(1, 22, 1)

BACKENDS = 3
SEEN = "seen=$server_protocol,$request_method,$http_x_1,$http_x_2,$http_x_3"

HTTP = b"""
charset_types *; gzip_types *; gzip_min_length 1; types { }
log_format id '$arg_id';
server { listen unix:temp/0.sock; add_header X-B1 1; add_header X-B2 1; return 200 "backend=0 %(seen)s"; }
server { listen unix:temp/1.sock; add_header X-B1 1; add_header X-B2 1; return 200 "backend=1 %(seen)s"; }
server { listen unix:temp/2.sock; add_header X-B1 1; add_header X-B2 1; return 200 "backend=2 %(seen)s"; }
""" % {b"seen": SEEN.encode()}

VALUES = st.integers(1, 9).map(lambda number: (number, chr(64 + number)))


@dataclass(frozen=True)
class Probe:
    """A directive with a visible effect: its arguments for a number, and the kinds of levels that may contain it."""

    name: str
    text: str  # {0} is a digit, {1} a letter
    kinds: str = "http server location"
    several: bool = False


PROBES = [
    Probe("default_type", "text/t{0}"),
    Probe("types", "{{ text/by-name-{0} ext; }}", "server location"),
    Probe("add_header", "X-A {0} always", "http server location if", True),
    Probe("expires", "{0}", "http server location if"),
    Probe("charset", "c{0}", "http server location if"),
    Probe("keepalive_timeout", "60s {0}s"),
    Probe("server_tokens", "off", "server location"),
    Probe("gzip", "on", "http server location if"),
    Probe("root", "r{0}", "server location if"),
    Probe("alias", "a{0}/", "location"),
    Probe("error_page", "418 http://e/{0}", "http server location if"),
    Probe("access_log", "log{0} id", "server location if limit_except", True),
    Probe("proxy_set_header", "X-1 a{0}", several=True),
    Probe("proxy_set_header", "X-2 b{0}"),
    Probe("proxy_http_version", "1.0"),
    Probe("proxy_http_version", "1.1"),
    Probe("proxy_method", "{1}"),
    Probe("proxy_hide_header", "X-B1"),
    Probe("proxy_pass_header", "X-B1", "location"),
]


@dataclass
class Written:
    """A configuration under construction: the files that it includes, and the places to request."""

    files: dict[str, bytes] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)

    def file(self, text: str) -> str:
        """Add a file with this text; return its name."""
        name = f"inc{len(self.files)}.conf"
        self.files[name] = text.encode()
        return name


@dataclass(frozen=True)
class Place:
    """A level and how a request reaches it: a location by its path, an `if` by its argument, a limit_except by POST."""

    path: str
    condition: str = ""
    method: str = "GET"


@dataclass(frozen=True)
class Whole:
    """A configuration: the http block before its one server, that server, its files and its places."""

    http: str
    server: str
    files: dict[str, bytes]
    places: list[Place]


@st.composite
def wholes(draw: st.DrawFn) -> Whole:
    """Randomly nested blocks with some of the probes, part of them in included files."""
    written = Written()
    shared = written.file("add_header X-A 0 always; proxy_set_header X-3 c0;")

    def probes(kind: str) -> str:
        fit = [probe for probe in PROBES if kind in probe.kinds.split()]
        chosen = {probe.name: probe for probe in draw(st.lists(st.sampled_from(fit), max_size=4))}
        if "alias" in chosen:  # nginx refuses both
            chosen.pop("root", None)
        lines = []
        for probe in chosen.values():
            end = "" if probe.text.startswith("{{") else ";"
            count = draw(st.integers(1, 2)) if probe.several else 1
            lines += [f"{probe.name} {probe.text.format(*draw(VALUES))}{end}" for _ in range(count)]
        if kind in ("server", "location") and draw(st.integers(0, 3)) == 0:
            lines.append(f"include {shared};")
        text = " ".join(lines)
        return f"include {written.file(text)};" if text and draw(st.booleans()) else text

    def handler(kind: str) -> str:
        passed = f"proxy_pass http://unix:temp/{draw(st.integers(0, BACKENDS - 1))}.sock;"
        returned = ['return 200 "root=$document_root ";', "return 418;"] * (kind != "limit_except")
        return draw(st.sampled_from([passed, passed, "", *returned]))

    def location(path: str, depth: int) -> str:
        written.places.append(Place(path))
        inner = [probes("location")]
        for number in range(draw(st.integers(0, 2))):
            condition = f"{path.replace('/', '')}i{number}"
            written.places.append(Place(path, condition))
            inner.append(f"if ($arg_k = {condition}) {{ {probes('if')} {handler('if')} }}")
        inner.append(handler("location"))
        if draw(st.integers(0, 2)) == 0:
            written.places.append(Place(path, method="POST"))
            inner.append(f"limit_except GET {{ {probes('limit_except')} {handler('limit_except')} }}")
        if depth < 3:
            inner += [location(f"{path}l{number}/", depth + 1) for number in range(draw(st.integers(0, 2)))]
        return f"location {path} {{ {' '.join(inner)} }}"

    http = probes("http")
    inner = [probes("server"), "if ($arg_k) { set $seen 1; }"]
    inner += [location(f"/l{number}/", 1) for number in range(draw(st.integers(1, 3)))]
    return Whole(http, " ".join(inner), written.files, written.places)


@dataclass(frozen=True)
class Answer:
    """The response for a place."""

    status: int
    headers: list[tuple[str, str]]
    body: str

    @classmethod
    def of(cls, data: bytes) -> Answer:
        """Parse the bytes of a response."""
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        if ("transfer-encoding", "chunked") in headers:
            body = b"".join(re.findall(rb"(?s)[0-9a-f]+\r\n(.*?)\r\n(?=[0-9a-f]+\r\n)", body))
        if ("content-encoding", "gzip") in headers:
            body = gzip.decompress(body)
        return cls(int(first.split()[1]), headers, body.decode(errors="replace"))

    def values(self, name: str) -> list[str]:
        """The values of a header."""
        return [value for header, value in self.headers if header == name]

    def text(self, name: str) -> str | None:
        """The value that a backend, or the location, writes under this name."""
        match = re.search(rf"\b{name}=((?:, |\S)*)", self.body)
        return match[1] if match else None


def at(root: Level, place: Place) -> Level:
    """The level of a place in the model."""
    (chosen,) = [level for level in root.walk() if level.kind == "location" and level.args == (place.path,)]
    if place.condition:
        (chosen,) = [level for level in chosen.levels if level.kind == "if" and level.args[-1] == place.condition]
    if place.method == "POST":
        (chosen,) = [level for level in chosen.levels if level.kind == "limit_except"]
    return chosen


def words(setting: Setting, number: int = 0) -> list[str]:
    """One argument of each directive of a setting."""
    assert setting.known
    return [str(directive.args[number]) for directive in setting.directives]


def expected_backend(level: Level, version: Version, place: Place, answer: Answer) -> None:
    """A location without a `return` passes requests to the backend of the model, if there is one.

    From 1.23.0 a variable `$http_...` holds all values of a repeated header, and the first one before (CHANGES).
    """
    passed = level.setting("proxy_pass").value
    if any(script.own("return") for script in _script(level)):
        assert answer.text("backend") is None
        return
    assert answer.text("backend") == (passed and passed[len("http://unix:temp/")])
    if passed is None:
        return
    method = level.setting("proxy_method").value or place.method
    headers: dict[str, list[str]] = {"X-1": [], "X-2": [], "X-3": []}
    for directive in level.setting("proxy_set_header").directives:
        headers[directive.args[0]].append(str(directive.args[1]))
    count = 1 if version < Version(1, 23, 0) else None
    sent = ",".join(", ".join(values[:count]) for values in headers.values())
    assert answer.text("seen") == f"HTTP/{level.setting('proxy_http_version').value},{method},{sent}"
    hidden = set(words(level.setting("proxy_hide_header"))) - set(words(level.setting("proxy_pass_header")))
    assert bool(answer.values("x-b1")) == ("X-B1" not in hidden)
    assert answer.values("x-b2")


def _script(level: Level) -> Iterator[Level]:
    """The levels whose rewrite directives run for a request that gets there: an `if` is run by its location."""
    yield level
    if level.kind == "if" and level.parent:
        yield level.parent


def expected_headers(level: Level, version: Version, prefix: str, place: Place, answer: Answer) -> None:
    """nginx's own headers and its root are those of the model."""
    assert answer.values("x-a") == words(level.setting("add_header"), 1)
    keepalive = level.setting("keepalive_timeout").directive
    assert answer.values("keep-alive") == ([f"timeout={keepalive.args[1].rstrip('s')}"] if keepalive else [])
    hidden = level.setting("server_tokens").value == "off"
    assert answer.values("server") == ["nginx" if hidden else f"nginx/{version}"]
    if answer.status == 302:
        assert answer.values("location") == words(level.setting("error_page"), 1)
    if answer.status == 418:
        assert level.setting("error_page").is_unset
    if answer.status == 200:
        assert answer.values("cache-control") == [f"max-age={age}" for age in words(level.setting("expires"))]
        assert (answer.values("content-encoding") == ["gzip"]) == (level.setting("gzip").value == "on")
    if answer.status == 200 and answer.text("root") is not None:
        expected_file(level, prefix, place, answer)


def expected_file(level: Level, prefix: str, place: Place, answer: Answer) -> None:
    """The root and the type of a response that the location itself returns are those of the model."""
    root, alias = level.setting("root"), level.setting("alias")
    assert not (root.is_set and alias.is_set)
    assert answer.text("root") == f"{prefix}/{root.value or alias.value}"
    named = level.setting("types").directive
    assert named
    assert named.block
    inside = [str(directive.name) for directive in named.block.directives()]
    kind = inside[0] if inside and place.path else level.setting("default_type").value or "text/plain"
    charset = level.setting("charset").value
    assert answer.values("content-type") == [kind + (f"; charset={charset}" if charset else "")]


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(whole=wholes())
def test_every_place_behaves_as_in_the_model(binary: nginx.Binary, whole: Whole) -> None:
    """In any nesting of blocks and includes nginx applies the directives that the model has for the level."""
    http = HTTP + whole.http.encode()
    with nginx.Instance(binary, servers=[whole.server.encode()], http=http, files=whole.files) as instance:
        version = Version.of(binary.version)
        root = levels(load(instance.prefix / "nginx.conf"), version)
        with instance.client() as client:
            for number, place in enumerate(whole.places):
                level = at(root, place)
                answer = asked(client, number, place)
                expected_headers(level, version, str(instance.prefix), place, answer)
                expected_backend(level, version, place, answer)
            asked(client, -1, Place("/"))  # with its response all earlier requests are logged
        for number, place in enumerate(whole.places):
            logs = at(root, place).setting("access_log")
            assert logged(instance, number) == sorted(set(words(logs)) - {"off"})


def asked(client: Client, number: int, place: Place) -> Answer:
    """The response at a place."""
    body = "Content-Length: 0\r\n" if place.method == "POST" else ""
    target = f"{place.path}f.ext?id={number}&k={place.condition}"
    data = f"{place.method} {target} HTTP/1.1\r\nHost: a.test\r\nAccept-Encoding: gzip\r\n{body}\r\n"
    return Answer.of(client.ask([RequestBytes(data.encode())])[0])


def logged(instance: nginx.Instance, number: int) -> list[str]:
    """The names of the logs that contain a request."""
    return sorted(
        path.name for path in instance.prefix.glob("log*") if f"{number}\n" in path.read_text().splitlines(True)
    )


# Each handler with the status of its responses, and whether a `limit_except` inherits it.
HANDLERS = {
    "proxy_pass http://unix:temp/0.sock;": (200, True),
    "fastcgi_pass unix:temp/0.sock;": (502, True),
    "uwsgi_pass unix:temp/0.sock;": (400, True),
    "scgi_pass unix:temp/0.sock;": (400, True),
    "grpc_pass unix:temp/0.sock;": (502, True),
    "memcached_pass unix:temp/0.sock;": (502, False),
    "stub_status;": (200, False),
    "empty_gif;": (200, False),
}


@pytest.mark.parametrize("handler", HANDLERS)
def test_handlers_belong_to_their_location(binary: nginx.Binary, handler: str) -> None:
    """An `if` inherits the handler of its location, a `limit_except` that of some modules, a nested location none."""
    own, shared = HANDLERS[handler]
    require_directive(binary, handler.split()[0].rstrip(";"))
    server = (
        f"set $memcached_key x; location /l/ {{ {handler} if ($arg_k = i) {{ set $seen 1; }}"
        " limit_except GET { auth_basic off; } location /l/n/ { } }"
    )
    expected = {Place("/l/"): own, Place("/l/", "i"): own, Place("/l/n/"): 404}
    expected[Place("/l/", method="POST")] = own if shared else 405
    files = {"html/l/f.ext": b"a file"}
    with nginx.Instance(binary, servers=[server.encode()], http=HTTP, files=files) as instance:
        root = levels(load(instance.prefix / "nginx.conf"), OLD)
        for place, status in expected.items():
            with instance.client() as client:
                answer = asked(client, 0, place)
            assert (answer.status, "a file" in answer.body) == (status, False)
            assert at(root, place).setting(handler.split()[0].rstrip(";")).is_set == (status == own)


def test_an_if_may_have_a_handler_of_its_own(binary: nginx.Binary) -> None:
    """An `if` with a handler of another module does not inherit that of its location."""
    server = b"location /l/ { empty_gif; if ($arg_k = i) { proxy_pass http://unix:temp/0.sock; } }"
    with nginx.Instance(binary, servers=[server], http=HTTP) as instance:
        root = levels(load(instance.prefix / "nginx.conf"), OLD)
        with instance.client() as client:
            outer, inner = (asked(client, 0, place) for place in (Place("/l/"), Place("/l/", "i")))
    assert (outer.values("content-type"), inner.text("backend")) == (["image/gif"], "0")
    assert at(root, Place("/l/")).setting("proxy_pass").is_unset
    assert at(root, Place("/l/")).setting("empty_gif").is_set
    assert at(root, Place("/l/", "i")).setting("proxy_pass").is_set
    assert at(root, Place("/l/", "i")).setting("empty_gif").is_unset


def test_methods_of_webdav_are_inherited(binary: nginx.Binary) -> None:
    """`dav_methods` is not a handler but a value that locations inherit."""
    require_directive(binary, "dav_methods")
    server = b"location /l/ { dav_methods DELETE; location /l/n/ { } }"
    with nginx.Instance(binary, servers=[server], files={"html/l/n/f.ext": b""}) as instance:
        root = levels(load(instance.prefix / "nginx.conf"), OLD)
        with instance.client() as client:
            assert asked(client, 0, Place("/l/n/", method="DELETE")).status == 204
    assert at(root, Place("/l/n/")).setting("dav_methods").value == "DELETE"


ACCESS = ["", "allow all;", "deny all;", "allow 127.0.0.1; deny all;", "deny 127.0.0.1; allow all;"]


@pytest.mark.parametrize("outer", ACCESS)
@pytest.mark.parametrize("inner", ACCESS)
def test_access_is_one_list(binary: nginx.Binary, outer: str, inner: str) -> None:
    """A single `allow` or `deny` discards all inherited ones of both names."""
    server = f"{outer} location /l/ {{ {inner} }}".encode()
    with nginx.Instance(binary, servers=[server], files={"html/l/f.ext": b""}) as instance:
        root = levels(load(instance.prefix / "nginx.conf"), OLD)
        with instance.client() as client:
            refused = asked(client, 0, Place("/l/")).status == 403
    level = at(root, Place("/l/"))
    directives = (directive for name in ("allow", "deny") for directive in level.setting(name).directives)
    rules = sorted(directives, key=lambda directive: directive.span)
    assert refused == (bool(rules) and rules[0].name == "deny")
