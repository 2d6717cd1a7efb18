"""From a table of redirects to maps that answer it, with the proof that each row is answered as it says.

    table = read("redirects.csv", data)     its rows, whatever the format
    checked = check(table)                  without rows that never answer; duplicates, chains, loops
    emission = emit(checked)                the maps, and the statements for a server
    proof = prove(emission)

Nothing here writes a file; `prove` reads the emitted text again. docs/redirect-tables.md says what a row means.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.rewrite.tables.emission import TableEmission, emit, oldest
    from nginxopt.rewrite.tables.findings import CheckedTable, RowFinding, check
    from nginxopt.rewrite.tables.kinds import KINDS, kind_of, read
    from nginxopt.rewrite.tables.proof import TableProof, prove
    from nginxopt.rewrite.tables.table import Rejected, RejectedError, Row, Table

__all__ = [
    "KINDS",
    "CheckedTable",
    "Rejected",
    "RejectedError",
    "Row",
    "RowFinding",
    "Table",
    "TableEmission",
    "TableProof",
    "check",
    "emit",
    "kind_of",
    "oldest",
    "prove",
    "read",
]

__getattr__ = attributes(
    __name__,
    {
        "emission": ("TableEmission", "emit", "oldest"),
        "findings": ("CheckedTable", "RowFinding", "check"),
        "kinds": ("KINDS", "kind_of", "read"),
        "proof": ("TableProof", "prove"),
        "table": ("Rejected", "RejectedError", "Row", "Table"),
    },
)
