"""What one call of `rewrite-to-map` asks for."""

from __future__ import annotations

from typing import Literal

from nginxopt.records import record

Mode = Literal["print", "folder", "write", "diff", "check", "plan", "bench"]


@record(eq=True)
class Call:
    """The options of the command for one file, except those of the compilation."""

    file: str
    mode: Mode
    folder: str | None
    report: str | None
    nginx: str | None
    verify: bool
    explain: str | None
    quiet: bool
    verbose: bool
    at_least: int
    bench: bool
    main: str | None
    prefix: str | None
    context: str | None
