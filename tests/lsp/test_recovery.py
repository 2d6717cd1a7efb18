"""A text that does not parse is made one that does, with all else in its place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config.includes import parsed
from nginxopt.config.tree import Statement, statements
from nginxopt.lsp import recovery
from nginxopt.lsp.recovery import recovered
from nginxopt.text import Source
from tests.lsp.editing import MAIN, SITE
from tests.rows import every_row

_LONG = f"{MAIN}# a comment\n{SITE}map $uri $to {{ default 0; '~^/(a|b){{2}}$' \"$1\"; }}\n"


def names(data: bytes) -> list[tuple[str, int]]:
    """Return the directives of a text that is recovered, with their offsets."""
    file = recovered("nginx.conf", data)
    assert file is not None
    return [(str(directive.name), directive.name.start) for directive in file.block.walk()]


@every_row(
    ("before", "typed", "after"),
    [
        ("listen 80;", "listen 80; prox", ["server", "listen", "proxy_pass"]),
        ("    listen 80;", '    listen "80;', ["server", "location", "proxy_pass"]),
        ("location / {", "location / ", ["server", "listen"]),
        ("http://app;\n", "http://app\n", ["server", "listen", "location"]),
        ("listen 80;", "listen 80;}", ["server", "listen", "location", "proxy_pass"]),
        ("listen 80;", "listen 80;;", ["server", "listen", "location", "proxy_pass"]),
        ("listen 80;", "listen 80;\0", ["server", "listen", "location", "proxy_pass"]),
        ("server {", "\ufeffserver {", ["server", "listen", "location", "proxy_pass"]),
    ],
)
def test_only_what_cannot_be_read_is_lost(before: str, typed: str, after: list[str]) -> None:
    """A statement in the making hides at most those it swallows; the others keep their offsets."""
    text = SITE.replace(before, typed)
    found = names(text.encode())
    assert [name for name, _ in found if name in after] == after
    assert all(text.encode()[start:].startswith(name.encode()) for name, start in found)


@given(cut=st.integers(0, len(_LONG)), glue=st.sampled_from(["", "}", "{", ";", '"', "'", "a b\n", "\\"]))
def test_any_beginning_can_be_recovered(cut: int, glue: str) -> None:
    """What was typed so far parses once it is recovered, and each directive in it is one of the text."""
    text = (_LONG[:cut] + glue).encode()
    assert all(text[start:].startswith(name.encode()) for name, start in names(text) if not name.startswith("~"))


def test_a_text_that_parses_stays() -> None:
    """Nothing is taken from a text without faults."""
    file = recovered("x", _LONG.encode())
    assert file is not None
    assert file.source.data == parsed("x", _LONG.encode()).source.data


def test_a_text_with_too_many_faults_is_given_up() -> None:
    """A text that is nothing like a configuration has no directives."""
    assert recovered("x", b"; \n" * 1000) is None


@pytest.mark.parametrize(
    "text",
    [
        b"gzip on;\n" * 20_000 + b"; ;\n" * 40,
        b"server {\n" * 150 + b"listen 80;\n" * 20_000 + b"} ;\n" * 200,
        b"# a comment\n" * 20_000 + b"{\n" * 40,
        b"a {\n" * 20_000,
        b"{% if a %}" * 20_000,
    ],
    ids=["faults", "faults in blocks", "faults after comments", "blocks", "tags"],
)
def test_each_part_of_a_text_is_read_once(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements are counted: those before a fault are not read again after it."""
    read = 0

    def counted(source: Source) -> Iterator[Statement]:
        nonlocal read
        for statement in statements(source):
            read += 1
            yield statement

    monkeypatch.setattr(recovery, "statements", counted)
    recovered("x", text)
    assert read <= 22_000 + 200 * 50


@pytest.mark.parametrize("comment", ["# a\n", "# a\n  # b\n", "#" + "x" * 5_000 + "\n"])
def test_comments_before_a_fault_stay(comment: str) -> None:
    """What is replaced is the statement, and a comment only if it is the fault."""
    text = f"gzip on;\n{comment}; server {{\n listen 80;\n"
    assert [name for name, _ in names(text.encode())] == ["gzip", "server", "listen"]
    file = recovered("x", text.encode())
    assert file is not None
    assert (comment.encode() in file.source.data) == (len(comment) < 5_000)


def test_a_text_that_ends_with_a_comment_is_closed() -> None:
    """The missing braces are no part of the comment."""
    assert names(b"server { listen 80; # a") == [("server", 0), ("listen", 9)]
