"""Asks a real nginx what the model was asked, and compares both answers.

The model is asked about the same text as the private nginx, so that both know the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nginxopt.config import Config
from nginxopt.records import record
from nginxopt.request.client import ClientGate, NobodyListensError, Request, RequestForm
from nginxopt.request.model import OutcomeForm, World, conditions, location_of, shown, text_of
from nginxopt.request.private import Exchange, PrivateNginx, source_of
from nginxopt.request.trace import RealComparison, Trace
from nginxopt.semantics.upstreams import PROTOCOLS
from nginxopt.system.echo import EchoedRequest
from nginxopt.system.exchange import Response
from nginxopt.system.nginx import Binary

_UNKNOWN = "the outcome is unknown"


def compare(config: Config, trace: Trace, world: World, binary: Binary) -> RealComparison:
    """Return how the answer of nginx differs from that of a trace. Raises as `PrivateNginx`."""
    return next(compare_all(config, [Expected(trace)], world, binary))


def compare_branches(config: Config, trace: Trace, world: World, binary: Binary) -> RealComparison:
    """Return how the answers of nginx differ from those of the branches of a trace, each with its own files."""
    found: list[tuple[str, RealComparison]] = []
    for clause, branch in zip(conditions(trace.branches), trace.branches, strict=True):
        there = world.with_files(map(text_of, branch["exists"]), map(text_of, branch["missing"]))
        if branch["happens"] or branch["fails"]:
            found.append((clause, RealComparison(str(binary), reason="it depends on what an upstream answers")))
            continue
        one = replace(trace, outcome=branch["outcome"], branches=())
        found.append((clause, next(compare_all(config, [Expected(one, is_told=True)], there, binary))))
    differences = tuple(f"{clause}: {text}" for clause, compared in found for text in compared.differences)
    reasons = [compared.reason for _, compared in found if compared.reason is not None]
    return RealComparison(str(binary), differences, reasons[0] if len(reasons) == len(found) else None)


@record(eq=True)
class Expected:
    """What is expected of a request.

    Attributes:
        trace: What the model says.
        status: The status of the response if that is known although the outcome is not.
        lacks: Headers that the response does not have.
        passes: A header that the upstream gets, name and value.
        logs: A regular expression for a line of the error log; the time is then measured.
        is_alone: Whether no file is there that another request assumes.
        is_told: Whether nginx must answer as the trace says, not only as the model of the private nginx does.
    """

    trace: Trace
    status: int | None = None
    lacks: tuple[str, ...] = ()
    passes: tuple[str, str] | None = None
    logs: str = ""
    is_alone: bool = True
    is_told: bool = False

    @property
    def is_of_signs(self) -> bool:
        """Whether nginx has to show signs, whatever the outcome."""
        return self.status is not None or bool(self.logs)

    def differences(self, exchange: Exchange) -> Iterator[str]:
        """Yield what differs besides the outcome of the model."""
        response = exchange.response
        status = None if response is None else response.status
        if self.status not in (None, status):
            yield f"nginx answers {status}, not {self.status}"
        if response is not None:
            yield from (f"nginx sends {name}" for name in self.lacks if response.header(name) is not None)
        if self.passes is not None and not any(self._got(each) for each in exchange.asked):
            yield "nginx passes on no {}: {}".format(*self.passes)
        if self.logs and not re.search(self.logs.encode(), exchange.logged):
            yield "nginx logs no such error"

    def _got(self, asked: EchoedRequest) -> bool:
        return self.passes is not None and self.passes[1].encode() in asked.values(self.passes[0])


def compare_all(config: Config, asked: Sequence[Expected], world: World, binary: Binary) -> Iterator[RealComparison]:
    """Yield how the answers of one nginx differ from those of traces, which share a world. Raises as `PrivateNginx`."""
    name, prefix = str(binary), asked[0].trace.site.site["build"]["prefix"]
    if all(_is_unknown(each) for each in asked):
        yield from [RealComparison(name, reason=_UNKNOWN)] * len(asked)
        return
    tls = any(each.trace.sent["connection"]["tls"] for each in asked)
    with PrivateNginx(config, prefix, world, binary, tls=tls) as nginx:
        for each in asked:
            yield RealComparison(name, reason=_UNKNOWN) if _is_unknown(each) else _compare(each, nginx, name)


def _is_unknown(expected: Expected) -> bool:
    return not expected.is_of_signs and expected.trace.outcome["kind"] == "unknown"


def _compare(asked: Expected, nginx: PrivateNginx, name: str) -> RealComparison:
    trace, sent = asked.trace, nginx.moved(asked.trace.sent)
    if asked.is_of_signs:
        exchange = nginx.ask(sent)
        return RealComparison(
            name, tuple(asked.differences(exchange)), seconds=exchange.seconds if asked.logs else None
        )
    expected = nginx.expected(sent)
    if expected["kind"] == "unknown":
        unknown = expected["unknown"]
        return RealComparison(name, reason=_UNKNOWN if unknown is None else unknown["reason"])
    client, source = trace.sent["connection"]["client"], source_of(trace.sent["connection"])
    if client not in (None, source) and _kind(expected) != _kind(trace.outcome):
        return RealComparison(name, reason=f"its client is {source}, which gets another answer than {client}")
    if not asked.is_alone and _kind(expected) != _kind(trace.outcome):
        return RealComparison(name, reason="files that others assume change its answer")
    exchange = nginx.ask(sent)
    others = _of_kind(trace.outcome, expected) if asked.is_told else ()
    return RealComparison(name, (*others, *differences(expected, exchange), *asked.differences(exchange)))


def _of_kind(told: OutcomeForm, there: OutcomeForm) -> Iterator[str]:
    """Yield how the kind and status of an outcome differ from those of the private nginx."""
    if _kind(told) != _kind(there):
        words = [" ".join(str(word) for word in _kind(outcome) if word is not None) for outcome in (there, told)]
        yield f"nginx answers as a {words[0]}, not a {words[1]}"


def _kind(outcome: OutcomeForm) -> tuple[str, int | None]:
    return outcome["kind"], outcome["status"]


@record(eq=True)
class SampleComparison:
    """How the answers of a real nginx to some requests of a file differ from those of the model.

    Attributes:
        nginx: Its name and version.
        compared: The number of requests whose answers were compared; the outcomes of others are unknown.
        differences: The requests that differ, each with what differs.
    """

    nginx: str
    compared: int
    differences: tuple[tuple[str, tuple[str, ...]], ...]


def compare_sample(
    config: Config, gate: ClientGate, requests: Sequence[Request], world: World, binary: Binary
) -> SampleComparison:
    """Return how the answers of nginx to some requests differ. Raises as `PrivateNginx`."""
    sent = [(str(request), form) for request in requests if (form := _form(gate, request)) is not None]
    tls = any(form["connection"]["tls"] for _, form in sent)
    compared, found = 0, []
    with PrivateNginx(config, gate.site["build"]["prefix"], world, binary, tls=tls) as nginx:
        for name, form in sent:
            moved = nginx.moved(form)
            expected = nginx.expected(moved)
            if expected["kind"] != "unknown":
                compared += 1
                found.append((name, tuple(differences(expected, nginx.ask(moved)))))
    return SampleComparison(str(binary), compared, tuple(each for each in found if each[1]))


def _form(gate: ClientGate, request: Request) -> RequestForm | None:
    """Return a request as it is sent; None if nginx does not listen there."""
    try:
        return gate.form(request)
    except NobodyListensError:
        return None


def differences(outcome: OutcomeForm, exchange: Exchange) -> Iterator[str]:
    """Yield what differs between an outcome and the response of nginx, or the request that the echo got."""
    response = exchange.response
    if response is None or outcome["kind"] == "closed":
        if (response is None) != (outcome["kind"] == "closed"):
            yield f"nginx {'closes the connection' if response is None else f'answers {response.status}'}"
        return
    if outcome["kind"] in PROTOCOLS:
        yield from _passed(outcome, response, exchange.asked)
    elif outcome["status"] is not None and outcome["status"] != response.status:
        yield f"nginx answers {response.status}, not {outcome['status']}"
    if outcome["unknown"] is not None:
        return
    location, expected = response.header("location"), _received(location_of(outcome) or "")
    if expected != (location or ""):
        yield f"nginx sends the Location {shown(location or 'none')}, not {shown(expected or 'none')}"
    if outcome["body"] and outcome["body"].encode("latin-1") != response.body:
        yield f"nginx sends the body {shown(response.body.decode('latin-1'))!r}, not {shown(outcome['body'])!r}"
    for header in outcome["headers"]:
        if _received(header["value"]) not in response.values(header["name"]):
            yield f"nginx does not send {shown(header['name'])}: {shown(header['value'])}"


def _received(text: str) -> str:
    """Return what a reader takes for the value of a header: it ends where the line does, without spaces around it."""
    return text.partition("\n")[0].removesuffix("\r").strip(" ")


def _passed(outcome: OutcomeForm, response: Response, asked: Sequence[EchoedRequest]) -> Iterator[str]:
    passed = outcome["upstream"]
    if not asked:
        yield f"nginx passes nothing on, and answers {response.status}"
        return
    if asked[-1].protocol != outcome["kind"]:
        yield f"nginx passes the request on by {asked[-1].protocol}, not {outcome['kind']}"
    elif passed is not None and passed["target"] is not None and outcome["kind"] == "proxy":
        line = f"{passed['method']} {passed['target']}"
        is_broken = "\n" in line  # the echo gets a request of HTTP/0.9
        if not is_broken and line.encode("latin-1") != asked[-1].line:
            yield f"nginx passes on {shown(asked[-1].line.decode('latin-1'))}, not {shown(line)}"
