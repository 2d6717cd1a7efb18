"""Lowers texts for tests."""

from __future__ import annotations

import json
from typing import Any

from nginxopt.config import load_text
from nginxopt.config.filesystem import Overlay
from nginxopt.semantics.site import Build, LoweredSite, lower
from nginxopt.version import Version

TARGET = Version(1, 28, 0)


def site_of(text: str | bytes, target: Version = TARGET, /, *, context: str | None = None, **files: str) -> LoweredSite:
    """The site of a main file; the others lie beside it, a `_` of their names standing for a dot."""
    data = text if isinstance(text, bytes) else text.encode()
    texts = {f"/conf/{name.replace('_', '.')}": content.encode() for name, content in files.items()}
    config = load_text(data, "/conf/nginx.conf", context=context, missing_ok=True, files=Overlay(texts))
    return lower(config, Build(target))


def form_of(text: str | bytes, /, *, context: str | None = None, **files: str) -> dict[str, Any]:
    """What the model reads of that site."""
    form: dict[str, Any] = json.loads(site_of(text, context=context, **files).form)
    return form


def in_server(text: str) -> dict[str, Any]:
    """What the model reads of a server with this content."""
    return form_of(f"http {{ server {{ {text} }} }}")


def settings(form: dict[str, Any], level: int) -> dict[str, list[list[str]] | None]:
    """The settings that a level has otherwise than the one around it, with the arguments of their directives."""
    directives = form["directives"]
    return {
        name: None if ids is None else [directives[number]["args"] for number in ids]
        for name, ids in form["levels"][level]["settings"].items()
    }


def opaque(form: dict[str, Any], level: int) -> list[str]:
    """The reasons for which anything is possible once the script of a level has run."""
    return [item["reason"] for item in form["levels"][level]["opaque"]]


def script(form: dict[str, Any], level: int) -> list[tuple[str, ...]]:
    """The statements of a level: their kind, and what is known of them."""
    return [_statement(statement) for statement in form["levels"][level]["script"]]


def _statement(statement: dict[str, Any]) -> tuple[str, ...]:
    values = (value for name, value in statement.items() if name not in ("kind", "node", "text", "start", "end"))
    return statement["kind"], *(str(value) for value in values)
