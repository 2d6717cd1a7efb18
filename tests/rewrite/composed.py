"""Configurations whose parts add up: maps that evaluate each other, in several ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Rows = Callable[[int], str]


def rows(number: int, *, few: int = 7) -> str:
    """Rows that become a tree, whose values tell the map."""
    return " ".join(f'"~^/k{number}/{letter}/(.*)$" v{number}{letter};' for letter in "abcdefghij"[:few])


def site(http: str, shown: str = "$m0", server: str = "") -> str:
    """A configuration with one server that shows a value."""
    return (
        f"events {{}} http {{ {http} server {{ listen 8080; {server}"
        f' location / {{ return 200 "[{shown}] [$uri]"; }} }} }}'
    )


def by_default(levels: int, *, flags: str = "", end: str = "end") -> str:
    """Maps of the URI, each of which has the next one as its default."""
    defaults = [*(f"$m{number + 1}" for number in range(levels - 1)), end]
    return "\n".join(
        f"map $uri $m{number} {{ {flags} default {default}; {rows(number)} }}"
        for number, default in enumerate(defaults)
    )


def by_source(levels: int, *, flags: str = "") -> str:
    """Maps, each of which looks up the value of the next one."""
    sources = [*(f"$m{number + 1}" for number in range(levels - 1)), "$uri"]
    return "\n".join(
        f"map {source} $m{number} {{ {flags} default /; {rows(number)} }}" for number, source in enumerate(sources)
    )


def by_text(levels: int) -> str:
    """Maps, each of which has the next one within the text of its default."""
    defaults = [*(f'"x$m{number + 1}"' for number in range(levels - 1)), "end"]
    return "\n".join(
        f"map $uri $m{number} {{ default {default}; {rows(number)} }}" for number, default in enumerate(defaults)
    )


def by_row(levels: int) -> str:
    """Maps, each of which has the next one as the value of a plain row."""
    values = [*(f"$m{number + 1}" for number in range(levels - 1)), "end"]
    return "\n".join(f"map $uri $m{number} {{ /zzz {value}; {rows(number)} }}" for number, value in enumerate(values))


def in_a_circle(levels: int) -> str:
    """Maps of which the last one has the first one within the text of its default."""
    return by_default(levels, end='"<$m0>"')


def plain_maps(levels: int) -> str:
    """Maps without patterns, which stay as they are, each of which has the next one as its default."""
    defaults = [*(f"$p{number + 1}" for number in range(levels - 1)), "end"]
    return "\n".join(f"map $uri $p{number} {{ default {default}; }}" for number, default in enumerate(defaults))


def beyond_plain_maps(levels: int, plain: int) -> str:
    """Some maps with patterns, and then maps without, which stay as they are."""
    return f"{by_default(levels, end='$p0')}\n{plain_maps(plain)}"


def below_others(levels: int, above: int) -> str:
    """Some maps with patterns, below `split_clients` and maps without patterns of the user's own."""
    heads = [f"map $uri $u{number} {{ default $u{number + 1}; }}" for number in range(above - 1)]
    heads.append(f'split_clients "$m0" $u{above - 1} {{ * all; }}')
    return "\n".join([*heads, by_default(levels)])


def joined(levels: int, ways: Sequence[str]) -> str:
    """Maps of several chains whose last one is the same."""
    return (
        "\n".join(by_default(levels, end="$last").replace("$m", f"$m{way}x").replace("/k", f"/{way}k") for way in ways)
        + f"\nmap $uri $last {{ default end; {rows(999)} }}"
    )
