"""Many requests: equal ones are counted, and those that differ in nothing but the target stand together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from nginxopt.request.client import Request


@dataclass(slots=True)
class TargetGroup:
    """Requests that differ only in their target, with the number of each. `request` has all but their targets.

    `status` is that of their responses, None if it is not known.
    """

    request: Request
    targets: dict[bytes, int] = field(default_factory=dict)
    status: int | None = None


@dataclass(slots=True)
class Traffic:
    """The requests of a file.

    Attributes:
        kind: What the file is, for people: `access log in the format combined`.
        lines: The number of lines that are neither empty nor comments.
        broken: The number of lines that do not fit the format, and the first of them, from 1.
        malformed: The number of lines with a request that is not HTTP, which nginx answers with 400.
        notes: What was taken as given.
        is_log: Whether it is an access log, which has the requests that are written to it.
    """

    kind: str
    groups: list[TargetGroup]
    lines: int = 0
    broken: int = 0
    broken_lines: list[int] = field(default_factory=list)
    malformed: int = 0
    notes: list[str] = field(default_factory=list)
    is_log: bool = False

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(sum(group.targets.values()) for group in self.groups)

    def __iter__(self) -> Iterator[Request]:
        """Yield the different requests."""
        for group in self.groups:
            for target in group.targets:
                yield replace(group.request, url=replace(group.request.url, target=target))

    def sample(self, most: int) -> list[Request]:
        """Return at most so many of the different requests, evenly from all groups."""
        step = max(1, -(-sum(len(group.targets) for group in self.groups) // most))
        return list(islice(self, 0, None, step))


def grouped(requests: Iterable[Request]) -> list[TargetGroup]:
    """Return requests in groups, in the order of their first ones."""
    return list(groups_of(requests).values())


def groups_of(requests: Iterable[Request]) -> dict[object, TargetGroup]:
    """Return requests in groups, by what they share (`shared`), in the order of their first ones."""
    groups: dict[object, TargetGroup] = {}
    for request in requests:
        key = shared(request)
        if key not in groups:
            groups[key] = TargetGroup(replace(request, url=replace(request.url, target=b"/")))
        targets, target = groups[key].targets, request.url.target
        targets[target] = targets.get(target, 0) + 1
    return groups


def shared(request: Request) -> object:
    """Return all of a request but its target, as a key."""
    url = request.url
    return (
        url.scheme, url.host, url.port, request.method, request.headers, request.version, request.protocol,
        request.client,
    )  # fmt: skip
