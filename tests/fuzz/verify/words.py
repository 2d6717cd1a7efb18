"""The words of sites around captures: patterns with the paths that they match, texts and conditions.

All are made of few letters, so that requests made of the same letters reach what stands behind several of them.
"""

from __future__ import annotations

import random

LETTERS = "abx0/"
"""What most paths are made of."""

GROUPS = ("k", "g")
"""The names of groups."""

MAPS = ("m", "n", "h")
_SET = ("v", "w", *GROUPS, *GROUPS, *MAPS)
_LITERALS = ("", "a", "a", "b", "x", "0", "1", "/", "/a", "/a/", "/a/b", "/b", "ab", "-")
_PIECES = (
    ("a", "a"), ("b", "b"), ("[ab]", "a b"), ("x", "x"), ("0", "0"), ("_", "_"), ("[0-9a]", "0 a"),
    ("[^/]*", " b a_b"), ("[^/]+", "a xy"), (".", "b a"), (".", "0 x"), ("(?:0|a/b)", "0 a/b"), ("(?i:a)", "a A"),
    ("(?i:/a)", "/a /A"), (r"\x61", "a"), ("[x-z]{2}", "xy"), (r"a\E", "a"), (r"\Qb\E", "b"), ("a(?#)", "a"),
    ("(?#b)a", "a"), ("[^0]", "a b"), ("(?:a|)", "a "), ("(?!b)", ""), ("/[^/]*/", "/a/ //"), ("/", "/"),
)  # fmt: skip
"""Parts of patterns, each with texts that it matches."""

_INSIDE = (
    (".*", " a a/b b0"), ("[^/]*", " a b"), ("[^/]+", "a b0"), ("/[^/]*/", "/a/ /b/"), ("/[^/]*/", "/a/ /b/"),
    (".", "a x"), (".", "b 0"), ("a|b", "a b"), ("[ab]", "a b"), ("[0-9a]", "0 a"), ("[0-9]+", "0"), ("|a", " a"),
    ("/.*", "/ /a"), ("a?", " a"), ("(?:/a)*", " /a /a/a"), ("/.*_", "/a_ /x_"), ("(?i:a)", "a A"),
    (r"\x61*", " a aa"),
)  # fmt: skip
"""What groups hold."""

_SIMPLE = (
    "^/(?<k>.)", "^/(?<g>.)", "^/.(?<g>.)", "^/(?<k>[ab])", "^/(.)", "^/.(.)", "^/(a|b)", "^/(.)(.)", "^/(.*)$",
    "^/[ab]", "^/(?<k>[^/]*)", "^(?<k>/[^/]*/)(.*)$", "^(?<g>/.)(.*)$", "^(.)", "^(?<g>.)", "^(.)(.)$", "^(.)$",
    "^/[0-9a]", "^a", "b$",
)  # fmt: skip
"""Patterns that match most paths of a few letters, or the groups of other patterns."""

_REPEATABLE = {
    "a",
    "b",
    "x",
    "0",
    "_",
    "[0-9a]",
    ".",
    "(?:p|q)",
    "(?:0|a/b)",
    "(?i:a)",
    "(?i:/a)",
    r"\x61",
    r"a\E",
    "[^0]",
}
_QUANTIFIERS = ("*", "+", "?", "{2}", "*?", "?+")
_GAPS = ("", "(?#)", r"\E", "(?#a)")
_ENDS = ("", "", "$", "$", r"\z", "/", "(.*)$", "/[0-9]+$", "[^/]*$", "_[^_]*$")


class Words:
    """Draws words.

    Attributes:
        paths: What some of the patterns drawn so far match.
        literals: Texts drawn so far that variables may hold.
        known: The variables that patterns, maps and statements drawn so far define; those of late ones stand last.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.paths: list[str] = []
        self.literals: list[str] = []
        self.known: list[str] = []

    def chance(self, share: float) -> bool:
        """Return whether something is so that is as likely as that."""
        return self.draw.random() < share

    def pattern(self, *, is_capturing: bool = False) -> str:
        """Return a pattern, and note what it and its groups match."""
        if self.chance(0.6):
            simple = self.draw.choice(_SIMPLE)
            self.known += [f"${name}" for name in GROUPS if f"<{name}>" in simple] or ["$1"]
            return simple
        names = self.draw.sample(GROUPS, len(GROUPS))
        parts = [("/", "/")] if self.chance(0.8) else []
        count = self.draw.choice((1, 1, 2, 2, 3))
        capturing = self.draw.randrange(count) if is_capturing else count
        for number in range(count):
            if number and self.chance(0.4):
                parts.append(("/", "/"))
            parts.append(self._group(names) if number == capturing or self.chance(0.4) else self._piece())
        end = self.draw.choice(_ENDS)
        more = end[0] + "0" if end.startswith(("/", "_")) else ""
        for _ in range(3):
            self.paths.append("".join(self.draw.choice(matched.split(" ")) for _, matched in parts) + more)
        start = self.draw.choice(("^", "^", "^", "^", "^", "^", "", "(?i)^", "^(?i)", "(?s)^"))
        return start + "".join(text for text, _ in parts) + end

    def _group(self, names: list[str]) -> tuple[str, str]:
        """Return a group, with a name of these or none, and what it matches."""
        text, matched = self.draw.choice(_INSIDE)
        name = f"?<{names[-1]}>" if names and self.chance(0.6) else ""
        self.known.append(f"${names.pop()}" if name else "$1")
        self.literals += matched.split(" ")
        mark = self.draw.choice(("", "", "", "", "?", "*"))
        return f"({name}{text}){mark}", f" {matched}" if mark else matched

    def _piece(self) -> tuple[str, str]:
        """Return a part of a pattern that is no group, with or without a quantifier."""
        text, matched = self.draw.choice(_PIECES)
        if text not in _REPEATABLE or self.chance(0.6):
            return text, matched
        first = matched.split(" ")[0]
        return text + self.draw.choice(_GAPS) + self.draw.choice(_QUANTIFIERS), f"{first}{first} {first}"

    def literal(self) -> str:
        """Return a text without variables, as likely as not one that was drawn before."""
        if self.literals and self.chance(0.6):
            return self.draw.choice(self.literals)
        self.literals.append(self.draw.choice(_LITERALS))
        return self.literals[-1]

    def variable(self) -> str:
        """Return a variable of a request, a set one, a group or a map."""
        if self.known and self.chance(0.75):
            return self.draw.choice(self.known[-3:] if self.chance(0.7) else self.known)
        return self.draw.choice(("$uri", "$uri", "$uri", "$args", "$arg_y", "$arg_y", "$1", "$1", "$2"))

    def text(self, most: int = 3) -> str:
        """Return a text of variables."""
        parts = [self.variable() for _ in range(self.draw.randrange(1, most + 1))]
        if self.chance(0.2):
            parts.insert(self.draw.randrange(len(parts) + 1), self.draw.choice(("-", "/", "-a-", "/b/")))
        return self.draw.choice(("", "", "-")).join(parts)

    def value(self) -> str:
        """Return what a variable is set to."""
        return self.literal() if self.chance(0.35) else self.text()

    def assigned(self) -> str:
        """Return a variable that a script may set."""
        self.known.append(f"${self.draw.choice(_SET)}")
        return self.known[-1]

    def condition(self, *, of_uri: float = 0.4) -> list[str]:
        """Return the words of a condition, whose subject is the URI as often as that."""
        subject = "$uri" if self.chance(of_uri) else self.variable()
        if subject[1].isdigit():  # which `if` cannot test
            subject = next((name for name in reversed(self.known) if not name[1].isdigit()), "$arg_y")
        match self.draw.randrange(8):
            case 0 if subject != "$uri":
                return [subject]
            case 1 | 2 | 3:
                value = self.text(2) if self.chance(0.25) else self.literal()
                return [subject, self.draw.choice(("=", "=", "=", "!=")), value]
        return [subject, self.draw.choice(("~", "~", "~", "!~", "!~", "~*")), self.pattern()]

    def target(self) -> str:
        """Return what a rewrite leads to."""
        return self.draw.choice(
            (
                *(
                    "$1",
                    "/$1",
                    "$k",
                    "$m",
                    "$arg_y",
                    "$1-$2",
                    "/b/$1",
                    "/b$m",
                    "$uri",
                    "/a",
                    "/$k$n",
                    "$1$2",
                    "$v",
                    "/x/$g",
                ),
                *("$n", "/b?y=$1", "/b?$m", "$1?", self.text()),
            )
        )


def quoted(text: str) -> str:
    """Return a word as it stands in a configuration."""
    return f"'{text}'"
