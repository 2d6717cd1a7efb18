"""Setters of the other modules of http: names, locations, tables such as map and geo, and the rest."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.semantics.inherit import MODIFIERS
from nginxopt.semantics.refusals.cycle import cache_of_files
from nginxopt.semantics.refusals.setters import Stated, before, setter
from nginxopt.semantics.tables import VOLATILE
from nginxopt.semantics.values import is_url, milliseconds, network, number, quad, seconds, size
from nginxopt.version import Version

_METHODS = frozenset({
    "get", "head", "post", "put", "delete", "mkcol", "copy", "move", "options", "propfind", "proppatch", "lock",
    "unlock", "patch",
})  # fmt: skip
_BROWSERS = ("opera", "msie", "gecko", "safari", "konqueror")
_BROWSER_VERSION = lazy.pattern(r"[0-9.]*")
_MARK = lazy.pattern(r"[0-9A-Za-z=]")
_HEX = lazy.pattern(r"[0-9A-Fa-f]+")
_MOST_SUBSTITUTIONS = 255
_NO_ROOTS = ("document_root", "realpath_root")
_NAMED = "@"


@setter("ngx_http_core_open_file_cache")
def _open_file_cache(stated: Stated) -> Iterator[str]:
    yield from cache_of_files(stated, ("max", "inactive"), article="the ", least=1)


@setter("ngx_http_disable_symlinks")
def _disable_symlinks(stated: Stated) -> Iterator[str]:
    modes = [word for word in stated.args if word in ("off", "on", "if_not_owner")]
    wrong = next((word for word in stated.args if word not in modes and not word.startswith("from=")), None)
    has_from = len(modes) < len(stated.args)
    if wrong is not None:
        yield f'invalid parameter "{wrong}"'
    elif not modes:
        yield f'"{stated.name}" must have "off", "on" or "if_not_owner" parameter'
    elif len(stated.args) > 1 and not has_from:
        yield f'duplicate parameters "{stated.args[0]} {stated.args[1]}"'
    elif has_from and modes[-1] == "off":
        yield '"from=" cannot be used with "off" parameter'


@setter("ngx_http_core_error_page")
def _error_page(stated: Stated) -> Iterator[str]:
    *codes, _ = stated.args
    if codes and codes[-1].startswith("="):
        answer = codes.pop()
        if not codes or (len(answer) > 1 and number(answer[1:]) is None):
            yield f'invalid value "{answer}"'
            return
    for code in codes:
        status = number(code)
        if status is None or status == 499:
            yield f'invalid value "{code}"'
            return
        if not 300 <= status <= 599:
            yield f'value "{code}" must be between 300 and 599'
            return


@setter("ngx_http_core_keepalive")
def _keepalive_timeout(stated: Stated) -> Iterator[str]:
    first, *rest = stated.args
    if milliseconds(first) is None or any(seconds(word) is None for word in rest):
        yield stated.says("invalid value")


@setter("ngx_http_core_directio")
def _directio(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "off" and size(stated.args[0], giga=True) is None:
        yield stated.says("invalid value")


@setter("ngx_http_core_set_aio")
def _aio(stated: Stated) -> Iterator[str]:
    word = str(stated.args[0])
    kind, equals, pool = word.partition("=")
    if kind == "threads":
        if equals and "$" not in pool:
            stated.reading.pools.setdefault(pool, None)
    elif word not in ("on", "off"):
        yield stated.says("invalid value")


@setter("ngx_http_core_root")
def _root(stated: Stated) -> Iterator[str]:
    named = stated.level.kind == "location" and stated.level.args[:1] and stated.level.args[0].startswith(_NAMED)
    if named and stated.name == "alias":
        yield 'the "alias" directive cannot be used inside the named location'
        return
    for name in _NO_ROOTS:
        if f"${name}" in stated.args[0] or f"${{{name}}}" in stated.args[0]:
            yield f'the ${name} variable cannot be used in the "{stated.name}" directive'
            return


@setter("ngx_http_core_limit_except")
def _limit_except(stated: Stated) -> Iterator[str]:
    wrong = next((word for word in stated.args if word.lower() not in _METHODS), None)
    if wrong is not None:
        yield f'invalid method "{wrong}"'


@setter("ngx_http_access_rule", "ngx_stream_access_rule")
def _access(stated: Stated) -> Iterator[str]:
    if stated.args[0] not in ("all", "unix:") and network(stated.args[0]) is None:
        yield f'invalid parameter "{stated.args[0]}"'


@setter("ngx_http_realip_from", "ngx_stream_realip_from", "ngx_mail_realip_from")
def _set_real_ip_from(stated: Stated) -> Iterator[str]:
    word = stated.args[0]
    if word != "unix:" and network(word) is None and "/" in word:
        yield f'host not found in set_real_ip_from "{word}"'  # no name has a slash


@setter("ngx_http_auth_request_set", "ngx_http_rewrite_set", "ngx_stream_set")
def _set(stated: Stated) -> Iterator[str]:
    if not stated.args[0].startswith("$"):
        yield f'invalid variable name "{stated.args[0]}"'


@setter("ngx_http_rewrite_return")
def _return(stated: Stated) -> Iterator[str]:
    code, *text = stated.args
    status = number(code)
    if status is None:
        if text or not is_url(code):
            yield f'invalid return code "{code}"'
    elif status > 999:
        yield f'invalid return code "{code}"'


@setter("ngx_http_rewrite")
def _rewrite(stated: Stated) -> Iterator[str]:
    if not stated.args[1]:
        yield "empty replacement"
    elif len(stated.args) == 3 and stated.args[2] not in ("last", "break", "redirect", "permanent"):
        yield f'invalid parameter "{stated.args[2]}"'


@setter("ngx_http_rewrite_if")
def _if(stated: Stated) -> Iterator[str]:
    """Yield what nginx refuses of the condition of an `if` (`ngx_http_rewrite_if_condition`)."""
    words = list(map(str, stated.args))  # without the parentheses, unless one is missing
    if not words or _is_bare(stated.directive):
        yield f'invalid condition "{words[0] if words else ""}"'
        return
    first = words[0]
    if first.startswith("(") and not words[-1].endswith(")"):
        last = first[1:] or first if len(words) == 1 else words[-1]
        yield f'invalid condition "{last}"'
        return
    if len(first) > 1 and first.startswith("$"):
        if len(words) not in (1, 3):
            yield f'invalid condition "{first}"'
        elif len(words) == 3 and words[1] not in ("=", "!=", "~", "~*", "!~", "!~*"):
            yield f'unexpected "{words[1]}" in condition'
    elif re.fullmatch(r"!?-.", first, re.DOTALL):
        if len(words) != 2 or first[-1] not in "fdex":
            yield f'invalid condition "{first}"'
    else:
        yield f'invalid condition "{first}"'


def is_empty_condition(directive: Directive) -> bool:
    """Return whether a directive is an `if` with parentheses and nothing in them."""
    start = directive.span.start + len(directive.name)
    text = directive.source.data[start : directive.block.span.start] if directive.block else b""
    return directive.name == "if" and text.split() in ([b"()"], [b"(", b")"])


def _is_bare(condition: Directive) -> bool:
    """Return whether a condition does not begin with a parenthesis."""
    start = condition.span.start + len(condition.name)
    return condition.source.data[start : condition.span.end].lstrip()[:1] in (b"$", b"!", b"-")


@setter("ngx_http_try_files")
def _try_files(stated: Stated) -> Iterator[str]:
    last = stated.args[-1]
    if last.startswith("="):
        code = number(last[1:])
        if code is None or code > 999:
            yield f'invalid code "{last}"'


@setter("ngx_http_index_set_index")
def _index(stated: Stated) -> Iterator[str]:
    if "" in stated.args:
        yield 'index "" in "index" directive is invalid'


@setter("ngx_http_headers_add")
def _add_header(stated: Stated) -> Iterator[str]:
    if len(stated.args) == 3 and stated.args[2] != "always":
        yield f'invalid parameter "{stated.args[2]}"'


@setter("ngx_http_headers_expires")
def _expires(stated: Stated) -> Iterator[str]:
    *modified, time = stated.args
    if modified and modified[0] != "modified":
        yield stated.says("invalid value")
        return
    if "$" in time:
        return
    is_word = time in ("epoch", "max", "off")
    if time.startswith("@"):
        value = seconds(time[1:])
        if modified:
            yield stated.says('daily time cannot be used with "modified" parameter')
        elif value is None or value > 24 * 3600:
            yield stated.says("daily time value must be less than 24 hours" if value is not None else "invalid value")
        return
    if is_word:
        if modified:
            yield stated.says("invalid value")
        return
    text = time[1:] if time[:1] in ("+", "-") else time
    if seconds(text) is None:
        yield stated.says("invalid value")


def keys_of(name: str) -> tuple[str, ...]:
    """Return where `ngx_hash_add_key` stores a host name: `.a.b` is both `a.b` and `*.a.b`."""
    return (name[1:], f"*{name}") if name.startswith(".") else (name,)


@setter("ngx_http_valid_referers")
def _valid_referers(stated: Stated) -> Iterator[str]:
    seen = {key for other in before(stated) for word in other.args for key in keys_of(word.partition("/")[0].lower())}
    for word in stated.args:
        if not word:
            yield 'invalid referer ""'
            return
        if word in ("none", "blocked", "server_names"):
            continue
        if word.startswith("~"):
            if word == "~":
                yield 'empty regex in "~"'
                return
            continue
        name = word.partition("/")[0].lower()
        if not is_name_or_wildcard(name):
            yield f'invalid hostname or wildcard "{name}"'
            return
        if not seen.isdisjoint(keys := keys_of(name)):
            yield f'conflicting parameter "{name}"'
            return
        seen.update(keys)


def is_name_or_wildcard(name: str) -> bool:
    """Return whether nginx takes a name for a hash with wildcards (`ngx_hash_add_key`)."""
    stars = name.count("*")
    if stars > 1 or ".." in name or "\0" in name:
        return False
    if stars == 0 or (len(name) > 1 and name.startswith(".")):
        return True
    return (name.startswith("*.") and len(name) > 2) or (name.endswith(".*") and len(name) > 2)


@setter("ngx_http_modern_browser")
def _modern_browser(stated: Stated) -> Iterator[str]:
    name, *version = stated.args
    if not version:
        if name != "unlisted":
            yield f'invalid number of arguments in "{stated.name}" directive'
    elif name.lower() not in _BROWSERS:
        yield f'unknown browser name "{name}"'
    elif not _BROWSER_VERSION.fullmatch(version[0]):
        yield f'invalid browser version "{version[0]}"'


@setter("ngx_http_mirror")
def _mirror(stated: Stated) -> Iterator[str]:
    earlier = list(before(stated))
    if earlier and ("off" in stated.args or any("off" in other.args for other in earlier)):
        yield stated.says("is duplicate")


@setter("ngx_http_sub_filter")
def _sub_filter(stated: Stated) -> Iterator[str]:
    if not stated.args[0]:
        yield "empty search pattern"
        return
    own = stated.level.own("sub_filter")
    if len(own) > _MOST_SUBSTITUTIONS and own.index(stated.directive) >= _MOST_SUBSTITUTIONS:
        yield f"number of search patterns exceeds {_MOST_SUBSTITUTIONS}"


@setter("ngx_http_userid_mark")
def _userid_mark(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "off" and not _MARK.fullmatch(stated.args[0]):
        yield stated.says('value must be "off" or a single letter, digit or "="')


@setter("ngx_http_userid_expires")
def _userid_expires(stated: Stated) -> Iterator[str]:
    if stated.args[0] not in ("off", "max") and seconds(stated.args[0]) is None:
        yield stated.says("invalid value")


@setter("ngx_http_image_filter")
def _image_filter(stated: Stated) -> Iterator[str]:
    kind, *values = stated.args
    wrong = None
    if not values:
        wrong = kind if kind not in ("off", "test", "size") else None
    elif len(values) == 1:
        if kind != "rotate":
            wrong = kind
        elif "$" not in values[0] and number(values[0]) not in (90, 180, 270):
            wrong = values[0]
    elif kind not in ("resize", "crop"):
        wrong = kind
    else:
        wrong = next((word for word in values if "$" not in word and word != "-" and not number(word)), None)
    if wrong is not None:
        yield f'invalid parameter "{wrong}"'


@setter("ngx_http_image_filter_jpeg_quality", "ngx_http_image_filter_webp_quality",
          "ngx_http_image_filter_sharpen")  # fmt: skip
def _image_quality(stated: Stated) -> Iterator[str]:
    if "$" not in stated.args[0] and not number(stated.args[0]):
        yield f'invalid value "{stated.args[0]}"'


@setter("ngx_http_geoip_proxy")
def _geoip_proxy(stated: Stated) -> Iterator[str]:
    if stated.args[0] != "255.255.255.255" and network(stated.args[0]) is None:
        yield f'invalid network "{stated.args[0]}"'


_UTF8_SECOND = Version(1, 31, 3)


@setter("ngx_http_charset_map_block")
def _charset_map(stated: Stated) -> Iterator[str]:
    first, second = (word.lower() for word in stated.args)
    charsets = stated.reading.charsets  # nginx compares with the first only
    if first == second:
        yield f'"charset_map" between the same charsets "{stated.args[0]}" and "{stated.args[1]}"'
    elif first == "utf-8" and stated.reading.target >= _UTF8_SECOND:
        yield '"charset_map" with "utf-8" charset should be given in the second column'
    elif charsets in ((first, second), (second, first)):
        yield f'duplicate "charset_map" between "{stated.args[0]}" and "{stated.args[1]}"'
    stated.reading.charsets = charsets or (first, second)


# Tables: map, geo, split_clients, charset_map.

_PERCENT = lazy.pattern(r"([0-9]+)(?:\.([0-9]{0,2})0*)?%")
_ALL = 10_000


@setter("ngx_http_map_block", "ngx_stream_map_block", "ngx_conf_split_clients_block",
          "ngx_stream_split_clients_block", "ngx_http_split_clients_block")  # fmt: skip
def _table(stated: Stated) -> Iterator[str]:
    yield from _of_variable(stated.args[-1])


@setter("ngx_http_geo_block", "ngx_stream_geo_block")
def _geo(stated: Stated) -> Iterator[str]:
    for word in stated.args:
        message = next(_of_variable(word), None)
        if message is not None:
            yield message
            return


def _of_variable(word: str) -> Iterator[str]:
    if not word.startswith("$"):
        yield f'invalid variable name "{word}"'
    elif word == "$":
        yield 'invalid variable name "$"'


_Rows = Callable[[Stated], Iterator[tuple[Directive, str]]]


def with_blocks(stated: Stated, rows: _Rows) -> Iterator[tuple[Directive, str]]:
    """Yield what nginx refuses of the rows of a block: those that open a block themselves, and what `rows` does."""
    assert stated.block is not None
    opening = {row for row in stated.block.directives if row.block is not None}
    yield from ((row, 'unexpected "{"') for row in opening)
    yield from ((row, message) for row, message in rows(stated) if row not in opening)


def rows_of_map(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """Yield what nginx refuses of the rows of a `map` (`ngx_http_map`)."""
    assert stated.block is not None
    hostnames, has_default = False, False
    seen: set[str] = set()
    for row in stated.block.directives:
        key, args = str(row.name), row.args
        if not args and key == "hostnames":
            hostnames = True
            continue
        if not args and key == "volatile" and stated.reading.target >= VOLATILE["map"]:
            continue
        if len(args) != 1:
            yield row, "invalid number of the map parameters"
            continue
        if key == "include":
            continue
        if key == "default":
            if has_default:
                yield row, "duplicate default map parameter"
            has_default = True
            continue
        if key.startswith("~"):
            continue
        name = key.removeprefix("\\").lower()
        keys = keys_of(name) if hostnames else (name,)
        if hostnames and not is_name_or_wildcard(name):
            yield row, f'invalid hostname or wildcard "{name}"'
        elif not seen.isdisjoint(keys):
            yield row, f'conflicting parameter "{name}"'
        seen.update(keys)


def rows_of_split(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """Yield what nginx refuses of the rows of a `split_clients` (`ngx_http_split_clients`,
    `ngx_conf_split_clients_block`)."""
    assert stated.block is not None
    total = 0
    for row in stated.block.directives:
        if row.name == "*":
            total = max(total, _ALL)
            continue
        match = _PERCENT.fullmatch(row.name)
        share = int(match[1]) * 100 + int((match[2] or "").ljust(2, "0")) if match else 0
        if not share:
            yield row, f'invalid percent value "{row.name}"'
            return
        total += share
    if total > _ALL:
        yield stated.directive, "percent total is greater than 100%"


def rows_of_geo(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """Yield what nginx refuses of the rows of a `geo` (`ngx_http_geo`)."""
    assert stated.block is not None
    is_ranges, has_tree = False, False
    ranges: list[tuple[int, int]] = []
    for row in stated.block.directives:
        key, args = str(row.name), row.args
        if not args and key == "ranges":
            if has_tree:
                yield row, 'the "ranges" directive must be the first directive inside "geo" block'
            is_ranges = True
            continue
        if not args and (key == "proxy_recursive" or (key == "volatile" and stated.reading.target >= VOLATILE["geo"])):
            continue
        if len(args) != 1:
            yield row, "invalid number of the geo parameters"
            continue
        if key == "include":
            continue
        if key == "proxy":
            if not _is_geo_network(args[0]):
                yield row, f'invalid network "{args[0]}"'
            continue
        has_tree = has_tree or not is_ranges
        if key == "default":
            continue
        net = str(args[0]) if key == "delete" else key
        if not is_ranges:
            if not _is_geo_network(net):
                yield row, f'invalid network "{net}"'
            continue
        found = _range(net)
        if found is None:
            yield row, f'invalid range "{net}"'
        elif key != "delete":
            message = _overlap(net, *found, ranges)
            if message is not None:
                yield row, message


def _is_geo_network(text: str) -> bool:
    return text == "255.255.255.255" or network(text) is not None


def _range(text: str) -> tuple[int, int] | None:
    first, dash, last = text.partition("-")
    low, high = quad(first), quad(last)
    if not dash or low is None or high is None:
        return None
    ends = int.from_bytes(bytes(low), "big"), int.from_bytes(bytes(high), "big")
    return ends if ends[0] <= ends[1] else None


def _overlap(net: str, low: int, high: int, ranges: list[tuple[int, int]]) -> str | None:
    """Record a range; return why nginx refuses it if it overlaps an earlier one (`ngx_http_geo_add_range`)."""
    at = bisect_left(ranges, (low, -1))
    beside = ranges[max(at - 1, 0) : at + 1]
    for start, end in beside:
        if low <= end and high >= start:
            inside = start <= low and high <= end
            if not inside:
                return f'range "{net}" overlaps "{_dotted(start)}-{_dotted(end)}"'
            return None  # nginx splits the earlier one
    insort(ranges, (low, high))
    return None


def _dotted(value: int) -> str:
    return ".".join(map(str, value.to_bytes(4, "big")))


_MOST_UTF_DIGITS = 7
_NOT_ASCII = 0x80
_THREE_BYTES = 0xE0


def rows_of_charset(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """Yield what nginx refuses of the rows of a `charset_map` (`ngx_http_charset_map`)."""
    assert stated.block is not None
    is_utf8 = stated.args[-1].lower() == "utf-8"
    for row in stated.block.directives:
        if len(row.args) != 1:
            yield row, "invalid parameters number"
        elif not _is_byte(row.name):
            yield row, f'invalid value "{row.name}"'
        elif not (_is_utf8(row.args[0]) if is_utf8 else _is_byte(row.args[0])):
            yield row, f'invalid value "{row.args[0]}"'


def _is_byte(text: str) -> bool:
    return re.fullmatch(r"0*[0-9A-Fa-f]{1,2}", text) is not None


def _is_utf8(text: str) -> bool:
    """Return whether bytes begin with a character of two or three; nginx ignores the rest (`ngx_utf8_decode`)."""
    if len(text) > _MOST_UTF_DIGITS or len(text) % 2 or not re.fullmatch(r"[0-9A-Fa-f]+", text):
        return False
    data = bytes.fromhex(text)
    try:
        data[: 2 if data[0] < _THREE_BYTES else 3].decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return data[0] >= _NOT_ASCII


def rows_of_types(stated: Stated) -> Iterator[tuple[Directive, str]]:
    """Yield what nginx refuses of the rows of a `types` (`ngx_http_core_type`), where any words are types."""
    assert stated.block is not None
    for row in stated.block.directives:
        if row.name == "include" and len(row.args) != 1:
            yield row, 'invalid number of arguments in "include" directive'


BLOCKS = {
    "ngx_http_core_types": rows_of_types,
    "ngx_http_map_block": rows_of_map,
    "ngx_stream_map_block": rows_of_map,
    "ngx_conf_split_clients_block": rows_of_split,
    "ngx_stream_split_clients_block": rows_of_split,
    "ngx_http_split_clients_block": rows_of_split,
    "ngx_http_geo_block": rows_of_geo,
    "ngx_stream_geo_block": rows_of_geo,
    "ngx_http_charset_map_block": rows_of_charset,
}


# Names of servers and locations.


@setter("ngx_http_core_server_name", "ngx_stream_core_server_name")
def _server_name(stated: Stated) -> Iterator[str]:
    for word in stated.args:
        starts_wrong = word.startswith("*") and (len(word) < 3 or word[1] != ".")
        if starts_wrong or word == ".":
            yield f'server name "{word}" is invalid'
            return
        if word == "~":
            yield 'empty regex in server name "~"'
            return


@setter("ngx_http_core_location")
def _location(stated: Stated) -> Iterator[str]:
    if len(stated.args) == 2 and stated.args[0] not in MODIFIERS:
        yield f'invalid location modifier "{stated.args[0]}"'
        return
    inner, outer = stated.block, stated.level
    if inner is None or outer.kind != "location" or not outer.args:
        return
    name, around = _name(stated.args), _name(outer.args)
    if outer.modifier == "=":
        yield f'location "{name}" cannot be inside the exact location "{around}"'
    elif around.startswith("@") and not outer.modifier:
        yield f'location "{name}" cannot be inside the named location "{around}"'
    elif name.startswith("@") and not inner.modifier:
        yield f'named location "{name}" can be on the server level only'
    elif inner.modifier not in ("~", "~*") and not name.startswith(around):
        is_regex = outer.modifier in ("~", "~*")
        if not is_regex or not name.startswith(around):
            yield f'location "{name}" is outside location "{around}"'


def _name(args: tuple[str, ...]) -> str:
    """Return the name of a location without its modifier."""
    if len(args) == 2:
        return str(args[1])
    word = str(args[0])
    return next((word[len(mark) :] for mark in ("=", "^~", "~*", "~") if word.startswith(mark)), word)
