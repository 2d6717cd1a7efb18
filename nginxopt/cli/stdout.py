"""Standard output and error: results as bytes, colored terminals, and streams that cannot be written to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from nginxopt.errors import InternalError, OutputError
from nginxopt.text.display import JSON, hide, hide_in_json, inert_document, inert_lines, line, terminal

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar


class ClosedPipeError(Exception):
    """The reader of the output has gone away."""


def say(message: str) -> None:
    """Print a line on standard error. Escapes what would control a terminal or a runner of GitHub Actions."""
    click.echo(line(hide(message)), err=True)


def write(pieces: Iterable[bytes], *, colors: bool = False) -> None:
    """Write `pieces` to standard output and flush it; the errors of `guarded`.

    A terminal gets text. What would move its cursor, or hide or color text, is escaped, unless `colors` says that
    nginxopt colors the text itself.
    """
    on_terminal = sys.stdout.isatty()
    for piece in pieces:
        if on_terminal:
            sys.stdout.write(terminal(piece.decode("utf-8", "surrogateescape"), colors=colors))
        else:
            sys.stdout.buffer.write(piece)
    sys.stdout.flush()


def write_lines(lines: Iterable[str]) -> None:
    """Write the lines of a report for people, with their line ends, as `write` does; none is a command to a runner."""
    write((inert_lines(hide(line)).encode(errors="backslashreplace") for line in lines), colors=True)


def write_document(text: str, format_: str = "json") -> None:
    """Write a report in a format as `write` does; none of its lines is a command to a runner.

    In JSON, words that only files outside of the named paths have are hidden.
    """
    shown = hide_in_json(text) if format_ in JSON else text
    write([inert_document(shown, format_).encode(errors="backslashreplace")])


def keep_descriptors() -> None:
    """Open what is closed of standard input, output and error as the null device, at the start of a program.

    Otherwise the next file that is opened gets its number, and everything that the program prints there goes into the
    file.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        if descriptor == 0:
            sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it has no name, and stays open
    os.close(descriptor)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Make standard output and error raise `ClosedPipeError` without a reader, `OutputError` if a write fails.

    A closed standard error ends nothing: it discards all messages.
    """
    streams = sys.stdout, sys.stderr
    with open(os.devnull, "w") as nothing:  # noqa: PTH123 - os.devnull is a name
        output = _Guarded(sys.stdout, "standard output")
        sys.stdout = cast(TextIO, output)
        sys.stderr = cast(TextIO, _Guarded(sys.stderr or nothing, "standard error"))
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams


@contextlib.contextmanager
def progress(length: int, label: str, *, show_pos: bool = False) -> Iterator[ProgressBar[int]]:
    """Show a progress bar on standard error, which is a terminal, and yield it."""
    stream = sys.stderr
    file = stream.unguarded if isinstance(stream, _Guarded) else stream  # it moves the cursor
    with click.progressbar(length=length, label=line(label), file=file, show_pos=show_pos) as bar:
        yield bar


def discard() -> None:
    """Drop buffered output that could not be printed; the interpreter would retry it at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (ClosedPipeError, OutputError):
            with contextlib.suppress(AttributeError, OutputError):  # it is closed
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class _Guarded:
    """A stream that raises the errors above; None for a closed stream."""

    def __init__(self, stream: Any, name: str) -> None:
        self._stream = stream
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @property
    def unguarded(self) -> Any:
        """The underlying stream of text, which escapes nothing."""
        return self._stream

    @property
    def buffer(self) -> _Guarded:
        """The underlying stream of bytes."""
        return _Guarded(None if self._stream is None else self._stream.buffer, self._name)

    def write(self, data: Any) -> Any:
        r"""Write bytes or text; in text, what moves a cursor becomes `\x1b`, and a byte that is not UTF-8 `\xff`."""
        if isinstance(data, str) and not data.isprintable():
            data = terminal(data)
        return self._try(lambda: self._stream.write(data))

    def flush(self) -> None:
        """Flush what was written."""
        if self._stream is not None:
            self._try(self._stream.flush)

    def fileno(self) -> int:
        """Return its descriptor."""
        return int(self._try(lambda: self._stream.fileno()))

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream is not None and bool(self._stream.isatty())

    def _try(self, do: Callable[[], Any]) -> Any:
        if self._stream is None:
            raise OutputError(f"{self._name} is closed")
        try:
            return do()
        except BrokenPipeError:
            raise ClosedPipeError from None
        except OSError as error:
            raise OutputError(f"{self._name} cannot be written: {error.strerror or error}") from None


def colored(*, err: bool = False) -> bool:
    """Return whether standard output (or error) is a terminal and NO_COLOR is unset or empty (https://no-color.org).

    FORCE_COLOR turns colors on without a terminal, for example in a CI log that shows them.
    """
    if os.environ.get("NO_COLOR"):
        return False
    stream = sys.stderr if err else sys.stdout
    return stream.isatty() or bool(os.environ.get("FORCE_COLOR"))


def report_bugs(bugs: Iterable[InternalError], status: int) -> int:
    """Print each bug once on standard error. Return the exit status, which is `status` if there is none."""
    texts = {error.render(): error for error in bugs}
    for text in texts:
        click.echo(text, err=True)
    return InternalError.exit_code if texts else status
