"""Compiles a file of rows by itself, inside an assumed map."""

from __future__ import annotations

import codecs
from pathlib import Path

from nginxopt.config import Config, load_text, statements
from nginxopt.config.tree import parse
from nginxopt.errors import InputError, UsageError
from nginxopt.text import Source, encode

WORD = "map"
"""The context of a file of rows."""


def is_context(context: str | None) -> bool:
    """Return whether `--context` states that a file is included in a map."""
    return context is not None and context.split()[:1] == [WORD]


def head(context: str | None) -> str | None:
    """Return the head of the map that `--context` names, such as `map $uri $new`; None if it names none.

    Raises `UsageError` if it is neither that nor the word `map`.
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
    """Return an error for a file of rows whose map is not known."""
    return UsageError(
        f"the map that includes {path} is unknown{f' ({because})' if because else ''}",
        hint="name it with --context 'map $uri $new', or the nginx.conf that includes it with -c",
    )


def wrapped(rows: Source, around: str, *, prefix: str | None) -> Config:
    """Return a configuration of one map with the rows of a file; their lines are those of the file.

    Raises `InputError` if they cannot be parsed.
    """
    data = rows.data
    text = encode(f"{around} {{ ") + data + (b"" if data.endswith(b"\n") else b"\n") + b"}\n"
    base = prefix if prefix is not None else str(Path(rows.path).parent)
    try:
        config = load_text(text, rows.path, prefix=base, context="http", missing_ok=True)
    except InputError:
        parse(rows)  # an error has its place in the file
        raise
    if len(config.main.block.nodes) > 1 or data.startswith(codecs.BOM_UTF8):
        parse(rows)
    return config
