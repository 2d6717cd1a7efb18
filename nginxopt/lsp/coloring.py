"""Semantic tokens: the meaning of each word of a document in nginx, which a grammar of regular expressions cannot know.

Whether a word is a regular expression depends on the directive and on the words before it, and a row of a `map` begins
with a key, not with the name of a directive.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from nginxopt import lazy
from nginxopt.config import Block, Comment, Directive
from nginxopt.config.tree import Bulk, Token
from nginxopt.facts import group
from nginxopt.lsp.workspace import Workspace
from nginxopt.text import Span

KINDS = ["keyword", "variable", "string", "number", "regexp", "comment", "operator"]
"""The kinds of tokens, as the protocol names them; a token has the number of its kind."""

_KEYWORD, _VARIABLE, _STRING, _NUMBER, _REGEXP, _COMMENT, _OPERATOR = range(len(KINDS))

_OPERATORS = frozenset(["=", "^~", "~", "~*", "!~", "!~*", "!="])
_QUANTITY = lazy.pattern(r"\d+(?:\.\d+)?(?:[kmg]|ms|[smhdwMy])?")
_USE = lazy.pattern(rb"\$(?:\{\w+\}|\w+)")


def semantic_tokens(workspace: Workspace, params: types.SemanticTokensParams) -> types.SemanticTokens:
    """Return the tokens of a document."""
    return _encoded(workspace, params.text_document.uri, None)


def semantic_tokens_of_range(workspace: Workspace, params: types.SemanticTokensRangeParams) -> types.SemanticTokens:
    """Return the tokens of a part of a document."""
    return _encoded(workspace, params.text_document.uri, params.range)


def _encoded(workspace: Workspace, uri: str, part: types.Range | None) -> types.SemanticTokens:
    """Return tokens as the protocol encodes them: each with its distance from the token before."""
    document = workspace.documents.get(uri)
    file = document.shape if document is not None and workspace.is_of_nginx(document) else None
    if document is None or file is None:
        return types.SemanticTokens([])
    within = Span(0, len(document.data))
    if part is not None:
        start, end = document.lines.offset(part.start), document.lines.offset(part.end)
        within = Span(start, max(start, end))
    numbers: list[int] = []
    line = column = 0
    for span, kind in _tokens(file.block, document.data, within):
        at = document.lines.range(span)
        if at.start.line != at.end.line or at.end.character <= at.start.character:
            continue  # a token of the protocol cannot span several lines
        down = at.start.line - line
        numbers += [down, at.start.character - (0 if down else column), at.end.character - at.start.character, kind, 0]
        line, column = at.start.line, at.start.character
    return types.SemanticTokens(numbers)


def _tokens(block: Block, data: bytes, within: Span, kind: str = "") -> Iterator[tuple[Span, int]]:
    """Yield the tokens of a block of that kind, in the order of the text, with the numbers of their kinds."""
    for node in block.nodes:
        if node.span.end < within.start or node.span.start > within.end:
            continue
        if isinstance(node, Comment):
            yield node.span, _COMMENT
        elif isinstance(node, Bulk):
            for directive in node.nodes():
                yield from [(directive.span, _COMMENT)] if isinstance(directive, Comment) else _words(directive, data)
        else:
            yield from _words(node, data, in_rows=kind in group("rows"))
            if node.block is not None and "_by_lua" not in node.name:
                yield from _tokens(node.block, data, within, node.name)


def _words(directive: Directive, data: bytes, *, in_rows: bool = False) -> Iterator[tuple[Span, int]]:
    """Yield the words of a directive and the comments between them."""
    name = "" if in_rows else directive.name
    kinds = [_key(directive.name) if in_rows else _KEYWORD, *_arguments(name, directive.args)]
    words = [(word.span, kind) for word, kind in zip((directive.name, *directive.args), kinds, strict=True)]
    for span, kind in sorted([*words, *((comment.span, _COMMENT) for comment in directive.comments)]):
        yield from _pieces(span, kind, data) if kind == _STRING else [(span, kind)]


def _key(word: Token) -> int:
    """Return what the key of a row is."""
    return _REGEXP if word.startswith("~") and not word.quoted else _STRING


def _arguments(name: str, args: tuple[Token, ...]) -> Iterator[int]:
    """Yield what each argument of a directive is; those of a row have no name."""
    before = ""
    for number, word in enumerate(args):
        is_name = name == "server_name" and word.startswith("~")
        if is_name or before in ("~", "~*", "!~", "!~*") or (name == "rewrite" and not number):
            yield _REGEXP
        elif word in _OPERATORS and not word.quoted:
            yield _OPERATOR
        elif _QUANTITY.fullmatch(word) and not word.quoted:
            yield _NUMBER
        else:
            yield _STRING
        before = "" if word.quoted else word


def _pieces(span: Span, kind: int, data: bytes) -> Iterator[tuple[Span, int]]:
    """Yield a word with the variables in it as tokens of their own."""
    at = span.start
    for use in _USE.finditer(data, span.start, span.end):
        if at < use.start():
            yield Span(at, use.start()), kind
        yield Span(use.start(), use.end()), _VARIABLE
        at = use.end()
    if at < span.end:
        yield Span(at, span.end), kind
