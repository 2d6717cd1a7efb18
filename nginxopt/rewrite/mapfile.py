"""The file of maps: the names in it, the hash table sizes that it needs, and its place in the configuration.

**Names** are free in the configuration and accepted by nginx, which ignores their case and silently accepts two maps
that define the same variable (`ngx_http_add_variable`). By default, they are derived from the text of the rules, so
that they do not collide with definitions outside a fragment.

**Sizes.** nginx accepts each of the four directives once in the http block, and those for maps only before the first
map (`ngx_http_map_block`). So a size that the configuration already sets is raised in its place, and the others and the
maps are put at the start of the http block, or right after the sizes that it sets. If missing files may set the sizes,
maps that need no other sizes are put after their includes.

**The place.** A fragment that is changed in place gets files next to it: its maps, and the hash table sizes of all
fragments of the folder. No include reads these files by accident: `*.conf` does not match their names, and in folders
where nginx may include all files (`*`), the names begin with a dot.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain, count
from pathlib import Path

from nginxopt import _native, budget, lazy
from nginxopt.config import Config, Directive, File, Scope, may_read_more
from nginxopt.config.filesystem import DISK
from nginxopt.config.inputs import FOLDERS, SITES
from nginxopt.errors import DefectError
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.rewrite.kinds.maps.reading import MADE_BY
from nginxopt.rewrite.surroundings import is_http_known
from nginxopt.semantics.values import number
from nginxopt.text import Edit, Span, encode

# Names

LONGEST_GROUP = 32
"""PCRE1, and PCRE2 before 10.44, reject longer group names (`MAX_NAME_SIZE`)."""

_ROOM = 12
"""The longest suffix that names of groups add to the stem of a map: `number`, `key`, `text`."""


@record(eq=True)
class RunNames:
    """The names of a run's variables: all but one begin with the stem (see rust/src/rewrite/text.rs)."""

    stem: str

    @property
    def group(self) -> str:
        """The name of the group with the URI before its final newline. It is also a variable, and not too long."""
        name = f"{self.stem}_rest"
        return name if len(name) <= LONGEST_GROUP else f"nxo_{zlib.crc32(self.stem.encode()):08x}_rest"

    @property
    def tree(self) -> str:
        """The prefix of the maps that select the group of rules of a URI, and of the groups in their patterns."""
        return f"{short_stem(self.stem)}_p"


def short_stem(stem: str) -> str:
    """Return the stem for the variables of a map, some of which are groups: a checksum if `unused_stem` is too long."""
    return stem if len(stem) <= LONGEST_GROUP - _ROOM else f"nxo_{zlib.crc32(stem.encode()):08x}_"


def unused_stem(requested: str | None, compiled: Iterable[File], config: Config, as_what: str) -> str:
    """Return the prefix of all names: the requested one, or one derived from the compiled files and `as_what`.

    `as_what` is part of it because the same rules have other maps if they are compiled with other options.
    """
    if requested is None:
        checksum = 0
        for file in compiled:
            checksum = zlib.crc32(file.source.data, checksum)
        requested = f"nxo_{zlib.crc32(as_what.encode(), checksum) & 0xFFFFFF:06x}"
    return _unused(requested, config)


def _unused(start: str, config: Config) -> str:
    """Return `start`, with a number if the configuration has names that begin with it (variables, groups, Lua)."""
    taken = set(_numbers(start, config))
    return start if not taken else next(f"{start}{number}" for number in count(2) if number not in taken)


def _numbers(start: str, config: Config) -> Iterator[int]:
    name = start.encode()
    texts = (file.source.data.lower() for file in config.files)
    for text in [text for text in texts if name in text]:  # a hundred times as fast as the pattern
        for match in re.finditer(rb"(?<![a-z0-9_])" + name + rb"([0-9]{0,9})_", text):
            yield int(match[1] or b"1")


# Sizes

MAP_SIZES = ("map_hash_max_size", "map_hash_bucket_size")
VARIABLE_SIZES = ("variables_hash_max_size", "variables_hash_bucket_size")

DEFAULT_SIZES = dict(zip((*MAP_SIZES, *VARIABLE_SIZES), (2048, 64, 1024, 64), strict=True))
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


def standing_sizes(config: Config) -> dict[str, Standing]:
    """Return the sizes that the http block of a configuration sets, without those of `stream`.

    Raises `InputError` for a size that nginx refuses, also for one in an inner block, or with which it cannot build any
    map.
    """
    by_name: dict[str, Standing] = {}
    for directive in _misplaced(config):
        nginx = directive.located(f'"{directive.name}" directive is not allowed here')
        raise directive.error(f'"{directive.name}" is allowed in the http block only', nginx=nginx)
    for directive in chain.from_iterable(scope.directives for scope in _http_scopes(config)):
        if directive.name in DEFAULT_SIZES:
            if directive.name in by_name:
                nginx = directive.located(f'"{directive.name}" directive is duplicate')
                raise directive.error(f'"{directive.name}" is set twice', nginx=nginx)
            file = next(file for file in config.files if file.source is directive.source)
            by_name[str(directive.name)] = Standing(file, directive, _size(directive))
    return by_name


def sizes_for(
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
    least = [now[name].size if name in now else DEFAULT_SIZES[name] for name in MAP_SIZES]
    is_known = is_http_known(config)
    others = _keys(config)
    map_sizes = _native.map_sizes(runs, tables, others, *least, as_is=not is_known)
    if map_sizes is None:
        raise DefectError("no hash table size fits the keys")
    needed_sizes = dict(zip(MAP_SIZES, map_sizes, strict=True))
    needed_sizes |= _of_variables(config, names, now, unseen=_UNSEEN if is_known else 0)
    return {
        name: size
        for name, size in needed_sizes.items()
        if (now[name].size < size if name in now else size != DEFAULT_SIZES[name] or (is_known and name in MAP_SIZES))
    }


def defined_variables(text: bytes) -> set[bytes]:
    """Return the names of the variables that a text may define."""
    return {name for named in (_VARIABLE, _GROUP) for name in named.findall(text)}


def raising_edits(sizes: Sizes, now: Mapping[str, Standing]) -> Iterator[tuple[File, Edit]]:
    """Yield the edits that raise the sizes that are already set."""
    for name, size in sizes.items():
        if name in now:
            yield now[name].file, Edit(now[name].directive.args[0].span, encode(str(size)))


def size_statements(sizes: Sizes, now: Mapping[str, Standing]) -> list[str]:
    """Return the directives for the sizes that are not set yet."""
    return [f"{name} {size};" for name, size in sizes.items() if name not in now]


_HEAD = """\
# The sizes of nginx's hash tables that the maps need. Include this once in the http block, before any map, however many
# files of maps there are. nginx accepts each size once: where one is set already, keep the larger number there.
"""


def sizes_text(sizes: Sizes) -> bytes:
    """Return a file that sets these sizes; empty if there are none."""
    return encode(_HEAD + "".join(f"{name} {size};\n" for name, size in sizes.items()) + "\n") if sizes else b""


def merged_sizes(sizes: Sizes, existing: File) -> Sizes:
    """Return the larger of each of `sizes` and the size in an existing file of sizes."""
    both = dict(sizes)
    for directive in existing.block.directives():
        if directive.name in DEFAULT_SIZES:
            name, size = str(directive.name), _size(directive)
            both[name] = max(size, both.get(name, size))
    return {name: both[name] for name in DEFAULT_SIZES if name in both}


def _http_scopes(config: Config) -> Iterator[Scope]:
    """Yield the scope of the http block, and that of a fragment that may stand in one."""
    if ("http",) in config.candidates:
        yield config.scope
    yield from (scope for scope in config.scope.scopes if scope.context == ("http",))


def _misplaced(config: Config) -> Iterator[Directive]:
    """Yield the sizes in blocks of directives in the http block."""
    for http in _http_scopes(config):
        for directive, scope in http.walk():
            if directive.name in DEFAULT_SIZES and scope is not http and scope.context[-1] not in group("rows"):
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
    defined = {name.lower() for file in config.files for name in defined_variables(file.source.data)}
    ours = set(names)
    others = {b"variable_of_a_module_%d" % number for number in range(unseen * len(defined | ours))}
    least = [now[name].size if name in now else DEFAULT_SIZES[name] for name in VARIABLE_SIZES]
    variable_sizes = _native.variable_sizes(sorted(ours | others), least[0], least[1], may_be=sorted(defined))
    return dict(zip(VARIABLE_SIZES, variable_sizes or least, strict=True))


# The place

FRAGMENT_NAME = "http.conf"
"""The name of the maps file of a fragment, which the user of the fragment includes too."""


@record(eq=True)
class MapsPlace:
    """The place of the maps.

    Attributes:
        name: The name of the file in comments and in the include.
        path: The path of the file; None for a fragment.
        sizes: The sizes that the maps need and that differ from nginx's defaults. The user of a fragment must set them
            before its maps.
        edits: The edits for the include and the sizes, by file.
        adds: The words of the include, by file.
    """

    name: str
    path: str | None
    sizes: Sizes
    edits: Mapping[File, list[Edit]] = field(default_factory=dict)
    adds: Mapping[File, tuple[str, ...]] = field(default_factory=dict)


def place(config: Config, name: str, wanted: Sizes, now: Mapping[str, Standing]) -> MapsPlace:
    """Return the place of maps in a file `file_name` that need the sizes `wanted`; `now` are the sizes already set."""
    edits: dict[File, list[Edit]] = {}
    for file, edit in raising_edits(wanted, now):
        edits.setdefault(file, []).append(edit)
    block = config.http
    if block is None:
        return MapsPlace(name, None, {size: number for size, number in wanted.items() if size not in now}, edits)
    if is_http_known(config) or any(size in wanted and size not in now for size in MAP_SIZES):
        file, at = _after(config, block, [now[size] for size in MAP_SIZES if size in now])
    else:
        file, at = _after_unread(config, block)
    lines = [*size_statements(wanted, now), f"include {name};"]
    edits.setdefault(file, []).append(Edit(Span(at, at), _lines(file, at, lines)))
    path = os.path.normpath(os.path.join(config.prefix, name))  # noqa: PTH118 - paths stay as given
    holding = {directive: size.size for directive, size in now.items()} | dict(wanted)
    return MapsPlace(name, path, holding, edits, {file: ("include", name)})


def file_name(config: Config, stem: str, *, in_place: bool) -> str:
    """Return the name of the file of maps. Uses the disk.

    For a fragment, this is `http.conf`, or that of `name_beside` if the fragment is changed in place. For a whole
    configuration, it is a new name in its folder that no include reads, even through wildcards and links.
    """
    if config.http is None:
        return name_beside(config) if in_place else FRAGMENT_NAME
    included = [str(include.args[0]) for include in config.includes]
    for suffix in (".conf", ".maps", ".http"):
        for distinct in ("", *map(str, range(2, 100))):
            free = f"{stem}{distinct}{suffix}"
            path = os.path.join(config.prefix, free)  # noqa: PTH118
            is_read = any(config.origin.reads(config.prefix, pattern, path) for pattern in included)
            if not os.path.lexists(path) and not is_read:
                return free
    return f".{stem}.conf"  # nginx's wildcards do not match a leading dot


def _after(config: Config, block: Directive, standing: list[Standing]) -> tuple[File, int]:
    """Return the place of the include: after the map hash sizes, otherwise first in the http block."""
    if standing:
        order = {directive: number for number, (directive, _) in enumerate(config.walk())}
        last = max(standing, key=lambda size: order[size.directive])
        return last.file, last.directive.span.end
    assert block.block is not None
    file = next(file for file in config.files if file.source is block.source)
    return file, block.block.span.start + 1


def _after_unread(config: Config, block: Directive) -> tuple[File, int]:
    """Return the place of the include in an http block with unread parts.

    This is after everything that may set the sizes of maps. Nothing after a map can set them, as nginx refuses that.
    """
    assert block.block is not None
    at = block.block.span.start + 1
    for directive in block.block.unfolded():
        if directive.name == "map":
            break
        if _may_set_sizes(config, directive):
            at = directive.span.end
    return next(file for file in config.files if file.source is block.source), at


def _may_set_sizes(config: Config, directive: Directive) -> bool:
    """Return whether a directive of the http block sets a size of maps, or is an include whose files may."""
    if directive.name != "include":
        return directive.name in MAP_SIZES
    children = (child for file in config.included(directive) for child in file.block.unfolded())
    return may_read_more(config, directive) or any(_may_set_sizes(config, child) for child in children)


def _lines(file: File, at: int, statements: Sequence[str]) -> bytes:
    """Return statements on separate lines, indented like those around them."""
    data = file.source.data
    newline = "\r\n" if b"\r\n" in data[: data.find(b"\n") + 1] else "\n"
    line = data[data.rfind(b"\n", 0, at) + 1 : at]
    indent = line[: len(line) - len(line.lstrip(b" \t"))].decode()
    if line.rstrip().endswith(b"{"):
        indent += "    "
    return encode("".join(f"{newline}{indent}{statement}" for statement in statements))


_SIZES = "nginxopt-hash.http"
"""The name of the file with the hash table sizes, which all fragments of a folder share."""

_ORIGIN = lazy.pattern(rb"# .* of (.*) as maps, " + MADE_BY)
"""The first line of a file of maps, with the path of its fragment."""
_DEFINED = lazy.pattern(rb"^(?:map\s.*\s|geo\s+)\$(\w+)\s*\{|\(\?P?<(\w+)>", re.MULTILINE | re.ASCII)
"""A variable that a file of maps defines, by a block or by a group."""
_READ = lazy.pattern(rb"\$\{?(\w+)", re.ASCII)


def name_beside(config: Config) -> str:
    """Return the name of the file for the maps of a fragment. Uses the disk.

    An existing file is reused only if it has maps of the same fragment that the fragment no longer uses, for example
    because its original text was restored.
    """
    main = Path(config.main.path)
    texts = [file.source.data for file in config.files]
    stem = main.name.replace("\n", "_")  # comments contain the name
    names = (_hidden(main, f"{stem}{'' if number == 1 else number}.http") for number in count(1))
    return next(name for name in names if _is_free(main.with_name(name), main.name, texts))


def sizes_path(config: Config) -> Path:
    """Return the path of the file with the hash table sizes for the folder of a fragment."""
    main = Path(config.main.path)
    return main.with_name(_hidden(main, _SIZES))


def used(maps: bytes, texts: Iterable[bytes]) -> set[bytes]:
    """Return the names of the variables that a file of maps defines and that some of the texts use."""
    defined = {name.lower() for pair in _DEFINED.findall(maps) for name in pair if name}
    return defined & {name.lower() for text in texts for name in _READ.findall(text)}


def _hidden(main: Path, name: str) -> str:
    """Return a name, if necessary with a leading dot, that no wildcard in the folder of a fragment matches."""
    return f".{name}" if main.absolute().parent.name in (*SITES, *FOLDERS) else name


def _is_free(path: Path, fragment: str, texts: Iterable[bytes]) -> bool:
    """Return whether the maps of a fragment may be written to a path; `texts` may use the maps that are there."""
    if not os.path.lexists(path):
        return True
    try:
        maps = DISK.read(str(path))
    except (OSError, budget.ExceededError):
        return False
    origin = _ORIGIN.match(maps)
    return origin is not None and os.path.basename(origin[1]) == os.fsencode(fragment) and not used(maps, texts)  # noqa: PTH119
