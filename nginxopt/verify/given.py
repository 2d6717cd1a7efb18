"""The premises that a comparison uses: assumptions about files that were not read, and the configuration around a
fragment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nginxopt.config import Config
from nginxopt.records import record
from nginxopt.semantics.inherit import origin
from nginxopt.verify.premises import NAMED_BY_TEXT, PART_ALONE, PREMISES, STOCK_FILES, UNREAD_SAME, UNREAD_SILENT, Asked
from nginxopt.verify.side import VerifiedSide


@record(eq=True)
class Given:
    """What is taken as given: a phrase, and the name of the premise; None for what is not compared anyway."""

    text: str
    premise: str | None = None

    def __str__(self) -> str:
        return self.text if self.premise is None else f"{self.text} ({self.premise})"


def given_unread(
    configs: tuple[Config, Config], sides: tuple[VerifiedSide, VerifiedSide], renamed: Mapping[str, str]
) -> Iterator[Given]:
    """Yield the assumptions about what was not read. `renamed` maps new names of variables to old ones."""
    if not all(map(is_whole, configs)):
        yield Given("nothing stands around these parts of a configuration", PART_ALONE)
    unread = dict.fromkeys(path for side in sides for path in side.unread)
    if unread:
        yield Given(f"not read, and the same before and after: {', '.join(unread)}", UNREAD_SAME)
    empty = dict.fromkeys(path for config in configs for path in _without_matches(config))
    if believed := [path for path in empty if path not in unread]:
        yield Given(f"no file is at {', '.join(believed)}")
    for side in sides:
        for premise in side.site.premises:
            include = side.site.nodes.directive(premise.node)
            if include is not None and origin(include) is not None:
                yield Given(premise.text, STOCK_FILES)
    if renamed:
        names = ", ".join(f"${new} for ${old}" for new, old in renamed.items())
        text = "no program and no file reads or sets a variable that has another name now"
        yield Given(f"{text}: {names}", NAMED_BY_TEXT)


def given_asked(asked: Asked) -> Iterator[Given]:
    """Yield the premises that were asked for and used."""
    silent = sorted(name.partition("=")[2] for name in asked.used if name.startswith(f"{UNREAD_SILENT}="))
    if silent:
        yield Given(f"files that were not read do not state {', '.join(silent)}", UNREAD_SILENT)
    for name in asked.used:
        if name in PREMISES:
            yield Given(PREMISES[name].sentence, name)
        elif not name.startswith(f"{UNREAD_SILENT}="):
            yield Given(name)


def is_whole(config: Config) -> bool:
    """Return whether this is a main configuration, and no fragment."""
    return any(directive.name == "http" for directive in config.readings.directives)


def _without_matches(config: Config) -> Iterator[str]:
    """Yield the wildcards of includes that match no file."""
    for scope in config.readings.tree():
        for include in scope.directives:
            is_read = include.name == "include" and include.args and not config.is_missing(include)
            if is_read and not config.included(include):
                yield str(include.args[0])
