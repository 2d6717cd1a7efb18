"""The storages from which configurations are read, and the files that an `include` names in them.

A storage (`Files`) is the disk, another with some files replaced by texts (`Overlay`), the files that a configuration
was read from, kept so that another process can read it again (`RecordedFiles`), the output of `nginx -T` (`Dump`), or a
folder that stands for the `/` of a machine (`Rooted`): the root file system of a container, an image, a copy. An
`include` names files as for `ngx_conf_include` and `ngx_conf_full_name` (ngx_conf_file.c).
"""

from __future__ import annotations

import errno
import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Protocol, Self

from nginxopt import budget, lazy
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span, decode

if TYPE_CHECKING:
    from nginxopt.config.root_folder import RootFolder

STDIN = "-"
"""The name of standard input as a file."""


class NotRegular(OSError):  # noqa: N818 - a kind of file, beside those of OSError
    """The file is a pipe."""


class Files(Protocol):
    """The storage of the files of a configuration. Paths are as nginx builds them: a prefix and an included name."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises `OSError` if it cannot be read, `ValueError` for an invalid path."""

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name` in nginx's order: see the function `matches`."""

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`: see the function `reads`."""

    def identity(self, path: str) -> str:
        """Return a string that is the same for all names of a file."""


class Disk:
    """The files of this machine.

    `stated` are folders of it that the user says to stand for those of installed configurations, by these; see
    `nginxopt.config.places`.
    """

    def __init__(self, stated: Mapping[str, str] = MappingProxyType({})) -> None:
        self.stated = stated

    def read(self, path: str) -> bytes:
        """Return the bytes of a file: as many as its size says, as nginx does. So a device and a file of /proc are
        empty; a device is not even opened, as that may do something.

        Raises `NotRegular` for a pipe, as nginx would wait for a writer and then read nothing, and
        `budget.ExceededError` for a large file.
        """
        mode = os.stat(path).st_mode  # noqa: PTH116 - as the text it is
        if stat.S_ISFIFO(mode):
            raise NotRegular("not a regular file")
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return b""
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(opened, "rb") as file:
            size = os.fstat(opened).st_size
            budget.check("bytes", size, path=path)
            return file.read(size)

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`."""
        return matches(prefix, name)

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`."""
        return reads(prefix, name, path)

    def identity(self, path: str) -> str:
        """Return the path without symbolic links."""
        return path if path == STDIN else os.path.realpath(path)


DISK = Disk()


def bounded(file: IO[bytes], path: str) -> bytes:
    """Return all bytes of an open file, whose size is not known. Raises `budget.ExceededError` for too many."""
    data = file.read(budget.limit("bytes") + 1)
    budget.check("bytes", len(data), path=path)
    return data


def is_descriptor(path: str) -> bool:
    """Return whether a path is that of an open file of this process: standard input, or `<(command)` of a shell."""
    return path == "/dev/stdin" or path.startswith(("/dev/fd/", "/proc/self/fd/"))


class Overlay:
    """The files of `base`, some of them with other texts, whichever of its names a file is read by.

    This checks a changed text before it is written. If `base` has no file at the path of a text, an include with that
    path finds the text; wildcards do not.
    """

    def __init__(self, texts: Mapping[str, bytes], base: Files = DISK) -> None:
        self._given = texts
        self._texts = {base.identity(path): text for path, text in texts.items()}
        self.base = base

    def on(self, base: Files) -> Overlay:
        """Return these texts in place of files of another storage."""
        return Overlay(self._given, base)

    def read(self, path: str) -> bytes:
        """Return the text that replaces a file, otherwise its bytes in `base`."""
        text = self._texts.get(self.identity(path))
        return self.base.read(path) if text is None else text

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name` in `base`."""
        return self.base.matches(prefix, name)

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path` in `base`."""
        return self.base.reads(prefix, name, path)

    def identity(self, path: str) -> str:
        """Return the identity of a file in `base`."""
        return self.base.identity(path)


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


# The files that an `include` names.

_MAGIC = lazy.pattern(r"[*?[]")

Led = Callable[[str], str | None]
"""Returns where a path leads on this machine; None for nowhere."""


def _as_it_is(path: str) -> str:
    return path


def matches(prefix: str, name: str, led: Led = _as_it_is) -> list[str]:
    """Return the paths of `include name`, in the order in which nginx reads them.

    A relative name starts from `prefix`. A name without `*`, `?` and `[` is one path, existing or not. Any other name
    is a pattern for glob(3) in the C locale, the only one that nginx uses: it matches and sorts bytes, no wildcard
    matches a leading dot, and a pattern may match nothing. One difference: here, a backslash in a pattern is a plain
    character. `led` follows the links of folders on the way.
    """
    if not is_pattern(name):
        return [_join(prefix, name)]
    # The prefix itself is not a part of the pattern.
    paths = _matching(os.fsencode(prefix) or b".", _pattern(name), led)
    return [_join(prefix, os.fsdecode(path)) for path in sorted(paths)]


def _matching(root: bytes, pattern: bytes, led: Led) -> list[bytes]:
    """Return the paths below `root` that a pattern matches, or those that an absolute pattern matches.

    As Python's `glob.glob`, which cannot be bounded: raises `budget.ExceededError` after too many directory entries.
    """
    visits = budget.meter("matches")
    *folders, last = pattern.split(b"/")
    found = [b"/" if pattern.startswith(b"/") else b""]
    for part in filter(None, folders):
        found = [path + b"/" for before in found for path in _inside(root, before, part, visits, led, of_folders=True)]
    if not last:  # `conf.d/*/`
        return found
    return [path for before in found for path in _inside(root, before, last, visits, led, of_folders=False)]


def _inside(
    root: bytes, before: bytes, part: bytes, visits: budget.Meter, led: Led, *, of_folders: bool
) -> Iterator[bytes]:
    """Yield the paths in the folder `before` that a part of a pattern matches; none if it cannot be read."""
    folder = led(os.fsdecode(os.path.join(root, before)))  # noqa: PTH118 - bytes
    if folder is None:
        return
    if not is_pattern(os.fsdecode(part)):
        visits.spend()
        path = os.path.join(folder, os.fsdecode(part))  # noqa: PTH118
        if os.path.isdir(led(path) or "") if of_folders else os.path.lexists(path):
            yield before + part
        return
    with suppress(OSError), os.scandir(os.fsencode(folder)) as entries:
        for entry in entries:
            visits.spend()
            if _name_fits(entry.name, part) and (not of_folders or _is_folder(entry, led)):
                yield before + entry.name


def _is_folder(entry: os.DirEntry[bytes], led: Led) -> bool:
    try:
        return os.path.isdir(led(os.fsdecode(entry.path)) or "") if entry.is_symlink() else entry.is_dir()
    except OSError:
        return False


def has_folder(prefix: str, name: str) -> bool:
    """Return whether the folder before the first wildcard of a name exists."""
    fixed = _MAGIC.split(name, maxsplit=1)[0]
    return os.path.isdir(_join(prefix, os.path.dirname(fixed)))  # noqa: PTH120 - no folder for any error


def among(paths: Iterable[str], prefix: str, name: str) -> list[str]:
    """Return the paths of `include name` among `paths`, like `matches`."""
    if not is_pattern(name):
        return [_join(prefix, name)]
    root = Path(prefix)
    pattern = Path(name).parts
    paths = list(paths)
    budget.meter("matches").spend(len(paths))
    fitting = [path for path in paths if _fits(Path(path) if Path(name).is_absolute() else _below(root, path), pattern)]
    return sorted(fitting, key=os.fsencode)


def reads(prefix: str, name: str, path: str) -> bool:
    """Return whether `include name` reads the file at `path`, or would if it were there.

    Folders are compared after resolving `..`, double slashes and links.
    """
    inside, last = os.path.split(name)
    file = Path(path)
    if not (_part_fits(file.name, last) if is_pattern(last) else file.name == last):
        return False
    folders = matches(prefix, inside) if is_pattern(inside) else [_join(prefix, inside)]
    there = os.path.realpath(file.parent)
    return any(os.path.realpath(folder) == there for folder in folders)


def is_pattern(name: str) -> bool:
    """Return whether a name contains wildcards."""
    return bool(_MAGIC.search(name))


def _below(root: Path, path: str) -> Path:
    """Return a path relative to `root`; for a path outside `root`, one that matches no pattern."""
    return Path(path).relative_to(root) if Path(path).is_relative_to(root) else Path()


def _fits(path: Path, pattern: tuple[str, ...]) -> bool:
    """Return whether each part of a path matches its part of a pattern."""
    return len(path.parts) == len(pattern) and all(map(_part_fits, path.parts, pattern))


def _part_fits(part: str, pattern: str) -> bool:
    return _name_fits(os.fsencode(part), _pattern(pattern))


def _name_fits(name: bytes, pattern: bytes) -> bool:
    is_hidden = name.startswith(b".") and not pattern.startswith(b".")
    return not is_hidden and fnmatch.fnmatchcase(name, pattern)


def _pattern(name: str) -> bytes:
    """Return a pattern in Python's syntax: glob(3) accepts `[^a]` for `[!a]`, Python's glob does not."""
    return os.fsencode(name.replace("[^", "[!"))


def _join(prefix: str, name: str) -> str:
    return str(Path(prefix, name))


# The output of `nginx -T`.

# A name is a prefix, which ends with a slash, and what follows it.
_HEADER = lazy.pattern(rb"^# configuration file (?P<name>[^\s/]*/.*):(?P<end>\r?\n)", re.MULTILINE)
_MESSAGES = lazy.pattern(rb"(?:nginx: .*\n)*")


class Dump:
    """The storage of the files in the output of `nginx -T`; an implementation of `Files` that never reads the disk.

    For each file, in the order in which nginx first opens them, `main` (src/core/nginx.c) writes the line
    `# configuration file NAME:`, the bytes of the file, and a line feed. Each name occurs once (`ngx_conf_add_dump` in
    src/core/ngx_conf_file.c). With `2>&1`, the messages of the test come first.

    `main` is the path of the main file. Relative includes start from its folder, nginx's `conf_prefix`. `is_whole` is
    whether nginx printed it, so that no include reads anything else.
    """

    def __init__(self, source: Source, spans: dict[str, Span], *, is_whole: bool = True) -> None:
        self._source = source
        self._spans = spans
        self.is_whole = is_whole
        self.main = next(iter(spans))

    @classmethod
    def of(cls, name: str, data: bytes) -> Self | None:
        """Return a text as a dump; None unless it begins with the header of a file.

        A line inside a file that looks like a header counts as one, unless it repeats the name of an earlier header.
        """
        messages = _MESSAGES.match(data)
        start = messages.end() if messages else 0
        if not _HEADER.match(data, start):
            return None
        headers: dict[bytes, re.Match[bytes]] = {}
        for header in _HEADER.finditer(data, start):
            headers.setdefault(header["name"], header)
        ends = [*(header.start() for header in headers.values()), len(data)][1:]
        spans: dict[str, Span] = {}
        for (path, header), end in zip(headers.items(), ends, strict=True):
            spans.setdefault(_normal(decode(path)), _contents(header, end))
        return cls(Source(name, data), spans)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        span = self._spans.get(_normal(path))
        if span is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._source.data[span.start : span.end]

    def named(self, name: str) -> list[str]:
        """Return the paths of the files with a name, in any folder."""
        return [path for path in self._spans if Path(path).name == name]

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`."""
        return among(self._spans, prefix, name)

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`."""
        return path in among([path], prefix, name)

    def identity(self, path: str) -> str:
        """Return the normalised path; a file in a dump has only one."""
        return _normal(path)

    def left_over(self, read: set[str]) -> list[InputError]:
        """Return an error for each file of the dump whose path is not in `read`, the files that includes lead to.

        nginx prints only files that are included. So the dump is incomplete, or the header is a line of a file.
        """
        return [
            InputError(f"no file in this dump includes {path}", source=self._source, span=self._header(span))
            for path, span in self._spans.items()
            if path not in read
        ]

    def _header(self, span: Span) -> Span:
        """Return the place of the header before a file."""
        end = self._source.data.rindex(b":", 0, span.start) + 1
        return Span(self._source.data.rfind(b"\n", 0, end) + 1, end)


def is_dump(files: Files) -> bool:
    """Return whether files come from a dump, perhaps with an `Overlay`, and not from the disk."""
    return isinstance(files.base if isinstance(files, Overlay) else files, Dump)


def is_whole_dump(files: Files) -> bool:
    """Return whether files come from a dump that nginx printed, so that no include reads anything else."""
    dump = files.base if isinstance(files, Overlay) else files
    return isinstance(dump, Dump) and dump.is_whole


def _contents(header: re.Match[bytes], end: int) -> Span:
    """Return the content between a header and `end`, without the line end that nginx adds."""
    line_end = header["end"]
    is_added = header.string.endswith(line_end, header.end(), end)
    return Span(header.end(), end - len(line_end) * is_added)


def _normal(path: str) -> str:
    """Return a path without `./` and doubled slashes, like those of `matches`."""
    return str(Path(path))


class Rooted(Disk):
    """The files of a configuration in a tree: absolute includes and links are resolved inside of it.

    Included files have their paths on this machine, without links, so that findings name files that can be opened. A
    file outside of the tree, such as a main file that is not installed yet, is read as it is.
    """

    def __init__(self, tree: RootFolder) -> None:
        self._tree = tree

    def read(self, path: str) -> bytes:
        """Return the bytes of a file; a link is followed inside of the tree. Raises as `Disk.read`."""
        led = self._led(path)
        if led is None:
            number = self._tree.look(self._tree.inside(path) or "/").error
            raise OSError(number, os.strerror(number), path)
        return super().read(led)

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`, in the order of the names that nginx sees."""
        return [self._resolved(path) for path in matches(prefix, self.here(name), self._led)]

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`."""
        return reads(prefix, self.here(name), path)

    def identity(self, path: str) -> str:
        """Return the path on this machine without links."""
        return super().identity(self._resolved(path))

    def has(self, path: str) -> bool:
        """Return whether a file is in the tree."""
        return self._tree.inside(path) is not None

    def here(self, name: str) -> str:
        """Return an absolute name below the root, with the folders before its first wildcard resolved."""
        if not name.startswith("/"):
            return name
        fixed: list[str] = []
        rest = [part for part in name.split("/") if part]
        while len(rest) > 1 and not is_pattern(rest[0]):
            fixed.append(rest.pop(0))
        folder = "/" + "/".join(fixed)
        entry = self._tree.look(folder).entry
        outside = self._tree.outside(str(Path(folder if entry is None else entry.path, *rest)))
        return os.path.abspath(outside)  # noqa: PTH100 - a relative one would start from the prefix

    def _resolved(self, path: str) -> str:
        """Return a path on this machine without links in the tree, as the user named the root."""
        return self._led(path) or self._tree.outside(self._tree.inside(path) or "/")

    def _led(self, path: str) -> str | None:
        """Return the path, as `_resolved`, of what is there; None if nothing is, whatever this machine has there."""
        inside = None if path == STDIN else self._tree.inside(path)
        if inside is None:
            return path
        entry = self._tree.look(inside).entry
        return None if entry is None else self._tree.outside(entry.path)


def rooted(files: Files) -> Rooted | None:
    """Return the tree that stands for `/` from which files are read, perhaps with an `Overlay`; None for others."""
    base = files.base if isinstance(files, Overlay) else files
    return base if isinstance(base, Rooted) else None
