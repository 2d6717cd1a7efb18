"""Redirects, and chains of them."""

from __future__ import annotations

from dataclasses import dataclass

from nginxopt.text import Source, Span

REDIRECTS = ("301", "302", "303", "307", "308")
"""The codes with which `return` redirects a client."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A statement that redirects a URI, through the client or inside nginx, and the path it leads to on the same site.

    `target` is None if that is uncertain. `flag` is that of a rewrite, or `return`. `is_constant`: it leads there for
    every URI that it matches.
    """

    source: Source
    span: Span
    uri: bytes
    target: bytes | None
    flag: str
    is_constant: bool

    @property
    def is_internal(self) -> bool:
        """Whether nginx continues with the new URI by itself, without a response to the client."""
        return self.flag in ("last", "break")


@dataclass(frozen=True, slots=True)
class RedirectChain:
    """Redirects in sequence. `is_loop`: the last leads to an earlier URI, or the chain has no end in sight."""

    redirects: tuple[Redirect, ...]
    is_loop: bool

    @property
    def loop(self) -> tuple[Redirect, ...]:
        """The part of a loop that repeats; all of it if the URI differs each time."""
        first = next((at for at, redirect in enumerate(self.redirects) if redirect.uri == self.redirects[-1].target), 0)
        return self.redirects[first:]
