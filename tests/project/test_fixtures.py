"""The fixtures are what `fixtures/README.md` says they are."""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"
CORPUS = FIXTURES / "corpus"

# A line of fixtures/README.md: the file, and the sha256 of its bytes in the repository it comes from.
_TAKEN = re.compile(r"^\| `(\S+)` \|.*\| `([0-9a-f]{64})` \|$", re.MULTILINE)
_LITERAL = re.compile(r"^(rewrite \^)([-\w/.]+) ", re.MULTILINE)


def exact(rules: str) -> str:
    """The same rules with every literal pattern written as it is meant: dots escaped, the end anchored."""
    return _LITERAL.sub(lambda match: f"{match[1]}{match[2].replace('.', chr(92) + '.')}$ ", rules)


@pytest.mark.parametrize(("name", "digest"), _TAKEN.findall((FIXTURES / "README.md").read_text()))
def test_a_file_is_as_it_was_published(name: str, digest: str) -> None:
    """A file that others wrote has the bytes that its source has."""
    assert hashlib.sha256((FIXTURES / name).read_bytes()).hexdigest() == digest


def test_every_file_has_a_line() -> None:
    """No rules lie here whose source and licence are not named."""
    readme = (FIXTURES / "README.md").read_text()
    files = [path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*.conf") if "corpus" not in path.parts]
    assert len(files) >= 4
    assert [name for name in files if f"| `{name}` |" not in readme] == []


def test_the_exact_rules_say_what_the_published_ones_mean() -> None:
    """`fec/exact.conf` differs from the published rules in the dots and ends of literal patterns alone."""
    published = (FIXTURES / "fec" / "redirects-transition.conf").read_text()
    assert (FIXTURES / "fec" / "exact.conf").read_text() == exact(published)


def test_the_corpus_is_what_its_index_says() -> None:
    """Every file of the corpus has its row, with a licence that allows it to lie here, and is unchanged."""
    with (CORPUS / "index.tsv").open(encoding="utf-8", newline="") as index:
        rows = list(csv.DictReader(index, delimiter="\t"))
    files = {path.relative_to(CORPUS).as_posix() for path in (CORPUS / "files").rglob("*") if path.is_file()}
    assert len(rows) >= 100
    assert files == {row["file"] for row in rows}
    assert {row["license"] for row in rows} == {"Apache-2.0", "CC0-1.0", "US-public-domain"}
    for row in rows:
        assert hashlib.sha256((CORPUS / row["file"]).read_bytes()).hexdigest() == row["sha256"], row["file"]
