"""Claims of the pages of the redirect rules on the real nginx, and the model that they ask."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from nginxopt.request import from_curl, read_url
from nginxopt.request.chains import chains
from nginxopt.request.model import OutcomeForm, SiteModel, World
from nginxopt.request.redirects import RedirectChain
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.lintcheck import diagnose, read
from tests.nginx.raw import answers, get, location
from tests.support import drawn, the_nginx

pytestmark = [pytest.mark.nginx, pytest.mark.no_cover]

URIS = ["/", "/a", "/b", "/a/", "/b/", "/a/b", "/b/a", "/c", "/a/c", "/c/a.x", "/b.x"]


PATTERNS = ["^/a$", "^/b/?$", "^/a/(.*)$", "^/(.)$", "^/c", "x$", "^/(b/.*)$", "^/(.*)/$"]
PLACES = [*URIS, "/$1", "/a/$1", "http://a.test/b", "$scheme://$host/c", "http://b.test/", "/c?x=1"]
FLAGS = ["permanent", "redirect", "last", "break", "permanent"]
HEADS = ["= /a", "= /c", "/a", "/a/", "^~ /b", "/b/", r"~ \.x$", "~* ^/C", "/"]


def program(seed: int) -> str:
    """A random server with rules and locations that redirect to and fro."""
    pick = random.Random(seed)
    locations = []
    for head in pick.sample(HEADS, pick.randint(0, 5)):
        end = pick.choice(["return 200;", f"return 301 {pick.choice(URIS)};", "return 302 /a$request_uri;"])
        inner = "location ~ b { return 301 /c; }" if head in ("/a", "/b/") and pick.random() < 0.3 else ""
        locations.append(f"location {head} {{ {script(pick, 2)} {end} {inner} }}")
    return f"server_name a.test; {script(pick, 4)} {' '.join(locations)}"


def script(pick: random.Random, most: int) -> str:
    """A few random rules, now and then with a condition."""
    rules = [
        f"rewrite {pick.choice(PATTERNS)} {pick.choice(PLACES)} {pick.choice(FLAGS)};"
        for _ in range(pick.randint(0, most))
    ]
    if pick.random() < 0.2:
        rules.insert(0, "if ($host = other.test) { return 204; }")
    if pick.random() < 0.1:
        rules.append("if ($args) { set $x 1; }")
    return " ".join(rules)


def build_of(binary: nginx.Binary) -> Build:
    """The build of a binary."""
    return Build(Version.of(binary.version))


def ask(model: SiteModel, uri: str) -> OutcomeForm:
    """What the model says of a URI of the site."""
    request = from_curl(read_url(f"http://a.test{uri}"))
    return model.trace(model.gate().form(request), World())["outcome"]


def test_redirects_are_followed_as_nginx_goes() -> None:
    """Over random servers: nginx redirects as the model says, and takes every step of the chains that are found."""
    programs = [program(seed) for seed in range(120)]
    by_program = answers(programs, [get(uri) for uri in URIS])
    build = build_of(the_nginx())
    certain = 0
    for text, replies in zip(programs, by_program, strict=True):
        model = SiteModel(read(text, "server"), build)
        for uri, reply in zip(URIS, replies, strict=True):
            outcome = ask(model, uri)
            if outcome["kind"] == "redirect":
                certain += 1
                assert location(reply) == outcome["location"], (text, uri, reply)
            elif outcome["status"] == 500:
                certain += 1
                assert reply.startswith(b"HTTP/1.1 500 "), (text, uri)
    assert certain > 300


Step = tuple[str, str | None, bytes]
"""A URI, what a chain says that it leads to, and what nginx answers."""


def steps(texts: list[str], found: list[RedirectChain], binary: nginx.Binary) -> Iterator[Step]:
    """The steps of some chains, one of each text."""
    requests = sorted({redirect.uri for chain in found for redirect in chain.redirects})
    replies = answers(texts, [get(uri) for uri in requests], binary=binary)
    for chain, by_uri in zip(found, replies, strict=True):
        for redirect in chain.redirects:
            yield redirect.uri, redirect.target, by_uri[requests.index(redirect.uri)]


@pytest.mark.extended
def test_nginx_takes_the_steps_of_random_chains(each_binary: nginx.Binary) -> None:
    """Each step of a chain or loop over random servers is what nginx answers."""
    texts: list[str] = []
    found: list[RedirectChain] = []
    for text in map(program, drawn(150, each_binary)):
        for chain in chains(read(text, "server"), build_of(each_binary)):
            texts.append(text)
            found.append(chain)
    assert {chain.is_loop for chain in found} == {False, True}
    certain = 0
    for uri, target, reply in steps(texts, found, each_binary):
        if target is not None:
            certain += 1
            assert (location(reply) or "").removeprefix("http://a.test").partition("?")[0] == target, uri
    assert certain > 50


CHAINS = [
    ("over a regex location", "rewrite ^/a$ /b1 permanent; location ~ ^/b[0-9]$ { return 301 /c; }", "redirect-chain"),
    ("from rules in a location", "location / { rewrite ^/a$ /b redirect; rewrite ^/b$ /c; rewrite ^/c$ /d permanent; }",
     "redirect-chain"),
    ("to the slash of a location that passes on",
     "rewrite ^/a$ /e permanent; location /e/ { proxy_pass http://127.0.0.1:9; }", "redirect-chain"),
    ("to the slash of an exact location that passes on",
     "rewrite ^/a$ /e permanent; location = /e/ { proxy_pass http://127.0.0.1:9; }", "redirect-chain"),
    ("with arguments", "rewrite ^/a$ /b?x=1 permanent; rewrite ^/b$ /c permanent;", "redirect-chain"),
    ("by a variable", "set $to /b; rewrite ^/a$ $to permanent; rewrite ^/b$ /c permanent;", "redirect-chain"),
    ("a loop", "rewrite ^/a$ /b permanent; location /b { return 302 /a; }", "redirect-loop"),
    ("a loop over a regex location", "location ~ ^/a { return 301 $uri; }", "redirect-loop"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule"), [case[1:] for case in CHAINS], ids=[case[0] for case in CHAINS])
def test_nginx_takes_the_steps_that_are_reported(a_binary: nginx.Binary, text: str, rule: str) -> None:
    """What the rules report is what nginx answers, URI by URI."""
    text = f"server_name a.test; {text}"
    assert len(diagnose(rule, text, context="server")) == 1
    found = list(chains(read(text, "server"), build_of(a_binary)))[:1]
    assert found[0].is_loop == (rule == "redirect-loop")
    taken = list(steps([text], found, a_binary))
    assert taken
    for uri, target, reply in taken:
        assert (location(reply) or "").removeprefix("http://a.test").partition("?")[0] == target, (uri, reply)


def test_what_stands_in_a_regex_location_is_dead(each_binary: nginx.Binary) -> None:
    """An exact location inside a regex location is never chosen, so that no chain goes over it."""
    text = "rewrite ^/a$ /e/x permanent; location ~ /e/ { location = /e/x { return 301 /c; } return 200 outer; }"
    assert not diagnose("redirect-chain", text, context="server")
    ((reply,),) = answers([text], [get("/e/x")], binary=each_binary)
    assert reply.endswith(b"outer")


def test_locations_are_chosen_as_nginx_does() -> None:
    """Over random sets of locations and URIs the choice is nginx's."""
    heads = ["= /a", "= /", "/", "/a", "/a/", "/a/b", "^~ /a/b/", "~ b$", "~* B", "~ ^/a/(b|c)", "/b", "^~ /b/c"]
    within = ["= /a/c", "/a/b", "^~ /a/b/", "~ b$", "~* C"]
    pick = random.Random(7)
    servers = []
    for _ in range(60):
        lines = []
        for number, head in enumerate(pick.sample(heads, pick.randint(1, 6))):
            inner = pick.sample(within, 2) if head in ("/a", "/a/") else ["~ a"] if head == "~ b$" else []
            nested = [f"location {path} {{ return 200 {number}.{place}; }}" for place, path in enumerate(inner)]
            lines.append(f"location {head} {{ {' '.join(nested)} return 200 {number}; }}")
        servers.append(" ".join(lines))
    uris = ["/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/a/c", "/b", "/b/c", "/b/c/b", "/B", "/c", "/xb"]
    by_server = answers(servers, [get(uri) for uri in uris])
    for text, replies in zip(servers, by_server, strict=True):
        model = SiteModel(read(text, "server"), build_of(the_nginx()))
        for uri, reply in zip(uris, replies, strict=True):
            expected = reply.partition(b"\r\n\r\n")[2].decode() if reply.startswith(b"HTTP/1.1 200 ") else None
            assert ask(model, uri)["body"] == expected, (text, uri)


@pytest.mark.parametrize(
    "text",
    ["location / { rewrite ^(.*)$ /index.php?q=$1 last; }",
     "location /a { rewrite ^ /b last; } location /b { rewrite ^ /a last; }"],
)  # fmt: skip
def test_internal_loops(text: str) -> None:
    """A location that rewrites to itself is a 500."""
    assert diagnose("redirect-loop", text, context="server")
    ((answer,),) = answers([text], [get("/a")])
    assert answer.startswith(b"HTTP/1.1 500 ")
