"""The exception tree. Each class is one exit status, and the command line prints each in one place.

    NginxoptError
    +-- UsageError      2   invalid or contradictory options
    +-- InputError      3   a file that cannot be read or parsed, with the place
    |   +-- RuleError   7   a rule from outside of nginxopt that cannot be loaded or that raised; the others were run
    |   +-- InternalError 70  a bug in nginxopt that concerns one rule, list, file or host; the others were judged
    +-- MissingError    4   something is not installed: nginx, a container engine, a package
    +-- RunError        5   an invalid benchmark, a program that died, a server that does not answer
    +-- OutputError     6   standard output cannot be written: a full disk, a closed descriptor
    +-- DefectError    70   a bug in nginxopt; nothing was written

Exit status 0 (done and clean) and 1 (findings, would change, gate not met) are results, not errors; so is the 5 of
`verify`, which cannot decide.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.text import Source, Span


OUTSIDE = "cannot be read like this, and its text is not shown: it is outside of the named paths"
"""The message of an error in a file that only a configuration names."""
OUTSIDE_HINT = "--also DIR takes a directory as one of the named paths"


class NginxoptError(Exception):
    """The base class of all errors; `exit_code` is the exit status of the command.

    `below` are lines that belong to the message, such as what a program said. All parts may have text from anywhere,
    such as the names of files: `render` escapes it.
    """

    exit_code: ClassVar[int]

    def __init__(self, message: str, *, below: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__("\n".join([message, *below]))
        self.message = message
        self.below = tuple(below)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle what the error has become, whatever its constructor takes."""
        return _bare, (type(self), self.args), self.__dict__

    def render(self) -> str:
        """Return the error for display: the message, then advice. No text in it moves the cursor or ends a line."""
        from nginxopt.text.display import hide, line  # an error is raised without it, and without what it loads

        return "\n".join(line(hide(text)) for text in self._lines())

    def _lines(self) -> list[str]:
        return [self.message, *self.below, *self._details()]

    def _details(self) -> list[str]:
        return [f"  hint: {self.hint}"] if self.hint else []


def _bare(kind: type[NginxoptError], args: tuple[object, ...]) -> NginxoptError:
    """Return an error of a class with these `args`, and nothing else yet."""
    return kind.__new__(kind, *args)


class UsageError(NginxoptError):
    """Invalid or contradictory options."""

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
        below: Sequence[str] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message, below=below, hint=hint)
        self.source = source
        self.span = span
        self.path = path if path is not None or source is None else source.path
        self.expected = expected
        self.nginx = nginx
        if source is not None and source.outside:
            self.withhold()

    def withhold(self) -> None:
        """Leave of the error only its place: it is in a file that the user did not name, whose text is not shown."""
        self.message, self.below, self.expected, self.nginx, self.hint = OUTSIDE, (), None, None, OUTSIDE_HINT
        self.args = (OUTSIDE,)
        if self.source is not None:
            self.source.withhold()

    def _lines(self) -> list[str]:
        """Return place and message, the source line with carets, and advice."""
        return [f"{self._place()}{self.message}", *self.below, *self._snippet(), *self._details()]

    def _place(self) -> str:
        if self.path is None:
            return ""
        if self.source is None or self.span is None:
            return f"{self.path}: "
        position = self.source.position(self.span.start)
        return f"{self.path}:{position.line}:{position.column}: "

    def _snippet(self) -> list[str]:
        if self.source is None or self.span is None or self.source.outside:
            return []
        return [f"    {line}" for line in self.source.snippet(self.span).split("\n")]

    def _details(self) -> list[str]:
        expected = [f"  expected {self.expected}"] if self.expected else []
        nginx = [f"  as nginx words it: {self.nginx}"] if self.nginx else []
        return [*expected, *nginx, *super()._details()]


class RuleError(InputError):
    """A rule from outside of nginxopt that cannot be loaded, or that raised, with the place in its file."""

    exit_code = 7


class InternalError(InputError):
    """A bug in nginxopt that concerns one rule, list, file or host. The others were judged and written."""

    exit_code = 70


class MissingError(NginxoptError):
    """Something outside nginxopt is required but missing."""

    exit_code = 4


class RunError(NginxoptError):
    """A benchmark that cannot continue or is invalid: a program died, or a variant does not work as described."""

    exit_code = 5


class OutputError(NginxoptError):
    """The result cannot be written to standard output, or a message to standard error."""

    exit_code = 6


def status_of(errors: Iterable[NginxoptError]) -> int:
    """Return the exit status of a command with these errors, one at least: 70 if one shows a bug."""
    statuses = {error.exit_code for error in errors}
    return DefectError.exit_code if DefectError.exit_code in statuses else min(statuses)


class TerminatedError(SystemExit):
    """SIGTERM has arrived; `code` is the exit status. Code that catches `SystemExit` of others lets this one pass."""


class DefectError(NginxoptError):
    """A bug in nginxopt. Nothing was written."""

    exit_code = 70
