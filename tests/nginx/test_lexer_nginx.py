"""The lexer against nginx: the same tokens, verdicts, words and lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nginxopt.config import statements
from nginxopt.config.tree import DEPTH, Statement, parse
from nginxopt.errors import InputError
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Instance
from nginxopt.text import Source, encode
from tests.support import Complaint, nginx_test, the_nginx

pytestmark = pytest.mark.nginx

FIXTURES = [HealthCheck.function_scoped_fixture]
NAME = "nginx.conf"


def line_of_end(text: bytes, statement: Statement) -> int:
    """The line nginx has read when a statement ends, which is the one it names in messages."""
    return text.count(b"\n", 0, statement.end - 1) + 1


def refusal(error: InputError) -> Complaint:
    """What an `InputError` says that nginx says."""
    message, _, line = (error.nginx or "").rpartition(f" in {NAME}:")
    return Complaint(encode(message), int(line))


def predict(text: bytes) -> Complaint:
    """What nginx must say about `text`, judged by the lexer and by what events, http and types take."""
    inside: list[str] = []
    events = False
    try:
        for statement in statements(Source(NAME, text)):
            name = statement.words[0] if statement.words else ""
            line = line_of_end(text, statement)
            if statement.kind == "}":
                inside.pop()
            elif inside[-1:] == ["types"]:
                if statement.kind == "{":
                    return Complaint(b'unexpected "{"', line)
            elif statement.kind == "{" and name in ("events", "http", "types"):
                inside.append(name)
                events |= name == "events"
            elif statement.kind in "{;":
                return Complaint(b'unknown directive "%s"' % encode(name), line)
    except InputError as error:
        return refusal(error)
    return Complaint(b"" if events else b'no "events" section in configuration')


PIECES = [
    b" ",
    b"\n",
    b"\r\n",
    b"\t",
    b";",
    b"; ",
    b"{",
    b"}",
    b'"',
    b"'",
    b"\\",
    b"$",
    b"#",
    b")",
    b"a",
    b"bc",
]
PIECES += [
    b"${",
    b'"d e"',
    b"'f;g'",
    b"\\n",
    b"# h\n",
    b"a b;",
    b"\xc3\xa4",
    b"\xff",
    b" i;\n",
    b"\xef\xbb\xbf",
]
junk = st.lists(st.sampled_from(PIECES), max_size=24).map(b"".join)


@settings(max_examples=100, deadline=None, suppress_health_check=FIXTURES)
@given(text=junk)
def test_any_text(tmp_path: Path, text: bytes) -> None:
    """nginx reads any text up to its first statement as the lexer does, or refuses it in the same words."""
    assert nginx_test(tmp_path, text) == predict(text)


@settings(max_examples=100, deadline=None, suppress_health_check=FIXTURES)
@given(body=junk, close=st.booleans())
def test_any_text_in_a_block(tmp_path: Path, body: bytes, close: bool) -> None:
    """Inside `types`, which takes any words, nginx accepts exactly the statements the lexer accepts."""
    text = b"events{}\nhttp{types{\n" + body + (b"\n}}" if close else b"")
    assert nginx_test(tmp_path, text) == predict(text)


@pytest.mark.parametrize("quote", [b"", b'"', b"'", b"#"])
@pytest.mark.parametrize("ending", [b";", b" ;", b"\n ;", b"", b";x"])
def test_buffer(tmp_path: Path, quote: bytes, ending: bytes) -> None:
    """Words, quoted words and comments are too long for nginx's buffer at exactly the same length."""
    for length in range(4092, 4099):
        closing = b"\n" if quote == b"#" else quote
        text = b"events{} http{types{ a\n " + quote + b"w" * length + closing + ending
        assert nginx_test(tmp_path, text) == predict(text), length


def raw_words(text: bytes) -> list[bytes]:
    """The ways to write `text` as a word that the lexer takes for one word, and nothing else."""
    written = [text, b'"' + text + b'"', b"'" + text + b"'"]
    return [word for word in written if word and read_word(word) is not None]


def read_word(word: bytes) -> bytes | None:
    """The value of a word as the lexer reads it; None if it is not exactly one word."""
    try:
        parsed = list(statements(Source(NAME, b"default_type " + word + b" ;")))
    except InputError:
        return None
    return encode(parsed[0].words[1]) if len(parsed) == 1 and len(parsed[0].words) == 2 else None


def content_type(answer: bytes) -> bytes:
    """The Content-Type of an answer, byte for byte; empty if there is none."""
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    match = re.search(rb"\r\nContent-Type: (.*)\r\nContent-Length: 1\r\n", answer, re.DOTALL)
    return match[1] if match else b""


def assert_same_values(words: Iterable[bytes]) -> None:
    """nginx gives every word, as it is written, the value the lexer gives it.

    `default_type` takes any value literally, variables and control bytes too, and sends it with an answer.
    """
    words = list(words)
    location = b"location = /%d { default_type %s ; return 200 x; }\n"
    server = b"types {}\n" + b"".join(location % item for item in enumerate(words))
    requests = [RequestBytes(b"GET /%d HTTP/1.0\r\n\r\n" % number, alone=True) for number in range(len(words))]
    with Instance(the_nginx(), servers=[server]) as instance, instance.client() as client:
        values = [content_type(answer) for answer in client.ask(requests)]
    assert dict(zip(words, values, strict=True)) == {word: read_word(word) for word in words}


def test_every_short_word() -> None:
    """Every word of up to three of the bytes that matter has the value nginx gives it, quoted or not."""
    alphabet = [b"\\", b'"', b"'", b"$", b"{", b"}", b"n", b"t", b"#", b" "]
    texts = (b"".join(letters) for size in range(4) for letters in itertools.product(alphabet, repeat=size))
    words = {word for text in texts for word in raw_words(text)}
    assert len(words) > 1500
    assert_same_values(sorted(words))


@settings(max_examples=15, deadline=None, suppress_health_check=FIXTURES)
@given(texts=st.lists(st.binary(max_size=12).filter(lambda text: b"\0" not in text), min_size=20, max_size=60))
def test_words_of_any_bytes(texts: list[bytes]) -> None:
    """Words of any bytes but NUL have the value nginx gives them."""
    assert_same_values({word for text in texts for word in raw_words(text)})


def test_lua_blocks_are_a_difference(tmp_path: Path) -> None:
    """Stock nginx refuses a Lua block; it is read here, with a brace in a Lua string that would close it."""
    text = b"events{} http { init_by_lua_block { x = '}' } }"
    assert nginx_test(tmp_path, text) == Complaint(b'unknown directive "init_by_lua_block"', 1)
    lua = next(directive for directive in parse(Source(NAME, text)).walk() if directive.args)
    assert lua.args == (" x = '}' ",)


def test_nul_is_a_difference(tmp_path: Path) -> None:
    """nginx accepts a NUL byte in a comment; here it makes the file binary."""
    text = b"events{} # \0\n"
    assert nginx_test(tmp_path, text) == Complaint(b"")
    with pytest.raises(InputError, match="binary"):
        parse(Source(NAME, text))


def test_depth_is_a_difference(tmp_path: Path) -> None:
    """nginx accepts locations nested without a limit; here there is one, far beyond any real file."""

    def nested(depth: int) -> bytes:
        return b"events{} http{server{" + b"location /{" * depth + b"}" * depth + b"}}"

    assert nginx_test(tmp_path, nested(DEPTH)) == Complaint(b"")
    assert len(list(parse(Source(NAME, nested(DEPTH - 2))).walk())) == DEPTH + 1
    with pytest.raises(InputError, match="nested"):
        parse(Source(NAME, nested(DEPTH)))
