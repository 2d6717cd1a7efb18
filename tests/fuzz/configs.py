"""Mutated configurations through the whole of `nginxopt lint`, by hand over a folder of them:

    python -m tests.fuzz.configs --files 10000 --all --in-turn --corpus DIR --nginx --keep FAULTS
    python -m tests.fuzz.configs --unchanged --all --corpus DIR --nginx --keep FAULTS

Every file is one or two of the folder, often made whole by the blocks around it, with bytes, words and lines put in,
taken out, doubled and swapped, cut off, joined, or nested. Each is checked in every format, and fixed with the safe
fixes and with all of them. What must hold: the statuses are those that are documented, a report can be read by what
reads it, a text is changed if and only if the report offers a fix, fixes leave nothing to fix and what they make can be
read, no command takes longer than `LIMIT` seconds of the processor, and with `--nginx` what `nginx -t` accepts is
accepted after the fixes.

The same seed makes the same files. What fails is printed, and kept in the folder of `--keep`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict, cast
from xml.etree import ElementTree as ET

import html5lib

from nginxopt import cli
from nginxopt.config import Context, load_text
from nginxopt.config.templating import is_template
from nginxopt.errors import InputError
from nginxopt.lint.examples import wrapped
from nginxopt.lint.report import FORMATS
from nginxopt.settings.vocabulary import CATEGORIES
from nginxopt.system import nginx
from nginxopt.text import Source
from nginxopt.version import Version
from tests.nginx.example import verdict_on

LIMIT = 2.0
"""Seconds of the processor that one command may take."""

ALL = ("--select", ",".join(CATEGORIES))
"""The options that ask every rule."""

TARGETS = ("1.22.1", "1.28.0", "1.30.0")
_STATUSES = {0: "clean", 1: "findings", 3: "refused"}
_NAME = "fuzzed"
_LONGEST = 400_000

_SPECIAL = [b"\0", b"\r", b"\n", b"\t", b'"', b"'", b"\\", b"{", b"}", b";", b"#", b"$", b"${", b"~", b"\xff", b"\xc3"]
_WORD = re.compile(rb"[^\s;{}]+|[;{}]|\s+")
_ARGUMENT = re.compile(rb"""(?<=[^\s;{}])(\s+[^\s;{}#"']+)(?=[\s;])""")
_INCLUDE = re.compile(rb"""(include\s+["']?)[^\s;]*/""")
_READERS: dict[str, Callable[[bytes], object]] = {
    "json": json.loads,
    "sarif": json.loads,
    "gitlab": json.loads,
    "junit": ET.fromstring,
    "checkstyle": ET.fromstring,
    "text": lambda text: text.decode(),
    "github": lambda text: text.decode(),
    "markdown": lambda text: text.decode(),
    "html": lambda text: html5lib.HTMLParser(strict=True).parse(text.decode()),
}


def _contexts(text: bytes) -> tuple[Context, ...]:
    """Return the contexts in which a text may stand."""
    return load_text(text, missing_ok=True, includes=False).candidates


class _Found(TypedDict):
    fix: Mapping[str, str] | None


class _Report(TypedDict):
    diagnostics: Sequence[_Found]


Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def _bytes(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    """Flip, put in, or take out bytes."""
    for _time in range(rng.randint(1, 4)):
        at = rng.randint(0, len(text))
        new = rng.choice(_SPECIAL) if rng.random() < 0.7 else bytes([rng.randrange(256)])
        text = text[:at] + (new if rng.random() < 0.8 else b"") + text[at + rng.randint(0, 2) :]
    return text


def _lines(rng: random.Random, text: bytes, seeds: Sequence[bytes]) -> bytes:
    """Take out, double, swap lines, or put in some of another file."""
    return b"".join(_shuffled(rng, text.splitlines(keepends=True), rng.choice(seeds).splitlines(keepends=True)))


def _words(rng: random.Random, text: bytes, seeds: Sequence[bytes]) -> bytes:
    """The same with words, where blanks are words too."""
    return b"".join(_shuffled(rng, _WORD.findall(text), _WORD.findall(rng.choice(seeds)[:20_000])))


def _shuffled(rng: random.Random, parts: list[bytes], others: list[bytes]) -> list[bytes]:
    for _time in range(rng.randint(1, 5)):
        at, count = rng.randint(0, len(parts)), rng.randint(1, 3)
        match rng.randrange(4):
            case 0:
                del parts[at : at + count]
            case 1:
                parts[at:at] = parts[at : at + count]
            case 2:
                to = rng.randint(0, len(parts))
                parts[at : at + 1], parts[to : to + 1] = parts[to : to + 1], parts[at : at + 1]
            case _:
                start = rng.randint(0, len(others))
                parts[at:at] = others[start : start + count]
    return parts


def _arguments(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    """Take out, double, or replace arguments: the text stays one that can be read."""
    for _time in range(rng.randint(1, 4)):
        matches = list(_ARGUMENT.finditer(text))
        if matches:
            start, end = rng.choice(matches).span(1)
            others = [match[1] for match in rng.sample(matches, min(2, len(matches)))]
            text = text[:start] + rng.choice([b"", text[start:end] * 2, *others]) + text[end:]
    return text


def _cut(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    return text[: rng.randint(0, len(text))]


def _joined(rng: random.Random, text: bytes, seeds: Sequence[bytes]) -> bytes:
    return text + rng.choice([b"", b"\n"]) + rng.choice(seeds)


def _line_ends(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    return text.replace(b"\n", rng.choice([b"\r\n", b"\r\n", b"\r", b" "]))


def _marked(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    return rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\0"]) + text


def _long(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    """Make one word, or one line of words, very long."""
    words = _WORD.findall(text) or [b"a"]
    at = rng.randrange(len(words))
    words[at] = (words[at] + rng.choice([b"", b" "])) * rng.choice([100, 5_000, 50_000])
    return b"".join(words)[:_LONGEST]


def _nested(rng: random.Random, text: bytes, _: Sequence[bytes]) -> bytes:
    depth = rng.choice([3, 50, 1_000])
    opening = rng.choice([b"location / {\n", b"http {", b"if ($a) {\n", b"server{"])
    return opening * depth + text + b"}\n" * depth


MUTATIONS: Sequence[tuple[Mutation, int]] = (
    (_lines, 14), (_arguments, 14), (_words, 6), (_bytes, 4), (_joined, 2), (_line_ends, 2), (_cut, 1),
    (_marked, 1), (_long, 1), (_nested, 1),
)  # fmt: skip
"""How a text is changed, and how often one way is taken in comparison to the others."""


def mutated(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """A text of the seeds, changed, that includes nothing outside of its own folder."""
    text = rng.choice(seeds)
    for mutate in rng.choices(*zip(*MUTATIONS, strict=True), k=rng.choice([0, 1, 1, 1, 2, 3])):
        text = mutate(rng, text, seeds)
    return _INCLUDE.sub(rb"\1", text[:_LONGEST])


def seeds_in(folder: Path) -> list[bytes]:
    """The files of a folder, and those of one context once more with the blocks around them."""
    texts = files_in(folder)
    return texts + [whole for text in texts if (whole := _whole(text)) is not None]


def files_in(folder: Path) -> list[bytes]:
    """The files of a folder."""
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()]


def _whole(text: bytes) -> bytes | None:
    try:
        candidates = load_text(text, includes=False).candidates
    except InputError:
        return None
    contexts = {(): None, ("http",): "http", ("http", "server"): "server", ("http", "server", "location"): "location"}
    return next((wrapped(text, name) for path in candidates if (name := contexts.get(path))), None)


@dataclass
class Figures:
    """What was seen: numbers of files by status, of files fixed and asked about, the slowest command, the faults."""

    statuses: Counter[str] = field(default_factory=Counter)
    fixed: int = 0
    asked: int = 0
    accepted: int = 0
    slowest: tuple[float, str] = (0.0, "none")
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        statuses = ", ".join(f"{count:,} {status}" for status, count in sorted(self.statuses.items()))
        return (
            f"{statuses}; {self.fixed:,} texts changed by fixes, {self.asked:,} of them shown to nginx,"
            f" {self.accepted:,} accepted before and after; slowest command {self.slowest[0]:.2f} s"
            f" ({self.slowest[1]});"
            f" {len(self.faults):,} faults"
        )


class FaultError(Exception):
    """Something does not hold."""


class Fuzz:
    """A run over texts in a folder of its own, with or without an nginx to ask."""

    def __init__(
        self,
        folder: Path,
        binary: nginx.Binary | None = None,
        limit: float | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.figures = Figures()
        self._options = ["--isolated", *options]
        self._path = folder / _NAME
        self._report = folder / "report"
        self._binary = binary
        self._limit = limit
        self._name = ""
        self._offered: frozenset[str] = frozenset()  # the safeties of the fixes in the report of a text

    def check(self, text: bytes, target: str, name: str = "", turn: int | None = None) -> None:
        """Check all about a text, called `name` in the figures; `FaultError` if something does not hold.

        With `turn`, only one format and one kind of fixes are tried, whose turn it is.
        """
        self._name = name
        options = [*self._options, "--target-version", target]
        self._path.write_bytes(text)
        formats: Sequence[str] = tuple(FORMATS)
        kinds: Sequence[Sequence[str]] = ((), ("--unsafe-fixes",))
        if turn is not None:
            formats, kinds = ["json", formats[turn % len(formats)]], [kinds[turn // len(formats) % 2]]
        self.figures.statuses[_STATUSES[self._judge(options, formats)]] += 1
        for unsafe in kinds:
            self._mend(text, [*options, *unsafe, "--fix"], Version.parse(target))

    def _judge(self, options: list[str], formats: Sequence[str]) -> int:
        """Judge the text in these formats; return the status, which is the same for all of them."""
        statuses = {}
        for name in formats:
            statuses[name] = self._run(*options, "--format", name, "--output", str(self._report))
            self._read(name)
        if len(set(statuses.values())) > 1:
            raise FaultError(f"the status depends on the format: {statuses}")
        return next(iter(statuses.values()))

    def _read(self, name: str) -> None:
        try:
            report = _READERS[name](self._report.read_bytes())
        except (ValueError, ET.ParseError, html5lib.html5parser.ParseError) as error:
            raise FaultError(f"the report as {name} cannot be read: {error}") from error
        if name == "json":
            fixes = (found["fix"] for found in cast("_Report", report)["diagnostics"])
            self._offered = frozenset(fix["safety"] for fix in fixes if fix is not None)

    def _mend(self, text: bytes, options: list[str], target: Version) -> None:
        """Fix the text, and once more, which is to change nothing."""
        self._path.write_bytes(text)
        status = self._run(*options)
        once = self._path.read_bytes()
        again = self._run(*options)
        if self._path.read_bytes() != once:
            raise FaultError(f"a second {' '.join(options)} changes something")
        if (once != text) != bool(self._offered if "--unsafe-fixes" in options else self._offered & {"safe"}):
            raise FaultError(f"fixes are offered ({', '.join(self._offered)}), and {' '.join(options)} makes others")
        if again != status and _contexts(once) == _contexts(text):  # a corrected name may say where a fragment stands
            raise FaultError(f"{' '.join(options)} ends with {status}, and a second one with {again}")
        if once != text:
            self.figures.fixed += 1
            if self._binary and target <= Version.of(self._binary.version):
                self._ask(self._binary, text, once, options)

    def _ask(self, binary: nginx.Binary, before: bytes, after: bytes, options: list[str]) -> None:
        if b"load_module" in before or is_template(Source(_NAME, before)):
            return  # a module may not be there, and nginx reads no tags
        self.figures.asked += 1
        if not verdict_on(binary, before).ok:
            return
        verdict = verdict_on(binary, after)
        if not verdict.ok:
            raise FaultError(f"nginx -t refuses what {' '.join(options)} makes: {verdict}")
        self.figures.accepted += 1

    def _run(self, *options: str) -> int:
        """Run the command on the text; return its status, which is one of those that are documented."""
        status, output, seconds = run("lint", *options, str(self._path))
        self.figures.slowest = max(self.figures.slowest, (seconds, f"{self._name} {' '.join(options)}"))
        if status not in _STATUSES:
            raise FaultError(f"{' '.join(options)} ends with {status}: {output[-2_000:]}")
        if self._limit is not None and seconds > self._limit:
            raise FaultError(f"{' '.join(options)} takes {seconds:.2f} s")
        return status


def run(*arguments: str) -> tuple[int, str, float]:
    """Run a command in this process; return its status, what it says, and its seconds of the processor."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    started = time.process_time()
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            cli.main(arguments)
        except SystemExit as ended:
            status = ended.code if isinstance(ended.code, int) else 1
        finally:
            signal.signal(signal.SIGTERM, on_sigterm)  # the command's own ends the command alone
    if status in (128 + signal.SIGTERM, 128 + signal.SIGINT):
        sys.exit(status)
    out.flush()
    return status, out.buffer.getvalue().decode(errors="replace"), time.process_time() - started


def texts(seeds: Sequence[bytes], seed: int, count: int) -> Iterator[tuple[int, bytes, str]]:
    """Yield numbered texts, each with a target; a text depends on the seed and its number alone."""
    for number in range(count):
        rng = random.Random(f"{seed}-{number}")
        yield number, mutated(rng, seeds), rng.choices(TARGETS, (2, 1, 1))[0]


def as_they_are(seeds: Sequence[bytes]) -> Iterator[tuple[int, bytes, str]]:
    """Yield the seeds as `texts` would, but for what they include outside of their folder."""
    for number, text in enumerate(seeds):
        yield number, _INCLUDE.sub(rb"\1", text), TARGETS[0]


def main() -> int:
    """Run from the command line; the status is 1 if something does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.configs", description="lint over mutated configurations"
    )
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR", help="the files to mutate")
    parser.add_argument("--files", type=int, default=200, metavar="N", help="how many to make")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first")
    parser.add_argument("--unchanged", action="store_true", help="take the files as they are, each once")
    parser.add_argument("--in-turn", action="store_true", help="try one format and one kind of fixes a file, in turn")
    parser.add_argument("--all", action="store_true", help="ask every rule, not only those selected by default")
    parser.add_argument("--nginx", action="store_true", help="ask nginx -t before and after fixes")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to put what fails")
    options = parser.parse_args()
    seeds = seeds_in(options.corpus)
    with tempfile.TemporaryDirectory(prefix="nginxopt-fuzz-") as folder:
        fuzz = Fuzz(Path(folder), nginx.find() if options.nginx else None, LIMIT, ALL if options.all else ())
        cases = as_they_are(seeds) if options.unchanged else texts(seeds, options.seed, options.first + options.files)
        for number, text, target in cases:
            if number < options.first:
                continue
            try:
                fuzz.check(text, target, str(number), number if options.in_turn else None)
            except FaultError as fault:
                fuzz.figures.faults.append(f"{number}: {fault}")
                print(f"{number} (nginx {target}): {fault}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{options.seed}-{number}.conf").write_bytes(text)
    print(fuzz.figures)
    return int(bool(fuzz.figures.faults))


if __name__ == "__main__":
    sys.exit(main())
