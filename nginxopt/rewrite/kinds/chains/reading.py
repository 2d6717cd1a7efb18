"""Reads one `if` of a chain and its statement, for the plan and for the proof.

nginx evaluates the conditions in order. A `return`, or a `rewrite` that matches any URI and has a flag, ends the
script, so the first true condition decides (`ngx_http_script_return_code`, `ngx_http_script_regex_end_code`). A `set`
does not end the script, so among conditions that set the same variable, the last true one decides.
"""

from __future__ import annotations

import re

from nginxopt import lazy
from nginxopt.config import Comment, Directive
from nginxopt.records import record
from nginxopt.semantics.values import is_url
from nginxopt.text import encode

_VARIABLE = lazy.pattern(r"\$\w+")
_OURS = lazy.pattern(r"\$(?:\w+_c[0-9]+_(?:answer|class)|nxo_[0-9a-f]{8}__answer)")
"""The variables by which the result of an earlier compilation selects its answer."""
_ANY = frozenset(["^", ".*", "^.*"])
"""Patterns that match every URI, and on which PCRE does not give up."""
_ENDING = frozenset(["last", "break", "redirect", "permanent"])

Answer = tuple[tuple[str, ...], str | None]
"""The statement of a condition: its words without the text, and the text, or None if that is empty."""


@record(eq=True)
class Condition:
    """An `if` of a chain.

    Attributes:
        directive: The `if`.
        variable: The variable that it compares, with its `$`.
        operator: `=`, `~` or `~*`.
        value: The string or pattern that the variable is compared with.
        words: The words of its statement, without `text`.
        text: The text or URL that the statement returns, or the value that it sets; None if it has none or an empty
            one.
    """

    directive: Directive
    variable: str
    operator: str
    value: str
    words: tuple[str, ...]
    text: str | None

    @property
    def pattern(self) -> bytes:
        """A pattern that matches the values for which the condition is true; `(?i)` at its start ignores case."""
        if self.operator == "=":
            return b"^" + b"".join(map(_escaped, encode(self.value))) + rb"\z"
        return (b"(?i)" if self.operator == "~*" else b"") + encode(self.value)

    @property
    def answer(self) -> Answer:
        """The statement of the condition, as `Answer`."""
        return self.words, self.text

    @property
    def assigned(self) -> str | None:
        """The variable that it sets, in lower case and with its `$`; None if it ends the script."""
        return self.words[1].lower() if self.words[0] == "set" else None

    @property
    def evaluated(self) -> str:
        """The text that nginx evaluates if the condition is true."""
        return " ".join([*self.words[2:], self.text or ""])


def condition(directive: Directive) -> Condition | None:
    """Return an `if` as a condition of a chain; None for anything else."""
    if directive.name != "if" or len(directive.args) != 3 or directive.block is None:
        return None
    variable, operator, value = map(str, directive.args)
    if not _VARIABLE.fullmatch(variable) or _OURS.fullmatch(variable) or operator not in ("=", "~", "~*"):
        return None
    inner = [node for node in directive.block.nodes if not isinstance(node, Comment)]
    if len(inner) != 1 or not isinstance(inner[0], Directive):
        return None
    answer = answer_of((str(inner[0].name), *map(str, inner[0].args)))
    return None if answer is None else Condition(directive, variable, operator, value, *answer)


def answer_of(words: tuple[str, ...]) -> Answer | None:
    """Return a statement as `Answer`; None if no condition of a chain may have it."""
    match words:
        case ("return", url) if is_url(url):
            return ("return", "302"), url
        case ("return", code, *text) if re.fullmatch("[0-9]{1,3}", code) and len(text) <= 1:
            return ("return", code), (text[0] if text else "") or None
        case ("set", name, text) if re.fullmatch(r"\$\w+", name):
            return ("set", name), text or None
        case ("rewrite", pattern, target, *flags) if pattern in _ANY and len(flags) <= 1:
            if flags and _is_text(target, flags[0]):
                return ("rewrite", pattern, flags[0]), target
            ends = flags[0] in _ENDING if flags else is_url(target)
            return (words, None) if ends else None
    return None


def _is_text(target: str, flag: str) -> bool:
    """Return whether a variable with the same text may replace a target: nginx looks for no arguments in it, and a
    flag, not the beginning of the text, decides whether it is a redirect.
    """
    return target != "" and "?" not in target and (flag in ("redirect", "permanent") or not is_url(target))


def statement_of(answer: Answer) -> tuple[str, ...]:
    """Return the words of the statement of an answer, which `answer_of` reads."""
    words, text = answer
    if text is None:
        return words
    return (*words[:2], text, *words[2:]) if words[0] == "rewrite" else (*words, text)


def _escaped(byte: int) -> bytes:
    """Return a pattern that matches one byte."""
    if chr(byte).isascii() and chr(byte).isalnum():
        return bytes([byte])
    return rb"\x%02x" % byte
