"""How many requests to real configurations `nginxopt trace` answers, and whether nginx answers the same.

    python -m benchmarks.answers CORPUS                         a random draw of 60 configurations, without nginx
    python -m benchmarks.answers CORPUS --nginx /usr/sbin/nginx compare with this nginx, on 127.0.0.1
    python -m benchmarks.answers CORPUS --neutral               with unread files that change no outcome

CORPUS is a folder with `index.tsv`, whose rows name files below it: of the sets B and F, those that are read and are no
templates. A request is for `/` of a server, and for a path of each of its locations. It is answered, has branches that
are all answered, or is unknown, for a reason that is counted. Files with a directive whose name is no word, such as
`apiVersion:`, are no configurations, and are counted apart. nginx is asked about each answer and each branch, with
the files of the branch; includes that are missing are left out there.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.cli.site import NEUTRAL, StandIns, UnreadFiles, read_with_standins
from nginxopt.config import Config
from nginxopt.errors import NginxoptError
from nginxopt.request.client import LOCAL, RequestForm
from nginxopt.request.doors import Doors
from nginxopt.request.model import OutcomeForm, SiteModel, World, text_of
from nginxopt.request.private import PrivateNginx
from nginxopt.request.real import differences
from nginxopt.semantics import Level
from nginxopt.semantics.site import Build
from nginxopt.semantics.subjects import shortest
from nginxopt.system.nginx import Binary, find
from nginxopt.version import Version

SETS = ("B", "F")
DRAW, SEED = 60, 42
REQUESTS = 12
"""The most requests to a configuration."""
WORLDS = 12
"""The most branches of a configuration that nginx is asked about."""

_REASONS = (
    ("a file", re.compile(r"whether .* (?:exists|is executable)")),
    ("an include", re.compile(r"is missing$")),
    ("an unknown directive", re.compile(r"^unknown directive")),
    ("not modelled", re.compile(r"is not modelled$")),
)

_NAME = re.compile(r"[A-Za-z]\w*|\}?", re.ASCII)


@dataclass
class Counts:
    """What became of requests: of each kind the number, and of unknown ones by reason."""

    configs: int = 0
    refused: int = 0
    foreign: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    details: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Leaf:
    """An answer to a request in a world."""

    request: RequestForm
    world: World
    outcome: OutcomeForm


def files(corpus: Path, number: int, seed: int) -> list[tuple[Path, str | None]]:
    """Return the drawn files, each with the context that the index states."""
    with (corpus / "index.tsv").open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file, delimiter="\t")
            if row["set"] in SETS and row["parse_ok"] == "yes" and "template" not in (row["note"] or "")
        ]
    random.Random(seed).shuffle(rows)
    return [(corpus / row["file"], row["context"] or None) for row in rows[:number]]


def read(path: Path, context: str | None, unread: UnreadFiles) -> StandIns:
    """Return a configuration, with what is assumed of its missing files."""
    return read_with_standins(str(path), None if context == "main" else context, None, None, unread)[0]


def requests(model: SiteModel, seed: int) -> list[RequestForm]:
    """Return the requests to a site: `/` of each server, and a path of each location."""
    doors = Doors(model, by_patterns=True)
    found: dict[str, RequestForm] = {}
    for number, server in enumerate(model.site.servers):
        door = next(doors.of_server(number), None)
        if door is None:
            continue
        for target in dict.fromkeys(["/", *_paths(server)]):
            form: RequestForm = json.loads(door.form)
            form["target"], form["connection"]["client"] = target, LOCAL
            form["headers"] = [*form["headers"], ("Accept", "*/*")]
            form["connection"]["host"] = {"0.0.0.0": LOCAL, "::": "::1"}.get(
                form["connection"]["host"], form["connection"]["host"]
            )
            found[json.dumps(form)] = form
    some = list(found.values())
    return some if len(some) <= REQUESTS else random.Random(seed).sample(some, REQUESTS)


def _paths(server: Level) -> Iterator[str]:
    for level in server.walk():
        if level.kind != "location" or not level.args:
            continue
        *modifiers, name = level.args
        modifier = modifiers[0] if modifiers else ""
        if modifier.startswith("~"):
            path = shortest((("(?i)" if modifier == "~*" else "").encode() + name.encode(), rb"^/[a-z0-9/._-]*$"))
            if path is not None:
                yield text_of(path.decode("latin-1"))
        elif name.startswith("/") and re.fullmatch(r"[\w/.~-]+", name, re.ASCII):
            yield name if modifier == "=" or not name.endswith("/") else f"{name}page.html"


def ask(model: SiteModel, form: RequestForm, world: World, counts: Counts) -> list[Leaf]:
    """Count what becomes of a request, and return the answers to it."""
    outcome = model.trace(form, world)["outcome"]
    if outcome["kind"] != "unknown":
        counts.kinds["answered"] += 1
        return [Leaf(form, world, outcome)]
    branches = model.branches(form, world)
    leaves = [
        Leaf(
            form,
            World(tuple(map(text_of, branch["exists"])), tuple(map(text_of, branch["missing"]))),
            branch["outcome"],
        )
        for branch in branches
    ]
    unknown = [leaf.outcome for leaf in leaves if leaf.outcome["kind"] == "unknown"] or ([] if leaves else [outcome])
    if not unknown:
        counts.kinds["in branches"] += 1
        return leaves
    counts.kinds["unknown"] += 1
    reason = unknown[0]["unknown"]["reason"] if unknown[0]["unknown"] else ""
    counts.reasons[next((name for name, pattern in _REASONS if pattern.search(reason)), "other")] += 1
    counts.details[re.sub(r"(?<=whether ).*(?= exists)", "FILE", reason)] += 1
    return [leaf for leaf in leaves if leaf.outcome["kind"] != "unknown"]


def compare(config: Config, leaves: Sequence[Leaf], binary: Binary, name: str, counts: Counts) -> None:
    """Count the answers that nginx gives, too."""
    by_world: dict[World | str, list[Leaf]] = {}
    for leaf in leaves:
        by_world.setdefault(json.dumps(leaf.world.form()), []).append(leaf)
    for some in list(by_world.values())[:WORLDS]:
        tls = any(leaf.request["connection"]["tls"] for leaf in some)
        try:
            with PrivateNginx(config, "/etc/nginx/", some[0].world, binary, tls=tls) as nginx:
                for leaf in some:
                    _compare(leaf, nginx, name, counts)
        except NginxoptError as error:
            counts.compared["does not start"] += 1
            counts.details[f"nginx: {str(error)[:90]}"] += 1
            return


def _compare(leaf: Leaf, nginx: PrivateNginx, name: str, counts: Counts) -> None:
    moved = nginx.moved(leaf.request)
    expected = nginx.expected(moved)
    if expected["kind"] == "unknown":
        counts.compared["unknown there"] += 1
        return
    found = list(differences(expected, nginx.ask(moved)))
    if (expected["kind"], expected["status"]) != (leaf.outcome["kind"], leaf.outcome["status"]):
        found.append(f"{leaf.outcome['kind']} {leaf.outcome['status']}, there {expected['kind']} {expected['status']}")
    counts.compared["different" if found else "the same"] += 1
    if found:
        host = dict(leaf.request["headers"])["Host"]
        counts.differing.append(f"{name}: {host}{leaf.request['target']} {leaf.world.existing}: {'; '.join(found)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and print; 1 if nginx answers otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.answers", description="Count what trace answers.")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--configs", type=int, default=DRAW, help="files that are drawn (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="(default: %(default)s)")
    parser.add_argument("--version", default="1.22.1", help="the nginx of the model (default: %(default)s)")
    parser.add_argument("--nginx", help="a binary to compare with")
    parser.add_argument("--neutral", action="store_true", help="assume unread-neutral")
    parser.add_argument("--details", type=int, default=15, help="reasons to list (default: %(default)s)")
    options = parser.parse_args(arguments)
    counts = Counts()
    binary = find(options.nginx) if options.nginx else None
    version = Version.of(binary.version) if binary else Version.parse(options.version)
    unread = UnreadFiles(NEUTRAL if options.neutral else None)
    for path, context in files(options.corpus, options.configs, options.seed):
        try:
            standing = read(path, context, unread)
            config = standing.config
            model = SiteModel(config, Build(version), neutral=standing.neutral, reads_lua=True)
            asked = requests(model, options.seed)
        except NginxoptError:
            counts.refused += 1
            continue
        if not all(_NAME.fullmatch(each.name) for level in model.site.levels for each in level.directives):
            counts.foreign += 1
            continue
        counts.configs += 1
        leaves = [leaf for form in asked for leaf in ask(model, form, World(), counts)]
        if binary is not None and leaves:
            compare(config, leaves, binary, str(path.relative_to(options.corpus)), counts)
    _print(counts, options.details)
    return int(bool(counts.differing))


def _print(counts: Counts, details: int) -> None:
    total = max(1, sum(counts.kinds.values()))
    print(
        f"{counts.configs} configurations, {counts.refused} that nginx refuses or that are not read,"
        f" {counts.foreign} that are no configurations; {total} requests"
    )
    for kind, number in counts.kinds.most_common():
        print(f"  {kind:<12} {number:>6} {number / total:>6.1%}")
    for reason, number in counts.reasons.most_common():
        print(f"    unknown: {reason:<22} {number:>5} {number / total:>6.1%}")
    for detail, number in counts.details.most_common(details):
        print(f"      {number:>5} {detail}")
    if counts.compared:
        print("  compared with nginx:", ", ".join(f"{number} {what}" for what, number in counts.compared.items()))
    for line in counts.differing:
        print(f"  DIFFERENT {line}")


if __name__ == "__main__":
    raise SystemExit(main())
