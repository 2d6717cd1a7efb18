"""Notes of a run: what was not checked, and what its findings depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nginxopt.config.includes import is_pattern
from nginxopt.lint.report.model import Note
from nginxopt.semantics.inherit import opens
from nginxopt.settings.premises import WHOLE_CONFIGURATION
from nginxopt.text import Span
from nginxopt.text.plural import count

if TYPE_CHECKING:
    from nginxopt.config import Config, Scope
    from nginxopt.lint.check import Checked


def notes(checked: Checked) -> Iterator[Note]:
    """Yield the notes of a run."""
    yield from _missing(checked.configs)
    if not checked.is_all:
        yield from _elsewhere(checked.configs)
    yield from _unknown(checked)
    yield from _refused(checked)
    yield from _templates(checked)
    yield from _guessed(checked)


def _guessed(checked: Checked) -> Iterator[Note]:
    """Yield a note for the findings that depend on the release, which nobody states."""
    if checked.guessed:
        first = checked.guessed[0]
        messages = {diagnostic.message: None for diagnostic in checked.guessed}
        more = f" and {count(len(checked.guessed) - 1, 'more place')}" if len(checked.guessed) > 1 else ""
        yield Note(
            f"which nginx runs this is not stated, and it depends on that whether it starts "
            f"({next(iter(messages))}{more}): --target-version says it",
            first.finding.source,
            first.finding.span,
        )


def _missing(configs: Iterable[Config]) -> Iterator[Note]:
    """Yield a note for each file of an include that was not read; one of many that a pattern matches by its path."""
    for config in configs:
        for unread in config.unread:
            name = unread.include.args[0]
            path = unread.path if is_pattern(name) else name
            yield Note(f"{path} {unread.why} and is not checked", unread.include.source, name.span)


def _elsewhere(configs: Iterable[Config]) -> Iterator[Note]:
    """Yield a note for each configuration with includes that may read other files where it is installed."""
    for config in configs:
        opening = (
            include
            for include, scope in config.walk()
            if include.name == "include" and not config.is_missing(include) and opens(config, include, _kind(scope))
        )
        first, *others = dict.fromkeys(opening) or (None,)
        if first is not None:
            named = f"{first.args[0]} and {count(len(others), 'other include')}" if others else str(first.args[0])
            yield Note(
                f"{named} may read other files where this is installed: what these may set counts as unknown, and "
                f"fixes that depend on it need --assume {WHOLE_CONFIGURATION.name}",
                first.source,
                first.args[0].span,
            )


def _kind(scope: Scope) -> str:
    return scope.context[-1] if scope.context else "main"


def _unknown(checked: Checked) -> Iterator[Note]:
    """Yield a note with the number of rules that asked for what may be around a fragment."""
    names = Counter(name for asked in checked.unknown.values() for name in sorted(asked))
    if names:
        shown = ", ".join(name for name, _ in names.most_common(3))
        yield Note(
            f"{count(len(checked.unknown), 'rule')} could not judge all, as the file that includes this one may set "
            f"{shown}: name it with --assume FILE, or --assume stock for the nginx.conf that comes with nginx"
        )


def _refused(checked: Checked) -> Iterator[Note]:
    """Yield a note for each configuration that nginx refuses where rules would have asked what becomes of requests."""
    for error in checked.refusals:
        message = f"nginx does not start with this ({error.message}): rules that follow requests did not judge"
        yield Note(message, error.source, error.span)


def _templates(checked: Checked) -> Iterator[Note]:
    """Yield a note for each template, and one with the number of rules whose findings depend on tags."""
    from nginxopt.config.templating import kind

    for config in checked.unsettled:
        for template in config.templates.files.values() if config.templates else ():
            source = template.source
            yield Note(f"this is {kind(source)}: only what holds whatever its tags are is reported", source, Span(0, 0))
    rules = sorted(frozenset().union(*checked.unsettled.values()))
    if rules:
        shown = ", ".join(rules[:3])
        yield Note(
            f"{count(len(rules), 'rule')} found more that depends on tags, such as {shown}: check the rendered files"
        )
