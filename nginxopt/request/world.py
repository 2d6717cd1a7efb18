"""What is known of the world around nginx: files, and the values of variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Self, TypedDict

from nginxopt import lazy
from nginxopt.budget import limit
from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.request.listing import Listing
from nginxopt.text import encode

_REQUESTS = 10
"""How many requests take as long as one comparison."""

_VARIABLE = lazy.pattern(r"\$?(?:\{(\w+)\}|(\w+))", re.ASCII)


class FilesForm(TypedDict):
    """What `Files` of `rust/src/request/world.rs` reads."""

    existing: list[str]
    missing: list[str]
    listed: list[str]
    disk: bool
    root: str | None


class LimitsForm(TypedDict):
    """What `Limits` of `rust/src/request/world.rs` reads."""

    steps: int
    bytes: int


class WorldForm(TypedDict):
    """What `World` of `rust/src/request/world.rs` reads. Text is bytes as Latin-1."""

    files: FilesForm
    variables: Mapping[str, str]
    may_send_more: bool
    limits: LimitsForm


@record(eq=True)
class World:
    """What is known of the world.

    Attributes:
        existing: The paths of files, and of folders with a slash at their end, that are taken to exist.
        missing: The paths that are taken to be missing.
        variables: The values of variables, by name in lower case.
        listed: The folders, without a slash at their end, in which nothing exists but what `existing` has.
        root: The folder in which all other files are looked for by their paths; None if it is unknown which exist.
        may_send_more: Whether arguments, headers and cookies that a request does not have are unknown, not absent.
    """

    existing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    root: str | None = None
    may_send_more: bool = False

    @classmethod
    def assume(cls, assumptions: Iterable[str], root: str | None = None) -> Self:
        """Return a world in which these hold: `exists=PATH`, `missing=PATH`, `NAME=VALUE`.

        Raises `UsageError` for another text, and for a path that both exists and is missing.
        """
        existing: list[str] = []
        missing: list[str] = []
        variables: dict[str, str] = {}
        for assumption in assumptions:
            name, equals, value = assumption.partition("=")
            if not equals:
                raise _wrong(assumption, "use exists=PATH, missing=PATH or VARIABLE=VALUE")
            if name in ("exists", "missing"):
                (existing if name == "exists" else missing).append(_path(assumption, value))
            else:
                variables[_variable(assumption, name)] = value
        both = {path.rstrip("/") for path in existing} & {path.rstrip("/") for path in missing}
        if both:
            raise UsageError(f"--assume has {min(both)} both as existing and as missing")
        return cls(tuple(existing), tuple(missing), variables, root=root)

    def with_files(self, existing: Iterable[str], missing: Iterable[str]) -> Self:
        """Return the world in which these files exist, too, and those are missing."""
        return replace(self, existing=(*self.existing, *existing), missing=(*self.missing, *missing))

    def with_listing(self, listing: Listing) -> Self:
        """Return a world in which what a listing says is so, too; what was assumed before goes before it.

        Raises `UsageError` beside a `root`.
        """
        if self.root is not None:
            raise UsageError("files are known either from --root or from --exists")
        missing = set(self.missing)
        existing = (path for path in listing.existing if path.rstrip("/") not in missing and path not in missing)
        return replace(self, existing=(*self.existing, *existing), listed=listing.folders)

    def form(self) -> WorldForm:
        """Return it as the model reads it."""
        files: FilesForm = {
            "existing": [*map(_latin, self.existing)],
            "missing": [*map(_latin, self.missing)],
            "listed": [*map(_latin, self.listed)],
            "disk": self.root is not None,
            "root": self.root or None,
        }
        variables = {name: _latin(value) for name, value in self.variables.items()}
        limits: LimitsForm = {"steps": max(1, limit("steps") // _REQUESTS), "bytes": limit("value-bytes")}
        return {"files": files, "variables": variables, "may_send_more": self.may_send_more, "limits": limits}


def _path(assumption: str, path: str) -> str:
    if not path.startswith("/"):
        raise _wrong(assumption, "the path of a file begins with /")
    return path


def _variable(assumption: str, name: str) -> str:
    match = _VARIABLE.fullmatch(name)
    if match is None:
        raise _wrong(assumption, f'"{name}" is not the name of a variable')
    return (match[1] or match[2]).lower()


def _wrong(assumption: str, hint: str) -> UsageError:
    return UsageError(f"invalid assumption {assumption!r}", hint=hint)


def _latin(text: str) -> str:
    return encode(text).decode("latin-1")
