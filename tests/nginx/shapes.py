"""Compiled forms of literal rules, made by hand: the exact one, the usual one, and broken twins of the
exact one.

They are what the differential run is tested with, independently of the compiler.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.rulegen import escape, target, word

# A rewrite that fails clears the numbered captures, as the last of the original rules does when none matches.
CLEAR = b"rewrite ^(?!) /;\n"


@dataclass(frozen=True, slots=True)
class Literal:
    """A rewrite whose pattern is `^uri$`; the flag `implicit` stands for none before an absolute target."""

    uri: bytes
    ignore_case: bool
    flag: bytes
    target: bytes

    @property
    def directive(self) -> bytes:
        """The rule as nginx reads it."""
        regex = (b"(?i)" if self.ignore_case else b"") + b"^%s$" % escape(self.uri)
        flag = b"" if self.flag == b"implicit" else b" " + self.flag
        return b"rewrite %s %s%s;\n" % (quote(regex), quote(self.target), flag)


@dataclass(frozen=True, slots=True)
class Compiled:
    """The http part, and what stands in place of the rules."""

    maps: bytes
    rules: bytes

    def damaged(self, text: bytes, by: bytes) -> Compiled:
        """Return a copy in which `text` is replaced; it must occur."""
        assert text in self.maps + self.rules
        return Compiled(self.maps.replace(text, by), self.rules.replace(text, by))


def literals(seed: int, *, count: int = 12, phase: str = "server") -> list[Literal]:
    """Return random literal rules; without a `break` in a location, which has no exact form as a guard."""
    draw = random.Random(seed)
    flags = [b"permanent", b"redirect", b"last", b"implicit", *([b"break"] if phase == "server" else [])]
    rules: list[Literal] = []
    while len(rules) < count:
        flag = draw.choice(flags)
        literal = Literal(b"/" + word(draw), draw.random() < 0.15, flag, target(draw, flag, 0))
        # A map value cannot hold a `$` that is none of a variable; and `$1`, which is nothing after a literal
        # rule, could be something in a map.
        if b"$" not in literal.uri and b"$uri" not in literal.target and b"$1" not in literal.target:
            rules.append(literal)
    return rules


def quote(text: bytes) -> bytes:
    """Return `text` as a double-quoted token."""
    for plain, escaped in (
        (b"\\", b"\\\\"),
        (b'"', b'\\"'),
        (b"\n", b"\\n"),
        (b"\r", b"\\r"),
        (b"\t", b"\\t"),
    ):
        text = text.replace(plain, escaped)
    return b'"%s"' % text


def exact(rules: Sequence[Literal]) -> Compiled:
    """Return the exact shape: volatile guard maps, a twin of each key for the final newline, one block a
    class."""
    maps = [b"map_hash_max_size 16384; map_hash_bucket_size 512;\n"]
    blocks = []
    classes: dict[tuple[int, bytes, bool, bool, bool], dict[bytes, tuple[bytes | None, bytes]]] = {}
    for number, tier in enumerate(_tiers(rules)):
        for key, (guard, rule) in tier.items():
            dropping, text = rule.target.endswith(b"?"), rule.target.removesuffix(b"?")
            flag = b"redirect" if rule.flag == b"implicit" else rule.flag
            identity = (number, flag, b"?" in text, dropping, guard is None)
            classes.setdefault(identity, {})[key] = (guard, text)
    for index, ((_, flag, own, dropping, ignoring), entries) in enumerate(classes.items()):
        name = b"nxo%d" % index
        columns = {b"p": {key: text.partition(b"?")[0] for key, (_, text) in entries.items()}}
        if own:
            columns[b"a"] = {key: text.partition(b"?")[2] for key, (_, text) in entries.items()}
        if not ignoring:
            guards = {key: guard for key, (guard, _) in entries.items() if guard is not None}
            columns[b"k"] = {**guards, b"": b"-"}  # or the guard is true of an empty URI
        maps += [_map(b"$%s_%s" % (name, column), values) for column, values in columns.items()]
        condition = b"$%s_p" % name if ignoring else b"$%s_k = $uri" % name
        arguments = (b"?$%s_a" % name if own else b"") + (b"?" if dropping else b"")
        blocks.append(b"if (%s) { rewrite ^ $%s_p%s %s; }\n" % (condition, name, arguments, flag))
    return Compiled(b"".join(maps), b"".join(blocks) + CLEAR)


def naive(rules: Sequence[Literal]) -> Compiled:
    """Return the usual shape: one plain map for each flag, and `return`."""
    first = {rule.uri.lower(): rule for rule in reversed(rules)}
    codes = {b"permanent": b"301", b"redirect": b"302", b"implicit": b"302"}
    maps, blocks = [b"map_hash_bucket_size 512;\n"], []
    for flag in sorted({rule.flag for rule in rules}):
        name = b"$usual_%s" % flag
        maps.append(_map(name, {uri: rule.target for uri, rule in first.items() if rule.flag == flag}, b""))
        action = b"return %s %s$is_args$args" % (codes[flag], name) if flag in codes else b"rewrite ^ %s last" % name
        blocks.append(b"if (%s) { %s; }\n" % (name, action))
    return Compiled(b"".join(maps), b"".join(blocks))


def _tiers(rules: Sequence[Literal]) -> list[dict[bytes, tuple[bytes | None, Literal]]]:
    """Lower-cased URI -> (exact URI, or None for a rule that ignores case, and the rule); the first rule
    wins."""
    tiers: list[dict[bytes, tuple[bytes | None, Literal]]] = []
    for rule in rules:
        for uri in (rule.uri, rule.uri + b"\n"):
            _claim(tiers, uri, rule)
    return tiers


def _claim(tiers: list[dict[bytes, tuple[bytes | None, Literal]]], uri: bytes, rule: Literal) -> None:
    key = uri.lower()
    for tier in tiers:
        if key not in tier:
            tier[key] = (None if rule.ignore_case else uri, rule)
            return
        owner, _ = tier[key]
        if owner is None or (owner == uri and not rule.ignore_case):
            return  # an earlier rule always answers first
    tiers.append({key: (None if rule.ignore_case else uri, rule)})


def _map(variable: bytes, values: dict[bytes, bytes], volatile: bytes = b"volatile;") -> bytes:
    lines = [b" %s %s;\n" % (quote(key), quote(value)) for key, value in values.items()]
    return b"map $uri %s { %s\n%s}\n" % (variable, volatile, b"".join(lines))
