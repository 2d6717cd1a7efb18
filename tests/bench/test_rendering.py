"""The templates of the bench, all of one environment."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from nginxopt.bench.rendering import template


def test_a_missing_value_is_an_error() -> None:
    """A template that is not given what it names renders nothing, rather than a hole."""
    with pytest.raises(UndefinedError):
        template("nginx.conf.j2").render(role="edge")


def test_only_pages_are_escaped() -> None:
    """What goes into HTML is escaped, and what goes into a configuration is not."""
    escapes = {name: template(name).environment.autoescape for name in ("report.html.j2", "nginx.conf.j2")}
    chosen = {name: choose(name) if callable(choose) else choose for name, choose in escapes.items()}
    assert chosen == {"report.html.j2": True, "nginx.conf.j2": False}
