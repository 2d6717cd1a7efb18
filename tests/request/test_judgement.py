"""Whether an answer is what a row expects, and chains of redirects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from nginxopt.config import load_text
from nginxopt.request import ClientGate, Request, from_curl, read_request, read_url
from nginxopt.request.batch import Batch
from nginxopt.request.follow import RedirectSteps, follow
from nginxopt.request.judgement import Answer, Verdict, answer_of, judge
from nginxopt.request.model import OutcomeForm, SiteModel, World, depends
from nginxopt.request.table import ExpectedRow
from nginxopt.request.traffic import groups_of
from nginxopt.semantics.site import Build
from tests.lintcheck import TARGET
from tests.request.test_connection import site, socket
from tests.rows import every_row

MOVED = Answer("redirect", 301, "https://h/b")
PAGE = Answer("return", 200)
PASSED = Answer("proxy", None, target="http://app/a")
FILE = Answer("static", None, unknown="whether /srv/a exists")
VAGUE = Answer("redirect", 302, None, unknown="$geoip_country_code")
CLOSED = Answer("closed", None)
UNKNOWN = Answer("unknown", None, unknown="Lua")


def depending(*answers: Answer) -> Answer:
    """An answer that depends on files."""
    return Answer("unknown", None, unknown="whether /a exists", branches=tuple(("if /a exists", it) for it in answers))


JUDGED: list[tuple[str, int | str | None, Answer, Verdict]] = [
    ("/b", 301, MOVED, "passed"),
    ("/b", None, MOVED, "passed"),
    ("", 301, MOVED, "passed"),
    ("/b", 302, MOVED, "failed"),
    ("/c", 301, MOVED, "failed"),
    ("", 404, MOVED, "failed"),
    ("", 200, PAGE, "passed"),
    ("/b", None, PAGE, "failed"),
    ("/b", 301, PAGE, "failed"),
    ("/b", 301, PASSED, "failed"),
    ("/b", None, PASSED, "failed"),
    ("", 200, PASSED, "unknown"),
    ("", "proxy", PASSED, "passed"),
    ("http://app/a", "proxy", PASSED, "passed"),
    ("http://app/b", "proxy", PASSED, "failed"),
    ("", "static", PASSED, "failed"),
    ("", 200, FILE, "unknown"),
    ("", "static", FILE, "passed"),
    ("/b", 302, VAGUE, "unknown"),
    ("/b", 301, VAGUE, "failed"),
    ("", "closed", CLOSED, "passed"),
    ("", 200, CLOSED, "failed"),
    ("/b", 301, UNKNOWN, "unknown"),
    ("", "static", UNKNOWN, "unknown"),
    ("", 200, depending(PAGE, PAGE), "passed"),
    ("", 404, depending(PAGE, MOVED), "failed"),
    ("", 200, depending(PAGE, MOVED), "unknown"),
    ("", 200, depending(PAGE, UNKNOWN), "unknown"),
]


@every_row(("to", "status", "answer", "verdict"), JUDGED)
def test_an_answer_is_judged(to: str, status: int | str | None, answer: Answer, verdict: Verdict) -> None:
    """A row passes if all it expects is known to hold, and fails if something is known not to."""
    assert judge(ExpectedRow(1, read_request("https://h/a"), to, status), answer) == verdict


def outcome(**values: object) -> OutcomeForm:
    """An outcome of the model."""
    nothing = dict.fromkeys(OutcomeForm.__annotations__)
    return {**nothing, "kind": "return", "headers": [], **values}  # type: ignore[typeddict-item]


def test_the_answer_of_an_outcome() -> None:
    """An answer has of an outcome what rows are compared with."""
    passed = {"server": "app", "scheme": "http", "method": "GET", "target": "/\u00c3\u00a4"}
    assert answer_of(outcome(kind="proxy", upstream=passed, node=3)) == Answer(
        "proxy", None, None, "http://app/\u00e4", node=3
    )
    fastcgi = {"server": "unix:/run/php.sock", "scheme": "", "method": "GET", "target": None}
    assert answer_of(outcome(kind="fastcgi", upstream=fastcgi)).target == "unix:/run/php.sock"
    unknown = {"reason": "Lua", "node": 7, "question": None}
    assert answer_of(outcome(kind="unknown", unknown=unknown)) == Answer("unknown", None, unknown="Lua")
    assert answer_of(outcome(kind="redirect", status=301, location="/\u00ff")).location == "/\udcff"


ANSWERING = """events { }
http {
    upstream app { server 127.0.0.1:8080; }
    map $arg_x $mapped { default ""; a "/\u00e4"; }
    server {
        listen 80;
        root /srv;
        location /r { return 301 https://h$request_uri; }
        location /m { return 302 $mapped; }
        location /h { add_header Location /else; add_header X-\u00c4 $arg_x always; return 303; }
        location /p { proxy_pass http://app; add_header A $uri; }
        location /v { proxy_pass http://$arg_x; }
        location /f { fastcgi_pass unix:/run/php.sock; }
        location /c { return 444; }
        location /s { add_header A b; }
        location /t { try_files $uri /r; }
        location /l { content_by_lua_block { ngx.say(1) } }
        location /d { deny all; }
        location /b { auth_request /r; return 200; }
        location /g { return 302 $geoip_country_code; }
    }
}
"""


REFERRED = """http { server { listen 80; server_name h;
    location / { valid_referers a.test; if ($invalid_referer) { return 403; } return 200; }
    location /b/ { valid_referers b.test; if ($invalid_referer) { return 403; } return 201; }
} }
"""


def test_requests_with_one_referer_are_answered_by_their_own_blocks() -> None:
    """Requests that differ only in their targets may find different values of `$invalid_referer`."""
    model = SiteModel(load_text(REFERRED.encode(), "nginx.conf"), Build(TARGET))
    batch = Batch(model, model.gate(), World())
    header = (b"Referer", b"http://b.test/")
    requests = [replace(one, headers=(*one.headers, header)) for one in map(from_curl, map(read_url, REFERRED_TO))]
    assert [answer.status for answer in batch.answers(requests)] == [403, 201]
    tally = batch.tally(groups_of(requests).values())
    assert {end.status: ends.requests for end, ends in tally.ends.items()} == {403: 1, 201: 1}


REFERRED_TO = ("http://h/", "http://h/b/")


def test_the_answers_of_many_requests_are_those_of_each_outcome() -> None:
    """The native core makes the same answers as `answer_of`, one of equal requests, and counts all of them."""
    model = SiteModel(load_text(ANSWERING.encode(), "nginx.conf"), Build(TARGET))
    world = World.assume(["exists=/srv/s"])
    batch = Batch(model, model.gate(), world)
    urls = [
        f"http://h/{letter}{rest}" for letter in "rmhpvfcstldbgx" for rest in ("", "/%c3%a4?x=a", "?x=%ff", "/../..")
    ]
    requests = [from_curl(read_url(url)) for url in [*urls, *urls]]
    refused = from_curl(read_url("http://h:81/"))
    answers = batch.answers([*requests, refused])
    forms = [json.loads(model.native.answers([batch.gate.text(one)], json.dumps(world.form()))[0]) for one in requests]
    nodes = [site["node"] for site in model.site.site["levels"]]
    for answer, form in zip(answers, forms, strict=False):
        alone = answer_of(form)
        level = form["level"]
        alone = alone if level is None or alone.node is not None else replace(alone, node=nodes[level])
        assert depends(form) or answer == alone
    assert answers[-1].kind == "refused"
    assert {answer.kind for answer in answers} >= {
        "redirect",
        "return",
        "static",
        "proxy",
        "fastcgi",
        "closed",
        "unknown",
    }
    assert answers[: len(urls)] == answers[len(urls) : -1]
    (server,) = [form["node"] for form in model.site.site["servers"]]
    assert batch.uses[server] == sum(form["server"] is not None for form in forms)


@every_row(
    ("answer", "text"),
    [
        (MOVED, "301 to https://h/b"),
        (PAGE, "200"),
        (PASSED, "proxy to http://app/a"),
        (FILE, "static (whether /srv/a exists)"),
        (CLOSED, "closed connection"),
        (UNKNOWN, "unknown: Lua"),
    ],
)
def test_an_answer_is_shown(answer: Answer, text: str) -> None:
    """An answer is a short phrase."""
    assert str(answer) == text


SITE = site(
    *(socket("0.0.0.0", 80, 0, 1), socket("0.0.0.0", 443, 1, tls=True)),
    names=("a.example", ".b.example"),
)  # fmt: skip
GATE = ClientGate(SITE)

PATHS = {
    "http://a.example/1": Answer("redirect", 301, "/2"),
    "http://a.example/2": Answer("redirect", 302, "https://www.b.example/3#part"),
    "https://www.b.example/3": Answer("return", 200),
    "http://a.example/out": Answer("redirect", 301, "https://other.example/"),
    "http://a.example/mail": Answer("redirect", 301, "mailto:a@a.example"),
    "http://a.example/loop": Answer("redirect", 301, "/pool"),
    "http://a.example/pool": Answer("redirect", 301, "/loop"),
    "http://a.example/gone": Answer("return", 410, "/1"),
    "POST http://a.example/form": Answer("redirect", 303, "/2"),
    "POST http://a.example/again": Answer("redirect", 308, "/form"),
}


def ask(requests: Sequence[Request]) -> list[Answer]:
    """The answers of a site."""
    return [PATHS.get(str(request)) or Answer("redirect", 301, f"{request.url}x") for request in requests]


def chain_of(text: str) -> RedirectSteps:
    """The chain that a request begins."""
    (chain,) = follow([read_request(text)], ask, GATE.serves)
    return chain


@every_row(
    ("text", "end", "count", "address"),
    [
        ("http://a.example/1", "answered", 3, "https://www.b.example/3#part"),
        ("https://www.b.example/3", "answered", 1, "https://www.b.example/3"),
        ("http://a.example/out", "left", 1, "https://other.example/"),
        ("http://a.example/mail", "left", 1, "mailto:a@a.example"),
        ("http://a.example/loop", "loop", 2, "http://a.example/loop"),
        ("http://a.example/more", "endless", 11, "http://a.example/morexxxxxxxxxxx"),
        ("http://a.example/gone", "answered", 1, "http://a.example/gone"),
        ("POST http://a.example/again", "answered", 4, "https://www.b.example/3#part"),
    ],
)
def test_a_chain_is_followed(text: str, end: str, count: int, address: str) -> None:
    """A chain ends with an answer, at another site, in a loop, or after too many redirects."""
    chain = chain_of(text)
    assert (chain.end, len(chain.answers), chain.address) == (end, count, address)


def test_clients_change_the_method() -> None:
    """A POST stays one after 308, and becomes a GET after 303; the host follows the address."""
    requests = chain_of("POST http://a.example/again").requests
    assert [request.method for request in requests] == [b"POST", b"POST", b"GET", b"GET"]
    assert requests[-1].headers == (
        (b"Host", b"www.b.example"),
        *from_curl(read_url("http://a.example/")).headers[1:],
    )


def test_several_chains_are_asked_together() -> None:
    """The requests of a round are asked at once."""
    rounds: list[int] = []

    def counting(requests: Sequence[Request]) -> list[Answer]:
        rounds.append(len(requests))
        return ask(requests)

    follow([read_request(f"http://a.example/{path}") for path in ("1", "2", "out")], counting, GATE.serves)
    assert rounds == [3, 2, 1]


@every_row(
    ("name", "url", "serves"),
    [
        ("a.example", "http://A.example./x", True),
        ("a.example", "http://a.example:81/", False),
        ("a.example", "https://a.example/", False),
        (".b.example", "http://b.example/", True),
        ("*.b.example", "http://b.example/", False),
        ("*.b.example", "http://x.b.example/", True),
        ("www.*", "http://www.c.example/", True),
        ("www.*", "http://c.example/", False),
        ("~^Www\\d", "http://www1.example/", True),
        ("~^Www\\d", "http://www.example/", False),
    ],
)
def test_a_site_serves_its_names(name: str, url: str, serves: bool) -> None:
    """A URL is one of the site if a server has its host as a name, where it listens."""
    plain = site(socket("0.0.0.0", 80, 0), socket("0.0.0.0", 443, 0), names=(name,))
    assert ClientGate(plain).serves(read_url(url)) is serves
