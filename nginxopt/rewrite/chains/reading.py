"""Finds chains of `if`s: each compares one variable, the same, and contains nothing but a `return`.

nginx evaluates them in order, and the first true one ends the script (`ngx_http_script_return_code`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from nginxopt.config import Block, Comment, Config, Directive, File
from nginxopt.text import encode

FEWEST = 8
"""Fewer conditions are sooner evaluated than looked up: one takes 550 to 950 instructions, and a look-up 4,400."""

_VARIABLE = re.compile(r"\$\w+")
_URL = ("http://", "https://", "$scheme")
_OURS = re.compile(r"\$\w+_c[0-9]+_(?:answer|class)")
"""The variables by which an earlier compilation selects what to return."""
_PLACES = frozenset(["server", "location"])


@dataclass(frozen=True, slots=True)
class Condition:
    """An `if` of a chain.

    Attributes:
        directive: The `if`.
        variable: What it compares, with its `$`.
        operator: `=`, `~` or `~*`.
        value: What the variable is compared with: a string, or a pattern.
        code: The status that it returns.
        text: The text or the URL that it returns; None without one, or with an empty one.
    """

    directive: Directive
    variable: str
    operator: str
    value: str
    code: str
    text: str | None

    @property
    def pattern(self) -> bytes:
        """The pattern that matches what the condition is true for; a leading `(?i)` ignores the case of letters."""
        if self.operator == "=":
            return b"^" + b"".join(map(_escaped, encode(self.value))) + rb"\z"
        return (b"(?i)" if self.operator == "~*" else b"") + encode(self.value)

    @property
    def answer(self) -> tuple[str, str | None]:
        """What it returns."""
        return self.code, self.text


@dataclass(frozen=True, slots=True)
class Sequence:
    """Conditions of a file on one variable, one behind the other."""

    file: File
    conditions: tuple[Condition, ...]


def read(config: Config, subject: Collection[File]) -> Iterator[Sequence]:
    """Yield the sequences of eight or more conditions in files of `subject`."""
    for file in config.files:
        if file in subject:
            contexts = config.contexts(file)
            takes_ifs = bool(contexts) and all(context[-1:] and context[-1] in _PLACES for context in contexts)
            yield from _read(file, file.block, takes_ifs=takes_ifs)


def _read(file: File, block: Block, *, takes_ifs: bool) -> Iterator[Sequence]:
    conditions: list[Condition] = []
    for node in block.nodes:
        if isinstance(node, Comment):
            continue
        read = condition(node) if takes_ifs and isinstance(node, Directive) else None
        if conditions and (read is None or read.variable != conditions[-1].variable):
            yield from _whole(file, conditions)
            conditions = []
        if read is not None:
            conditions.append(read)
        elif isinstance(node, Directive) and node.block is not None:
            yield from _read(file, node.block, takes_ifs=node.name in _PLACES)
    yield from _whole(file, conditions)


def _whole(file: File, conditions: list[Condition]) -> Iterator[Sequence]:
    if len(conditions) >= FEWEST:
        yield Sequence(file, tuple(conditions))


def condition(directive: Directive) -> Condition | None:
    """Return an `if` as the condition of a chain; None if it is something else."""
    if directive.name != "if" or len(directive.args) != 3 or directive.block is None:
        return None
    variable, operator, value = map(str, directive.args)
    if not _VARIABLE.fullmatch(variable) or _OURS.fullmatch(variable) or operator not in ("=", "~", "~*"):
        return None
    inner = [node for node in directive.block.nodes if not isinstance(node, Comment)]
    if len(inner) != 1 or not isinstance(inner[0], Directive) or inner[0].name != "return":
        return None
    words = [str(word) for word in inner[0].args]
    if len(words) == 1 and words[0].startswith(_URL):
        words = ["302", *words]
    if len(words) not in (1, 2) or not re.fullmatch("[0-9]{1,3}", words[0]):
        return None
    text = words[1] if len(words) == 2 and words[1] else None
    return Condition(directive, variable, operator, value, words[0], text)


def _escaped(byte: int) -> bytes:
    """Return a byte as a pattern."""
    if chr(byte).isascii() and chr(byte).isalnum():
        return bytes([byte])
    return rb"\x%02x" % byte
