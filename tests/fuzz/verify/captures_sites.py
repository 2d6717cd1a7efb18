"""Small sites around captures: maps, scripts and locations whose patterns set groups, and texts that read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from tests.fuzz.verify.words import MAPS, Words, quoted

_CODES = (401, 402, 403, 404, 405, 406, 409, 410)
_VARIABLE = re.compile(r"\$([kgvwmnh])\b")
_GROUP = re.compile(r"\?<([a-z]+)>")
_LOCATIONS = ("/", "/", "/a", "/b", "= /a", "~", "~", "~")


@dataclass
class Map:
    """A map: keys as written, with their values."""

    name: str
    source: str
    is_volatile: bool
    rows: list[tuple[str, str]]

    def text(self) -> str:
        """Return the block."""
        rows = " ".join(f"{quoted(key) if key != 'default' else key} {quoted(value)};" for key, value in self.rows)
        return f"map {quoted(self.source)} ${self.name} {{ {'volatile; ' if self.is_volatile else ''}{rows} }}"


@dataclass
class Statement:
    """A statement, or a block of them: an `if`, a location, or a server."""

    kind: str
    words: list[str]
    body: list[Statement] = field(default_factory=list)

    def text(self) -> str:
        """Return the statement."""
        inside = " ".join(statement.text() for statement in self.body)
        match self.kind, self.words:
            case "if", [subject, *rest]:
                return f"if ({' '.join([subject, *rest[:1], *map(quoted, rest[1:])])}) {{ {inside} }}"
            case "location", ["~", pattern]:
                return f"location ~ {quoted(pattern)} {{ {inside} }}"
            case "location", [name]:
                return f"location {name} {{ {inside} }}"
            case "rewrite", [pattern, target, flag]:
                return f"rewrite {quoted(pattern)} {quoted(target)} {flag}".rstrip() + ";"
            case "add_header" | "set" | "return", [first, text]:
                return f"{self.kind} {first} {quoted(text)}{' always' if self.kind == 'add_header' else ''};"
        return f"{' '.join([self.kind, *self.words])};"


@dataclass
class Site:
    """A server with maps. In its text `$uri` stands for variables that nothing defines."""

    maps: list[Map]
    server: Statement
    name: str

    def text(self) -> str:
        """Return what stands in `http`."""
        maps = "".join(f"{each.text()}\n" for each in self.maps)
        body = " ".join(statement.text() for statement in self.server.body)
        text = f"{maps}server {{ listen 127.0.0.1:{{P}}; server_name {self.name}; {body} }}\n"
        known = {each.name for each in self.maps} | set(_GROUP.findall(text))
        known |= {statement.words[0].removeprefix("$") for statement in self.statements("set")}
        return _VARIABLE.sub(lambda match: match[0] if match[1] in known else "$uri", text)

    def bodies(self) -> list[list[Statement]]:
        """Return the bodies of all blocks."""
        return [
            self.server.body,
            *(statement.body for statement in walk(self.server.body) if statement.kind in _BLOCKS),
        ]

    def statements(self, *kinds: str) -> list[Statement]:
        """Return all statements of some kinds."""
        return [statement for statement in walk(self.server.body) if statement.kind in kinds]


_BLOCKS = ("if", "location")


def walk(body: list[Statement]) -> Iterator[Statement]:
    """Yield the statements of a body, and those inside them."""
    for statement in body:
        yield statement
        yield from walk(statement.body)


class Sites:
    """Makes sites, and parts of them."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self._draw = words.draw

    def site(self) -> Site:
        """Return a site at random."""
        names = MAPS[: self._draw.choice((0, 1, 1, 1, 2, 2, 3))]
        maps = [self._map(names, number) for number in range(len(names))]
        body = self._guard() if self.words.chance(0.6) else []
        for _ in range(self._draw.choice((1, 1, 1, 2, 2))):
            body += self._move(maps)
        body += self._locations()
        if self.words.chance(0.1):
            body.append(Statement("add_header", ["X-T", self.words.text()]))
        return Site(maps, Statement("server", [], body), "~^(.)(?<g>.)$" if self.words.chance(0.08) else "h1")

    def _map(self, names: tuple[str, ...], number: int) -> Map:
        draw, words = self._draw, self.words
        earlier = tuple(f"${name}" for name in names[:number])
        sources = ["$uri", "$uri", "$uri", "$uri", "$1", "$1", "$k", "$k", "$g", "$v", "$arg_y", "$host"]
        source = draw.choice([*sources, *(earlier * 4), *(f"{name}-$1" for name in earlier)])
        rows = [self.row(earlier) for _ in range(draw.choice((1, 1, 2)))]
        if words.chance(0.6):
            rows.append(("default", self.value(earlier, "")))
        words.known.append(f"${names[number]}")
        return Map(names[number], source, words.chance(0.65), list(dict(rows).items()))

    def _move(self, maps: list[Map]) -> list[Statement]:
        """Return statements that change what later ones read, and often a condition on that: captures, groups, maps."""
        draw, words = self._draw, self.words
        chosen = draw.choice(maps) if maps else None
        match draw.randrange(9):
            case 0 | 1 if chosen is not None:  # a map sets what was set before
                group = f"${draw.choice(_GROUP.findall(chosen.text()) or ('k',))}"
                before = [Statement("set", [group, words.literal()])] if words.chance(0.7) else []
                value = before[0].words[1] if before and words.chance(0.5) else None
                return [*before, self._reading(chosen), self._asking(group, value)]
            case 2 | 3 if chosen is not None:  # a script sets what a map defines
                body = [Statement("set", [f"${chosen.name}", words.value()])]
                is_perhaps = words.chance(0.3)
                return [Statement("if", ["$arg_y"], body) if is_perhaps else body[0], self._asking(f"${maps[-1].name}")]
            case 4 if chosen is not None:  # a map captures
                return [
                    self._reading(chosen),
                    Statement("set", ["$v", draw.choice(("$1", "$2", "$k"))]),
                    self._asking("$v"),
                ]
            case 5:
                return [Statement("if", ["$uri", draw.choice(("~", "!~")), words.pattern(is_capturing=True)])]
            case 6:
                return [Statement("rewrite", [words.pattern(is_capturing=True), words.target(), ""]), self.ending()]
            case 7:
                again = self.statement()
                return [again, *([self.ending()] if words.chance(0.7) else []), deepcopy(again), self.ending()]
        return [self.statement(), self.ending()]

    def _reading(self, chosen: Map) -> Statement:
        """Return a statement that reads a map."""
        name = f"${chosen.name}"
        body = [Statement("set", [self.words.assigned(), self.words.value()])] if self.words.chance(0.5) else []
        return self._draw.choice(
            (
                Statement("set", ["$w", name]),
                Statement("set", ["$w", self.words.variable() + name]),
                Statement("if", [name], body),
                Statement("if", [name, "=", self.words.literal()], body),
                Statement("if", ["$uri"], [Statement("set", ["$w", name])]),
                Statement("rewrite", ["^", f"/a{name}", ""]),
            )
        )

    def _asking(self, name: str, value: str | None = None) -> Statement:
        """Return a condition on a variable, or whether it has a value, that ends the script."""
        if value is not None:
            return Statement("if", [name, self._draw.choice(("=", "!=")), value], [self._answer()])
        test = self._draw.choice(
            (["=", self.words.literal()], ["!=", self.words.literal()], ["~", self.words.pattern()])
        )
        return Statement("if", [name, *test], [self._answer()])

    def row(self, earlier: tuple[str, ...]) -> tuple[str, str]:
        """Return a row that may read earlier maps."""
        if self.words.chance(0.6):
            key = (
                "~" + ("*" if self.words.chance(0.1) else "") + self.words.pattern(is_capturing=self.words.chance(0.7))
            )
        else:
            key = self.words.literal()
        return key, self.value(earlier, key)

    def value(self, earlier: tuple[str, ...], key: str) -> str:
        """Return the value of a row."""
        others = ["$1", "$2", "$k", "$1-$k"] if "(" in key else ["$k", "$v", "$1"]
        earlier += tuple(f"{name}{end}" for name in earlier for end in ("$1", "-$k"))
        return self._draw.choice([self.words.literal(), self.words.literal(), *others, *earlier, *earlier])

    def _guard(self) -> list[Statement]:
        """Return a condition that few requests meet."""
        pattern = self.words.pattern(is_capturing=True)
        return [Statement("if", ["$uri", "!~", pattern], [Statement("return", ["404"])])]

    def _script(self, count: int) -> list[Statement]:
        body = [self.statement() for _ in range(count)]
        if self.words.chance(0.2):
            body += deepcopy(self._draw.sample(body, self._draw.randrange(1, len(body) + 1)))
        return body

    def statement(self, depth: int = 0) -> Statement:
        """Return a statement of a script."""
        words = self.words
        match self._draw.randrange(12):
            case 0 | 1 | 2 | 3:
                text = words.value()  # which seldom reads what it is for
                return Statement("set", [words.assigned(), text])
            case 4 | 5 | 6 if depth == 0:
                body = [self.statement(1) for _ in range(self._draw.randrange(3))]
                return Statement("if", words.condition(), body)
            case 7 | 8:
                flag = self._draw.choice(("", "", "", "last", "break", "permanent"))
                return Statement("rewrite", [words.pattern(), words.target(), flag])
            case 9 if depth == 0 and words.chance(0.3):
                return Statement("break", [])
            case _:
                return self.ending() if depth == 0 else self._answer()

    def _answer(self) -> Statement:
        if self.words.chance(0.7):
            return Statement("return", [str(self._draw.choice(_CODES))])
        return Statement("return", ["200", self.words.text()])

    def ending(self) -> Statement:
        """Return a condition that ends the script."""
        return Statement("if", self.words.condition(of_uri=0.2), [self._answer()])

    def _locations(self) -> list[Statement]:
        if self.words.chance(0.75):
            return [self._final()]
        names = dict.fromkeys(self._draw.choice(_LOCATIONS) for _ in range(self._draw.randrange(1, 4)))
        locations = [self._location(name) for name in names]
        if "/" not in names:
            locations.append(Statement("location", ["/"], [self._final()]))
        return locations

    def _location(self, name: str, *, is_inner: bool = False) -> Statement:
        body = self._script(self._draw.randrange(1, 3)) if self.words.chance(0.6) else []
        if self.words.chance(0.3):
            body.append(Statement("add_header", ["X-L", self.words.text()]))
        if not is_inner and not name.startswith("=") and self.words.chance(0.25):
            body.append(self._location("~", is_inner=True))
        return Statement("location", ["~", self.words.pattern()] if name == "~" else [name], [*body, self._final()])

    def _final(self) -> Statement:
        return Statement("return", ["200", self.words.text() if self.words.chance(0.6) else "ok"])
