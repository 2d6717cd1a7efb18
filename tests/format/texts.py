"""Random configurations in odd layouts, for the laws of the formatter."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

# What other formatters damage: braces, `;`, `#`, quotes and line ends in words, in every way to write them.
WORDS = [
    b"a",
    b"/x}y",
    b"${host}",
    b"$",
    b"x#y",
    b"\\;",
    b"\\ ",
    b"a\\\nb",
    b"\\{2}",
    b'"a;  # {b}"',
    b"'it\\'s } ${x}'",
    b'"two\n  lines"',
    b'"crlf\r\n\r\n\r\nline"',
    b'"\\\n"',
    b'""',
    b"'\\\\'",
    b"\x00",
    b"\xff\xfe",
    b"\xc3\xa9",
    b"\x0b\x0c",
    b"\xef\xbb\xbf",
    b"y" * 4094,
]
# Words of one line and of two, and comments of which each speaks of other lines, for texts about suppressions.
FEW_WORDS = [b"a", b"b", b'"two\nlines"', b"\x0b"]
SUPPRESSIONS = [
    b"# c",
    b"# nginxopt: ignore[gzip-level] x",
    b"# nginxopt: ignore-block[gzip-level] x",
    b"# nginxopt: ignore-file[gzip-level] x",
    b"# nginxopt: ignore[gzip-level] x # nginxopt: ignore-block[tcp-nodelay-off] y",
]
COMMENTS = [
    b"#",
    b"# c",
    b"#c;  {  }",
    b"# it's",
    b"#\xff \t",
    b"# cr \r",
    b"# back\\",
    b"# nginxopt: ignore[gzip-level] x",
    b"#" + b"c" * 4090,
]
LUA = [
    b"{}",
    b"{ return '}' -- }\n  ;\n\n\n\t}",
    b"{ local t = { {}, [[ } # ]] }\r\n }",
]

_blanks = st.text("  \t\r\n", max_size=4).map(str.encode)
_spaces = st.text("  \t\r\n", min_size=1, max_size=4).map(str.encode)
_closed = st.just(b'if ($a = "b") { c; }')
_lua = st.builds(lambda gap, body: b"content_by_lua_block" + gap + body, _blanks, st.sampled_from(LUA))


def configurations(words: Sequence[bytes] = WORDS, comments: Sequence[bytes] = COMMENTS) -> st.SearchStrategy[bytes]:
    """Texts of these words and comments, nearly all of which nginx would read."""
    comment = st.builds(lambda before, text: before + text + b"\n", _spaces, st.sampled_from(comments))
    between = st.one_of(_spaces, _spaces, _spaces, st.builds(lambda *parts: b"".join(parts), comment, _blanks))
    word = st.sampled_from(words)
    statement_words = st.builds(
        lambda first, rest: first + b"".join(gap + word for gap, word in rest),
        word,
        st.lists(st.tuples(between, word), max_size=3),
    )
    before_end = st.one_of(_blanks, between)
    statement = st.builds(lambda words, gap: words + gap + b";", statement_words, before_end)

    def in_block(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
        """Blocks with what `inner` is."""
        return st.builds(lambda words, gap, body: words + gap + b"{" + body + b"}", statement_words, before_end, inner)

    def sequence(item: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
        pairs = st.lists(st.tuples(st.one_of(_blanks, comment), item), max_size=4)
        return st.builds(
            lambda items, end: b"".join(gap + part for gap, part in items) + end, pairs, st.one_of(_blanks, comment)
        )

    leaves = st.one_of(statement, _lua, _closed)
    return sequence(st.recursive(leaves, lambda inner: in_block(sequence(inner)), max_leaves=12))
