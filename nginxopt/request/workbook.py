"""Reads a spreadsheet from standard input, and writes its first sheet with rows to standard output as CSV.

`nginxopt.request.sheets` runs this as a program with limits of its own: calamine, which is native, takes memory
for what a damaged file says that it has, and panics or aborts for others.
"""

from __future__ import annotations

import csv
import io
import resource
import sys
import zipfile
from collections.abc import Iterable
from typing import Any

REFUSED = 3
"""The exit status for a file that is not a spreadsheet; standard error says why."""

_LIMITS = ((resource.RLIMIT_AS, 4 * 1024**3), (resource.RLIMIT_CPU, 60), (resource.RLIMIT_CORE, 0))
"""The bytes that the largest sheet takes in Python, a minute of CPU time, and no core dump."""


def main() -> str | None:
    """Read, and write; return what is wrong with the spreadsheet, None if nothing is."""
    from python_calamine import CalamineError, CalamineWorkbook

    for kind, most in _LIMITS:
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, least))
    try:
        workbook: Any = CalamineWorkbook.from_filelike(io.BytesIO(sys.stdin.buffer.read()))
        for name in workbook.sheet_names:
            rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
            if any(cell not in ("", None) for row in rows for cell in row):
                sys.stdout.buffer.write(_csv(rows))
                return None
    except (CalamineError, zipfile.BadZipFile, OSError, ValueError) as error:
        return f"not a spreadsheet that can be read: {' '.join(str(error).split())}"
    except MemoryError:
        return "too large: it takes more memory than there is"
    return "the table is empty"


def _csv(rows: Iterable[Iterable[object]]) -> bytes:
    """Return rows as CSV; a line end in a cell is a space, so that each row is a line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([" ".join(_cell(cell).split()) for cell in row])
    return text.getvalue().encode("utf-8", "surrogateescape")


def _cell(value: object) -> str:
    """Return a cell as it is shown; spreadsheets keep 301 as 301.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else "" if value is None else str(value)


if __name__ == "__main__":
    reason = main()
    if reason is not None:
        sys.stderr.write(f"{reason}\n")
        sys.exit(REFUSED)
