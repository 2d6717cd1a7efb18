"""What only header fields, parameters, bodies and addresses show is different, with what differs."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import RequestWitness, verify
from tests.rows import every_row
from tests.verify.pairs import Pair, whole
from tests.verify.pairs.effects import HIDDEN, LED, SHOWN, SUPPOSED, UNSUPPOSED
from tests.verify.test_verify import VERSION, model, names, verified

EMPTY = "/nowhere/none.conf is empty"


def witness(old: str, new: str) -> RequestWitness:
    """The witness of a pair of servers."""
    result = verified(Pair("", old, new))
    assert result.witness is not None, result.doubts
    return result.witness


def part(text: str) -> SiteModel:
    """The model of a part of a configuration."""
    return SiteModel(load_text(text.encode(), "part.conf", missing_ok=True), Build(VERSION))


@every_row("pair", SHOWN + LED, ids=names(SHOWN + LED))
def test_what_is_shown_is_different(pair: Pair) -> None:
    """A request shows it, in both directions."""
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        assert result.verdict == "different", result.doubts


@every_row("pair", HIDDEN, ids=names(HIDDEN))
def test_what_is_not_shown_is_not_different(pair: Pair) -> None:
    """No witness says that it is."""
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        assert result.verdict != "different", result.witness


@every_row("pair", SUPPOSED, ids=names(SUPPOSED))
def test_a_part_is_different_if_it_is_included_so(pair: Pair) -> None:
    """A premise says how."""
    for sides in ((pair.old, pair.new), (pair.new, pair.old)):
        result = verify(*map(part, sides))
        assert result.witness is not None, result.doubts
        assert result.witness.premises


@pytest.mark.parametrize("pair", UNSUPPOSED, ids=names(UNSUPPOSED))
def test_a_part_is_not_different_however_it_is_included(pair: Pair) -> None:
    """No witness says that it is."""
    for sides in ((pair.old, pair.new), (pair.new, pair.old)):
        assert verify(*map(part, sides)).witness is None


@every_row(
    ("setting", "is_kept"),
    [
        ('more_set_headers "X-A: $uri";', True),
        ('more_set_headers "X-A: a" -s 302 "X-B: b";', True),
        ("more_clear_headers X-A X-B; sub_filter a b;", True),
        ('more_set_headers "X-A: a" " location : /c";', False),
        ("more_clear_headers X-A L*;", False),
        ('more_set_headers "$http_x: /c";', False),
        ('more_set_headers "X-A: a"; header_filter_by_lua_block { x }', False),
        ("another_filter on;", False),
    ],
)
def test_a_filter_of_other_headers_keeps_the_target_of_a_redirect(setting: str, is_kept: bool) -> None:
    """Another target is different then, and in doubt otherwise, also where only one side has the filter."""
    sides = [f"{setting} return 302 /{target};" for target in "ab"]
    for old, new in (sides, (sides[0], "return 302 /b;")):
        verdict = verified(Pair("", old, new)).verdict
        assert (verdict == "different") == is_kept, (old, new)


def test_an_effect_has_both_values() -> None:
    """It names what the upstream gets, and what it gets on each side."""
    pass_ = "proxy_pass http://127.0.0.1:{U};"
    shown = witness(f"location /a {{ proxy_set_header X-Real-IP $remote_addr; {pass_} }}", f"location /a {{ {pass_} }}")
    [effect] = shown.effects
    assert (effect.what, effect.old, effect.new) == ("request header X-Real-IP", ("127.0.0.1",), ())
    assert not shown.premises


def test_an_answer_of_the_upstream_is_a_premise() -> None:
    """Without `always`, headers are added to some responses only."""
    pass_ = "proxy_pass http://127.0.0.1:{U};"
    shown = witness(f"location / {{ add_header X a; {pass_} }}", f"location / {{ add_header X b; {pass_} }}")
    assert shown.premises == ("the upstream answers with status 200",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("include /nowhere/none.conf; return 200 a;", "include /nowhere/none.conf; return 200 b;"),
        (
            "location / { include /nowhere/none.conf; add_header X a; }",
            "location / { include /nowhere/none.conf; add_header X b; }",
        ),
        ("location / { include /nowhere/none.conf; root /a; }", "location / { include /nowhere/none.conf; root /b; }"),
    ],
)
def test_files_that_were_not_read_are_taken_to_be_empty(old: str, new: str) -> None:
    """What differs if they are is different, and says so."""
    assert EMPTY in witness(old, new).premises


def test_an_upstream_that_does_not_answer_is_a_premise() -> None:
    """Its error page is what a request shows then."""
    text = "error_page 502 =503 {}; location / {{ proxy_pass http://127.0.0.1:{{U}}; }} location /e {{ return 200 e; }}"
    shown = witness(text.format("/e"), text.format("@f") + " location @f { return 200 f; }")
    assert (shown.premises, shown.is_answered) == (("no upstream answers",), False)


def test_a_site_is_lowered_once() -> None:
    """Not again for the model in which no upstream answers, or in which a file cannot be opened."""
    text = whole("location / { proxy_pass http://127.0.0.1:1; }").encode()
    site = SiteModel(load_text(text, "nginx.conf"), Build(VERSION))
    others = [site.without_upstreams(), site.failing(0, "/a")]
    assert [other.site is site.site and other.native is not site.native for other in others] == [True, True]


def test_a_file_beside_a_deny_may_allow_clients() -> None:
    """If it is empty, nobody sees what is behind it."""
    text = "location / {{ include /nowhere/none.conf; deny all; root /{}; }}"
    assert witness(text.format("a"), text.format("b")).premises == ("/nowhere/none.conf says only allow all",)


def test_a_file_says_the_same_on_both_sides() -> None:
    """What is assumed of a file is one text for both sides, also if they are in two folders."""
    text = "location / {{ include nx.conf; satisfy any; auth_basic a; auth_basic_user_file /f; root /; {} }}"
    old, new = (
        SiteModel(load_text(whole(text.format(rule)).encode(), f"{side}/nginx.conf", missing_ok=True), Build(VERSION))
        for side, rule in (("old", "deny all;"), ("new", ""))
    )
    assert verify(old, new).verdict == "unknown"


def test_headers_behind_an_error_page() -> None:
    """A response of an upstream that is an error page keeps the status of the error: nothing is added to it."""
    text = "error_page 404 /up; location / {{ return 404; }} location /up {{ internal; add_header X {}; {} }}"
    pass_ = "proxy_pass http://127.0.0.1:{U};"
    assert verified(Pair("", text.format("a", pass_), text.format("b", pass_))).witness is None


def test_a_file_of_nginx_is_not_empty() -> None:
    """The file of a package is what it is: that it is empty is no premise."""
    pass_ = "fastcgi_pass 127.0.0.1:{U}; include fastcgi_params;"
    shown = witness(f"location / {{ {pass_} fastcgi_param A a; }}", f"location / {{ {pass_} fastcgi_param A b; }}")
    assert (shown.effects[0].what, shown.premises) == ("parameter A", ())


@pytest.mark.parametrize("protocol", ["fastcgi", "scgi", "uwsgi"])
def test_a_file_of_nginx_has_what_its_package_has(protocol: str) -> None:
    """A fallback that drops the arguments is seen by the application."""
    text = (
        f"root /r; location / {{{{ try_files $uri /index.php{{}}; }}}}"
        f" location /index.php {{{{ {protocol}_pass 127.0.0.1:{{{{U}}}}; include {protocol}_params; }}}}"
    )
    shown = witness(text.format("?$args"), text.format(""))
    assert [each.what for each in shown.effects] == ["parameter QUERY_STRING"]
    assert shown.premises == (f"{protocol}_params is the file that comes with nginx",)


@pytest.mark.parametrize(
    ("text", "premise"),
    [
        ("events {{ }} http {{ include /nowhere/none.conf; {} }}", EMPTY),
        ("{}", "nothing that was not read listens at 0.0.0.0:81"),
    ],
)
def test_a_server_that_was_not_read_may_listen(text: str, premise: str) -> None:
    """Where not all was read, the address may be one of a server there, which is a premise."""
    servers = ["server { listen 80; return 200 a; }", "server { listen 81; return 200 b; }"]
    result = verify(model(text.format(" ".join(servers))), model(text.format(servers[0])))
    assert result.witness is not None
    assert result.witness.new["outcome"]["kind"] == "refused"
    assert result.witness.premises == (premise,)


def test_an_address_that_another_one_covers() -> None:
    """Requests to a removed address may come to one that listens everywhere: nothing is refused then."""
    other = "server { listen 80; server_name h; return 200 a; }"
    both = f"server {{ listen 127.0.0.1:80; server_name h; return 200 a; }} {other}"
    result = verify(model(f"events {{ }} http {{ {both} }}"), model(f"events {{ }} http {{ {other} }}"))
    assert result.verdict == "unknown"
