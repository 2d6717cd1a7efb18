"""Whether `verify` is right about pairs of sites, as nginx answers: many sites in one nginx, before and after edits."""

from __future__ import annotations

import re
import shutil
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from nginxopt.config import load_text
from nginxopt.errors import NginxoptError
from nginxopt.request.client import LOCAL, RequestForm
from nginxopt.request.model import SiteModel
from nginxopt.system.nginx import Message
from nginxopt.verify import Verification, verify
from nginxopt.verify.premises import FIELD_ORDER
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.witnesses import probes
from tests.fuzz.sites.around import whole
from tests.fuzz.sites.messages import Request
from tests.fuzz.sites.model import Model as Told
from tests.fuzz.sites.model import build
from tests.fuzz.sites.scope import PORTS
from tests.fuzz.sites.stage import Stage
from tests.fuzz.verify.case import Case, Edited, Figures

Answers = Mapping[Request, bytes]

_PLACE = re.compile(r"sites/(\d+)\.conf:\d+\Z")
_CHANGING = re.compile(rb"(?m)^(?:Date|Expires): .* GMT\r$|\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d +[-\d]+\r$")
"""What changes with time: dates, and the times and sizes of files in a listing."""
_MOST_PROBES = 40
_OVERREAD = ("nginx cuts more of the URI than it has", "the URI is shorter than the location of the alias")
"""Why the model does not know what becomes of a request that crashes nginx, or shows whatever was in memory (nginx
issue 983, fixed in 1.28.1 and 1.29.4)."""


@dataclass(slots=True)
class _Pair:
    """A site after an edit, what `verify` says of it, and the requests that shall show whether that is right."""

    index: int
    edited: Edited
    result: Verification
    requests: list[Request] = field(default_factory=list)


def play(stage: Stage, cases: Sequence[Case], around: str) -> tuple[Figures, list[str]]:
    """Compare the pairs of all cases, and ask nginx; return the figures, and what is wrong."""
    return _Player(stage, cases, around).play()


class _Player:
    def __init__(self, stage: Stage, cases: Sequence[Case], around: str) -> None:
        self._stage, self._cases, self._around = stage, cases, around
        self._build = build(stage.binary, stage.root)
        self._models: dict[int, SiteModel | None] = {}
        self._figures = Figures()
        self._faults: list[str] = []

    def play(self) -> tuple[Figures, list[str]]:
        rounds = [self._compared(number) for number in range(max(len(case.edited) for case in self._cases))]
        asked: dict[int, list[Request]] = {}
        for pair in (pair for pairs in rounds for pair in pairs):
            asked.setdefault(pair.index, []).extend(pair.requests)
        before = self._answers({index: self._cases[index].text for index in asked}, asked)
        for pairs in rounds:
            requests = {pair.index: pair.requests for pair in pairs}
            after = self._answers({pair.index: pair.edited.text for pair in pairs}, requests)
            for pair in pairs:
                self._judge(pair, before.get(pair.index), after.get(pair.index))
        return self._figures, self._faults

    def _compared(self, number: int) -> list[_Pair]:
        """Return the pairs of a round that nginx is asked about."""
        pairs = []
        for index, case in enumerate(self._cases):
            old = self._old(index)
            if old is None or number >= len(case.edited):
                continue
            pair = self._pair(index, old, case.edited[number])
            if pair is not None and pair.requests:
                pairs.append(pair)
        return pairs

    def _old(self, index: int) -> SiteModel | None:
        if index not in self._models:
            self._models[index] = self._model(index, self._cases[index].text)
        return self._models[index]

    def _pair(self, index: int, old: SiteModel, edited: Edited) -> _Pair | None:
        new = self._model(index, edited.text)
        if new is None:
            self._figures.refused += 1
            return None
        try:
            result = verify(old, new)
        except Exception:
            self._figures.failed += 1
            self._fault("FAILED", index, edited, traceback.format_exc())
            return None
        self._figures.count(result)
        pair = _Pair(index, edited, result)
        if result.verdict == "equivalent":
            pair.requests = _defined(old, [*self._requests(index), *self._probes(index, old, new)])
        elif result.witness is not None and _is_so(result):
            pair.requests = [_request(result.witness.request)]
        return pair

    def _requests(self, index: int) -> list[Request]:
        ports = self._ports(index)
        return [Request(ports[port], data) for port, data in self._cases[index].requests]

    def _probes(self, index: int, old: SiteModel, new: SiteModel) -> list[Request]:
        """Return requests for what only one side has."""
        sides = (VerifiedSide(model.site, model.site.site) for model in (old, new))
        port = self._ports(index)[0]
        return [
            Request(port, b"%s %s HTTP/1.1\r\nHost: a.test\r\n\r\n" % (probe.method, probe.target))
            for probe in islice(probes(*sides), _MOST_PROBES)
        ]

    def _model(self, index: int, text: str) -> SiteModel | None:
        filled = self._stage.filled(whole(self._around, text), self._ports(index))
        try:
            data = filled.encode("utf-8", "surrogateescape")
            return SiteModel(load_text(data, f"{self._build.prefix}nginx.conf"), self._build)
        except NginxoptError:
            return None

    def _ports(self, index: int) -> Sequence[int]:
        return self._stage.ports((index + 1) * PORTS)[index * PORTS :][:PORTS]

    def _answers(self, texts: Mapping[int, str], requests: Mapping[int, list[Request]]) -> dict[int, Answers]:
        """Return what nginx answers of those sites that it accepts."""
        accepted = self._laid(texts)
        if not accepted:
            return {}
        with self._stage.running():
            answers: dict[int, Answers] = {}
            for index in accepted:
                unlike = list(dict.fromkeys(requests[index]))
                raw = [_CHANGING.sub(b"", answer) for answer in self._stage.ask(unlike)]
                answers[index] = dict(zip(unlike, raw, strict=True))
        return answers

    def _laid(self, texts: Mapping[int, str]) -> list[int]:
        """Write the sites for nginx, and return those that it accepts."""
        folder = self._stage.root / "sites"
        shutil.rmtree(folder, ignore_errors=True)
        (self._stage.root / "logs").mkdir(exist_ok=True)
        files = {_name(index): self._stage.filled(text, self._ports(index)) for index, text in texts.items()}
        self._stage.write({"nginx.conf": self._stage.filled(whole(self._around, "include sites/*.conf;")), **files})
        accepted = dict.fromkeys(texts)
        while accepted and (message := self._refusal()) is not None:
            place = _PLACE.search(message.place)
            for index in [int(place[1])] if place else self._refused_alone(accepted):
                del accepted[index]
                (self._stage.root / _name(index)).unlink()
            self._figures.reasons[f"refused by nginx only: {message.text}"] += 1
        return list(accepted)

    def _refusal(self) -> Message | None:
        """Return why nginx does not start."""
        verdict = self._stage.verdict()
        return None if verdict.ok else next(message for message in verdict.messages if message.level == "emerg")

    def _refused_alone(self, indices: Iterable[int]) -> list[int]:
        """Return the sites that nginx refuses, where it does not say where they are wrong."""
        refused = []
        for index in indices:
            text = whole(self._around, f"include {_name(index)};")
            self._stage.write({"nginx.conf": self._stage.filled(text)})
            if self._refusal() is not None:
                refused.append(index)
        self._stage.write({"nginx.conf": self._stage.filled(whole(self._around, "include sites/*.conf;"))})
        assert refused, "nginx refuses sites only together"
        return refused

    def _judge(self, pair: _Pair, before: Answers | None, after: Answers | None) -> None:
        if before is None or after is None:
            self._figures.accepted += 1
            return
        shown = _in_order if FIELD_ORDER in pair.result.premises else bytes
        unlike = [request for request in pair.requests if shown(before[request]) != shown(after[request])]
        if pair.result.verdict == "different":
            if unlike:
                self._figures.confirmed += 1
            else:
                self._figures.contradicted += 1
                self._show("CONTRADICTED", pair, pair.requests[0], before, after)
            return
        self._figures.asked += len(after)
        if unlike:
            self._figures.wrong += 1
            self._show("WRONG", pair, unlike[0], before, after)

    def _show(self, what: str, pair: _Pair, request: Request, before: Answers, after: Answers) -> None:
        self._fault(what, pair.index, pair.edited, f"{request.data!r}\n{before[request]!r}\n{after[request]!r}")

    def _fault(self, what: str, index: int, edited: Edited, why: str) -> None:
        """Add a fault with all that is needed to see it again."""
        case = self._cases[index]
        around = self._around.rpartition("text/plain txt; }")[2].replace("\n", "")
        text = f"{around}\n{case.text}\n==== now\n{edited.text}"
        self._faults.append(f"{what} {self._stage.binary} {case.name}: {edited.told}\n{why}\n{text}")


def _defined(model: SiteModel, requests: Sequence[Request]) -> list[Request]:
    """Return the requests that nginx answers the same each time."""
    outcomes = zip(requests, Told(model).outcomes(requests), strict=True)
    return [
        request
        for request, outcome in outcomes
        if outcome is None or not outcome["unknown"] or outcome["unknown"]["reason"] not in _OVERREAD
    ]


def _is_so(result: Verification) -> bool:
    """Return whether the files that a witness takes to exist or to be missing are so, it comes from the usual client,
    and the response alone shows the difference, without anything else that it needs."""
    assert result.witness is not None
    is_sent = not any(name == "Content-Length" for name, _ in result.witness.request["headers"])
    is_sent = is_sent and result.witness.request["connection"]["client"] == LOCAL
    is_plain = is_sent and not result.witness.effects and not result.witness.premises
    return is_plain and all(
        Path(name).exists() == exists and (not exists or Path(name).is_dir() == name.endswith("/"))
        for names, exists in ((result.witness.existing, True), (result.witness.missing, False))
        for name in names
    )


def _in_order(answer: bytes) -> bytes:
    """Return a response with its header fields by name; those of one name keep their order."""
    head, end, body = answer.partition(b"\r\n\r\n")
    status, *fields = head.split(b"\r\n")
    return b"\r\n".join([status, *sorted(fields, key=lambda field: field.partition(b":")[0].lower())]) + end + body


def _request(sent: RequestForm) -> Request:
    line = f"{sent['method']} {sent['target']} HTTP/{'.'.join(map(str, sent['version']))}"
    fields = "".join(f"{name}: {value}\r\n" for name, value in sent["headers"])
    return Request(sent["connection"]["port"], f"{line}\r\n{fields}\r\n".encode("latin-1"))


def _name(index: int) -> str:
    return f"sites/{index:04}.conf"
