"""Requests whose length is certainly not that of their body, each with a request of a client that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nginxopt.lint import access
from nginxopt.lint.framing import Subrequest, may_reach, subrequests
from nginxopt.lint.lengths import Kind, Mismatch, mismatch
from nginxopt.lint.model import Model
from nginxopt.lint.reaching import reaching
from nginxopt.lint.requests import Answer, Asked
from nginxopt.lint.witness import Sign, Witness
from nginxopt.semantics import Level, Pass
from nginxopt.text import encode

_ECHO = Sign(unasked="an echo stands for its upstream")
_LEAVING = {"return", "rewrite", "try_files", "if"}
"""The directives by which a request may leave a location before it is passed on."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pass that sends such requests if any reach it: those of clients, or a subrequest."""

    pass_: Pass
    wrong: Mismatch
    subrequest: Subrequest | None = None


def candidates(model: Model) -> Iterator[Candidate]:
    """Yield the passes whose directives make requests wrong, by clients first."""
    for pass_ in model.passes:
        wrong = mismatch(pass_)
        if wrong is not None:
            yield Candidate(pass_, wrong)
    for subrequest in subrequests(model):
        if subrequest.directive.name in ("auth_request", "mirror") and "$" not in subrequest.uri:
            yield from _of_subrequest(model, subrequest)


def witness(model: Model, candidate: Candidate) -> Witness | None:
    """Return a request of a client that the upstream certainly gets wrong; None if none is known."""
    pass_, wrong, subrequest = candidate.pass_, candidate.wrong, candidate.subrequest
    if subrequest is not None:
        answer = _made(model, subrequest, wrong) if _serves(model, pass_.level, subrequest) else None
        shows = f"in the subrequest {subrequest.uri}, the upstream gets {_sent(wrong)}"
    else:
        answer = _passed_on(model, pass_, wrong)
        is_let = answer is None or answer.directive is pass_.directive
        shows = f"the upstream gets {_sent(wrong)}{'' if is_let else ', once the client is let in'}"
    return answer.witness(shows, _ECHO) if answer else None


def _of_subrequest(model: Model, subrequest: Subrequest) -> Iterator[Candidate]:
    server = subrequest.level.around("server")
    for pass_ in model.passes:
        if pass_.level.around("server") is server and may_reach(pass_.level, subrequest.uri):
            wrong = mismatch(pass_, has_body=subrequest.has_body)
            if wrong is not None:
                yield Candidate(pass_, wrong, subrequest)


def _requests(level: Level, wrong: Mismatch) -> Iterator[Asked]:
    """Yield requests with a body to a level: by POST, then by GET, which may have a body as well."""
    server = level.around("server")
    likely = list(reaching(level)) or (list(reaching(server)) if server else [])
    for method in ("POST", "GET"):
        for asked in likely:
            stated = method if asked.method == "GET" else asked.method
            yield replace(asked, method=stated, headers=(*asked.headers, wrong.shown_by))


def _passed_on(model: Model, pass_: Pass, wrong: Mismatch) -> Answer | None:
    """Return the answer to a request that a pass passes on, or would once its client is let in."""
    for answer in model.requests.all(pass_.level, *_requests(pass_.level, wrong)):
        is_there = answer.level is pass_.level and not pass_.level.own("try_files")
        if answer.directive is pass_.directive or (is_there and _lets_some_in(answer)):
            return answer
    return None


def _lets_some_in(answer: Answer) -> bool:
    """Return whether it depends on the password or the address of a client whether a request goes on."""
    level, decisive = answer.level, answer.is_decided_by
    if level is None:
        return False
    is_login = any(login is decisive for login in access.logins(level))
    return is_login or (not answer.is_known and any(stated is decisive for stated in access.rules(level)))


def _serves(model: Model, level: Level, subrequest: Subrequest) -> bool:
    """Return whether a location certainly passes a subrequest on."""
    answer = next(model.requests.ask(subrequest.level, Asked(encode(subrequest.uri))), None)
    return answer is not None and answer.level is level and level.names.isdisjoint(_LEAVING)


def _made(model: Model, subrequest: Subrequest, wrong: Mismatch) -> Answer | None:
    """Return the answer to a request with a subrequest: `auth_request` decides about it, `mirror` does not."""
    directive = subrequest.directive
    for answer in model.requests.all(subrequest.level, *_requests(subrequest.level, wrong)):
        stated = answer.level.setting(directive.name).directives if answer.level else ()
        is_made = answer.is_at == "proxy" if directive.name == "mirror" else answer.directive is directive
        if any(other is directive for other in stated) and (is_made or _lets_in_by_all(answer)):
            return answer
    return None


def _lets_in_by_all(answer: Answer) -> bool:
    """Return whether a request goes on once its client is let in, and is asked for everything then."""
    return answer.level is not None and _lets_some_in(answer) and not access.takes_any(answer.level)


def _sent(wrong: Mismatch) -> str:
    """Return what an upstream gets, as a noun."""
    value = str(wrong.header.args[1]) if wrong.header else ""
    length = f"Content-Length: {value}" if value.isdecimal() else wrong.shown_by
    return {
        Kind.NO_LENGTH: "the body without its length",
        Kind.OTHER_LENGTH: f"{length}, and a body of another length",
        Kind.NO_CHUNKS: "Transfer-Encoding: chunked, and a body without chunks",
        Kind.HIDDEN_CHUNKS: "the body in chunks without Transfer-Encoding",
        Kind.NO_BODY: f"{length}, and no body",
    }[wrong.kind]
