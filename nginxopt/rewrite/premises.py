"""The premises of a compilation: assumptions about nginx that the text of the configuration cannot confirm.

A premise has a name, for reports and tests, and a sentence. The summary, the header of the maps, the report and
`docs/guide/rewrite-to-map.md` state the premises of a plan, and the proof refuses maps that do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.config import Config, Directive, File
from nginxopt.facts.lexicon import ROWS
from nginxopt.records import record
from nginxopt.rewrite.evaluations import DEEPEST
from nginxopt.rewrite.kinds.maps.readers import is_program
from nginxopt.rewrite.kinds.maps.reading import http_maps, variables
from nginxopt.rewrite.surroundings import captures_may_be_read, is_known, is_main_known, rewrites
from nginxopt.semantics.values import flag, number, size
from nginxopt.text import decode

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.kinds.rules.planning import PlannedRun

LONGEST_SUBJECT = 65_536
"""The longest string, in bytes, for which it is known whether PCRE reaches its match limit: 8 default buffers."""


@record(eq=True)
class RewritePremise:
    """An assumption that no configuration can confirm; `sentence` states it, without a full stop."""

    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.sentence}"


SERVER_CONTEXT = RewritePremise(
    "server-context",
    "the fragment is included in servers only, not in locations (--context location works in both)",
)
HTTP_CONTEXT = RewritePremise("http-context", "the fragment is included in the http block, not in stream")
MAP_BLOCK = RewritePremise("map-block", "one map includes the file of rows, the stated one, and has no other rows")
MISSING_ROWS = RewritePremise(
    "missing-rows",
    "an unread file that a compiled map includes has only rows, and no pattern on which PCRE gives up",
)
CAPTURES_AFTER_MAPS = RewritePremise(
    "captures-after-maps",
    "no unread file reads captures ($1 to $9, named groups) after it evaluates one of the compiled maps",
)
EVALUATION_DEPTH = RewritePremise(
    "evaluation-depth",
    "no unread file or program makes nginx nest more than 100 evaluations of variables around the compiled maps",
)
OWN_NAMES = RewritePremise("own-names", "no other part of the configuration uses the variable names of the maps")
TABLE_SIZES = RewritePremise(
    "table-sizes",
    "hash tables have at least nginx's default sizes and those that the result states; nginx -t reports smaller ones",
)
MISSING_SIZES = RewritePremise(
    "missing-sizes",
    "no unread file sets a hash table size that is set here, or one below the default; nginx -t reports it",
)
SERVER_INCLUDES = RewritePremise(
    "server-includes",
    "no unread file includes a changed file of rules, except directly in a server",
)
LOCATION_SETTINGS = RewritePremise(
    "location-settings",
    "no unread file gives a location with compiled rewrites what an `if` in it does not inherit: try_files, an `if` "
    "with settings, directives that are not nginx's, add_header_inherit or add_trailer_inherit",
)
LOCATION_INCLUDES = RewritePremise(
    "location-includes",
    "no unread file gives a regex location that is put into another one locations, directives that are not nginx's, "
    "add_header_inherit or add_trailer_inherit",
)
FAILED_CAPTURES = RewritePremise(
    "failed-captures",
    "nginx is built with PCRE2, or nothing reads $1 to $9 of a server_name, an if or a rewrite after other patterns "
    "have failed: with PCRE 8, these overwrite them, and fewer fail now",
)
PCRE_INTERPRETER = RewritePremise(
    "pcre-interpreter",
    "pcre_jit is off, or the JIT compiler of nginx's PCRE has no bug in these patterns",
)
PCRE_JIT = RewritePremise(
    "pcre-jit",
    "pcre_jit is on, and the JIT compiler of nginx's PCRE matches like its interpreter, which depends on the release",
)
LONG_SUBJECTS = RewritePremise(
    "long-subjects",
    "no URI, and no other string that a pattern is matched against, is longer than 65,536 bytes",
)


def _may_nest_more(plan: Plan) -> bool:
    """Whether lookups replace lists, and unread text or programs may evaluate them, or what they read."""
    if not _sources(plan):
        return False
    return not is_known(plan.config) or any(
        is_program(directive) for directive, scope in plan.config.walk() if not ROWS.intersection(scope.context[-1:])
    )


def _has_jit(plan: Plan) -> bool:
    """Whether the configuration turns JIT on (`ngx_core_module`)."""
    return any(map(_turns_jit_on, plan.config.scope.directives))


def _turns_jit_on(directive: Directive) -> bool:
    return directive.name == "pcre_jit" and any(flag(arg) for arg in directive.args)


def _may_have_jit(plan: Plan) -> bool:
    return not _has_jit(plan) and not is_main_known(plan.config)


def _may_have_long_subjects(plan: Plan) -> bool:
    """Whether the configuration allows subjects longer than `LONGEST_SUBJECT`: URIs, or the sources of maps."""
    lengths = Lengths(plan.config)
    return any(lengths.of(source) > LONGEST_SUBJECT for source in {"$uri", *_sources(plan)})


def _sources(plan: Plan) -> set[str]:
    """The values that lookups look up."""
    return {source for lists in plan.lists.values() for source in lists.sources()}


def _is_compiled_for_a_server(plan: Plan) -> bool:
    return any(run.phase == "server" for part in plan.rules.parts for run in part.compiled)


def _may_be_included_elsewhere(plan: Plan) -> bool:
    """Whether a changed file is known to be included in servers, and may be included elsewhere, too."""
    if is_known(plan.config):
        return False
    parts = (part for part in plan.rules.parts if part.file is not plan.config.main)
    return any(run.phase == "server" and _is_on_top(part.file, run) for part in parts for run in part.compiled)


def _has_assumed_places(plan: Plan) -> bool:
    """Whether rules of a location move into an `if`, and unread text may set what the `if` would not inherit."""
    runs = (run for part in plan.rules.parts for run in part.compiled)
    return any(run.place.is_assumed and (run.native.grouped or run.native.filtered) for run in runs)


def _is_on_top(file: File, run: PlannedRun) -> bool:
    """Whether a run is at the top level of its file."""
    blocks = (node.span for node in file.block.unfolded() if node.block)
    return not any(span.start < run.first.start < span.end for span in blocks)


def _may_lose_captures(plan: Plan) -> bool:
    """Whether something may read groups that patterns which fail overwrite, and fewer of these are tried now.

    They are patterns of locations and maps that have groups: an `if` or a `rewrite` that fails clears all groups
    (`ngx_http_script_regex_start_code`).
    """
    locations = (location for each in plan.locations.compiled for location in each.run.locations)
    is_nested = any(_GROUP.search(decode(location.pattern)) for location in locations)
    if not (is_nested or plan.maps.compiled) or not captures_may_be_read(plan.config):
        return False
    return (is_nested and not is_known(plan.config)) or any(_sets_groups(each) for each, _ in plan.config.walk())


def _sets_groups(directive: Directive) -> bool:
    """Whether a pattern of a server's name, of a condition or of a rewrite has groups."""
    is_name = directive.name == "server_name"
    args = [arg for arg in directive.args if arg.startswith("~") or not is_name]
    return directive.name in ("server_name", "if", "rewrite") and any(map(_GROUP.search, args))


_GROUP = lazy.pattern(r"\((?!\?)|\(\?(?:P?<(?![=!])|')")
"""The start of a group that captures. An escaped parenthesis matches as well; the premise is then superfluous."""


def _may_lack_sizes(plan: Plan) -> bool:
    return bool(plan.maps_name) and plan.config.http is not None and not is_known(plan.config)


_APPLIES: dict[RewritePremise, Callable[[Plan], bool]] = {
    SERVER_CONTEXT: lambda plan: plan.assumed == ("http", "server") and _is_compiled_for_a_server(plan),
    HTTP_CONTEXT: lambda plan: plan.assumed == ("http",),
    MAP_BLOCK: lambda plan: plan.options.around is not None,
    MISSING_ROWS: lambda plan: any(compiled.map.unread for compiled in plan.maps.compiled),
    CAPTURES_AFTER_MAPS: lambda plan: bool(plan.maps.compiled) and not is_known(plan.config),
    EVALUATION_DEPTH: _may_nest_more,
    SERVER_INCLUDES: _may_be_included_elsewhere,
    LOCATION_SETTINGS: _has_assumed_places,
    LOCATION_INCLUDES: lambda plan: any(each.run.is_assumed for each in plan.locations.compiled),
    FAILED_CAPTURES: _may_lose_captures,
    OWN_NAMES: lambda plan: bool(plan.maps_name) and not is_known(plan.config),
    TABLE_SIZES: lambda plan: bool(plan.maps_name) and plan.config.http is None,
    MISSING_SIZES: _may_lack_sizes,
    PCRE_INTERPRETER: _may_have_jit,
    PCRE_JIT: _has_jit,
    LONG_SUBJECTS: _may_have_long_subjects,
}
"""Each premise, with a function that returns whether a plan that moves rules depends on it, in summary order."""

PREMISES = tuple(_APPLIES)
"""All premises."""


def of(plan: Plan) -> tuple[RewritePremise, ...]:
    """Return the premises of a plan: none if it changes nothing."""
    if not plan.changes:
        return ()
    return tuple(premise for premise, applies in _APPLIES.items() if applies(plan))


_BUFFERS = ("client_header_buffer_size", "large_client_header_buffers")
_LINE, _LINES = 8_192, 4
"""The default of `large_client_header_buffers`."""
_OF_HEADERS = ("http_", "cookie_")
_CHANGES = 11
"""The most scripts of rewrites that run for a request: ten changes of the URI (`NGX_HTTP_MAX_URI_CHANGES`)."""
_READ = lazy.pattern(rb"\$\{?(\w+)")
_NAME = lazy.pattern(r"\$\{?(\w+)\}?")
_NESTED = lazy.pattern(rb"\([^()]*\(")


class Lengths:
    """The bounds of a configuration, in bytes. They hold for what its text shows."""

    def __init__(self, config: Config) -> None:
        self._line, self._headers = _of_request(config)
        self._values: dict[str, list[tuple[str, str]]] = {}
        for scope in http_maps(config):
            if scope.opener is not None and len(scope.opener.args) == 2:
                source, variable = map(str, scope.opener.args)
                for row in scope.directives:
                    self._add(variable, str(row.args[0]) if row.args else "", source)
        for directive, _ in config.walk():
            if directive.name == "set" and len(directive.args) == 2:
                self._add(str(directive.args[0]), str(directive.args[1]), "$uri")
        self._known: dict[str, float] = {}
        self._uri = _uri(config, self._line)

    def of(self, value: str) -> float:
        """Return the most bytes of a value; infinite if it may grow without a bound."""
        return self._of(value, "", frozenset())

    def _add(self, variable: str, value: str, source: str) -> None:
        for name in variables(variable):
            self._values.setdefault(name, []).append((value, source))

    def _of(self, value: str, source: str, above: frozenset[str]) -> float:
        """Return the bound of a value whose captures are parts of `source`."""
        found: list[str] = _NAME.findall(value)
        captures = sum(name[0].isdigit() for name in found)
        of_source = self._of(source, "", above) if captures and source else self._line
        names = [name.lower() for name in found if not name[0].isdigit()]
        of_names: float = sum(self._of_variable(name, above) for name in names)
        return len(_NAME.sub("", value)) + captures * of_source + of_names

    def _of_variable(self, name: str, above: frozenset[str]) -> float:
        if name in above or len(above) > DEEPEST:
            return math.inf
        if name not in self._values:
            return self._uri if name in ("uri", "document_uri") else self._own(name)
        if name not in self._known:
            inner = above | {name}
            self._known[name] = max(self._of(value, source, inner) for value, source in self._values[name])
        return self._known[name]

    def _own(self, name: str) -> float:
        return self._headers if name.startswith(_OF_HEADERS) else self._line


def _of_request(config: Config) -> tuple[int, int]:
    """Return the longest request line, and the longest header of a request, of all servers."""
    line, headers = _LINE, _LINE * _LINES
    for directive, _ in config.walk():
        if directive.name in _BUFFERS and directive.args:
            bytes_ = size(directive.args[-1]) or 0
            count = number(directive.args[0]) or 1 if len(directive.args) > 1 else 1
            line, headers = max(line, bytes_), max(headers, bytes_ * count)
    return line, headers


def _uri(config: Config, line: int) -> float:
    """Return the longest URI after all changes; infinite if a rewrite may double it each time."""
    added = longest = 0
    for before, target, ending in rewrites(config):
        path = target.partition(b"?")[0]
        read = _READ.findall(path)
        are_apart = len(set(read)) == len(read) and all(name.isdigit() for name in read) and not _NESTED.search(before)
        if len(read) > 1 and not are_apart:
            return math.inf
        added, longest = (added + len(path), longest) if not ending else (added, max(longest, len(path)))
    return line + _CHANGES * (added + longest)
