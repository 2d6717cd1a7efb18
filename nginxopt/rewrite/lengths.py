"""Bounds the length of the strings that patterns are matched against: they grow through maps, `set` and rewrites."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from nginxopt.config import Bulk, Config, Directive
from nginxopt.rewrite.evaluations import DEEPEST
from nginxopt.rewrite.kinds.maps.reading import http_maps, variables
from nginxopt.semantics.values import number, size

_BUFFERS = ("client_header_buffer_size", "large_client_header_buffers")
_LINE, _LINES = 8_192, 4
"""The default of `large_client_header_buffers`."""
_OF_HEADERS = ("http_", "cookie_")
_CHANGES = 11
"""The most scripts of rewrites that run for a request: ten changes of the URI (`NGX_HTTP_MAX_URI_CHANGES`)."""
_WORD = rb"""(?:"[^"]*"|'[^']*'|[^\s;"'][^\s;]*)"""
_REWRITE = re.compile(rb"rewrite\s+(%s)\s+(%s)(?:\s+(\w+))?\s*;" % (_WORD, _WORD))
_READ = re.compile(rb"\$\{?(\w+)")
_NAME = re.compile(r"\$\{?(\w+)\}?")
_NESTED = re.compile(rb"\([^()]*\(")
_REDIRECTS = (b"redirect", b"permanent")


class Lengths:
    """The bounds of a configuration, in bytes. They hold for what its text shows."""

    def __init__(self, config: Config) -> None:
        self._line, self._headers = _of_request(config)
        self._values: dict[str, list[tuple[str, str]]] = {}
        for scope in http_maps(config):
            if scope.opener is not None and len(scope.opener.args) == 2:
                source, variable = map(str, scope.opener.args)
                for row in scope.directives:
                    self._add(variable, str(row.args[0]) if row.args else "", source)
        for directive, _ in config.walk():
            if directive.name == "set" and len(directive.args) == 2:
                self._add(str(directive.args[0]), str(directive.args[1]), "$uri")
        self._known: dict[str, float] = {}
        self._uri = _uri(config, self._line)

    def of(self, value: str) -> float:
        """Return the most bytes of a value; infinite if it may grow without a bound."""
        return self._of(value, "", frozenset())

    def _add(self, variable: str, value: str, source: str) -> None:
        for name in variables(variable):
            self._values.setdefault(name, []).append((value, source))

    def _of(self, value: str, source: str, above: frozenset[str]) -> float:
        """Return the bound of a value whose captures are parts of `source`."""
        found: list[str] = _NAME.findall(value)
        captures = sum(name[0].isdigit() for name in found)
        of_source = self._of(source, "", above) if captures and source else self._line
        names = [name.lower() for name in found if not name[0].isdigit()]
        of_names: float = sum(self._of_variable(name, above) for name in names)
        return len(_NAME.sub("", value)) + captures * of_source + of_names

    def _of_variable(self, name: str, above: frozenset[str]) -> float:
        if name in above or len(above) > DEEPEST:
            return math.inf
        if name not in self._values:
            return self._uri if name in ("uri", "document_uri") else self._own(name)
        if name not in self._known:
            inner = above | {name}
            self._known[name] = max(self._of(value, source, inner) for value, source in self._values[name])
        return self._known[name]

    def _own(self, name: str) -> float:
        return self._headers if name.startswith(_OF_HEADERS) else self._line


def _of_request(config: Config) -> tuple[int, int]:
    """Return the longest request line, and the longest header of a request, of all servers."""
    line, headers = _LINE, _LINE * _LINES
    for directive, _ in config.walk():
        if directive.name in _BUFFERS and directive.args:
            bytes_ = size(directive.args[-1]) or 0
            count = number(directive.args[0]) or 1 if len(directive.args) > 1 else 1
            line, headers = max(line, bytes_), max(headers, bytes_ * count)
    return line, headers


def _uri(config: Config, line: int) -> float:
    """Return the longest URI after all changes; infinite if a rewrite may double it each time."""
    added = longest = 0
    for before, target, flag in _rewrites(config):
        path = target.partition(b"?")[0]
        read = _READ.findall(path)
        are_apart = len(set(read)) == len(read) and all(name.isdigit() for name in read) and not _NESTED.search(before)
        if len(read) > 1 and not are_apart:
            return math.inf
        added, longest = (added + len(path), longest) if not flag else (added, max(longest, len(path)))
    return line + _CHANGES * (added + longest)


def _rewrites(config: Config) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the pattern, target and flag of each rewrite that changes the URI."""
    for scope in config.scope.tree():
        for node in scope.nodes:
            if node.name == "rewrite" and isinstance(node, Bulk | Directive):
                text = node.source.data[node.span.start : node.span.end]
                for match in _REWRITE.finditer(text):
                    if match[3] not in _REDIRECTS:
                        yield match[1], match[2], match[3] or b""
