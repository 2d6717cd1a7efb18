"""The lexer as Python sees it: statements, errors, folding, and the contract with crossplane's own lexer.

Its rules are tested in the crate (`rust/tests/lexer.rs`) and on nginx (`tests/nginx/test_lexer_nginx.py`).
"""

from __future__ import annotations

import contextlib
import gc

import crossplane.lexer
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt._native import Events, LexError
from nginxopt.config import statements
from nginxopt.config.tree import Statement, parse
from nginxopt.errors import InputError
from nginxopt.text import Source, encode
from tests.rows import every_row


def read(text: bytes, **options: int) -> list[Statement]:
    """The statements of a text."""
    return list(statements(Source("f", text), **options))


def quote(value: bytes) -> bytes:
    """A value as one quoted word."""
    for plain, escaped in [
        (b"\\", b"\\\\"),
        (b'"', b'\\"'),
        (b"\n", b"\\n"),
        (b"\r", b"\\r"),
        (b"\t", b"\\t"),
    ]:
        value = value.replace(plain, escaped)
    return b'"%s"' % value


@given(st.lists(st.binary(max_size=20), min_size=1, max_size=5))
def test_bytes_survive(values: list[bytes]) -> None:
    """Words of any bytes come back as text of the same bytes, and know where they are written."""
    written = [quote(value) for value in values]
    text = b"a " + b" ".join(written) + b";"
    words = read(text)[0].words[1:]
    assert [encode(word) for word in words] == values
    assert [text[word.start : word.end] for word in words] == written


@pytest.mark.parametrize("count", [511, 512, 513, 1500])
def test_batches_are_seamless(count: int) -> None:
    """Batches follow each other without a gap, in blocks too, and an error comes after the rest."""
    text = b"a {\n" + b"b c; # d\n e f # g\n h;" * count
    batches = Events(text)
    kinds: list[str] = []
    with pytest.raises(LexError) as caught:
        kinds.extend(event[0] for batch in batches for event in batch)
    assert kinds == ["{"] + [";", "#", "#", ";"] * count
    assert caught.value.args[0] == "unclosed-block"
    assert list(batches) == []


def test_a_part_of_a_file() -> None:
    """A part between two statements is read with the offsets and lines of the whole."""
    text = b"a;\nb c;\nd;"
    (statement,) = read(text, start=3, end=7, line=2)
    assert (statement.start, statement.end, statement.line) == (3, 7, 2)
    assert [word.span.start for word in statement.words] == [3, 5]
    assert read(text, start=99) == []


def test_comments_belong_to_the_statement_they_are_in() -> None:
    """A comment between words belongs to the statement; any other stands for itself."""
    before, statement, after = read(b"# 1\na # 2\n# 3\n b; # 4")
    assert [comment.text for comment in before.comments] == ["# 1"]
    assert [comment.text for comment in statement.comments] == ["# 2", "# 3"]
    assert (after.kind, after.comments[0].text, after.line) == ("#", "# 4", 4)


@pytest.mark.parametrize(("count", "folded"), [(3, False), (4, True)])
def test_runs_are_folded(count: int, folded: bool) -> None:
    """A run of as many rewrites as asked for is one statement, comments between them included."""
    run = b" # b\n".join([b"rewrite c d;"] * count)
    text = b"a;# 1\n" + run + b"# 2\n"
    _, comment, *rest = read(text, fold=4)
    assert comment.kind == "#"
    if folded:
        bulk, last = rest
        assert (bulk.kind, bulk.rewrites, bulk.line) == ("*", count, 2)
        assert text[bulk.start : bulk.end] == run
        assert last.comments[0].text == "# 2"
    else:
        assert [statement.kind for statement in rest] == [";", "#"] * count


REFUSALS = {
    b"a;\n ;": (4, "missing directive", 'unexpected ";" in f:2'),
    b"{": (0, "missing directive", 'unexpected "{" in f:1'),
    b"a {\n b\n}": (7, "inside a statement", 'unexpected "}" in f:3'),
    b"a; }": (3, "closes no block", 'unexpected "}" in f:1'),
    b"a 'b'\xffc;": (5, "closing quote", 'unexpected "\udcff" in f:1'),
    b"a;\nb c\n\n": (3, "ends inside this statement", 'unexpected end of file, expecting ";" or "}" in f:4'),
    b"a b\\": (0, "ends inside this statement", 'unexpected end of file, expecting ";" or "}" in f:1'),
    b"a 'b\n": (2, "ends inside this quoted", 'unexpected end of file, expecting ";" or "}" in f:2'),
    b"a {\n b {\n }\n": (2, "block is not closed", 'unexpected end of file, expecting "}" in f:4'),
    b"a\n %s;" % (b"b" * 4096): (3, "too long", 'too long parameter "bbbbbbbbbb..." started in f:2'),
    b"#%s\na;" % (b"b" * 4096): (0, "too long", 'too long parameter "#bbbbbbbbb..." started in f:1'),
    b"a '%s';" % (b"b" * 4096): (
        2,
        "quoted string is too long",
        'too long parameter, probably missing terminating "\'" character in f:1',
    ),
}


@every_row("text", REFUSALS, ids=lambda text: text[:12])
def test_refusals(text: bytes) -> None:
    """Each refusal has its place, what is wrong, what was expected, and nginx's words."""
    offset, message, nginx = REFUSALS[text]
    with pytest.raises(InputError, match=message) as caught:
        read(text)
    error = caught.value
    assert error.span is not None
    assert (error.span.start, error.nginx) == (offset, nginx)
    assert error.expected


HINTS = {
    b"location ~ ^/a{2}$ {\n}\n": "quote words that contain",
    b"a {{ b }};": "template",
    b"a {\n": None,
    b"a\n{": None,
    b"{": None,
}


@pytest.mark.parametrize("text", HINTS)
def test_hints_for_braces(text: bytes) -> None:
    """A brace inside a word, or a double one, is told apart from the beginning of a block."""
    with pytest.raises(InputError) as caught:
        read(text)
    expected = HINTS[text]
    assert (expected or "") in (caught.value.hint or "")
    assert (caught.value.hint is None) == (expected is None)


def test_a_missing_semicolon_names_the_statement() -> None:
    """What is expected names the line in which the unfinished statement begins."""
    with pytest.raises(InputError) as caught:
        read(b"a {\n b\n\n c\n}")
    assert caught.value.expected == '";" at the end of the statement in line 2'


plain_words = st.text("abcXYZ019/._-^$()*+?|:=~%é", min_size=1, max_size=12).filter(lambda word: word != "-")
quoted_words = st.text("ab ;{}#$\t", max_size=10).flatmap(lambda text: st.sampled_from([f'"{text}"', f"'{text}'"]))
directives = st.builds(
    lambda name, args, end: f"{name} {' '.join(args)}{end}",
    st.sampled_from(["server_name", "location", "rewrite", "if", "map"]),
    st.lists(plain_words | quoted_words, min_size=1, max_size=4),
    st.sampled_from([";", " ;", " {\n}", " { }", ";\n# a comment\n", "; # another\n"]),
)


@given(st.lists(directives, max_size=8))
def test_the_contract_with_crossplane(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    """On ordinary files words, quoting and lines are those of crossplane's own lexer."""
    path = tmp_path_factory.getbasetemp() / "contract.conf"
    path.write_text("\n".join(parts), encoding="utf-8")
    theirs = list(crossplane.lexer.lex(str(path)))
    ours: list[tuple[str, int, bool]] = []
    for statement in statements(Source(str(path), path.read_bytes())):
        ours.extend((word, statement.line, word.quoted) for word in statement.words)
        ours.extend((comment.text, comment.line, False) for comment in statement.comments)
        if statement.kind != "#":
            ours.append((statement.kind, path.read_bytes().count(b"\n", 0, statement.end) + 1, False))
    assert ours == theirs


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_goes_on_as_before(enabled: bool) -> None:
    """The garbage collector, which rests during a parse, is afterwards as it was, after an error too."""
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        for text in (b"a;", b"a"):
            with contextlib.suppress(InputError):
                parse(Source("f", text))
            assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
