"""Sites with a mistake: what `nginx -t` refuses, the model must refuse as well, and nothing else."""

from __future__ import annotations

import math
import random
import re
import shlex
import time
from collections import Counter
from dataclasses import dataclass, field

from nginxopt._native import request_settings
from nginxopt.errors import InputError
from nginxopt.system.nginx import Message
from tests.fuzz.nodes import Node, walk
from tests.fuzz.sites.batch import made
from tests.fuzz.sites.model import Model, build
from tests.fuzz.sites.stage import Stage
from tests.fuzz.sites.words import quoted

_WORDS = (
    "", "x", "0", "1", "-1", "1x", "999", "99999999999999999999", "$", "$1", "${", "${uri", "(", "[", "*", "**",
    "http://",
    "http:///x", "http://a b/", "@n", "=", "=200", "=x", "on", "off", "ON", "~", "*.", "a..b", "/", "/a", "a", "404",
    "1k", "1m",
    "1g", "10.0.0.0/33", "10.0.0.1/8", "::1", "all", "unix:", "always", "any", "(?<uri>x)", "(?<args>x)", "(?<host>.)",
    "(?<http_x>.)", "$uri", "$host", "set", "last", "permanent", "default", "max", "epoch", "-1h", "@12h", "modified",
    "merge", "127.0.0.1:1/x", "unix:/s:/x", "300", "600", "444", "a=b", "$arg_a", "!-f", "~*", "!=", "/a/", "\\",
    "'", "é",
)  # fmt: skip
_EACH = 20
"""How many mistakes each site gets."""

_NAMES = (*request_settings(), "rewrite", "return", "set", "break", "listen", "server_name", "http2", "gzip")


@dataclass(slots=True)
class Mistakes:
    """What was tried, and where the model and nginx do not agree, by nginx's message or the model's."""

    sites: int = 0
    refused: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    refused_alone: Counter[str] = field(default_factory=Counter)
    other_message: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def differing(self) -> int:
        """How many nginx or the model refuses alone."""
        return self.accepted.total() + self.refused_alone.total()

    def __str__(self) -> str:
        parts = [f"{self.sites:,} sites with a mistake, {self.refused:,} refused by nginx"]
        for name, counts in (
            ("the model answers", self.accepted),
            ("the model alone refuses", self.refused_alone),
            ("refused with other words", self.other_message),
        ):
            parts.append(f"{counts.total():,} {name}")
            parts += [f"  {count:5,} {text}\n        {self.examples[text]}" for text, count in counts.most_common(60)]
        return "\n".join(parts)


def play(stage: Stage, seed: int, numbers: range, seconds: float = math.inf) -> Mistakes:
    """Try mistakes in the sites of these numbers that nginx starts with, at most for that time."""
    mistakes, ends = Mistakes(), time.monotonic() + seconds
    (stage.root / "logs").mkdir(exist_ok=True)
    for number in numbers:
        if time.monotonic() > ends:
            break
        stage.write({"nginx.conf": made(seed, number, 1, stage.binary.version).text(stage, 0)})
        if stage.verdict().ok:
            draw = random.Random(f"{seed}-{number} mistakes")
            for _ in range(_EACH):
                _try(stage, seed, number, draw, mistakes)
    return mistakes


def _try(stage: Stage, seed: int, number: int, draw: random.Random, mistakes: Mistakes) -> None:
    batch = made(seed, number, 1, stage.binary.version)
    what = mutate(draw, batch.sites[0].nodes)
    text = batch.text(stage, 0)
    stage.write({"nginx.conf": text})
    verdict = stage.verdict()
    message = next((message for message in verdict.messages if message.level == "emerg"), None)
    refusal = refused(text, stage)
    mistakes.sites += 1
    mistakes.refused += not verdict.ok
    _count(mistakes, message, refusal, f"{seed}-{number}: {what}")


def refused(text: str, stage: Stage) -> str | None:
    """Return the model's message for a text that it refuses, with its place."""
    try:
        Model.of_text(text, build(stage.binary, stage.root))
    except InputError as error:
        return (error.nginx or error.message).replace(f"{stage.root}/", "")
    return None


_OF_THE_WORLD = re.compile(
    r"host not found|open\(\)|bind\(\)|unknown directive|unknown \"\w+\" variable|could not build"
)
"""What nginx refuses for the machine that it runs on and its modules."""
_UNREADABLE = re.compile(r"the split_clients parameters")
"""nginx reads behind the end of a row with one word."""


def _count(mistakes: Mistakes, message: Message | None, refusal: str | None, example: str) -> None:
    if message is None and (refusal is None or _UNREADABLE.search(refusal)):
        return
    if message is not None and _OF_THE_WORLD.search(message.text):
        return
    if message is None:
        key, counts = _kind(refusal or ""), mistakes.refused_alone
    elif refusal is None:
        key, counts = _kind(message.text), mistakes.accepted
        example += f" [{message.text}]"
    else:
        said = f"{message.text} in {message.place}" if message.place else message.text
        if said == refusal:
            return
        key, counts = f"{_kind(message.text)} | {_kind(refusal)}", mistakes.other_message
        example += f" [{said} | {refusal}]"
    counts[key] += 1
    mistakes.examples.setdefault(key, example)


def _kind(message: str) -> str:
    return re.sub(r"\"[^\"]*\"(?! directive| variable)|:\d+|\d+", "...", message)[:150]


def mutate(draw: random.Random, nodes: list[Node]) -> str:
    """Make a mistake in a site, and return what it is."""
    places = list(walk(nodes))
    siblings, node = draw.choice(places)
    blocks = [other.body for _, other in places if other.body is not None]
    match draw.randint(0, 7):
        case 0:
            target = draw.choice(blocks)
            target.insert(draw.randint(0, len(target)), _copy(node))
            return f"moved {_shown(node)}"
        case 1:
            siblings.insert(siblings.index(node) + 1, _copy(node))
            return f"twice {_shown(node)}"
        case 2 | 3:
            before = _shown(node)
            node.head = _other_words(draw, node.head)
            return f"{before} -> {_shown(node)}"
        case _:
            words = draw.choices(_WORDS, k=draw.choice((0, 1, 1, 1, 2, 2, 3)))
            made_up = Node(" ".join([draw.choice(_NAMES), *map(quoted, words)]).encode())
            target = draw.choice(blocks)
            target.insert(draw.randint(0, len(target)), made_up)
            return f"added {_shown(made_up)}"


def _copy(node: Node) -> Node:
    return Node(node.head, None if node.body is None else [_copy(inner) for inner in node.body])


def _shown(node: Node) -> str:
    return node.head.decode(errors="replace")


def _other_words(draw: random.Random, head: bytes) -> bytes:
    text = head.decode("utf-8", "surrogateescape")
    try:
        words = shlex.split(text)
    except ValueError:
        return head
    place = draw.randint(1, len(words)) if len(words) > 1 else 1
    match draw.randint(0, 3):
        case 0 if place < len(words):
            del words[place]
        case 1:
            words.insert(place, draw.choice(_WORDS))
        case _:
            words[place : place + 1] = [draw.choice(_WORDS)]
    return " ".join([words[0], *map(quoted, words[1:])]).encode("utf-8", "surrogateescape")
