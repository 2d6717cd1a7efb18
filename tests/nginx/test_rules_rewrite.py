"""Claims of the pages of the rewrite rules on the real nginx."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest

from nginxopt.lint import Severity
from nginxopt.request import from_curl, read_url
from nginxopt.request.chains import chains
from nginxopt.request.model import Model
from nginxopt.request.outcomes import OutcomeForm
from nginxopt.request.redirects import RedirectChain
from nginxopt.request.world import World
from nginxopt.semantics import levels
from nginxopt.semantics.site import Build
from nginxopt.system import nginx
from nginxopt.system.http import Request
from nginxopt.version import Version
from tests.lintcheck import TARGET, diagnose, fix_text, fixed, read
from tests.support import needs_nginx, the_nginx

pytestmark = needs_nginx

STATE = 'location / { return 200 "uri=[$uri] args=[$args]"; }'


def get(target: str, *, method: str = "GET", version: str = "1.1", host: str = "a.test", head: str = "") -> Request:
    """A request on a connection of its own."""
    lines = f"{method} {target} HTTP/{version}\r\nHost: {host}\r\n{head}Connection: close\r\n\r\n"
    return Request(lines.encode("latin-1"), alone=True)


def answers(
    servers: list[str],
    requests: list[Request],
    *,
    main: str = "",
    http: str = "",
    binary: nginx.Binary | None = None,
) -> list[list[bytes]]:
    """What each server answers, without dates and ports."""
    texts = [server.encode() for server in servers]
    with nginx.Instance(binary or the_nginx(), servers=texts, main=main.encode(), http=http.encode()) as instance:
        replies = []
        for number, port in enumerate(instance.ports):
            with instance.client(number) as client:
                raw = client.ask(requests)
            replies.append(
                [re.sub(rb"Date: [^\r]*\r\n", b"", response.replace(b":%d" % port, b"")) for response in raw]
            )
    return replies


def location(answer: bytes) -> str | None:
    """The target of a redirect."""
    match = re.search(rb"\r\nLocation: ([^\r]*)", answer)
    return match[1].decode("latin-1") if match else None


TARGETS = ["/x", "/x?", "/x?a=1&b=%41", "/x?a?b", "//x", "/%78", "/x?%0a", "/x?a+b%2B", "/x#f"]
REQUESTS = [
    *map(get, TARGETS),
    get("/x", version="1.0"),
    get("/x", method="HEAD"),
    get("/x", method="POST", head="Content-Length: 0\r\n"),
    get("/x", host="a.test:99"),
    get("/x", host="%41.test"),
    get("http://q.test/x"),
]


@pytest.mark.parametrize(
    "rewrite",
    [
        "rewrite ^/x$ /y permanent;",
        "rewrite ^ /y redirect;",
        "rewrite ^ /y? permanent;",
        "rewrite ^ /y?k=1? permanent;",
        "rewrite . https://e.com/y;",
        "rewrite ^ http://e.com/y? permanent;",
    ],
)
def test_a_single_literal_answers_alike(rewrite: str) -> None:
    """`return` in place of the only rewrite of an exact location sends the same bytes."""
    before = f"location = /x {{ {rewrite} }}"
    after = fixed("rewrite-single-literal", before, context="server").decode()
    assert "return" in after
    original, compiled = answers([before, after], REQUESTS)
    assert original == compiled


def test_a_single_literal_differs_with_a_body() -> None:
    """With 100-continue or an invalid chunk the responses differ, so the fix is not safe."""
    before = "location = /x { rewrite ^/x$ /y permanent; }"
    after = fixed("rewrite-single-literal", before, context="server").decode()
    expect = get("/x", method="POST", head="Content-Length: 1\r\nExpect: 100-continue\r\n")
    chunk = get("/x", method="POST", head="Transfer-Encoding: chunked\r\n")
    requests = [Request(expect.data + b"a", alone=True), Request(chunk.data + b"zz\r\n", alone=True)]
    original, compiled = answers([before, after], requests)
    assert [answer[9:12] for answer in original] == [b"301", b"301"]
    assert [answer[9:12] for answer in compiled] == [b"100", b"400"]


def test_catch_alls_alter_the_uri() -> None:
    """The table of the page of rewrite-catchall."""
    servers = [
        "rewrite ^ https://e.com$request_uri? permanent;",
        "rewrite ^(.*)$ https://e.com$1 permanent;",
        "return 301 https://e.com$request_uri;",
    ]
    table: dict[str, list[str | None]] = {
        "/a%3Fb?c": ["/a?b?c", "/a?b?c", "/a%3Fb?c"],
        "/a%2Fb": ["/a/b", "/a/b", "/a%2Fb"],
        "//a": ["//a", "/a", "//a"],
        "/a%0ab": ["/a%0ab", None, "/a%0ab"],
        "/a?b=1": ["/a?b=1", "/a?b=1", "/a?b=1"],
    }
    replies = answers(servers, [get(target) for target in table])
    for column, server in enumerate(replies):
        for answer, row in zip(server, table.values(), strict=True):
            end = row[column]
            assert location(answer) == (None if end is None else f"https://e.com{end}")


NEVER = [
    ("^/a%20b$", ["/a%20b", "/a b", "/a+b"]),
    (r"^/i\.php\?id=1$", ["/i.php?id=1"]),
    ("^/i.php?id=1$", ["/i.php?id=1"]),
    ("^old.html$", ["/old.html", "old.html"]),
    ("^/a//b$", ["/a//b", "/a/b", "/a%2F%2Fb"]),
    (r"^/a/\.\./b$", ["/a/../b", "/a/%2e%2e/b", "/b"]),
    (r"^/a/\.\.$", ["/a/..", "/a/%2E%2E", "/"]),
    ("^https?://a.test/c$", ["/c", "http://a.test/c"]),
    ("^/*.html$", ["/a.html", "/index.html", "/*.html"]),
]


@pytest.mark.parametrize(("pattern", "targets"), NEVER)
def test_never_matches(pattern: str, targets: list[str]) -> None:
    """Flagged rules do not fire for the requests that they were written for."""
    rewrite = f"rewrite {pattern} /hit permanent;"
    assert diagnose("rewrite-never-matches", rewrite, context="server")
    (replies,) = answers([rewrite + STATE], [get(target.replace(" ", "%20")) for target in targets])
    assert [answer for answer in replies if location(answer)] == []


@pytest.mark.parametrize(
    ("pattern", "target"),
    [
        ("^/a%20b$", "/a%2520b"),
        ("^/a%3A$", "/a%253A"),
        (r"^/i\.php\?id=1$", "/i.php%3Fid=1"),
        ("^/i.php?id=1$", "/i.phid=1"),
        ("^/*.html$", "/ahtml"),
    ],
)
def test_what_a_warning_allows(each_binary: nginx.Binary, pattern: str, target: str) -> None:
    """A pattern that is reported as a warning is matched by a request that no ordinary client sends."""
    rewrite = f"rewrite {pattern} /hit permanent;"
    (diagnostic,) = diagnose("rewrite-never-matches", rewrite, context="server")
    assert diagnostic.severity is Severity.WARNING
    ((answer,),) = answers([rewrite + STATE], [get(target)], binary=each_binary)
    assert location(answer) == "http://a.test/hit"


@pytest.mark.parametrize("pattern", ["^/?$", "^(/)?$", "^/*$"])
def test_the_home_page_is_an_ordinary_request(each_binary: nginx.Binary, pattern: str) -> None:
    """A pattern with an optional slash takes `GET /`, and is not reported."""
    rewrite = f"rewrite {pattern} /hit permanent;"
    assert diagnose("rewrite-never-matches", rewrite, context="server") == ()
    ((answer,),) = answers([rewrite + STATE], [get("/")], binary=each_binary)
    assert location(answer) == "http://a.test/hit"


def test_a_rewrite_leaves_a_uri_that_no_client_sends(each_binary: nginx.Binary) -> None:
    """A location with two slashes is reached after a rewrite, and is not reported beside one."""
    server = "rewrite ^/files(.*)$ /store/$1 last; location /store//a { return 200 inside; } "
    assert diagnose("rewrite-never-matches", server, context="server") == ()
    assert diagnose("rewrite-never-matches", server.partition(";")[2], context="server")
    ((answer,),) = answers([server + STATE], [get("/files/a")], binary=each_binary)
    assert answer.endswith(b"inside")


@pytest.mark.parametrize(
    ("text", "target"),
    [("location /a%20b { return 404; }", "/a%20b"), ("location = /a?b=1 { return 404; }", "/a?b=1"),
     ("location a { return 404; }", "/a"), ("location /a//b { return 404; }", "/a//b"),
     ("location ~ ^b$ { return 404; }", "/b")],
)  # fmt: skip
def test_never_matching_locations(text: str, target: str) -> None:
    """A location that is flagged is not chosen for the request that it was written for."""
    assert diagnose("rewrite-never-matches", text, context="server")
    ((answer,),) = answers([text + STATE], [get(target)])
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    ("pattern", "target"),
    [("^/100%$", "/100%25"), (r"^/what\?$", "/what%3F"), ("^/a(?:%20|-)b$", "/a-b"), ("^/c#$", "/c%23")],
)
def test_what_looks_like_never_matching(pattern: str, target: str) -> None:
    """What is not flagged, though it looks alike, is fired by an ordinary request."""
    rewrite = f"rewrite {pattern} /hit permanent;"
    assert not diagnose("rewrite-never-matches", rewrite, context="server")
    ((answer,),) = answers([rewrite + STATE], [get(target)])
    assert location(answer) == "http://a.test/hit"


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


def ask(model: Model, uri: str) -> OutcomeForm:
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
        model = Model(read(text, "server"), build)
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


def test_nginx_takes_the_steps_of_random_chains(each_binary: nginx.Binary) -> None:
    """Each step of a chain or loop over random servers is what nginx answers."""
    texts: list[str] = []
    found: list[RedirectChain] = []
    for text in map(program, range(150)):
        for chain in chains(read(text, "server"), build_of(each_binary)):
            texts.append(text)
            found.append(chain)
    assert {chain.is_loop for chain in found} == {False, True}
    certain = 0
    for uri, target, reply in steps(texts, found, each_binary):
        if target is not None:
            certain += 1
            assert (location(reply) or "").removeprefix("http://a.test").partition("?")[0] == target, uri
    assert certain > 100


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
def test_nginx_takes_the_steps_that_are_reported(each_binary: nginx.Binary, text: str, rule: str) -> None:
    """What the rules report is what nginx answers, URI by URI."""
    text = f"server_name a.test; {text}"
    assert len(diagnose(rule, text, context="server")) == 1
    found = list(chains(read(text, "server"), build_of(each_binary)))[:1]
    assert found[0].is_loop == (rule == "redirect-loop")
    taken = list(steps([text], found, each_binary))
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
        model = Model(read(text, "server"), build_of(the_nginx()))
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


KEYS = [
    [f"/page/{number}" for number in range(3000)],
    ["/" + "k" * 60],
    ["/" + "k" * 44],
    ["/" + "k" * 45],
    [f"/{'x' * 30}/{number}" for number in range(700)],
    [f"/{number}" for number in range(2040)],
]


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: f"{len(keys)} of {len(keys[0])}")
@pytest.mark.parametrize("sizes", ["", "map_hash_max_size 512;", "map_hash_bucket_size 128;"])
def test_map_sizes(keys: list[str], sizes: str) -> None:
    """A map is found exactly if nginx complains of it, and after the fix nginx is content."""
    rows = "\n".join(f"{key} 1;" for key in keys)
    text = f"events {{}}\nhttp {{\n{sizes}\nmap $uri $x {{\n{rows}\n}}\n}}\n".encode()
    complains = "map_hash" in str(the_nginx().test(text))
    assert bool(diagnose("map-hash-size", text)) == complains
    after = the_nginx().test(fix_text("map-hash-size", text, unsafe=False))
    assert after.ok
    assert "map_hash" not in str(after)


def test_try_files_answers_alike() -> None:
    """For files, folders and what is not there, with arguments and without."""
    before = """
        location / {
            if (!-e $request_filename) {
                rewrite ^ /index.php last;
            }
        }
        location ~ php$ { return 200 "$uri $args"; }
    """
    after = fixed("if-file-exists", before, context="server").decode()
    assert "try_files" in after
    files = {"html/here.txt": b"here", "html/folder/index.html": b"index"}
    with nginx.Instance(the_nginx(), servers=[before.encode(), after.encode()], files=files) as instance:
        replies = []
        for number, port in enumerate(instance.ports):
            with instance.client(number) as client:
                raw = client.ask([get(uri) for uri in ["/here.txt?a", "/folder", "/folder/", "/none?x=1&y", "/none"]])
            replies.append(
                [re.sub(rb"Date: [^\r]*\r\n", b"", response.replace(b"%d" % port, b"PORT")) for response in raw]
            )
    assert replies[0] == replies[1]
    assert replies[0][3].endswith(b"/index.php x=1&y")


@pytest.mark.parametrize("operator", ["=", "~"])
def test_a_chain_answers_as_its_map(operator: str) -> None:
    """The map gives the value of the chain: its first regular expression is the last matching condition."""
    ifs = "\n".join(f"if ($arg_k {operator} {key}) {{\n set $x v{key};\n}}" for key in ("a", "ab", "b"))
    before = f'events {{}}\nhttp {{\nserver {{\nset $x none;\n{ifs}\nreturn 200 "$x";\n}}\n}}\n'
    after = fix_text("if-chain-to-map", before.encode()).decode()
    assert "map $arg_k $x" in after
    requests = [get(f"/?k={value}") for value in ("a", "ab", "b", "xaby", "c", "")]
    chained, mapped = (
        answers([re.sub(r"(?s).*server \{(.*)\}\n\}\n", r"\1", text)], requests, http=outside(text))
        for text in (before, after)
    )
    assert chained == mapped


# A pattern, what a map has instead, and what it is asked for.
GROUPS = [
    ("~", "^(tv|box)$", "^(?:tv|box)$", ["tv", "box", "tvbox", "TV"]),
    ("~*", "^(tv|b(o|u)x)+", "^(?:tv|b(?:o|u)x)+", ["TV", "box", "bUxtv", "bx"]),
    ("~", "(?i)(a)[(](b)|^()$", "(?i)(?:a)[(](?:b)|^(?:)$", ["a(b", "A(B", "ab", ""]),
    ("~", r"\(a\)|(b|\()c", r"\(a\)|(?:b|\()c", ["(a)", "a)", "bc", "(c"]),
    ("~", "^(?!(x))(y|z){2}$", "^(?!(?:x))(?:y|z){2}$", ["yz", "xy", "zz", "yyy"]),
    ("~", "a{2}|[(]", "a{2}|[(]", ["aa", "(", "a"]),
]


@pytest.mark.parametrize(("operator", "pattern", "written", "values"), GROUPS)
def test_a_pattern_without_captures_finds_the_same(
    each_binary: nginx.Binary, operator: str, pattern: str, written: str, values: list[str]
) -> None:
    """A map has `(?:...)` for `(...)`, and each value is what the conditions made it."""
    keys = ["never", pattern.replace("\\", "\\\\"), "nothing"]
    ifs = "\n".join(f'if ($arg_k {operator} "{key}") {{\n set $x v{number};\n}}' for number, key in enumerate(keys))
    before = f'events {{}}\nhttp {{\nserver {{\nset $x none;\n{ifs}\nreturn 200 "$x";\n}}\n}}\n'
    after = fix_text("if-chain-to-map", before.encode())
    (block,) = (level for level in levels(read(after), TARGET).walk() if level.kind == "map")
    assert operator + written in block.names
    assert ("" in block.names) is ("" in values)
    requests = [get("/?k=" + value.replace("(", "%28")) for value in values]
    ((was,), (now,)) = (
        answers([re.sub(r"(?s).*server \{(.*)\}\n\}\n", r"\1", text)], requests, http=outside(text), binary=each_binary)
        for text in (before, after.decode())
    )
    assert was == now
    assert len({answer.rpartition(b"\r\n")[2] for answer in was}) == 2, "some match, and some do not"


def test_a_map_overwrites_captures(each_binary: nginx.Binary) -> None:
    """That is why there is no fix where they are read: a map without groups empties `$1` when its variable is used."""
    rules = 'location ~ ^/(.*)$ { set $before $1; set $value $x; return 200 "[$before][$1]"; }'
    ((answer,),) = answers([rules], [get("/abc")], http="map $host $x { ~(?:test) 1; }", binary=each_binary)
    assert answer.endswith(b"[abc][]")


def outside(text: str) -> str:
    """What stands in the http block before its server."""
    match = re.search(r"(?s)http \{\n(.*?)server \{", text)
    return match[1] if match else ""


def test_pcre_jit_has_little_stack() -> None:
    """A repeated group that a long URI makes long is a 500 with pcre_jit, and none without."""
    text = "rewrite ^/(a|b)*$ /hit permanent;"
    for state, status in [("off", b"301"), ("on", b"500")]:
        ((answer,),) = answers([text], [get("/" + "ab" * 1500)], main=f"pcre_jit {state};")
        assert answer[9:12] == status


@pytest.mark.parametrize(("before", "after"), [(".*b/c", "b/c"), ("^/a.*", "^/a"), (".*[xy]$", "[xy]$")])
def test_idle_dots_find_the_same(before: str, after: str) -> None:
    """What is taken away as safe makes no difference, newlines included."""
    rules = f"rewrite {before} /hit permanent;"
    assert fixed("unanchored-or-dotstar", rules, context="server", unsafe=False).decode().split()[1] == after
    uris = ["/a", "/ab/c", "/b/c", "/x%0Ab/c", "/a%0A", "/a%0A%0Ax", "/%0Ay", "/y%0A", "/cb"]
    original, shortened = answers(
        [text + STATE for text in (rules, rules.replace(before, after))], list(map(get, uris))
    )
    assert original == shortened


def test_a_shadowed_rule_never_fires() -> None:
    """The URI that is told is answered by the other rule."""
    text = "rewrite ^/blog/(.*)$ /news permanent;\nrewrite ^/blog/about$ /about permanent;"
    (diagnostic,) = diagnose("rewrite-shadowed", text, context="server")
    uri = diagnostic.finding.related[0].message.split()[0]
    ((answer,),) = answers([text], [get(uri)])
    assert location(answer) == "http://a.test/news"


def test_a_regex_location_answers_alike() -> None:
    """An exact location responds to the URI and its neighbours as the pattern did."""
    before = "location ~ ^/s$ { return 200 hit; }" + STATE
    after = fixed("regex-location-literal", before, context="server").decode()
    original, fixed_ = answers([before, after], [get(uri) for uri in ("/s", "/s?a", "/s/", "/S", "/ss", "//s", "/%73")])
    assert original == fixed_
    assert original[0].endswith(b"hit")


def test_the_first_map_settles_the_sizes(each_binary: nginx.Binary) -> None:
    """Sizes that are stated behind a map are refused, and so is a key that the table has no room for."""
    ifs, long = (
        "".join(f'if ($arg_k = "{key * times}") {{ set $x v; }} ' for key in ("a", "b", "c")) for times in (1, 50)
    )
    for server, sizes in ((ifs, b"map_hash_max_size 4096;"), (long, b"map_hash_bucket_size 64;")):
        text = b"events {} http { server { listen unix:a.sock; %s } %s }" % (server.encode(), sizes)
        assert fix_text("if-chain-to-map", text) == text
        for order in (b"map $arg_k $x { %s v; } %s", b"%s"):
            key = b"a" if server == ifs else b"a" * 50
            inside = order % ((key, sizes) if b"map" in order else (sizes,))
            assert each_binary.test(nginx.configuration(http=inside)).ok is (b"map $" not in order)
