"""`python -m tests.fuzz.refusals --corpus DIR`: nginx and `check` refuse the same mutants of public configurations.

Takes the main configurations of a folder that nginx accepts (on a copy, confined), makes one mistake in each, and asks
both: words are replaced, removed, added, doubled and swapped, directives are moved, doubled and removed, semicolons and
braces are lost. Differences are printed by nginx's message. What depends on more than the text is not counted.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.config import Config, Directive, load, load_text
from nginxopt.errors import InputError
from nginxopt.semantics import levels
from nginxopt.semantics.refusals import refusals
from nginxopt.system import nginx
from nginxopt.system.nginx import trial
from nginxopt.version import Version

_WORDS = (
    "", "0", "1", "-1", "1k", "1m", "1g", "10s", "1y", "5ms", "on", "off", "ON", "x", "$uri", "$nosuch", "$", "${uri",
    "99999999999999999999", "65536", "200", "404", "999", "1000", "=404", "@a", "/a", "~(", "*", "*.a", "a..b", "all",
    "10.0.0.0/33", "::1", "127.0.0.1:99999", "http://127.0.0.1", "http://u:1/x", "default", "shared:a:1m", "zone=a:1m",
    "zone=a", "rate=1r/s", "burst=0", "weight=0", "max_fails=x", "always", "permanent", "main", "combined", "unix:",
)  # fmt: skip
_OF_THE_WORLD = re.compile(
    r"host not found|open\(\)|bind\(\)|stat\(\)|mkdir\(\)|cannot load|PEM_|SSL_|BIO_|getpwnam|getgrnam|no resolver"
    r"|unknown directive|could not build|could not be resolved|is not supported|requires|dlopen|pcre|ssl_ciphers"
)
"""What nginx refuses for its machine, its modules or libraries."""


@dataclass(slots=True)
class Tally:
    """What was tried, and where the two do not agree, by the message of the one that refuses."""

    configurations: int = 0
    mutants: int = 0
    refused: int = 0
    nginx_alone: Counter[str] = field(default_factory=Counter)
    check_alone: Counter[str] = field(default_factory=Counter)
    other_words: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [
            f"{self.configurations:,} configurations, {self.mutants:,} mutants, {self.refused:,} refused by nginx",
        ]
        for title, counts in (
            ("nginx alone refuses", self.nginx_alone),
            ("check alone refuses", self.check_alone),
            ("both refuse, and check does not have nginx's words", self.other_words),
        ):
            parts.append(f"{title}: {counts.total():,}")
            parts += [f"  {count:5,} {text}\n        {self.examples[text]}" for text, count in counts.most_common(40)]
        return "\n".join(parts)


def said(config: Config, release: Version) -> list[str]:
    """Return what `check` refuses."""
    return [refusal.message for refusal in refusals(levels(config, release, is_all=True), release)]


def verdict(config: Config, binary: nginx.Binary) -> str | None:
    """Return nginx's first error; None if it accepts the configuration."""
    answer = trial.test(config, binary)
    return None if answer.ok else next((each.text for each in answer.messages if each.level == "emerg"), "")


def play(paths: Sequence[Path], binary: nginx.Binary, seed: int, each: int, seconds: float) -> Tally:
    """Try mutants of the configurations that nginx accepts, for a time."""
    tally, release, ends = Tally(), Version.of(binary.version), time.monotonic() + seconds
    draw = random.Random(seed)
    for path in draw.sample(paths, len(paths)):
        if time.monotonic() > ends:
            break
        config = _accepted(path, binary)
        if config is None:
            continue
        tally.configurations += 1
        for _ in range(each):
            text, what = mutant(draw, config)
            _compare(tally, path, text, what, binary, release)
    return tally


def _accepted(path: Path, binary: nginx.Binary) -> Config | None:
    try:
        config = load(path, missing_ok=True)
        if config.candidates != ((),) or config.missing:
            return None
        return config if verdict(config, binary) is None else None
    except InputError:
        return None


def _compare(tally: Tally, path: Path, text: bytes, what: str, binary: nginx.Binary, release: Version) -> None:
    try:
        config = load_text(text, str(path), missing_ok=True)
        message, found = verdict(config, binary), said(config, release)
    except InputError:  # the text has no tree, which nginx refuses as well; or it would run a program
        return
    tally.mutants += 1
    tally.refused += message is not None
    if message is None and not found:
        return
    if message is None:
        counts, key = tally.check_alone, found[0]
    elif _OF_THE_WORLD.search(message):
        return
    elif not found:
        counts, key = tally.nginx_alone, message
    elif any(message.startswith(each) or each in message for each in found):
        return
    else:
        counts, key = tally.other_words, message
        what += f" {found[:3]}"
    key = re.sub(r'"[^"]*"(?! directive| variable| parameter)|:\d+|\d+', "...", key)[:140]
    counts[key] += 1
    tally.examples.setdefault(key, f"{path}: {what} [{message}]")


def mutant(draw: random.Random, config: Config) -> tuple[bytes, str]:
    """Return the main file with one mistake, and what it is."""
    data = config.main.source.data
    directives = [each for each in _inside(config) if each.args or each.block]
    one, other = draw.choice(directives), draw.choice(directives)
    whole = data[one.span.start : one.span.end]
    at = other.span.start
    match draw.randint(0, 9):
        case 0 | 1 | 2 | 3 if one.args:
            word = draw.choice(one.args)
            words = [*_WORDS, *(str(arg) for arg in other.args[:1])]
            new = draw.choice(words)
            quoted = f'"{new}"' if not new or set(new) & set(" ;{}()") else new
            return _cut(data, word.span.start, word.span.end, quoted.encode()), f"{one.name}: {word} -> {new}"
        case 4 if one.args:
            word = draw.choice(one.args)
            return _cut(data, word.span.start, word.span.end, b""), f"{one.name}: without {word}"
        case 5 if one.args:
            end = one.args[-1].span.end
            return _cut(data, end, end, b" " + draw.choice(_WORDS[1:]).encode()), f"{one.name}: one more"
        case 6:
            return _cut(data, at, at, whole + b"\n"), f"{one.name} also before {other.name}"
        case 7:
            return _cut(data, one.span.start, one.span.end, b""), f"without {one.name}"
        case 8 if one.block is None:
            return _cut(data, one.span.end - 1, one.span.end, b""), f"{one.name} without semicolon"
        case _:
            return _cut(data, one.span.end, one.span.end, b"\n" + whole), f"{one.name} twice"


def _cut(data: bytes, start: int, end: int, new: bytes) -> bytes:
    return data[:start] + new + data[end:]


def _inside(config: Config) -> Iterator[Directive]:
    return (each for each, _ in config.walk() if each.source is config.main.source)


def main() -> None:
    """Play from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--nginx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    paths = sorted(path for path in options.corpus.rglob("*") if path.is_file() and path.suffix not in (".tsv", ".md"))
    print(play(paths, nginx.find(options.nginx), options.seed, options.each, options.seconds))


if __name__ == "__main__":
    main()
