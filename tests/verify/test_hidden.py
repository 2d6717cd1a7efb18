"""Files that were not read: what they may hold is no equivalence, and premises say what they do not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.errors import UsageError
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import Verification, verify
from nginxopt.verify.premises import OF_FILES, PREMISES, Premises, is_outcome, read
from nginxopt.version import Version
from tests.rows import every_row
from tests.verify.pairs import whole
from tests.verify.pairs.hidden import HIDDEN, Hidden

_BUILD = Build(Version(1, 22, 1))


def compared(old: str, new: str, *assumed: str, denied: tuple[str, ...] = ()) -> Verification:
    """What `verify` says of two texts with premises."""
    sides = [SiteModel(load_text(whole(text).encode(), "nginx.conf", missing_ok=True), _BUILD) for text in (old, new)]
    return verify(*sides, premises=read(assumed, denied)[0])


@pytest.mark.no_cover
@pytest.mark.parametrize("pair", HIDDEN, ids=lambda pair: pair.name)
def test_what_a_file_may_show_is_no_equivalence(pair: Hidden) -> None:
    """It is unknown, in both directions, and an equivalence if the file is empty; the pair itself is one anyway."""
    assert compared(pair.old, pair.new).verdict == compared(pair.new, pair.old).verdict == "unknown"
    assert compared(pair.old, pair.old).verdict == "equivalent"
    conditions = compared(pair.old, pair.new).conditions
    if conditions:
        result = compared(pair.old, pair.new, *conditions)
        assert result.verdict == "equivalent"
        assert {each.partition("=")[0] for each in conditions} <= {*result.premises, "unread-empty"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("keepalive_timeout 5 5;", "keepalive_timeout 5 6;"),
        ("client_body_buffer_size 1k;", "client_body_buffer_size 8k;"),
        ("resolver 127.0.0.1;", "resolver 127.0.0.2;"),
        ("gzip on;", ""),
    ],
)
def test_what_does_not_count_may_be_shown(old: str, new: str) -> None:
    """A file may show by a variable what is no answer by itself; only a premise says that it does not."""
    text = "location / { include nx.conf; root /r; }"
    result = compared(f"{old} {text}", f"{new} {text}")
    assert result.conditions == ("uncounted-unseen",)
    assert compared(f"{old} {text}", f"{new} {text}", "uncounted-unseen").verdict == "equivalent"
    assert compared(f"{old} root /r;", f"{new} root /r;").verdict == "equivalent"


ALIKE = [
    ("location / { root /a; include nx; }", "location / { include nx; root /a; }", {"both-start"}),
    (
        "include nx; location ~ ^/a { return 200; } location ~ ^/ab { return 201; }",
        "include nx; location ~ ^/a { return 200; } location ~ ^/ab { return 202; }",
        set(),
    ),
    ("location / { return 204; include nx; set $v 1; }", "location / { return 204; include nx; set $v 2; }", set()),
    (
        "location /a { include nx; } location /b { return 200; } location /c { return 200; }",
        "location /a { include nx; } location /b { return 200; } location /c { etag on; return 200; }",
        set(),
    ),
    (
        "limit_conn_zone $uri zone=a:1m; server { listen 80; limit_conn a 1; }",
        "limit_conn_zone $uri zone=b:1m; server { listen 80; limit_conn b 1; }",
        {"state-restart"},
    ),
    (
        "add_header A 1; add_header B 1; include nx; return 200 x;",
        "add_header B 1; add_header A 1; include nx; return 200 x;",
        {"field-order"},
    ),
]


@every_row(("old", "new", "used"), ALIKE)
def test_premises_that_are_used_are_named(old: str, new: str, used: set[str]) -> None:
    """Those that hold by default are named where they are used; denied, they are what is in doubt."""
    result = compared(old, new)
    assert result.verdict == "equivalent"
    always = {"outside-same", "unread-same", "state-same"}
    assert set(result.premises) - always == used
    for name in set(result.premises) - {"both-start"}:
        denied = compared(old, new, denied=(name,))
        assert denied.verdict == "unknown"
        assert denied.conditions == (name,)
        assert name not in denied.premises


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("add_header X a;", "add_header X b;"),
        ("allow 192.0.2.1; deny all;", "allow 192.0.2.1;"),
        ("deny all;", ""),
        ("error_page 404 /a;", "error_page 404 /b;"),
        ("proxy_set_header X a;", ""),
        ("limit_req zone=z;", ""),
    ],
)
@pytest.mark.parametrize("premise", ["unread-neutral", "unread-silent={}", "include:nx=neutral"])
def test_what_stands_beside_a_file_counts_under_each_premise(one: str, other: str, premise: str) -> None:
    """What a block itself says is in force, also where the file beside it is taken to say nothing of it."""
    text = "limit_req_zone $uri zone=z:1m rate=1r/s; server {{ location / {{ include nx; {} proxy_pass http://u; }} }}"
    named = premise.format("add_header,allow,deny,error_page,limit_req,proxy_set_header")
    for old, new in ((one, other), (other, one)):
        assert compared(text.format(old), text.format(new), named).verdict != "equivalent"
        assert compared(text.format(old), text.format(new)).conditions == ()


SETTLED = [
    ("include nx; location /a { return 200; }", "include nx; location ^~ /a { return 200; }", "unread-neutral"),
    ("include nx; location /a { return 200; }", "include nx; location ^~ /a { return 200; }", "include:nx=neutral"),
    ("include nx; location /a { return 200; }", "include nx; location ^~ /a { return 200; }", "include:nx=empty"),
    ("include nx; location /a { return 200; }", "include nx; location ^~ /a { return 200; }", "unread-silent=location"),
    (
        "location / { include nx; set $a 1; return 200 $a; }",
        "location / { set $a 1; include nx; return 200 $a; }",
        "unread-rules",
    ),
    (
        "include nx; location /a/ { return 200; } location /a/b/ { return 200; }",
        "include nx; location /a/ { return 200; }",
        "unread-empty",
    ),
    (
        "include nx; location / { return 200; }",
        "include nx; location / { absolute_redirect on; return 200; }",
        "unread-silent=absolute_redirect,etag",
    ),
    *(
        (f"include nx; {setting} location / {{ {own} }}", f"include nx; location / {{ {setting} {own} }}", premise)
        for setting, own in (
            ("expires 30d;", "alias /a/;"),
            ("default_type a/b;", "alias /a/;"),
            ("proxy_read_timeout 50s;", "proxy_pass http://192.0.2.1;"),
            ("fastcgi_buffering off;", "root /a;"),
        )
        for premise in ("unread-neutral", "include:nx=neutral")
    ),
    *(
        (f"{setting} location / {{ include nx; }}", f"location / {{ {setting} include nx; }}", "unread-neutral")
        for setting in ("expires 30d;", "default_type a/b;", "root /a;")
    ),
    ("include n*x; location /a { return 200; }", "include n*x; location ^~ /a { return 200; }", "unmatched-empty"),
    (
        "upstream u { server 192.0.2.1; } include nx; server { listen 80; return 200; }",
        "include nx; server { listen 80; return 200; }",
        "unread-names",
    ),
    (
        "upstream u { server 192.0.2.1; } proxy_set_header Host h;"
        " server { listen 80; location / { proxy_pass http://u; } }",
        "upstream v { server 192.0.2.1; } proxy_set_header Host h;"
        " server { listen 80; location / { proxy_pass http://v; } }",
        "redirects-by-name",
    ),
    (
        "error_page 404 @a; location @a { proxy_pass http://192.0.2.1; }",
        "error_page 404 @b; location @b { proxy_pass http://192.0.2.1; }",
        "accel-names",
    ),
]


@every_row(("old", "new", "premise"), SETTLED)
def test_a_premise_settles_what_is_in_doubt(old: str, new: str, premise: str) -> None:
    """It is unknown without the premise, which is named as a condition or is one of several; denied, it is not."""
    assert compared(old, new).verdict == "unknown"
    result = compared(old, new, premise)
    assert result.verdict == "equivalent"
    if "=" not in premise:
        assert premise in compared(old, new).conditions or premise in OF_FILES or premise == "unmatched-empty"
        assert premise not in compared(old, new, denied=(premise,)).conditions


@pytest.mark.parametrize("name", ["mirror", "add_before_body", "ssi", "content_by_lua_file", "js_content"])
def test_a_neutral_file_leads_no_request_elsewhere(name: str) -> None:
    """It has no directive that makes requests of its own, nor code."""
    assert is_outcome(name)


@pytest.mark.parametrize("premise", ["unread-rules", "unread-silent=location,return,rewrite,if", "unread-names"])
def test_what_no_names_exclude(premise: str) -> None:
    """A file that is not neutral may lead requests to a URI without a slash, which no location takes."""
    old, new = "expires 1h; location / { include nx; }", "location / { expires 1h; include nx; }"
    assert compared(old, new, premise).verdict == "unknown"
    assert compared(old, new, premise, "unread-neutral").verdict == "equivalent"


def test_each_request_names_its_host() -> None:
    """Only one without a host shows the first name of a server."""
    old, new = (f"server {{ listen 80; server_name {names}; return 200 $host; }}" for names in ("a b", "b a"))
    assert compared(old, new).verdict == "different"
    assert compared(old, new, "host-header").verdict == "equivalent"


@every_row("premise", ["unread-neutral", "unread-rules", "unread-silent=etag", "unread-names"])
@every_row(
    ("old", "new"),
    [
        ("include nx; add_header X 1; root /r;", "include nx; add_header X 2; root /r;"),
        ("include nx; location / { return 200; }", "location / { include nx; return 200; }"),
        ("include nx; include ny; root /r;", "include nx; root /r;"),
        ("location / { add_header X 1; include nx; root /r; }", "location / { include nx; add_header X 1; root /r; }"),
        (
            "include nx; location / { proxy_pass http://192.0.2.1; }",
            "include nx; location / { proxy_buffering on; proxy_pass http://192.0.2.1; }",
        ),
    ],
)
def test_a_premise_says_no_more_than_it_says(old: str, new: str, premise: str) -> None:
    """Such a file may still add headers, and state settings."""
    assert compared(old, new, premise).verdict != "equivalent"


@every_row(
    ("assumed", "denied", "message"),
    [
        (("unread-neutrl",), (), "unknown premise 'unread-neutrl'"),
        (("both-start=1",), (), "invalid premise 'both-start=1'"),
        (("include:nx",), (), "invalid premise 'include:nx'"),
        (("unread-silent=",), (), "no directive is named"),
        (("unread-silent=a_b",), (), "nginx has no directive a_b"),
        (("unread-names",), ("unread-names",), "unread-names is assumed and denied"),
        ((), ("field",), "unknown premise 'field'"),
    ],
)
def test_premises_that_there_are_none_of(assumed: tuple[str, ...], denied: tuple[str, ...], message: str) -> None:
    """Names are those of the guide, with a value where one has one."""
    with pytest.raises(UsageError) as refused:
        read(assumed, denied)
    assert message in str(refused.value)


def test_each_premise_is_explained() -> None:
    """The guide has each with its sentence; those by default are marked."""
    text = Path("docs/guide/verify.md").read_text()
    for premise in PREMISES.values():
        assert f"| `{premise.name}" in text, premise.name
    assert Premises().holds("both-start")
    assert not Premises().holds("unread-empty")


def test_headers_of_a_neutral_file_may_show_a_folder() -> None:
    """A file that has headers at most may name it in one; not if it uses nothing that the sides define otherwise."""
    old, new = (f"location / {{ include nx.conf; root /{folder}; return 200 x; }}" for folder in "ab")
    assert compared(old, new, "unread-neutral").conditions == ("unread-names",)
    assert compared(old, new, "unread-neutral", "unread-names").verdict == "equivalent"
