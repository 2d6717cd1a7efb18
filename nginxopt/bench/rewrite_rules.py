"""Generates rewrites for benchmarks, in files of any size, and compiles them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nginxopt.config import Config, load_text
from nginxopt.errors import DefectError, InputError
from nginxopt.records import record
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.rewrite.proving import proved as proof_of

FAR_MISS = b"/favicon.ico"

_WHOLE = b"events {}\nhttp {\n    server {\n%s    }\n}\n"


def uri(number: int) -> bytes:
    """Return the URI of a generated rule. It has 34 bytes, the average of real URIs."""
    return b"/section/archive/article-%05d.html" % number


def location(number: int) -> bytes:
    """Return the target of a generated rule, without the host."""
    return b"/new/%05d" % number


def literal(count: int) -> Iterator[bytes]:
    """Yield `count` rules of the simplest kind, for one URI each, which maps replace completely."""
    for number in range(count):
        pattern = uri(number).replace(b".", rb"\.")
        yield b"rewrite ^%s$ https://$http_host%s permanent;\n" % (pattern, location(number))


@record(eq=True)
class Parts:
    """Compiled rules: the text for the http block, and the text for the server."""

    http: bytes
    server: bytes


def fragment(rules: Iterable[bytes]) -> Parts:
    """Compile rules as a separate file. It preserves `$1` to `$9`, which may be read after it."""
    return parts(_emission(b"".join(rules), "rules.conf", "server"))


def whole(rules: Iterable[bytes]) -> Parts:
    """Compile rules as part of a whole configuration in which nothing reads `$1` to `$9` after them."""
    emission = _emission(_WHOLE % b"".join(rules), "nginx.conf", None)
    after = load_text(emission.after(emission.plan.config.main), "nginx.conf", includes=False)
    server = next(directive for directive, _ in after.walk() if directive.name == "server")
    assert server.block is not None
    inside = server.block.span
    return Parts(emission.http, after.main.source.data[inside.start + 1 : inside.end - 1])


def parts(emission: Emission) -> Parts:
    """Return the texts of an emission."""
    return Parts(emission.http, emission.after(emission.plan.config.main))


def proved(config: Config) -> Emission:
    """Compile and prove a file of rules.

    Raises `InputError` if it is not a single file of rules for a server, or if no rule moves, so that before and after
    would be the same.
    """
    if len(config.files) > 1 or any(item.block and item.name != "if" for item, _ in config.walk()):
        raise InputError(
            "bench rewrites needs a file of rules that a server includes, or maps with regular expressions",
            path=config.main.path,
            hint="for other main configurations, use `nginxopt bench compare`",
        )
    planned = plan(config, Options(groups=True))
    if not planned.rules.moved:
        raise InputError(
            f"none of its {planned.rules.total:,} rewrites moves into a map, so there is nothing to compare",
            path=config.main.path,
            hint="for the reasons, run `nginxopt rewrite-to-map FILE --plan-only -v`",
        )
    emission, proof = proof_of(planned)
    if not proof.holds:
        raise DefectError(f"the proof does not hold: {proof.refutation}")
    return emission


def _emission(text: bytes, name: str, context: str | None) -> Emission:
    return emit(plan(load_text(text, name, context=context, includes=False), Options(groups=True)))
