"""Reports of a comparison for reviewers, with one module per format, imported on demand.

Input is a result with both models and the names of both files; output is text in one of `FORMATS` (`render`).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nginxopt.verify.formats.model import VerifyReport

FORMATS = ("markdown", "github", "sarif", "html")
"""The formats; each is a module of this package with `render(report)`."""


def render(report: VerifyReport, name: str) -> Iterator[str]:
    """Yield a report in a format, in pieces that follow each other."""
    module: Any = import_module(f"nginxopt.verify.formats.{name}")
    yield from module.render(report)
