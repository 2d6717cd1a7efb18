"""The configuration of one host: the files of a tree, or the output of `nginx -T`, which contains all files."""

from __future__ import annotations

import hashlib
import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from nginxopt import budget
from nginxopt.config.filesystem import Dump
from nginxopt.config.places import own_prefix
from nginxopt.config.tree import statements
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span, encode

MAIN = "nginx.conf"
_DEEPEST = 40  # links to links, as of the kernel (MAXSYMLINKS)


@record(eq=True)
class Link:
    """A symbolic link, as the name that it contains."""

    target: str


@dataclass(frozen=True)
class HostContent:
    """The files of a host as they were read.

    Attributes:
        files: Bytes and links by their names in the tree, or one text without a name: a dump, or a file by itself.
        unread: Why a file of the tree could not be read, by name.
    """

    files: Mapping[str, bytes | Link]
    unread: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of all files with their names. Configurations with the same digest have the same findings."""
        digest = hashlib.sha256()
        parts = {
            name: ("link", encode(part.target)) if isinstance(part, Link) else ("file", part)
            for name, part in self.files.items()
        }
        parts |= {name: ("unread", encode(reason)) for name, reason in self.unread.items()}
        for name, (kind, data) in sorted(parts.items()):
            digest.update(f"{kind} {len(encode(name))} {len(data)}\n".encode() + encode(name) + data)
        return digest.hexdigest()

    def dump(self, installed: str | None = None) -> Dump:
        """Return the files by their names on the host, as nginx would print them.

        `installed` is the folder of the main file there; by default the one that its includes show. Raises `InputError`
        if there is no main file.
        """
        if list(self.files) == [""]:
            data = _bytes(self.files[""])
            return Dump.of("nginx -T", data) or _joined({f"{installed or _shown(data)}/{MAIN}": data})
        main = self._main()
        part = self.files[main]
        installed = installed or _shown(b"" if isinstance(part, Link) else part)
        whole = _resolved({_on_host(name, main, installed): part for name, part in self.files.items()})
        first = _on_host(main, main, installed)
        if first not in whole:
            raise InputError(f"{main} is a link to a file that the tree does not have")
        return _joined({first: whole.pop(first)} | whole)

    @property
    def is_dump(self) -> bool:
        """Whether this is the output of `nginx -T`, of which every file is one that nginx reads."""
        return list(self.files) == [""] and Dump.of("", _bytes(self.files[""])) is not None

    def _main(self) -> str:
        """Return the name of the main file: the `nginx.conf` that is nearest to the top."""
        mains = [name for name in self.files if posixpath.basename(name) == MAIN]
        if not mains:
            unread = next((f": {name}: {why}" for name, why in self.unread.items() if name.endswith(MAIN)), "")
            raise InputError(f"no {MAIN} in the tree{unread}")
        return min(mains, key=lambda name: (name.count("/"), name))


def _shown(data: bytes) -> str:
    """Return the folder of a main file on its host, by what it includes."""
    names: list[str] = []
    with suppress(InputError):
        for statement in statements(Source("", data)):
            if statement.kind == ";" and statement.words[0] == "include":
                names += map(str, statement.words[1:2])
    return own_prefix(names)


def _bytes(part: bytes | Link) -> bytes:
    if isinstance(part, Link):
        raise InputError(f"a link to {part.target}, which is not there")
    return part


def _on_host(name: str, main: str, installed: str) -> str:
    """Return the path on its host of a file in a tree, which is a root file system if its main file is in `etc/`."""
    if main.startswith("etc/"):
        return f"/{name}"
    return posixpath.normpath(posixpath.join(installed, posixpath.relpath(name, posixpath.dirname(main) or ".")))


def _resolved(parts: Mapping[str, bytes | Link]) -> dict[str, bytes]:
    """Return the files by every name that they have, links to files and to folders included."""
    files = {name: part for name, part in parts.items() if isinstance(part, bytes)}
    links = {name: part for name, part in parts.items() if isinstance(part, Link)}
    names = budget.Meter("files")
    names.spend(len(files))
    for _ in range(_DEEPEST):
        new: dict[str, bytes] = {}
        known = sorted(files)
        for link, part in links.items():
            for name, data in _behind(link, part, files, known):
                if name not in files and name not in new:
                    names.spend()  # links between folders can make endlessly many names
                    new[name] = data
        if not new:
            break
        files |= new
    return dict(sorted(files.items(), key=lambda item: encode(item[0])))


def _behind(link: str, part: Link, files: Mapping[str, bytes], known: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the files that a link leads to, each under its name below the link. `known` are all names, sorted."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(link), part.target))
    if target in files:
        yield link, files[target]
        return
    if link.startswith(f"{target}/"):  # a link to a folder above, in which everything would be once more
        return
    inside = f"{target}/"
    for name in islice(known, bisect_left(known, inside), None):
        if not name.startswith(inside):
            return
        yield link + name.removeprefix(target), files[name]


def _joined(files: Mapping[str, bytes]) -> Dump:
    """Return files as a dump without headers: the place of each text is known."""
    spans: dict[str, Span] = {}
    places: dict[int, Span] = {}
    texts: list[bytes] = []
    start = 0
    for name, data in files.items():
        if id(data) not in places:
            places[id(data)] = Span(start, start + len(data))
            texts.append(data)
            start += len(data)
        spans[name] = places[id(data)]
    return Dump(Source("tree", b"".join(texts)), spans, is_whole=False)
