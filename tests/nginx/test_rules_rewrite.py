"""Claims of the pages of the rewrite rules on the real nginx."""

from __future__ import annotations

import re

import pytest

from nginxopt.lint import Severity
from nginxopt.semantics import levels
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import TARGET, diagnose, fix_text, fixed, read
from tests.nginx.example import verdict_on
from tests.nginx.raw import answers, get, location
from tests.support import the_nginx

pytestmark = pytest.mark.nginx

STATE = 'location / { return 200 "uri=[$uri] args=[$args]"; }'

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
    requests = [RequestBytes(expect.data + b"a", alone=True), RequestBytes(chunk.data + b"zz\r\n", alone=True)]
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
def test_what_a_warning_allows(a_binary: nginx.Binary, pattern: str, target: str) -> None:
    """A pattern that is reported as a warning is matched by a request that no ordinary client sends."""
    rewrite = f"rewrite {pattern} /hit permanent;"
    (diagnostic,) = diagnose("rewrite-never-matches", rewrite, context="server")
    assert diagnostic.severity is Severity.WARNING
    ((answer,),) = answers([rewrite + STATE], [get(target)], binary=a_binary)
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
    complains = "map_hash" in str(verdict_on(the_nginx(), text))
    assert bool(diagnose("map-hash-size", text)) == complains
    after = verdict_on(the_nginx(), fix_text("map-hash-size", text, unsafe=False))
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


@pytest.fixture
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two conditions are many."""
    monkeypatch.setattr("nginxopt.rules.if_chain_to_map.LEAST", 2)
    monkeypatch.setattr("nginxopt.rules.if_chain_to_map.LEAST_PATTERNS", 2)


@pytest.mark.usefixtures("short_chains")
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


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize(("operator", "pattern", "written", "values"), GROUPS)
def test_a_pattern_without_captures_finds_the_same(
    a_binary: nginx.Binary, operator: str, pattern: str, written: str, values: list[str]
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
        answers([re.sub(r"(?s).*server \{(.*)\}\n\}\n", r"\1", text)], requests, http=outside(text), binary=a_binary)
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


@pytest.mark.usefixtures("short_chains")
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
