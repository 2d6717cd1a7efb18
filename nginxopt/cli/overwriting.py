"""Refuses outputs that would overwrite files of the user, of which no copy would be kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable


def refuse(option: str, path: str | None, inputs: Iterable[str | None]) -> None:
    """Raise `UsageError` if the file of an option, if it is given, is one of the inputs, under whatever name."""
    from nginxopt.system.files import is_among

    if path is not None and is_among(path, (file for file in inputs if file is not None)):
        raise UsageError(f"{option} would overwrite the input file {path}")


def refuse_filled(option: str, folder: str) -> None:
    """Raise `UsageError` unless the folder of an option is empty or does not exist, `InputError` if it is unreadable.

    Files of an earlier result are not replaced either: those that the new one does not have would remain among them.
    """
    try:
        is_filled = Path(folder).is_dir() and any(Path(folder).iterdir())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=folder) from None
    if is_filled:
        raise UsageError(f"{option} {folder}: directory is not empty", hint="use a new or empty directory")
