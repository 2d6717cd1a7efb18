"""A pair of configurations that are written in two ways."""

from __future__ import annotations

from typing import NamedTuple

TARGETS = ("/", "/a", "/a/f", "/x?a=1&b=2", "/%zz")


class Forms(NamedTuple):
    """Two configurations, and the targets of requests that nginx answers alike, or one of them not.

    `versions` are the beginnings of those of nginx that this is true of; on others, the opposite is. `size` is the
    length of the bodies of the requests.
    """

    name: str
    old: str
    new: str
    targets: tuple[str, ...] = TARGETS
    versions: tuple[str, ...] = ("1.",)
    size: int = 0
