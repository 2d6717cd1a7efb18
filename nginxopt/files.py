"""Files written so that nothing is lost: all of them or none, each at once, with the old text kept beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nginxopt.errors import InputError

BACKUP = "nginxopt-orig"
"""How the name of a kept file ends. It begins with a dot, so that no `include` with a glob picks it up."""


def write_all(texts: Mapping[str, bytes], *, keep_old: bool = False) -> dict[str, str]:
    """Write each text to its path, which may be a link to the file meant; return the copies of what was there.

    Everything is first written to temporary files beside the targets and then renamed into place in the order
    given, so that a reader sees the old or the new text of a file, and a failure before the first rename changes
    nothing. Mode and owner of an existing file are kept. With `keep_old` its text is copied first, to a name that
    is free. `InputError` for a path that cannot be written.
    """
    targets = {path: Path(os.path.realpath(path)) for path in texts}
    kept: dict[str, str] = {}
    with contextlib.ExitStack() as cleanup:
        staged = [(cleanup.enter_context(_staged(targets[path], text)), targets[path]) for path, text in texts.items()]
        for path, target in targets.items():
            if keep_old and target.exists():
                kept[path] = str(_copy(target))
        for temporary, target in staged:
            temporary.replace(target)
    return kept


@contextlib.contextmanager
def _staged(target: Path, text: bytes) -> Iterator[Path]:
    """Hold a temporary file beside `target` with its new text; it is removed unless it was renamed."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=str(target)) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _like(target, temporary)
        yield temporary
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=str(target)) from None
    finally:
        temporary.unlink(missing_ok=True)


def _like(target: Path, temporary: Path) -> None:
    """Give a new file the mode and owner of the one it replaces, or the mode of a file made here."""
    try:
        old = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        return
    temporary.chmod(old.st_mode & 0o7777)
    with contextlib.suppress(PermissionError):
        os.chown(temporary, old.st_uid, old.st_gid)


def _copy(target: Path) -> Path:
    """Copy a file to the first free name for its old text."""
    number = 1
    while (copy := target.with_name(f".{target.name}.{BACKUP}{number if number > 1 else ''}")).exists():
        number += 1
    shutil.copy2(target, copy)
    return copy


def folder(path: str, names: Sequence[str]) -> Path:
    """Make the folder at `path`, with what lies between it and each of `names`; `InputError` if that cannot be."""
    root = Path(path)
    try:
        for name in ("", *names):
            (root / name).parent.mkdir(parents=True, exist_ok=True) if name else root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made a folder: {error.strerror}", path=path) from None
    return root
