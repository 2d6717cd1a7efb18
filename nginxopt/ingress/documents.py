"""Reads documents of YAML as Kubernetes does: as JSON, whose values are texts, numbers, lists and objects.

An alias counts as all that it stands for (the budget `alias-values`): a few lines of aliases of aliases would otherwise
stand for a text that no memory holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from nginxopt import budget
from nginxopt.errors import InputError, MissingError
from nginxopt.text import Source, Span
from nginxopt.text.display import shorten

_TYPE = "tag:yaml.org,2002:"
_MERGE = f"{_TYPE}merge"
_TRUE, _FALSE = ("yes", "true", "on"), ("no", "false", "off")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_MOST_DIGITS = 40
_WIDTH = 200


def documents(text: Source) -> Iterator[tuple[int, Any]]:
    """Yield the documents of a file with their first lines. Raises `InputError`, or `MissingError` without PyYAML."""
    if find_spec("yaml") is None:
        raise MissingError("PyYAML is not installed", hint="install it with pip install 'nginxopt[ingress]'")
    import yaml  # an extra, which `nginxopt --help` must not need

    try:
        content = text.data.decode()
    except UnicodeDecodeError:
        raise InputError("not UTF-8", path=text.path) from None
    aliases = budget.meter("alias-values")
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(content)
        while loader.check_node():
            node: Any = loader.get_node()
            yield node.start_mark.line + 1, _Values(text, aliases).of(node)[0]
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(text, content, error) from None
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {str(error).splitlines()[0]}", path=text.path) from None
    except RecursionError:
        raise InputError("not a manifest: it is nested too deep", path=text.path) from None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping of a document; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def scalar(value: Any) -> str:
    """Return the text of a value that is no mapping and no list; an empty one for these, and for nothing."""
    return "" if value is None or isinstance(value, dict | list) else str(value)


class _Values:
    """Makes the values of one document."""

    def __init__(self, text: Source, aliases: budget.Meter) -> None:
        self._text = text
        self._aliases = aliases
        self._made: dict[int, tuple[Any, int] | None] = {}

    def of(self, node: Any) -> tuple[Any, int]:
        """Return the value of a node, and the number of values in it. Raises `InputError`, and `RecursionError`."""
        key = id(node)  # the nodes live as long as their document
        if key in self._made:
            made = self._made[key]
            if made is None:
                raise self._refused("an alias stands for itself", node)
            self._aliases.spend(made[1], path=self._text.path)
            return made
        self._made[key] = None
        made = self._new(node)
        self._made[key] = made
        return made

    def _new(self, node: Any) -> tuple[Any, int]:
        if node.id == "sequence":
            items = [self.of(item) for item in node.value]
            return [value for value, _ in items], 1 + sum(size for _, size in items)
        if node.id == "mapping":
            return self._mapping(node)
        return _scalar(node.tag.removeprefix(_TYPE), node.value), 1

    def _mapping(self, node: Any) -> tuple[dict[str, Any], int]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        total = 1
        for key, item in node.value:
            if key.id != "scalar":
                raise self._refused("a key is not a text", key)
            value, size = self.of(item)
            total += size
            if key.tag == _MERGE:
                for other in value if isinstance(value, list) else [value]:
                    for name, inherited in mapping(other).items():
                        merged.setdefault(name, inherited)
            else:
                own[key.value] = value
        return {**merged, **own}, total

    def _refused(self, message: str, node: Any) -> InputError:
        path = f"{self._text.path}:{node.start_mark.line + 1}"
        return InputError(f"not a manifest: {message}", path=path, hint=_hint(self._text))


def _scalar(kind: str, text: str) -> Any:
    """Return the value of a scalar of a type of YAML 1.1; what is none of its type, and any other type, is a text."""
    if kind == "null":
        return None
    if kind == "bool" and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    digits = text.replace("_", "")
    if kind in ("int", "float") and len(digits) <= _MOST_DIGITS:
        try:
            if kind == "float":
                return float(digits.lower().replace(".inf", "inf").replace(".nan", "nan"))
            return int(digits, 8 if _OCTAL.fullmatch(digits) else 0)
        except ValueError:  # as of 1:30
            return text
    return text


def _not_yaml(text: Source, content: str, error: Any) -> InputError:
    mark = error.problem_mark
    at = 0 if mark is None else sum(len(line) for line in content.splitlines(keepends=True)[: mark.line]) + mark.column
    start = min(len(content[:at].encode()), max(0, len(text.data) - 1))
    problem = shorten(str(error.problem), _WIDTH)
    return InputError(f"not YAML: {problem}", source=text, span=Span(start, start + 1), hint=_hint(text))


def _hint(text: Source) -> str | None:
    return "render templates first, such as with helm template" if b"{{" in text.data else None
