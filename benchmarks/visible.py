"""Changes of a configuration, one at a time, that a client or an upstream can see.

They are edits as those of `benchmarks.edits`.
"""

from __future__ import annotations

import random
from functools import partial

from benchmarks.edits import Edit, Text, chosen, word_at
from nginxopt.config import Directive

_SEEN = {
    "add_header": (1, "mutant"), "proxy_set_header": (1, "mutant"), "error_page": (-1, "/mutant"),
    "fastcgi_param": (1, "mutant"), "return": (-1, "https://mutant.example/"), "root": (0, "/srv/mutant"),
    "alias": (0, "/srv/mutant/"), "allow": (0, "198.51.100.0/24"), "deny": (0, "198.51.100.0/24"),
    "proxy_pass": (0, "http://192.0.2.77:7777"), "fastcgi_pass": (0, "192.0.2.77:7777"), "try_files": (-1, "/mutant"),
    "index": (0, "mutant.html"), "expires": (-1, "17m"), "auth_basic": (0, "mutant"), "rewrite": (1, "/mutant"),
    "client_max_body_size": (0, "12345"), "proxy_hide_header": (0, "X-Mutant"), "default_type": (0, "text/mutant"),
    "proxy_redirect": (-1, "/mutant/"), "sub_filter": (1, "mutant"), "set": (1, "mutant"),
}  # fmt: skip
_REMOVED = ("add_header", "proxy_set_header", "error_page", "location", "server", "fastcgi_param", "deny")


def _another(name: str, text: Text, draw: random.Random) -> bytes | None:
    """Write another value of a directive; of an `allow` only where others are denied behind it."""
    at, new = _SEEN[name]
    options = [
        [word_at(each, at % len(each.args), f'"{new}"')]
        for each in text.named(name)
        if len(each.args) > abs(at) - (at < 0) and (name != "allow" or _denies_others(text, each))
    ]
    return chosen(text, draw, options)


def _denies_others(text: Text, allow: Directive) -> bool:
    """Return whether a rule behind an `allow` in its block denies everybody else."""
    around = text.around(allow)
    inside = text.inside(around[-1]) if around else []
    return any(each.name == "deny" and [*each.args] == ["all"] and each.start > allow.start for each in inside)


def _without(name: str, text: Text, draw: random.Random) -> bytes | None:
    return chosen(text, draw, [[(each.start, each.end, "")] for each in text.named(name)])


def _another_row(text: Text, draw: random.Random) -> bytes | None:
    rows = [row for table in text.rows("map", "geo") for row in table]
    options = [
        [word_at(row, 0, "mutant")] for row in rows if len(row.args) == 1 and row.name not in ("include", "default")
    ]
    return chosen(text, draw, options)


VISIBLE: dict[str, Edit] = {
    **{f"another {name}": partial(_another, name) for name in _SEEN},
    **{f"without {name}": partial(_without, name) for name in _REMOVED},
    "another value of a row": _another_row,
}
"""The changes that can be seen, by what they do."""
