"""Asks the editor to report changes to the files that settings name; on its own, it watches only certain names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lsprotocol import types

from nginxopt import lazy

_SPECIAL = lazy.pattern(r"[*?{}\[\]]")

Register = Callable[[types.RegistrationParams], object]


class Watching:
    """The files that the editor watches; none if it cannot."""

    def __init__(self, capabilities: types.ClientCapabilities, register: Register) -> None:
        of_workspace = capabilities.workspace
        watches = None if of_workspace is None else of_workspace.did_change_watched_files
        self._can = watches is not None and bool(watches.dynamic_registration)
        self._is_relative = watches is not None and bool(watches.relative_pattern_support)
        self._register = register
        self._watched: set[str] = set()

    def add(self, paths: Iterable[str]) -> None:
        """Watch files as well."""
        new = sorted(set(paths) - self._watched)
        if not new or not self._can:
            return
        identifier = f"files-{len(self._watched)}"
        self._watched.update(new)
        options = types.DidChangeWatchedFilesRegistrationOptions(list(self._watchers(new)))
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        self._register(types.RegistrationParams([types.Registration(identifier, method, options)]))

    def _watchers(self, paths: Iterable[str]) -> Iterator[types.FileSystemWatcher]:
        for path in map(Path, paths):
            if self._is_relative:
                pattern = types.RelativePattern(path.parent.as_uri(), _glob(path.name))
                yield types.FileSystemWatcher(pattern)
            else:
                yield types.FileSystemWatcher(_glob(str(path)))


def _glob(name: str) -> str:
    """Return a pattern that matches a name; patterns of the protocol have no escapes."""
    return _SPECIAL.sub("?", name)
