"""The answers of a real nginx to many requests, as those of the model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nginxopt import lazy
from nginxopt.request.batch import Batch
from nginxopt.request.client import PORTS, NobodyListensError, Request
from nginxopt.request.judgement import Answer
from nginxopt.request.locations import normal
from nginxopt.request.private import Exchange, PrivateNginx
from nginxopt.request.redirects import REDIRECTS
from nginxopt.text import decode

_PORT = lazy.pattern(r"(https?)://([^/?#]*?):(\d+)(?=[/?#]|\Z)", re.IGNORECASE)


@dataclass
class RealAnswers:
    """Asks a private nginx.

    Attributes:
        batch: The model, which names the directives that answer, and the gate.
        disagreements: Requests that the model answers otherwise, with both answers.
    """

    batch: Batch
    nginx: PrivateNginx
    disagreements: list[tuple[Request, Answer, Answer]] = field(default_factory=list)

    def __call__(self, requests: Sequence[Request], after_each: Callable[[], object] = lambda: None) -> list[Answer]:
        """Return the answer to each request. What depends on whether a file exists stays unknown."""
        answers = []
        for request, of_model in zip(requests, self.batch.answers(requests), strict=True):
            answers.append(self._answer(request, of_model))
            after_each()
        return answers

    def _answer(self, request: Request, of_model: Answer) -> Answer:
        if of_model.asks_file:
            return of_model
        try:
            sent = self.batch.gate.form(request)
        except NobodyListensError:
            return of_model
        moved = self.nginx.moved(sent)
        answer = self._read(self.nginx.ask(moved), of_model)
        if answer is not of_model and of_model.kind != "unknown":
            self.disagreements.append((request, of_model, answer))
        return answer

    def _read(self, exchange: Exchange, of_model: Answer) -> Answer:
        """Return the answer of nginx: that of the model, which knows more, if both are the same."""
        response, asked = exchange.response, exchange.asked
        if response is None:
            return of_model if of_model.kind == "closed" else Answer("closed", None)
        if asked:
            line = decode(asked[-1].line)
            is_same = asked[-1].protocol == of_model.kind and of_model.target.endswith(line.partition(" ")[2])
            return of_model if is_same else Answer(asked[-1].protocol, None, target=line)
        location = response.header("location") if response.status in REDIRECTS else None
        address = None if location is None else self._original(decode(location.encode("latin-1")))
        is_status = of_model.status is None or of_model.status == response.status
        is_location = normal(of_model.location or "") == normal(address or "")
        if is_status and is_location and of_model.kind not in ("unknown", "closed") and not of_model.target:
            return of_model
        return Answer("response", response.status, address)

    def _original(self, location: str) -> str:
        """Return a `Location` with the port of the configuration in place of that of the private nginx."""

        def port(match: re.Match[str]) -> str:
            scheme, host, private = match[1], match[2], int(match[3])
            own = self.nginx.original_port(private)
            if own == private:
                return match[0]
            return f"{scheme}://{host}" if own == PORTS[scheme.lower()] else f"{scheme}://{host}:{own}"

        return _PORT.sub(port, location, count=1)
