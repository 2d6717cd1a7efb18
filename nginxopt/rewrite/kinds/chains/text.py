"""Writes chains as lookups: the maps for the http block, and the statements that replace the `if`s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nginxopt.config import File, layout
from nginxopt.rewrite.kinds.chains.planning import PlannedChain
from nginxopt.rewrite.kinds.maps.text import apart
from nginxopt.text import Edit, encode

_CLEAR = 'rewrite "^a(?!)" /;'
"""A rule that matches nothing, which leaves `$1` to `$9` empty."""


def maps(compiled: PlannedChain) -> bytes:
    """Return the maps of a chain: the tree, and the classes and texts of its answers."""
    block, native = compiled.block.rstrip(), compiled.native
    if native.guard is None:
        head, _, _ = block.partition(b'    default "";\n')
        exact = [line for line in block.splitlines(keepends=True) if line.startswith(b'    "" ')]
        block = b"".join([head, b"    default %s;\n" % native.default, *exact, b"}"])
    else:
        head, default, rows = block.partition(b'    default "";\n')
        block = b"".join([head, default, b"    %s\n" % native.guard, rows])
    return b"\n" + block + b"\n" + native.maps + (encode(_of_answers(compiled)) if compiled.has_classes else b"")


def _of_answers(compiled: PlannedChain) -> str:
    """Return the maps of the class and of the text of each answer."""
    answers = list(enumerate(compiled.answers, 1))
    classes = [
        (number, str(compiled.classes.index((words, text is not None)) + 1)) for number, (words, text) in answers
    ]
    texts = [(number, layout.quoted(text)) for number, (_, text) in answers if text is not None]
    return _map(compiled, "class", classes) + _map(compiled, "text", texts)


def _map(compiled: PlannedChain, name: str, rows: Iterable[tuple[int, str]]) -> str:
    lines = [f"map ${compiled.rule} ${compiled.stem}_{name} {{", "    volatile;", '    default "";']
    lines += [f"    {number} {value};" for number, value in rows]
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
    yield "# A `set` would look it up twice: for the length, and for the text."
    yield f'if (${compiled.root} ~ "^(?<{compiled.rule}>[0-9]+)") {{'
    yield "}"
    for condition, words, text in _statements(compiled):
        yield f"if ({condition}) {{"
        # Not needed before a `rewrite`, whose pattern sets the captures, and after a `set`, as the final one follows.
        yield from [f"    {_CLEAR}"] if compiled.clears and words[0] == "return" else []
        yield f"    {' '.join([*map(layout.quoted, words), *text])};"
        yield "}"
    if compiled.clears:
        yield "# Leaves $1 to $9 empty if no condition was true, as the conditions did."
        yield _CLEAR


def _statements(compiled: PlannedChain) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
    """Yield the conditions, each with the words of its statement and its text."""
    if compiled.has_classes:
        for number, (words, has_text) in enumerate(compiled.classes, 1):
            text = [f"${compiled.stem}_text"] if has_text else _no_text(words)
            yield f"${compiled.stem}_class = {number}", words, text
        return
    for number, (words, value) in enumerate(compiled.answers, 1):
        yield f"${compiled.rule} = {number}", words, _no_text(words) if value is None else [layout.quoted(value)]


def _no_text(words: tuple[str, ...]) -> list[str]:
    return ['""'] if words[0] == "set" else []
