"""The exception tree. Each class is one exit status, and the command line prints each in one place.

    NginxoptError
    +-- UsageError      2   the call cannot be understood or contradicts itself
    +-- InputError      3   a file that cannot be read or parsed; knows its place
    +-- MissingError    4   something outside is needed: nginx, an engine, a version
    +-- RunError        5   a benchmark that says nothing, a program that died, a server that does not answer
    +-- OutputError     6   the result cannot be written to standard output: a full disk, a closed descriptor
    +-- DefectError    70   a fault of nginxopt itself: nothing was written

Exit status 0 (done and clean) and 1 (findings, would change, gate not met) are results, not errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from nginxopt.text import Source, Span


class NginxoptError(Exception):
    """What every error of nginxopt is; `exit_code` is the status of the process that ends with it."""

    exit_code: ClassVar[int]

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def render(self) -> str:
        """Return the error as it is shown: the message, and below it what helps."""
        return "\n".join([self.message, *self._details()])

    def _details(self) -> list[str]:
        return [f"  hint: {self.hint}"] if self.hint else []


class UsageError(NginxoptError):
    """The call cannot be understood or contradicts itself."""

    exit_code = 2


class InputError(NginxoptError):
    """A file that cannot be read or parsed.

    With `source` and `span` the error has a place: it is shown as `file:line:column: message`, with the line
    and carets under the span. `expected` says what could stand there; `nginx` is what nginx says in the same
    case.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        source: Source | None = None,
        span: Span | None = None,
        expected: str | None = None,
        nginx: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.source = source
        self.span = span
        self.path = path if path is not None or source is None else source.path
        self.expected = expected
        self.nginx = nginx

    def render(self) -> str:
        """Return the error as it is shown: place and message, the source line with carets, and what helps."""
        return "\n".join([f"{self._place()}{self.message}", *self._snippet(), *self._details()])

    def _place(self) -> str:
        if self.path is None:
            return ""
        if self.source is None or self.span is None:
            return f"{self.path}: "
        position = self.source.position(self.span.start)
        return f"{self.path}:{position.line}:{position.column}: "

    def _snippet(self) -> list[str]:
        if self.source is None or self.span is None:
            return []
        return [f"    {line}" for line in self.source.snippet(self.span).split("\n")]

    def _details(self) -> list[str]:
        expected = [f"  expected {self.expected}"] if self.expected else []
        nginx = [f"  nginx says: {self.nginx}"] if self.nginx else []
        return [*expected, *nginx, *super()._details()]


class MissingError(NginxoptError):
    """Something outside nginxopt is needed and not there."""

    exit_code = 4


class RunError(NginxoptError):
    """A benchmark that cannot go on or says nothing: a program died, a variant does not do what it claims."""

    exit_code = 5


class OutputError(NginxoptError):
    """The result cannot be written to standard output, or a message to standard error."""

    exit_code = 6


class DefectError(NginxoptError):
    """A fault of nginxopt itself. Nothing was written."""

    exit_code = 70
