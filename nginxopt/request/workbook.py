"""Reads a spreadsheet from standard input, and writes a sheet to standard output as CSV.

It is the first sheet with an address in a row, or else the first with rows. The names of the other sheets with rows
go to standard error, as JSON.

`nginxopt.request.sheets` runs this as a program with limits of its own: calamine, which is native, takes memory
for what a damaged file says that it has, and panics or aborts for others.
"""

from __future__ import annotations

import csv
import io
import json
import resource
import sys
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

from nginxopt.request.columns import is_address

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
        text, filled, chosen = b"", [], ""
        for name in workbook.sheet_names:
            sheet = workbook.get_sheet_by_name(name)
            if any(map(_filled, sheet.iter_rows())):
                filled.append(name)
                if not chosen and any(map(_is_redirect, sheet.iter_rows())):
                    text, chosen = _csv(sheet.to_python(skip_empty_area=False)), name
        if not filled:
            return "the table is empty"
        if not chosen:
            chosen = filled[0]
            text = _csv(workbook.get_sheet_by_name(chosen).to_python(skip_empty_area=False))
        sys.stdout.buffer.write(text)
        sys.stderr.write(json.dumps([name for name in filled if name != chosen]))
    except (CalamineError, zipfile.BadZipFile, OSError, ValueError) as error:
        return f"not a spreadsheet that can be read: {' '.join(str(error).split())}"
    except MemoryError:
        return "too large: it takes more memory than there is"
    return None


def _filled(row: Sequence[object]) -> int:
    """Return how many cells of a row have a value."""
    return sum(cell not in ("", None) for cell in row)


def _is_redirect(row: Sequence[object]) -> bool:
    """Return whether a row has an address and something else."""
    return _filled(row) > 1 and any(is_address(_cell(cell).strip().encode("utf-8", "replace")) for cell in row)


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
