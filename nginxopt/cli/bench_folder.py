"""The directory of a run of `nginxopt bench`: beside the file of --output, or a temporary one."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from nginxopt.bench import run_folder
from nginxopt.bench.temporary import private_folder
from nginxopt.errors import InputError, UsageError
from nginxopt.system.files import folder, refuse_unwritable, write_all
from nginxopt.system.writing.targets import is_stream

_MARK = ".nginxopt-bench"
"""The file that marks a directory as one of `nginxopt bench`, which the next run may replace."""
_SAYS = b"nginxopt bench made this directory, and replaces it in the next run with the same --output.\n"


def refuse(output: str | None, inputs: Iterable[str]) -> None:
    """Raise `UsageError` if the directory of the run is the output, is another's, or has one of the inputs."""
    folder = _beside(output)
    if folder is None:
        return
    if folder == Path(os.path.abspath(output or "")):  # noqa: PTH100 - links stay
        raise UsageError(f"--output {output}: .run is for the directory of the run", hint="use another suffix")
    real = Path(os.path.realpath(folder))
    for file in inputs:
        if Path(os.path.realpath(file)).is_relative_to(real):
            raise UsageError(f"--output {output} would replace {folder}, which has the input file {file}")
    try:
        is_of_others = os.path.lexists(folder) and not os.path.isfile(folder / _MARK) and any(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(folder)) from None
    if is_of_others:
        raise UsageError(
            f"--output {output} would replace {folder}, which has no mark of nginxopt bench",
            hint="use another --output; or, if an older nginxopt bench made the directory, remove it",
        )


@contextlib.contextmanager
def opened(output: str | None) -> Iterator[Path]:
    """Yield the directory of a run, without what an earlier one left in it.

    Raises `InputError` if it cannot be created, or if the result could not be written to the output.
    """
    kept = _beside(output)
    if kept is None:
        with private_folder() as temporary:
            yield temporary
        return
    folder(str(kept.parent), [])
    refuse_unwritable(str(output))
    folder(str(kept), [])
    write_all({str(kept / _MARK): _SAYS})
    for name in run_folder.PARTS:  # pages cached in the last run would not be new
        shutil.rmtree(kept / name, ignore_errors=True)
    yield kept


def _beside(output: str | None) -> Path | None:
    """Return the path of the directory for a file; None if the result is written to no file."""
    return None if output is None or is_stream(output) else Path(output).absolute().with_suffix(".run")
