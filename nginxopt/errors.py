"""The exception tree. Each class is one exit status, and the command line prints each in one place.

    NginxoptError
    +-- UsageError      2   the call cannot be understood or contradicts itself
    +-- InputError      3   a file that cannot be read or parsed; knows its place
    +-- MissingError    4   something outside is needed: nginx, an engine, a version
    +-- DefectError    70   a fault of nginxopt itself: nothing was written

Exit status 0 (done and clean) and 1 (findings, would change, gate not met) are results, not errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from nginxopt.source import Source, Span


class NginxoptError(Exception):
    """What every error of nginxopt is; `exit_code` is the status of the process that ends with it."""

    exit_code: ClassVar[int]

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(NginxoptError):
    """The call cannot be understood or contradicts itself."""

    exit_code = 2


class InputError(NginxoptError):
    """A file that cannot be read or parsed.

    With `source` and `span` the error has a place: it prints as `file:line:column: message`, with the line and a caret.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        source: Source | None = None,
        span: Span | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.source = source
        self.span = span
        self.path = path if path is not None or source is None else str(source.path)


class MissingError(NginxoptError):
    """Something outside nginxopt is needed and not there."""

    exit_code = 4


class DefectError(NginxoptError):
    """A fault of nginxopt itself. Nothing was written."""

    exit_code = 70
