"""Edits that keep the layout: what remains, what is deleted, and that no other byte changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nginxopt.config import Block, Bulk, Directive, layout, load_text
from nginxopt.config.tree import FOLD
from nginxopt.text import Change, apply, decode
from tests.rows import every_row

Tree = list[tuple[tuple[str, ...], "Tree | None"]]

LINES = ["new one;", "new two;"]
NEW: Tree = [(("new", "one"), None), (("new", "two"), None)]

WORDS = st.sampled_from(
    ["a", "8080", "$host", "${x}y", r"~\.php$", '"two words"', "'it is'", '"#no"', "x#y", '"a\\"b"', '"}"', "é"]
)


def tree(block: Block) -> Tree:
    """The words of every directive, nested as they are."""
    return [
        ((str(directive.name), *map(str, directive.args)), tree(directive.block) if directive.block else None)
        for directive in block.directives()
    ]


def comments(data: bytes) -> Counter[str]:
    """The comments of a text, wherever they stand, without line ends."""
    texts: Counter[str] = Counter()
    stack = [load_text(data).main.block]
    while stack:
        for node in stack.pop().nodes:
            if isinstance(node, Directive):
                texts.update(comment.text.rstrip("\r") for comment in node.comments)
                stack += [node.block] if node.block else []
            elif isinstance(node, Bulk):
                texts.update(comment.text.rstrip("\r") for directive in node for comment in directive.comments)
                for before, behind in pairwise(node):
                    between = decode(node.source.data[before.span.end : behind.span.start])
                    texts.update(comment.rstrip("\r") for comment in re.findall("#.*", between))
            else:
                texts[node.text.rstrip("\r")] += 1
    return texts


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """A configuration in any layout: blocks in one line, comments anywhere, tabs, CRLF, bytes that are not UTF-8."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    number = iter(range(1000))

    def comment() -> str:
        return f"# c{next(number)} \udcff;{{" + newline

    def gap(*more: str) -> str:
        kind = draw(st.sampled_from(["", " ", "\t", newline, newline + "  ", newline + "\t", "#", *more]))
        return (draw(st.sampled_from([" ", newline])) + comment()) if kind == "#" else kind

    def statement(depth: int) -> str:
        kind = draw(st.sampled_from(["plain"] * 5 + ["block"] * 3 * (depth < 3) + ["run"] * (depth < 2)))
        if kind == "run":
            return "".join(f"rewrite ^/{at}$ /x{gap('') if at == 3 else newline};" for at in range(FOLD))
        name = f"d{next(number)}"
        words = "".join((gap() or " ") + word for word in draw(st.lists(WORDS, max_size=2)))
        if kind == "plain":
            return f"{name}{words};"
        return f"{name}{words} {{{body(depth + 1)}}}"

    def body(depth: int) -> str:
        parts = [gap() + statement(depth) for _ in range(draw(st.integers(0, 3)))]
        return "".join(parts) + gap()

    return body(0).encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Place:
    """A directive of a text, with the directives among which it stands."""

    directive: Directive
    around: Tree
    index: int


def places(block: Block, subtree: Tree) -> list[Place]:
    """Every directive that can be edited by itself; `found` is the tree of the block."""
    result = []
    index = 0
    for node in block.nodes:
        if isinstance(node, Bulk):
            index += len(node)
        elif isinstance(node, Directive):
            result.append(Place(node, subtree, index))
            if node.block:
                inner = subtree[index][1]
                assert inner is not None
                result += places(node.block, inner)
            index += 1
    return result


def changed(data: bytes, change: Change) -> bytes:
    """The text with one change, none of it outside the lines between the first and the last byte of the change."""
    assert change.source.data == data
    return apply(data, [change.edit])


def same_line_ends(old: bytes, new: bytes) -> bool:
    """Whether every line of the new text ends as those of the old one did."""
    ends = set(re.findall(rb"\r?\n", old))
    return len(ends) != 1 or set(re.findall(rb"\r?\n", new)) <= ends


def inserted(old: bytes, new: bytes, count: int) -> bool:
    """Whether the new text is the old one with `count` lines more, and no other line touched."""
    before, after = old.splitlines(), new.splitlines()
    return any(after[:at] + after[at + count :] == before for at in range(len(after)))


def stands_alone(directive: Directive) -> bool:
    """Whether a directive has its line, or lines, for itself and a comment."""
    data, span = directive.source.data, directive.span
    head = data[data.rfind(b"\n", 0, span.start) + 1 : span.start]
    tail = data[span.end :].partition(b"\n")[0].strip()
    return not head.strip(b" \t") and (not tail or tail.startswith(b"#"))


def pick(draw: st.DataObject, data: bytes) -> tuple[Tree, Place] | None:
    """The tree of a text and one of its directives, None if there is none."""
    block = load_text(data).main.block
    expected = tree(block)
    candidates = places(block, expected)
    return (expected, draw.draw(st.sampled_from(candidates))) if candidates else None


laws = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@laws
@given(texts(), st.data())
def test_delete(data: bytes, draw: st.DataObject) -> None:
    """A deleted directive is gone, with its line if it has one to itself; everything else stays, comments too."""
    if not (picked := pick(draw, data)):
        return
    expected, place = picked
    directive = place.directive
    inside = comments(data[directive.block.span.start + 1 : directive.block.span.end - 1]) if directive.block else {}
    del place.around[place.index]
    new = changed(data, layout.delete(directive))
    assert tree(load_text(new).main.block) == expected
    assert comments(new) == comments(data) - Counter(inside)
    assert same_line_ends(data, new)
    if (
        stands_alone(directive)
        and not directive.comments
        and b"\n" not in data[directive.span.start : directive.span.end]
    ):
        rest = data[directive.span.end :].partition(b"\n")[0]
        assert len(data.splitlines()) - len(new.splitlines()) == (0 if b"#" in rest else 1)


@laws
@given(texts(), st.sampled_from([layout.after, layout.before]), st.data())
def test_beside(data: bytes, edit: Callable[[Directive | Bulk, Sequence[str]], Change], draw: st.DataObject) -> None:
    """A line added next to a directive is indented like it, and no other line changes."""
    if not (picked := pick(draw, data)):
        return
    expected, place = picked
    at = place.index + (edit is layout.after)
    place.around[at:at] = NEW
    change = edit(place.directive, LINES)
    new = changed(data, change)
    assert tree(load_text(new).main.block) == expected
    assert comments(new) == comments(data)
    assert same_line_ends(data, new)
    assert not len(change.edit.span)
    if stands_alone(place.directive):
        assert inserted(data, new, 2)
        assert all(
            (layout.indent(place.directive) + line).encode() in [line_.rstrip(b"\r") for line_ in new.split(b"\n")]
            for line in LINES
        )


@laws
@given(texts(), st.sampled_from([layout.append, layout.prepend]), st.data())
def test_within(data: bytes, edit: Callable[[Block, Sequence[str]], Change], draw: st.DataObject) -> None:
    """A line added to a block, or to the file, is its first or last."""
    block = load_text(data).main.block
    expected = tree(block)
    blocks = [(block, expected)]
    for place in places(block, expected):
        inner = place.around[place.index][1]
        if place.directive.block and inner is not None:
            blocks.append((place.directive.block, inner))
    chosen, inside = draw.draw(st.sampled_from(blocks))
    at = len(inside) if edit is layout.append else 0
    inside[at:at] = NEW
    change = edit(chosen, LINES)
    new = changed(data, change)
    assert tree(load_text(new).main.block) == expected
    assert comments(new) == comments(data)
    assert same_line_ends(data, new)
    assert not data[change.edit.span.start : change.edit.span.end].strip(b" \t\r")


@laws
@given(texts(), st.data())
def test_rewrite(data: bytes, draw: st.DataObject) -> None:
    """Rewriting a directive keeps all others, and the comments between its words."""
    if not (picked := pick(draw, data)):
        return
    expected, place = picked
    directive = place.directive
    inside = comments(data[directive.block.span.start + 1 : directive.block.span.end - 1]) if directive.block else {}
    place.around[place.index] = (("new", "one"), [(("new", "two"), None)])
    new = changed(data, layout.rewrite(directive, "new one {\n    new two;\n}"))
    assert tree(load_text(new).main.block) == expected
    assert comments(new) == comments(data) - Counter(inside)
    assert same_line_ends(data, new)


@laws
@given(texts(), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), st.data())
def test_replace(data: bytes, word: str, draw: st.DataObject) -> None:
    """A replaced word reads as the new word, whatever it is, and every other byte stays."""
    if not (picked := pick(draw, data)):
        return
    expected, place = picked
    if not place.directive.args:
        return
    number = draw.draw(st.integers(0, len(place.directive.args) - 1))
    words, block = place.around[place.index]
    place.around[place.index] = ((*words[: number + 1], word, *words[number + 2 :]), block)
    token = place.directive.args[number]
    change = layout.replace(place.directive, token, word)
    assert change.edit.span == token.span
    new = changed(data, change)
    assert tree(load_text(new).main.block) == expected
    assert comments(new) == comments(data)


TABLE = [
    ("a comment behind it", "a;\nb; # why\nc;\n", "a;\n# why\nc;\n"),
    ("the last of the file, without line end", "a;\nb;", "a;\n"),
    ("in the middle of a line", "x { a; b; c; }\n", "x { a; c; }\n"),
    ("the first of a line", "  b; c;\n", "  c;\n"),
    ("the last of a line", "x { a; b;\n}\n", "x { a;\n}\n"),
    ("alone in a block", "x { b; }\n", "x { }\n"),
    ("CRLF", "a;\r\n\tb;\r\nc;\r\n", "a;\r\nc;\r\n"),
    ("more than one line", "a;\nb 1\n  2\n  3;\nc;\n", "a;\nc;\n"),
    ("comments between words", "a;\n  b 1 # one\n    # two\n    2;\nc;\n", "a;\n  # one\n  # two\nc;\n"),
    ("comments between words, and more in the line", "  b # one\n 1; c;\n", "  # one\n  c;\n"),
]


@every_row(("old", "new"), [pytest.param(*case[1:], id=case[0]) for case in TABLE])
def test_what_a_deletion_looks_like(old: str, new: str) -> None:
    """A deletion leaves the text as an author would."""
    directive = next(directive_ for directive_ in load_text(old.encode()).main.block.walk() if directive_.name == "b")
    assert changed(old.encode(), layout.delete(directive)) == new.encode()


APPENDED = {
    "an empty block in one line": ("http {}\n", "http { new; }\n"),
    "an empty block with a blank": ("http { }\n", "http { new; }\n"),
    "an empty block of two lines": ("http {\n}\n", "http {\n    new;\n}\n"),
    "a block in one line": ("http { a; }\n", "http { a; new; }\n"),
    "no blanks": ("http {a;}\n", "http {a; new;}\n"),
    "a comment at the end": ("http {\n  a;\n  # old\n}\n", "http {\n  a;\n  # old\n  new;\n}\n"),
    "only a comment": ("http {\n  # old\n}\n", "http {\n  # old\n    new;\n}\n"),
    "a comment behind the last": ("http {\n  a; # why\n}\n", "http {\n  a; # why\n  new;\n}\n"),
    "blanks at the end of the line": ("http {\n  a;  \n}\n", "http {\n  a;  \n  new;\n}\n"),
    "the brace behind the last": ("http {\n  a; }\n", "http {\n  a; new; }\n"),
    "tabs as elsewhere in the file": ("x {\n\ta;\n}\nhttp {\n}\n", "x {\n\ta;\n}\nhttp {\n\tnew;\n}\n"),
    "two blanks as elsewhere in the file": (
        "x {\n  y {\n  }\n}\nhttp {\n}\n",
        "x {\n  y {\n  }\n}\nhttp {\n  new;\n}\n",
    ),
    "CRLF": ("http {\r\n  a;\r\n}\r\n", "http {\r\n  a;\r\n  new;\r\n}\r\n"),
    "CRLF and nothing else": ("http {\r\n}\r\n", "http {\r\n    new;\r\n}\r\n"),
    "rewrites at the end": (
        "http {\n" + "  rewrite a b;\n" * FOLD + "}\n",
        "http {\n" + "  rewrite a b;\n" * FOLD + "  new;\n}\n",
    ),
    "rewrites in one line": ("http {" + "rewrite a b;" * FOLD + "}\n", "http {" + "rewrite a b;" * FOLD + " new;}\n"),
}


@every_row(("old", "new"), APPENDED.values(), ids=APPENDED)
def test_what_an_addition_to_a_block_looks_like(old: str, new: str) -> None:
    """Appended is where and how an author would append."""
    block = next(
        directive for directive in load_text(old.encode()).main.block.unfolded() if directive.name == "http"
    ).block
    assert block
    assert changed(old.encode(), layout.append(block, ["new;"])) == new.encode()


AT_THE_END = [
    ("", "new;\n"),
    ("a;\n", "a;\nnew;\n"),
    ("a;", "a;\nnew;"),
    ("# only", "# only\nnew;\n"),
    ("  a;\n  # old\n", "  a;\n  # old\n  new;\n"),
    ("a; b;\n", "a; b; new;\n"),
]


@every_row(("old", "new"), AT_THE_END)
def test_what_an_addition_to_a_file_looks_like(old: str, new: str) -> None:
    """Appended to a file is behind all of it, whether it ends with a line end or not."""
    assert changed(old.encode(), layout.append(load_text(old.encode()).main.block, ["new;"])) == new.encode()


def test_prepend_to_rewrites() -> None:
    """What comes first stands before a run of rewrites, too."""
    data = b"# old\n" + b"  rewrite a b;\n" * FOLD
    change = layout.prepend(load_text(data).main.block, ["new;"])
    assert changed(data, change) == b"# old\n  new;\n" + b"  rewrite a b;\n" * FOLD


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_copy_has_the_line_ends_of_its_new_file(newline: bytes) -> None:
    """A directive of several lines, copied from a file of other line ends, has those of the file it comes into;
    a line end that is a part of a value stays."""
    foreign = b"\r\n" if newline == b"\n" else b"\n"
    other = b"b 1 # why" + foreign + b"  'x\ny\r\nz';" + foreign
    copied = next(load_text(other).main.block.directives())
    data = b"a;" + newline
    new = changed(data, layout.append(load_text(data).main.block, [layout.written(copied)]))
    assert new == b"a;" + newline + b"b 1 # why" + newline + b"  'x\ny\r\nz';" + newline


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])) | st.text("\\\"'${}; #\n\r\tntr.("))
def test_any_word_can_be_written(word: str) -> None:
    """A word that is quoted where it must be is read as the same word."""
    directive = next(load_text(f"a {layout.quoted(word)};".encode()).main.block.directives())
    assert [str(argument) for argument in directive.args] == [word]


@given(st.binary().map(lambda data: decode(data.replace(b"\0", b""))))
def test_any_bytes_can_be_written(word: str) -> None:
    """So are bytes that are no text."""
    data = b"a " + layout.quoted(word).encode("utf-8", "surrogateescape") + b";"
    assert [str(argument) for argument in next(load_text(data).main.block.directives()).args] == [word]


PLAIN = [r"~\.php$", "$host", "${a}b", "/x", "~^/(.*)$", "a=b,c"]
QUOTED = [("", '""'), ("a b", '"a b"'), (r"\t", r'"\\t"'), ("^/x{2}$", '"^/x{2}$"'), ("a\\", r'"a\\"'), ('"', r'"\""')]


@every_row(("word", "text"), [*((word, word) for word in PLAIN), *QUOTED])
def test_quotes_stand_where_they_must(word: str, text: str) -> None:
    """A word is quoted only if it must be, and a backslash doubled only where it would be lost."""
    assert layout.quoted(word) == text
