"""Finds the main configurations that include a file: in the folders above it, in the workspace, and installed ones.

To find out whether a configuration includes the file, it is read, with unsaved texts in place of those on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from nginxopt.config import Config, inputs, main_file
from nginxopt.config.filesystem import DISK
from nginxopt.config.main_file import Load
from nginxopt.config.recognition import is_main
from nginxopt.errors import InputError

_MOST_PATHS = 20_000
"""The maximum number of files and folders of a workspace that are searched."""

MOST_ROOTS = 4
"""The maximum number of configurations in which a file is checked."""


def mains(folders: Iterable[str], excludes: inputs.Excludes) -> list[str]:
    """Return the files in folders that look like main configurations."""
    numbers = count()
    files, _ = inputs.named(list(folders), lambda path: next(numbers) > _MOST_PATHS or excludes(path))
    return [path for path in files if _is_main(path)]


def _is_main(path: str) -> bool:
    try:
        return is_main(DISK.read(path))
    except (OSError, ValueError):
        return False


def roots(path: str, mains: Sequence[str], load: Load) -> Iterator[Config]:
    """Yield the configurations that include a file, those with the nearest main files first.

    `mains` are the main files of the workspace. Those that cannot be read are skipped.
    """
    near = sorted(mains, key=lambda main: _distance(path, main))
    identities = {DISK.identity(path)}
    for main in [*main_file.candidates(path, None), *near]:
        identity = DISK.identity(main)
        if identity in identities:
            continue
        identities.add(identity)
        try:
            around = main_file.around(path, main, load)
        except InputError:
            continue
        if around is not None:
            yield around.config


def _distance(path: str, main: str) -> int:
    """Return the number of folders on the path between two files."""
    folders = [Path(path).parent, Path(main).parent]
    common = os.path.commonpath(folders)
    return sum(len(folder.relative_to(common).parts) for folder in folders)
