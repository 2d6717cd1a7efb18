"""Renders HTML reports: pages of one design (`templates/page.html.j2`), each one file that asks for nothing else."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from nginxopt.text.display import count, xml

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup


def render(package: str, **values: Any) -> str:
    """Return the page that `templates/report.html.j2` of a package makes of values; all of them are escaped.

    The template extends `page.html.j2`. Raises `jinja2.UndefinedError` if a value is missing.
    """
    return xml(_template(package).render(values)) + "\n"


@cache
def _template(package: str) -> Template:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("nginxopt.text")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": lambda value: f"{value:,}", "code": _code, "noun": _noun}
    return environment.get_template("report.html.j2")


def _noun(number: int, noun: str) -> str:
    return count(number, noun).partition(" ")[2]


def _code(text: str) -> Markup:
    """Return a text in which what stands between grave accents is shown as code."""
    from markupsafe import Markup, escape

    parts = text.split("`")
    whole = len(parts) - (len(parts) % 2 == 0)  # an accent without a partner is one
    pieces = [Markup("<code>{}</code>").format(part) if n % 2 else escape(part) for n, part in enumerate(parts[:whole])]
    return Markup("").join(pieces) + "".join(f"`{part}" for part in parts[whole:])
