"""Computes the hash table sizes that the emitted maps and variables need.

nginx accepts each of the four directives once in the http block, and those for maps only before the first map
(`ngx_http_map_block`). So a size that the configuration already sets is raised in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from nginxopt import _native, lazy
from nginxopt.config import Config, Directive, File, Scope
from nginxopt.errors import DefectError
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.rewrite.unread import is_http_known
from nginxopt.semantics.values import number
from nginxopt.text import Edit, encode

MAPS = ("map_hash_max_size", "map_hash_bucket_size")
VARIABLES = ("variables_hash_max_size", "variables_hash_bucket_size")

DEFAULTS = dict(zip((*MAPS, *VARIABLES), (2048, 64, 1024, 64), strict=True))
"""The defaults of ngx_http_map_module (for cache lines of 64 bytes) and ngx_http_core_module."""

_LARGEST = {"max": 1 << 28, "bucket": 65_536 - 64}
"""The largest sizes. nginx uses two bytes per bucket of a table, and refuses larger buckets (`ngx_hash_init`)."""

_VARIABLE = lazy.pattern(rb"""\$(?<![^\s{};"'].)\{?([A-Za-z0-9_]+)\}?(?![^\s{};"'])""")
"""A variable that is a whole word, as in all directives that define one. Begins with a literal byte to be fast."""
_GROUP = lazy.pattern(rb"\(\?P?[<']([A-Za-z0-9_]+)[>']")
"""A named group, which defines a variable (`ngx_http_regex_compile`)."""

_UNSEEN = 2
"""The table of variables gets room for this number of unknown variables per known one: those of modules that are
compiled in or loaded, and of future releases. nginx's default sizes suffice for about 25 variables beyond its own. No
room is added for a fragment, because the configuration around it may set the sizes (the premise `table-sizes`)."""

Sizes = Mapping[str, int]
"""A size by the name of its directive."""


@record(eq=True)
class Standing:
    """A size that a configuration sets."""

    file: File
    directive: Directive
    size: int


def standing(config: Config) -> dict[str, Standing]:
    """Return the sizes that the http block of a configuration sets, without those of `stream`.

    Raises `InputError` for a size that nginx refuses, also for one in an inner block, or with which it cannot build any
    map.
    """
    by_name: dict[str, Standing] = {}
    for directive in _misplaced(config):
        nginx = directive.located(f'"{directive.name}" directive is not allowed here')
        raise directive.error(f'"{directive.name}" is allowed in the http block only', nginx=nginx)
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
    """Return the sizes with which nginx builds all emitted maps, and the table of all variables, without a warning.

    The emitted maps are those of `runs` and those with the keys `tables`; `names` are their variables. The result
    contains a size that is already set (`now`) only if it must grow, and any other size only if nginx's default is too
    small. Unread text of the http block, or around a fragment, may set sizes; defaults are then kept if they suffice.
    If the http block is known, the sizes for maps are always set, as their defaults depend on the processor.
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
    """Yield the edits that raise the sizes that are already set."""
    for name, size in sizes.items():
        if name in now:
            yield now[name].file, Edit(now[name].directive.args[0].span, encode(str(size)))


def statements(sizes: Sizes, now: Mapping[str, Standing]) -> list[str]:
    """Return the directives for the sizes that are not set yet."""
    return [f"{name} {size};" for name, size in sizes.items() if name not in now]


_HEAD = """\
# The sizes of nginx's hash tables that the maps need. Include this once in the http block, before any map, however many
# files of maps there are. nginx accepts each size once: where one is set already, keep the larger number there.
"""


def text(sizes: Sizes) -> bytes:
    """Return a file that sets these sizes; empty if there are none."""
    return encode(_HEAD + "".join(f"{name} {size};\n" for name, size in sizes.items()) + "\n") if sizes else b""


def merged(sizes: Sizes, existing: File) -> Sizes:
    """Return the larger of each of `sizes` and the size in an existing file of sizes."""
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


def _misplaced(config: Config) -> Iterator[Directive]:
    """Yield the sizes in blocks of directives in the http block."""
    for http in _http_scopes(config):
        for directive, scope in http.walk():
            if directive.name in DEFAULTS and scope is not http and scope.context[-1] not in group("rows"):
                yield directive


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
    """Return the plain keys of the existing maps of a configuration, which must fit into a larger table, too."""
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
    """Return sizes for the table of variables: nginx's, those that the configuration may define, and `names`.

    Each of them adds room for `unseen` unknown variables.
    """
    defined = {name.lower() for file in config.files for name in variables(file.source.data)}
    ours = set(names)
    others = {b"variable_of_a_module_%d" % number for number in range(unseen * len(defined | ours))}
    least = [now[name].size if name in now else DEFAULTS[name] for name in VARIABLES]
    variable_sizes = _native.variable_sizes(sorted(ours | others), least[0], least[1], may_be=sorted(defined))
    return dict(zip(VARIABLES, variable_sizes or least, strict=True))
