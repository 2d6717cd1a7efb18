"""Every file of a corpus of public nginx configurations is accepted or refused, without a crash.

The corpus is `fixtures/corpus`; NGINXOPT_CORPUS names a folder with a larger one and the same `index.tsv` and `files/`.
Each row of the index has a file, its set (A: rewrites, redirects and maps; B: configurations; C: test data of other
tools, often broken on purpose) and a note. Plain files are those outside set C that are not templates.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import crossplane.parser
import pytest

from nginxopt.config import Config, load
from nginxopt.errors import InputError

pytestmark = pytest.mark.no_cover

CORPUS = Path(os.environ.get("NGINXOPT_CORPUS") or Path(__file__).parents[2] / "fixtures" / "corpus")
INDEX = CORPUS / "index.tsv"


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
    """No file crashes; complete plain files are accepted; a refusal names its place."""
    results = [(row, read(row)) for row in rows()]
    refused = [(row, result) for row, result in results if isinstance(result, InputError)]
    plain = [row for row, _ in results if is_plain(row)]
    accepted = len(plain) - sum(is_plain(row) for row, _ in refused)
    all_accepted = len(results) - len(refused)
    report = f"{len(results)} files read, {all_accepted} accepted; plain: {accepted} of {len(plain)}"
    record_property("corpus", report)
    assert len(results) >= 150
    assert accepted >= len(plain) - 2  # those two have one "}" too few
    assert all(error.render().count("\n") >= 2 and error.span is not None for _, error in refused)


def test_spans_are_what_is_written() -> None:
    """Every word of every file that is accepted stands in the file where its span says, quoted or not."""
    words = 0
    for row in rows():
        config = read(row)
        if isinstance(config, InputError):
            continue
        for directive in chain.from_iterable(file.block.walk() for file in config.files):
            for word in (directive.name, *directive.args):
                written = directive.source.text(word.span)
                lua = directive.name.endswith("_by_lua_block")
                assert word.quoted == (written[0] in "\"'" or (lua and written[0] == "{")), row["file"]
                if "\\" not in written:
                    assert word == (written[1:-1] if word.quoted else written), row["file"]
                words += 1
    assert words > 9_000


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
    assert compared > 40
