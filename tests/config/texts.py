"""Helpers for tests of configurations: files to write, and trees as plain values."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import Directive, load, load_text
from nginxopt.config.tree import parse
from nginxopt.errors import InputError
from nginxopt.text import Source


def write(directory: Path, **files: str) -> Path:
    """Write files (`__` in a name stands for `/`, all end in `.conf`); return the path of the first."""
    paths = [directory / f"{name.replace('__', '/')}.conf" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return paths[0]


def tree(text: bytes) -> list[Directive]:
    """Every directive of a text."""
    return list(parse(Source("f", text)).walk())


def texts(directive: Directive) -> list[str]:
    """The arguments as they are written."""
    return [directive.source.text(arg.span) for arg in directive.args]


def rewrites(count: int) -> bytes:
    """A run of rewrites with comments in it."""
    return b"\n".join(b"rewrite ^/a%d$ /b last; # c" % number for number in range(count))


# --- what cannot be read


def refused(call: Path | bytes) -> InputError:
    """The error of reading a file or a text."""
    with pytest.raises(InputError) as caught:
        load(call) if isinstance(call, Path) else load_text(call, "f.conf")
    assert caught.value.exit_code == 3
    return caught.value
