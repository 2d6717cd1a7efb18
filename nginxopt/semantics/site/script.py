"""Converts the statements of the rewrite module to forms of the request model."""

from __future__ import annotations

from nginxopt.config import Bulk, Directive, Source
from nginxopt.semantics.site.form import Node, RewritesForm, StatementForm
from nginxopt.text import encode


def latin(text: str) -> str:
    """Return the bytes of a word decoded as Latin-1, as in all forms."""
    return text if text.isascii() else encode(text).decode("latin-1")


def statement(directive: Directive, node: Node) -> StatementForm:
    """Return the form of a `rewrite`, `set`, `return` or `break`."""
    args = [*map(latin, directive.args)]
    match directive.name:
        case "rewrite":
            flag = args[2] if len(args) > 2 else None
            return {"kind": "rewrite", "node": node, "pattern": args[0], "replacement": args[1], "flag": flag}
        case "set":
            return {"kind": "set", "node": node, "variable": args[0], "value": args[1]}
        case "return":
            return {"kind": "return", "node": node, "args": args}
        case _:
            return {"kind": "break", "node": node}


class Texts:
    """The texts of the files with folded runs, each once."""

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def run(self, bulk: Bulk, node: Node) -> RewritesForm:
        """Return the form of a folded run, and keep the text of its file."""
        source = bulk.source.original or bulk.source
        text = self._numbers.setdefault(source, len(self._numbers))
        start, end = bulk.span.start, bulk.span.end
        return {"kind": "rewrites", "node": node, "count": bulk.count, "text": text, "start": start, "end": end}

    def data(self) -> tuple[bytes, ...]:
        """Return the texts, by number."""
        return tuple(source.data for source in self._numbers)
