"""Builds the experiment that compares two configurations of the user, before and after a change."""

from __future__ import annotations

from nginxopt.bench.isolation import isolate
from nginxopt.bench.scenario import Attack, Comparison, Experiment, OpenLoop, Target, Variant
from nginxopt.config import Config
from nginxopt.errors import InputError
from nginxopt.text import Source, Span, decode

LOAD = OpenLoop(rate=1000, seconds=2)
CASE = "targets"

_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")


def build(before: Config, after: Config, targets: tuple[Target, ...]) -> Experiment:
    """Return the experiment. Both configurations must answer each target with the same status and Location."""
    sides = {"before": isolate(before), "after": isolate(after)}
    notes = [
        f"{name}: {what} ({count})." for name, side in sides.items() for what, count in sorted(side.changes.items())
    ]
    notes = [f"{name}: {side.measured()}" for name, side in sides.items()] + notes
    if any(directive.name.endswith("_pass") for side in (before, after) for directive, _ in side.walk()):
        notes.append("Upstream servers are the real ones.")
    return Experiment(
        "compare",
        "Two configurations",
        "Both respond the same; the ratio of after to before is the effect of the change.",
        tuple(Variant(name, side.path, (side.node(),)) for name, side in sides.items()),
        tuple(Attack(name, CASE, targets, LOAD) for name in sides),
        (Comparison("before", "after"),),
        "latency",
        notes=tuple(notes),
    )


def targets(source: Source) -> tuple[Target, ...]:
    """Return the targets of a file. Raises `InputError` with the place of an invalid line.

    A line is a path, `METHOD path`, or a header `Name: value` of the request above it; `#` starts a comment.
    """
    targets: list[Target] = []
    at = 0
    for raw in source.data.splitlines(keepends=True):
        line = decode(raw).strip()
        target = None if not line or line.startswith("#") else _target(line, targets)
        if target is None and line and not line.startswith("#"):
            raise InputError(
                "neither a request nor a header",
                source=source,
                span=Span(at, at + len(raw.rstrip())),
                expected="/path, METHOD /path, or a header (Name: value) below a request",
            )
        if target is not None:
            targets.append(target)
        at += len(raw)
    if not targets:
        raise InputError("no requests in this file", path=source.path, expected="one path per line")
    return tuple(targets)


def _target(line: str, targets: list[Target]) -> Target | None:
    """Return the request of a line, or the previous request with the header of the line; None if it is neither."""
    method, _, path = line.partition(" ")
    if line.startswith("/") and " " not in line:
        return Target(line, None)
    if method in _METHODS and path.startswith("/") and " " not in path:
        return Target(path, None, method)
    name, colon, value = line.partition(":")
    if targets and colon and name and " " not in name:
        last = targets.pop()
        return Target(last.path, None, last.method, (*last.headers, (name, value.strip())))
    return None
