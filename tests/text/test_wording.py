"""Numbers of things in words, and the one environment of all templates."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from nginxopt.text.plural import be, count
from nginxopt.text.templates import template


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 keys are"), (1, "1 key is"), (2, "2 keys are"), (12_345, "12,345 keys are")]
)
def test_one_thing_and_others(number: int, expected: str) -> None:
    """One thing is, any other number are; thousands are set apart."""
    assert f"{count(number, 'key')} {be(number)}" == expected


def test_a_plural_of_its_own() -> None:
    """A noun whose plural does not end in s alone brings it."""
    assert [count(number, "entry", "entries") for number in (1, 3)] == ["1 entry", "3 entries"]


def test_a_missing_value_is_an_error() -> None:
    """A template that is not given what it names renders nothing, rather than a hole."""
    with pytest.raises(UndefinedError):
        template("bench/nginx.conf.j2").render(role="edge")


def test_only_pages_are_escaped() -> None:
    """What goes into HTML is escaped, and what goes into a configuration is not."""
    escapes = {name: template(name).environment.autoescape for name in ("bench-report.html.j2", "bench/nginx.conf.j2")}
    chosen = {name: choose(name) if callable(choose) else choose for name, choose in escapes.items()}
    assert chosen == {"bench-report.html.j2": True, "bench/nginx.conf.j2": False}
