"""Finds chains of `if`s, decides which become a lookup and why other conditions stay, and writes the lookups.

A chain is a sequence of `if`s that compare the same variable and contain one statement each. A lookup is a map for the
http block, and the statements that replace the `if`s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby

from nginxopt import _native, lazy
from nginxopt.config import Block, Comment, Config, Directive, File, layout
from nginxopt.faults import isolated
from nginxopt.records import record
from nginxopt.rewrite.kinds.chains import reading
from nginxopt.rewrite.kinds.chains.reading import Answer, Condition, statement_of
from nginxopt.rewrite.kinds.kind import UNPROVED, Cost, ListsPlan, PlanRequest, StatementCost, apart, check_compiles
from nginxopt.rewrite.kinds.maps.stability import Definitions, definitions
from nginxopt.rewrite.mapfile import short_stem, unused_stem
from nginxopt.rewrite.surroundings import captures_may_be_read
from nginxopt.text import Edit, Span, encode

FEWEST = 8
"""Evaluating fewer conditions is faster than a lookup: a condition takes 550 to 950 instructions, a lookup 4,400."""
_PLACES = frozenset(["server", "location"])

REASONS = {
    "unstable-variable": "its variable is unknown, or may change before it is evaluated again",
    "unstable-text": "it returns a variable that is unknown, or may change before it is evaluated again",
    "set-variable": "what it sets may be nginx's or a map's, or what it reads may depend on what is set",
    "captures-returned": "it returns a capture, which only its own pattern sets",
    "captures-read": "its groups may be read later, and only its own pattern sets them",
    "captures-kept": "it leaves captures alone that may be read later, and no key of a map stands for its string",
    "named-group": "a named group sets a variable that others may read",
    "unread-pattern": "its pattern is not read exactly",
    "unbounded-pattern": "PCRE may give up on its pattern; nginx then responds with 500",
    "variable-value": "it compares with another variable",
    "comment-inside": "its block has a comment",
    "evaluation-depth": "with maps of the configuration, its lookup would nest more evaluations than nginx does",
    "evaluation-count": "its lookup would evaluate `volatile` maps too often",
    "long-token": "a parameter would be longer than nginx accepts",
    "not-worse": "a lookup would try no fewer patterns",
    "too-much-work": "its lookup takes more work than a chain of this size may take",
    "internal-error": "nginxopt has a bug that this chain shows: please report the error",
    "unproved": "its lookup is not proved, which is a gap in nginxopt: please report this chain",
}
"""The codes of the reasons why a condition stays, each with its sentence."""

_OF_MAPS = {"unbounded-row": "unbounded-pattern", "long-token": "long-token", "too-much-work": "too-much-work"}
"""Reasons why the map of a chain cannot be compiled, as reasons for the chain. Any other makes it `not-worse`."""

_CAPTURE = lazy.pattern(r"\$\{?[0-9]")
_RESERVED = frozenset(["default", "hostnames", "include", "volatile"])
_FEWEST_STRINGS = 16
"""From this number of strings on, a lookup is faster than comparing them one by one."""
_FEW_ANSWERS = 3
"""Up to this number of answers, each has its own `if` that compares a number; more answers are put into maps."""
_LONGEST = 3_900
"""The longest quoted token, in bytes, that certainly fits into nginx's buffer (`NGX_CONF_BUFFER`)."""


@record(eq=True)
class Chain:
    """Consecutive conditions of a file on the same variable that all end the script, or all set the same variable."""

    file: File
    conditions: tuple[Condition, ...]

    @property
    def by_precedence(self) -> tuple[Condition, ...]:
        """The conditions in the order in which the first true one decides."""
        return self.conditions if self.conditions[0].assigned is None else self.conditions[::-1]


def chains(config: Config, subject: Collection[File]) -> Iterator[Chain]:
    """Yield the sequences of at least `FEWEST` conditions in the files `subject`."""
    for file in config.files:
        if file in subject:
            contexts = config.contexts(file)
            takes_ifs = bool(contexts) and all(context[-1:] and context[-1] in _PLACES for context in contexts)
            yield from _in_block(file, file.block, takes_ifs=takes_ifs)


def _in_block(file: File, block: Block, *, takes_ifs: bool) -> Iterator[Chain]:
    conditions: list[Condition] = []
    for node in block.nodes:
        if isinstance(node, Comment):
            continue
        found = reading.condition(node) if takes_ifs and node.name == "if" and isinstance(node, Directive) else None
        if conditions and (found is None or not _go_together(found, conditions[-1])):
            yield from _whole(file, conditions)
            conditions = []
        if found is not None:
            conditions.append(found)
        elif isinstance(node, Directive) and node.block is not None:
            yield from _in_block(file, node.block, takes_ifs=node.name in _PLACES)
    yield from _whole(file, conditions)


def _go_together(condition: Condition, other: Condition) -> bool:
    return (condition.variable, condition.assigned) == (other.variable, other.assigned)


def _whole(file: File, conditions: list[Condition]) -> Iterator[Chain]:
    if len(conditions) >= FEWEST:
        yield Chain(file, tuple(conditions))


@dataclass(frozen=True)
class PlannedChain:
    """A chain that becomes a lookup.

    Attributes:
        chain: The conditions.
        stem: The prefix of the variables of the lookup.
        native: The map from the variable to the number of an answer, compiled to a tree; None if all conditions compare
            strings, and hash tables find them.
        block: That map before it was compiled.
        clears: Whether the lookup must leave `$1` to `$9` empty, like conditions with patterns.
            of: The number of conditions of the whole chain, if these are only the first because all would take too much
            work; 0 if these are all.
    """

    chain: Chain
    stem: str
    native: _native.CompiledMap | None
    block: bytes
    clears: bool
    of: int = 0

    @property
    def rule(self) -> str:
        """The variable with the number of the answer; also the name of a group."""
        return f"{short_stem(self.stem)}_answer"

    @property
    def root(self) -> str:
        """The variable of the map that returns this number."""
        return f"{self.stem}_number" if self.native is None else root(self.stem)

    @property
    def key(self) -> str:
        """The variable of the map that returns the string equal to the variable, if one is, and if `native` is None."""
        return f"{self.stem}_key"

    @cached_property
    def strings(self) -> dict[str, int]:
        """The strings that the conditions compare with, if all do, each with the number of its answer."""
        return _strings(self.chain)

    @cached_property
    def answers(self) -> list[Answer]:
        """The distinct answers: what the conditions do if they are true. Their numbers count from 1."""
        return _answers(self.chain)

    @cached_property
    def classes(self) -> list[tuple[tuple[str, ...], bool]]:
        """The distinct statements of the answers without their texts, each with whether it has a text."""
        return list(dict.fromkeys((words, text is not None) for words, text in self.answers))

    @property
    def has_classes(self) -> bool:
        """Whether maps return the class and the text of an answer, so that an `if` per class suffices."""
        return len(self.answers) > max(_FEW_ANSWERS, len(self.classes))

    @property
    def variables(self) -> list[str]:
        """The variables that the lookup defines."""
        of_classes = [f"{self.stem}_class", f"{self.stem}_text"] if self.has_classes else []
        own = [self.key] if self.native is None else self.native.variables
        return [self.rule, self.root, *of_classes, *own]

    @property
    def keys(self) -> list[list[bytes]]:
        """The keys of each of its hash tables."""
        numbers = [b"%d" % number for number in range(1, len(self.answers) + 1)]
        own = [[*map(encode, self.strings)]] * 2 if self.native is None else [*self.native.keys, [b""]]
        return [keys for keys in [*own, *([numbers] * 2 if self.has_classes else [])] if keys]

    @property
    def before(self) -> Cost:
        """The number of patterns that the chain tries for a value that none matches, without string comparisons."""
        return Cost.of(sum(condition.operator != "=" for condition in self.chain.conditions))

    @property
    def after(self) -> Cost:
        """The same number for the lookup."""
        return Cost.of(0) if self.native is None else Cost(*self.native.after)


@record(eq=True)
class KeptCondition:
    """A condition of a chain that stays, with the code of the reason."""

    file: File
    condition: Condition
    reason: str

    @property
    def cost(self) -> Cost:
        """The number of patterns that the condition tries for a value that it does not match."""
        return Cost.of(int(self.condition.operator != "="))


@record(eq=True)
class ChainsPlan(ListsPlan[PlannedChain]):
    """The chains that become lookups, and the conditions that stay, both in the order of the text."""

    unit = "condition"
    compiled: tuple[PlannedChain, ...] = ()
    kept: tuple[KeptCondition, ...] = ()
    stem: str = ""

    @property
    def name_of_file(self) -> str:
        """The prefix of its variables."""
        return self.stem

    @property
    def total(self) -> int:
        """The number of all conditions."""
        return self.moved + len(self.kept)

    @property
    def moved(self) -> int:
        """The number of conditions that a lookup replaces."""
        return sum(len(compiled.chain.conditions) for compiled in self.compiled)

    def reasons(self) -> Counter[str]:
        """Return the number of conditions that stay, by reason."""
        return Counter(each.reason for each in self.kept)

    def without(self, compiled: PlannedChain, reason: str = UNPROVED) -> ChainsPlan:
        """Return the plan in which a chain stays."""
        others = tuple(each for each in self.compiled if each is not compiled)
        return replace(self, compiled=others, kept=(*self.kept, *_kept(compiled.chain, reason)))

    def changing(self) -> Iterator[tuple[File, int]]:
        """Yield the conditions that a lookup replaces, by their offsets."""
        for compiled in self.compiled:
            for condition in compiled.chain.conditions:
                yield compiled.chain.file, condition.directive.span.start

    def sources(self) -> Iterator[str]:
        """Yield the variables of the conditions that are looked up."""
        return (compiled.chain.conditions[0].variable for compiled in self.compiled)

    def owner(self, variable: str) -> PlannedChain | None:
        """Return the chain whose lookup defines a variable."""
        return next((each for each in self.compiled if variable in each.variables), None)

    def statement_costs(self) -> Iterator[StatementCost]:
        """Yield what the chains cost that become lookups."""
        for each in self.compiled:
            first, last = each.chain.conditions[0].directive, each.chain.conditions[-1].directive
            span = Span(first.span.start, last.span.end)
            yield StatementCost(each.chain.file.source, span, each.before, each.after)


def plan(asked: PlanRequest) -> ChainsPlan:
    """Plan the chains in some files. Linear in the number of conditions, except for the native planner.

    Its work is bounded by n log n, times the effort. It is less for a remark, and of a chain that exceeds it, the
    beginning is planned.
    """
    config, options = asked.config, asked.options
    found = list(chains(config, asked.files)) if options.groups else []
    if not found:
        return ChainsPlan()
    defined, captures_matter = definitions(config), captures_may_be_read(config)
    stem = unused_stem(options.name, dict.fromkeys(sequence.file for sequence in found), config, "chains")
    compiled: list[PlannedChain] = []
    kept: list[KeptCondition] = []
    for chain, reason in _chains(found, defined, captures_matter=captures_matter):
        if reason is not None:
            kept += _kept(chain, reason)
            continue
        result: PlannedChain | str = "internal-error"
        first = chain.conditions[0].directive
        with isolated("planning this chain", source=first.source, span=first.name.span):
            compile_ = partial(
                _compile,
                captures_matter=captures_matter,
                stem=f"{stem}_c{len(compiled) + 1}",
                effort=options.effort,
                for_remark=options.for_remark,
            )
            result = compile_(chain)
            if result == "too-much-work" and options.for_remark:
                result = _of_beginning(chain, compile_)
        if isinstance(result, PlannedChain):
            compiled.append(result)
            rest = chain.conditions[len(result.chain.conditions) :]
            kept += _kept(Chain(chain.file, rest), "too-much-work")
        else:
            kept += _kept(chain, result)
    return ChainsPlan(tuple(compiled), tuple(kept), stem)


def _chains(found: list[Chain], defined: Definitions, *, captures_matter: bool) -> Iterator[tuple[Chain, str | None]]:
    """Split sequences where the reason to stay changes. Yield each part with its reason; None if it may move."""
    for sequence in found:
        conditions = sequence.conditions
        reasons = [_reason(condition, defined, captures_matter=captures_matter) for condition in conditions]
        keeps = [captures_matter and condition.operator == "=" for condition in conditions]
        if captures_matter:
            clash = _clashing(conditions)
            reasons = [
                "captures-kept" if reason is None and condition in clash else reason
                for condition, reason in zip(conditions, reasons, strict=True)
            ]
        for (reason, _), part in groupby(zip(conditions, reasons, keeps, strict=True), key=lambda each: each[1:]):
            chain = Chain(sequence.file, tuple(condition for condition, *_ in part))
            yield chain, "not-worse" if reason is None and len(chain.conditions) < FEWEST else reason


def _clashing(conditions: Iterable[Condition]) -> set[Condition]:
    """Return the comparisons with strings that cannot be keys, or that differ from an earlier one only in case."""
    found: dict[str, str] = {}
    return {
        condition
        for condition in conditions
        if condition.operator == "="
        and not (
            _is_key(condition.value) and found.setdefault(_lowered(condition.value), condition.value) == condition.value
        )
    }


def _is_key(text: str) -> bool:
    """Return whether a string can be a key of a map as it is."""
    return text != "" and text[0] not in "~\\" and text not in _RESERVED


def _lowered(text: str) -> str:
    """Return a string in lower case, as `ngx_hash_strlow` writes it: only ASCII letters change."""
    return re.sub("[A-Z]+", lambda match: match[0].lower(), text)


def _strings(chain: Chain) -> dict[str, int]:
    numbers = {answer: number for number, answer in enumerate(_answers(chain), 1)}
    found: dict[str, int] = {}
    for condition in chain.by_precedence:
        found.setdefault(condition.value, numbers[condition.answer])
    return found


def _kept(chain: Chain, reason: str) -> list[KeptCondition]:
    return [KeptCondition(chain.file, condition, reason) for condition in chain.conditions]


def _reason(condition: Condition, defined: Definitions, *, captures_matter: bool) -> str | None:
    return next(_reasons(condition, defined, captures_matter=captures_matter), None)


def _reasons(condition: Condition, defined: Definitions, *, captures_matter: bool) -> Iterator[str]:
    """Yield the reasons why a condition must stay."""
    if layout.has_comments_inside(condition.directive):
        yield "comment-inside"
    if not defined.is_stable(condition.variable):
        yield "unstable-variable"
    if _CAPTURE.search(condition.evaluated):
        yield "captures-returned"
    if not defined.is_stable(condition.evaluated):
        yield "unstable-text"
    if condition.assigned is not None and not (
        defined.is_only_kept(condition.assigned[1:]) and defined.is_own(condition.variable + " " + condition.evaluated)
    ):
        yield "set-variable"
    if condition.operator == "=" and "$" in condition.value:
        yield "variable-value"
    facts = _native.pattern_facts(condition.pattern)
    if facts is None:
        check_compiles(condition.pattern, condition.directive, condition.directive.args[2])
        yield "unread-pattern"
        return
    always_answers, groups, has_name = facts
    if not always_answers or _first([condition], b"") is None:
        yield "unbounded-pattern"
    if has_name:
        yield "named-group"
    if groups and captures_matter:
        yield "captures-read"
    words = [*condition.words, condition.text or "", f"~*{condition.pattern.decode('utf-8', 'surrogateescape')}"]
    if any(len(encode(layout.quoted(word))) > _LONGEST for word in words):
        yield "long-token"


def _first(conditions: list[Condition], subject: bytes) -> int | None:
    """Return the number, from 1, of the first condition that is true for a value; 0 if none is, None if not known."""
    try:
        first = _native.Patterns([condition.pattern for condition in conditions]).first(subject)
    except ValueError:
        return None
    return 0 if first is None else first + 1


def root(stem: str) -> str:
    """Return the variable of the map that returns the number of an answer."""
    return f"{stem}_pattern"


def _answers(chain: Chain) -> list[Answer]:
    return list(dict.fromkeys(condition.answer for condition in chain.conditions))


def _compile(chain: Chain, *, stem: str, captures_matter: bool, effort: float, for_remark: bool) -> PlannedChain | str:
    """Return a chain as a lookup, or the reason why it stays."""
    if all(condition.operator == "=" for condition in chain.conditions):
        if len(chain.conditions) >= _FEWEST_STRINGS and not _clashing(chain.conditions):
            return PlannedChain(chain, stem, None, b"", clears=False)
        if captures_matter:
            return "not-worse"
    numbers = {answer: number for number, answer in enumerate(_answers(chain), 1)}
    conditions = chain.by_precedence
    first = _first(list(conditions), b"")
    if first is None:
        return "unread-pattern"
    rows = [(row_of(condition), numbers[condition.answer]) for condition in conditions]
    of_empty = numbers[conditions[first - 1].answer] if first else None
    block = text_of_map(chain.conditions[0].variable, root(stem), rows, of_empty)
    try:
        native = _native.compile_map(block, stem=f"{short_stem(stem)}_p_", share=effort, for_remark=for_remark)
    except (ValueError, _native.RefusedRow):
        return "unread-pattern"
    if isinstance(native, _native.StayingMap):
        return _OF_MAPS.get(native.reason, "not-worse")
    compiled = PlannedChain(chain, stem, native, block, captures_matter)
    return compiled if _is_better(compiled) else "not-worse"


def _of_beginning(chain: Chain, compile_: Callable[[Chain], PlannedChain | str]) -> PlannedChain | str:
    """Return a lookup for the first half of the conditions, or a quarter and so on; otherwise the reason against it."""
    count = len(chain.conditions) // 2
    while count >= FEWEST:
        compiled = compile_(Chain(chain.file, chain.conditions[:count]))
        if isinstance(compiled, PlannedChain):
            return replace(compiled, of=len(chain.conditions))
        count //= 2
    return "too-much-work"


def _is_better(compiled: PlannedChain) -> bool:
    """Return whether a lookup costs less than the conditions. Eight string comparisons cost as much as a pattern."""
    before = compiled.before.worst + (len(compiled.chain.conditions) - compiled.before.worst) // 8
    return before >= FEWEST and before > compiled.after.worst


def row_of(condition: Condition) -> str:
    """Return the key of a map row that matches the values for which a condition is true, except the empty string."""
    if condition.operator == "=":
        return "~" + condition.pattern.decode("ascii")
    return condition.operator + condition.value


def text_of_map(variable: str, name: str, rows: list[tuple[str, int]], of_empty: int | None) -> bytes:
    """Return a map. The empty string is a plain key, as maps try no patterns on it (`ngx_http_map_find`)."""
    lines = [f"map {variable} ${name} {{", "    volatile;", '    default "";']
    lines += [] if of_empty is None else [f'    "" {of_empty};']
    lines += [f"    {layout.quoted(key)} {number};" for key, number in rows]
    return encode("\n".join([*lines, "}", ""]))


# Text

_CLEAR = 'rewrite "^a(?!)" /;'
"""A rule that matches nothing, which leaves `$1` to `$9` empty."""


def maps(compiled: PlannedChain) -> bytes:
    """Return the maps of a chain: the tree, and the classes and texts of its answers."""
    block, native = compiled.block.rstrip(), compiled.native
    of_answers = encode(_of_answers(compiled)) if compiled.has_classes else b""
    if native is None:
        return encode(_of_strings(compiled)) + of_answers
    if native.guard is None:
        head, _, _ = block.partition(b'    default "";\n')
        exact = [line for line in block.splitlines(keepends=True) if line.startswith(b'    "" ')]
        block = b"".join([head, b"    default %s;\n" % native.default, *exact, b"}"])
    else:
        head, default, rows = block.partition(b'    default "";\n')
        block = b"".join([head, default, b"    %s\n" % native.guard, rows])
    return b"\n" + block + b"\n" + native.maps + of_answers


def _of_answers(compiled: PlannedChain) -> str:
    """Return the maps of the class and of the text of each answer."""
    answers = list(enumerate(compiled.answers, 1))
    classes = [
        (number, str(compiled.classes.index((words, text is not None)) + 1)) for number, (words, text) in answers
    ]
    texts = [(number, layout.quoted(text)) for number, (_, text) in answers if text is not None]
    of_class, of_text = f"{compiled.stem}_class", f"{compiled.stem}_text"
    return _map(f"${compiled.rule}", of_class, classes) + _map(f"${compiled.rule}", of_text, texts)


def _of_strings(compiled: PlannedChain) -> str:
    """Return the maps from the variable to the string that it may be equal to, and to the number of the answer."""
    quoted = [(layout.quoted(text), number) for text, number in compiled.strings.items()]
    variable = compiled.chain.conditions[0].variable
    # The default must differ from the variable, so that the `if` in a location is false without a match.
    keys = _map(variable, compiled.key, ((text, text) for text, _ in quoted), default=quoted[0][0])
    return keys + _map(variable, compiled.root, ((text, str(number)) for text, number in quoted))


def _map(source: str, name: str, rows: Iterable[tuple[object, str]], *, default: str = '""') -> str:
    lines = [f"map {source} ${name} {{", "    volatile;", f"    default {default};"]
    lines += [f"    {key} {value};" for key, value in rows]
    return "\n".join(["", *lines, "}", ""])


def edits(compiled: Iterable[PlannedChain], maps_name: str) -> Mapping[File, list[Edit]]:
    """Return the edits that replace the `if`s of chains."""
    found: dict[File, list[Edit]] = {}
    for each in compiled:
        first, *others = (condition.directive for condition in each.chain.conditions)
        indent = f"\n{layout.indent(first)}"
        text = indent.join([f"# {_note(each, maps_name)}", *statements(each)])
        changes = [layout.rewrite(first, text), *map(layout.delete, others)]
        found.setdefault(each.chain.file, []).extend(change.edit for change in changes)
    return {file: apart(edits) for file, edits in found.items()}


def _note(compiled: PlannedChain, maps_name: str) -> str:
    conditions = compiled.chain.conditions
    return f"{len(conditions):,} conditions on {conditions[0].variable} here are looked up in the maps of {maps_name}."


def statements(compiled: PlannedChain) -> Iterator[str]:
    """Yield the lines that look up the answer and do what it says, in place of the `if`s."""
    yield f'set ${compiled.rule} "";'
    if compiled.native is None:
        yield "# A map ignores case, so what it finds is compared."
        yield f"if ({compiled.chain.conditions[0].variable} = ${compiled.key}) {{"
        yield f"    set ${compiled.rule} ${compiled.root};"
        yield "}"
    else:
        yield from _matched(compiled)
    for condition, words, text in _statements(compiled):
        yield f"if ({condition}) {{"
        # Not needed before a `rewrite`, whose pattern sets the captures, and after a `set`, as the final one follows.
        yield from [f"    {_CLEAR}"] if compiled.clears and words[0] == "return" else []
        yield f"    {' '.join(map(layout.quoted, statement_of((words, text))))};"
        yield "}"
    if compiled.clears:
        yield "# Leaves $1 to $9 empty if no condition was true, as the conditions did."
        yield _CLEAR


def _matched(compiled: PlannedChain) -> Iterator[str]:
    """Yield the statements that set the number of the answer to what the tree finds."""
    yield "# A `set` would look it up twice: for the length, and for the text."
    yield f'if (${compiled.root} ~ "^(?<{compiled.rule}>[0-9]+)") {{'
    yield "}"


def _statements(compiled: PlannedChain) -> Iterator[tuple[str, tuple[str, ...], str | None]]:
    """Yield the conditions, each with the words of its statement and its text."""
    if compiled.has_classes:
        for number, (words, has_text) in enumerate(compiled.classes, 1):
            yield f"${compiled.stem}_class = {number}", words, f"${compiled.stem}_text" if has_text else _no_text(words)
        return
    for number, (words, text) in enumerate(compiled.answers, 1):
        yield f"${compiled.rule} = {number}", words, _no_text(words) if text is None else text


def _no_text(words: tuple[str, ...]) -> str | None:
    return "" if words[0] == "set" else None
