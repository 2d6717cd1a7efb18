"""The script of a server or location: its rewrites, and a `return` after them."""

from __future__ import annotations

from dataclasses import dataclass, field

from nginxopt import _native
from nginxopt.config import Bulk, Config, Directive
from nginxopt.rewrite.sections import transparent
from nginxopt.semantics import Level
from nginxopt.text import Source, Span

# Variables that are the same in all requests of a client to one host: an `if` on them divides clients, not URIs.
_OF_CLIENT = {
    "$host", "$http_host", "$scheme", "$https", "$server_port", "$server_name", "$server_addr", "$remote_addr",
    "$http_user_agent", "$http_x_forwarded_proto", "$http_x_forwarded_for", "$request_method", "$ssl_protocol",
}  # fmt: skip


@dataclass(slots=True)
class Script:
    """The rewrites of a level up to the first statement that is not understood, and a `return` after them."""

    portions: list[tuple[Source, list[tuple[int, int]]]] = field(default_factory=list)
    last: Directive | None = None
    is_understood: bool = True
    has_conditions: bool = False
    rules: _native.Script | None = None

    def add(self, source: Source, span: Span) -> None:
        """Add a rewrite, or a run of them."""
        if not self.portions or self.portions[-1][0] is not source:
            self.portions.append((source, []))
        self.portions[-1][1].append((span.start, span.end))

    def native(self) -> _native.Script:
        """Return the rewrites, compiled."""
        if self.rules is None:
            self.rules = _native.Script([(source.data, spans) for source, spans in self.portions])
        return self.rules

    @property
    def is_whole(self) -> bool:
        """Whether a URI that no rule matches certainly reaches the end."""
        return self.is_understood and self.native().is_whole

    def place(self, rule: int) -> tuple[Source, Span]:
        """Return the source of a rule, and its span."""
        portion, start, end = self.native().place(rule)
        return self.portions[portion][0], Span(start, end)


def read_script(level: Level, config: Config) -> Script:
    """Read the script of a level."""
    script = Script()
    for node in level.scope.nodes if level.scope else ():
        if not _take(node, script, config):
            break
    return script


def _take(node: Directive | Bulk, script: Script, config: Config) -> bool:
    """Add a statement to a script; return whether the script continues after it."""
    if isinstance(node, Bulk) or node.name == "rewrite":
        script.add(node.source, node.span)
    elif node.name == "include":
        script.is_understood = not config.is_missing(node)
        return script.is_understood
    elif node.name == "return":
        script.last = node
        return False
    elif node.name == "if" and len(node.args) == 3 and node.args[0] in _OF_CLIENT:
        script.has_conditions = True
    elif node.name not in transparent() and node.name != "set":
        script.is_understood = False
        return False
    return True
