"""What workers read for requests: password files, folders of files, sockets of upstreams.

nginx starts without them. The user of the workers reads them: the one that `user` names. Without this directive, the
user and its permissions are unknown.
"""

from __future__ import annotations

import errno
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.facts import group
from nginxopt.lint.hosted.places import Places, places
from nginxopt.lint.queries.model import Model
from nginxopt.records import record

if TYPE_CHECKING:
    from nginxopt.config.root_folder import Reached

_SCHEMES = {"{PLAIN}": "in the clear", "{SHA}": "as SHA-1", "{SSHA}": "as SHA-1"}
_DES = lazy.pattern(r"[./0-9A-Za-z]{13}")
_HASH = lazy.pattern(r"[{$_]")


@record(eq=True, slots=False)
class UserFile:
    """A file of names and passwords.

    Attributes:
        path: Its path on the machine.
        is_missing: Whether it is not there.
        reader: The user of the workers.
        kept_from: The file or folder that this user may not read or enter; empty if there is none.
        entries: The number of its entries; None if it could not be read.
        weak: How many passwords are kept in a weak form, by its name.
    """

    path: str
    is_missing: bool = False
    reader: str = ""
    kept_from: str = ""
    entries: int | None = None
    weak: Mapping[str, int] = field(default_factory=dict)


def user_file(model: Model, directive: Directive) -> UserFile | None:
    """Return what an `auth_basic_user_file` names; None if that is not known."""
    where = places(model)
    path = None if where is None or not directive.args else where.of_conf(directive.args[0])
    reached = None if where is None or path is None else where.look(path)
    if where is None or path is None or reached is None or reached.is_hidden:
        return None
    if reached.entry is None:
        return UserFile(path, is_missing=reached.error == errno.ENOENT)
    reader, kept_from = _kept(where, reached)
    try:
        lines = where.machine.read(path).decode(errors="replace").splitlines()
    except OSError:
        return UserFile(path, reader=reader, kept_from=kept_from)
    entries = [line.split(":")[1].strip() for line in lines if ":" in line[1:] and not line.startswith("#")]
    weak = Counter(filter(None, map(_weak, entries)))
    return UserFile(path, reader=reader, kept_from=kept_from, entries=len(entries), weak=weak)


def _kept(where: Places, reached: Reached) -> tuple[str, str]:
    """Return who reads a file, and what keeps this user from it; both are empty if unknown, or if nothing does."""
    from nginxopt.system.machine import READ, refuses

    if where.worker is None:
        return "", ""
    refusing = refuses(reached, where.worker, READ)
    return where.worker.name, refusing.path if refusing is not None else ""


def _weak(stored: str) -> str:
    """Return how weakly a password is kept; empty if it is not."""
    for scheme, kind in _SCHEMES.items():
        if stored.startswith(scheme):
            return kind
    if _DES.fullmatch(stored):
        return "as the hash of eight characters (crypt)"
    return "" if _HASH.match(stored) else "that is no hash: nobody can log in with it"


@record(eq=True)
class Unreachable:
    """What workers cannot reach.

    Attributes:
        directive: The directive that names it.
        what: What it is, and why it cannot be reached: the predicate of the path.
        path: Its path on the machine.
    """

    directive: Directive
    what: str
    path: str


def unreachable(model: Model) -> Iterator[Unreachable]:
    """Yield the folders of `root` and `alias`, and the sockets of upstreams, that workers cannot reach, each once."""
    where = places(model)
    if where is None:
        return
    seen: set[tuple[object, ...]] = set()
    for directive, path, is_socket in _named(model, where):
        reached = where.look(path)
        what = "" if reached is None else _why(where, reached, is_socket=is_socket)
        if what and (directive.origin, path) not in seen:
            seen.add((directive.origin, path))
            yield Unreachable(directive, what, path)


def _named(model: Model, where: Places) -> Iterator[tuple[Directive, str, bool]]:
    for directive, _ in model.each("root", "alias"):
        path = where.absolute(directive.args[0]) if directive.args else None
        if path is not None:
            yield directive, path, False
    for directive, _ in model.everywhere(*sorted(group("pass")), "server"):
        if directive.args and directive.block is None:
            socket = re.match(r"(?:[a-z]+://)?unix:([^:]*)", directive.args[0])
            path = where.absolute(socket[1]) if socket else None
            if path is not None:
                yield directive, path, True


def _why(where: Places, reached: Reached, *, is_socket: bool) -> str:
    """Return why workers cannot reach something; empty if they can, or if that is not known."""
    from nginxopt.system.machine import SEARCH, WRITE, refuses

    if reached.is_hidden:
        return ""
    if reached.entry is None:
        return "is not there" if reached.error in (errno.ENOENT, errno.ENOTDIR) else ""
    if is_socket and not reached.entry.is_socket:
        return "is not a socket"
    is_folder = stat.S_ISDIR(reached.entry.mode)
    if where.worker is None or not (is_socket or is_folder):
        return ""
    refusing = refuses(reached, where.worker, WRITE if is_socket else SEARCH)
    if refusing is None:
        return ""
    verb = "write to" if refusing.is_socket else "enter"
    return f"is out of reach: {where.worker.name} may not {verb} {refusing.path}"
