"""Derives nginxopt/facts/directives.tsv from nginx's sources: what each release declares of its directives.

    python docs/directives.py CHECKOUT > nginxopt/facts/directives.tsv
    python docs/directives.py --angie CHECKOUT > nginxopt/facts/vendors/angie.tsv
    python docs/directives.py --freenginx CHECKOUT > nginxopt/facts/vendors/freenginx.tsv
    python docs/directives.py --tengine CHECKOUT > nginxopt/facts/vendors/tengine.tsv

CHECKOUT is a git repository of nginx with its release tags; what it has checked out counts as the next release. With
`--angie` and the like, it is one of that fork: the table has the directives that the nginx of that time has not, with
the releases of the fork.
Each `ngx_command_t` of src/ gives the places and the arguments of a directive; the function that sets it, its values
and whether it may be repeated; the `ngx_conf_merge_*` and `ngx_conf_init_*` of its field, its default. What cannot be
read is left empty.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from nginxopt.facts.table import declarations
from nginxopt.version import Version

OLDEST = Version(1, 10, 0)
"""The first release that is looked at; the table says nothing of what was before."""
COLUMNS = ("name", "module", "places", "arguments", "setter", "values", "default", "repeated", "since", "until")

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TABLE = re.compile(r"\bngx_command_t\s+\w+\[\]\s*=\s*\{(.*?)\n\};", re.DOTALL)
_OPERAND = r"((?:[^(),{}]|\([^()]*\))+)"
_COMMAND = re.compile(
    rf'\{{\s*ngx_string\("([^"]+)"\),\s*((?:NGX_\w+|\s|\|)+),\s*(\w+),\s*\w+,\s*{_OPERAND},\s*{_OPERAND}\}}', re.DOTALL
)
_NAMED = re.compile(r"\bngx_conf_(?:enum|bitmask)_t\s+(\w+)\[\]\s*=\s*\{(.*?)\n\};", re.DOTALL)
_VALUE = re.compile(r'\{\s*ngx_string\("([^"]*)"\),\s*([^}]+?)\s*\}')
_DEFINED = re.compile(r"^#define\s+(\w+)\s+\(?(-?(?:0x)?[0-9a-fA-F]+)\)?\s*$", re.MULTILINE)
_SETTER = re.compile(
    r"^(\w+)\(ngx_conf_t \*cf, ngx_command_t \*cmd, void \*\w+\)\n\{(.*?)^\}", re.DOTALL | re.MULTILINE
)
_BY_SLOT = re.compile(r"\bngx_conf_set_(?:flag|enum)_slot\(cf")
"""What refuses a second value, also for the setter that calls it."""
_BOUNDS = re.compile(r"\bngx_conf_num_bounds_t\s+(\w+)\s*=\s*\{\s*ngx_conf_check_num_bounds,\s*(\d+),\s*(\d+)\s*\};")
_POST = re.compile(r"\bngx_conf_post_t\s+(\w+)\s*=\s*\{\s*(\w+)\s*\};")
_HANDLER = re.compile(r"\bngx_conf_post_handler_pt\s+(\w+)\s*=\s*(\w+);")
_CAST = re.compile(r"^\((?:size_t|ngx_\w+_t)\) ")
_FILLED = re.compile(r"\bngx_conf_(merge|init)_(?:(\w+)_)?value\(")

_PLACES = {
    "NGX_MAIN_CONF": "main",
    "NGX_EVENT_CONF": "events",
    "NGX_HTTP_MAIN_CONF": "http",
    "NGX_HTTP_SRV_CONF": "http/server",
    "NGX_HTTP_LOC_CONF": "http/location",
    "NGX_HTTP_UPS_CONF": "http/upstream",
    "NGX_HTTP_SIF_CONF": "http/server/if",
    "NGX_HTTP_LIF_CONF": "http/location/if",
    "NGX_HTTP_LMT_CONF": "http/location/limit_except",
    "NGX_MAIL_MAIN_CONF": "mail",
    "NGX_MAIL_SRV_CONF": "mail/server",
    "NGX_STREAM_MAIN_CONF": "stream",
    "NGX_STREAM_SRV_CONF": "stream/server",
    "NGX_STREAM_UPS_CONF": "stream/upstream",
    "NGX_ANY_CONF": "any",
}
_ARGUMENTS = {
    "NGX_CONF_NOARGS": "0",
    **{f"NGX_CONF_TAKE{digits}": ",".join(digits) for digits in ("1", "2", "3", "4", "5", "6", "7")},
    **{f"NGX_CONF_TAKE{digits}": ",".join(digits) for digits in ("12", "13", "23", "123", "1234")},
    "NGX_CONF_1MORE": "1+",
    "NGX_CONF_2MORE": "2+",
    "NGX_CONF_ANY": "0+",
    "NGX_CONF_FLAG": "flag",
}

_SLOTS = {
    "ngx_conf_set_flag_slot": "on|off",
    "ngx_conf_set_num_slot": "number",
    "ngx_conf_set_size_slot": "size",
    "ngx_conf_set_off_slot": "size",
    "ngx_conf_set_msec_slot": "time",
    "ngx_conf_set_sec_slot": "time",
    "ngx_conf_set_bufs_slot": "number size",
    "ngx_conf_set_path_slot": "path",
    "ngx_conf_set_access_slot": "users:permissions",
}
"""What the setters of nginx's core read."""
_NAMED_SLOTS = ("ngx_conf_set_enum_slot", "ngx_conf_set_bitmask_slot")
_REPEATABLE = ("bitmask_slot", "str_array_slot", "keyval_slot", "predicate_slot", "types_slot", "param_set_slot")
"""Setters that add to what an earlier directive of the block said."""
_REFUSING_SOME = (
    "ngx_http_file_cache_set_slot",
    "ngx_http_file_cache_valid_set_slot",
    "ngx_http_limit_conn",
    "ngx_http_limit_req",
    "ngx_http_mirror",
    "ngx_http_proxy_cookie_domain",
    "ngx_http_proxy_cookie_flags",
    "ngx_http_proxy_cookie_path",
    "ngx_http_proxy_redirect",
    "ngx_stream_limit_conn",
)
"""Setters that refuse a second directive for what it says: the same zone, `off`."""
_UNITS = {"time": ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms"))}
_PAGES = {"ngx_pagesize": (4096, 8192)}


@dataclass(frozen=True)
class Command:
    """One `ngx_command_t`: its words as they stand in the source."""

    name: str
    bits: tuple[str, ...]
    setter: str
    field: str
    post: str


@dataclass
class Unit:
    """What one file of nginx says that declarations need."""

    commands: list[Command] = field(default_factory=list)
    named: dict[str, dict[str, str]] = field(default_factory=dict)
    """Arrays of named values: the constant by its name."""
    numbers: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, str] = field(default_factory=dict)
    """The smallest and the largest number, such as `1..9`, by the name of the structure."""
    handlers: dict[str, str] = field(default_factory=dict)
    """Functions that check a value which a setter has read, by the name of the structure or pointer."""
    fills: dict[str, set[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(set))
    """Defaults by field, as expressions; for buffers their number and their size."""
    refusing: set[str] = field(default_factory=set)
    """Setters that refuse a second directive."""


@dataclass(frozen=True, order=True)
class Row:
    """What a release declares of a directive, as it stands in the table."""

    name: str
    module: str
    places: str
    arguments: str
    setter: str
    values: str
    default: str
    repeated: str


class Sources:
    """The sources of all releases, each version of a file being read once."""

    tag = re.compile(r"release-(\d+\.\d+\.\d+)")
    version = "src/core/nginx.h", re.compile(r'#define NGINX_VERSION\s+"([\d.]+)"')
    oldest = OLDEST
    folders: tuple[str, ...] = ("src",)
    is_lenient = False
    """Whether declarations that cannot be read are left out: those of modules of others."""

    def __init__(self, checkout: Path) -> None:
        """Take the path of a git repository."""
        self._checkout = checkout
        self._unit = cache(self._read)

    def releases(self) -> dict[Version, str]:
        """Return the revisions to look at by their releases, oldest first."""
        tags = (self.tag.fullmatch(tag) for tag in self._git("tag").split())
        revisions = {Version.parse(tag[1]): tag[0] for tag in tags if tag}
        file, pattern = self.version
        next_release = pattern.search(self._git("show", f"HEAD:{file}"))
        if next_release:
            revisions.setdefault(Version.parse(next_release[1]), "HEAD")
        return {release: revisions[release] for release in sorted(revisions) if release >= self.oldest}

    def is_own(self, _: tuple[str, ...]) -> bool:
        """Return whether a line of the table belongs into it: all of nginx's do."""
        return True

    def units(self, revision: str) -> Iterator[tuple[str, Unit]]:
        """Yield the name of each module of a revision with what its file says."""
        for line in self._git("ls-tree", "-r", revision, *self.folders).splitlines():
            attributes, path = line.split("\t")
            if path.endswith((".c", ".h")):
                yield PurePosixPath(path).stem, self._unit(attributes.split()[2])

    def _read(self, blob: str) -> Unit:
        try:
            return parse(self._git("cat-file", "blob", blob))
        except ValueError:
            if self.is_lenient:
                return Unit()
            raise

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self._checkout), *words], capture_output=True, check=True)
        return done.stdout.decode("latin-1")


class OfAngie(Sources):
    """The sources of all releases of Angie."""

    tag = re.compile(r"Angie-(\d+\.\d+\.\d+)")
    version = "src/core/angie.h", re.compile(r'#define ANGIE_VERSION\s+"([\d.]+)"')
    oldest = Version(1, 0, 0)

    def is_own(self, line: tuple[str, ...]) -> bool:
        """Return whether the nginx that the first release with a declaration is based on has no such directive."""
        revision = f"Angie-{line[COLUMNS.index('since')] or self.oldest}"
        found = Sources.version[1].search(self._git("show", f"{revision}:{Sources.version[0]}"))
        assert found is not None, revision
        base = Version.parse(found[1])
        return not any(row.is_in(base) for row in declarations(line[0]))


class OfFreenginx(OfAngie):
    """The sources of the releases of freenginx, whose numbers go on from those of nginx 1.25.3."""

    tag = Sources.tag
    version = Sources.version
    oldest = Version(1, 25, 4)

    def is_own(self, line: tuple[str, ...]) -> bool:
        """Return whether the nginx of that number has no such directive."""
        since = Version.parse(line[COLUMNS.index("since")] or str(self.oldest))
        return not any(row.is_in(since) for row in declarations(line[0]))


class OfTengine(OfAngie):
    """The sources of the releases of Tengine since 2.3.0, with the modules that come with it."""

    tag = re.compile(r"(?:tengine-)?(\d+\.\d+\.\d+)")
    version = "src/core/nginx.h", re.compile(r'#define TENGINE_VERSION\s+"([\d.]+)"')
    oldest = Version(2, 3, 0)
    folders = ("src", "modules")
    is_lenient = True

    def is_own(self, line: tuple[str, ...]) -> bool:
        """Return whether the nginx that the first release with a declaration is based on has no such directive."""
        first = Version.parse(line[COLUMNS.index("since")] or str(self.oldest))
        revision = self.releases()[first]
        found = Sources.version[1].search(self._git("show", f"{revision}:{Sources.version[0]}"))
        assert found is not None, revision
        base = Version.parse(found[1])
        return not any(row.is_in(base) for row in declarations(line[0]))


def parse(text: str) -> Unit:
    """Return what the text of one C file says."""
    text, unit = _COMMENT.sub("", text), Unit()
    for table in _TABLE.findall(text):
        commands = [Command(name, _words(bits), *map(str.strip, rest)) for name, bits, *rest in _COMMAND.findall(table)]
        if len(commands) != table.count("ngx_string("):
            raise ValueError(f"a command cannot be read in: {table[:200]}")
        unit.commands += commands
    for name, values in _NAMED.findall(text):
        unit.named[name] = dict(_VALUE.findall(values))
    unit.numbers = {name: int(value, 0) for name, value in _DEFINED.findall(text) if _is_number(value)}
    unit.bounds = {name: f"{low}..{high}" for name, low, high in _BOUNDS.findall(text)}
    unit.handlers = dict((*_POST.findall(text), *_HANDLER.findall(text)))
    for name, body in _SETTER.findall(text):
        if '"is duplicate"' in body or _BY_SLOT.search(body):
            unit.refusing.add(name)
    for match in _FILLED.finditer(text):
        operands = _operands(text, match.end())
        defaults = operands[2:] if match[1] == "merge" else operands[1:]  # after conf->field and prev->field
        unit.fills[_field(operands[0])].add(tuple(_CAST.sub("", default) for default in defaults))
    return unit


def _words(bits: str) -> tuple[str, ...]:
    return tuple(sorted(bits.replace("|", " ").split()))


def _is_number(value: str) -> bool:
    return re.fullmatch(r"-?(0x[0-9a-fA-F]+|0|[1-9]\d*)", value) is not None


def _operands(text: str, start: int) -> list[str]:
    """Return the operands of a call whose opening parenthesis ends at `start`."""
    depth, at, operands = 1, start, [""]
    while depth:
        letter = text[at]
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 1:
            operands.append("")
        elif depth:
            operands[-1] += letter
        at += 1
    return [" ".join(operand.split()) for operand in operands]


def _field(operand: str) -> str:
    """Return `upstream.connect_timeout` for `conf->upstream.connect_timeout`."""
    return operand.partition("->")[2]


def rows(sources: Sources, revision: str) -> Iterator[Row]:
    """Yield what a revision declares."""
    units = list(sources.units(revision))
    named = {name: values for _, unit in units for name, values in unit.named.items()}
    numbers = {name: value for _, unit in units for name, value in unit.numbers.items()}
    refusing = {name for _, unit in units for name in unit.refusing}
    for module, unit in units:
        for command in unit.commands:
            if sources.is_lenient and not _is_readable(command):
                continue
            post = command.post.lstrip("&")
            values = named.get(post, {}) if command.setter in _NAMED_SLOTS else {}
            yield Row(
                command.name,
                module,
                " ".join(_PLACES[bit] for bit in command.bits if bit in _PLACES),
                _arguments(command),
                f"{command.setter} {unit.bounds.get(post) or unit.handlers.get(post, '')}".rstrip(),
                "obsolete" if command.setter.endswith("_obsolete") else _SLOTS.get(command.setter, "|".join(values)),
                _default(command, unit, values, {**numbers, **unit.numbers}),
                "" if _is_once(command, refusing) else "yes",
            )


def _is_readable(command: Command) -> bool:
    return set(command.bits) <= {"NGX_CONF_BLOCK", "NGX_DIRECT_CONF", *_PLACES, *_ARGUMENTS}


def _arguments(command: Command) -> str:
    """Return how many arguments a directive takes, and `{` if it has a block: `1,2`, `1+`, `flag`, `2 {`."""
    known = {"NGX_CONF_BLOCK", "NGX_DIRECT_CONF", *_PLACES, *_ARGUMENTS}
    if unknown := set(command.bits) - known:
        raise ValueError(f"{command.name}: unknown bits {unknown}")
    counts = ",".join(_ARGUMENTS[bit] for bit in command.bits if bit in _ARGUMENTS)
    return counts + (" {" if "NGX_CONF_BLOCK" in command.bits else "")


def _is_once(command: Command, refusing: set[str]) -> bool:
    """Return whether a block can have but one of a directive."""
    if command.setter.endswith(_REPEATABLE) or command.setter in _REFUSING_SOME:
        return False
    return command.setter.endswith("_slot") or command.setter in refusing


def _default(command: Command, unit: Unit, values: Mapping[str, str], numbers: Mapping[str, int]) -> str:
    """Return the default of a directive as it would be written; empty if it cannot be read."""
    match = re.fullmatch(r"offsetof\(\w+, ([\w.]+)\)", command.field)
    fills = unit.fills.get(match[1], set()) if match else set()
    if len(fills) != 1:
        return ""
    (operands,) = fills
    if values:
        return _of_names(operands[0], values)
    kind = _SLOTS.get(command.setter, "")
    if kind == "on|off":
        return {"0": "off", "1": "on"}.get(operands[0], "")
    if kind == "number size" and len(operands) == 2:
        counts, sizes = (_numbers(operand, numbers) for operand in operands)
        texts = (f"{count} {_with_unit('size', size)}" for count, size in zip(counts, sizes, strict=False))
        return "|".join(dict.fromkeys(texts))
    if kind in ("time", "size", "number"):
        scale = 1000 if command.setter == "ngx_conf_set_sec_slot" else 1
        texts = (_with_unit(kind, number * scale) for number in _numbers(operands[0], numbers))
        return "|".join(dict.fromkeys(texts))
    return operands[0].strip('"') if re.fullmatch(r'"[^"\\]+"', operands[0]) else ""


def _of_names(value: str, values: Mapping[str, str]) -> str:
    """Return the names of a constant or of bits; empty if one has none."""
    constants = [bit.strip() for bit in value.strip("()").split("|") if "NGX_CONF_BITMASK_SET" not in bit]
    names = {constant: name for name, constant in values.items()}
    return " ".join(map(names.__getitem__, constants)) if names.keys() >= set(constants) else ""


def _numbers(value: str, numbers: Mapping[str, int]) -> list[int]:
    """Return the value of an expression, for pages of 4k and of 8k; nothing if it has names that are no numbers."""
    words = set(re.findall(r"[A-Za-z_]\w*", value)) - set(_PAGES)
    if not words <= set(numbers) or not re.fullmatch(r"[\w\s()*/+-]+", value):
        return []
    known = {word: numbers[word] for word in words}
    return [
        int(eval(value.replace("/", "//"), {"__builtins__": {}}, {**known, **dict.fromkeys(_PAGES, size)}))
        for size in _PAGES["ngx_pagesize"]
    ]


def _with_unit(kind: str, number: int) -> str:
    if kind == "time" and number:
        scale, unit = next((scale, unit) for scale, unit in _UNITS["time"] if number % scale == 0)
        return f"{number // scale}{unit}"
    if kind == "size" and number and number % 1024 == 0:
        return f"{number >> 20}m" if number % (1 << 20) == 0 else f"{number >> 10}k"
    return str(number)


def table(sources: Sources) -> Iterator[tuple[str, ...]]:
    """Yield the lines of the table: each declaration with the first release that has it and the first without it."""
    revisions = sources.releases()
    releases = list(revisions)
    present: dict[Row, list[int]] = defaultdict(list)
    for number, revision in enumerate(revisions.values()):
        for row in set(rows(sources, revision)):
            present[row].append(number)
    for row in sorted(present):
        for first, last in _runs(present[row]):
            since = "" if first == 0 else str(releases[first])
            until = "" if last + 1 == len(releases) else str(releases[last + 1])
            yield (*astuple(row), since, until)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of neighbours."""
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


if __name__ == "__main__":
    kinds = {"--angie": OfAngie, "--freenginx": OfFreenginx, "--tengine": OfTengine}
    kind = kinds.get(sys.argv[1], Sources)
    sources = kind(Path(sys.argv[-1]))
    for line in (COLUMNS, *filter(sources.is_own, table(sources))):
        print(*line, sep="\t")
