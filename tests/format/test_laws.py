"""Laws of the formatter, on random configurations and on public ones.

NGINXOPT_CORPUS names a folder with a larger corpus, as for `tests/config/test_corpus.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.config.includes import parsed
from nginxopt.errors import InputError
from nginxopt.format import IndentStyle, edits, formatted
from nginxopt.format.pieces import PieceKind, pieces
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.queries.model import Model
from nginxopt.lint.run import Selected, lint
from nginxopt.lint.suppress import suppressions
from nginxopt.text import Source
from nginxopt.version import Version
from tests.config.test_corpus import CORPUS, rows
from tests.format.texts import FEW_WORDS, SUPPRESSIONS, configurations
from tests.rows import every_row

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]

STYLES = [IndentStyle(), IndentStyle(width=2), IndentStyle(tabs=True)]
PUNCTUATION = (PieceKind.END, PieceKind.OPEN, PieceKind.CLOSE)


def contents(text: bytes) -> list[tuple[PieceKind, bytes]]:
    """Words, comments and punctuation of a text, as written."""
    return [(piece.kind, text[piece.start : piece.end]) for piece in pieces(Source("f", text))]


def gaps(text: bytes) -> Iterator[tuple[PieceKind, bytes, PieceKind]]:
    """What stands between two pieces of a text, with their kinds."""
    for before, after in pairwise(pieces(Source("f", text))):
        yield before.kind, text[before.end : after.start], after.kind


def check(text: bytes, style: IndentStyle) -> None:
    """Check the laws on a text that can be formatted."""
    result = formatted(text, style)
    assert contents(result) == contents(text)
    assert formatted(result, style) == result
    assert comments_at_ends(result) == comments_at_ends(text)
    assert one_directive_a_line(result) or b"nginxopt:" in text
    check_lines(result, style)


def comments_at_ends(text: bytes) -> list[bool]:
    """Whether each comment but the first stands at the end of a line."""
    return [b"\n" not in gap for _, gap, kind in gaps(text) if kind is PieceKind.COMMENT]


def one_directive_a_line(text: bytes) -> bool:
    """Whether what follows a directive, a head or a block stands on another line, but for comments and `{}`."""
    return all(
        b"\n" in gap or kind is PieceKind.COMMENT or (before, kind) == (PieceKind.OPEN, PieceKind.CLOSE)
        for before, gap, kind in gaps(text)
        if before in PUNCTUATION
    )


def check_lines(text: bytes, style: IndentStyle) -> None:
    """Check the white space of a formatted text: indentation by depth, and empty lines."""
    depth, in_statement = 0, False
    line_ends = set()
    for before, gap, kind in gaps(text):
        depth += before is PieceKind.OPEN
        depth -= kind is PieceKind.CLOSE
        in_statement = before is PieceKind.WORD or (before is PieceKind.COMMENT and in_statement)
        if b"\n" not in gap:
            assert gap in (b"", b" ")
            continue
        ends, indentation = re.fullmatch(rb"((?:\r?\n)+)([ \t]*)", gap).groups()  # type: ignore[union-attr]
        line_ends |= set(re.findall(rb"\r?\n", ends))
        assert indentation == style.unit * (depth + (in_statement and kind in (PieceKind.WORD, PieceKind.COMMENT)))
        assert ends.count(b"\n") <= (1 if before is PieceKind.OPEN or kind in PUNCTUATION else 2)
    assert len(line_ends) < 2
    assert text[:1] not in (b" ", b"\t", b"\r", b"\n")
    assert not text or text.endswith(b"\n") or len(text) >= 4096


@given(configurations(), st.sampled_from(STYLES))
@example(b"\n a 'x\r\ny';\n", IndentStyle())
@example(b"a\n{ b; # nginxopt: ignore[x]\n}", IndentStyle())
@example(b"# nginxopt: ignore[x]\na;b{c;\nd;}", IndentStyle())
def test_any_text(text: bytes, style: IndentStyle) -> None:
    """The laws hold for any text that nginx would read."""
    try:
        list(pieces(Source("f", text)))
        formatted(text)
    except InputError:
        return
    check(text, style)


@given(configurations(FEW_WORDS, SUPPRESSIONS))
@example(b"a\n{ b; # nginxopt: ignore[x]\n}")
@example(b"z; a\n; # nginxopt: ignore[x]")
@example(b"a {\n} # nginxopt: ignore[x]")
@example(b"content_by_lua_block\n{ } b; # nginxopt: ignore[x]")
@example(b"# nginxopt: ignore[x]\nb; a\n{ # nginxopt: ignore[y]\n}")
@example(b"\x0b # nginxopt: ignore[x]\nb;")
def test_suppressions_speak_of_the_same(text: bytes) -> None:
    """Each suppression hides findings at the same words, and of the same suppressions, before and after."""
    assert spoken_of(formatted(text)) == spoken_of(text)


def spoken_of(text: bytes) -> list[list[int] | None]:
    """The numbers of the words and suppressions that each suppression speaks of; None if it is misplaced."""
    file = parsed("f", text)
    starts = [
        piece.start
        for piece in pieces(file.source)
        if piece.kind is PieceKind.WORD
        or (piece.kind is PieceKind.COMMENT and b"nginxopt:" in text[piece.start : piece.end])
    ]
    scopes = [suppression.scope for suppression in suppressions(file.block)]
    return [
        None if scope is None else [number for number, start in enumerate(starts) if scope.start <= start < scope.end]
        for scope in scopes
    ]


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES, ids=["4", "2", "tabs"])
def test_corpus(style: IndentStyle, record_property: Callable[[str, object], None]) -> None:
    """The laws hold for all public configurations that are no templates and that nginx would read."""
    counts: Counter[str] = Counter()
    for row in rows():
        text = (CORPUS / row["file"]).read_bytes()
        try:
            changed = bool(edits(Source(row["file"], text), style))
        except InputError:
            counts["refused"] += 1
            continue
        counts["changed" if changed else "unchanged"] += 1
        check(text, style)
    record_property("corpus", str(counts))
    assert counts["changed"] >= 100


@every_row(
    "text",
    [
        b"# old clients\ngzip on; ssl_protocols TLSv1; server { }",
        b"ssl_protocols TLSv1; gzip on; # old clients\nserver { }",
        b"# old clients\nssl_protocols\n  TLSv1; # c\nserver { }",
        b"server { location / { proxy_buffering off; proxy_pass http://a; # chat\n} }",
        b"server { proxy_buffering off; location / { proxy_pass http://a; } # chat\n}",
        b"server { proxy_buffering\noff; # chat\nlocation / { proxy_pass http://a; } }",
    ],
)
def test_comments_mean_the_same_in_each_layout(text: bytes) -> None:
    """A comment that justifies a directive justifies the same directive after formatting."""
    rules = [Selected(rule, None) for rule in catalogue().values()]
    text = b"events { }\nhttp {\n" + text + b"\n}\n"
    assert findings(formatted(text), rules) == findings(text, rules)


@pytest.mark.slow
def test_lint_finds_the_same() -> None:
    """Formatting changes no finding in public configurations: neither the rules nor suppressions depend on layout."""
    rules = [Selected(rule, None) for rule in catalogue().values()]
    for row in rows():
        text = (CORPUS / row["file"]).read_bytes()
        try:
            result = formatted(text)
        except InputError:
            continue
        assert findings(result, rules) == findings(text, rules), row["file"]


def findings(text: bytes, rules: list[Selected]) -> Counter[tuple[str, str]]:
    """The rules and messages of what lint finds, without numbers of lines."""
    found = lint(Model(load_text(text, "f", missing_ok=True), Version(1, 28, 0)), rules).diagnostics
    return Counter((diagnostic.rule, re.sub(r"(f:|lines? )\d+", r"\1", diagnostic.message)) for diagnostic in found)
