"""How long the strings may be that patterns are matched against."""

from __future__ import annotations

import math

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options, plan, premises
from nginxopt.rewrite.premises import Lengths
from tests.rewrite import composed
from tests.rows import every_row

DOUBLING = "".join(f'map $d{level} $d{level + 1} {{ default "$d{level}$d{level}"; }}' for level in range(20))


@every_row(
    ("text", "value", "least", "most"),
    [
        ("", "$uri", 8_192, 8_192),
        ("", "$scheme$host$uri", 8_192, 30_000),
        ("", "$http_cookie", 32_768, 32_768),
        ("large_client_header_buffers 4 64k;", "$uri", 65_536, 65_536),
        ("map $uri $a { default $uri$uri; }", "$a", 16_384, 17_000),
        ('map $uri $a { ~^(.*)$ "$1$1$1"; }', "$a", 24_576, 25_000),
        ("map $uri $d0 { default $uri; }" + DOUBLING, "$d20", 8_192 << 20, 9_000 << 20),
        ("map $uri $a { default $b; } map $uri $b { default $a; }", "$a", math.inf, math.inf),
        ("server { set $a $uri; set $a $a$a; }", "$a", math.inf, math.inf),
        ("server { set $a x; }", "$a", 1, 1),
        ("server { rewrite ^/a/(.*)$ /b/$1 last; }", "$uri", 8_192, 9_000),
        ("server { rewrite ^/a/(.*)/(.*)$ /b/$2/$1 last; }", "$uri", 8_192, 9_000),
        ("server { rewrite ^(.*)$ /b/$1$1 last; }", "$uri", math.inf, math.inf),
        ("server { rewrite ^/((.*)x)$ /b/$1$2 last; }", "$uri", math.inf, math.inf),
        ("server { rewrite ^/(.*)$ /b/$1$uri; }", "$uri", math.inf, math.inf),
        ("server { rewrite ^(.*)$ /b/$1$1 permanent; }", "$uri", 8_192, 8_192),
        ("server { rewrite ^/(.*)$ /b?a=$1&b=$1 last; }", "$uri", 8_192, 9_000),
    ],
)
def test_a_bound(text: str, value: str, least: float, most: float) -> None:
    """The longest value, as far as the text shows."""
    lengths = Lengths(load_text(f"events {{}} http {{ {text} }}".encode(), "nginx.conf"))
    assert least <= lengths.of(value) <= most


@pytest.mark.parametrize(("http", "is_long"), [("map $uri $d0 { default $uri; }" + DOUBLING, True), ("", False)])
def test_long_sources_are_a_premise(http: str, *, is_long: bool) -> None:
    """It is not known whether PCRE gives up on strings of megabytes, which several maps make."""
    source = "$d20" if is_long else "$uri"
    text = composed.site(f"{http} map {source} $m0 {{ default none; {composed.rows(0)} }}")
    compiled = plan(load_text(text.encode(), "nginx.conf"), Options(groups=True))
    assert compiled.maps.compiled
    assert (premises.LONG_SUBJECTS in premises.of(compiled)) is is_long
