"""Loads the Jinja templates of the files of a benchmark (`nginxopt/bench/templates`)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def template(name: str) -> Template:
    """Return the template in a file. Nothing is escaped.

    The method `render` of the result raises `jinja2.UndefinedError` if a value is missing.
    """
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("nginxopt.bench"),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
