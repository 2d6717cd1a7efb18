"""The end of a benchmark: its results as a table or JSON, and its exit status."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Protocol, TypeVar


class Limited(Protocol):
    """A dataclass with figures."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def within(self) -> bool:
        """Whether they are within their limits."""


_Result = TypeVar("_Result", bound=Limited)


def report(results: Sequence[_Result], rows: Callable[[Sequence[_Result]], Iterable[str]], *, as_json: bool) -> int:
    """Print the results; return 1 if one is beyond its limits, otherwise 0."""
    if as_json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        print(*rows(results), sep="\n")
    return int(not all(result.within for result in results))
