"""The directories whose rules the user lets run: those that `nginxopt rules trust` has recorded.

The record is `nginxopt/trusted` in `$XDG_CONFIG_HOME`, by default `~/.config`, with a path on each line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from nginxopt.errors import InputError
from nginxopt.system import trust


def record() -> Path:
    """Return the path of the record."""
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    return Path(home if home.is_absolute() else Path.home() / ".config", "nginxopt", "trusted")


def folders() -> tuple[Path, ...]:
    """Return the trusted directories, sorted. Raises `InputError` for a record that may be another user's."""
    path = record()
    try:
        data, reason = trust.read(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    if reason is not None:
        raise InputError(f"this list of trusted directories may be another user's: {reason}", path=str(path))
    return tuple(sorted(Path(os.fsdecode(line)) for line in data.splitlines() if line))


def is_trusted(folder: str | os.PathLike[str]) -> bool:
    """Return whether a directory, or one above it, is trusted; links are followed."""
    real = Path(os.path.realpath(folder))
    return any(real.is_relative_to(trusted) for trusted in folders())


def add(folder: str | os.PathLike[str]) -> Path:
    """Trust a directory, and return its path. Raises `InputError` if it cannot be recorded."""
    real = Path(os.path.realpath(folder))
    if "\n" in str(real) or "\r" in str(real):
        raise InputError("the name has a line end", path=str(folder))
    _write({*folders(), real})
    return real


def remove(folder: str | os.PathLike[str]) -> bool:
    """Stop trusting a directory; return whether it was trusted. Raises `InputError` as `add` does."""
    before, real = set(folders()), Path(os.path.realpath(folder))
    if real in before:
        _write(before - {real})
    return real in before


def _write(trusted: Iterable[Path]) -> None:
    from nginxopt.system.files import write_all  # each run of lint reads the record, and few write it

    path = record()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", path=str(path.parent)) from None
    write_all({str(path): b"".join(os.fsencode(folder) + b"\n" for folder in sorted(trusted))})
