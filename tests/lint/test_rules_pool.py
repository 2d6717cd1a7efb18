"""The pool rules: what a fix adds, when it needs premises, and when there is none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from nginxopt.config import Config, Directive, load, reread
from nginxopt.config.configuration import Scope
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS, WHOLE_CONFIGURATION, Safety, Severity
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.fix import fix
from nginxopt.lint.run import Linted, Selected
from nginxopt.settings.file import Settings
from nginxopt.version import Version
from tests.lint.pools import APP, CLEAR, OLD, PIVOT, POOL, V11, WS
from tests.lintcheck import diagnose, fixed, judge, read
from tests.rows import every_row

PREMISES_OF_POOLS = frozenset([HTTP11_BACKENDS, IDLE_CONNECTIONS])


POOL_RULES = ("upstream-keepalive-missing", "proxy-http-version", "proxy-connection-not-cleared", "websocket-map-close")


def fix_all(text: str, rules: tuple[str, ...], target: str, *, unsafe: bool = False) -> tuple[str, int]:
    """What one run of several rules makes of a configuration, and how many findings remain."""
    selected = tuple(Selected(catalogue()[rule], Severity.WARNING) for rule in rules)

    def again(texts: Mapping[str, bytes]) -> Config:
        return read(texts.get("nginx.conf", text.encode()))

    result = fix(again, Judge(selected, Version.parse(target), Settings(), assumed=PREMISES_OF_POOLS), unsafe=unsafe)
    drafts = result.drafts
    return (drafts["nginx.conf"].text.decode() if drafts else text), len(result.remaining.diagnostics)


@pytest.mark.parametrize("server", ["", "proxy_set_header Host $host;", V11, CLEAR])
def test_one_run_of_the_pool_rules_leaves_nothing(server: str) -> None:
    """One run fixes pool, version and header together, and a second run finds nothing."""
    text = f"events {{}}\nhttp {{ {APP}\nserver {{ {server}\nlocation / {{ proxy_pass http://app; }}\n}} }}\n"
    once, remaining = fix_all(text, POOL_RULES, OLD)
    assert remaining == 0
    assert fix_all(once, POOL_RULES, OLD) == (once, 0)
    assert all(line in once for line in ("keepalive 32;", V11, CLEAR))


@pytest.mark.parametrize("version", ["", V11])
@pytest.mark.parametrize("header", ["", CLEAR])
def test_a_missing_pool_is_one_finding(version: str, header: str) -> None:
    """Whatever an upstream lacks, one finding reports it, and its fix has every line that is missing."""
    text = f"events {{}}\nhttp {{ {APP}\nserver {{ {version} {header}\nlocation / {{ proxy_pass http://app; }}\n}} }}\n"
    (finding,) = [found for rule in POOL_RULES for found in diagnose(rule, text, target=OLD)]
    assert finding.rule == "upstream-keepalive-missing"
    fixed_text = fix_all(text, ("upstream-keepalive-missing",), OLD)[0]
    assert all(fixed_text.count(line) == 1 for line in ("keepalive 32;", V11, CLEAR))


def test_a_fragment_gets_all_lines() -> None:
    """What a fragment inherits is unknown: its locations get every line, under the premise that it inherits none."""
    text = f"{APP}\nserver {{\nlocation / {{ proxy_pass http://app; proxy_set_header Host $host; }}\n}}\n"
    (finding,) = [found for rule in POOL_RULES for found in diagnose(rule, text, target=OLD)]
    assert finding.fix is not None
    assert finding.fix.safety == Safety.under(*PREMISES_OF_POOLS, WHOLE_CONFIGURATION)
    after = fixed("upstream-keepalive-missing", text, target=OLD).decode()
    assert all(after.count(line) == 1 for line in ("keepalive 32;", V11, CLEAR))
    assert diagnose("upstream-keepalive-missing", after, target=OLD) == ()


@pytest.mark.parametrize("include", ["include proxy_params;", "include snippets/app.conf;"])
def test_what_is_left_where_a_location_cannot_be_seen(include: str) -> None:
    """Where a missing include may say how requests are passed, there is no half a fix, and the help has all lines."""
    text = f"events {{}}\nhttp {{ {APP}\nserver {{\nlocation / {{ proxy_pass http://app; {include} }}\n}} }}\n"
    (finding,) = diagnose("upstream-keepalive-missing", text, target=OLD)
    assert finding.fix is None
    assert all(line in finding.finding.help for line in ("keepalive", V11, CLEAR))


def test_an_upstream_for_tls_with_several_names_has_no_fix() -> None:
    """An upstream reached under several TLS names is reported without a fix: a pool would mix their connections."""
    passes = "".join(
        f"location /{name} {{ proxy_pass https://app; proxy_ssl_name {name}.test; }}" for name in ("a", "b")
    )
    (finding,) = diagnose("upstream-keepalive-missing", f"{APP} server {{ {passes} }}", context="http", target=OLD)
    assert finding.fix is None
    assert "its own upstream" in finding.finding.help


# Who else uses the variable of a map -> what stands in http, and in the server.
OTHER_USES = {
    "a log": ("log_format a $c;", ""),
    "a map": ("map $C $d { default 1; }", ""),
    "a row of a map": ("map $uri $d { default a${c}; }", ""),
    "another header": ("", "location /b { proxy_pass http://app; proxy_set_header X-A $c; }"),
    "a condition": ("", "if ($c = close) { return 403; }"),
    "Lua": ("", "location /b { content_by_lua_block { ngx.say(ngx.var.c) } }"),
    "Lua from a file": ("", "access_by_lua_file a.lua;"),
    "njs": ("js_import a.js; js_set $d a.d;", ""),
    "Perl": ("perl_set $d a::d;", ""),
    "SSI": ("", "location /b { ssi on; }"),
    "a module that is not known": ("", "location /b { frobnicate on; }"),
    "what was not read": ("", "location /b { include not-there.conf; }"),
    "a server that keeps nothing": ("", f"location /b {{ proxy_pass http://10.0.0.9; {WS} $c; }}"),
    "a server that keeps nothing, by inheritance": ("", f"{WS} $c; location /b {{ proxy_pass http://10.0.0.9; }}"),
    "an upstream that a request names": ("", f"location /b {{ proxy_pass http://$arg_a; {WS} $c; }}"),
    "a pass over HTTP/1.0": ("", f"location /b {{ proxy_http_version 1.0; {WS} $c; proxy_pass http://10.0.0.9; }}"),
    "a header with more in it": ("", f'location /b {{ {WS} "$c, x"; proxy_pass http://app; }}'),
}


def map_with(http: str = "", server: str = "") -> str:
    """A map that returns close, whose variable is sent to a pool, with other lines."""
    return (
        f"map $http_upgrade $c {{ default upgrade; '' close; }} {http} "
        f"{POOL} server {{ {V11} {server} location / {{ proxy_pass http://app; {WS} $c; }} }}\n"
    )


@every_row("case", OTHER_USES)
def test_a_map_with_other_uses_has_no_safe_fix(case: str) -> None:
    """The fix is unsafe, or missing, where something else may read the variable, whatever is assumed."""
    text = map_with(*OTHER_USES[case])
    (finding,) = diagnose("websocket-map-close", text, context="http", target=OLD)
    assert finding.fix is None or finding.fix.safety == Safety.UNSAFE


def test_a_map_without_other_uses_needs_premises_only() -> None:
    """Where only passes to pools send the variable, the fix needs the premises of the pool."""
    for more in ("", f"location /b {{ {V11} {WS} $c; proxy_pass http://app; }}"):
        (finding,) = diagnose("websocket-map-close", map_with("", more), context="http", target=OLD)
        assert finding.fix is not None
        assert finding.fix.safety.premises == PREMISES_OF_POOLS


def test_the_upgrade_lists_what_changes() -> None:
    """The finding about 1.29.7 names each pass and what changes for it."""
    other = f"location /b {{ {V11} proxy_pass http://10.0.0.1; }}"
    text = f"{APP} server {{ location / {{ proxy_pass http://app; }} {other} }}"
    (finding,) = diagnose("upgrade-behaviour", text, context="http", target=PIVOT)
    assert finding.finding.message.endswith(" in 2 places, with keepalive connections to 1 upstream")
    assert [related.message for related in finding.finding.related] == [
        "HTTP/1.1 instead of 1.0, no Connection: close, keepalive connections",
        "no Connection: close",
    ]


def test_a_pass_in_an_if_is_named() -> None:
    """A pool has no fix if one of its passes is in an `if`; all findings say where that pass is."""
    passes = "location /b { proxy_pass http://app; } location /a {\nif ($arg_x) { proxy_pass http://app; } }"
    found = diagnose("proxy-http-version", f"{POOL} server {{ {CLEAR} {passes} }}", context="http", target=OLD)
    line = found[-1].start.line
    advice = "the lines of a pool are not allowed in `if`: move the proxy_pass at nginx.conf:{} to a location"
    assert [(one.finding.fix, one.finding.help) for one in found] == 2 * [(None, advice.format(line))]


def test_a_shared_file_of_headers_stays_as_it_is(tmp_path: Path) -> None:
    """The header is added after the include of the location that needs it, not in the shared file."""
    shared = "proxy_set_header Host $host;\n"
    (tmp_path / "proxy_params").write_text(shared)
    (tmp_path / "nginx.conf").write_text(
        f"events {{}}\nhttp {{ {POOL}\nserver {{ {V11}\nlocation /a {{\n    include proxy_params;\n"
        "    proxy_pass http://app;\n}\nlocation /b { include proxy_params; proxy_pass http://10.0.0.2; }\n} }\n"
    )
    config = load(tmp_path / "nginx.conf")
    rule = catalogue()["proxy-connection-not-cleared"]
    judge = Judge((Selected(rule, None),), Version.parse(OLD), Settings(), assumed=PREMISES_OF_POOLS)
    drafts = fix(lambda texts: reread(config, texts), judge).drafts
    (path,) = drafts
    assert path.endswith("nginx.conf")
    assert f"    include proxy_params;\n    {CLEAR}\n    proxy_pass" in drafts[path].text.decode()


def test_upstreams_before_one_server_are_added_in_one_round() -> None:
    """One round adds an upstream for each server: their names differ, so their order does not matter."""
    rounds = []
    locations = "".join(f"location /{number}/ {{ proxy_pass http://10.0.0.{number}; }} " for number in range(1, 40))
    config = read(f"server {{ proxy_set_header Host $host; {locations} }}", "http")

    def judged(current: Config) -> Linted:
        rounds.append(current)
        return judge("implicit-upstream", current)

    fixed = fix(lambda texts: reread(config, texts), judged, unsafe=True)
    assert fixed.made["implicit-upstream"] == 39
    assert len(rounds) == 2


REFUSED = {
    "a balancer of Lua": "upstream app { server 0.0.0.1; balancer_by_lua_block { pick() } } "
    "server { location / { proxy_pass http://app; } }",
    "max_conns": "upstream app { server a max_conns=9; } server { location / { proxy_pass http://app; } }",
    "another protocol": f"{APP} server {{ location / {{ proxy_pass http://app; }} location /u {{ uwsgi_pass app; }} }}",
    "a variable that may name it over TLS": f"{APP} server {{ location / {{ proxy_pass http://app; }} "
    "location /v { proxy_pass https://$arg_a; } }",
    "a CRL in one place": f"{APP} server {{ location / {{ proxy_pass https://app; }} "
    "location /c { proxy_pass https://app; proxy_ssl_crl c.pem; } }",
    "a verify_depth in one place": f"{APP} server {{ location / {{ proxy_pass https://app; }} "
    "location /c { proxy_pass https://app; proxy_ssl_verify_depth 3; } }",
    "two commands of OpenSSL": f"{APP} server {{ proxy_ssl_conf_command A b; location / {{ proxy_pass https://app; }} "
    "location /c { proxy_pass https://app; proxy_ssl_conf_command C d; proxy_ssl_conf_command A b; } }",
    "a directive that is not known yet": f"{APP} server {{ location / {{ proxy_pass https://app; }} "
    "location /c { proxy_pass https://app; proxy_ssl_to_come on; } }",
    "a socket option in one server": f"{APP} server {{ location / {{ proxy_pass http://app; }} }} "
    "server { proxy_socket_keepalive on; location / { proxy_pass http://app; } }",
}


BY_REQUEST = {
    "the address of the client": f"{APP} server {{ location / {{ proxy_pass http://app; proxy_bind $remote_addr; }} }}",
    "a name by a variable": f"{APP} server {{ location / {{ proxy_pass https://app; proxy_ssl_name $host; }} }}",
    "a scheme by a variable": f"{APP} server {{ location / {{ proxy_pass $scheme://app; }} }}",
}


@pytest.mark.parametrize("http", BY_REQUEST.values(), ids=BY_REQUEST)
def test_connections_that_differ_by_request_need_no_pool(http: str) -> None:
    """There is neither a finding nor a fix."""
    text = f"events {{}}\nhttp {{ {http}\n}}\n"
    assert fix_all(text, POOL_RULES, OLD, unsafe=True)[0] == text
    assert diagnose("upstream-keepalive-missing", text, target=OLD) == ()


@every_row("http", REFUSED.values(), ids=REFUSED)
def test_a_pool_that_may_mix_connections_is_never_made(http: str) -> None:
    """There is no fix, whatever is assumed, and the finding says why."""
    text = f"events {{}}\nhttp {{ {http}\n}}\n"
    assert fix_all(text, POOL_RULES, OLD, unsafe=True)[0] == text
    findings = diagnose("upstream-keepalive-missing", text, target=OLD)
    assert findings
    assert all(finding.finding.help and finding.fix is None for finding in findings)


@pytest.mark.parametrize(
    ("rule", "upstream", "server"),
    [
        ("upstream-keepalive-missing", APP, ""),
        ("proxy-http-version", POOL, ""),
        ("proxy-connection-not-cleared", POOL, V11),
    ],
)
def test_a_missing_include_may_pass_to_an_upstream(rule: str, upstream: str, server: str) -> None:
    """A missing include adds the premise that nothing in it passes to the upstream."""
    text = f"{upstream} server {{ {server} location / {{ proxy_pass http://app; }} }} server {{ include no.conf; }}"
    (finding,) = diagnose(rule, text, context="http", target=OLD)
    assert finding.fix
    assert finding.fix.safety == Safety.under(*PREMISES_OF_POOLS, WHOLE_CONFIGURATION)
    assert fix_all(f"events {{}} http {{ {text} }}", (rule,), OLD)[0] == f"events {{}} http {{ {text} }}"


def test_what_is_the_same_may_share() -> None:
    """TLS settings that are equal in all places are one identity, and get a pool."""
    tls = "proxy_ssl_verify on; proxy_ssl_trusted_certificate ca.pem;"
    places = f"location /a {{ proxy_pass https://app; {tls} }} location /b {{ proxy_pass https://app; {tls} }}"
    other = f"server {{ location / {{ proxy_pass https://app; {tls} }} }}"
    text = f"events {{}}\nhttp {{ {APP} server {{ {places} }} {other} }}\n"
    assert fix_all(text, POOL_RULES, OLD)[0].count(V11) == 3


def test_a_part_that_is_declined_declines_the_whole() -> None:
    """Suppressing one finding of a pool withholds the fixes of the others, which say so."""
    text = (
        f"events {{}}\nhttp {{ {POOL}\nserver {{\n# nginxopt: ignore[proxy-http-version] it is old\n"
        "location / { proxy_pass http://app; }\n"
        f"location /a {{ proxy_pass http://app; }}\nlocation /b {{ proxy_pass http://app; {V11} }}\n}} }}\n"
    )
    assert fix_all(text, POOL_RULES, OLD, unsafe=True)[0] == text
    selected = tuple(Selected(catalogue()[rule], Severity.WARNING) for rule in POOL_RULES)
    diagnostics = Judge(selected, Version.parse(OLD), Settings())(read(text)).diagnostics
    assert {diagnostic.rule for diagnostic in diagnostics} == {
        "proxy-http-version",
        "proxy-connection-not-cleared",
    }
    assert all("is suppressed or recorded at nginx.conf:5" in diagnostic.finding.help for diagnostic in diagnostics)


@pytest.mark.parametrize("same", [True, False])
def test_a_file_that_several_servers_include_is_changed_once(tmp_path: Path, same: bool) -> None:
    """Lines that all readers of a file need are added once; nothing is added if they inherit other headers."""
    (tmp_path / "app.conf").write_text("location / {\n    proxy_pass http://app;\n}\n")
    other = "" if same else "proxy_set_header X-A 1; location /x { proxy_pass http://10.0.0.9; }"
    servers = f"server {{ include app.conf; }} server {{ {other} include app.conf; }}"
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{ {APP}\n{servers} }}\n")
    config = load(tmp_path / "nginx.conf")
    selected = tuple(Selected(catalogue()[rule], Severity.WARNING) for rule in POOL_RULES)
    judge = Judge(selected, Version.parse(OLD), Settings(), assumed=PREMISES_OF_POOLS)
    drafts = fix(lambda texts: reread(config, texts), judge).drafts
    texts = [draft.text.decode() for draft in drafts.values()]
    assert len(texts) == (2 if same else 0)
    assert sum(text.count(V11) for text in texts) == (1 if same else 0)


@pytest.mark.parametrize("value", ["$http_connection", "close"])
def test_what_a_server_says_holds_on_where_nothing_is_kept(value: str) -> None:
    """Locations without a pool keep an inherited header; the location with the pool gets its own."""
    header = f"proxy_set_header Connection {value};"
    text = f"{POOL}\nserver {{\n{V11}\n{header}\nlocation /a {{ proxy_pass http://app; }}\n"
    other = "location /b { proxy_pass http://10.0.0.9; }\n}\n"
    after = fixed("proxy-connection-not-cleared", text + other, context="http", target=OLD).decode()
    assert header in after
    assert after.endswith(other)
    assert f"location /a {{ proxy_pass http://app; {CLEAR} }}" in after


def test_a_configuration_is_read_as_often_however_many_upstreams_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code and subrequests, which concern every pass, are looked for once for all of them."""
    readings: list[Scope] = []
    walk = Scope.walk

    def counted(scope: Scope) -> Iterator[tuple[Directive, Scope]]:
        readings.append(scope)
        return walk(scope)

    monkeypatch.setattr(Scope, "walk", counted)

    def count(number: int) -> int:
        upstreams = "".join(f"upstream u{n} {{ server 10.0.0.1; }}\n" for n in range(number))
        locations = "".join(f"location /{n}/ {{ proxy_pass http://u{n}; }}\n" for n in range(number))
        readings.clear()
        fix_all(f"events {{}}\nhttp {{\n{upstreams}server {{\n{locations}}}\n}}\n", POOL_RULES, OLD)
        return len(readings)

    assert count(2) == count(20) > 0


def test_an_upstream_without_servers_needs_no_pool() -> None:
    """nginx refuses it, which is said by itself."""
    text = "upstream app {{ {} }} server {{ location / {{ proxy_pass http://app; }} }}"
    assert diagnose("upstream-keepalive-missing", text.format("server 192.0.2.1;"), context="http", target=OLD)
    assert diagnose("upstream-keepalive-missing", text.format(""), context="http", target=OLD) == ()


def test_a_variable_with_one_value_names_no_other_pool() -> None:
    """`set $flower http://flower:5555;` leads to an address, so the pool of `app` has its fix all the same."""
    other = "location /f { set $to http://flower:5555; proxy_pass $to; proxy_http_version 1.1; }"
    text = f"{POOL} server {{ location / {{ proxy_pass http://app; }} {other} }}"
    (found,) = diagnose("proxy-http-version", text, target=OLD, context="http")
    assert found.fix is not None
    (found,) = diagnose("proxy-http-version", text.replace("http://flower:5555", "$arg_a"), target=OLD, context="http")
    assert "may also pass to it" in found.finding.help
