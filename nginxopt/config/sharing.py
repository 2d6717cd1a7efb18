"""What the configurations that one command reads have in common.

A folder may have a thousand files of which each includes the others, and each that no other includes is a configuration
of its own. A file is read and parsed once for all of them. The readings of files that include each other are bounded
for all together: one configuration may take all of the budget `inclusions`, those after it only `LEAST` each. So what a
folder costs grows with the number of its files, whatever they include.
"""

from __future__ import annotations

from nginxopt import budget
from nginxopt.config.dump import is_dump
from nginxopt.config.filesystem import Files
from nginxopt.config.places import Tree
from nginxopt.config.reader import Content, File, Parse, guarded, parsed
from nginxopt.config.roots import Roots
from nginxopt.errors import InputError

LEAST = 1_000
"""The readings of files that each configuration may have, whatever others took: four times those of the largest."""


class Sharing:
    """The files of some configurations, and the budget for their readings.

    `parse` is called once for each path and text. What may be shown of a file depends on what the user has named, so
    there is one `File` for each `Roots`. `contents` is what each adds to the configurations that read it.
    """

    # Of files and paths, only those of trees are kept: a dump has its own, and other storages are texts in place of
    # files, of which each configuration has its own.

    def __init__(self, parse: Parse = parsed) -> None:
        self._parse = parse
        self._files: dict[tuple[str, Roots], tuple[bytes, File | InputError]] = {}
        self.contents: dict[File, Content] = {}
        self._trees: dict[tuple[object, ...], Tree] = {}
        self._texts: dict[tuple[Tree, str], bytes] = {}
        self._identities: dict[str, str] = {}
        self._left = budget.limit("inclusions")

    def storage(self, files: Files) -> Files:
        """Return the storage in place of another that reads the same."""
        return self._trees.setdefault(files.reading, files) if isinstance(files, Tree) else files

    def read(self, path: str, files: Files) -> bytes:
        """Return the bytes of a file. Raises `OSError` if it cannot be read."""
        if not isinstance(files, Tree):
            return files.read(path)
        data = self._texts.get((files, path))
        if data is None:
            data = self._texts[files, path] = files.read(path)
        return data

    def identity(self, path: str, files: Files) -> str:
        """Return the identity of a file."""
        if not isinstance(files, Tree):
            return files.identity(path)
        identity = self._identities.get(path)
        if identity is None:
            identity = self._identities[path] = files.identity(path)
        return identity

    def file(self, path: str, data: bytes, files: Files, roots: Roots) -> File:
        """Return the file at a path with the text `data`. Raises `InputError` if it cannot be parsed."""
        if is_dump(files):
            return guarded(self._parse, path, data, files, roots)
        known = self._files.get((path, roots))
        if known is None or known[0] != data:
            known = self._files[path, roots] = data, self._parsed(path, data, files, roots)
        if isinstance(known[1], InputError):
            raise known[1].with_traceback(None)
        return known[1]

    def _parsed(self, path: str, data: bytes, files: Files, roots: Roots) -> File | InputError:
        try:
            return guarded(self._parse, path, data, files, roots)
        except InputError as error:
            return error

    def readings(self) -> budget.Meter:
        """Return the meter of `inclusions` for another configuration; `took` says what it has spent."""
        most = budget.limit("inclusions")
        if self._left >= most:
            return budget.Meter("inclusions")
        return budget.Meter("inclusions", min(most, max(LEAST, self._left)), ", as others have taken the rest")

    def took(self, readings: budget.Meter) -> None:
        """Take what a configuration has spent from what the next ones may."""
        self._left -= min(readings.limit, readings.limit - readings.left)
