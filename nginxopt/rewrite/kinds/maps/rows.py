"""Puts an assumed map around a file that contains only rows, so that it can be compiled."""

from __future__ import annotations

import codecs
from pathlib import Path

from nginxopt.config import Config, load_text, statements
from nginxopt.config.tree import parse
from nginxopt.errors import InputError, UsageError
from nginxopt.text import Source, encode

WORD = "map"
"""The name of the context of a file of rows."""


def is_context(context: str | None) -> bool:
    """Return whether the value of `--context` states that a file is included in a map."""
    return context is not None and context.split()[:1] == [WORD]


def head(context: str | None) -> str | None:
    """Return the head of the map in the value of `--context`, such as `map $uri $new`; None if the value is `map`.

    Raises `UsageError` for an invalid head.
    """
    if context is None or not is_context(context) or context.strip() == WORD:
        return None
    try:
        heads = list(statements(Source("--context", encode(f"{context};"))))
    except InputError:
        heads = []
    if len(heads) != 1 or len(heads[0].words) != 3 or not heads[0].words[2].startswith("$"):
        raise UsageError(f"not the head of a map: {context!r}", hint="--context takes map, or map SOURCE $VARIABLE")
    return " ".join(context.split())


def unknown(path: str, because: str | None = None) -> UsageError:
    """Return the error for a file of rows whose map is not known."""
    return UsageError(
        f"the map that includes {path} is unknown{f' ({because})' if because else ''}",
        hint="name it with --context 'map $uri $new', or the nginx.conf that includes it with -c",
    )


def wrapped(rows: Source, around: str, *, prefix: str | None) -> Config:
    """Return a configuration with one map around the rows of a file. The rows keep their line numbers.

    Raises `InputError` if the rows cannot be parsed.
    """
    data = rows.data
    text = encode(f"{around} {{ ") + data + (b"" if data.endswith(b"\n") else b"\n") + b"}\n"
    base = prefix if prefix is not None else str(Path(rows.path).parent)
    try:
        config = load_text(text, rows.path, prefix=base, context="http", missing_ok=True)
    except InputError:
        parse(rows)  # raises the error with its place in the file
        raise
    if len(config.main.block.nodes) > 1 or data.startswith(codecs.BOM_UTF8):
        parse(rows)
    return config
