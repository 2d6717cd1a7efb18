"""Runs `nginx -t` on a configuration of unknown origin: on a copy, confined, and without the programs that it names.

The copy has all files of the configuration as they were read, in a private folder. The files include each other there,
and what nginx would write lies there, too (`nginxopt.system.nginx.writes`). Beside the main file are links to what is
beside the original, so that relative paths, such as those of certificates, lead where they did (`ngx_conf_full_name`
with `conf_prefix`). What would run programs is refused (`nginxopt.system.nginx.permission`). The rest is up to the
kernel (`nginxopt.system.confinement`): no network, no other user's rights, no other folder to write to.

As root, nginx runs as nobody. So that it still reads the keys of certificates, files of TLS are copied, too, unless
programs of the configuration may run, which could read the copies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from stat import S_ISREG

from nginxopt import lazy
from nginxopt.config import Config, Directive, File, Scope, Token
from nginxopt.config.layout import quoted
from nginxopt.system.confinement import hosts_of, trial_user
from nginxopt.system.interrupts import temporary_folder
from nginxopt.system.nginx import permission
from nginxopt.system.nginx.binary import Binary
from nginxopt.system.nginx.verdict import Verdict
from nginxopt.system.nginx.writes import defaults, written
from nginxopt.text import Edit, Span, apply, encode

_OF_HOSTS = lazy.pattern(
    r"server|listen|resolver|pass|proxy|auth_http|set_real_ip_from|debug_connection|\w+_(pass|bind|responder)"
)
_NO_NAME = lazy.pattern(r"[^A-Za-z0-9._-]+")
_OF_TLS = lazy.pattern(
    r"(\w+_)?ssl_(certificate|certificate_key|trusted_certificate|client_certificate|crl|dhparam|password_file"
    r"|session_ticket_key|stapling_file|ech_file)"
)
_MOST_OF_TLS = 1 << 20


def test(config: Config, binary: Binary) -> Verdict:
    """Return nginx's verdict on a configuration, as it was read.

    Raises `InputError` if it would run something that `binary.allowed` does not include.
    """
    modules = permission.refuse(config, binary)
    with temporary_folder() as name:
        copy = _Copy(config, Path(name).resolve(), modules, copies_keys=not binary.allowed.code)
        copy.write()
        return binary.test_copy(copy.folder, copy.main, copy.names(), copy.hosts())


def test_changed(config: Config, changed: Collection[str], binary: Binary) -> Verdict:  # noqa: ARG001 - all is copied
    """Return nginx's verdict on a configuration whose files at the paths `changed` have not been written yet.

    Raises as `test` does.
    """
    return test(config, binary)


class _Copy:
    """A copy of a configuration in a folder.

    conf/        the main file, and links to what is beside the original
    files/       the other files, by number
    written/     what nginx writes
    tls/         copies of keys and certificates, for another user
    """

    def __init__(self, config: Config, folder: Path, modules: Mapping[Directive, Path], *, copies_keys: bool) -> None:
        self.folder = folder
        self._copies_keys = copies_keys and trial_user() is not None
        self._config, self._modules = config, modules
        self._beside = Path(config.main.path).absolute().parent
        self.main = folder / "conf" / (Path(config.main.path).name.strip("-") or "nginx.conf")
        others = (file for file in config.files if file is not config.main)
        self._files = {config.main: self.main}
        self._files |= {file: folder / "files" / f"{number}.conf" for number, file in enumerate(others)}
        self._written: dict[str, Path] = {}
        self._keys: dict[str, Path] = {}

    def write(self) -> None:
        """Write it."""
        for name in ("conf", "files", "written", "tls"):
            (self.folder / name).mkdir()
        self._link()
        edits = self._edits()
        for file, path in self._files.items():
            path.write_bytes(apply(file.source.data, edits.get(file, ())))

    def names(self) -> dict[str, str]:
        """Return the original names of its paths, for messages."""
        files = {str(path): _absolute(file) for file, path in self._files.items()}
        paths = {str(path): name for name, path in chain(self._written.items(), self._keys.items())}
        return {**files, **paths, f"{self.folder}/absent/": "", f"{self.folder}/conf/": f"{self._beside}/"}

    def hosts(self) -> tuple[str, ...]:
        """Return the names of hosts that nginx looks up."""
        directives = (item for item in permission.statements(self._config) if _OF_HOSTS.fullmatch(item.name))
        words = (part for item in directives for word in item.args for part in _NO_NAME.split(word))
        return hosts_of(words)

    def _link(self) -> None:
        """Link to the other files in the folder of the original main file."""
        with suppress(OSError):  # there is no such folder, or it may not be read
            for path in self._beside.iterdir():
                if path.name != self.main.name:
                    (self.folder / "conf" / path.name).symlink_to(path)

    def _edits(self) -> dict[File, list[Edit]]:
        """Return the edits of each file. A file that is included twice gets its edits once."""
        owner = {id(file.source): file for file in self._config.files}
        edits: dict[File, list[Edit]] = {self._config.main: list(self._defaults(self._config.scope, Span(0, 0)))}
        for scope in self._config.scope.tree():
            if scope.context == ("http",) and scope.opener and scope.opener.block:
                inside = scope.opener.block.span.start + 1
                edits.setdefault(owner[id(scope.opener.source)], []).extend(self._defaults(scope, Span(inside, inside)))
        for directive in dict.fromkeys(item for item, _ in self._config.walk()):
            edit = self._edit(directive)
            if edit is not None:
                edits.setdefault(owner[id(directive.source)], []).append(edit)
        return edits

    def _defaults(self, scope: Scope, span: Span) -> Iterator[Edit]:
        present = {str(directive.name) for directive in scope.directives}
        text = " ".join(defaults(scope.context, present, str(self.folder / "written")))
        if text:
            yield Edit(span, encode(f" {text} "))

    def _edit(self, directive: Directive) -> Edit | None:
        """Return the edit that keeps a directive in the folder; None if it is there already."""
        if directive.name == "include" and directive.block is None and directive.args:
            return Edit(
                directive.span, encode(" ".join(f"include {quoted(name)};" for name in self._include(directive)))
            )
        if directive in self._modules:
            return _word(directive.args[0], str(self._modules[directive]))
        word = written(directive)
        if word is not None:
            return _word(word, self._place(directive, word))
        if _OF_TLS.fullmatch(directive.name) and directive.args and self._copies_keys:
            return self._key(directive.args[0])
        return None

    def _include(self, include: Directive) -> Iterator[str]:
        """Yield the names of the files of an include in the copy. Files that could not be read are missing there."""
        if self._config.is_missing(include):
            yield f"{self.folder}/absent/{(self._beside / include.args[0])}"
        yield from (str(self._files[file]) for file in self._config.included(include))

    def _place(self, directive: Directive, word: Token) -> str:
        """Return the path or address in the copy for a word; equal words get the same one."""
        if directive.name == "working_directory":
            return str(self.folder)
        path = self._written.setdefault(str(word), self.folder / "written" / f"{len(self._written)}.written")
        return f"unix:{path}" if directive.name == "listen" else str(path)

    def _key(self, word: Token) -> Edit | None:
        """Return the edit that names a copy of a file of TLS, if it is one that can be read."""
        try:
            source = self._beside / word
            if not S_ISREG(source.stat().st_mode) or source.stat().st_size > _MOST_OF_TLS:
                return None
            data = source.read_bytes()
        except (OSError, ValueError):
            return None
        path = self._keys.setdefault(str(word), self.folder / "tls" / f"{len(self._keys)}.copy")
        path.write_bytes(data)
        return _word(word, str(path))


def _word(word: Token, text: str) -> Edit:
    return Edit(word.span, encode(quoted(text)))


def _absolute(file: File) -> str:
    return str(Path(file.path).absolute())
