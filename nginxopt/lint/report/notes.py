"""Notes of a run: what was not checked, and what its findings depend on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nginxopt.config.filesystem import is_pattern
from nginxopt.config.places import is_of_machine, may_read_more
from nginxopt.lint.report.model import Note
from nginxopt.semantics.inherit import opens
from nginxopt.settings.premises import WHOLE_CONFIGURATION
from nginxopt.text import Span
from nginxopt.text.display import be, count

if TYPE_CHECKING:
    from nginxopt.config import Config, Directive, Scope, Source
    from nginxopt.config.inputs import Inputs
    from nginxopt.lint.check import Checked


_SHOWN = 3
"""How many paths a note shows."""


def notes(checked: Checked) -> Iterator[Note]:
    """Yield the notes of a run."""
    yield from _missing(checked.configs)
    yield from _elsewhere(checked.configs, is_all=checked.is_all)
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


def of_inputs(inputs: Inputs) -> Iterator[Note]:
    """Yield a note on the files of other programs, and one on the templates that could not be read."""
    if inputs.foreign:
        many = len(inputs.foreign)
        what = f"{'does' if many == 1 else 'do'} not look like nginx's and {be(many)} not checked"
        yield Note(f"{count(many, 'file')} {what}: {_some(inputs.foreign)} (name a file to check it)")
    if inputs.templates:
        first = inputs.templates[0]
        others = [error.path or "-" for error in inputs.templates[1:]]
        more = f"; nor {_some(others)}" if others else ""
        because = f" ({first.hint})" if first.hint else ""
        yield Note(f"{first.message}, which is not checked{because}{more}", first.source, first.span)


def _some(paths: Sequence[str]) -> str:
    """Return the first of some paths, and how many more there are."""
    more = [f"{count(len(paths) - _SHOWN, 'other')}"] if len(paths) > _SHOWN else []
    return ", ".join([*paths[:_SHOWN], *more])


def _missing(configs: Iterable[Config]) -> Iterator[Note]:
    """Yield a note for each file of an include that was not read; one of many that a pattern matches by its path."""
    yield from _once(
        (unread.include, unread.path if is_pattern(unread.include.args[0]) else str(unread.include.args[0]), unread.why)
        for config in configs
        for unread in config.unread
    )


def _once(told: Iterable[tuple[Directive, str, str]]) -> Iterator[Note]:
    """Yield a note for each path of an include and what is said of it, at the first of its places."""
    places: dict[tuple[str, str], dict[tuple[Source, int], Directive]] = {}
    for include, path, why in told:
        places.setdefault((path, why), {}).setdefault(include.origin, include)
    for (path, why), includes in places.items():
        first, *others = includes.values()
        more = f" (nor for {count(len(others), 'other include')})" if others else ""
        yield Note(f"{path} {why} and is not checked{more}", *_place(first))


def _elsewhere(configs: Iterable[Config], *, is_all: bool) -> Iterator[Note]:
    """Yield a note for each kind of includes that may read other files where they are installed, or that do here.

    An include that matches nothing always gets a note, and so does one that reads files of this machine for a
    configuration that is not installed here.
    """
    kinds: dict[tuple[str, bool], list[Directive]] = {}
    for config in configs:
        for include, scope in config.walk():
            if include.name != "include" or config.is_missing(include) or not include.args:
                continue
            may_set = not is_all and opens(config, include, _kind(scope))
            what = "taken" if is_of_machine(config, include) else _nothing(config, include)
            if what or may_set:
                kinds.setdefault((what, may_set), []).append(include)
    for (what, may_set), includes in kinds.items():
        names = list(dict.fromkeys(str(include.args[0]) for include in includes))
        subject = f"{names[0]} and {count(len(names) - 1, 'other include')}" if len(names) > 1 else names[0]
        says = [_WHAT[what][len(names) > 1]] if what else []
        yield Note(f"{subject} {' and '.join([*says, *([_MAY_SET] if may_set else [])])}", *_place(includes[0]))


_WHAT = {
    "taken": ("is taken from this machine", "are taken from this machine"),
    "nothing": ("matches no file here", "match no file here"),
}
_MAY_SET = (
    "may read other files where this is installed: what these may set counts as unknown, and fixes that depend on it "
    f"need --assume {WHOLE_CONFIGURATION.name}"
)


def _nothing(config: Config, include: Directive) -> str:
    return "nothing" if not config.included(include) and may_read_more(config, include) else ""


def _place(include: Directive) -> tuple[Source, Span]:
    return include.source, include.args[0].span


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

    kinds: dict[str, dict[str, Source]] = {}
    for config in checked.unsettled:
        for path, template in config.templates.files.items() if config.templates else ():
            kinds.setdefault(kind(template.source), {}).setdefault(path, template.source)
    for name, (first, *others) in ((name, sources.values()) for name, sources in kinds.items()):
        more = f" (so {be(len(others))} {count(len(others), 'other file')})" if others else ""
        yield Note(f"this is {name}{more}: only what holds whatever its tags are is reported", first, Span(0, 0))
    rules = sorted(frozenset().union(*checked.unsettled.values()))
    if rules:
        shown = ", ".join(rules[:3])
        yield Note(
            f"{count(len(rules), 'rule')} found more that depends on tags, such as {shown}: check the rendered files"
        )
