"""`verify` tells mistakes from edits that change nothing, and says what it does not know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nginxopt._native import common_subject
from nginxopt.budget import using
from nginxopt.config import load, load_text
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import Verification, unfold, verify
from nginxopt.verify.path_condition import PathCondition
from nginxopt.verify.symbols import Substitution, Symbol
from nginxopt.version import Version
from tests.rows import every_row
from tests.verify.pairs import (
    HARMLESS,
    INHERITED_ALIKE,
    INHERITED_UNLIKE,
    MISTAKES,
    UNKNOWN,
    UNLIKE,
    Pair,
    whole,
)

VERSION = Version(1, 22, 1)


def model(text: str, version: Version = VERSION) -> SiteModel:
    """The model of a whole configuration."""
    return SiteModel(load_text(text.encode(), "nginx.conf", missing_ok=True), Build(version))


def verified(pair: Pair) -> Verification:
    """What `verify` says of a pair."""
    return verify(model(whole(pair.old)), model(whole(pair.new)))


def names(pairs: tuple[Pair, ...]) -> list[str]:
    """The names of pairs, for pytest."""
    return [pair.name for pair in pairs]


@every_row("pair", MISTAKES, ids=names(MISTAKES))
def test_a_mistake_has_a_witness(pair: Pair) -> None:
    """A small mistake is different, with a request that both sides answer otherwise; so is undoing it."""
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        assert result.verdict == "different", result.doubts
        assert result.witness is not None
        assert result.witness.old["outcome"] != result.witness.new["outcome"]


@every_row("pair", HARMLESS, ids=names(HARMLESS))
def test_an_edit_that_keeps_the_meaning(pair: Pair) -> None:
    """An edit that changes nothing is equivalent, in both directions."""
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        assert result.verdict == "equivalent", (result.witness, result.doubts)


@every_row("pair", UNKNOWN, ids=names(UNKNOWN))
def test_what_is_not_known_is_in_doubt(pair: Pair) -> None:
    """What may change an answer, but is not shown by a request, is unknown, with a reason; what a request shows if a
    file that was not read is empty is different, and says so.
    """
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        is_shown = result.witness is not None and result.witness.premises[-1].endswith(" is empty")
        assert result.verdict == ("different" if is_shown else "unknown")
        assert result.doubts[0].reason


@every_row("pair", UNLIKE, ids=names(UNLIKE))
def test_values_that_only_seem_equal(pair: Pair) -> None:
    """Configurations that nginx answers differently are not equivalent, in both directions."""
    for result in (verified(pair), verified(Pair(pair.name, pair.new, pair.old))):
        assert result.verdict != "equivalent"


@pytest.mark.parametrize(
    "pairs", [MISTAKES, HARMLESS, UNKNOWN, UNLIKE], ids=["mistakes", "harmless", "unknown", "only seem equal"]
)
def test_a_configuration_is_equivalent_to_itself(pairs: Sequence[Pair]) -> None:
    """A configuration answers as itself, whatever stands in it."""
    assert [pair.name for pair in pairs if verified(Pair("", pair.old, pair.old)).verdict != "equivalent"] == []


@every_row("pair", [*INHERITED_UNLIKE, *INHERITED_ALIKE], ids=lambda pair: pair.name)
def test_inherited_headers(pair: Pair) -> None:
    """Headers are those of `add_header_inherit`, wherever it stands; trailers are too, and no request shows them."""
    trailers = Pair(
        pair.name, pair.old.replace("add_header", "add_trailer"), pair.new.replace("add_header", "add_trailer")
    )
    verdicts = ["different", "unknown"] if pair in INHERITED_UNLIKE else ["equivalent", "equivalent"]
    for sides, verdict in zip((pair, trailers), verdicts, strict=True):
        old, new = (model(whole(text), Version(1, 29, 3)) for text in (sides.old, sides.new))
        assert [verify(old, new).verdict, verify(new, old).verdict] == [verdict, verdict]


def test_versions_are_not_compared() -> None:
    """The same text for two versions of nginx is unknown: what nginx itself changed is not compared."""
    text = whole("return 200 a;")
    result = verify(model(text), model(text, Version(1, 28, 0)))
    assert [doubt.reason for doubt in result.doubts] == ["what differs between the versions of nginx is not compared"]


def test_the_work_is_bounded() -> None:
    """What is too much is unknown, with the servers, and servers share what may be done."""
    rules = [f"rewrite ^/[{name}]/(.*)$ /x/{name}/$1 permanent;" for name in "abcdefgh"]
    old, new = (
        "".join(f"server {{ listen 127.0.0.1:80{number}; {' '.join(order)} }}\n" for number in range(10, 14))
        for order in (rules, rules[::-1])
    )
    with using({"steps": 60}):
        result = verify(model(whole(old)), model(whole(new)))
        assert result.verdict == "unknown"
        reasons = [doubt.reason for doubt in result.doubts]
        assert reasons == ["too much differs to compare all requests (budget steps)"] * 4
        assert verify(model(whole(old)), model(whole(old))).verdict == "equivalent"


def test_the_work_ends_within_a_long_map(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rows of one map are divided into is no more than may be done, however long the map."""
    parts: list[PathCondition] = []
    with_row = unfold._in

    def counted(region: PathCondition, pair: unfold.Pair, symbol: Symbol, put: Substitution) -> unfold.Pair:
        parts.append(region)
        return with_row(region, pair, symbol, put)

    monkeypatch.setattr(unfold, "_in", counted)
    rows = [f"~^/r{number}/ {number};" for number in range(500)]
    old, new = (f"map $uri $a {{ {' '.join(order)} }}\nserver {{ return 200 $a; }}\n" for order in (rows, rows[::-1]))
    with using({"steps": 100}):
        result = verify(model(whole(old)), model(whole(new)))
    assert [doubt.reason for doubt in result.doubts] == ["too much differs to compare all requests (budget steps)"]
    assert 0 < len(parts) <= 100


def test_hard_patterns_take_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches count by the automata that they build, whichever part of the comparison asks, and a doubt names one."""
    taken: list[int] = []

    def counted(*asked: Any) -> tuple[bool, bytes | None, int]:
        found = common_subject(*asked)
        taken.append(found[2])
        return found

    monkeypatch.setattr("nginxopt.verify.path_condition.common_subject", counted)
    rows = [f'"~(b|c)*b(b|c){{9}}/x{number}" /to/{number};' for number in range(14)]
    old, new = (
        f"map $request_uri $a {{ {' '.join(order)} }}\nserver {{ if ($a) {{ return 301 $a; }} return 200 a; }}\n"
        for order in (rows, rows[::-1])
    )
    with using({"steps": 3_000}):
        result = verify(model(whole(old)), model(whole(new)))
    (doubt,) = result.doubts
    assert doubt.reason.startswith('patterns such as "(b|c)*b(b|c){9}/x')
    assert doubt.reason.endswith('" take too long to compare all requests (budget steps)')
    assert 0 < sum(taken) < 200 * 3_000 + 2 * max(taken)


def test_a_value_that_doubles_in_a_loop() -> None:
    """Arguments that double with each choice of a location grow by one term each."""
    text = "location / {{ rewrite ^ /a?$args&$args&x last; if ($arg_x) {{ rewrite {} /b last; }} }}"
    result = verify(model(whole(text.format("^/c"))), model(whole(text.format("^/d"))))
    assert result.verdict == "equivalent"  # nothing leads past the first rewrite


def test_what_does_not_count_as_an_answer_is_named() -> None:
    """Compression and logs do not count as an answer, and it is said that they differ."""
    result = verify(model(whole("gzip on; access_log off; return 200;")), model(whole("gzip off; return 200;")))
    assert result.verdict == "equivalent"
    assert "these differ, and do not count as an answer: access_log, gzip" in result.given
    assert not any("count" in premise for premise in verify(*[model(whole("gzip on; return 200;"))] * 2).given)


@pytest.mark.parametrize(
    "text",
    [
        "rewrite ^/a$ /$SSL_Protocol;" + "".join(f"rewrite ^/{number}$ /b;\n" for number in range(100)),
        "map $ssl_protocol $x {{ a b; }} server {{ listen 80; add_header X $x; ssl_protocols {}; }}",
        "map $uri $x {{ a ${{ssl_protocol}}b; }} server {{ listen 80; add_header X $x; ssl_protocols {}; }}",
        "upstream a {{ server 127.0.0.1; hash $ssl_protocol; }} server {{ listen 80; ssl_protocols {}; "
        "location / {{ proxy_pass http://a; }} }}",
        "rewrite_by_lua_block {{ ngx.exit(ngx.var.ssl_protocol) }} return 200;",
    ],
)
def test_a_directive_counts_where_a_variable_shows_it(text: str) -> None:
    """In a folded run of rewrites, a map, the key of an upstream and a program."""
    text = text if "{}" in text else "ssl_protocols {}; " + text
    old, new = (model(whole(text.format(version))) for version in ("TLSv1.2", "TLSv1.3"))
    assert verify(old, new).verdict == "unknown"
    assert not any("ssl_protocols" in premise for premise in verify(old, new).given)


def test_what_stands_outside_of_http_is_named() -> None:
    """It is not compared, and what of it differs is named; a file that is included is as good as its content."""
    old = "user a; events {{ worker_connections 10; }} stream {{ server {{ listen 1; return a; }} }} {} http {{ {} }}"
    new = "user b; events {{ worker_connections 20; }} stream {{ server {{ listen 2; return a; }} }} {} http {{ {} }}"
    site = "server { listen 80; return 200; }"
    unlike = "these differ, and are not compared, as they stand outside of http: stream, user, worker_connections"
    assert unlike in verify(model(old.format("", site)), model(new.format("", site))).given
    missing = verify(model(old.format("", site)), model(old.format("include nx/*.x;include nx.conf;", site))).given
    assert "these differ, and are not compared, as they stand outside of http: include" in missing
    for text in (old.format("include nx.conf;", site), old.format("", site), "location / { return 200; }"):
        assert not any("outside of http" in premise for premise in verify(model(text), model(text)).given)


def test_the_limit_of_internal_redirects_is_taken_as_given() -> None:
    """Only where one side makes fewer of them: nginx counts them over all scripts and error pages of a request."""
    chain = "".join(f"location = /{number} {{ rewrite ^ /{number + 1} last; }} " for number in range(1, 9))
    rest = "error_page 404 /e; location = /e { rewrite ^ /f last; } location = /9 { return 404; }"
    long, short = (f"location = /0 {{ rewrite ^ /{first} last; }} {chain} {rest}" for first in (1, 9))
    result = verify(model(whole(long)), model(whole(short)))
    assert result.verdict == "equivalent"
    limit = "no request comes to nginx's limit of ten internal redirects: one side makes fewer of them (redirect-limit)"
    assert limit in result.given
    assert limit not in verify(model(whole(long)), model(whole(long.replace("/0", "/00")))).given


def test_what_is_checked_as_a_location_is_entered_is_named() -> None:
    """A location refuses a large body before its script runs, a server does not; too large a one is not tried."""
    old, new = (
        model(whole(f"client_max_body_size 1g; {redirect} location / {{ return 200; }}"))
        for redirect in ("if ($uri = /a) { return 301 /b; }", "location = /a { return 301 /b; }")
    )
    result = verify(old, new)
    reason = "nginx checks client_max_body_size as it enters a location, and not alike on both sides"
    assert reason in {doubt.reason for doubt in result.doubts}


def in_files(folder: Path, files: dict[str, str]) -> SiteModel:
    """The model of a configuration in files, of which one is nginx.conf."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return SiteModel(load(folder / "nginx.conf"), Build(VERSION))


def test_a_configuration_that_is_split_into_files(tmp_path: Path) -> None:
    """What includes bring is compared as if it stood there: a file for two servers, and one for each of them."""
    headers, rules = "add_header X-A 1; add_header X-B 2;", "rewrite ^/a$ /b permanent;"
    server = "server {{ listen 127.0.0.1:80; server_name {}; {} location / {{ {} return 200 x; }} }}\n"
    inner = rules, headers
    whole_text = "".join(server.format(name, *inner) for name in "ab")
    one = in_files(tmp_path / "one", {"nginx.conf": f"events {{}} http {{ {whole_text} }}"})
    split = in_files(
        tmp_path / "split",
        {
            "nginx.conf": "events {} http { include sites/*.conf; }",
            "sites/a.conf": server.format("a", "include rules;", "include headers;"),
            "sites/b.conf": server.format("b", "include rules;", "include headers;"),
            "headers": headers,
            "rules": rules,
        },
    )
    assert verify(one, split).verdict == verify(split, one).verdict == "equivalent"
    (tmp_path / "split" / "headers").write_text("add_header X-A 1;")
    changed = SiteModel(load(tmp_path / "split" / "nginx.conf"), Build(VERSION))
    assert verify(one, changed).verdict == verify(changed, split).verdict == "different"


def test_files_in_another_order(tmp_path: Path) -> None:
    """The first server of an address is the default one, and files are read by their names."""
    server = "server {{ listen 127.0.0.1:80; server_name {0}; return 200 {0}; }}"
    main = "events {} http { include sites/*; }"
    old, new, more = (
        in_files(
            tmp_path / folder, {"nginx.conf": main, **{f"sites/{name}": server.format(host) for name, host in files}}
        )
        for folder, files in (
            ("old", [("1", "a"), ("2", "b")]),
            ("new", [("2", "a"), ("1", "b")]),
            ("more", [("1", "a"), ("2", "c"), ("3", "b")]),
        )
    )
    assert verify(old, new).verdict == "different"
    assert verify(old, more).verdict == "different"
    assert verify(old, old).verdict == "equivalent"


@every_row("body", ["$http2", "$server_protocol", "$request", "${REQUEST}"])
@every_row(
    ("old", "new"),
    [
        ("listen 127.0.0.1:8443 ssl; http2 on;", "listen 127.0.0.1:8443 ssl;"),
        ("listen 127.0.0.1:8443 ssl http2;", "listen 127.0.0.1:8443 ssl;"),
    ],
)
def test_the_protocol_counts_where_it_is_shown(body: str, old: str, new: str) -> None:
    """A client gets HTTP/2 only where it is on, and a variable says which protocol it is."""
    text = "ssl_certificate a; ssl_certificate_key b; {} return 200 {};"
    sides = [whole(f"server {{ {text.format(listen, body)} }}") for listen in (old, new)]
    assert verify(*[model(side, Version(1, 28, 0)) for side in sides]).verdict == "unknown"
    hidden = [side.replace(body, "$request_uri") for side in sides]
    assert verify(*[model(side, Version(1, 28, 0)) for side in hidden]).verdict == "equivalent"


@every_row(
    ("old", "new", "is_equal"),
    [
        ("$v23", "$v23", True),
        ("$v23", "$v22$v22$v22$v22", True),
        ("$v23", "${v23}x", False),
        ("$v23", "x$v23", False),
        ("$v23-$v22", "$v22-$v23", False),
    ],
)
@every_row("start", ["abcd", "$http_a", "$uri$arg_a"])
def test_long_values_are_those_of_equal_terms(start: str, old: str, new: str, is_equal: bool) -> None:
    """A value of 4^23 parts is known by what it is made of: equal terms are equal values, others may differ."""
    sets = "".join(f'set $v{n} "{f"$v{n - 1}" * 4}"; ' for n in range(1, 24))
    text = f"location / {{ set $v0 {start}; {sets} return 200 "
    result = verify(*[model(whole(f"{text}{end}; }}")) for end in (old, new)])
    assert (result.verdict == "equivalent") is is_equal


@pytest.mark.parametrize("name", ["gzip on", "limit_rate 1k", "sendfile on", "tcp_nopush on"])
def test_what_does_not_count_is_named_where_it_moves(name: str) -> None:
    """A setting that does not count and is in force elsewhere now is named, as one with another value is."""
    old = f"location /a {{ {name}; }} location /b {{ }}"
    new = f"location /a {{ }} location /b {{ {name}; }}"
    result = verify(model(whole(old)), model(whole(new)))
    assert result.verdict == "equivalent"
    assert f"these differ, and do not count as an answer: {name.split()[0]}" in result.given
    assert not any("differ" in premise for premise in verify(*[model(whole(old))] * 2).given)
