"""Calls every function of the native core with hostile values: none may panic.

    python -m tests.fuzz.native --seconds 60 [--seed N] [--only NAME]

prints each call that panics. `tests/project/test_native.py` makes some hundred calls of each, and checks that nothing
in `nginxopt._native` is without a target.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from random import Random
from types import SimpleNamespace
from typing import Any

from nginxopt import _native

PIECES = (
    *(
        b"rewrite ^/a$ /b permanent;",
        b"rewrite ^/([a-z]+)/(\\d+)$ /x/$1?y=$2 last;",
        b"if ($uri = /a) { return 301 /b; }",
    ),
    *(
        b"map $uri $x { default a; /a b; ~^/c(?<n>.) $n; }",
        b"map",
        b"hostnames;",
        b"volatile;",
        b"include x;",
        b"}",
        b"{",
    ),
    *(
        b"(",
        b")",
        b"[",
        b"]",
        b"(?:",
        b"(?<a>",
        b"(?i)",
        b"\\",
        b"\\1",
        b"\\x{110000}",
        b"\\Q",
        b"{1,65536}",
        b"*",
        b"+?",
        b"|",
    ),
    *(
        b"$",
        b"${",
        b"$1",
        b"~",
        b"~*",
        b"'",
        b'"',
        b"#",
        b";",
        b"\n",
        b"\r",
        b"\0",
        b"\xff",
        b"\xc3",
        b"/a",
        b"a",
        b"*.b",
    ),
)
"""What texts consist of, between random bytes."""

NUMBERS = (0, 1, 2, 7, 63, 64, 255, 256, 4096, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1)


class Values:
    """Hostile values, from a random number generator."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def text(self, most: int = 12) -> bytes:
        """Return bytes of pieces of configurations and patterns, some of which are cut or changed."""
        parts = [
            self.random.choice(PIECES)
            if self.random.random() < 0.85
            else self.random.randbytes(self.random.randrange(4))
            for _ in range(self.random.randrange(most))
        ]
        data = self.random.choice((b" ", b"")).join(parts)
        return data[: self.random.randrange(len(data) + 1)] if self.random.random() < 0.2 else data

    def texts(self, most: int = 5) -> list[bytes]:
        """Return some texts."""
        return [self.text() for _ in range(self.random.randrange(most))]

    def number(self) -> int:
        """Return a number around a limit, or a small one."""
        return self.random.choice(NUMBERS) if self.random.random() < 0.3 else self.random.randrange(200)

    def size(self) -> int:
        """Return a size that a table may have."""
        return self.random.choice((0, 1, 8, 31, 32, 33, 64, 128, 2048, 4097))

    def spans(self) -> list[tuple[int, int]]:
        """Return spans, of which the end may come before the start or behind the text."""
        return [(self.number(), self.number()) for _ in range(self.random.randrange(4))]

    def flag(self) -> bool:
        """Return a flag."""
        return self.random.random() < 0.5

    def word(self, *known: str) -> Any:
        """Return one of the words that are known, or any other."""
        return self.random.choice(known if self.random.random() < 0.9 else ("", "\0", "é", "x" * 100))

    def readings(self) -> Any:
        """Return readings."""
        names = ("ignore_case", "literal_dots", "literal_ends", "drop_newline_twins")
        return SimpleNamespace(**{name: self.flag() for name in names})

    def names(self) -> Any:
        """Return the names of the variables of a run."""
        return SimpleNamespace(**{name: self.word("a_b", "redirect_to") for name in ("stem", "group", "tree")})

    def compilation(self) -> tuple[bytes, Any]:
        """Return a text and what its rewrites compile to."""
        data, spans, entering = self.text(), [], _native.Entering
        for event in [event for batch in _native.Events(data) for event in batch]:
            if event[0] == ";" and event[5][0][0] == "rewrite":
                spans.append((event[1], event[2]))
        count = self.random.randrange(1, 3)
        sections = [(spans if self.flag() else self.spans(), self.flag(), self.flag()) for _ in range(count)]
        return data, _native.compile_rewrites(
            data,
            sections,
            phase=self.word("server", "location"),
            captures_matter=self.flag(),
            reruns=SimpleNamespace(uris=[self.text()], names=[self.text()], changes=self.flag())
            if self.flag()
            else None,
            readings=self.readings(),
            bound=self.number(),
            entering=self.random.choice((entering.ALL, entering.ALL_BUT_BREAK, entering.NOTHING)),
            for_remark=self.flag(),
        )

    def json(self, depth: int = 3) -> Any:
        """Return any value of JSON."""
        if depth == 0 or self.random.random() < 0.4:
            return self.random.choice((None, True, -1, self.number(), 1e300, "", self.text().decode("latin-1")))
        if self.flag():
            return [self.json(depth - 1) for _ in range(self.random.randrange(3))]
        return {self.word("servers", "nodes", "levels"): self.json(depth - 1) for _ in range(self.random.randrange(3))}


def _events(values: Values) -> None:
    end = None if values.flag() else values.number()
    line = values.number()
    for _ in _native.Events(values.text(30), fold=values.number(), start=values.number(), end=end, line=line):
        pass


def _runs(values: Values) -> None:
    data, compiled = values.compilation()
    for run in compiled.runs:
        for ask in (run.kept, run.reasons, run.alone, run.dead, run.dead_kept, run.duplicates, run.spans, run.first):
            ask()
        run.stands_before()
        run.witnesses(values.number() % 100)
        run.removed(values.text() if values.flag() else data)
        for ask in (run.variables, run.statements, run.trees):
            ask(values.names())
        _native.maps_text(values.text(), [(run, values.names())])
        _native.map_sizes([run], [values.texts()], [values.texts()], values.size(), values.size(), as_is=values.flag())


def _map(values: Values) -> Any:
    return _native.compile_map(
        values.text(30),
        stem=values.word("uri_x"),
        keeps_captures=values.flag(),
        keeps_patterns=values.flag(),
        as_large=values.flag(),
        for_remark=values.flag(),
    )


def _prove_map(values: Values) -> None:
    original = values.text(30)
    compiled = None
    if values.flag():
        compiled = _native.compile_map(original, stem="s", keeps_patterns=True, as_large=True)
    compiled = compiled if isinstance(compiled, _native.CompiledMap) else None
    emitted = compiled.maps if compiled is not None and values.flag() else values.text(30)
    _native.prove_map(original, emitted, compiled=compiled, keeps_captures=values.flag())


def _prove(values: Values) -> None:
    data, compiled = values.compilation()
    flags = ("in_location", "in_http", "holds_rows", "takes_rules")
    pair: Any = SimpleNamespace(before=data, after=values.text(), **{name: values.flag() for name in flags})
    _native.prove_rewrites(
        [pair],
        [(values.text(), values.flag())],
        values.text(),
        values.text(),
        readings=values.readings(),
        transparent=[values.word("a")],
        harmless=[values.word("a")],
        rerunning=[values.word("a")],
        inherited=[values.word("a")],
        quiet=[values.word("a")],
        is_complete=values.flag(),
        include=values.texts() if values.flag() else None,
        may_set_sizes=set(values.texts()) if values.flag() else None,
        compiled=compiled.runs,
    )


def _patterns(values: Values) -> None:
    patterns = _native.Patterns(values.texts(), to_match=values.flag())
    patterns.first(values.text())


def _model(values: Values) -> None:
    model = _native.RequestModel(json.dumps(values.json()), values.texts())
    model.answers([json.dumps(values.json())], json.dumps(values.json()))


def _line_format(values: Values) -> _native.LineFormat:
    return _native.LineFormat(
        values.text(),
        [values.word("request") for _ in range(3)],
        values.texts(),
        values.word("default"),
        [values.word("host")],
        wrapped=values.flag(),
    )


def _digest(values: Values) -> None:
    """Read pieces of a log, place what they bring, and ask for the sums."""
    digest = _native.LogDigest(_line_format(values))
    for _ in range(2):
        groups = digest.read(values.text(60))
        digest.place([([values.word("a")], values.word("b")) for _ in groups])
    digest.sums()


def _requests(values: Values) -> None:
    """Read a piece of a log, and its end."""
    requests = _native.LogRequests(_line_format(values))
    requests.read(values.text(60))
    requests.read(b"")
    requests.groups()


Target = Callable[[Values], object]

TARGETS: Mapping[str, Target] = {
    "Events": _events,
    "LineFormat": _line_format,
    "LogDigest": _digest,
    "LogRequests": _requests,
    "Patterns": _patterns,
    "RequestModel": _model,
    "captures": lambda values: _native.captures(values.text(), values.text()),
    "common_subject": lambda values: _native.common_subject(values.texts(), values.texts(), values.flag()),
    "compile_map": _map,
    "compile_rewrites": _runs,
    "exact_union": lambda values: _native.exact_union(values.texts()),
    "gives_up": lambda values: _native.gives_up(values.text(), values.text()),
    "map_blocks": lambda values: _native.map_blocks(values.text(30)),
    "map_evaluations": lambda values: _native.map_evaluations(values.text(30)),
    "map_sizes": lambda values: _native.map_sizes(
        [], [values.texts()], [values.texts()], values.number(), values.number(), as_is=values.flag()
    ),
    "map_spans": lambda values: _native.map_spans(values.text(30)),
    "map_verdict": lambda values: _native.map_verdict(values.texts(), values.number(), values.number()),
    "maps_text": lambda values: _native.maps_text(values.text(), []),
    "never": lambda values: _native.never(values.text(), values.flag()),
    "not_the_union": lambda values: _native.not_the_union(values.text(), values.texts()),
    "pattern_error": lambda values: _native.pattern_error(values.text()),
    "pattern_facts": lambda values: _native.pattern_facts(values.text()),
    "plain_rows": lambda values: _native.plain_rows(
        values.text(60),
        (values.number(), values.number()),
        values.number() % 256,
        (values.number(), values.number(), values.number() if values.flag() else None),
        [values.number()],
        values.number(),
    ),
    "prove_map": _prove_map,
    "prove_rewrites": _prove,
    "statement_spans": lambda values: _native.statement_spans(values.text(30), values.number(), values.number()),
    "suspicious_rewrites": lambda values: _native.suspicious_rewrites(values.text(30), values.spans()),
    "variable_sizes": lambda values: _native.variable_sizes(
        values.texts(), values.number(), values.number(), values.texts()
    ),
    "without_captures": lambda values: _native.without_captures(values.text()),
}
"""The functions and classes, each with a call of it, and of what its result can be asked."""

WITHOUT_INPUT = frozenset({"map_reasons", "panic_place", "reasons", "request_settings", "watch_signals"})
"""Functions that take nothing."""

OF_THE_PROCESS = frozenset(
    {"count_orderly", "end_lacking", "interrupt", "release_memory", "reserve_memory", "work_done", "work_forever"}
)
"""Functions that count blocks or work, that concern threads of Python, and that exist for tests."""


def panics(name: str, seed: int) -> str | None:
    """Return the place where a call panics, None if it does not; what it raises besides is an answer."""
    _native.panic_place()
    try:
        TARGETS[name](Values(Random(f"{name} {seed}")))
    except _native.PanicException as error:
        return f"{_native.panic_place()}: {error}"
    except Exception:
        return None
    return None


def main() -> None:
    """Call targets in turn until the time is up, and print what panics."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=TARGETS)
    options = parser.parse_args()
    end, seed, found = time.monotonic() + options.seconds, options.seed, dict[str, str]()
    while time.monotonic() < end:
        for name in [options.only] if options.only else TARGETS:
            place = panics(name, seed)
            if place is not None and (where := place.partition(": ")[0]) not in found:
                found[where] = name
                print(f"{name} with seed {seed} panics at {place}", flush=True)
        seed += 1
    print(f"{seed - options.seed} calls of each, {len(found)} places that panic")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
