"""Requests whose length is certainly not that of their body, each with a request of a client that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from nginxopt.facts import script
from nginxopt.lint.diagnostic import Sign, Witness
from nginxopt.lint.queries import access
from nginxopt.lint.queries.framing import Subrequest, subrequests
from nginxopt.lint.queries.lengths import LengthFault, LengthMismatch, mismatch
from nginxopt.lint.queries.model import Model
from nginxopt.lint.queries.reaching import reaching
from nginxopt.lint.queries.requests import AskedRequest, ModelAnswer
from nginxopt.semantics import Level, Pass, values
from nginxopt.text import encode

_ECHO = Sign(unasked="an echo stands for its upstream")
_CERTAIN = ("auth_request", "mirror")
"""The directives that make their subrequests whatever the response is."""
_LEAVING = (script() - {"break", "set"}) | {"try_files"}
"""The directives by which a request may leave a location before it is passed on."""


class Misframed(NamedTuple):
    """A pass that sends such requests, those of clients or subrequests, and a request of a client that shows it."""

    pass_: Pass
    wrong: LengthMismatch
    witness: Witness


def misframed(model: Model, matters: Callable[[Pass, LengthMismatch], object]) -> Iterator[Misframed]:
    """Yield the passes that send requests with a mismatch for which `matters` returns something true."""
    for pass_ in model.passes:
        wrong = mismatch(pass_)
        answer = _passed_on(model, pass_, wrong) if wrong and matters(pass_, wrong) else None
        if wrong and answer:
            once_in = "" if answer.directive is pass_.directive else ", once the client is let in"
            yield Misframed(pass_, wrong, answer.witness(f"the upstream gets {_sent(wrong)}{once_in}", _ECHO))
    yield from _subrequests(model, matters)


def _subrequests(model: Model, matters: Callable[[Pass, LengthMismatch], object]) -> Iterator[Misframed]:
    """Yield the passes that certainly pass on a subrequest that certainly is made, each once."""
    named = [made for made in subrequests(model) if made.directive.name in _CERTAIN and "$" not in made.uri]
    suspects = {has_body: _suspects(model, matters, has_body) for has_body in {made.has_body for made in named}}
    places: dict[tuple[Level | None, str], Level | None] = {}
    shown: set[Pass] = set()
    for subrequest in named:
        by_level, key = suspects[subrequest.has_body], (subrequest.level.around("server"), subrequest.uri)
        if by_level and key not in places:
            places[key] = _place(model, subrequest)
        for pass_, wrong in by_level.get(places.get(key), ()):
            answer = None if pass_ in shown else _made(model, subrequest, wrong)
            if answer:
                shown.add(pass_)
                shows = f"in the subrequest {subrequest.uri}, the upstream gets {_sent(wrong)}"
                yield Misframed(pass_, wrong, answer.witness(shows, _ECHO))


def _suspects(
    model: Model, matters: Callable[[Pass, LengthMismatch], object], has_body: bool
) -> dict[Level | None, list[tuple[Pass, LengthMismatch]]]:
    """Return the passes whose subrequests have a mismatch that matters, by location."""
    by_level: dict[Level | None, list[tuple[Pass, LengthMismatch]]] = {}
    for pass_ in model.passes:
        wrong = mismatch(pass_, has_body=has_body)
        if wrong is not None and matters(pass_, wrong):
            by_level.setdefault(pass_.level, []).append((pass_, wrong))
    return by_level


def _requests(level: Level, wrong: LengthMismatch) -> Iterator[AskedRequest]:
    """Yield requests with a body to a level: by POST, then by GET, which may have a body as well."""
    server = level.around("server")
    likely = list(reaching(level)) or (list(reaching(server)) if server else [])
    for method in ("POST", "GET"):
        for asked in likely:
            stated = method if asked.method == "GET" else asked.method
            yield replace(asked, method=stated, headers=(*asked.headers, wrong.shown_by))


def _passed_on(model: Model, pass_: Pass, wrong: LengthMismatch) -> ModelAnswer | None:
    """Return the answer to a request that a pass passes on, or would once its client is let in."""
    for answer in model.requests.all(pass_.level, *_requests(pass_.level, wrong)):
        is_there = answer.level is pass_.level and not pass_.level.own("try_files")
        if answer.directive is pass_.directive or (is_there and _lets_some_in(answer)):
            return answer
    return None


def _lets_some_in(answer: ModelAnswer) -> bool:
    """Return whether the password or the address of the client decides whether a request goes on."""
    level, decisive = answer.level, answer.is_decided_by
    if level is None:
        return False
    is_login = any(login is decisive for login in access.logins(level))
    return is_login or (not answer.is_known and any(stated is decisive for stated in access.rules(level)))


def _place(model: Model, subrequest: Subrequest) -> Level | None:
    """Return the location that certainly serves a subrequest by its handler; None if none is known."""
    answer = next(model.requests.ask(subrequest.level, AskedRequest(encode(subrequest.uri))), None)
    level = model.requests.place(answer) if answer else None  # for a client, an internal location is an error page
    return level if level is not None and level.names.isdisjoint(_LEAVING) else None


def _made(model: Model, subrequest: Subrequest, wrong: LengthMismatch) -> ModelAnswer | None:
    """Return the answer to a request with a subrequest: `auth_request` decides about it, `mirror` does not."""
    directive = subrequest.directive
    for answer in model.requests.all(subrequest.level, *_requests(subrequest.level, wrong)):
        stated = answer.level.setting(directive.name).directives if answer.level else ()
        is_made = answer.is_at == "proxy" if directive.name == "mirror" else answer.directive is directive
        if any(other is directive for other in stated) and (is_made or _lets_in_by_all(answer)):
            return answer
    return None


def _lets_in_by_all(answer: ModelAnswer) -> bool:
    """Return whether the client has to pass all checks of access, so that whoever is let in makes the subrequest."""
    return answer.level is not None and _lets_some_in(answer) and not access.takes_any(answer.level)


def _sent(wrong: LengthMismatch) -> str:
    """Return what an upstream gets, as a noun."""
    value = str(wrong.header.args[1]) if wrong.header else ""
    length = f"Content-Length: {value}" if values.number(value) is not None else wrong.shown_by
    return {
        LengthFault.NO_LENGTH: "the body without its length",
        LengthFault.OTHER_LENGTH: f"{length}, and a body of another length",
        LengthFault.NO_CHUNKS: "Transfer-Encoding: chunked, and a body without chunks",
        LengthFault.HIDDEN_CHUNKS: "the body in chunks without Transfer-Encoding",
        LengthFault.NO_BODY: f"{length}, and no body",
    }[wrong.kind]
