"""What a client and upstreams see of an outcome.

`ObservedOutcome` is the outcome itself: a response, or a request to an upstream. `Effects` is what else the settings
in force there show: header fields and parameters of a request to an upstream, header fields that nginx adds to a
response, the realm of `auth_basic`, the type of a response.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from posixpath import join, normpath

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.records import record
from nginxopt.request.client import RequestForm
from nginxopt.request.model import Answering, OutcomeForm, PassedForm, SiteModel, World
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import origin, packaged_names
from nginxopt.semantics.site import LoweredSite
from nginxopt.semantics.site.form import SiteForm
from nginxopt.semantics.site.levels import ROWS, latin
from nginxopt.verify.expiry import LASTING, of_answer, of_upstream
from nginxopt.version import Version

_RESPONSES = ("return", "redirect", "error")
_SET_HEADER = {"proxy": "proxy_set_header", "grpc": "grpc_set_header"}
"""The directives that set the header Host, which has the name of the upstream otherwise."""
_PORTS = {"http": ":80", "https": ":443", "grpc": ":80", "grpcs": ":443"}


@record(eq=True)
class ObservedOutcome:
    """What a client and upstreams see of an outcome.

    Attributes:
        response: The response without what nobody sees: whether a `return` or an error produced it, and how the path of
            a file is written.
        host: The header Host of a request to an upstream; None if it is not known, or none is sent.
        server: The upstream or the address that the request is passed on to.
        servers: The addresses behind it.
    """

    response: tuple[object, ...]
    host: str | None = None
    server: str = ""
    servers: frozenset[str] = frozenset()

    @classmethod
    def of(cls, outcome: OutcomeForm, site: LoweredSite) -> ObservedOutcome:
        """Return what is seen of an outcome of a site."""
        headers = sorted((header["name"].lower(), header["value"]) for header in outcome["headers"])
        file = resolved(outcome["file"] or "") if outcome["kind"] == "static" else None
        kind = "response" if outcome["kind"] in _RESPONSES else outcome["kind"]
        passed = outcome["upstream"]
        response = (kind, outcome["status"], outcome["location"], outcome["body"] or None, file, headers)
        if passed is None:
            return cls(response)
        sent = passed["scheme"], passed["method"], passed["target"]
        return cls((*response, *sent), _host(outcome, passed, site), passed["server"], _servers(passed, site.site))

    def differs(self, other: ObservedOutcome) -> bool:
        """Return whether another outcome certainly looks different.

        The names of upstreams do not count if both lead to one server, as no client sees them.
        """
        hosts = {self.host, other.host}
        is_for_another = len(hosts) > 1 and None not in hosts
        return self.response != other.response or is_for_another or self.is_elsewhere(other)

    def certainly_differs(self, other: ObservedOutcome, *, with_headers: bool, with_target: bool) -> bool:
        """Return whether another outcome certainly looks different, although a filter may change the body of either.

        Bodies are not compared, nor a status or a file that is not known; headers are compared only `with_headers`, and
        the targets of redirects only `with_target`.
        """
        kind, status, target, _, file, headers = self.response[:6]
        their_kind, their_status, their_target, _, their_file, their_headers = other.response[:6]
        if kind != their_kind or (None not in (status, their_status) and status != their_status):
            return True
        if with_target and target != their_target:
            return True
        if with_headers and headers != their_headers:
            return True
        sent, their_sent = self.response[6:], other.response[6:]
        hosts = {self.host, other.host}
        return (
            (file != their_file and None not in (file, their_file))
            or sent != their_sent
            or (len(hosts) > 1 and None not in hosts)
            or self.is_elsewhere(other)
        )

    def is_elsewhere(self, other: ObservedOutcome) -> bool:
        """Return whether another outcome leads to other servers."""
        return self.server != other.server and self.servers.isdisjoint(other.servers)


def has_known_headers(outcome: OutcomeForm, site: LoweredSite) -> bool:
    """Return whether everything but the body of a response is known: at most a filter changes that body."""
    unknown, level = outcome["unknown"], outcome["level"]
    levels = site.site["levels"]
    if unknown is None or level is None or level >= len(levels):  # an extra block, as for a file that cannot be opened
        return unknown is None
    filters = levels[level]["filters"]
    return any(each["node"] == unknown["node"] and each["changes"] == "body" for each in filters)


def has_known_target(outcome: OutcomeForm, site: LoweredSite) -> bool:
    """Return whether the target of a redirect is known: filters at most change the body, and headers of other names."""
    unknown, level = outcome["unknown"], outcome["level"]
    levels = site.site["levels"]
    if unknown is None or level is None or level >= len(levels) or outcome["kind"] != "redirect":
        return unknown is None
    filters = levels[level]["filters"]
    is_of_filter = any(each["node"] == unknown["node"] for each in filters)
    return is_of_filter and all(each["changes"] == "body" or _keeps_target(site, each["node"]) for each in filters)


def _keeps_target(site: LoweredSite, node: int) -> bool:
    """Return whether a filter changes the headers that it names, and none of them is the target of a redirect."""
    directive = site.nodes.directive(node)
    if directive is None or directive.name not in _NAMING:
        return False
    names = [str(word).partition(":")[0].strip().lower() for word in directive.args]
    return not any(name.startswith("location") or "*" in name or "$" in name for name in names)


_NAMING = frozenset(["more_set_headers", "more_clear_headers"])
"""Filters of the module headers-more, which change neither the status nor a header that they do not name."""


def real_root(model: SiteModel, outcome: OutcomeForm) -> str | None:
    """Return the folder that `$realpath_root` names in a request to an upstream, with a slash at its end; None if it is
    not sent, or the folder has variables."""
    if outcome["kind"] not in _SENT or outcome["level"] is None:
        return None
    level = model.site.levels[outcome["level"]]
    words = (latin(word) for each in level.setting(_SENT[outcome["kind"]][0]).directives for word in each.args)
    root = level.setting("root")
    if not root.directives or "$" in str(root.value) or not any(map(_REAL_ROOT.search, words)):
        return None
    return resolved(join(model.site.site["build"]["prefix"], latin(str(root.value)), ""))


def resolved(path: str) -> str:
    """Return a path as the operating system resolves it, without `//` and `..`; links are left as they are."""
    slash = "/" if path.endswith("/") else ""
    return normpath(path).replace("//", "/") + slash


def _servers(passed: PassedForm, site: SiteForm) -> frozenset[str]:
    """Return the addresses behind the server of a pass, which is an upstream or an address itself."""
    named = [upstream for upstream in site["upstreams"] if upstream["name"].lower() == passed["server"].lower()]
    servers = named[0]["servers"] if named else [passed["server"]]
    return frozenset(_address(server, passed["scheme"]) for server in servers)


def _address(server: str, scheme: str) -> str:
    """Return an address in the form in which all addresses of the same server are written."""
    host = server.lower().removesuffix(_PORTS.get(scheme, ""))
    return re.sub(r"^localhost(?=:|$)", "127.0.0.1", host)


def _host(outcome: OutcomeForm, passed: PassedForm, site: LoweredSite) -> str | None:
    """Return the header Host of a request to an upstream; None if it is not known."""
    setting = _SET_HEADER.get(outcome["kind"])
    if setting is None:
        return None
    level = site.levels[outcome["level"] or 0]
    stated = level.setting(setting)
    return _stated([directive.args for directive in stated.directives], passed) if stated.known else None


def _stated(headers: Sequence[Sequence[str]], passed: PassedForm) -> str | None:
    """Return the Host that a request to an upstream has with these headers, by default the name of the upstream; None
    if it is not known."""
    values = [value for name, value in headers if name.lower() == "host"]
    if not values:
        return name_of(passed)
    if len(values) > 1 or not values[0]:
        return None
    if values[0] in ("$proxy_host", "${proxy_host}"):
        return name_of(passed)
    return None if "$" in values[0] else values[0].lower()


def name_of(passed: PassedForm) -> str:
    """Return the server of a pass as `$proxy_host` has it, in small letters."""
    return passed["server"].lower().removesuffix(_PORTS.get(passed["scheme"], ""))


_MOST = 40
"""The maximum number of copies of a site."""


class Texts:
    """Evaluates texts with variables in a model, at the time when nginx sends the headers of a response.

    A copy of the site sends the texts as headers, and its answer to the request has their values.
    """

    def __init__(self, model: SiteModel) -> None:
        self._model = model
        self._sites: dict[tuple[int, tuple[str, ...]], Answering | None] = {}

    def values(self, texts: tuple[str, ...], outcome: OutcomeForm, request: str, world: World) -> list[str | None]:
        """Return the values of texts at the level of an outcome of a request; None for one that is not known."""
        if not any("$" in text for text in texts):
            return list(texts)
        level = outcome["level"]
        site = None if level is None else self._site(level, texts)
        if site is None:
            return [text if "$" not in text else None for text in texts]
        again = site(request, world)
        if _place(again) != _place(outcome):
            return [None] * len(texts)
        found = {header["name"]: header["value"][1:] for header in again["headers"]}
        return [found.get(_name(number)) for number in range(len(texts))]

    def _site(self, level: int, texts: tuple[str, ...]) -> Answering | None:
        """Return the site with texts as headers at a level; None beyond the maximum."""
        key = level, texts
        if key not in self._sites:
            self._sites[key] = self._model.with_headers(level, _headers(texts)) if len(self._sites) < _MOST else None
        return self._sites[key]


def _place(outcome: OutcomeForm) -> tuple[object, ...]:
    return outcome["kind"], outcome["level"], outcome["node"], outcome["uri"]


def _headers(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return a header for each text, with `=` before it: nginx does not send a header whose value is empty."""
    return [(_name(number), f"={text}") for number, text in enumerate(texts)]


def _name(number: int) -> str:
    return f"X-{number}"


_SENT = {
    "proxy": ("proxy_set_header", "request header"),
    "grpc": ("grpc_set_header", "request header"),
    "fastcgi": ("fastcgi_param", "parameter"),
    "uwsgi": ("uwsgi_param", "parameter"),
    "scgi": ("scgi_param", "parameter"),
}
"""The directives that set what an upstream receives, and the word for what each sets, by kind of outcome."""

_OF_NGINX = {"content-length", "expect", "keep-alive", "te", "transfer-encoding", "upgrade"}
"""Headers that nginx passes on in its own way, or not at all (`ngx_http_proxy_headers`)."""

_DROPPED = {"expect", "keep-alive", "te", "upgrade"}
"""Those of them that `proxy_pass` drops, unless `proxy_set_header` states them."""

_PASSED = {"authorization", "cookie", "origin", "referer", "user-agent"}
"""Headers that `proxy_pass` passes on as they are, unless `proxy_set_header` states them."""

_PASSED_OTHERWISE = {"CONNECTION", "CONTENT_LENGTH", "CONTENT_TYPE"}
"""Headers that nginx may not pass on as parameters, or with another value."""

_OF_SCGI = {"CONTENT_LENGTH", "SCGI"}
"""Parameters that nginx sends by itself (`ngx_http_scgi_create_request`)."""

_UNNAMED = {"version": "", "body": ""}

_CLOSES = Version(1, 29, 7)
"""The release from which on nginx does not send `Connection: close` to upstreams."""

_SINGLE = ("etag", "last-modified", "location")
"""Headers that a response has once: `add_header` replaces them."""

_LATER = lazy.pattern(r"\$\{?(?:sent_|upstream_|status\b|bytes_sent|body_bytes|request_time|request_completion)")
"""Variables that change their value once the upstream has responded."""

OF_CONNECTIONS = {
    "connection": "7",
    "date_gmt": "Tuesday, 14-Nov-2023 22:13:20 GMT",
    "date_local": "Tuesday, 14-Nov-2023 22:13:20 UTC",
    "hostname": "localhost",
    "msec": "1700000000.000",
    "pid": "7",
    "remote_port": "50000",
    "request_id": "0123456789abcdef0123456789abcdef",
    "time_iso8601": "2023-11-14T22:13:20+00:00",
    "time_local": "14/Nov/2023:22:13:20 +0000",
}
"""Possible values of variables that no request decides."""

_TOKEN = lazy.pattern(r"[a-z0-9-]+", re.ASCII)
_VARIABLES = lazy.pattern(r"\$(?:\w+|\{\w+\})", re.ASCII)

_REAL_ROOT = lazy.pattern(r"\$(?:realpath_root(?!\w)|\{realpath_root\})", re.ASCII)
"""The folder of files without symbolic links; the same as `$document_root` if there are none."""

_ANSWERED = "the upstream answers with status 200"
_ANSWERED_PLAINLY = "the upstream answers with status 200, and without Expires and Cache-Control"
SENDS_HEADER = "the upstream answers with status 200 and this header"
HEADER, SENT = "response header", "x"
"""What an effect on a header of a response is called, and the value of such a header that an upstream sends."""

_NOT_COPIED = {
    "accept-ranges", "cache-control", "connection", "content-encoding", "content-length", "content-range",
    "content-type", "date", "etag", "expires", "keep-alive", "last-modified", "location", "refresh", "server", "status",
    "transfer-encoding", "www-authenticate", "x-pad",
}  # fmt: skip
"""Headers of upstreams that nginx may read, write anew or leave out by itself (`ngx_http_upstream_headers_in`)."""


@record(eq=True)
class Effect:
    """What differs, such as `request header X-Real-IP`, with its values on both sides; no value if it is absent."""

    what: str
    old: tuple[str, ...]
    new: tuple[str, ...]


@record(eq=True)
class _Shown:
    """One sort of effect, such as the headers of a request to an upstream, as the configuration states it.

    Attributes:
        name: What an effect of this sort is called.
        texts: The texts with variables, by header or parameter (headers in lower case). True beside a text: it is not
            sent if its value is empty.
        unread: The files that were not read and may add to them.
        otherwise: Returns the values of a header or parameter that is not stated; None if they are not known.
        needs: What must hold for a difference to show.
        names: The headers and parameters as written, by their keys in `texts`.
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
        """Return the effects of a request that certainly differ, and what must hold for that.

        `text` is the request as JSON. Both outcomes must be of one kind.
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
    """Return a world with the name of the upstream and a possible value of each variable that no request decides."""
    passed = outcome["upstream"]
    named = {} if passed is None or outcome["kind"] != "proxy" else {"proxy_host": name_of(passed)}
    variables = {**OF_CONNECTIONS, **world.variables, **named}
    return replace(world, variables=variables)


def _shown(model: SiteModel, outcome: OutcomeForm, request: RequestForm) -> Iterator[_Shown | None]:
    """Yield each sort of effect, in the same order for outcomes of one kind; None for one that is not known."""
    if outcome["level"] is None:
        return
    level = model.site.levels[outcome["level"]]
    if outcome["kind"] in _SENT:
        yield _sent(model, level, outcome, request)
        yield _version(level) if outcome["kind"] == "proxy" else None
        yield _body(level, request) if outcome["kind"] == "proxy" else None
        is_of_upstream = outcome["status"] is None
        yield _added(model, level, outcome["level"]) if is_of_upstream else None
        yield _lasting(model, level, outcome["level"]) if is_of_upstream else None
        yield _hidden(model, level, outcome) if is_of_upstream and outcome["kind"] != "grpc" else None
    elif outcome["status"] == 401:
        yield _setting(level, "auth_basic", "response header WWW-Authenticate", "realm of")
    filters = model.site.site["levels"][outcome["level"]]["filters"]
    if outcome["kind"] not in (*_RESPONSES, "static") or any(each["changes"] != "body" for each in filters):
        return
    yield _signed(level)
    times = of_answer(outcome, model.site)
    yield None if times is None else _Shown(HEADER, _texts(times), names=LASTING)
    if outcome["status"] == 200 if outcome["kind"] == "static" else _has_text(model, outcome):
        yield _typed(model, level, outcome)
        yield _tagged(level) if outcome["kind"] == "static" and not filters else None


def _sent(model: SiteModel, level: Level, outcome: OutcomeForm, request: RequestForm) -> _Shown | None:
    """Return the headers or parameters that an upstream receives."""
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
        key, value, *rest = (_REAL_ROOT.sub("${document_root}", latin(word)) for word in directive.args)
        names.setdefault(key.lower() if is_http else key, key)
        is_optional = is_http or bool(rest) or (not value and key.startswith("HTTP_"))
        texts.setdefault(key.lower() if is_http else key, []).append((value, is_optional))
    otherwise = _Unstated(level, outcome, {key.lower(): value for key, value in request["headers"]})
    return _Shown(told, texts, tuple(str(each.args[0]) for each in unread), otherwise, None, names)


def _states(unread: Sequence[Directive], name: str) -> bool:
    """Return whether files that come with nginx certainly state a directive."""
    return bool(unread) and all(origin(each) is not None and name in packaged_names(each) for each in unread)


@record(eq=True)
class _Unstated:
    """Tells what an upstream receives as a header or parameter that no directive states; None if that is not known."""

    level: Level
    outcome: OutcomeForm
    headers: Mapping[str, str]

    def __call__(self, name: str) -> tuple[str, ...] | None:
        kind, passed = self.outcome["kind"], self.outcome["upstream"]
        if kind not in ("proxy", "grpc"):
            if name.startswith("HTTP_"):
                return self._of_client(name.removeprefix("HTTP_"))
            return None if kind == "scgi" and name in _OF_SCGI else ()
        if name == "host":
            return None if kind == "grpc" or passed is None else (name_of(passed),)
        if name == "connection":
            return ("close",) if kind == "proxy" and self.level.target < _CLOSES else None
        if kind == "proxy" and name in _DROPPED:
            return ()
        if kind == "proxy" and name in _PASSED and _flag(self.level, "proxy_pass_request_headers", "on") == "on":
            return (self.headers[name],) if name in self.headers else ()
        return None if name in self.headers or (kind != "proxy" and name in _OF_NGINX) else ()

    def _of_client(self, name: str) -> tuple[str, ...] | None:
        """Return the header of the client that nginx passes on as a parameter by itself."""
        is_passed = _flag(self.level, f"{self.outcome['kind']}_pass_request_headers", "on") == "on"
        found = [(key, value) for key, value in self.headers.items() if key.replace("-", "_").upper() == name]
        if name in _PASSED_OTHERWISE or not is_passed or any("_" in key for key, _ in found):
            return None
        return tuple(value for _, value in found)


def _version(level: Level) -> _Shown | None:
    """Return the version of HTTP of a request to an upstream."""
    default = "1.0" if level.target < _CLOSES else "1.1"
    version = _flag(level, "proxy_http_version", default)
    return None if version is None else _Shown("version of HTTP", {"version": [(version, False)]}, names=_UNNAMED)


def _body(level: Level, request: RequestForm) -> _Shown | None:
    """Return the body of the request to an upstream, if the client's request has none."""
    stated = _flag(level, "proxy_set_body", "")
    if stated is None or any(name == "Content-Length" for name, _ in request["headers"]):
        return None
    return _Shown("body of the request", {"body": [(stated, False)]}, names=_UNNAMED)


def _added(model: SiteModel, level: Level, number: int) -> _Shown | None:
    """Return the headers that are added to a response of an upstream with status 200, but those that `expires` sets."""
    stated = _stated_headers(model, level, number)
    if stated is None:
        return None
    texts, names = stated
    return _Shown(HEADER, {key: texts[key] for key in texts.keys() - LASTING}, needs=_ANSWERED, names=names)


def _lasting(model: SiteModel, level: Level, number: int) -> _Shown | None:
    """Return the headers that say how long a response of an upstream lasts."""
    stated, times = _stated_headers(model, level, number), of_upstream(level)
    if stated is None or times is None:
        return None
    texts = {key: [*_texts(times).get(key, ()), *stated[0].get(key, ())] for key in LASTING}
    return _Shown(HEADER, texts, needs=_ANSWERED_PLAINLY, names=LASTING)


def _texts(values: Mapping[str, Sequence[str]]) -> dict[str, list[tuple[str, bool]]]:
    return {key: [(text, False) for text in texts] for key, texts in values.items()}


def _stated_headers(
    model: SiteModel, level: Level, number: int
) -> tuple[dict[str, list[tuple[str, bool]]], dict[str, str]] | None:
    """Return the texts and the names of headers that `add_header` adds; None if they are not known."""
    stated = level.headers("add_header")
    if not stated.known or any(each["changes"] != "body" for each in model.site.site["levels"][number]["filters"]):
        return None
    texts: dict[str, list[tuple[str, bool]]] = {}
    names: dict[str, str] = {}
    for directive in stated.directives:
        key, value, *_ = map(latin, directive.args)
        if key.lower() == "etag" and value:
            names["etag"], texts["etag"] = key, [(value, True)]
        if key.lower() not in _SINGLE:
            names.setdefault(key.lower(), key)
            texts.setdefault(key.lower(), []).append((value, True))
    return texts, names


def _hidden(model: SiteModel, level: Level, outcome: OutcomeForm) -> _Shown | None:
    """Return the headers of an upstream that nginx does not pass on."""
    hides, passes = (level.setting(f"{outcome['kind']}_{name}_header") for name in ("hide", "pass"))
    filters = model.site.site["levels"][outcome["level"] or 0]["filters"]
    is_known = hides.known and passes.known and level.headers("add_header").known
    if not is_known or any(each["changes"] != "body" for each in filters):
        return None
    passed = {latin(each.args[0]).lower() for each in passes.directives}
    names = {latin(each.args[0]).lower(): latin(each.args[0]) for each in hides.directives}
    texts = {name: [("", True)] for name in names if name not in passed and _is_copied(name)}
    return _Shown(HEADER, texts, otherwise=lambda _: (SENT,), needs=SENDS_HEADER, names=names)


def _is_copied(name: str) -> bool:
    return name not in _NOT_COPIED and not name.startswith("x-accel-") and bool(_TOKEN.fullmatch(name))


def _setting(level: Level, name: str, told: str, key: str) -> _Shown | None:
    setting = level.setting(name)
    value = setting.value
    return None if value is None else _Shown(told, {key: [(latin(value), False)]}, names={key: ""})


def _has_text(model: SiteModel, outcome: OutcomeForm) -> bool:
    """Return whether a `return` certainly has a body, also one that a filter changes."""
    directive = None if outcome["node"] is None else model.site.nodes.directive(outcome["node"])
    is_return = outcome["kind"] == "return" and outcome["status"] != 204  # which has no type either
    if not is_return or directive is None or directive.name != "return":
        return False
    return bool(outcome["body"]) or bool(outcome["unknown"] and _VARIABLES.sub("", latin(directive.args[-1])))


def _typed(model: SiteModel, level: Level, outcome: OutcomeForm) -> _Shown | None:
    """Return the type of a response, by the extension of its URI, with its charset."""
    _, mark, extension = outcome["uri"].rpartition("/")[2].rpartition(".")
    types = _types(model.site, outcome["level"]) if mark else {}
    if types is None:
        return None
    stated, charset = level.setting("default_type"), _flag(level, "charset", "off")
    if not stated.known or charset is None or "$" in charset:
        return None
    text = types.get(extension.lower(), latin(stated.value or "text/plain"))
    if charset != "off":
        listed = level.setting("charset_types")
        words = [str(word).lower() for each in listed.directives for word in each.args] or _CHARSET_TYPES
        if not listed.known:
            return None
        text += f"; charset={charset}" if text in (*words, "text/html") or "*" in words else ""
    return _Shown("response header Content-Type", {"type": [(text, False)]}, names={"type": ""})


def _types(site: LoweredSite, level: int | None) -> Mapping[str, str] | None:
    """Return the types in force at a block by extension; None if they are not known, or if a block of them is empty."""
    while level is not None:
        form = site.site["levels"][level]
        rows = form["settings"].get(ROWS)
        if site.levels[level].own(ROWS):
            args = [site.site["directives"][row]["args"] for row in rows or ()]
            return {word.lower(): latin(words[0]) for words in args for word in words[1:]} or None
        if ROWS in form["settings"]:
            return None
        level = form["parent"]
    return _TYPES


def _flag(level: Level, name: str, default: str) -> str | None:
    """Return the word of a setting, or its default; None if it is not known."""
    stated = level.setting(name)
    value = None if stated.value is None else str(stated.value)
    return (value if stated.directives else default) if stated.known else None


def _tagged(level: Level) -> _Shown | None:
    """Return the ETag of a file, the last that `add_header` sets; None if it is not known."""
    flag, added = _flag(level, "etag", "on"), level.headers("add_header")
    if flag is None or not added.known:
        return None
    stated = [latin(each.args[1]) for each in added.directives if each.args[0].lower() == "etag"]
    if stated:
        return _Shown("response header", {"etag": [(stated[-1], True)]}, names=_TAG)
    return _Shown("response header", {"etag": [("of the file", False)]} if flag.lower() == "on" else {}, names=_TAG)


def _signed(level: Level) -> _Shown | None:
    """Return what nginx says of its version."""
    match (_flag(level, "server_tokens", "on") or "").lower():
        case "on":
            text = f"nginx/{level.target}"
        case "off":
            text = "nginx"
        case _:
            return None
    return _Shown("response header", {"server": [(text, False)]}, names={"server": "Server"})


_TAG = {"etag": "ETag"}

_TYPES = {"html": "text/html", "gif": "image/gif", "jpg": "image/jpeg"}
"""The types where none are stated (`ngx_http_core_default_types`)."""

_CHARSET_TYPES = [
    "text/html", "text/xml", "text/plain", "text/vnd.wap.wml", "application/javascript", "application/rss+xml",
]  # fmt: skip
"""The types that have a charset by default (`ngx_http_charset_default_types`)."""
