"""What `verify` takes as given: named assumptions about what a configuration does not say.

Those that hold nearly everywhere are taken unless they are denied. Others have to be asked for, as nobody but the
operator can know them. A comparison records which of them it used, and which it would have needed (`Asked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING

from nginxopt.errors import UsageError
from nginxopt.facts import group, having, known, script
from nginxopt.records import record
from nginxopt.semantics.inherit import origin
from nginxopt.text.display import suggestion

if TYPE_CHECKING:
    from nginxopt.config import Config
    from nginxopt.verify.side import VerifiedSide


@record(eq=True)
class VerifyPremise:
    """A premise: its name, what it says, and whether it is taken unless it is denied."""

    name: str
    sentence: str
    is_default: bool = False


BOTH_START = "both-start"
UNREAD_SAME = "unread-same"
FIELD_ORDER = "field-order"
STATE_RESTART = "state-restart"
STATE_SAME = "state-same"
OUTSIDE_SAME = "outside-same"
REDIRECT_LIMIT = "redirect-limit"
MATCH_LIMIT = "match-limit"
ACCEL_PATHS = "accel-paths"
PART_ALONE = "part-alone"
REST_ALIKE = "rest-alike"
NAMED_BY_TEXT = "named-by-text"
STOCK_FILES = "stock-files"
UNMATCHED_EMPTY = "unmatched-empty"
REDIRECTS_BY_NAME = "redirects-by-name"
ACCEL_NAMES = "accel-names"
COLD_CACHE = "cold-cache"
HOST_HEADER = "host-header"
UNREAD_NAMES = "unread-names"
UNSEEN = "uncounted-unseen"
UNREAD_EMPTY = "unread-empty"
UNREAD_NEUTRAL = "unread-neutral"
UNREAD_RULES = "unread-rules"
UNREAD_SILENT = "unread-silent"

_DEFAULT = {
    BOTH_START: "nginx accepts both configurations",
    UNREAD_SAME: "files that were not read are the same on both sides",
    OUTSIDE_SAME: "files, name resolution and upstreams are the same on both sides",
    STATE_SAME: "caches and the counters of limits hold the same on both sides",
    STATE_RESTART: "caches and the counters of limits may start empty under another name",
    FIELD_ORDER: "the order of header fields of different names does not count (RFC 9110, 5.3)",
    REDIRECT_LIMIT: "no request comes to nginx's limit of ten internal redirects",
    MATCH_LIMIT: "no request comes to the match limit of PCRE, at which nginx answers 500",
    ACCEL_PATHS: "X-Accel-Redirect leads only to paths that begin with a slash, and to named locations",
    NAMED_BY_TEXT: "no program and no file reads or sets a variable that has another name on the other side",
    STOCK_FILES: "files that were not read and have the name of one of a package are that file",
    PART_ALONE: "nothing stands around a part of a configuration",
    REST_ALIKE: "the rest of the site answers alike, where nginx itself leads requests of a part there (--only)",
}
_ASKED = {
    REDIRECTS_BY_NAME: "no upstream redirects to the name that an upstream has in the configuration",
    ACCEL_NAMES: "no upstream names a location that has another name on the other side (X-Accel-Redirect)",
    COLD_CACHE: "a response from a cache is what the upstream would send",
    HOST_HEADER: "every request names its host",
    UNREAD_NAMES: "files that were not read use no variable, upstream or location that the two sides define otherwise",
    UNSEEN: "files that were not read show no setting that does not count as an answer, such as by a variable",
    UNMATCHED_EMPTY: "wildcards that match no file here match none where the configuration runs",
    UNREAD_EMPTY: "files that were not read are empty",
    UNREAD_NEUTRAL: "files that were not read change headers, bodies, logs, buffers, timeouts and TLS at most",
    UNREAD_RULES: "files that were not read have no rules and no handlers; they may have locations and settings",
    UNREAD_SILENT: "files that were not read state none of the directives that are named: unread-silent=NAME,NAME",
}
PREMISES = {
    **{name: VerifyPremise(name, sentence, is_default=True) for name, sentence in _DEFAULT.items()},
    **{name: VerifyPremise(name, sentence) for name, sentence in _ASKED.items()},
}
"""All premises by name."""

OF_SIDES = (REDIRECTS_BY_NAME, ACCEL_NAMES, COLD_CACHE, HOST_HEADER, UNREAD_NAMES)
"""Those that change what is compared, so that only a comparison under them shows what they settle."""
OF_FILES = (UNREAD_NEUTRAL, UNREAD_RULES, UNREAD_EMPTY)
"""Those that say what files that were not read do not have, the weakest first."""

_OF_ONE = "include:"
_NEUTRAL, _RULES, _EMPTY = "neutral", "rules", "empty"
_KINDS = {_NEUTRAL: UNREAD_NEUTRAL, _RULES: UNREAD_RULES, _EMPTY: UNREAD_EMPTY}


@record(eq=True)
class Premises:
    """Which premises are taken.

    Attributes:
        assumed: Names of those that were asked for.
        denied: Names of those that are refused.
        silent: Directives that no unread file states.
        by_path: What is said of the files of some includes, by their paths as written: `neutral`, `rules` or `empty`.
    """

    assumed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    by_path: Mapping[str, str] = field(default_factory=dict)

    def holds(self, name: str) -> bool:
        """Return whether a premise is taken."""
        is_stated = name in self.assumed or (name == UNREAD_SILENT and bool(self.silent))
        return name not in self.denied and (is_stated or PREMISES[name].is_default)

    def is_empty(self, path: str) -> bool:
        """Return whether an unread file is empty."""
        stated = self.by_path.get(path)
        return stated == _EMPTY or (stated is None and self.holds(UNREAD_EMPTY))

    def stated_of(self, path: str, name: str) -> str | None:
        """Return the premise by which an unread file does not state a directive; None if it may."""
        stated = self.neutral_of(path) if is_outcome(name) else self._of(path, _EMPTY)
        if stated is None and name in _rules():
            stated = self._of(path, _RULES)
        return stated or (f"{UNREAD_SILENT}={name}" if name in self.silent else None)

    def neutral_of(self, path: str) -> str | None:
        """Return the premise by which an unread file is empty or neutral; None if it may be neither."""
        return self._of(path, _EMPTY) or self._of(path, _NEUTRAL)

    def _of(self, path: str, kind: str) -> str | None:
        """Return the premise by which an unread file is of a kind."""
        stated = self.by_path.get(path)
        if stated is not None:
            return f"{_OF_ONE}{path}={stated}" if stated == kind else None
        return _KINDS[kind] if self.holds(_KINDS[kind]) else None

    @property
    def of_paths(self) -> frozenset[str]:
        """The paths of includes that a premise is about."""
        return frozenset(self.by_path)

    def adding(self, *names: str) -> Premises:
        """Return these premises and others; one about a directive is named `unread-silent=NAME`."""
        stated = (name.partition("=")[2] for name in names if name.startswith(f"{UNREAD_SILENT}="))
        silent = {name for text in stated for name in text.split(",")}
        plain = {name for name in names if "=" not in name}
        return Premises(self.assumed | plain, self.denied, self.silent | silent, self.by_path)


_OUTCOME = frozenset([
    "listen", "server_name", "server", "location", "if", "set", "rewrite", "return", "break", "try_files", "internal",
    "root", "alias", "index", "error_page", "allow", "deny", "satisfy", "map", "geo", "split_clients", "upstream",
    "include", "autoindex", "absolute_redirect", "port_in_redirect", "server_name_in_redirect", "random_index",
])  # fmt: skip
_OUTCOMES = ("auth_", "limit_except", "limit_req", "limit_conn")


def is_outcome(name: str) -> bool:
    """Return whether a directive may decide the server, the location, the status, the file, the Location, or where a
    request is passed on or led to, or runs code, which may do so. No neutral file has it.
    """
    return name in _OUTCOME or name.startswith(_OUTCOMES) or name in _leading()


@cache
def _leading() -> frozenset[str]:
    """Return the directives that pass or lead requests on, and those with code."""
    return group("pass") | group("leads") | having("code", "everything", "variables")


def listed(names: Iterable[str]) -> str:
    """Return names as a text: `a, b and c`."""
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


def is_default(name: str) -> bool:
    """Return whether a premise is taken unless it is denied."""
    return name in PREMISES and PREMISES[name].is_default


def sentence(name: str) -> str:
    """Return what a premise says, also one about a directive or an include."""
    kind, _, value = name.partition("=")
    if kind == UNREAD_SILENT:
        return f"files that were not read do not state {value.replace(',', ', ')}"
    return PREMISES[kind].sentence


def _rules() -> frozenset[str]:
    """Return what a file without rules and handlers does not state."""
    return script() | group("pass") | frozenset({"if", "try_files"})


def read(assumed: Iterable[str], denied: Iterable[str]) -> tuple[Premises, tuple[str, ...]]:
    """Return the premises that options state, and the assumptions about files that are to be read instead
    (`include:PATH=FILE`, for `cli.site`).

    Raises `UsageError` for an unknown name, and for one that is both assumed and denied.
    """
    names: set[str] = set()
    silent: set[str] = set()
    by_path: dict[str, str] = {}
    files: list[str] = []
    for text in assumed:
        name, equals, value = text.partition("=")
        if text.startswith(_OF_ONE):
            path, equals, what = text.removeprefix(_OF_ONE).rpartition("=")
            if not (path and equals and what):
                raise UsageError(f"invalid premise {text!r}", hint="use include:PATH=neutral, =rules, =empty or =FILE")
            if what in (_NEUTRAL, _RULES, _EMPTY):
                by_path[path] = what
            else:
                files.append(text)
        elif name == UNREAD_SILENT:
            silent.update(_directives(value, text))
        elif equals:
            raise UsageError(f"invalid premise {text!r}", hint=f"{_known(name)} has no value")
        else:
            names.add(_known(name))
    refused = frozenset(map(_known, denied))
    if both := names & refused:
        raise UsageError(f"{min(both)} is assumed and denied")
    return Premises(frozenset(names), refused, frozenset(silent), by_path), tuple(files)


def _directives(text: str, whole: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    wrong = next((name for name in names if name not in known()), None)
    if not names or wrong is not None:
        what = "no directive is named" if wrong is None else f"nginx has no directive {wrong}"
        raise UsageError(f"invalid premise {whole!r}: {what}", hint="use unread-silent=NAME,NAME")
    return names


def _known(name: str) -> str:
    """Return the name of a premise. Raises `UsageError` for another."""
    if name not in PREMISES:
        hint = suggestion(name, PREMISES) or f"premises: {', '.join(PREMISES)}"
        raise UsageError(f"unknown premise {name!r}", hint=hint)
    return name


class Asked:
    """The premises of a comparison, with those that it used, and those that it would have needed."""

    def __init__(self, premises: Premises) -> None:
        self.premises = premises
        self.used: dict[str, None] = {}
        self.wanted: dict[str, None] = {}

    def holds(self, name: str) -> bool:
        """Return whether a premise is taken, and record that the comparison used it, or would have needed it."""
        holds = self.premises.holds(name)
        (self.used if holds else self.wanted)[name] = None
        return holds

    def is_silent(self, path: str, name: str) -> bool:
        """Return whether an unread file does not state a directive, by a premise."""
        return self._uses(self.premises.stated_of(path, name))

    def is_neutral(self, path: str) -> bool:
        """Return whether an unread file is neutral, or empty, by a premise."""
        return self._uses(self.premises.neutral_of(path))

    def _uses(self, premise: str | None) -> bool:
        """Return whether there is a premise, and record that it is used."""
        if premise is not None:
            self.used[premise] = None
        return premise is not None


# What a result takes as given


@record(eq=True)
class Given:
    """An assumption as a phrase, and the name of its premise; None if it is about what is never compared."""

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
