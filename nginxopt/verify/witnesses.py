"""Searches a request that both sides answer differently: a witness.

Requests come from the regions in which the symbolic executor saw a difference, and from `probes`: rules, rows and
locations that only one side has. Each is put to the models of both sides (`Asking`), under several assumptions about
which files exist. A witness is what these models answer differently, so it never depends on how it was found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import islice

from nginxopt import lazy
from nginxopt.request.client import RequestForm
from nginxopt.request.model import OutcomeForm, SiteModel, TraceForm, World, shown
from nginxopt.semantics import Level
from nginxopt.verify.canonical import clients
from nginxopt.verify.hosts import EVERYWHERE, ListenAddress
from nginxopt.verify.observation import (
    HEADER,
    OF_CONNECTIONS,
    SENDS_HEADER,
    Effect,
    Effects,
    ObservedOutcome,
    has_known_headers,
    has_known_target,
    real_root,
    resolved,
)
from nginxopt.verify.path_condition import Candidate, example, with_value
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.symbols import URI, Variable, pieces
from nginxopt.verify.verdict import RequestWitness

MOST = 500
"""The maximum number of probes."""

_MOST_GUARDS = 16
"""The maximum number of guards, and of variables that get a value."""

_OF_REQUEST = lazy.pattern(r"\$\{?((?:arg|cookie|http)_(?!host\b)[A-Za-z0-9_]+)", re.ASCII)
"""An argument, a cookie or a header of a request."""

_Thing = tuple[str, ...]
"""What requests are made for: a location, the pattern of a rewrite, a condition, a row of a map or a referrer, with its
words."""


def probes(old: VerifiedSide, new: VerifiedSide) -> Iterator[Candidate]:
    """Yield requests without a host for the locations, rules and rows that only one side has."""
    mine, theirs = set(_things(old)), set(_things(new))
    only = [thing for thing in (*_things(old), *_things(new)) if (thing in mine) != (thing in theirs)]
    return islice((probe for thing in dict.fromkeys(only) for probe in _of(thing)), MOST)


def guards(old: VerifiedSide, new: VerifiedSide) -> tuple[Candidate, ...]:
    """Return requests for `/` with what conditions and maps ask for, and one with a value of each argument, cookie and
    header that is read, or that is not passed on.

    A script that both sides have may answer a request before it reaches a difference, such as one for maintenance or
    for requests without TLS. With what a guard has, the request may pass that script (`guarded`).
    """
    things = [thing for side in (old, new) for thing in _things(side) if thing[0] in ("condition", "row", "referrer")]
    found = [replace(probe, path=b"/", host=None) for thing in dict.fromkeys(things) for probe in _of(thing)]
    plain = Candidate()
    asked = [each for each in dict.fromkeys(found) if each != plain][:_MOST_GUARDS]
    words = {word for side in (old, new) for text in _texts(side) for word in _OF_REQUEST.findall(text)}
    words.update(name for side in (old, new) for name in _withheld(side))
    named = plain
    for word in sorted(words)[:_MOST_GUARDS]:
        named = with_value(named, word.lower(), f"v-{word[-8:]}".encode())
    return tuple(asked if named == plain else [*asked, named])


def _withheld(side: VerifiedSide) -> Iterator[str]:
    """Yield the variables of headers that `proxy_set_header` does not let pass."""
    for level in side.site.levels:
        for name, value in (map(str, directive.args) for directive in level.own("proxy_set_header")):
            if not value:
                yield f"http_{name.lower().replace('-', '_')}"


def _texts(side: VerifiedSide) -> Iterator[str]:
    """Yield the words of settings, scripts and rows."""
    for level in side.site.levels:
        yield from (word for directive in level.directives for word in directive.args)
    for form in side.definitions.values():
        if form["kind"] != "opaque":
            yield form["source"] or ""
            yield from (word for row in form["rows"] for word in row["args"])


def joined(request: Candidate, guard: Candidate) -> Candidate:
    """Return a request with the arguments of a guard as well, and with its headers, method, client and TLS where the
    request has none of its own."""
    known = {name.lower() for name, _ in request.headers}
    more = tuple(each for each in guard.headers if each[0].lower() not in known)
    args = [each for each in (request.args, guard.args) if each is not None]
    plain = Candidate()
    return replace(
        request,
        args=b"&".join(args) if args else None,
        headers=(*request.headers, *more),
        method=guard.method if request.method == plain.method else request.method,
        client=guard.client if request.client == plain.client else request.client,
        is_tls=guard.is_tls if request.is_tls is None else request.is_tls,
    )


def guarded(request: Candidate, guards: Sequence[Candidate]) -> Iterator[Candidate]:
    """Yield a request with each guard, and with all of them."""
    every = reduce(joined, guards, request)
    requests = (*(joined(request, guard) for guard in guards), every)
    yield from (each for each in dict.fromkeys(requests) if each != request)


def showing(request: Candidate, names: Collection[str], sizes: Sequence[int]) -> Iterator[Candidate]:
    """Yield variants of a request that may show a difference in settings with these names. `sizes` are the limits that
    these state: sizes of buffers in bytes, or numbers of headers."""
    if "merge_slashes" in names:
        yield replace(request, path=b"/" + request.path)
    for name, header in (("underscores_in_headers", b"a_b"), ("ignore_invalid_headers", b"a.b")):
        if name in names:
            yield replace(request, headers=(*request.headers, (header, b"x")))
    if not _BUFFERS.isdisjoint(names):
        yield from (replace(request, path=request.path + b"a" * size) for size in sizes if size <= _LONGEST_URI)
    if "max_headers" in names:
        more = ((b"x-%d" % number, b"x") for number in range(_LONGEST_URI))
        yield from (replace(request, headers=(*request.headers, *islice(more, size))) for size in sizes[:1])
    if not _WRITING.isdisjoint(names):
        yield from (replace(request, method=method) for method in (b"PUT", b"DELETE", b"MKCOL"))
    if not _LEADING.isdisjoint(names) and request.args is None:
        paths = [request.path, request.path + b"x"] if request.path.endswith(b"/") else [request.path]
        yield from (replace(request, path=path, args=b"a=b") for path in paths)  # a target may drop arguments
    if "try_files" in names:
        yield replace(request, method=b"PUT")  # refused for a missing file, too, unless `try_files` looks for it
    if "fastcgi_split_path_info" in names:
        yield from (replace(request, path=request.path + end) for end in (b"/", b"/x"))
    if not _AT_ERRORS.isdisjoint(names):
        yield replace(request, headers=(*request.headers, (b"Content-Length", b"x")))


_BUFFERS = frozenset(["client_header_buffer_size", "large_client_header_buffers"])
HEAD_LIMITS = _BUFFERS | {"max_headers"}
"""The directives that limit the head of a request."""

_LEADING = frozenset(["error_page", "try_files"])
"""The directives that lead to a URI with arguments of its own."""

_WRITING = frozenset(["dav_methods", "create_full_put_path", "min_delete_depth"])
_AT_ERRORS = frozenset(["add_header", "charset", "error_page", "server_tokens"])
"""The directives that show in the response to a request that nginx refuses as it reads its headers."""

_LONGEST_URI = 1 << 16


def of_locations(old: VerifiedSide, new: VerifiedSide) -> Iterator[Candidate]:
    """Yield a request for `/`, and one for each location of a side and each path in a condition, without a host."""
    plain = Candidate()
    yield plain
    things = (thing for side in (old, new) for thing in _things(side) if thing[0] in ("location", "condition"))
    for thing in islice(dict.fromkeys(things), MOST):
        yield from (each for each in islice(_of(thing), 1) if thing[0] == "location" or each.path != plain.path)


def _things(side: VerifiedSide) -> Iterator[_Thing]:
    """Yield the locations, rules and rows of a side."""
    for number, level in enumerate(side.form["levels"]):
        if level["kind"] == "location":
            name = side.location_name(number)
            yield "location", name.modifier, name.text.decode("latin-1")
        for statement in side.script(number):
            if statement["kind"] == "rewrite":
                yield "pattern", statement["pattern"], statement["replacement"], statement["flag"] or ""
            elif statement["kind"] == "if":
                yield "condition", *statement["condition"]
    for variable, form in side.definitions.items():
        if form["kind"] in ("map", "geo"):
            for row in form["rows"]:
                yield "row", variable, form["source"] or "$remote_addr", *row["args"]
    words = {str(word) for level in side.site.levels for each in level.own("valid_referers") for word in each.args}
    named = [name["text"] for server in side.form["servers"] for name in server["names"]]
    for word in sorted({*words, *(named if "server_names" in words else [])}):
        yield "referrer", word
    if words:
        yield "referrer", "other.invalid"


def _of(thing: _Thing) -> Iterator[Candidate]:
    """Yield requests for a location, rule or row."""
    match thing:
        case ("location", "~", pattern):
            yield from _matching(URI, pattern)
        case ("location", _, path) if path.startswith("/"):
            for end in ("", "x", "/x.html", "index.php"):
                yield Candidate(path=(path + end).encode("latin-1"))
            yield Candidate(path=path.rstrip("/").encode("latin-1") or b"/")
        case ("pattern", pattern, *_):
            yield from _matching(URI, pattern)
        case ("condition", subject, "~" | "~*" | "!~" | "!~*" as test, pattern):
            yield from _valued(subject, ("(?i)" if test.endswith("*") else "") + pattern)
        case ("condition", subject, "=" | "!=", value):
            yield from _with(subject, value.encode("latin-1"))
        case ("referrer", word):
            for referrer in _referring(word):
                yield from _with("$http_referer", referrer)
        case ("row", _, source, key, _):
            if source == "$remote_addr" and (found := [*clients([key])]):
                yield from _with(source, found[0].encode())
            elif key.startswith("~"):
                yield from _valued(source, ("(?i)" + key[2:]) if key.startswith("~*") else key[1:])
            else:
                for value in _named(key):
                    yield from _with(source, value.encode("latin-1"))


def _referring(word: str) -> Iterator[bytes]:
    """Yield headers `Referer` that a word of `valid_referers` may be about."""
    if word == "blocked":
        yield b"x"
    elif word.startswith("~"):
        end = example((b"(?i)" + word[1:].encode("latin-1", "replace"),), (), Variable("http_referer"))
        yield b"https://" + (end or b"")
    elif word not in ("", "none", "server_names"):
        host, slash, path = word.partition("/")
        yield from (f"http://{name}{slash or '/'}{path}".encode("latin-1", "replace") for name in _named(host))


def _named(key: str) -> tuple[str, ...]:
    """Return values that a key of a map stands for, which may be a host name with a wildcard (`hostnames`)."""
    if key.startswith("."):
        return key[1:], f"x{key}"
    if key.startswith("*."):
        return f"x{key[1:]}", key[2:]
    return (f"{key[:-1]}invalid",) if key.endswith(".*") else (key.removeprefix("\\"),)


def _valued(subject: str, pattern: str) -> Iterator[Candidate]:
    names = pieces(subject.encode("latin-1"))
    if len(names) == 1 and isinstance(names[0], str):
        yield from _matching(names[0], pattern)


def _matching(name: str, pattern: str) -> Iterator[Candidate]:
    value = example((pattern.encode("latin-1"),), (), Variable(URI if name == "request_uri" else name))
    if value is not None:
        yield from _with(f"${name}", value)


def _with(subject: str, value: bytes) -> Iterator[Candidate]:
    names = pieces(subject.encode("latin-1"))
    if len(names) == 1 and isinstance(names[0], str):
        yield with_value(Candidate(), names[0], value)


_Difference = tuple[World, tuple[Effect, ...], tuple[str, ...]]
"""A world in which a request is answered differently, what differs besides the outcomes, and what else must hold."""

_REFUSED: TraceForm = {
    "outcome": {
        "kind": "refused", "status": None, "location": None, "body": None, "uri": "", "args": "", "server": None,
        "level": None, "node": None, "file": None, "upstream": None, "headers": [], "unknown": None,
    },
    "steps": [],
}  # fmt: skip
"""What becomes of a request where nothing listens."""

_MOST_FAILING = 8
"""The maximum number of files that are tried as if nginx could not open them: each takes a model of its own."""


class Asking:
    """Tries requests on the models of both sides, which get the same answers about the world.

    If an outcome depends on whether a file exists, the model asks. So each request is tried again with the answers to
    what was asked, until nothing more is asked (`_settled`), and that with several sets of files that exist (`_found`).

    `is_down`: whether the models are those without upstreams. `fails`: whether they cannot open the requested file.
    `defined`: the values of variables that no file that was read defines.
    """

    def __init__(
        self,
        old: SiteModel,
        new: SiteModel,
        *,
        is_down: bool = False,
        fails: bool = False,
        defined: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._defined, self._values = defined, {**OF_CONNECTIONS, **dict(defined)}
        self._is_down, self._fails = is_down or fails, fails
        self._has_passed = False
        self._asked_apart: set[str] = set()
        self._accel: str | None = None
        self._served: tuple[OutcomeForm, OutcomeForm] | None = None
        self._failed: set[tuple[object, ...]] = set()
        self._models = (old, new)
        self._effects = Effects(old, new)
        self._alike: set[str] = set()
        self.tried = 0

    def witness(self, request: RequestForm) -> RequestWitness | None:
        """Return a request with both outcomes if they differ; None if they are alike or not known.

        If they depend on files, the request is tried without these files, with all of them, with those that settings
        name, with folders alone, with one index alone, and with those that one side looks for; if it is passed on
        alike, also as if no upstream answered.
        """
        text = json.dumps(request)
        if text in self._alike:
            return None
        self.tried += 1
        self._has_passed, self._served = False, None
        found = self._found(request, text)
        if found is None and self._has_passed and self._without_upstreams is not None:
            found = self._without_upstreams._found(request, text)
            if found is not None:
                found = replace(found, premises=(*found.premises, "no upstream answers"), is_answered=False)
        if found is None and self._served is not None:
            found = self._failing(request, text, *self._served)
        if found is None:
            self._alike.add(text)
        return found

    def may_accelerate(self, request: RequestForm) -> bool:
        """Return whether both sides pass a request on, and follow `X-Accel-Redirect` in the answer, without files."""
        outcomes = self._settled(json.dumps(request), lambda _: False, set())[1]
        levels = (model.site.levels[each["level"] or 0] for model, each in zip(self._models, outcomes, strict=True))
        return all(
            each["kind"] in _ACCELERATED and _follows(level, each["kind"])
            for each, level in zip(outcomes, levels, strict=True)
        )

    def accelerated(self, request: RequestForm, target: str) -> RequestWitness | None:
        """Return what `witness` does for a request whose upstream answers with an `X-Accel-Redirect`."""
        self.tried += 1
        self._accel = target
        try:
            found = self._found(request, json.dumps(request))
        finally:
            self._accel = None
        premise = f"the upstream of this request answers with X-Accel-Redirect: {shown(target)}"
        return found and replace(found, premises=(premise, *found.premises), accel=target)

    def _failing(
        self, request: RequestForm, text: str, mine: OutcomeForm, theirs: OutcomeForm
    ) -> RequestWitness | None:
        """Return a witness if nginx cannot open the file that a request is for, where error pages differ."""
        places = mine["level"], theirs["level"]
        if places in self._failed or len(self._failed) >= _MOST_FAILING:
            return None
        self._failed.add(places)
        old, new = (
            model.failing(outcome["level"] or 0, outcome["uri"])
            for model, outcome in zip(self._models, (mine, theirs), strict=True)
        )
        found = Asking(old, new, fails=True, defined=self._defined)._found(request, text)
        path = shown(mine["file"] or "")
        return found and replace(
            found, premises=(*found.premises, f"{path} cannot be opened, as it is a socket"), failing=mine["file"]
        )

    def _may_fail(self, mine: OutcomeForm, theirs: OutcomeForm, request: RequestForm) -> bool:
        """Return whether both sides serve the file that a request is for, and have other error pages."""
        kinds, files = {mine["kind"], theirs["kind"]}, {mine["file"], theirs["file"]}
        if kinds != {"static"} or len(files) > 1 or mine["uri"] != request["target"] or "$" in mine["uri"]:
            return False
        levels = [
            model.site.levels[each["level"] or 0] for model, each in zip(self._models, (mine, theirs), strict=True)
        ]
        pages = [[(*page.args,) for page in level.setting("error_page").directives] for level in levels]
        return pages[0] != pages[1]

    def _found(self, request: RequestForm, text: str) -> RequestWitness | None:
        worlds: list[Callable[[str], bool]] = [lambda _: False, lambda _: True, self._is_named]
        worlds += [_is_folder, *(partial(_is_alone, name) for name in self._indexes)]
        worlds += [self._asked_apart.__contains__]
        self._asked_apart.clear()
        folders: set[str] = set()
        tried = [(exists, set[str]()) for exists in worlds]
        for exists, paths in [*tried, (_is_folder, folders)] if self._try_unlike_folders else tried:
            found = self._telling(request, text, exists, paths)
            if found is not None:
                world, effects, premises = found
                world, (old, new) = self._with_real_roots(request, world)
                sent = tuple(each.what.removeprefix(f"{HEADER} ") for each in effects if SENDS_HEADER in premises)
                return RequestWitness(request, old, new, world.existing, world.missing, effects, premises, sent)
            if not paths:
                break
            folders |= {f"{path}/" for path in paths if not path.endswith("/")}
        return None

    def _with_real_roots(self, request: RequestForm, world: World) -> tuple[World, tuple[TraceForm, TraceForm]]:
        """Return a world with both traces of a request, in which the folders exist that `$realpath_root` names, as far
        as that changes nothing else: nginx answers with 500 if one of them is missing."""
        old, new = (model.trace(request, world) for model in self._models)
        named = zip(self._models, (old, new), strict=True)
        folders = {path for model, trace in named if (path := real_root(model, trace["outcome"])) is not None}
        more = world.with_files(sorted(folders.difference(world.existing)), ())
        before, after = (model.trace(request, more) for model in self._models) if folders else (old, new)
        is_same = before["outcome"] == old["outcome"] and after["outcome"] == new["outcome"]
        return (more, (before, after)) if is_same and folders.isdisjoint(world.missing) else (world, (old, new))

    @cached_property
    def _without_upstreams(self) -> Asking | None:
        """The same models as if no upstream answered; None if these are."""
        if self._is_down:
            return None
        old, new = self._models
        return Asking(old.without_upstreams(), new.without_upstreams(), is_down=True, defined=self._defined)

    def alone(self, request: RequestForm, number: int, premises: tuple[str, ...]) -> RequestWitness | None:
        """Return a request that only the side with this number answers, if its answer is known; the other side does not
        listen at the address of the request."""
        self.tried += 1
        text, paths = json.dumps(request), set[str]()
        for _ in range(_MOST_FILES):
            world = World(existing=tuple(sorted(paths)), variables=self._values)
            model = self._models[number]
            [answer] = model.native.answers([text], json.dumps(model.world_of(request, world).form()))
            outcome: OutcomeForm = json.loads(answer)
            asked = _file(outcome)
            if outcome["kind"] != "unknown":
                traces = [self._models[number].trace(request, world), _REFUSED]
                old, new = traces if number == 0 else reversed(traces)
                return RequestWitness(request, old, new, world.existing, world.missing, (), premises)
            if asked is None or asked in paths:
                break
            paths.add(asked)
        return None

    def _telling(
        self, request: RequestForm, text: str, exists: Callable[[str], bool], paths: set[str]
    ) -> _Difference | None:
        """Return a world in which a request is answered differently, with those files that `exists` picks; None if the
        answers are alike or not known.

        Adds to `paths` the files that the outcomes depend on.
        """
        world, (mine, theirs) = self._settled(text, exists, paths)
        if "unknown" in (mine["kind"], theirs["kind"]):
            return None
        is_passed = mine["upstream"] is not None or theirs["upstream"] is not None
        if is_passed and self._is_down:
            return None
        if self._differ(mine, theirs):
            return world, (), ()
        if self._fails:
            return None
        self._has_passed |= is_passed
        if not self._is_down and self._may_fail(mine, theirs, request):
            self._served = mine, theirs
        effects, premises = self._effects.unlike(request, text, world, (mine, theirs))
        return (world, effects, premises) if effects else None

    def _settled(
        self, text: str, exists: Callable[[str], bool], paths: set[str]
    ) -> tuple[World, tuple[OutcomeForm, OutcomeForm]]:
        """Return a world with those files that `exists` picks, and the outcomes in it, which are unknown if they depend
        on more than `_MOST_FILES` files in turn. Adds to `paths` the files that they depend on."""
        for _ in range(_MOST_FILES):
            existing = tuple(sorted(filter(exists, paths)))
            missing = tuple(sorted(paths.difference(existing)))
            world = World(existing=existing, missing=missing, variables=self._values, accel=self._accel)
            outcomes = self._outcomes(text, world)
            asked = [path for outcome in outcomes if (path := _file(outcome)) is not None]
            more = {*asked} - paths
            if not more:
                break
            self._asked_apart |= more if len(more) > 1 or len(asked) < 2 else set()
            paths |= more
        return world, outcomes

    def _outcomes(self, request: str, world: World) -> tuple[OutcomeForm, OutcomeForm]:
        shared = json.dumps(world.form())
        found = ((model, model.world_of(request, world)) for model in self._models)
        mine, theirs = (
            json.loads(model.native.answers([request], shared if own is world else json.dumps(own.form()))[0])
            for model, own in found
        )
        return mine, theirs

    def _differ(self, old: OutcomeForm, new: OutcomeForm) -> bool:
        mine, theirs = (
            ObservedOutcome.of(outcome, model.site) for outcome, model in zip((old, new), self._models, strict=True)
        )
        if old["unknown"] is None and new["unknown"] is None:
            return mine.differs(theirs)
        sides = [(outcome, model.site) for outcome, model in zip((old, new), self._models, strict=True)]
        with_headers, with_target = (
            all(test(*side) for side in sides) for test in (has_known_headers, has_known_target)
        )
        return mine.certainly_differs(theirs, with_headers=with_headers, with_target=with_target)

    def _is_named(self, path: str) -> bool:
        """Return whether a file is that of an error page or a fallback."""
        return path.endswith(self._named)

    @cached_property
    def _named(self) -> tuple[str, ...]:
        words = self._words("error_page", "try_files")
        return tuple(word for word in words if word.startswith("/") and "$" not in word)

    @cached_property
    def _try_unlike_folders(self) -> bool:
        """Whether the sides try other folders (`$uri/`), so that each path may be that of a folder, and no file."""
        tried = (
            [word for level in model.site.levels for each in level.own("try_files") for word in each.args[:-1]]
            for model in self._models
        )
        old, new = (sorted(filter(_is_folder, words)) for words in tried)
        return old != new

    @cached_property
    def _indexes(self) -> tuple[str, ...]:
        """The names that an index of a folder may have, if there are several."""
        names = sorted(word for word in {*self._words("index"), "index.html"} if "/" not in word and "$" not in word)
        return tuple(names[:_MOST_INDEXES]) if len(names) > 1 else ()

    def _words(self, *names: str) -> set[str]:
        """Return the words of settings on both sides."""
        return {
            word
            for model in self._models
            for level in model.site.site["levels"]
            for name in names
            for directive in level["settings"].get(name) or ()
            for word in model.site.site["directives"][directive]["args"]
        }


def _follows(level: Level, kind: str) -> bool:
    """Return whether an upstream may lead nginx from a block to another location."""
    ignored = level.setting(f"{kind}_ignore_headers")
    words = {str(word).lower() for each in ignored.directives for word in each.args}
    return ignored.known and "x-accel-redirect" not in words


_ACCELERATED = frozenset(["proxy", "fastcgi", "uwsgi", "scgi"])
"""The protocols in which an upstream answers with headers, except gRPC, which the echo servers do not speak."""


def _is_folder(path: str) -> bool:
    return path.endswith("/")


def _is_alone(index: str, path: str) -> bool:
    """Return whether a path is that of an index, or of a folder."""
    return path.endswith(("/", f"/{index}"))


def _file(outcome: OutcomeForm) -> str | None:
    """Return the file whose existence an outcome depends on, as worlds name it."""
    unknown = outcome["unknown"]
    question = None if unknown is None else unknown["question"]
    path = None if question is None else question.get("path")
    return None if path is None else resolved(path)


_MOST_FILES = 16
"""How many times a request is tried again as its outcome depends on one more file."""

_MOST_INDEXES = 4


def request_of(candidate: Candidate, address: ListenAddress, *, is_tls: bool) -> RequestForm:
    """Return the request of a candidate at an address."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in candidate.headers]
    headers += [] if candidate.size is None else [("Content-Length", str(candidate.size))]
    named = candidate.host is not None
    return {
        "method": candidate.method.decode("latin-1"),
        "target": candidate.target.decode("latin-1"),
        "version": (1, 1) if named else (1, 0),
        "headers": ([("Host", candidate.host)] if candidate.host is not None else []) + headers,
        "connection": {
            "family": address.family,
            "host": EVERYWHERE.get(address.host, address.host),
            "port": address.port,
            "tls": is_tls,
            "quic": address.quic,
            "protocol": (3, 0) if address.quic else None,
            "sni": candidate.host if is_tls else None,
            "client": candidate.client,
        },
    }
