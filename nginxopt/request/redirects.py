"""Redirects, and chains of them."""

from __future__ import annotations

from nginxopt.records import record
from nginxopt.text import Source, Span

REDIRECTS = (301, 302, 303, 307, 308)
"""The codes with which a client goes on to `Location`."""


@record(eq=True)
class Redirect:
    """A statement that redirects a URL, through the client or inside nginx.

    Attributes:
        uri: What is redirected: a path, or a URL in a chain over several sites.
        target: What it leads to; None if that is not known, or on no site of the configuration.
        is_internal: Whether nginx continues with the new URI by itself, without a response to the client.
    """

    source: Source
    span: Span
    uri: str
    target: str | None
    is_internal: bool = False


@record(eq=True)
class RedirectChain:
    """Redirects in sequence.

    Attributes:
        redirects: Of a loop, those that repeat; all of them if the URI differs each time.
        is_loop: Whether the last leads to an earlier one, or the URI grows without an end.
        is_constant: Whether it is the same for every URI that its first statement answers.
    """

    redirects: tuple[Redirect, ...]
    is_loop: bool
    is_constant: bool
