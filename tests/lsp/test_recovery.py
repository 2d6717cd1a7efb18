"""A text that does not parse is made one that does, with all else in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config.reader import parsed
from nginxopt.lsp.recovery import recovered
from tests.lsp.editing import MAIN, SITE

_LONG = f"{MAIN}# a comment\n{SITE}map $uri $to {{ default 0; '~^/(a|b){{2}}$' \"$1\"; }}\n"


def names(data: bytes) -> list[tuple[str, int]]:
    """Return the directives of a text that is recovered, with their offsets."""
    file = recovered("nginx.conf", data)
    assert file is not None
    return [(str(directive.name), directive.name.start) for directive in file.block.walk()]


@pytest.mark.parametrize(
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
