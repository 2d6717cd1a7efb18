"""The files that a configuration was read from, kept so that another process can read it again."""

from __future__ import annotations

import errno
import os
from dataclasses import replace

from nginxopt.config.configuration import Config, Context, load_text
from nginxopt.config.roots import Roots
from nginxopt.records import record


@record(eq=True)
class RecordedFiles:
    """The storage of the files that a configuration has; an implementation of `Files` that never reads the disk.

    Attributes:
        texts: The files by path.
        included: The paths that each include reads, by the name in it.
    """

    texts: dict[str, bytes]
    included: dict[str, tuple[str, ...]]

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        if path not in self.texts:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self.texts[path]

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`, which may be a file that was not read."""
        found = self.included.get(name)
        return [os.path.join(prefix, name)] if found is None else list(found)  # noqa: PTH118 - as nginx builds it

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` reads a file at `path`."""
        return path in self.matches(prefix, name)

    def identity(self, path: str) -> str:
        """Return the path: a file has only one."""
        return path


@record(eq=True)
class RecordedConfig:
    """A configuration by its files."""

    main: str
    prefix: str
    candidates: tuple[Context, ...]
    roots: Roots
    files: RecordedFiles

    @classmethod
    def of(cls, config: Config) -> RecordedConfig:
        """Return what reads `config` again."""
        texts = {file.path: file.source.data for file in config.files}
        included: dict[str, tuple[str, ...]] = {}
        for include in config.includes:
            if include.args and not config.is_missing(include):
                included[str(include.args[0])] = tuple(file.path for file in config.included(include))
        return cls(config.main.path, config.prefix, config.candidates, config.roots, RecordedFiles(texts, included))

    def config(self) -> Config:
        """Read the configuration."""
        again = load_text(
            self.files.read(self.main),
            self.main,
            prefix=self.prefix,
            missing_ok=True,
            files=self.files,
            roots=self.roots,
        )
        return replace(again, candidates=self.candidates)
