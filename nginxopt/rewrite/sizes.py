"""The sizes of nginx's hash tables: those that a configuration sets, those that the maps need, and their directives.

Each of the four is set once in the http block, and those of maps before the first map, which fixes them
(`ngx_http_map_block`); set once more they are "duplicate". So an existing size is raised in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from nginxopt import _native
from nginxopt.config import Config, Directive, File, Scope
from nginxopt.errors import DefectError
from nginxopt.records import record
from nginxopt.rewrite.unread import is_http_known
from nginxopt.semantics.values import number
from nginxopt.text import Edit, encode

MAPS = ("map_hash_max_size", "map_hash_bucket_size")
VARIABLES = ("variables_hash_max_size", "variables_hash_bucket_size")

DEFAULTS = dict(zip((*MAPS, *VARIABLES), (2048, 64, 1024, 64), strict=True))
"""Of ngx_http_map_module, where the cache line has 64 bytes, and of ngx_http_core_module."""

_LARGEST = {"max": 1 << 28, "bucket": 65_536 - 64}
"""nginx takes two bytes for each bucket of the largest table, and refuses larger buckets (`ngx_hash_init`)."""

_VARIABLE = re.compile(rb"""\$(?<![^\s{};"'].)\{?([A-Za-z0-9_]+)\}?(?![^\s{};"'])""")
"""A variable as a word of its own, as in every directive that defines one. What begins with a byte is found soonest."""
_GROUP = re.compile(rb"\(\?P?[<']([A-Za-z0-9_]+)[>']")
"""A group with a name, which defines a variable (`ngx_http_regex_compile`)."""

_UNSEEN = 2
"""For each variable in sight, so many are allowed for that are not: of modules that are compiled in or loaded, and of
releases to come. Up to some 25 variables more than its own, nginx's default sizes do. None is allowed for around a
fragment, whose surroundings may set the sizes: that is the premise `table-sizes`."""

Sizes = Mapping[str, int]
"""A size by the name of its directive."""


@record(eq=True)
class Standing:
    """A size that a configuration sets."""

    file: File
    directive: Directive
    size: int


def standing(config: Config) -> dict[str, Standing]:
    """Return the sizes that the http block of a configuration sets; those of `stream` are that module's.

    Raises `InputError` for one that nginx refuses, and for one under which it could not build any map.
    """
    by_name: dict[str, Standing] = {}
    for directive in chain.from_iterable(scope.directives for scope in _http_scopes(config)):
        if directive.name in DEFAULTS:
            if directive.name in by_name:
                nginx = directive.located(f'"{directive.name}" directive is duplicate')
                raise directive.error(f'"{directive.name}" is set twice', nginx=nginx)
            file = next(file for file in config.files if file.source is directive.source)
            by_name[str(directive.name)] = Standing(file, directive, _size(directive))
    return by_name


def needed(
    runs: list[_native.CompiledRun],
    config: Config,
    names: Iterable[bytes],
    now: Mapping[str, Standing],
    tables: list[list[bytes]],
) -> Sizes:
    """Return the sizes under which nginx builds all maps of ours, and the table of all variables, without a warning.

    Those are the maps of `runs`, and maps with the keys of `tables`. `names` are their variables. A size that is set is
    in the result only if it has to grow, and one that is not set only if nginx's own does not do. What surrounds a
    fragment, or stands in a missing file of the http block, may set sizes: there nginx's own do wherever they can. A
    http block that is known has those of maps set, as they depend on the processor.
    """
    least = [now[name].size if name in now else DEFAULTS[name] for name in MAPS]
    is_known = is_http_known(config)
    others = _keys(config)
    map_sizes = _native.map_sizes(runs, tables, others, *least, as_is=not is_known)
    if map_sizes is None:
        raise DefectError("no hash table size fits the keys")
    needed_sizes = dict(zip(MAPS, map_sizes, strict=True))
    needed_sizes |= _of_variables(config, names, now, unseen=_UNSEEN if is_known else 0)
    return {
        name: size
        for name, size in needed_sizes.items()
        if (now[name].size < size if name in now else size != DEFAULTS[name] or (is_known and name in MAPS))
    }


def variables(text: bytes) -> set[bytes]:
    """Return the names of the variables that a text may define."""
    return {name for named in (_VARIABLE, _GROUP) for name in named.findall(text)}


def raised(sizes: Sizes, now: Mapping[str, Standing]) -> Iterator[tuple[File, Edit]]:
    """Yield the edits that make the sizes grow which are set."""
    for name, size in sizes.items():
        if name in now:
            yield now[name].file, Edit(now[name].directive.args[0].span, encode(str(size)))


def statements(sizes: Sizes, now: Mapping[str, Standing]) -> list[str]:
    """Return the directives for the sizes that are not set."""
    return [f"{name} {size};" for name, size in sizes.items() if name not in now]


_HEAD = """\
# The sizes of nginx's hash tables that the maps need. Include this once in the http block, before any map, however many
# files of maps there are. nginx accepts each size once: where one is set already, keep the larger number there.
"""


def text(sizes: Sizes) -> bytes:
    """Return a file that sets these sizes; empty if there are none."""
    return encode(_HEAD + "".join(f"{name} {size};\n" for name, size in sizes.items()) + "\n") if sizes else b""


def merged(sizes: Sizes, existing: File) -> Sizes:
    """Return the larger ones of the `wanted` sizes and those in a file of sizes."""
    both = dict(sizes)
    for directive in existing.block.directives():
        if directive.name in DEFAULTS:
            name, size = str(directive.name), _size(directive)
            both[name] = max(size, both.get(name, size))
    return {name: both[name] for name in DEFAULTS if name in both}


def _http_scopes(config: Config) -> Iterator[Scope]:
    """Yield the scope of the http block, and that of a fragment that may stand in one."""
    if ("http",) in config.candidates:
        yield config.scope
    yield from (scope for scope in config.scope.scopes if scope.context == ("http",))


def _size(directive: Directive) -> int:
    size = number(directive.args[0]) if len(directive.args) == 1 else None
    if size is None:
        nginx = directive.located("invalid number" if len(directive.args) == 1 else "invalid number of arguments")
        raise directive.error(f'"{directive.name}" takes one number', nginx=nginx)
    largest = _LARGEST["max" if directive.name.endswith("max_size") else "bucket"]
    if size > largest:
        raise directive.error(f"nginx cannot build a table of this size: set {largest} or less", at=directive.args[0])
    return size


def _keys(config: Config) -> list[list[bytes]]:
    """Return the plain keys of the maps that the configuration has already; a larger table has to suit them, too."""
    return [
        [encode(row.name.removeprefix("\\")) for row in table.directives if _is_plain(row)]
        for scope in _http_scopes(config)
        for table in scope.scopes
        if table.context[-1] == "map"
    ]


def _is_plain(row: Directive) -> bool:
    """Return whether a row of a map has a plain key."""
    return len(row.args) == 1 and row.name not in ("default", "include") and not row.name.startswith("~")


def _of_variables(
    config: Config, names: Iterable[bytes], now: Mapping[str, Standing], *, unseen: int
) -> dict[str, int]:
    """Return sizes for the table of nginx's variables, those that the configuration may define, and `names`.

    For each of these there is room for `unseen` others.
    """
    defined = {name.lower() for file in config.files for name in variables(file.source.data)}
    ours = set(names)
    others = {b"variable_of_a_module_%d" % number for number in range(unseen * len(defined | ours))}
    least = [now[name].size if name in now else DEFAULTS[name] for name in VARIABLES]
    variable_sizes = _native.variable_sizes(sorted(ours | others), least[0], least[1], may_be=sorted(defined))
    return dict(zip(VARIABLES, variable_sizes or least, strict=True))
