"""The templates of the bench, all of one environment."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from nginxopt.bench.rendering import template


def test_a_missing_value_is_an_error() -> None:
    """A template that is not given what it names renders nothing, rather than a hole."""
    with pytest.raises(UndefinedError):
        template("nginx.conf.j2").render(role="edge")


def test_nothing_is_escaped() -> None:
    """What goes into a configuration or a script stays as it is."""
    assert template("wrk.lua.j2").environment.autoescape is False
