"""Map whose hash table does not fit: slow lookups, or nginx does not start

Flags a `map` of http or stream whose plain keys do not fit `map_hash_max_size` (2048 by default) and
`map_hash_bucket_size` (64, the cache line of common processors). The rule does not estimate this: it simulates nginx's
own search for a table size (`ngx_hash_init`) with the keys. Does not check maps with `hostnames`.

The fix sets the next powers of two that suit all maps of the http or stream block.

## Why it matters
If nginx finds no size, it warns "could not build optimal map_hash" and takes the largest, and a lookup compares all
keys of an overfull bucket: about 250 of them with a million keys under the default sizes. A key longer than a bucket
holds (46 bytes with 64) stops nginx: "could not build map_hash, you should increase map_hash_bucket_size".

## Bad
```nginx http
map_hash_max_size 4;
map $uri $moved_to {
    /page/1 /1; /page/2 /2; /page/3 /3; /page/4 /4; /page/5 /5; /page/6 /6; /page/7 /7; /page/8 /8;
    /site/1 /a; /site/2 /b; /site/3 /c; /site/4 /d; /site/5 /e; /site/6 /f; /site/7 /g; /site/8 /h;
}
```

```nginx
events {
}
stream {
    map_hash_max_size 1;
    map $remote_addr $backend {
        10.0.0.1 a:1; 10.0.0.2 a:2; 10.0.0.3 a:3; 10.0.0.4 a:4;
    }
}
```

## Good
```nginx http
map_hash_max_size 16;
map $uri $moved_to {
    /page/1 /1; /page/2 /2; /page/3 /3; /page/4 /4; /page/5 /5; /page/6 /6; /page/7 /7; /page/8 /8;
    /site/1 /a; /site/2 /b; /site/3 /c; /site/4 /d; /site/5 /e; /site/6 /f; /site/7 /g; /site/8 /h;
}
```

## Silent
Regular expressions are not in the table, and a large table holds any number of short keys:
```nginx http
map $http_user_agent $is_bot {
    "~a-regular-expression-that-is-longer-than-a-bucket-of-the-table" 1;
    curl 1;
}
```

## Fix safety
May change: limits, start.

A map gives each key the same value, whatever the size of its table. The fix simulates nginx's own search for a size
with the new numbers for every map of the block, so that it succeeds; the table takes up to 8 bytes for each unit
of `map_hash_max_size`. The fix sets only powers of two above the current numbers: whatever fitted still fits, in a
missing include as well.

## When to ignore it
Never. On a processor with a cache line of 32 or 128 bytes, the default bucket has that size.

## References
- https://nginx.org/en/docs/hash.html
- https://nginx.org/en/docs/http/ngx_http_map_module.html#map_hash_max_size
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nginxopt.config import Change, encode, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level, Setting, maphash, values

DEFAULTS = {"map_hash_max_size": 2048, "map_hash_bucket_size": 64}
"""The defaults of ngx_http_map_module and ngx_stream_map_module; the bucket size is `ngx_cacheline_size`."""

MOST_TRIED = 65_536
"""A larger table is checked only if nginx tries few sizes for it: the search takes quadratic time."""


class _Map(NamedTuple):
    level: Level
    keys: list[bytes]


@rule(severity=Severity.WARNING, category="rewrite", fix=Safety.SAFE, about=("map",))
def check(model: Model) -> Iterator[Finding]:
    """Find maps whose keys do not fit the hash table."""
    for block in model.protocols("http", "stream"):
        settings = {name: block.setting(name) for name in DEFAULTS}
        sizes = {name: _size(setting) for name, setting in settings.items()}
        max_size, bucket = sizes.values()
        maps = [_Map(level, _keys(level)) for level in block.levels if level.kind == "map"]
        if max_size is not None and bucket is not None:
            yield from _judged(block, maps, max_size, bucket)


def _judged(block: Level, maps: list[_Map], max_size: int, bucket: int) -> Iterator[Finding]:
    judged = [map_ for map_ in maps if max_size <= MOST_TRIED or max_size < 100 * len(map_.keys)]
    verdicts = [maphash.verdict(map_.keys, max_size, bucket) for map_ in judged]
    if all(outcome == maphash.Verdict.FITS for outcome in verdicts):
        return
    fix = _fix(block, [map_.keys for map_ in judged], max_size, bucket)
    for map_, outcome in zip(judged, verdicts, strict=True):
        if outcome != maphash.Verdict.FITS and map_.level.source is not None:
            message = _message(map_, outcome, max_size, bucket)
            yield Finding(map_.level.source, map_.level.span, message, fix, help=_advice(fix))


def _message(map_: _Map, outcome: maphash.Verdict, max_size: int, bucket: int) -> str:
    name = map_.level.args[-1] if map_.level.args else "map"
    if outcome == maphash.Verdict.REFUSED:
        longest = max(map(len, map_.keys))
        return f"{name} has a key of {longest} bytes, too long for map_hash_bucket_size {bucket}: nginx does not start"
    if outcome == maphash.Verdict.SLOW:
        keys = f"the {len(map_.keys):,} keys of {name}"
        return f"nginx starts slowly: with map_hash_max_size {max_size}, it tries many sizes for {keys}"
    return (
        f"the {len(map_.keys):,} keys of {name} do not fit map_hash_max_size {max_size}: nginx warns, and"
        " lookups are slow"
    )


def _advice(fix: Fix | None) -> str:
    return "" if fix else "no sizes work for all maps: too many keys have the same hash"


def _size(setting: Setting) -> int | None:
    """Return the effective size; None if it is unknown."""
    if not setting.known:
        return None
    value = setting.value if setting.is_set else str(DEFAULTS[setting.name])
    size = values.number(value) if value is not None else None
    return size or None


def _keys(level: Level) -> list[bytes]:
    """Return the plain keys of a map; none for a map with `hostnames`."""
    flags = {str(directive.name) for directive in level.directives if not directive.args}
    if "hostnames" in flags:
        return []
    rows = (directive for directive in level.directives if len(directive.args) == 1)
    names = (row.name for row in rows if row.name not in ("default", "include") and not row.name.startswith("~"))
    return [encode(name.removeprefix("\\")) for name in names]


def _fix(block: Level, maps: Sequence[Sequence[bytes]], max_size: int, bucket: int) -> Fix | None:
    sizes = maphash.suitable(maps, max_size, bucket)
    if sizes is None or block.block is None:
        return None
    new_sizes = dict(zip(DEFAULTS, sizes, strict=True))
    now = {"map_hash_max_size": max_size, "map_hash_bucket_size": bucket}
    changes: list[Change] = []
    missing: list[str] = []
    for name, size in new_sizes.items():
        directive = block.setting(name).directive
        if size == now[name]:
            continue
        if directive is None:
            missing.append(f"{name} {size};")
        else:
            changes.append(layout.replace(directive, directive.args[0], str(size)))
    if missing:
        changes.append(layout.prepend(block.block, missing))
    title = " and ".join(f"{name} {size}" for name, size in new_sizes.items() if size != now[name])
    return Fix(f"set {title}", tuple(changes))
