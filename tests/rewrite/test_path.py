"""The number of patterns along the way of one request."""

from __future__ import annotations

import pytest

from nginxopt import load_text
from nginxopt.rewrite import Options, plan
from nginxopt.rewrite.kinds.kind import Cost
from tests.rows import every_row

RULES = "".join(f"rewrite ^/{name}/(.*)x$ /to/$1;\n" for name in "abc")
ROWS = "".join(f"~^/{name} 1;" for name in "abcd")


@every_row(
    ("text", "tried"),
    [
        pytest.param(f"server {{ {RULES} }} server {{ {RULES} }}", 3, id="one server"),
        pytest.param(f"server {{ location /a {{ {RULES} }} location /b {{ {RULES} }} }}", 3, id="one location"),
        pytest.param(f"server {{ {RULES} location /a {{ {RULES} }} }}", 6, id="server, then location"),
        pytest.param(f"server {{ location / {{ {RULES} location /b {{ {RULES} }} }} }}", 3 + 3, id="nested, at most"),
        pytest.param("server { location ~ ^/a { deny all; } location ~* b { } location / { } }", 2, id="any content"),
        pytest.param(f"server {{ location ~ a {{ }} location ^~ /b {{ {RULES} }} }}", 3, id="no regex location tried"),
        pytest.param(f"server {{ location ~ a {{ }} location /b {{ {RULES} }} }}", 4, id="regexes, then script"),
        pytest.param(f"server {{ location ~ a {{ }} location =/b {{ {RULES} }} }}", 3, id="none tried for ="),
        pytest.param(f"server {{ if ($uri ~ ^/p) {{ {RULES} }} }}", 1, id="rules inside an if"),
        pytest.param("server { if ($uri = /p) { return 404; } }", 0, id="no pattern"),
        pytest.param(f"map $uri $m {{ {ROWS} }} server {{ location /a {{ return 200 $m; }} }}", 4, id="a map"),
        pytest.param(
            f"map $uri $m {{ {ROWS} }} map $uri $n {{ {ROWS} }} server {{ location /a {{ return 200 $m; }}"
            " location /b { return 200 ${N}; } }",
            4,
            id="a map each",
        ),
        pytest.param(
            f"map $uri $m {{ {ROWS} }} map $host $n {{ default $m; a b; }} server {{ return 200 $n; }}",
            4,
            id="a map behind a map",
        ),
        pytest.param(f"map $uri $m {{ {ROWS} }} server {{ {RULES} }}", 7, id="a map whose readers were not read"),
    ],
)
def test_one_request(text: str, tried: int) -> None:
    """Only what one request tries together is added up; the way that costs most counts."""
    config = load_text(f"events {{}} http {{ {text} }}".encode(), "nginx.conf")
    assert plan(config, Options()).cost[0] == Cost.of(tried)


def test_after() -> None:
    """What moves is no longer tried, where it stands: here the longer list moves, and the shorter one remains."""
    listed = "".join(f"rewrite ^/{number}$ /to permanent;\n" for number in range(20))
    text = f"server {{ location /a {{ {listed} }} location /b {{ {RULES} }} }} server {{ {RULES} location ~ a {{ }} }}"
    before, after = plan(load_text(f"events {{}} http {{ {text} }}".encode(), "nginx.conf"), Options()).cost
    assert (before, after) == (Cost.of(20), Cost.of(4))


def test_a_part_of_a_configuration() -> None:
    """Of a file that is compiled alone, only its own statements count; included twice, it is tried once a request."""
    main = f"events {{}} http {{ server {{ {RULES} include rules.conf; }} server {{ include rules.conf; }} }}"
    config = load_text(main.encode(), "nginx.conf", missing_ok=True)
    assert plan(config, Options()).cost[0] == Cost.of(3)
