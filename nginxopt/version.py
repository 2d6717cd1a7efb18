"""nginx versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from nginxopt.errors import UsageError


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A release of nginx: `1.22.1`."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the version that `text` names, the patch being 0 if left out. Raises `UsageError` if it names none."""
        match = re.fullmatch(r"v?(\d+)\.(\d+)(?:\.(\d+))?", text.strip())
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

    def __str__(self) -> str:
        return dotted((self.major, self.minor, self.patch))


def dotted(numbers: Iterable[int]) -> str:
    """Return a version in dotted form: `1.22.1`, or `1.21.4.1` of OpenResty."""
    return ".".join(map(str, numbers))
