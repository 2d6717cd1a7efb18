"""Compiles tables of redirects to maps, and proves that nginx answers each row as the table says.

    table = read("redirects.csv", data)     the rows, whatever the format
    checked = check(table)                  finds duplicates, chains and loops; skips rows that never answer
    emission = emit(checked)                the text of the maps, and the statements for a server
    proof = prove(emission)                 whether every request is answered according to the table

Nothing here writes a file. `prove` parses the emitted text again. docs/guide/redirect-tables.md defines what rows mean.
"""

from typing import TYPE_CHECKING

from nginxopt.lazy import attributes

if TYPE_CHECKING:
    from nginxopt.rewrite.tables.detection import KINDS, kind_of, read
    from nginxopt.rewrite.tables.emission import TableEmission, emit, oldest
    from nginxopt.rewrite.tables.findings import CheckedTable, RowFinding, check
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
        "detection": ("KINDS", "kind_of", "read"),
        "proof": ("TableProof", "prove"),
        "table": ("Rejected", "RejectedError", "Row", "Table"),
    },
)
