"""Variables with different names on the two sides, which are no difference if only the name is different."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from nginxopt import lazy
from nginxopt.semantics.site.form import SiteForm, StatementForm
from nginxopt.verify.named import is_own, named_groups

_USED = lazy.pattern(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


def renamed(old: SiteForm, new: SiteForm) -> tuple[SiteForm, dict[str, str]]:
    """Return `new` with the names of variables that only it has replaced by those that only `old` has, and the
    replacements.

    Both must have the same number of such names; they are paired in the order of their definitions. Nothing is replaced
    if one of the names means more: if it is that of a variable of nginx or of a group, or if `new` reads it without
    defining it. Nor is anything replaced if rules are folded, as their words are not available here.
    """
    mine, theirs = defined(old), defined(new)
    names = [name for name in theirs if name not in mine]
    others = [name for name in mine if name not in theirs]
    if not names or len(names) != len(others) or any(map(is_own, (*names, *others))):
        return new, {}
    script = [statement for level in new["levels"] for statement in level["script"]]
    groups = {name for name, _ in named_groups(new, script)}
    if any(statement["kind"] == "rewrites" for statement in script):
        return new, {}
    if not groups.isdisjoint((*names, *others)) or not _read(new).isdisjoint(others):
        return new, {}
    table = dict(zip(names, others, strict=True))
    return cast(SiteForm, _replaced(new, table)), table


def _read(item: object) -> set[str]:
    """Return the variables in the words of a part of a form."""
    if isinstance(item, str):
        return {(match[1] or match[2]).lower() for match in _USED.finditer(item)}
    if isinstance(item, list):
        return set().union(*map(_read, item))
    return set().union(*map(_read, item.values())) if isinstance(item, dict) else set()


def defined(form: SiteForm) -> dict[str, None]:
    """Return the variables that a site defines, in their order, without those that a pattern names."""
    names = [definition["variable"] for definition in form["variables"]]
    for level in form["levels"]:
        names += [name for statement in level["script"] if (name := _set(statement)) is not None]
    return dict.fromkeys(name.removeprefix("$").lower() for name in names)


def _set(statement: StatementForm) -> str | None:
    return statement["variable"] if statement["kind"] == "set" else None


def with_names(text: str, table: Mapping[str, str]) -> str:
    """Return a text with the names of variables replaced."""
    return _USED.sub(lambda match: _name(match, table), text) if "$" in text else text


def _replaced(item: object, table: Mapping[str, str]) -> object:
    """Return a part of a form with the names of variables replaced."""
    if isinstance(item, str):
        return with_names(item, table)
    if isinstance(item, list):
        return [_replaced(inner, table) for inner in item]
    if isinstance(item, dict):
        return {key: _replaced(inner, table) for key, inner in item.items()}
    return item


def _name(match: re.Match[str], table: Mapping[str, str]) -> str:
    name = (match[1] or match[2]).lower()
    if name not in table:
        return match[0]
    return f"${table[name]}" if match[0] == match.string else f"${{{table[name]}}}"
