"""The names of directives that nginx, NGINX Plus and common modules have, and corrections of misspelt ones.

They come from the tables of `nginxopt.facts`. That of modules is incomplete, so a name that is missing here is not
necessarily wrong.
"""

from __future__ import annotations

from functools import cache, lru_cache

from nginxopt.facts import group, vendors
from nginxopt.facts.table import names

ROWS = group("rows")
"""Blocks whose statements are not directives, but rows of data."""

BLOCKS = group("block")
"""Blocks whose statements are directives of nginx. In others, such as `map` or those of modules, they may be values."""

NGINX = names() | vendors.names(vendors.OLDER) | vendors.names(vendors.PLUS)
"""The directives of nginx up to 1.31.5 and of NGINX Plus."""

NAMES = NGINX | vendors.names(vendors.MODULES)
"""The directives of nginx, NGINX Plus, and the most common modules."""

FOREIGN = frozenset(["elif", "else", "elseif", "endif"])
"""Words of other languages that no module of nginx uses."""

_SHORTEST = 4
_LONG = 8


def _letters(name: str) -> int:
    """Return the set of letters of a name as bits, which some letters share. One typo changes at most two bits."""
    bits = 0
    for letter in name:
        bits |= 1 << (ord(letter) & 63)
    return bits


@cache
def _letters_of_names() -> dict[str, int]:
    return {name: _letters(name) for name in NAMES}


@lru_cache(maxsize=1 << 10)
def nearest(name: str) -> tuple[str, ...]:
    """Return the directives of nginx that an unknown name may be a misspelling of, in alphabetical order.

    One letter may be wrong, missing, superfluous or swapped with the next; in names of eight or more characters, two.
    Empty for a name of less than four characters, which would be similar to too many.
    """
    if len(name) < _SHORTEST:
        return ()
    limit = 2 if len(name) >= _LONG else 1
    letters = _letters(name)
    likely = (
        known
        for known, others in _letters_of_names().items()
        if abs(len(known) - len(name)) <= limit and (letters ^ others).bit_count() <= 2 * limit
    )
    near = {known: distance(name, known) for known in likely}
    least = min(near.values(), default=limit + 1)
    return tuple(sorted(known for known, distance in near.items() if distance == least <= limit))


def distance(name: str, other: str) -> int:
    """Return the optimal string alignment distance: letters inserted, deleted, replaced, or swapped with the next."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row, letter in enumerate(name, 1):
        line = [row]
        for column, target in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != target))
            if row > 1 and column > 1 and letter == other[column - 2] and name[row - 2] == target:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]


def is_misspelt(name: str) -> bool:
    """Return whether most likely no module has a directive with this name: it is misspelt, or a word of another
    language."""
    return name in FOREIGN or (name not in NAMES and bool(nearest(name)))
