"""Semantic tokens: every word has the kind that nginx gives it."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given
from lsprotocol import types

from nginxopt.lsp.coloring import KINDS, semantic_tokens, semantic_tokens_of_range
from tests.lsp.editing import Editor

_TEXT = """\
# a site
map $uri $to {
    default   "";
    ~^/a(.*)$ /b/$1;
    rewrite   /é/${x}y; # a key
}
server {
    listen 80;
    server_name ~^www\\d a.example;
    location ~* \\.php$ { set $x "two
lines"; }
    rewrite ^/old$ /new permanent;
    if ($http_x = 1m) { return 403; }
}
"""


def shown(editor: Editor, text: str, part: types.Range | None = None) -> list[tuple[str, str]]:
    """The tokens of a text: what they are of it, and their kinds."""
    document = editor.open("nginx.conf", text)
    named = types.TextDocumentIdentifier(document.uri)
    if part is None:
        data = semantic_tokens(editor.workspace, types.SemanticTokensParams(named)).data
    else:
        data = semantic_tokens_of_range(editor.workspace, types.SemanticTokensRangeParams(named, part)).data
    found, line, column = [], 0, 0
    lines = [row.encode("utf-16-le") for row in text.split("\n")]
    for at in range(0, len(data), 5):
        down, right, length, kind, modifiers = data[at : at + 5]
        line, column = line + down, right if down else column + right
        assert length > 0 == modifiers
        found.append((lines[line][2 * column : 2 * (column + length)].decode("utf-16-le"), KINDS[kind]))
    return found


def test_each_word_has_its_kind(editor: Editor) -> None:
    """Keys of maps are no directives, and what is a regular expression depends on the words before it."""
    assert shown(editor, _TEXT) == [
        ("# a site", "comment"),
        ("map", "keyword"), ("$uri", "variable"), ("$to", "variable"),
        ("default", "string"), ('""', "string"),
        ("~^/a(.*)$", "regexp"), ("/b/", "string"), ("$1", "variable"),
        ("rewrite", "string"), ("/é/", "string"), ("${x}", "variable"), ("y", "string"), ("# a key", "comment"),
        ("server", "keyword"), ("listen", "keyword"), ("80", "number"),
        ("server_name", "keyword"), ("~^www\\d", "regexp"), ("a.example", "string"),
        ("location", "keyword"), ("~*", "operator"), ("\\.php$", "regexp"), ("set", "keyword"), ("$x", "variable"),
        ("rewrite", "keyword"), ("^/old$", "regexp"), ("/new", "string"), ("permanent", "string"),
        ("if", "keyword"), ("$http_x", "variable"), ("=", "operator"), ("1m", "number"),
        ("return", "keyword"), ("403", "number"),
    ]  # fmt: skip


def test_a_part_has_its_tokens(editor: Editor) -> None:
    """An editor asks for what it shows; long runs of rewrites have tokens, too."""
    rules = "".join(f"rewrite ^/{number}$ /b;\n" for number in range(200))
    part = types.Range(types.Position(1, 0), types.Position(2, 0))
    assert ("listen", "keyword") not in shown(editor, _TEXT, part)
    assert ("map", "keyword") in shown(editor, _TEXT, part)
    assert len(shown(editor, f"server {{\n{rules}}}\n")) == 1 + 3 * 200


def test_other_files_have_none(editor: Editor) -> None:
    """Nothing is said of what is not nginx's, nor of a document that is not open."""
    document = editor.open("other.conf", "[Unit]\nDescription=x\n")
    for uri in (document.uri, "file:///x"):
        named = types.SemanticTokensParams(types.TextDocumentIdentifier(uri))
        assert semantic_tokens(editor.workspace, named).data == []


_WORDS = st.lists(st.text("ab$~é\U0001f600", min_size=1, max_size=5) | st.just('"a\nb"'), min_size=1, max_size=4)
_STATEMENTS = st.tuples(_WORDS.map(" ".join), st.sampled_from([";", "; # é\n", " { }", ";\n"])).map("".join)


@given(text=st.lists(_STATEMENTS, max_size=6).map("".join) | st.text('ab$ {};"\n#~é\U0001f600', max_size=60))
def test_tokens_are_in_order_and_apart(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever the text, each token begins where the one before it ends, or later."""
    editor = Editor(tmp_path_factory.mktemp("editor"))
    document = editor.open("nginx.conf", f"http {{ gzip on;\n{text}}}\n", unsaved=True)
    named = types.SemanticTokensParams(types.TextDocumentIdentifier(document.uri))
    data = semantic_tokens(editor.workspace, named).data
    previous = 0
    for at in range(0, len(data), 5):
        down, right, length, *_ = data[at : at + 5]
        assert down >= 0
        assert right >= (0 if down else previous)
        previous = length
