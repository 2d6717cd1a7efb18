"""Refuses output files that a command has read: no copy of their text would be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nginxopt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def refuse(option: str, path: str | None, inputs: Iterable[str | None]) -> None:
    """Raise `UsageError` if the file of an option, if it is given, is one of the inputs, under whatever name."""
    from nginxopt.system.files import is_among

    if path is not None and is_among(path, (file for file in inputs if file is not None)):
        raise UsageError(f"{option} would overwrite the input file {path}")
