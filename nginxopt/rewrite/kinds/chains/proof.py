"""Proves that lookups answer every request like the chains of `if`s that they replace.

*Lemma 1.* Let the conditions C1..Cn of a chain compare one variable v, whose value does not change in between, and let
the statement of each end the script: a `return`, or a `rewrite` of any URI with a flag. Number the distinct statements,
and let `$pattern` be, for each value of v, the number of the statement of the first true condition, or empty if none is
true. Then `set $answer ""; if ($pattern ~ "^(?<answer>[0-9]+)") { }`, followed by an `if` for each number with its
statement, is equivalent to the chain. *Proof.* A true condition ends the script, so the first true one decides, and
`$answer` is the number of its statement. If none is true, `$answer` is empty and equals no number, and the script
continues after the `if`s.

*Lemma 2.* The same holds if all conditions set the same variable w, and `$pattern` is the number of the statement of
the last true condition, provided that neither v nor any assigned value depends on w, that w gets its value from nothing
else, and that each number is compared once. *Proof.* All true conditions set w, and nothing reads w between them. So
after the chain, w has the value of the last one, or its old value if none is true. The assigned values consist of
nginx's own variables, which do not change between the last true condition and the lookup.

*Lemma 3.* Let all conditions compare v with the strings K, no two of which differ only in the case of letters, and none
of which is empty. Let `$key` and `$number` be maps of v with the keys K and no patterns; the value of `$key` is the key
itself, and one of K by default. Then `set $answer ""; if (v = $key) { set $answer $number; }` sets the same `$answer`.
*Proof.* A map finds k in K for all spellings of k, and `$key` is then k. So v equals `$key` exactly if v is in K: the
default is in K, and v is not where it decides. Otherwise no `if` is true, which would replace the settings of a
location. No pattern is tried, so `$1` to `$9` stay, as after the conditions.

Captures: a condition with a pattern leaves `$1` to `$9` empty if it is false, and also if it is true and its pattern
has no groups. The statements that replace the chain do the same, unless nothing reads captures. Locations: a true `if`
in a location replaces its configuration by that of the `if`, which contains nothing but such statements in both texts.

The value of `$pattern` is proved like that of any map with patterns (`rust/src/prove_map`), by comparison with a map
that has the conditions as rows. The texts are parsed again, and must not differ in anything else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from nginxopt import _native, lazy
from nginxopt.config import Config, Directive, File, layout, load_text
from nginxopt.records import record
from nginxopt.rewrite.kinds.chains.reading import Answer, Condition, answer_of, condition
from nginxopt.rewrite.kinds.difference import (
    Lengths,
    Node,
    Replacement,
    Unproved,
    difference_of_files,
    nodes_of,
    words_of,
)
from nginxopt.rewrite.kinds.kind import Refutation
from nginxopt.rewrite.kinds.maps import reading
from nginxopt.rewrite.kinds.maps.reading import MapBlock
from nginxopt.rewrite.kinds.maps.stability import Definitions, definitions
from nginxopt.rewrite.mapfile import LONGEST_GROUP
from nginxopt.rewrite.surroundings import captures_may_be_read
from nginxopt.text import encode

if TYPE_CHECKING:
    from nginxopt.rewrite.kinds.chains.planning import ChainsPlan, PlannedChain

_PARAMETERS = frozenset(["hostnames", "include", "volatile"])
_CLEAR = ("rewrite", "^a(?!)", "/")
_GROUP = lazy.pattern(rb"\(\?P?[<'](\w+)[>']")
_CAPTURE = lazy.pattern(r"\$\{?[0-9]")


@record(eq=True)
class _Known:
    """The facts about the configuration that all chains share, and the emitted maps by variable."""

    defined: Definitions
    captures_matter: bool
    maps: Mapping[bytes, MapBlock]
    used: frozenset[str]

    def check_names(self, names: Collection[str]) -> None:
        """Check that neither nginx nor the configuration uses these names of variables."""
        if not all(re.fullmatch(r"[a-z_][a-z0-9_]*", name) for name in names):
            raise Unproved("the name of a variable is not plain, and nginx ignores the case of names")
        if any(name in self.used or self.defined.is_stable(f"${name}") for name in names):
            raise Unproved("the name of a variable is in use")


def prove(config: Config, plan: ChainsPlan, texts: Mapping[File, bytes], maps: bytes) -> Refutation | None:
    """Return the refutation of a chain of `plan` if the files have these `texts` and http includes `maps`.

    None if every chain is proved.
    """
    if not plan.compiled:
        return None
    try:
        generated = reading.parsed(maps)
    except ValueError as error:
        return Refutation(f"the result cannot be read: {error}")
    by_name = {block.variable: block for block in generated}
    if len(by_name) != len(generated):
        return Refutation("two maps have one variable")
    known = _Known(definitions(config), captures_may_be_read(config), by_name, _names(config))
    replacements = {each.chain.conditions[0].directive: _replacement(each, known) for each in plan.compiled}
    return difference_of_files(config, texts, replacements)


def _replacement(compiled: PlannedChain, known: _Known) -> Replacement[PlannedChain]:
    conditions = compiled.chain.conditions

    def check(originals: list[Node], emitted: list[Node]) -> Lengths:
        return len(conditions), _check(originals[: len(conditions)], emitted, known)

    return Replacement(compiled, f"the conditions on {conditions[0].variable}", check)


def _check(originals: list[Node], emitted: list[Node], known: _Known) -> int:
    """Check that the first of the `emitted` statements do what the conditions did; return how many they are."""
    strings = _read_strings(emitted)
    conditions = [_condition(node, known, keeps=strings is not None) for node in originals]
    if len({each.variable for each in conditions}) != 1:
        raise Unproved("they compare several variables")
    if len({each.assigned for each in conditions}) != 1:
        raise Unproved("they set several variables, or only some do")
    is_last = conditions[0].assigned is not None
    lookup = _Lookup.read(emitted, known, is_once=is_last, strings=strings)
    numbers: dict[Answer, list[int]] = {}
    for number, answer in lookup.answers.items():
        numbers.setdefault(answer, []).append(number)
    rows = []
    for each in reversed(conditions) if is_last else conditions:
        if len(numbers.get(each.answer, ())) != 1:
            raise Unproved("what a condition returned is returned no more, or for two numbers")
        rows.append((each, numbers[each.answer][0]))
    if strings is not None:
        _check_strings(rows, strings, known)
        return lookup.length
    root = known.maps[lookup.root]
    reached = reading.reachable(root.text, known.maps.values())
    text = b"\n".join([root.text, *(block.text for block in reached if block is not root)])
    known.check_names(set(_groups(text)))
    proof = _native.prove_map(_map(rows, lookup.root), text)
    if not proof.holds:
        raise Unproved(f"the number of the answer: {proof.refutation}", proof.counterexample)
    return lookup.length


def _condition(node: Node, known: _Known, *, keeps: bool) -> Condition:
    """Return the condition of an `if` that may be in a chain; `keeps` is whether the lookup leaves captures alone."""
    read = condition(node) if isinstance(node, Directive) else None
    if read is None:
        raise Unproved("one of them does something else")
    texts = [read.variable, read.evaluated]
    if _CAPTURE.search(" ".join(texts)) or not all(map(known.defined.is_stable, texts)):
        raise Unproved("its variable, or what it returns, is not stable")
    if read.assigned is not None:
        if not known.defined.is_only_kept(read.assigned[1:]):
            raise Unproved("the variable that it sets may have other values")
        if not all(map(known.defined.is_own, texts)):
            raise Unproved("its variable, or its value, may depend on what is set")
    if read.operator == "=" and "$" in read.value:
        raise Unproved("a condition compares with a variable")
    facts = _native.pattern_facts(read.pattern)
    if facts is None or not facts[0]:
        raise Unproved("PCRE may give up on a condition")
    _, groups, has_name = facts
    if has_name or (known.captures_matter and (groups or (read.operator == "=") is not keeps)):
        raise Unproved("a condition leaves captures that may be read")
    return read


@record(eq=True)
class _Lookup:
    """The statements of a lookup: the variable `root` of its map, its answers by number, and how many statements."""

    root: bytes
    answers: Mapping[int, Answer]
    length: int

    @classmethod
    def read(cls, emitted: list[Node], known: _Known, *, is_once: bool, strings: _Strings | None) -> _Lookup:
        """Parse the statements: those that read `$root`, the `if`s, and one that leaves `$1` to `$9` empty.

        With `is_once`, only one of the `if`s may be true. `strings` is a lookup of strings, which leaves `$1` to `$9`
        as they are.
        """
        answer, root = _read_look_up(emitted) if strings is None else (strings.answer, strings.number)
        clears = known.captures_matter and strings is None
        if root not in known.maps or encode(answer[1:]) in known.maps:
            raise Unproved("the lookup reads no map of ours, or sets its variable")
        known.check_names({answer[1:], *(name.decode("latin-1") for name in known.maps)})
        groups = {group for block in known.maps.values() for group in _groups(block.text)}
        if answer[1:] in groups or not groups.isdisjoint(name.decode("latin-1") for name in known.maps):
            raise Unproved("a group sets the variable of a map")
        branches = []
        for node in emitted[2:]:
            branch = _branch(node, clears=clears)
            if branch is None or not (branch[0] == answer or encode(branch[0][1:]) in known.maps):
                break  # an `if` that is not of the lookup
            branches.append(branch)
        length = 2 + len(branches)
        if clears:
            if len(emitted) <= length or words_of(emitted[length]) != _CLEAR:
                raise Unproved("$1 to $9 may be kept where no condition is true")
            length += 1
        return cls(root, _answers(answer, branches, known, is_once=is_once), length)


def _read_look_up(emitted: list[Node]) -> tuple[str, bytes]:
    """Return the variable and the map of `set $answer ""; if ($root ~ "^(?<answer>[0-9]+)") { }`."""
    words = words_of(emitted[0]) if emitted else ()
    reads = emitted[1] if len(emitted) > 1 else None
    if len(words) != 3 or (words[0], words[2]) != ("set", "") or not isinstance(reads, Directive):
        raise Unproved("nothing looks them up")
    answer, is_empty = words[1], reads.block is not None and not nodes_of(reads.block)
    if len(answer[1:]) > LONGEST_GROUP or reads.name != "if" or len(reads.args) != 3 or not is_empty:
        raise Unproved("nothing looks them up")
    root, operator, pattern = map(str, reads.args)
    if (root[:1], operator, pattern) != ("$", "~", f"^(?<{answer[1:]}>[0-9]+)"):
        raise Unproved("the lookup is read in another way")
    return answer, encode(root[1:])


@record(eq=True)
class _Strings:
    """A lookup of strings: the variable that is looked up, the maps of the key and of the number, and the variable that
    is set to the number. The names of both variables begin with `$`.
    """

    source: str
    key: bytes
    number: bytes
    answer: str


def _read_strings(emitted: list[Node]) -> _Strings | None:
    """Parse `set $answer ""; if ($source = $key) { set $answer $number; }`; None for anything else."""
    words = words_of(emitted[0]) if emitted else ()
    compares = emitted[1] if len(emitted) > 1 else None
    if len(words) != 3 or (words[0], words[2]) != ("set", "") or not isinstance(compares, Directive):
        return None
    if compares.name != "if" or len(compares.args) != 3 or compares.args[1] != "=" or compares.block is None:
        return None
    source, _, key = map(str, compares.args)
    inner = [words_of(each) for each in nodes_of(compares.block)]
    if len(inner) != 1 or len(inner[0]) != 3 or inner[0][:2] != ("set", words[1]):
        return None
    number = inner[0][2]
    if not key.startswith("$") or not number.startswith("$"):
        return None
    return _Strings(source, encode(key[1:]), encode(number[1:]), words[1])


def _check_strings(rows: list[tuple[Condition, int]], strings: _Strings, known: _Known) -> None:
    """Check that maps find the strings of the conditions, and for each the number of the first condition with it."""
    wanted: dict[str, str] = {}
    for each, number in rows:
        if each.operator != "=" or each.variable != strings.source:
            raise Unproved("they compare something else than strings, or another variable")
        wanted.setdefault(each.value, str(number))
    keys, default = _rows_of(known.maps.get(strings.key), strings.source)
    if keys != {text: text for text in wanted} or _table(known.maps.get(strings.number), strings.source) != wanted:
        raise Unproved("a string is not found, or another, or not with its answer")
    if default not in wanted:
        raise Unproved("a string that is not found may be equal to the default")
    if any(not text or text[0] in "~\\" for text in wanted):
        raise Unproved("a string is no plain key")
    if len({text.encode().lower() for text in wanted}) != len(wanted):
        raise Unproved("strings differ only in the case of letters")


_Branch = tuple[str, str, Answer]
"""An `if` with one statement: the variable that it compares, the value, and the statement."""


def _branch(node: Node, *, clears: bool) -> _Branch | None:
    """Parse an `if` with one statement; None for anything else. If it `clears`, a rule that clears `$1` to `$9`
    precedes the statement.
    """
    if not isinstance(node, Directive) or node.name != "if" or len(node.args) != 3 or node.args[1] != "=":
        return None
    inner = [words_of(each) for each in nodes_of(node.block)] if node.block is not None else []
    if clears and inner and inner[-1][0] == "return":
        if inner[0] != _CLEAR:
            return None
        inner = inner[1:]
    answer = answer_of(inner[0]) if len(inner) == 1 else None
    return None if answer is None else (str(node.args[0]), str(node.args[2]), answer)


def _answers(answer: str, branches: list[_Branch], known: _Known, *, is_once: bool) -> dict[int, Answer]:
    """Return the answer for each number: that of the first `if` that compares the number, or its class."""
    tables: dict[str, dict[str, str]] = {}

    def value(name: str, number: int) -> str:
        if name == answer:
            return str(number)
        if name not in tables:
            tables[name] = _table(known.maps.get(encode(name[1:])), answer)
            if not all(key.isdigit() for key in tables[name]):
                raise Unproved("a map of answers is something else")
        return tables[name].get(str(number), "")

    compared = {number for name, number, _ in branches if name == answer}
    for name, _, _ in branches:
        if name != answer:
            value(name, 0)
            compared |= tables[name].keys()
    if any(not text for _, text, _ in branches) or not all(re.fullmatch("[1-9][0-9]*", text) for text in compared):
        raise Unproved("an `if` may be true where no condition is")
    found: dict[int, Answer] = {}
    for number in map(int, compared):
        done = [answer for name, text, answer in branches if value(name, number) == text]
        if not done:
            raise Unproved("a number has no answer")
        if is_once and len(done) > 1:
            raise Unproved("a number has two answers")
        words, text = done[0]
        if text is not None and text.startswith("$") and encode(text[1:]) in known.maps:
            text = value(text, number)
            if not text:
                raise Unproved("a text is empty")
        found[number] = words, text
    return found


def _table(block: MapBlock | None, source: str) -> dict[str, str]:
    """Return the rows of a map as `_rows_of`, which must be empty by default."""
    rows, default = _rows_of(block, source)
    if default:
        raise Unproved("a map of answers is something else")
    return rows


def _rows_of(block: MapBlock | None, source: str) -> tuple[dict[str, str], str]:
    """Return the rows and the default of a map, which must look up `source`, be `volatile` and have plain keys only."""
    if block is None:
        raise Unproved("an `if` compares something else")
    (only,) = (node for node in load_text(block.text, context="http").main.block.nodes if isinstance(node, Directive))
    words = [words_of(row) for row in (nodes_of(only.block) if only.block is not None else [])]
    default = [row[1:] for row in words if row[0] == "default"]
    plain = [row for row in words if row[0] not in ("default", "volatile")]
    is_plain = all(len(row) == 2 and row[0] not in _PARAMETERS and row[0][:1] not in ("~", "\\") for row in plain)
    is_map = words_of(only)[1] == source and ("volatile",) in words and is_plain
    if not is_map or len(default) > 1 or any(len(value) != 1 for value in default):
        raise Unproved("a map of answers is something else")
    if len({row[0] for row in plain}) != len(plain):
        raise Unproved("a map of answers has a key twice")
    return {row[0]: row[1] for row in plain}, default[0][0] if default else ""


def _map(rows: list[tuple[Condition, int]], name: bytes) -> bytes:
    """Return the map to which the conditions are equivalent: their patterns in order, and the empty string."""
    try:
        first = _native.Patterns([each.pattern for each, _ in rows]).first(b"")
    except ValueError:
        raise Unproved("which condition is true of an empty value is not known") from None
    lines = [b"map %s $%s {" % (encode(rows[0][0].variable), name), b"volatile;", b'default "";']
    lines += [] if first is None else [b'"" %d;' % rows[first][1]]
    for each, number in rows:
        key = f"~{each.pattern.decode('ascii')}" if each.operator == "=" else each.operator + each.value
        lines.append(encode(f"{layout.quoted(key)} {number};"))
    return b"\n".join([*lines, b"}"])


def _groups(text: bytes) -> list[str]:
    """Return the names of the groups in patterns, each of which defines a variable."""
    return [group.decode("latin-1") for group in _GROUP.findall(text)]


def _names(config: Config) -> frozenset[str]:
    """Return all words of a configuration that may be names of variables."""
    return frozenset(name for file in config.files for name in _words_in(file.source.data))


def _words_in(data: bytes) -> Iterator[str]:
    return (word.decode("ascii").lower() for word in re.findall(rb"[A-Za-z0-9_]+", data))
