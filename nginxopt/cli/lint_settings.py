"""Where a call of `nginxopt lint` finds its settings, baseline and rules: in the work tree, or in a git revision.

Settings, baselines and rules of a pull request are the contributor's, who could silence findings with them, or run a
program. With `--settings-from` they are those of a revision, such as the base of the pull request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.settings import file as settings_
from nginxopt.text import Source

if TYPE_CHECKING:
    from nginxopt.lint.baseline import Baseline
    from nginxopt.system.revision import Revision


@record(eq=True)
class Origin:
    """The work tree, or a revision of it."""

    tree: Revision | None

    def find(self, config: str | None, isolated: bool) -> Source | None:
        """Return the settings file, as `nginxopt.settings.file.find` does, under its path in the work tree."""
        if self.tree is None or isolated:
            return settings_.find(config=config, isolated=isolated)
        if config is not None:
            return Source(config, self._contents(config))
        found = self._nearest(self.tree)
        return None if found is None else Source(self.tree.now(found.path), found.data)

    def where(self, path: str) -> str:
        """Return where the file or folder is that settings name."""
        return path if self.tree is None else str(self.tree.before(path))

    def baseline(self, path: str) -> Baseline:
        """Return the baseline of a path. Raises `InputError` for a missing or damaged one."""
        from nginxopt.lint.baseline import load, read

        return load(path) if self.tree is None else read(Source(path, self._contents(path)))

    @staticmethod
    def _nearest(tree: Revision) -> Source | None:
        cwd = Path.cwd().resolve()
        if not cwd.is_relative_to(tree.root):
            return None
        return settings_.nearest(tree.folder / cwd.relative_to(tree.root), tree.folder)

    def _contents(self, path: str) -> bytes:
        assert self.tree is not None
        try:
            return self.tree.before(path).read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read in {self.tree.name}: {error.strerror}", path=path) from None


@contextmanager
def origin(revision: str | None) -> Iterator[Origin]:
    """Yield where settings are: in the work tree, or in a revision, whose files stay until the end of the block.

    Raises the errors of `nginxopt.system.revision.revision`.
    """
    if revision is None:
        yield Origin(None)
        return
    from nginxopt.system import revision as revisions

    with revisions.revision(revision, Path.cwd(), "--settings-from") as tree:
        yield Origin(tree)
