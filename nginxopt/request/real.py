"""Asks a real nginx what the model was asked, and compares both answers.

The model is asked about the same text as the private nginx, so that both know the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nginxopt.config import Config
from nginxopt.request.client import Request
from nginxopt.request.connection import Gate, NobodyListensError, RequestForm
from nginxopt.request.outcomes import OutcomeForm, shown
from nginxopt.request.private import LOCAL, PrivateNginx
from nginxopt.request.trace import Comparison, Trace
from nginxopt.request.world import World
from nginxopt.semantics.upstreams import PROTOCOLS
from nginxopt.system.echo import Asked
from nginxopt.system.exchange import Response
from nginxopt.system.nginx import Binary


def compare(config: Config, trace: Trace, world: World, binary: Binary) -> Comparison:
    """Return how the answer of nginx differs from that of a trace. Raises as `PrivateNginx`."""
    if trace.outcome["kind"] == "unknown":
        return Comparison(str(binary), reason="the outcome is unknown")
    prefix, tls = trace.site.site["build"]["prefix"], trace.sent["connection"]["tls"]
    with PrivateNginx(config, prefix, world, binary, tls=tls) as nginx:
        sent = nginx.moved(trace.sent)
        expected = nginx.expected(sent)
        if expected["kind"] == "unknown":
            unknown = expected["unknown"]
            return Comparison(str(binary), reason="the outcome is unknown" if unknown is None else unknown["reason"])
        client = trace.sent["connection"]["client"]
        if client not in (None, LOCAL) and _kind(expected) != _kind(trace.outcome):
            return Comparison(str(binary), reason=f"its client is {LOCAL}, which gets another answer than {client}")
        return Comparison(str(binary), tuple(differences(expected, *nginx.ask(sent))))


def _kind(outcome: OutcomeForm) -> tuple[str, int | None]:
    return outcome["kind"], outcome["status"]


@dataclass(frozen=True, slots=True)
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
    config: Config, gate: Gate, requests: Sequence[Request], world: World, binary: Binary
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
                found.append((name, tuple(differences(expected, *nginx.ask(moved)))))
    return SampleComparison(str(binary), compared, tuple(each for each in found if each[1]))


def _form(gate: Gate, request: Request) -> RequestForm | None:
    """Return a request as it is sent; None if nginx does not listen there."""
    try:
        return gate.form(request)
    except NobodyListensError:
        return None


def differences(outcome: OutcomeForm, response: Response | None, asked: Sequence[Asked]) -> Iterator[str]:
    """Yield what differs between an outcome and the response of nginx, or the request that the echo got."""
    if response is None or outcome["kind"] == "closed":
        if (response is None) != (outcome["kind"] == "closed"):
            yield f"nginx {'closes the connection' if response is None else f'answers {response.status}'}"
        return
    if outcome["kind"] in PROTOCOLS:
        yield from _passed(outcome, response, asked)
    elif outcome["status"] is not None and outcome["status"] != response.status:
        yield f"nginx answers {response.status}, not {outcome['status']}"
    if outcome["unknown"] is not None:
        return
    location, expected = response.header("location"), _received(outcome["location"] or "")
    if expected != (location or ""):
        yield f"nginx sends the Location {shown(location or 'none')}, not {shown(expected or 'none')}"
    if outcome["body"] and outcome["body"].encode("latin-1") != response.body:
        yield f"nginx sends the body {shown(response.body.decode('latin-1'))!r}, not {shown(outcome['body'])!r}"
    for header in outcome["headers"]:
        if _received(header["value"]) not in response.values(header["name"]):
            yield f"nginx does not send {shown(header['name'])}: {shown(header['value'])}"


def _received(text: str) -> str:
    """Return what a reader takes for the value of a header: it ends where the line does."""
    return text.partition("\n")[0].removesuffix("\r")


def _passed(outcome: OutcomeForm, response: Response, asked: Sequence[Asked]) -> Iterator[str]:
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
