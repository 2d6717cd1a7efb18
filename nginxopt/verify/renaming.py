"""Variables that one side calls otherwise than the other: a name that is only a name is no difference."""

from __future__ import annotations

import re
from typing import cast

from nginxopt.semantics.site.form import SiteForm, StatementForm
from nginxopt.verify.named import is_own, named_groups

_USED = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")


def renamed(old: SiteForm, new: SiteForm) -> tuple[SiteForm, dict[str, str]]:
    """Return `new` with its own names of variables replaced by those of `old`, and these by those.

    Only if each has as many that the other has not: they are paired in the order in which they are defined. Not where
    such a name means more: one of nginx itself, that of a group, or one that `new` reads without defining it; nor where
    rules are folded, whose words are not here.
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


def _replaced(item: object, table: dict[str, str]) -> object:
    """Return a part of a form with the names of variables replaced."""
    if isinstance(item, str):
        return _USED.sub(lambda match: _name(match, table), item) if "$" in item else item
    if isinstance(item, list):
        return [_replaced(inner, table) for inner in item]
    if isinstance(item, dict):
        return {key: _replaced(inner, table) for key, inner in item.items()}
    return item


def _name(match: re.Match[str], table: dict[str, str]) -> str:
    name = (match[1] or match[2]).lower()
    if name not in table:
        return match[0]
    return f"${table[name]}" if match[0] == match.string else f"${{{table[name]}}}"
