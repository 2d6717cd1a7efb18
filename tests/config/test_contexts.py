"""The context of a fragment, inferred from its directives or stated."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import Bulk, load, load_text
from nginxopt.config.configuration import parse_context
from nginxopt.config.tree import FOLD
from nginxopt.errors import UsageError
from tests.config.texts import rewrites, write
from tests.rows import every_row

# --- contexts


@every_row(
    ("text", "expected"),
    [
        (b"events {}", [""]),
        (
            b"rewrite a b;",
            ["http,server", "http,server,if", "http,server,location", "http,server,location,if"],
        ),
        (b"rewrite a b; location / {}", ["http,server", "http,server,location"]),
        (b"rewrite a b; listen 80;", ["http,server"]),
        (b"internal; include x;", ["http,server,location"]),
        (b"map $a $b {}", ["http", "stream"]),
        (b"server a:80;", ["http,upstream", "stream,upstream"]),
        (b"server {}", ["http", "mail", "stream"]),
        (b"listen 80; events {}", [""]),
        (b"/a b; unknown_directive c;", []),
        (b"server { listen 80; location / { proxy_pass http://x; } }", ["http"]),
        (b"server { listen 80; server_name a; }", ["http", "mail", "stream"]),
        (b"server { listen 53 udp; proxy_pass x; }", ["stream"]),
        (b"server { listen 25; protocol smtp; }", ["mail"]),
        (b"server { listen 80; include x; unknown a; }", ["http", "mail", "stream"]),
        (b"server { unknown { root a; } }", ["http", "mail", "stream"]),
        (b"upstream a { server b; }", ["http", "stream"]),
        (b"upstream a { server b; ip_hash; }", ["http"]),
        (b"map $a $b { root c; listen d; }", ["http", "stream"]),
        (b"location / { location /a { limit_except GET { deny all; } } }", ["http,server", "http,server,location"]),
        (b"root a; http { } valid_referers b;", [""]),
        (b"proxy_pass a; events { }", [""]),
        (b"proxy_pass a; add_header b c; listen 80; uwsgi_pass d;", []),
        (b"if ($a) { proxy_pass b; }", ["http,server,location"]),
        (b"if ($a) { return 404; }", ["http,server", "http,server,location"]),
        (b"server { listen 80; rewrite a b; location / { listen 80; } }", ["http"]),
        (b"server { protocol smtp; root a; }", ["http", "mail"]),
        (b"server { if ($a) { " + b"rewrite a b;" * 100 + b" } }", ["http"]),
    ],
)
def test_the_context_of_a_fragment(text: bytes, expected: list[str]) -> None:
    """A fragment may stand where all its known directives may, and where those in its blocks fit best."""
    candidates = load_text(text, includes=False).candidates
    assert [",".join(context) for context in candidates] == expected


def test_a_context_is_found_without_unfolding(monkeypatch: pytest.MonkeyPatch) -> None:
    """No directive of a folded run is made to find the context of a file."""
    monkeypatch.setattr(Bulk, "__iter__", lambda _: pytest.fail("a run was unfolded"))
    assert load_text(b"server {\n" + rewrites(FOLD) + b"\n}").candidates == (("http",),)


def test_a_stated_context(tmp_path: Path) -> None:
    """A context that is stated is the fragment's, and what it includes stands in it."""
    main = write(tmp_path, rules="if ($a) { include b.conf; }", b="rewrite c d;")
    config = load(main, context="server")
    assert config.candidates == (("http", "server"),)
    assert config.contexts(tmp_path / "b.conf") == (("http", "server", "if"),)


@every_row(
    ("text", "expected"),
    [
        ("main", ()),
        ("http", ("http",)),
        ("location", ("http", "server", "location")),
        ("http, location", ("http", "server", "location")),
        ("http,server,location,location", ("http", "server", "location", "location")),
        ("http,server,if", ("http", "server", "if")),
        ("stream,server", ("stream", "server")),
        (("http", "upstream"), ("http", "upstream")),
    ],
)
def test_contexts_as_they_are_written(text: str | tuple[str, ...], expected: tuple[str, ...]) -> None:
    """A context may be stated by its short name or in full."""
    assert parse_context(text) == expected


@pytest.mark.parametrize("text", ["", "servers", "server,http", "if", "http,if"])
def test_contexts_that_are_none(text: str) -> None:
    """What is no context of nginx is a wrong call."""
    with pytest.raises(UsageError, match="unknown context"):
        load_text(b"", context=text)
