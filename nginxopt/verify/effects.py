"""What upstreams and clients see of the settings in force where an outcome is, besides the outcome itself.

That are the header fields and parameters of a request to an upstream, the header fields that nginx adds to the response
of an upstream, the realm of `auth_basic`, and the type of a response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.records import record
from nginxopt.request.connection import RequestForm
from nginxopt.request.model import SiteModel
from nginxopt.request.outcomes import OutcomeForm
from nginxopt.request.world import World
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import origin, packaged_names
from nginxopt.semantics.site.script import latin
from nginxopt.verify.observation import name_of
from nginxopt.verify.texts import Texts
from nginxopt.version import Version

_SENT = {
    "proxy": ("proxy_set_header", "request header"),
    "grpc": ("grpc_set_header", "request header"),
    "fastcgi": ("fastcgi_param", "parameter"),
    "uwsgi": ("uwsgi_param", "parameter"),
    "scgi": ("scgi_param", "parameter"),
}
"""The directives that say what an upstream gets, with what it gets of each, by kinds of outcomes."""

_OF_NGINX = {"content-length", "expect", "keep-alive", "te", "transfer-encoding", "upgrade"}
"""Headers that nginx passes on in its own way, or not at all (`ngx_http_proxy_headers`)."""

_CLOSES = Version(1, 29, 7)
"""The release from which on nginx does not send `Connection: close` to upstreams."""

_SINGLE = ("etag", "last-modified", "location")
"""Headers of which a response has one, which `add_header` replaces."""

_LATER = lazy.pattern(r"\$\{?(?:sent_|upstream_|status\b|bytes_sent|body_bytes|request_time|request_completion)")
"""Variables with another value after the response of the upstream than before."""

_ANSWERED = "the upstream answers with status 200"


@record(eq=True)
class Effect:
    """What differs, such as `request header X-Real-IP`, with the values on both sides; none if it is not there."""

    what: str
    old: tuple[str, ...]
    new: tuple[str, ...]


@record(eq=True)
class _Shown:
    """The texts of what is seen.

    Attributes:
        texts: By what is seen, in lower case; a text that counts only if it is not empty comes with true.
        unread: The files that were not read and may add to each.
        otherwise: The values of what is not stated; None if they are not known.
        name: How what is seen is called.
    """

    name: str
    texts: Mapping[str, Sequence[tuple[str, bool]]]
    unread: tuple[str, ...] = ()
    otherwise: Callable[[str], tuple[str, ...] | None] = field(default=lambda _: ())
    needs: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)


class Effects:
    """Compares what is seen of outcomes of both sides."""

    def __init__(self, old: SiteModel, new: SiteModel) -> None:
        self._models = (old, new)
        self._texts = (Texts(old), Texts(new))

    def unlike(
        self, request: RequestForm, text: str, world: World, outcomes: tuple[OutcomeForm, OutcomeForm]
    ) -> tuple[tuple[Effect, ...], tuple[str, ...]]:
        """Return what certainly differs, and what has to be so for it, for a request with its text as JSON.

        The outcomes have to be of one kind.
        """
        sides = [list(_shown(model, outcome, request)) for model, outcome in zip(self._models, outcomes, strict=True)]
        for mine, theirs in zip(*sides, strict=False):
            if mine is None or theirs is None or mine.unread != theirs.unread:
                continue
            found = self._compared((mine, theirs), text, world, outcomes)
            if found:
                return found, () if mine.needs is None else (mine.needs,)
        return (), ()

    def _compared(
        self, shown: tuple[_Shown, _Shown], text: str, world: World, outcomes: tuple[OutcomeForm, OutcomeForm]
    ) -> tuple[Effect, ...]:
        mine, theirs = shown
        is_constant = not any("$" in word for side in shown for texts in side.texts.values() for word, _ in texts)
        if is_constant and mine.texts == theirs.texts:
            return ()
        values = [
            self._values(number, each, text, world, outcome)
            for number, (each, outcome) in enumerate(zip(shown, outcomes, strict=True))
        ]
        found = []
        for name in dict.fromkeys((*mine.texts, *theirs.texts)):
            old, new = (
                side[name] if name in side else each.otherwise(name) for side, each in zip(values, shown, strict=True)
            )
            if old is not None and new is not None and sorted(old) != sorted(new):
                told = mine.names.get(name) or theirs.names.get(name, name)
                found.append(Effect(f"{mine.name} {told}".strip(), old, new))
        return tuple(found)

    def _values(
        self, side: int, shown: _Shown, text: str, world: World, outcome: OutcomeForm
    ) -> dict[str, tuple[str, ...] | None]:
        """Return the values of what a side states; None for those that are not known."""
        words = tuple(dict.fromkeys(word for texts in shown.texts.values() for word, _ in texts))
        known = dict(
            zip(words, self._texts[side].values(words, outcome, text, _with_names(world, outcome)), strict=True)
        )
        values: dict[str, tuple[str, ...] | None] = {}
        for name, texts in shown.texts.items():
            found = [None if _LATER.search(word) else known[word] for word, _ in texts]
            is_known = all(value is not None for value in found)
            pairs = zip(found, texts, strict=True)
            values[name] = (
                tuple(value for value, (_, is_optional) in pairs if value or (value == "" and not is_optional))
                if is_known
                else None
            )
        return values


def _with_names(world: World, outcome: OutcomeForm) -> World:
    """Return a world in which the name of the upstream is known."""
    passed = outcome["upstream"]
    if passed is None or outcome["kind"] != "proxy":
        return world
    return World(
        world.existing, world.missing, {**world.variables, "proxy_host": name_of(passed)}, world.listed, world.root
    )


def _shown(model: SiteModel, outcome: OutcomeForm, request: RequestForm) -> Iterator[_Shown | None]:
    """Yield what is seen, in the same order for outcomes of one kind; None for what is not known."""
    if outcome["level"] is None:
        return
    level = model.site.levels[outcome["level"]]
    if outcome["kind"] in _SENT:
        yield _sent(model, level, outcome, request)
        yield _added(model, level, outcome["level"]) if outcome["status"] is None else None
    elif outcome["status"] == 401:
        yield _setting(level, "auth_basic", "response header WWW-Authenticate", "realm of")
    elif outcome["kind"] in ("static", "return") and outcome["status"] == 200:
        yield _typed(level, outcome)


def _sent(model: SiteModel, level: Level, outcome: OutcomeForm, request: RequestForm) -> _Shown | None:
    """Return what the upstream gets."""
    name, told = _SENT[outcome["kind"]]
    setting = level.setting(name)
    at = setting.level or level
    unread = () if setting.known else tuple(each for each in at.own("include") if model.site.nodes.is_missing(each))
    if not setting.known and not setting.directives and not _states(unread, name):
        return None
    texts: dict[str, list[tuple[str, bool]]] = {}
    names: dict[str, str] = {}
    is_http = told == "request header"
    for directive in setting.directives:
        key, value, *rest = map(latin, directive.args)
        names.setdefault(key.lower() if is_http else key, key)
        texts.setdefault(key.lower() if is_http else key, []).append((value, is_http or bool(rest)))
    otherwise = _Unstated(level, outcome, {key.lower(): value for key, value in request["headers"]})
    return _Shown(told, texts, tuple(str(each.args[0]) for each in unread), otherwise, None, names)


def _states(unread: Sequence[Directive], name: str) -> bool:
    """Return whether files that come with nginx certainly state a directive."""
    return bool(unread) and all(origin(each) is not None and name in packaged_names(each) for each in unread)


@record(eq=True)
class _Unstated:
    """What an upstream gets of what is not stated."""

    level: Level
    outcome: OutcomeForm
    headers: Mapping[str, str]

    def __call__(self, name: str) -> tuple[str, ...] | None:
        kind, passed = self.outcome["kind"], self.outcome["upstream"]
        if kind not in ("proxy", "grpc"):
            is_of_client = name.startswith("HTTP_") or name == "CONTENT_LENGTH"
            return None if is_of_client else ()
        if name == "host":
            return None if kind == "grpc" or passed is None else (name_of(passed),)
        if name == "connection":
            return ("close",) if kind == "proxy" and self.level.target < _CLOSES else None
        if name in self.headers:
            return None
        return () if kind == "proxy" or name not in _OF_NGINX else None


def _added(model: SiteModel, level: Level, number: int) -> _Shown | None:
    """Return the headers that are added to a response of an upstream with status 200."""
    stated = level.headers("add_header")
    if not stated.known or any(each["changes"] != "body" for each in model.site.site["levels"][number]["filters"]):
        return None
    texts: dict[str, list[tuple[str, bool]]] = {}
    names: dict[str, str] = {}
    for directive in stated.directives:
        key, value, *_ = map(latin, directive.args)
        if key.lower() not in _SINGLE:
            names.setdefault(key.lower(), key)
            texts.setdefault(key.lower(), []).append((value, True))
    return _Shown("response header", texts, needs=_ANSWERED, names=names)


def _setting(level: Level, name: str, told: str, key: str) -> _Shown | None:
    setting = level.setting(name)
    value = setting.value
    return None if value is None else _Shown(told, {key: [(latin(value), False)]}, names={key: ""})


def _typed(level: Level, outcome: OutcomeForm) -> _Shown | None:
    """Return the type of a response to a URI without an extension."""
    if "." in outcome["uri"].rpartition("/")[2] or (outcome["kind"] == "return" and not outcome["body"]):
        return None
    return _setting(level, "default_type", "response header Content-Type", "type")
