"""nginx versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Self

from nginxopt.errors import UsageError
from nginxopt.records import record


@record(eq=True)
class Version:
    """A release of nginx: `1.22.1`. Releases are older or newer by their numbers alone.

    Attributes:
        major: The first number.
        minor: The second number.
        patch: The third number.
        build: The release of a vendor that is based on it, such as `angie-1.10.3`; empty for nginx itself.
    """

    major: int
    minor: int
    patch: int
    build: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the version that `text` names, the patch being 0 if left out. Raises `UsageError` if it names none."""
        match = re.fullmatch(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?", text.strip())
        if match is None:
            raise UsageError(f"{text!r} is not an nginx version", hint="for example 1.22.1")
        major, minor, patch = match.groups(default="0")
        return cls(int(major), int(minor), int(patch))

    @classmethod
    def target(cls, text: str) -> Self:
        """Return the target version that a user states: a 1.x. Raises `UsageError` for any other.

        The rules and the model of requests begin with 1.0.0. Tengine and others count higher, but not as nginx does.
        """
        version = cls.parse(text)
        if version.major != 1:
            raise UsageError(f"nginxopt does not know nginx {text.strip()}", hint="use a version 1.x, such as 1.22.1")
        return version

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Self:
        """Return the version of the first three `numbers`, those that are left out being 0."""
        major, minor, patch, *_ = (*numbers, 0, 0, 0)
        return cls(major, minor, patch)

    def next(self) -> Self:
        """Return the release after this one."""
        return type(self)(self.major, self.minor, self.patch + 1)

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Its three numbers."""
        return self.major, self.minor, self.patch

    def __lt__(self, other: Version) -> bool:
        return self.numbers < other.numbers

    def __le__(self, other: Version) -> bool:
        return self.numbers <= other.numbers

    def __gt__(self, other: Version) -> bool:
        return self.numbers > other.numbers

    def __ge__(self, other: Version) -> bool:
        return self.numbers >= other.numbers

    def __str__(self) -> str:
        return dotted(self.numbers)


def dotted(numbers: Iterable[int]) -> str:
    """Return a version in dotted form: `1.22.1`, or `1.21.4.1` of OpenResty."""
    return ".".join(map(str, numbers))
