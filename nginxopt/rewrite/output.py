"""An emission where a user wants it: printed, as a diff, in a folder, in place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nginxopt import diff
from nginxopt.config import Config, File
from nginxopt.errors import UsageError
from nginxopt.files import folder, write_all
from nginxopt.filesystem import STDIN
from nginxopt.inplace import change
from nginxopt.rewrite.emission import Emission
from nginxopt.rewrite.mapfile import FRAGMENT_NAME
from nginxopt.source import encode

SERVER_NAME = "server.conf"
"""What the rest of a fragment is called in a folder."""


def printed(emission: Emission) -> Iterator[bytes]:
    """Yield the http part and the files that change, each under a heading that is a comment to nginx."""
    config = emission.plan.config
    if emission.maps_path is None:
        yield _heading(f"{FRAGMENT_NAME}: include it in the http block, before any other map")
        yield _maps(emission)
        yield _heading(f"{SERVER_NAME}: in place of {_name(config.main)}")
        yield emission.after(config.main)
        return
    yield _heading(f"{emission.maps_path}: new")
    yield emission.maps
    for changed in emission.changes:
        yield _heading(f"{changed.file.path}: changed")
        yield changed.after


def diffs(emission: Emission) -> Iterator[bytes]:
    """Yield unified diffs of all that would change, the new file of maps first."""
    if emission.maps:
        yield diff.added(emission.maps, emission.maps_path or _beside(emission.plan.config))
    for changed in emission.changes:
        yield diff.unified(changed.file.source.data, changed.edits, changed.file.path)


def into_folder(emission: Emission, path: str) -> list[str]:
    """Write `http.conf` and `server.conf` of a fragment, or all files of a configuration as they become."""
    config = emission.plan.config
    if not _is_tree(emission):
        texts = {FRAGMENT_NAME: _maps(emission), SERVER_NAME: emission.after(config.main)}
        like = {}
    else:
        texts = {_relative(config, file): emission.after(file) for file in config.files}
        like = {_relative(config, file): file.path for file in config.files}
        if emission.maps_path is not None:
            texts[os.path.basename(emission.maps_path)] = emission.maps  # noqa: PTH119
    root = folder(path, list(texts))
    models = {str(root / name): like.get(name, config.main.path) for name in texts} if config.main.path != STDIN else {}
    write_all({str(root / name): text for name, text in texts.items()}, like=models)
    return [f"  wrote {', '.join(str(root / name) for name in texts)}" if len(texts) <= 4 else f"  wrote {root}"]


def in_place(emission: Emission) -> list[str]:
    """Change the files; the maps come first, so that no include is ever without its file."""
    if not emission.changes:
        change([emission.plan.config], {})
        return ["  nothing to change"]
    maps_path = emission.maps_path or _beside(emission.plan.config)
    texts = {maps_path: emission.maps}
    # The file that gets the include comes before those that use the maps.
    changes = sorted(emission.changes, key=lambda changed: changed.adds is None)
    texts.update({changed.file.path: changed.after for changed in changes})
    source = changes[0].file.path
    written = change([emission.plan.config], texts, like={maps_path: source}, keep_old=True)
    notes = [f"  wrote {maps_path}"]
    notes += [f"  changed {one.path}; to undo: {one.undo}" for one in written if one.copy]
    if emission.maps_path is None:
        notes.append(f"  now add to the http block, before any other map: include {Path(maps_path).absolute()};")
    return notes


def _is_tree(emission: Emission) -> bool:
    config = emission.plan.config
    return emission.maps_path is not None or len(config.files) > 1 or () in config.candidates


def _relative(config: Config, file: File) -> str:
    root = os.path.dirname(os.path.abspath(config.main.path))  # noqa: PTH100, PTH120
    path = os.path.relpath(os.path.abspath(file.path), root)  # noqa: PTH100
    if path.startswith(".."):
        raise UsageError(
            f"{file.path} lies outside {root}, so it has no place in the folder",
            hint="--write changes it where it is; --diff shows what would change",
        )
    return path


def _beside(config: Config) -> str:
    """Return where the http part of a fragment goes: beside it, under a name that no `*.conf` matches."""
    return f"{config.main.path}.http"


def _maps(emission: Emission) -> bytes:
    if emission.maps:
        return emission.maps
    return encode(f"# No rewrite of {_name(emission.plan.config.main)} became a map.\n")


def _name(file: File) -> str:
    return "standard input" if file.path == "-" else file.path


def _heading(text: str) -> bytes:
    return encode(f"# ======== {text} ========\n")
