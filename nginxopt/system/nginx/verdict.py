"""Parses the messages of `nginx -t` on standard error (ngx_log_error_core in ngx_log.c)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Self

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.text import decode

# An `error_log` on standard error writes the second form.
_START = lazy.pattern(r"^(?:nginx:|[\d/]+ [\d:]+) ", re.MULTILINE)
_MESSAGE = lazy.pattern(r"\[(?P<level>\w+)\] (?:\d+#\d+: )?(?P<text>.*?)(?: in (?P<place>\S+:\d+))?", re.DOTALL)
_HARMLESS = ("warn", "notice", "info", "debug")
_NO_NAMES: Mapping[str, str] = {}


@record(eq=True)
class Message:
    """One message: its level (`emerg`, `warn` ...), its text, and its place `FILE:LINE` if it has one."""

    level: str
    text: str
    place: str = ""

    @property
    def sentence(self) -> str:
        """The text, and the place in the form in which nginx writes it."""
        return f"{self.text} in {self.place}" if self.place else self.text

    def __str__(self) -> str:
        return f"nginx: [{self.level}] {self.sentence}"


@record(eq=True)
class Verdict:
    """Whether nginx accepts a configuration, and its messages without duplicates."""

    ok: bool
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, output: bytes, status: int, names: Mapping[str, str] = _NO_NAMES) -> Self:
        """Parse the output of `nginx -t` and its exit status. `names` are replacements for paths in messages."""
        text = decode(output)
        for path, name in names.items():
            text = text.replace(path, name)
        messages = tuple(dict.fromkeys(_messages(text)))
        if status and not messages:  # it died, or is not nginx
            messages = (Message("emerg", text.strip() or f"nginx -t ended with status {status}"),)
        return cls(status == 0, messages)

    def is_worse_than(self, before: Verdict) -> bool:
        """Return whether nginx newly rejects the configuration, or rejects it for another reason."""
        return not self.ok and (before.ok or self.reasons != before.reasons)

    def new_warnings(self, before: Verdict) -> list[str]:
        """Return the warnings that `before` does not have, ignoring their places."""
        known = {message.text for message in before.messages}
        return [warning.sentence for warning in self.warnings if warning.text not in known]

    @property
    def warnings(self) -> tuple[Message, ...]:
        """The warnings."""
        return tuple(message for message in self.messages if message.level == "warn")

    @property
    def reasons(self) -> list[str]:
        """The errors for which nginx refuses the configuration, without places; empty if it accepts it."""
        return [message.text for message in self.messages if message.level not in _HARMLESS]

    def __str__(self) -> str:
        return "\n".join(map(str, self.messages))


def _messages(text: str) -> Iterator[Message]:
    """Yield the messages that have a level. A message that quotes the configuration may have several lines."""
    starts = [*(match.span() for match in _START.finditer(text)), (len(text), len(text))]
    for (_, begin), (end, _) in pairwise(starts):
        message = _MESSAGE.fullmatch(text[begin:end].removesuffix("\n"))
        if message:
            yield Message(message["level"], message["text"], message["place"] or "")
