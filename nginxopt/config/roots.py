"""Which files a command may show and change: those inside of the paths that the user named.

A file that only a configuration or a settings file names (by an absolute `include`, by `..`, or by a link) may be
anyone's: a list of passwords, the environment of a process. It is read as nginx reads it, but it is outside, and so is
its `Source`: no message quotes it, and no command changes it.

Everything below a named directory is inside, and everything below the directory of a named file: `site/` for
`site/nginx.conf`. Links are resolved first. A named file is itself outside if it is a link that leads out of its
directory, as whoever wrote the directory wrote the link; a relative name may lead anywhere below the working directory,
and nowhere else. The other names of a file (hard links) cannot be found, so the name that is used counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING

from nginxopt.config.filesystem import STDIN, is_descriptor
from nginxopt.config.tree import statements
from nginxopt.facts import declarations, names
from nginxopt.records import record
from nginxopt.text import Source, decode, display

if TYPE_CHECKING:
    from nginxopt.config.includes import File


@record(eq=True)
class Roots:
    """Directories, with everything below them, and files, all without links."""

    folders: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()

    def has(self, path: str) -> bool:
        """Return whether the file at a path is inside, once links are resolved."""
        if path == STDIN or is_descriptor(path):
            return True
        real = os.path.realpath(path)
        return real in self.files or any(_is_below(real, folder) for folder in self.folders)

    def __or__(self, other: Roots) -> Roots:
        return Roots(self.folders | other.folders, self.files | other.files)


_named: Roots | None = None
"""What the user of this process has named; None if nothing was noted."""


def note(roots: Roots) -> None:
    """Note what the user has named, in addition to what was noted before."""
    global _named
    _named = roots if _named is None else _named | roots


def leave() -> None:
    """Forget what was named, at the end of a command. What it has read is still not shown."""
    global _named
    _named = None


def forget() -> None:
    """Forget what was named and read, before another command."""
    leave()
    display.forget_words()


def around(main: str, prefix: str | os.PathLike[str] | None = None) -> Roots:
    """Return what is inside for the configuration at `main`: what was noted; by default as if a user had named both."""
    return of(_both(main, prefix)) if _named is None else _named


def beside(main: str, prefix: str | os.PathLike[str] | None = None) -> Roots:
    """Return what is inside for a configuration whose main file is the user's: what was noted, and what it names."""
    inside = of(_both(main, prefix))
    return inside if _named is None else _named | inside


def _both(main: str, prefix: str | os.PathLike[str] | None) -> tuple[str, ...]:
    return (main,) if prefix is None else (main, os.fspath(prefix))


def of(names: Iterable[str]) -> Roots:
    """Return what is inside if a user names files, directories and patterns with wildcards."""
    roots = Roots()
    for name in names:
        roots |= _of_name(name)
    return roots


def only(name: str) -> Roots:
    """Return what is inside if a user names a file without what is beside it."""
    real = os.path.realpath(name)
    return Roots(files=frozenset({real} if of([name]).has(name) else ()))


def source(name: str, data: bytes) -> Source:
    """Return the text of a file that a command or a settings file names, which may be outside."""
    return Source(name, data, outside=not around(name).has(name))


def _of_name(name: str) -> Roots:
    if is_descriptor(name):
        return Roots()
    if name == STDIN:
        return Roots(frozenset({os.path.realpath(".")}))
    if os.path.isdir(name):
        return Roots(frozenset(_led_to(name, name)))
    folder = _without_wildcards(os.path.dirname(name)) or "."  # noqa: PTH120
    if os.path.realpath(folder) == "/":  # everything is below it
        return Roots(files=frozenset(_led_to(name, name)))
    return Roots(frozenset(_led_to(name, folder)), frozenset(_led_to(name, name) if _is_local(name) else ()))


def _without_wildcards(folder: str) -> str:
    """Return the part of a path before its first wildcard, unless a directory has that very name."""
    while any(char in folder for char in "*?[") and not os.path.isdir(folder):
        folder = os.path.dirname(folder)  # noqa: PTH120
    return folder


def _led_to(name: str, path: str) -> Iterator[str]:
    """Yield where `path` leads, which is `name` or its directory, unless links lead a local name out."""
    real = os.path.realpath(path)
    if not _is_local(name) or _is_below(real, os.path.realpath(".")):
        yield real


def _is_local(name: str) -> bool:
    """Return whether a name leads below the working directory, apart from links."""
    return not name.startswith("/") and os.path.normpath(name).split("/")[0] != ".."


def _is_below(real: str, folder: str) -> bool:
    return real == folder or real.startswith(folder.rstrip("/") + "/")


def remember(files: Iterable[File]) -> None:
    """Remember the words of a configuration of which some files are outside, for `nginxopt.text.display.hide`."""
    files = tuple(files)
    if not any(map(_is_withheld, files)):
        return
    display.remember_words("", _vocabulary, withheld=False)
    for file in files:
        display.remember_words(file.path, partial(_words, file.source), withheld=_is_withheld(file))


def _is_withheld(file: File) -> bool:
    """Return whether a file outside may have secrets: a table of media types, which every nginx has, has none."""
    return file.source.outside and os.path.basename(file.path) != "mime.types"  # noqa: PTH119


def words_outside(files: Iterable[File]) -> frozenset[str]:
    """Return the words that only files outside have, of the files of a configuration."""
    files = tuple(files)
    secret = [_words(file.source) for file in files if _is_withheld(file)]
    if not secret:
        return frozenset()
    known = (_words(file.source) for file in files if not _is_withheld(file))
    return display.words_only_in(frozenset().union(*secret), _vocabulary().union(*known))


def _words(source: Source) -> frozenset[str]:
    """Return the words of a file: outside those of its statements, as no message quotes a comment."""
    if not source.outside:
        return display.words(decode(source.data))

    return display.words(" ".join(word for statement in statements(source) for word in statement.words))


@cache
def _vocabulary() -> frozenset[str]:
    """Return the words of nginx's own language: names of directives, and their values."""
    rows = (row for name in names() for row in declarations(name))
    return display.words(" ".join(f"{row.name} {row.values} {row.default} {row.module}" for row in rows))
