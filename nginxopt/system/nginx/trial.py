"""Runs `nginx -t` on a changed configuration before it is written.

Relative paths in a configuration start from the folder of the main file (`ngx_conf_full_name` with `conf_prefix`). So
the main file is copied to a hidden file beside the real one. Changed files that it includes are copied to a temporary
folder, and the copies include each other by absolute paths. All copies are removed afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path

from nginxopt.config import Config, Directive, File
from nginxopt.config.layout import quoted
from nginxopt.errors import InputError
from nginxopt.system.interrupts import temporary_folder
from nginxopt.system.nginx.binary import Binary
from nginxopt.system.nginx.verdict import Verdict
from nginxopt.system.writing.copies import make
from nginxopt.system.writing.scratch import Scratch
from nginxopt.text import Edit, Source, apply, encode


def test(config: Config, binary: Binary) -> Verdict:
    """Return nginx's verdict on a configuration that is on the disk."""
    return binary.test_file(str(Path(config.main.path).absolute()), {})


def test_changed(config: Config, changed: Collection[str], binary: Binary) -> Verdict:
    """Return nginx's verdict on a configuration whose files at the paths `changed` have not been written yet.

    Raises `InputError` if the copy of the main file cannot be created beside it.
    """
    with temporary_folder() as name, contextlib.ExitStack() as cleanup:
        folder = Path(name)
        stale = _stale(config, changed)
        copies = {file: str(folder / f"{number}.conf") for number, file in enumerate(stale)}
        copies[config.main] = cleanup.enter_context(_beside(config.main.path))
        for file, path in copies.items():
            Path(path).write_bytes(apply(file.source.data, _includes(config, file.source, copies)))
        return binary.test_file(copies[config.main], {path: _absolute(file) for file, path in copies.items()})


def _stale(config: Config, changed: Collection[str]) -> list[File]:
    """Return the included files that are changed, or that include a changed file directly or indirectly."""
    stale = {file for file in config.files if file.path in changed}
    while True:
        leading = {
            file
            for file in config.files
            if file not in stale
            and any(child in stale for include in _of(file.source, config) for child in config.included(include))
        }
        if not leading:
            return sorted(stale - {config.main}, key=config.files.index)
        stale |= leading


def _of(source: Source, config: Config) -> Iterator[Directive]:
    """Yield the includes in the text of a file, each once."""
    return (include for include in config.includes if include.source is source)


def _includes(config: Config, source: Source, copies: dict[File, str]) -> Iterator[Edit]:
    """Yield the edits that make a file include copies instead of the original files."""
    for include in _of(source, config):
        files = config.included(include)
        if any(file in copies for file in files):
            names = (copies.get(file) or _absolute(file) for file in files)
            yield Edit(include.span, encode(" ".join(f"include {quoted(name)};" for name in names)))


@contextlib.contextmanager
def _beside(path: str) -> Iterator[str]:
    """Yield the path of an empty hidden file in the folder of a file, and remove it at the end."""
    with contextlib.ExitStack() as cleanup:
        try:
            name = cleanup.enter_context(Scratch(Path(path).absolute().parent)).name()
            make(name, b"")
        except OSError as error:
            raise InputError(f"cannot create a file beside it for nginx -t: {error.strerror}", path=path) from None
        yield str(name)


def _absolute(file: File) -> str:
    return str(Path(file.path).absolute())
