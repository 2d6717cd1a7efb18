"""The names of the directives of nginx and others (`nginxopt.facts.lexicon`), and words that are certainly none."""

from __future__ import annotations

from nginxopt.facts.lexicon import BLOCKS, NAMES, NGINX, ROWS, nearest

__all__ = ["BLOCKS", "FOREIGN", "NAMES", "NGINX", "ROWS", "is_misspelt", "nearest"]

FOREIGN = frozenset(["elif", "else", "elseif", "endif"])
"""Words of other languages that no module of nginx uses."""


def is_misspelt(name: str) -> bool:
    """Return whether most likely no module has a directive with this name: it is misspelt, or a word of another
    language."""
    return name in FOREIGN or (name not in NAMES and bool(nearest(name)))
