"""Every file of a corpus of public nginx configurations is read or refused, and never crashes.

The corpus is no part of the repository: its folder, with `index.tsv` and `files/`, is named by
`NGINXOPT_CORPUS` or lies at `../shared/corpus`. Each row of the index names a file, the set it belongs to and
a note. Plain files are those that are no templates and not in set C, which holds test fixtures of other
tools, often broken on purpose.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import crossplane.parser
import pytest

from nginxopt.config import Config, load
from nginxopt.errors import InputError

CORPUS = Path(os.environ.get("NGINXOPT_CORPUS", Path(__file__).parents[2] / "shared" / "corpus"))
INDEX = CORPUS / "index.tsv"

pytestmark = pytest.mark.skipif(not INDEX.exists(), reason=f"no corpus at {CORPUS}: name its folder in NGINXOPT_CORPUS")

# The two plain files that are refused have one "}" too few.
PLAIN_FLOOR = 210


def rows() -> Iterator[dict[str, str]]:
    """The rows of the index."""
    with INDEX.open(encoding="utf-8", newline="") as index:
        yield from csv.DictReader(index, delimiter="\t")


def is_plain(row: dict[str, str]) -> bool:
    """Whether a row is of a file that is meant for nginx as it is."""
    return "template" not in row["note"] and row["set"] != "C"


def read(row: dict[str, str]) -> Config | InputError:
    """What comes of reading one file; anything but an `InputError` is a crash."""
    try:
        return load(CORPUS / row["file"], includes=False)
    except InputError as error:
        return error


def test_every_file_is_read_or_refused(record_property: Callable[[str, object], None]) -> None:
    """No file crashes; of the plain ones those are accepted that are whole; a refusal names its place."""
    found = [(row, read(row)) for row in rows()]
    refused = [(row, result) for row, result in found if isinstance(result, InputError)]
    plain = [row for row, _ in found if is_plain(row)]
    accepted = len(plain) - sum(is_plain(row) for row, _ in refused)
    all_accepted = len(found) - len(refused)
    report = f"{len(found)} files read, {all_accepted} accepted; plain: {accepted} of {len(plain)}"
    record_property("corpus", report)
    assert len(found) >= 1219
    assert accepted >= PLAIN_FLOOR
    assert all(error.render().count("\n") >= 2 and error.span is not None for _, error in refused)


def test_spans_are_what_is_written() -> None:
    """Every word of every file that is accepted stands in the file where its span says, quoted or not."""
    words = 0
    for row in rows():
        config = read(row)
        if isinstance(config, InputError):
            continue
        for directive, _ in config.walk():
            for word in (directive.name, *directive.args):
                written = directive.source.text(word.span)
                lua = directive.name.endswith("_by_lua_block")
                assert word.quoted == (written[0] in "\"'" or (lua and written[0] == "{")), row["file"]
                if "\\" not in written:
                    assert word == (written[1:-1] if word.quoted else written), row["file"]
                words += 1
    assert words > 80_000


def test_crossplane_reads_the_same_directives() -> None:
    """Where crossplane's own lexer reads a file too, the directives at the top level are the same."""
    compared = 0
    for row in filter(is_plain, rows()):
        config = read(row)
        options = {"single": True, "check_ctx": False, "check_args": False}
        payload = crossplane.parser.parse(str(CORPUS / row["file"]), **options)
        if isinstance(config, InputError) or payload["status"] != "ok" or "lua" in row["note"]:
            continue
        theirs = [item["directive"] for item in payload["config"][0]["parsed"]]
        ours = [str(directive.name) for directive in config.main.block.directives()]
        assert ours == theirs, row["file"]
        compared += 1
    assert compared > 150
