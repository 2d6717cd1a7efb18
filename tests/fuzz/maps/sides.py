"""The same requests to an original map and to what takes its place, both on one nginx, many maps at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nginxopt.errors import InputError
from nginxopt.system import nginx
from tests.fuzz.maps.cases import Case
from tests.fuzz.maps.sources import PRELUDE, request

BEFORE, AFTER = b"before", b"after"
"""The names of the variable in the two texts."""

_START_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Trial:
    """A map, what takes its place (its variable is `AFTER` there), and the strings to look up."""

    case: Case
    after: bytes
    subjects: Sequence[bytes]

    def maps(self, number: int) -> bytes:
        """Return both with names of their own."""
        return named(self.case.block(BEFORE), number) + named(self.after, number)

    def servers(self, number: int) -> list[bytes]:
        """Return the server of each side; it has a `set` in any case, so that `$x` is known."""
        text = self.case.source.server
        known = b"" if b"$x" in text else b'set $x "";'
        return [known + named(text.replace(b"@", side), number) for side in (BEFORE, AFTER)]


def named(text: bytes, number: int) -> bytes:
    """Return a text in which the names of the sides and of what is emitted are those of one trial."""
    text = re.sub(rb"\$(before|after)\b", rb"$\g<1>%d" % number, text)
    return text.replace(b"nxo_", b"nxo%d_" % number)


@dataclass(frozen=True, slots=True)
class Difference:
    """A string whose value is another than before; `subject` is None where nginx refuses the text."""

    trial: Trial
    subject: bytes | None
    before: bytes
    after: bytes


JIT = b"pcre_jit on;"


def compare(
    binary: nginx.Binary, trials: Sequence[Trial], main: bytes = b""
) -> tuple[int, list[Difference], list[Trial]]:
    """Return how many requests were compared, what differs, and the trials whose original nginx refuses.

    `main` are directives of the main level.
    """
    try:
        return _compared(binary, trials, main)
    except InputError as error:
        if len(trials) > 1:
            half = len(trials) // 2
            first, second = (compare(binary, part, main) for part in (trials[:half], trials[half:]))
            return first[0] + second[0], first[1] + second[1], first[2] + second[2]
        (trial,) = trials
        if _refused(binary, trial):
            return 0, [], [trial]
        return 0, [Difference(trial, None, b"", str(error).encode())], []


def _refused(binary: nginx.Binary, trial: Trial) -> bool:
    """Whether nginx refuses the original by itself."""
    try:
        with nginx.Instance(binary, servers=[trial.servers(0)[0]], http=PRELUDE + named(trial.case.block(BEFORE), 0)):
            return False
    except InputError:
        return True


def _compared(binary: nginx.Binary, trials: Sequence[Trial], main: bytes) -> tuple[int, list[Difference], list[Trial]]:
    http = PRELUDE + b"".join(trial.maps(number) for number, trial in enumerate(trials))
    servers = [server for number, trial in enumerate(trials) for server in trial.servers(number)]
    count, differences = 0, []
    with nginx.Instance(binary, servers=servers, http=http, main=main, start_seconds=_START_SECONDS) as instance:
        for number, trial in enumerate(trials):
            later = [*trial.subjects[len(trial.subjects) // 2 :], *trial.subjects[: len(trial.subjects) // 2]]
            requests = [request(trial.case.source, *strings) for strings in zip(trial.subjects, later, strict=True)]
            with instance.client(2 * number) as first, instance.client(2 * number + 1) as second:
                answers = [_said(client.ask(requests)) for client in (first, second)]
            count += len(requests)
            differences += [
                Difference(trial, subject, before, after)
                for subject, before, after in zip(trial.subjects, *answers, strict=True)
                if before != after
            ]
    return count, differences, []


def _said(answers: Sequence[bytes]) -> list[bytes]:
    """Return the status and the body of each."""
    return [answer[9:12] + b" " + answer.partition(b"\r\n\r\n")[2] for answer in answers]
