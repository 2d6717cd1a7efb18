"""Chains of redirects: where clients that follow the redirects of a site end up.

Input is a configuration; output is the chains that begin at its redirecting statements. The model says which URL a
statement answers, and where each URL on the way leads; a URL whose answer it does not know ends the chain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote_from_bytes

from nginxopt import lazy
from nginxopt.config import Config
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.request.client import RequestForm
from nginxopt.request.doors import WORLD, Door, Doors
from nginxopt.request.model import SiteModel
from nginxopt.request.redirects import REDIRECTS, Redirect, RedirectChain
from nginxopt.semantics.site import Build
from nginxopt.semantics.site.form import Node
from nginxopt.text import decode, shorten

MOST_REDIRECTS = 20
"""The number of redirects after which a browser gives up (Fetch Standard, HTTP-redirect fetch)."""

LONGEST = 8_000
"""The longest target that is followed, in bytes: nginx refuses much longer ones (`large_client_header_buffers`)."""

_CHANGES = 11
"""The number of URI changes within nginx of which the last ends with 500 (`NGX_HTTP_MAX_URI_CHANGES`)."""

CYCLE = 500
"""The status of a request whose URI changes too often."""

_LOCATION = lazy.pattern(rb"(https?://[^/?#]*)?([^#]*)", re.IGNORECASE)
_PLAIN = lazy.pattern(rb"/(?!/)[A-Za-z0-9._~/,:=@!*()'-]*(?:\?[!-~]*)?")
"""A path that clients request as it is written, perhaps with arguments."""
_SAFE = "/~,:=@!*()'"
_SHOWN = 120


@dataclass(eq=False, slots=True)
class _Page:
    """A URL of the site, and what the model says of it; each URL has one page.

    Attributes:
        target: Path and arguments.
        node: The directive that redirects it; None if it is not redirected.
        status: The status that the client gets.
        following: Where a client is sent; None if it is not redirected, or if that is not a URL of the site.
    """

    door: Door
    target: bytes
    node: Node | None = None
    status: int | None = None
    following: _Page | None = None

    @property
    def path(self) -> bytes:
        return self.target.partition(b"?")[0]

    def shown(self, is_one_site: bool) -> str:
        site = "" if is_one_site else self.door.site
        return shorten(site + self.path.decode("ascii"), _SHOWN)


@record(eq=True)
class _Start:
    """A page that a statement redirects."""

    page: _Page
    is_constant: bool


def chains(config: Config, build: Build) -> Iterator[RedirectChain]:
    """Yield the chain of each redirect that is followed by another one within the configuration, or is a loop.

    Yields nothing for a configuration that nginx refuses, or that shows no server. Includes of http and servers that
    were not read are assumed not to affect the redirects of other files. Linear in the text.
    """
    try:
        model = SiteModel(config, build, ignores_missing=True)
    except InputError:
        return
    yield from chains_in(model)


def chains_in(model: SiteModel) -> Iterator[RedirectChain]:
    """Yield the chains and loops in the model of a configuration; see `chains`."""
    yield from _Chains(model).all()


class _Chains:
    def __init__(self, model: SiteModel) -> None:
        self._model = model
        self._nodes = model.site.nodes
        self._levels = model.site.site["levels"]
        self._is_fragment = any(level.opener is None for level in model.site.servers)
        self._doors = Doors(model)
        self._pages: dict[Door, dict[bytes, _Page]] = {}
        self._new: list[_Page] = []
        self._redirects: dict[_Page, Redirect] = {}

    def all(self) -> Iterator[RedirectChain]:
        starts = list(self._starts())
        self._explore()
        for start in starts:
            chain = self._follow(start)
            if chain is not None:
                yield chain

    def _starts(self) -> Iterator[_Start]:
        """Yield a page for each statement at which a chain may begin."""
        native = self._model.native
        for server in native.redirecting():
            begun: set[Node] = set()
            for door in self._doors.of_server(server):
                for node, uri, is_constant in native.starts(server, door.form, self._doors.world, door.site.encode()):
                    if node not in begun:
                        begun.add(node)
                        yield _Start(self._page(door, uri), is_constant)

    def _page(self, door: Door, target: bytes) -> _Page:
        pages = self._pages.setdefault(door, {})
        page = pages.get(target)
        if page is None:
            page = pages[target] = _Page(door, target)
            self._new.append(page)
        return page

    def _explore(self) -> None:
        """Ask the model about the first pages, then about those that they redirect to, as far as a client follows."""
        for _ in range(MOST_REDIRECTS + 1):
            by_door: dict[Door, list[_Page]] = {}
            for page in self._new:
                by_door.setdefault(page.door, []).append(page)
            self._new = []
            for door, pages in by_door.items():
                self._ask(door, pages)

    def _ask(self, door: Door, pages: Sequence[_Page]) -> None:
        """Enter the answers of the model for pages of a door, all in one call."""
        targets = [page.target for page in pages]
        answers = self._model.native.of_targets(door.form, targets, self._doors.world)
        for page, (_, level, node, status, location) in zip(pages, answers, strict=True):
            page.status = status
            if status in REDIRECTS and location is not None and self._is_known(level):
                page.node = node
                page.following = self._following(door, location)

    def _is_known(self, level: int | None) -> bool:
        """Return whether no other location can take the URI. The server around a fragment may have any locations."""
        return not self._is_fragment or (level is not None and self._levels[level]["kind"] == "server")

    def _following(self, door: Door, location: bytes) -> _Page | None:
        match = _LOCATION.match(location)
        assert match is not None  # it matches the empty text
        site, rest = match[1], match[2]
        target = rest if rest.startswith(b"/") or site is None else b"/" + rest
        if not _PLAIN.fullmatch(target) or b"/." in target.partition(b"?")[0]:
            return None
        way = door if site is None else self._doors.way(door, decode(site))
        if way is None:
            return None
        return self._page(way, target) if len(target) <= LONGEST else _Page(way, target)

    def _follow(self, start: _Start) -> RedirectChain | None:
        """Return the chain that begins at a page; None if it has at most one redirect, and is not a loop."""
        pages: list[_Page] = []
        page, seen = start.page, {start.page}
        while page.node is not None:
            pages.append(page)
            if page.following is None:
                break
            page = page.following
            if page in seen or len(pages) == MOST_REDIRECTS or len(page.target) > LONGEST:
                return RedirectChain(self._all(_repeated(pages)), True, start.is_constant)
            seen.add(page)
        if page.status == CYCLE and (cycle := self._cycle(page)):
            return RedirectChain((cycle,), True, start.is_constant)
        return RedirectChain(self._all(pages), False, start.is_constant) if len(pages) > 1 else None

    def _all(self, pages: Sequence[_Page]) -> tuple[Redirect, ...]:
        """Return the redirects of some pages, with their URLs if they are of several sites."""
        doors = {way.door for page in pages for way in (page, page.following) if way is not None}
        if len({door.site for door in doors}) > 1:
            return tuple(self._redirect(page, is_one_site=False) for page in pages)
        for page in pages:
            if page not in self._redirects:
                self._redirects[page] = self._redirect(page, is_one_site=True)
        return tuple(self._redirects[page] for page in pages)

    def _redirect(self, page: _Page, *, is_one_site: bool) -> Redirect:
        assert page.node is not None  # it is redirected
        target = None if page.following is None else page.following.shown(is_one_site)
        return Redirect(*self._nodes.statement(page.node), page.shown(is_one_site), target)

    def _cycle(self, page: _Page) -> Redirect | None:
        """Return the rewrite that changes the URI once more than nginx allows; None if that is not why it fails."""
        form: RequestForm = json.loads(page.door.form)
        steps = self._model.trace({**form, "target": page.target.decode("latin-1")}, WORLD)["steps"]
        located = [place for place, step in enumerate(steps) if step["kind"] == "location"]
        if len(located) < _CHANGES:
            return None
        last = steps[located[_CHANGES - 1] :]
        rewrite = next((step["node"] for step in last if step["kind"] == "rewrite"), None)
        if rewrite is None:
            return None
        uri = quote_from_bytes(last[0]["detail"].encode("latin-1"), safe=_SAFE)
        return Redirect(*self._nodes.statement(rewrite), shorten(uri, _SHOWN), None, is_internal=True)


def _repeated(pages: Sequence[_Page]) -> Sequence[_Page]:
    """Return the pages of a loop that repeat, whatever the arguments; all of them if each has another path."""
    end = pages[-1].following
    assert end is not None  # it leads on
    places = [place for place, page in enumerate(pages) if page.door is end.door and page.path == end.path]
    return pages[places[-1] :] if places else pages
