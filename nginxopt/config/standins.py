"""Texts that stand for included files that are missing, as the user assumes, or as packages have them.

In: a configuration, and what is assumed of files that it lacks. Out: texts by path, for an `Overlay` with which the
configuration is read again. A text may include further files, for which there may be texts, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from nginxopt.config.configuration import Config, Scope
from nginxopt.config.filesystem import DISK, Files, Overlay
from nginxopt.errors import UsageError
from nginxopt.records import record

EMPTY, NEUTRAL = "empty", "neutral"
"""What may be assumed of a file: that nothing is in it, or nothing by which requests get other answers.

A neutral file changes headers and bodies, logs, buffers, timeouts and TLS at most. So how nginx answers a request is as
if it were empty: the server, the location, the kind and the status of the outcome, the file that is sent, the
`Location`, and where the request is passed on to. It has none of `listen`, `server_name`, `server`, `location`, `if`,
`set`, `rewrite`, `return`, `break`, `try_files`, `internal`, `*_pass`, `root`, `alias`, `index`, `error_page`, `allow`,
`deny`, `satisfy`, `auth_*`, `limit_*`, `map`, `geo`, `upstream` and `include`, nor any other directive that decides one
of these, such as `autoindex` or `absolute_redirect`.
"""

_KINDS = (EMPTY, NEUTRAL)
_OF_ALL = "unread-"
_OF_ONE = "include:"

OF_DEBIAN = {
    "fastcgi-php.conf": (
        b"fastcgi_split_path_info ^(.+?\\.php)(/.*)$;\n"
        b"try_files $fastcgi_script_name =404;\n"
        b"set $path_info $fastcgi_path_info;\n"
        b"fastcgi_param PATH_INFO $path_info;\n"
        b"fastcgi_index index.php;\n"
        b"include fastcgi.conf;\n"
    ),
    "snakeoil.conf": (
        b"ssl_certificate /etc/ssl/certs/ssl-cert-snakeoil.pem;\n"
        b"ssl_certificate_key /etc/ssl/private/ssl-cert-snakeoil.key;\n"
    ),
}
"""The snippets that Debian's and Ubuntu's nginx-common installs (debian/conf/snippets), which read requests."""

_ROUNDS = 8
"""How often a configuration is read again for files that texts include."""


@record(eq=True)
class UnreadFiles:
    """What is assumed of missing files.

    Attributes:
        of_all: `EMPTY` or `NEUTRAL`; None for nothing.
        by_path: The same for the files of some includes, by their paths as written, or a file to read instead.
    """

    of_all: str | None = None
    by_path: Mapping[str, str] = field(default_factory=dict)

    def of(self, path: str) -> str | None:
        """Return what is assumed of the file of an include: `EMPTY`, `NEUTRAL`, or the path of a file."""
        return self.by_path.get(path, self.of_all)


def is_assumption(text: str) -> bool:
    """Return whether an assumption is about missing files."""
    return text.startswith((_OF_ALL, _OF_ONE))


def assume(texts: Iterable[str]) -> UnreadFiles:
    """Return what some texts assume: `unread-empty`, `unread-neutral`, `include:PATH=empty|neutral|FILE`.

    Raises `UsageError` for another text.
    """
    of_all: str | None = None
    by_path: dict[str, str] = {}
    for text in texts:
        if text.startswith(_OF_ONE):
            path, equals, what = text.removeprefix(_OF_ONE).rpartition("=")
            if not (path and equals and what):
                raise UsageError(f"invalid assumption {text!r}", hint="use include:PATH=empty, =neutral or =FILE")
            by_path[path] = what
        else:
            of_all = text.removeprefix(_OF_ALL)
            if of_all not in _KINDS:
                raise UsageError(f"invalid assumption {text!r}", hint="use unread-empty or unread-neutral")
    return UnreadFiles(of_all, by_path)


@record(eq=True)
class StandIns:
    """A configuration with texts in place of missing files.

    Attributes:
        neutral: The includes, as written, whose files may change headers and bodies.
        notes: What was taken as given of each, a clause.
    """

    config: Config
    neutral: frozenset[str]
    notes: tuple[str, ...]


def read(
    load: Callable[[Files], Config], unread: UnreadFiles, files: Files = DISK, *, is_one_of_two: bool = False
) -> StandIns:
    """Return the configuration that `load` reads, with a text for each missing file of which something is known.

    `files` is the storage of the others. Raises `UsageError` for a stated include that is not missing, unless it may be
    so in another configuration, and `InputError` as `load` does.
    """
    config = load(files)
    stated = {str(include.args[0]): "" for include in config.missing}
    texts: dict[str, bytes] = {}
    notes: dict[str, str] = {}
    neutral: set[str] = set()
    for _ in range(_ROUNDS):
        new = {path: (name, what) for path, name, what in _known(config, unread) if path not in texts}
        if not new:
            break
        for path, (name, what) in new.items():
            texts[path], notes[name] = _text(name, what)
            stated.setdefault(name, "")
            if what == NEUTRAL:
                neutral.add(name)
        config = load(Overlay(texts, files))
    wrong = next((path for path in unread.by_path if path not in stated and path not in notes), None)
    if wrong is not None and not is_one_of_two:
        missing = ", ".join(stated) or "none"
        raise UsageError(f"no include of {wrong} is missing", hint=f"missing: {missing}")
    return StandIns(config, frozenset(neutral), tuple(notes.values()))


def _known(config: Config, unread: UnreadFiles) -> Iterator[tuple[str, str, str | None]]:
    """Yield the missing files of which something is known: path, include as written, and what is assumed.

    Rows of a table decide: a file of rows is not neutral.
    """
    of_tables = {
        directive.origin for directive, scope in config.walk() if directive.name == "include" and _is_table(scope)
    }
    for item in config.unread:
        name = str(item.include.args[0])
        what = unread.of(name)
        if what == NEUTRAL and item.include.origin in of_tables:
            continue
        if what is not None or _base(name) in OF_DEBIAN:
            yield item.path, name, what


def _is_table(scope: Scope) -> bool:
    return scope.context[-1:] in (("map",), ("geo",), ("split_clients",))


def _text(name: str, what: str | None) -> tuple[bytes, str]:
    """Return the text of a missing file, and what is taken as given with it."""
    if what is None:
        return OF_DEBIAN[_base(name)], f"{name} is the file of Debian's package"
    if what == EMPTY:
        return b"", f"{name} is empty"
    if what == NEUTRAL:
        return b"", f"{name} changes nothing but headers and bodies (neutral)"
    try:
        return DISK.read(what), f"{name} is {what}"
    except (OSError, ValueError) as error:
        raise UsageError(f"--assume include:{name}={what}: cannot be read: {error}") from None


def _base(name: str) -> str:
    return name.rpartition("/")[2]
