"""Rules about configurations that nginx refuses, beyond the examples of their pages."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.facts.vendors import target
from nginxopt.lint import Safety
from nginxopt.version import Version
from tests.lintcheck import diagnose, fixed, judge
from tests.rows import every_row

SILENT = {
    "a module's own directive": "http { mruby_init /a.rb; check interval=3000; brotli_types text/css; }",
    "a module that looks like nginx's own": "http { server { location / { subs_filter a b; proxy_wasm c; } } }",
    "a newer directive": "http { http3 on; early_hints 1; server { http2 on; max_headers 100; } }",
    "one of NGINX Plus": "http { server { location /api { api write=on; status_zone a; health_check; } } }",
    "rows of a map": "http { map $uri $a { proxy_passs 1; include rows.map; } }",
    "networks and names": "http { geo $a { defaul 1; lisen 2; } split_clients $uri $b { 50% a; } }",
    "a block of a module": "rtmp { server { lisen 1935; application live { sever 1; } } }",
    "a type": "http { types { text/html html; } }",
    "Lua": "http { server { location / { content_by_lua_block { local lisen = 1; sever = 2; } } } }",
    "stream": "stream { server { listen 1; proxy_pass 127.0.0.1:2; } }",
}


@every_row("case", SILENT)
def test_names_of_others(case: str) -> None:
    """Directives of modules, newer directives and values are not reported."""
    assert diagnose("unknown-directive", f"events {{}}\n{SILENT[case]}\n") == ()


FOUND = {
    "main": "worker_proceses auto; events {}",
    "events": "events { worker_conections 512; }",
    "http": "http { sendfil on; }",
    "a location": "http { server { location / { try_file a b; } } }",
    "an if": "http { server { if ($a) { retrun 301 /; } } }",
    "an upstream": "http { upstream a { serve 10.0.0.1; } }",
    "stream": "stream { server { proxy_pas 127.0.0.1:2; } }",
    "a block": "http { sever { listen 80; } }",
}


@every_row("case", FOUND)
def test_misspelt(case: str) -> None:
    """A misspelt directive is reported in every context, at its name."""
    (diagnostic,) = diagnose("unknown-directive", FOUND[case])
    finding = diagnostic.finding
    assert diagnostic.fix is not None
    assert diagnostic.fix.safety is Safety.UNSAFE
    assert f'"{finding.source.text(finding.span)}"' in diagnostic.message


def test_where_several_may_be_meant_there_is_no_fix() -> None:
    """A name that resembles several directives has no fix."""
    (diagnostic,) = diagnose("unknown-directive", "http9 on;\n", context="server")
    assert diagnostic.fix is None
    assert diagnostic.finding.help == 'replace it with "http" or "http2" or "http3"'
    assert fixed("unknown-directive", "http9 on;\n", context="server") == b"http9 on;\n"


def test_a_name_in_quotes_is_replaced_as_a_whole() -> None:
    """The fix replaces a quoted name with its quotes."""
    assert fixed("unknown-directive", '"sendfil" on;\n', context="http") == b"sendfile on;\n"


@pytest.mark.parametrize(("rows", "number"), [("/old /new;\nlisten. 1;\n", 0), ("listen 80;\nserver_nam a;\n", 1)])
def test_a_file_of_rows_is_none_of_directives(rows: str, number: int) -> None:
    """A fragment with hardly any known directive is a file of rows, not of misspelt directives."""
    config = load_text(rows.encode(), "rows.conf")
    assert len(judge("unknown-directive", config).diagnostics) == number


def test_an_include_is_not_written() -> None:
    """A misspelt `include` has no fix: the files that it names may not be configurations."""
    (diagnostic,) = diagnose("unknown-directive", "Include all vhosts;\n", context="http")
    assert diagnostic.fix is None
    assert diagnostic.finding.help == 'replace it with "include"'


@every_row(
    ("text", "place", "places"),
    [
        ("stream { upstream u { ip_hash; server 127.0.0.1:1; } }", "upstream of stream", "upstream"),
        ("stream { server { index a; } }", "server of stream", "http, server, location"),
        ("mail { server { index a; } }", "server of mail", "http, server, location"),
        ("http { server { ssl_preread on; } }", "server", "stream, server of stream"),
        ("http { server { if ($uri) { expires 1d; } } }", "if in server", "http, server, location, if in location"),
        ("http { gzip on; } location / { }", "main", "server, location"),
    ],
)
def test_a_misplaced_directive_names_both_places(text: str, place: str, places: str) -> None:
    """A block of stream or mail is not the one of http that has the same name."""
    (found,) = diagnose("misplaced-directive", f"events {{}} {text}")
    assert found.finding.message.endswith(f" is not allowed in {place}")
    assert found.finding.help == f"nginx allows it in {places}"


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        ("set $a 1;", "set the variable with a map, or let the if return or rewrite"),
        (
            "expires 1d; set $a 1;",
            "use expires with the variable of a map in the location, or let the if return or rewrite",
        ),
        ("root /b;", "let the if rewrite to a location of its own that has root"),
    ],
)
def test_the_advice_about_an_if_fits_its_directives(content: str, advice: str) -> None:
    """A map gives a variable to what takes one; other settings need a location."""
    text = f"root /a; location / {{ if ($http_cookie) {{ {content} }} try_files $uri /index.php; }}"
    (found,) = diagnose("if-surprise", text, context="server")
    assert found.finding.help == advice


@every_row(
    ("value", "read_as"),
    [
        ("/a$is_args$args", "plain text"),
        ("$scheme://b", "the name of a variable"),
        ("${scheme}", "the name of a variable"),
        ("$1", "the name of a variable"),
        ("$uri", None),
        ("'5$'", None),
    ],
)
def test_values_of_maps_before_combinations(value: str, read_as: str | None) -> None:
    """Before 1.11.0, the first byte of a value decides what nginx takes it for (CHANGES 1.11.0)."""
    text = f"map $uri $new {{ include rows; ~^/(a) {value}; }}"
    found = diagnose("newer-directive", text, context="http", target=Version(1, 10, 3))
    needs = f"this value needs nginx 1.11.0; nginx 1.10.3 takes it for {read_as}"
    assert [diagnostic.message for diagnostic in found] == [needs] * (read_as is not None)
    assert diagnose("newer-directive", text, context="http", target=Version(1, 11, 0)) == ()


def test_a_directive_of_a_vendor_is_told_as_such() -> None:
    """Angie's are named as such, unless the target is Angie, or a module or what was not read may have them."""
    text = "events {} http { ssl_ntls on; server { location / { echo_sleep 1; } } }\n"
    (diagnostic,) = judge("unknown-directive", load_text(text.encode()), Version(1, 28, 0)).diagnostics
    assert "Angie has it" in diagnostic.message
    assert diagnostic.fix is None
    assert judge("unknown-directive", load_text(text.encode()), target("angie-1.12")).diagnostics == ()
    assert (
        judge("unknown-directive", load_text(b"load_module a.so; " + text.encode()), Version(1, 28, 0)).diagnostics
        == ()
    )
    assert diagnose("unknown-directive", "ssl_ntls on;\n") == ()
