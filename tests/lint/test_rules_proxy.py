"""Rules about proxies: where their fixes add lines. What they find stands in `cases/`."""

from __future__ import annotations

import pytest

from tests.lint.pools import CLEAR, OLD, POOL, V11
from tests.lintcheck import diagnose, fix_text
from tests.rows import every_row

FIXES: dict[str, tuple[str, str, str]] = {
    "the set of the location gets the header": (
        "proxy-http-version",
        "location / {\n    proxy_pass http://app;\n    proxy_set_header Host $host; # the name\n}\n",
        f"location / {{\n    proxy_pass http://app;\n    {V11}\n    proxy_set_header Host $host; # the name\n"
        '    proxy_set_header Connection "";\n}\n',
    ),
    "the set of the server gets it if all that uses it may": (
        "proxy-http-version",
        "proxy_set_header Host $host;\n"
        "location /a { proxy_pass http://app; }\nlocation /b { proxy_pass http://app; }\n",
        'proxy_set_header Host $host;\nproxy_set_header Connection "";\n'
        f"location /a {{ proxy_pass http://app; {V11} }}\nlocation /b {{ proxy_pass http://app; {V11} }}\n",
    ),
    "else the location gets a copy": (
        "proxy-http-version",
        'proxy_set_header Host $host;\nproxy_set_header X-A "1 2";\nlocation /a { proxy_pass http://app; }\n'
        "location /b { proxy_pass http://10.0.0.2; }\n",
        'proxy_set_header Host $host;\nproxy_set_header X-A "1 2";\nlocation /a { proxy_pass http://app; '
        f'{V11} proxy_set_header Host $host; proxy_set_header X-A "1 2"; proxy_set_header Connection ""; }}\n'
        "location /b { proxy_pass http://10.0.0.2; }\n",
    ),
    "no line goes into an if": (
        "proxy-connection-not-cleared",
        f"{V11} location / {{ if ($arg_a) {{ proxy_pass http://app; }} }}\n",
        f"{V11} location / {{ if ($arg_a) {{ proxy_pass http://app; }} }}\n",
    ),
    "one header alone": (
        "proxy-connection-not-cleared",
        f"{V11}\nlocation / {{\n    proxy_pass http://app;\n    proxy_set_header Host $host;\n}}\n",
        f"{V11}\nlocation / {{\n    proxy_pass http://app;\n    proxy_set_header Host $host;\n    {CLEAR}\n}}\n",
    ),
    "no version goes into an if": (
        "proxy-http-version",
        "location / { if ($arg_a) { proxy_pass http://app; } }\n",
        "location / { if ($arg_a) { proxy_pass http://app; } }\n",
    ),
    "line ends stay": (
        "proxy-http-version",
        "location / {\r\n\tproxy_pass http://app;\r\n}\r\n",
        "location / {\r\n\tproxy_pass http://app;\r\n\tproxy_http_version 1.1;\r\n"
        '\tproxy_set_header Connection "";\r\n}\r\n',
    ),
}


@every_row(("rule", "server", "after"), FIXES.values(), ids=FIXES)
def test_where_a_fix_puts_its_lines(rule: str, server: str, after: str) -> None:
    """The fix adds its lines in the right place and changes nothing else."""
    newline = "\r\n" if "\r\n" in server else "\n"
    head, tail = f"events {{}}{newline}http {{ {POOL}{newline}server {{{newline}", f"}} }}{newline}"
    result = fix_text(rule, (head + server + tail).encode(), target=OLD).decode()
    assert result == head + after + tail


def test_places_that_need_buffering_are_named_among_those_that_stream() -> None:
    """Of a setting that several locations inherit, the number alone says too little."""
    [found] = diagnose(
        "proxy-buffering-off",
        b"events {}\nhttp {\n  proxy_buffering off;\n  server {\n    location /a { proxy_pass http://10.0.0.1; }\n"
        b"    location /events { proxy_pass http://10.0.0.1; }\n  }\n}\n",
    )
    assert found.message.endswith(" in 1 of 2 places")
    assert [each.source.position(each.span.start).line for each in found.finding.related] == [5]


@pytest.mark.parametrize("code", ["access_by_lua_file router.lua;", "js_access router.pick;", ""])
def test_code_may_choose_another_server(code: str) -> None:
    """Lua and njs set variables for each request, so none has one value only."""
    text = f"keepalive_requests 10000; location / {{ set $port 8080; {code} proxy_pass http://127.0.0.1:$port; }}"
    assert bool(diagnose("upstream-variable-target", text, context="server")) is (not code)
