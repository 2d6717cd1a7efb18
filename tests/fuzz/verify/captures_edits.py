"""Edits of sites around captures that are often harmless, and that hide well if they are not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy

from tests.fuzz.verify.captures_sites import Site, Sites, Statement

_ENDINGS = ("return", "rewrite")
_VARIABLE = re.compile(r"\$[a-z0-9_]+")


def edits(sites: Sites, before: Site) -> Iterator[tuple[Site, str]]:
    """Yield copies after edits, and what they were: each condition as if it were met always or never, and with another
    answer, as long as there are some, and edits at random between them.
    """
    for after, told in _of_conditions(before):
        yield deepcopy(after), told
        _spoil(sites, after)
        yield after, f"spoil {told}"
        yield _edited(sites, before)
    while True:
        yield _edited(sites, before)


def _of_conditions(before: Site) -> Iterator[tuple[Site, str]]:
    """Yield copies in which a condition of the server is met always, never, or has another answer."""
    for at, each in enumerate(before.server.body):
        if each.kind == "if" and each.body:
            always, never, other = (deepcopy(before) for _ in range(3))
            always.server.body[at : at + 1] = always.server.body[at].body
            del never.server.body[at]
            other.server.body[at].body.insert(0, Statement("return", ["407"]))
            yield from ((always, "always"), (never, "never"), (other, "other"))


def _edited(sites: Sites, before: Site) -> tuple[Site, str]:
    """Return a copy after edits, and what they were."""
    after = deepcopy(before)
    draw = sites.words.draw
    made: list[_Edit] = [_spoil] if sites.words.chance(0.5) else []
    made += draw.choices(_EDITS, k=draw.choice((1, 1, 1, 2)))
    for edit in made:
        edit(sites, after)
    return after, " ".join(edit.__name__.removeprefix("_") for edit in made)


def _spoil(sites: Sites, after: Site) -> None:
    """Set what nothing reads, in one block or in all that end: there nothing is passed over unread."""
    bodies = after.bodies() if sites.words.chance(0.4) else [sites.words.draw.choice(after.bodies())]
    if sites.words.chance(0.5):
        bodies = [statement.body for statement in after.server.body if statement.kind == "if"] or bodies
    for body in bodies:
        body.insert(0, Statement("set", ["$z", "1"]))


def _code(sites: Sites, after: Site) -> None:
    """Let a return answer something else."""
    returns = after.statements("return")
    if returns:
        chosen = sites.words.draw.choice(returns)
        if len(chosen.words) == 1:
            chosen.words = ["407"]
        else:
            chosen.words[1] = _another_text(sites, chosen.words[1])


def _condition(sites: Sites, after: Site) -> None:
    """Let a condition compare with something else, be met always, or be another."""
    places = [(body, at) for body in after.bodies() for at, each in enumerate(body) if each.kind == "if"]
    if not places:
        return
    body, at = sites.words.draw.choice(places)
    chosen = body[at]
    match sites.words.draw.randrange(5):
        case 0 | 1 if len(chosen.words) == 3 and "=" in chosen.words[1]:
            chosen.words[2] = sites.words.draw.choice(("zz", sites.words.literal()))
        case 0 if len(chosen.words) == 3:
            chosen.words[2] = _another_pattern(sites, chosen.words[2])
        case 1 | 2:
            body[at : at + 1] = [each for each in chosen.body if each.kind not in _ENDINGS] or chosen.body
        case 3:
            del body[at]
        case _:
            chosen.words = sites.words.condition()


def _text(sites: Sites, after: Site) -> None:
    """Let a text read something else."""
    chosen = [each for each in after.statements("set", "return", "add_header", "rewrite") if len(each.words) > 1]
    if chosen:
        statement = sites.words.draw.choice(chosen)
        statement.words[1] = _another_text(sites, statement.words[1])


def _kept(sites: Sites, after: Site) -> None:
    """Read a variable before a text that reads it, and put what was read in its place."""
    places = [
        (body, at)
        for body in after.bodies()
        for at, each in enumerate(body)
        if each.kind in ("set", "return") and len(each.words) > 1 and _VARIABLE.search(each.words[1])
    ]
    if places:
        body, at = sites.words.draw.choice(places)
        name = sites.words.draw.choice(_VARIABLE.findall(body[at].words[1]))
        body[at].words[1] = re.sub(rf"{re.escape(name)}(?![a-z0-9_])", "$t", body[at].words[1])
        body.insert(sites.words.draw.choice((at, at, 0)), Statement("set", ["$t", name]))


def _stored(sites: Sites, after: Site) -> None:
    """Set a variable to a text, and read that."""
    places = [(body, at) for body in after.bodies() for at, each in enumerate(body) if each.kind in ("set", "return")]
    places = [(body, at) for body, at in places if len(body[at].words) > 1]
    if places:
        body, at = sites.words.draw.choice(places)
        text = body[at].words[1]
        body[at].words[1] = "$t"
        body.insert(at, Statement("set", ["$t", text]))


def _pattern(sites: Sites, after: Site) -> None:
    """Let a rewrite, a location or a row have another pattern."""
    chosen = after.statements("rewrite") + [each for each in after.statements("location") if len(each.words) > 1]
    if chosen:
        statement = sites.words.draw.choice(chosen)
        at = len(statement.words) - 1 if statement.kind == "location" else 0
        statement.words[at] = _another_pattern(sites, statement.words[at])


def _order(sites: Sites, after: Site) -> None:
    """Move a statement, or let one stand twice."""
    body = sites.words.draw.choice(after.bodies())
    at = sites.words.draw.randrange(len(body)) if body else 0
    if body and body[at].kind != "location":
        statement = deepcopy(body[at]) if sites.words.chance(0.3) else body.pop(at)
        body.insert(sites.words.draw.randrange(len(body) + 1), statement)


def _missing(sites: Sites, after: Site) -> None:
    """Take a statement out."""
    body = sites.words.draw.choice(after.bodies())
    chosen = [each for each in body if each.kind != "location"]
    if chosen:
        body.remove(sites.words.draw.choice(chosen))


def _added(sites: Sites, after: Site) -> None:
    """Put a statement in."""
    body = sites.words.draw.choice(after.bodies())
    body.insert(sites.words.draw.randrange(len(body) + 1), sites.statement(1))


def _row(sites: Sites, after: Site) -> None:
    """Change a row, take one out, put one in, or let them stand in another order."""
    if not after.maps:
        return
    chosen = sites.words.draw.choice(after.maps)
    earlier = tuple(f"${each.name}" for each in after.maps[: after.maps.index(chosen)])
    rows, at = chosen.rows, sites.words.draw.randrange(len(chosen.rows))
    match sites.words.draw.randrange(6):
        case 0 | 1:
            rows[at] = rows[at][0], sites.value(earlier, rows[at][0])
        case 2 if len(rows) > 1:
            rows.insert(sites.words.draw.randrange(len(rows)), rows.pop(at))
        case 3 if len(rows) > 1:
            del rows[at]
        case 4 if rows[at][0].startswith("~"):
            rows[at] = _another_pattern(sites, rows[at][0]), rows[at][1]
        case _:
            rows.insert(at, sites.row(earlier))


def _map(sites: Sites, after: Site) -> None:
    """Make a map volatile, or not; or let it look up something else."""
    if after.maps:
        chosen = sites.words.draw.choice(after.maps)
        if sites.words.chance(0.7):
            chosen.is_volatile = not chosen.is_volatile
        else:
            chosen.source = sites.words.draw.choice(("$uri", "$k", "$1", "$g", "$v"))


def _another_text(sites: Sites, text: str) -> str:
    """Return a text in which one variable is another, or another text."""
    names = _VARIABLE.findall(text)
    if not names or sites.words.chance(0.3):
        return sites.words.draw.choice((sites.words.literal(), sites.words.text(), f"{text}x"))
    other = sites.words.draw.choice((sites.words.variable(), sites.words.literal(), "/fixed/q"))
    return text.replace(sites.words.draw.choice(names), other, 1)


def _another_pattern(sites: Sites, pattern: str) -> str:
    """Return a pattern that means nearly the same, or another one."""
    changes = [(old, new) for old, new in _ALIKE if old in pattern]
    if not changes or sites.words.chance(0.2):
        return ("~" if pattern.startswith("~") else "") + sites.words.pattern()
    old, new = sites.words.draw.choice(changes)
    return pattern.replace(old, new, 1)


_ALIKE = (
    ("(?#)", ""), ("(?#)", r"\E"), (r"\E", ""), (r"\x61", "a"), ("(?i:a)", "[aA]"), ("(?i:a)", "a"), ("$", r"\z"),
    (r"\z", "$"), ("[^/]*", ".*"), ("[^/]*", "[^/]+"), ("(?<k>", "("), ("(?<g>", "("), ("(?<k>", "(?<g>"),
    ("(a|b)", "([ab])"), ("(?:0|a/b)", "0"), ("[0-9a]", "0"), ("(.", "(?:."), ("(.", "(?<g>."),
    (".*", ".+"), ("*", "+"), ("[0-9]+", "[0-9]*"), (")?", ")"), (")*", ")?"), ("^", "^/"),
)  # fmt: skip

_Edit = Callable[[Sites, Site], None]
_EDITS: tuple[_Edit, ...] = (
    *(
        _code,
        _code,
        _code,
        _condition,
        _condition,
        _condition,
        _text,
        _text,
        _kept,
        _stored,
        _pattern,
        _order,
        _order,
        _missing,
    ),
    *(_added, _row, _row, _map),
)
