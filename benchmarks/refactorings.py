"""What `nginxopt verify` says of refactorings and of visible changes, on configurations of a folder.

    python -m benchmarks.refactorings FOLDER                        100 files, one edit of each kind
    python -m benchmarks.refactorings FOLDER --files 300 --seed 7
    python -m benchmarks.refactorings FOLDER --nginx /usr/sbin/nginx     ask a real nginx, too
    python -m benchmarks.refactorings FOLDER --kind "a stated default" --show unknown
    python -m benchmarks.refactorings FOLDER --hide --nginx /usr/sbin/nginx  an unread file more in each

FOLDER has configurations in any depth; those that nginxopt refuses are left out. `benchmarks.edits`,
`benchmarks.visible`, `benchmarks.practice` and `benchmarks.reviews` edit each file, one edit at a time. A refactoring
is proved if the verdict is `equivalent`, and WRONG if it is `different`; a visible change is WRONG if the verdict is
`equivalent`, unless no request reaches it (`deny all` behind a `return`), which is to be read. With `--nginx`, both
sides also answer the requests for their locations on a real nginx, where they start: a pair that is `equivalent` and
answered differently is WRONG as well. Exit status 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import struct
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from benchmarks.edits import EQUAL, VERSION, Edit, Text
from benchmarks.practice import CHANGED, REFACTORED
from benchmarks.reviews import ALIKE, UNLIKE
from benchmarks.visible import VISIBLE
from nginxopt.config import Config, load_text
from nginxopt.errors import NginxoptError, UsageError
from nginxopt.request.model import SiteModel, World
from nginxopt.request.private import PrivateNginx
from nginxopt.semantics.site import Build
from nginxopt.system.nginx import Binary, find
from nginxopt.verify import Verification, confirm, verify
from nginxopt.verify.confirming import observed
from nginxopt.verify.hosts import addresses
from nginxopt.verify.path_condition import Candidate
from nginxopt.verify.side import VerifiedSide
from nginxopt.verify.witnesses import request_of
from nginxopt.version import Version

_LARGEST = 40_000  # bytes; larger files take long and are of few kinds
_STEPS = "steps=100000"
_MOST_REQUESTS = 8
_TIMED = ("header date", "header expires")
_RECORD = struct.Struct(">xBxxHBx")
_PARAMS = 4
"""A record of FastCGI: its kind, the size of its content, and that of its padding; and the kind of parameters."""


@dataclass(slots=True)
class Figures:
    """What came of the edits of one kind.

    Attributes:
        verdicts: How often each verdict came, and `WRONG`.
        reasons: The first doubts of those that are unknown.
        shown: The files, with what was said of them.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    shown: list[tuple[str, str, str]] = field(default_factory=list)


def readable(path: Path) -> Config | None:
    """Return a configuration, also a fragment of http; None if it is no configuration of http, or refused."""
    try:
        data = path.read_bytes()
        config = load_text(data, str(path), missing_ok=True)
        return config if SiteModel(config, Build(VERSION)).site.site["servers"] else None
    except (NginxoptError, OSError, RecursionError):
        return None


_HIDDEN = b"include nginxopt-hidden.conf;"
_HOSTILE = {
    "server": (
        b"location ~ [a-z] { return 418; }",
        b"add_header X-Hidden $uri always;",
        b"location ~ /$ { add_header X-Hidden 1 always; }",
        b"error_page 404 =418 /hidden;",
        b"satisfy any;",
        b"rewrite ^/(.)(.*)$ /$1$2 last;",
    ),
    "location": (
        b"location ~ . { }",
        b"add_header X-Hidden $uri always;",
        b"return 418 $uri;",
        b"error_page 404 403 =418 /hidden;",
        b"if ($uri) { add_header X-Hidden 1 always; }",
        b"rewrite ^/(.)(.*)$ /$1$2 break;",
    ),
}
"""What the hidden file may hold, by the block that includes it."""


def hidden(config: Config, path: Path, draw: random.Random) -> tuple[Config, tuple[bytes, ...]] | None:
    """Return a configuration that includes a file more, with contents of that file; None if it has no place for it."""
    text = Text.of(config)
    blocks = [each for each, _ in text.placed if each.name in _HOSTILE and each.block is not None and b"{" in text.data]
    if not blocks:
        return None
    block = draw.choice(blocks)
    start = text.data.index(b"{", block.args[-1].span.end if block.args else block.start) + 1
    data = b"%s %s%s" % (text.data[:start], _HIDDEN, text.data[start:])
    try:
        return load_text(data, str(path), missing_ok=True), _HOSTILE[str(block.name)]
    except NginxoptError:
        return None


def compared(config: Config, data: bytes, path: Path) -> tuple[Verification, SiteModel, SiteModel] | None:
    """Return what `verify` says of a configuration and its edited text, with both models; None if that is refused."""
    try:
        old = SiteModel(config, Build(VERSION))
        new = SiteModel(load_text(data, str(path), missing_ok=True), Build(VERSION))
    except NginxoptError:
        return None
    return verify(old, new), old, new


class Real:
    """A real nginx, which is asked about both sides."""

    def __init__(self, binary: Binary) -> None:
        self._binary = binary
        self._build = Build(Version.of(binary.version))

    def differs(self, old: Config, new: Config) -> bool | None:
        """Return whether both sides answer the requests for locations differently; None if one does not start."""
        try:
            side = VerifiedSide(SiteModel(old, self._build).site, SiteModel(old, self._build).site.site)
            requests = list(_requests(side))
            answers = [self._answers(config, requests) for config in (old, new)]
        except (NginxoptError, OSError):
            return None
        steady = [first for first, second in zip(*answers[0], strict=True) if first == second]
        again = [first for first, second in zip(*answers[1], strict=True) if first == second]
        return None if len(steady) != len(requests) or len(again) != len(requests) else steady != again

    def confirms(self, result: Verification, old: SiteModel, new: SiteModel) -> bool | None:
        """Return whether nginx answers the witness as the models say; None if it does not start."""
        try:
            assert result.witness is not None
            return confirm(result.witness, (old.config, old), (new.config, new), self._binary).holds
        except (NginxoptError, OSError):
            return None

    def _answers(self, config: Config, requests: Sequence[Candidate]) -> list[list[Mapping[str, object]]]:
        """Return the answers to some requests, twice."""
        world = World(existing=(), missing=())
        with PrivateNginx(config, self._build.prefix, world, self._binary, tls=False) as nginx:
            site = SiteModel(config, self._build).site
            sockets = addresses(VerifiedSide(site, site.site))
            plain = (place for place, socket in sockets.items() if not (place.quic or socket["tls"]))
            place = next((place for place in plain if place.family == "inet"), None)
            if place is None:
                raise UsageError("nothing listens without TLS")
            moved = [nginx.moved(request_of(each, place, is_tls=False)) for each in requests]
            return [[_without_time(observed(nginx.ask(each), nginx)) for each in moved] for _ in range(2)]


def _without_time(seen: Mapping[str, object]) -> dict[str, object]:
    return {name: _in_any_order(value) for name, value in seen.items() if name not in _TIMED}


def _in_any_order(value: object) -> object:
    """Return what an upstream got, with the parameters of FastCGI in alphabetical order, as `field-order` allows."""
    match value:
        case ("fastcgi", bytes() as data):
            try:
                return sorted(_parameters(data)), len(data)
            except IndexError:  # the path of a folder was put back in the text, whose length is another one now
                return sorted(data)
    return value


def _parameters(data: bytes) -> Iterator[bytes]:
    """Yield the parameters of a request of FastCGI, each with its lengths; `IndexError` if these do not fit."""
    content, at = b"", 0
    while len(data) - at >= _RECORD.size:
        kind, size, padding = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        content += data[at : at + size] if kind == _PARAMS else b""
        at += size + padding
    while content:
        end, sizes = 0, 0
        for _ in ("name", "value"):
            width = 4 if content[end] >> 7 else 1
            sizes += int.from_bytes(content[end : end + width], "big") & (1 << (8 * width - 1)) - 1
            end += width
        if end + sizes > len(content):
            raise IndexError
        yield content[: end + sizes]
        content = content[end + sizes :]


def _requests(side: VerifiedSide) -> Iterator[Candidate]:
    """Yield a request for each host, and for locations."""
    texts = (name["text"] for server in side.form["servers"] for name in server["names"])
    hosts = [text for text in dict.fromkeys(texts) if text[:1].isalnum()] or ["h"]
    names = (side.location_name(at) for at, level in enumerate(side.form["levels"]) if level["kind"] == "location")
    paths = [name.text for name in names if name.modifier in ("", "=", "^~") and name.text.startswith(b"/")]
    for path in list(dict.fromkeys([b"/", *paths, b"/a.html"]))[:_MOST_REQUESTS]:
        yield from (Candidate(path=path, host=host) for host in hosts[:2])


def run(
    paths: Sequence[Path],
    folder: Path,
    kinds: Mapping[str, Edit],
    seed: int,
    real: Real | None,
    *,
    is_equal: bool,
    hides: bool = False,
) -> tuple[dict[str, Figures], int]:
    """Return what came of each kind, and how many files were edited."""
    found: dict[str, Figures] = defaultdict(Figures)
    files = 0
    for path in paths:
        config = readable(path)
        if config is None:
            continue
        contents: tuple[bytes, ...] = ()
        if hides:
            made = hidden(config, path, random.Random(f"{seed} {path.relative_to(folder)}"))
            if made is None:
                continue
            config, contents = made
        files += 1
        text = Text.of(config)
        for kind, edit in kinds.items():
            data = edit(text, random.Random(f"{seed} {path.relative_to(folder)} {kind}"))
            if data is None or data == text.data:
                continue
            result = compared(config, data, path)
            if result is not None:
                _count(found[kind], result, real, str(path.relative_to(folder)), contents, is_equal=is_equal)
    return found, files


def _count(
    figures: Figures,
    result: tuple[Verification, SiteModel, SiteModel],
    real: Real | None,
    name: str,
    contents: Sequence[bytes],
    *,
    is_equal: bool,
) -> None:
    verification, old, new = result
    verdict: str = verification.verdict
    is_wrong = verdict == ("different" if is_equal else "equivalent")
    if real is not None and verdict == "equivalent":
        for pair in _filled(old.config, new.config, contents):
            asked = real.differs(*pair)
            figures.verdicts["asked"] += asked is not None
            is_wrong = is_wrong or bool(asked)
    if real is not None and verdict == "different":
        confirmed = real.confirms(verification, old, new)
        figures.verdicts["confirmed" if confirmed else "not confirmed" if confirmed is False else "does not start"] += 1
    figures.verdicts[verdict] += 1
    figures.verdicts["WRONG"] += is_wrong
    reasons = [doubt.reason for doubt in verification.doubts]
    if verdict == "unknown":
        figures.reasons[reasons[0]] += 1
    figures.shown.append(("WRONG" if is_wrong else verdict, name, "; ".join(reasons[:3])))


def _filled(old: Config, new: Config, contents: Sequence[bytes]) -> Iterator[tuple[Config, Config]]:
    """Yield both sides, with contents of the hidden file if there is one."""
    if not contents:
        yield old, new
    for content in contents:
        with suppress(NginxoptError):
            texts = [side.main.source.data.replace(_HIDDEN, content) for side in (old, new)]
            first, second = (load_text(text, old.main.path, missing_ok=True) for text in texts)
            yield first, second


def rows(found: Mapping[str, Figures], *, is_equal: bool) -> Iterator[str]:
    """Yield a table."""
    good = "equivalent" if is_equal else "different"
    yield f"{'kind':<44} {'edits':>6} {good:>11} {'unknown':>8} {'WRONG':>6}"
    total: Counter[str] = Counter()
    for kind, figures in sorted(found.items()):
        verdicts = figures.verdicts
        total += verdicts
        yield _row(kind, verdicts, good)
    yield _row("all", total, good)
    more = [
        f"{total[name]} {name}" for name in ("asked", "confirmed", "not confirmed", "does not start") if total[name]
    ]
    if more:
        yield f"nginx: {', '.join(more)}"
    reasons: Counter[str] = sum((figures.reasons for figures in found.values()), Counter())
    yield from (f"{number:>6}  {reason[:150]}" for reason, number in reasons.most_common(25))


def _row(kind: str, verdicts: Mapping[str, int], good: str) -> str:
    edits = sum(verdicts[name] for name in ("equivalent", "different", "unknown"))
    share = f"{verdicts[good]} ({verdicts[good] / max(edits, 1):.0%})"
    return f"{kind:<44} {edits:>6} {share:>11} {verdicts['unknown']:>8} {verdicts['WRONG']:>6}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Edit, compare and print; 1 if a verdict is wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.refactorings", description="What verify says of edits.")
    parser.add_argument("folder", type=Path, help="folder with configurations")
    parser.add_argument("--files", type=int, default=100, help="how many files are drawn (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default: %(default)s)")
    parser.add_argument("--nginx", help="binary to ask, where configurations start")
    parser.add_argument("--kind", action="append", help="only edits of this kind")
    parser.add_argument("--show", choices=["equivalent", "different", "unknown", "WRONG"], help="list these edits")
    parser.add_argument("--only", choices=["equal", "visible"], help="only refactorings, or only visible changes")
    parser.add_argument("--hide", action="store_true", help="include a file more in each, which is not read")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    os.environ.setdefault("NGINXOPT_BUDGET", _STEPS)
    every = sorted(path for path in options.folder.rglob("*") if path.is_file() and path.stat().st_size < _LARGEST)
    paths = random.Random(options.seed).sample(every, min(options.files, len(every)))
    real = None if options.nginx is None else Real(find(options.nginx))
    is_wrong = False
    documents: list[dict[str, object]] = []
    for name, edits, is_equal in (
        ("equal", EQUAL | REFACTORED | ALIKE, True),
        ("visible", VISIBLE | CHANGED | UNLIKE, False),
    ):
        kinds = {kind: edit for kind, edit in edits.items() if options.kind is None or kind in options.kind}
        if options.only not in (None, name) or not kinds:
            continue
        start = monotonic()
        found, files = run(paths, options.folder, kinds, options.seed, real, is_equal=is_equal, hides=options.hide)
        is_wrong = is_wrong or any(figures.verdicts["WRONG"] for figures in found.values())
        if options.json:
            figures = {kind: {"verdicts": each.verdicts, "reasons": each.reasons} for kind, each in found.items()}
            documents.append({"edits": name, "files": files, "kinds": figures})
            continue
        print(f"{name}: {files} of {len(paths)} files, seed {options.seed}, {monotonic() - start:.0f} s")
        print(*rows(found, is_equal=is_equal), "", sep="\n")
        shown = [(kind, *each) for kind, figures in found.items() for each in figures.shown if each[0] == options.show]
        print(
            *(f"{kind}: {path}: {reasons}" for kind, _, path, reasons in shown), sep="\n", end="" if not shown else "\n"
        )
        sys.stdout.flush()
    if options.json:
        print(json.dumps(documents, indent=2))
    return int(is_wrong)


if __name__ == "__main__":
    raise SystemExit(main())
