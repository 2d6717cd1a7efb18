"""Writes changed texts into the files of configurations, unless these have changed since they were read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from nginxopt.config import Config
from nginxopt.errors import InputError
from nginxopt.system.files import Written, sweep, write_all
from nginxopt.system.writing.copies import BACKUP
from nginxopt.system.writing.targets import changed


def change(
    configs: Sequence[Config],
    texts: Mapping[str, bytes],
    *,
    like: Mapping[str, str] | None = None,
    keep_old: bool = False,
    so_far: str = "nothing was written",
) -> tuple[Written, ...]:
    """Write new texts into files of configurations, and new files beside them, with `system.files.write_all`.

    Also removes leftovers of killed runs, even if there is nothing to write. Raises `InputError`, without writing, if a
    file of the configurations has changed since it was read, or an include leads to other files now. `so_far` is the
    end of the message if a file cannot be written.
    """
    read = _read(configs)
    sweep(os.path.dirname(os.path.realpath(path)) for path in read)  # noqa: PTH120
    if not texts:
        return ()
    _refuse_outside(configs, texts)
    for config in configs:
        _refuse_other_files(config)
        _refuse_to_keep_where_it_is_read(config, texts)
    return write_all(texts, read=read, like=like or {}, keep_old=keep_old, so_far=so_far)


def _read(configs: Iterable[Config]) -> dict[str, bytes]:
    """Return the text that was read from each file."""
    read: dict[str, bytes] = {}
    for config in configs:
        for file in config.files:
            if read.setdefault(file.path, file.source.data) != file.source.data:
                raise changed(file.path)
    return read


def _refuse_outside(configs: Iterable[Config], paths: Iterable[str]) -> None:
    """Raise `InputError` for a path that leads out of what the user named, perhaps through a link."""
    roots = [config.roots for config in configs]
    for path in paths:
        if not any(inside.has(path) for inside in roots):
            raise outside(path)


def outside(*paths: str) -> InputError:
    """Return the error for files outside of the named paths that a command would change."""
    message = f"would change {', '.join(paths)}, outside of the named paths: left; nothing was written"
    return InputError(message, hint="--also DIR takes a directory as one of the named paths")


def _refuse_other_files(config: Config) -> None:
    """Raise `InputError` if an include leads to other files than those that it led to when they were read."""
    for include in config.includes:
        known = [config.origin.identity(file.path) for file in config.included(include)]
        paths = config.origin.matches(config.prefix, str(include.args[0]))
        identities = [config.origin.identity(path) for path in paths]
        pairs = zip(identities, paths, strict=True)
        readable = [identity for identity, path in pairs if identity in known or os.access(path, os.R_OK)]
        if readable != known:
            raise include.error("the files of this include changed during this command; nothing was written")


def _refuse_to_keep_where_it_is_read(config: Config, paths: Iterable[str]) -> None:
    """Raise `InputError` if an include, such as a wildcard with a leading dot, would read the copies of old texts."""
    files = [os.path.split(os.path.realpath(path)) for path in paths]
    copies = [os.path.join(folder, f".{name}.{BACKUP}") for folder, name in files]  # noqa: PTH118
    for include in config.includes:
        name = str(include.args[0])
        if any(config.origin.reads(config.prefix, name, copy) for copy in copies):
            raise include.error("this include would also match the copy of a changed file; nothing was written")
