"""Refuses outputs that would overwrite files of the user, of which no copy would be kept, or each other."""

from __future__ import annotations

import os
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


def refuse_shared(option: str, path: str | None, other: str, outputs: Iterable[str]) -> None:
    """Raise `UsageError` if the file of an option, if it is given, is one of the `outputs` of another option.

    The one that is written last would replace the other. Nor can it have the name of a folder that has them.
    """
    from nginxopt.system.writing.targets import is_stream

    if path is None or is_stream(path):
        return
    file = Path(os.path.realpath(path))
    if any(Path(os.path.realpath(output)).is_relative_to(file) for output in outputs):
        raise UsageError(f"{option} and {other} would both write {path}", hint="use different paths")


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
