"""A baseline hides the findings that it has, wherever they stand now, and no other; a damaged one is an error."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.errors import InputError
from nginxopt.lint import Diagnostic, Finding, Severity, baseline
from nginxopt.lint.baseline import Baseline, Compared, Entry
from nginxopt.text import Source, Span

RULES = ("slow", "late")


def found_in(lines: list[str], path: str = "nginx.conf") -> list[Diagnostic]:
    """A finding of a rule in each line that begins with its id, at the id."""
    source = Source(path, "".join(line + "\n" for line in lines).encode())
    found, start = [], 0
    for line in lines:
        rule = re.split("[ ;]", line.strip())[0]
        if rule in RULES:
            at = start + line.index(rule)
            finding = Finding(source, Span(at, at + len(rule)), f"{rule} in line")
            found.append(Diagnostic(rule, Severity.WARNING, finding, ""))
        start += len(line.encode()) + 1
    return found


def of(diagnostics: list[Diagnostic], folder: str = ".") -> Baseline:
    """The baseline of findings, as it is read from the text that is written."""
    written = baseline.text(baseline.entries(diagnostics, folder))
    return baseline.read(Source(f"{folder}/baseline.json", written.encode()))


def compared(known: Baseline, diagnostics: list[Diagnostic], files: tuple[str, ...] = ("nginx.conf",)) -> Compared:
    """What the baseline leaves, when all rules were asked about the files and none is missing."""
    return baseline.compare(known, diagnostics, files=files, rules=RULES, exists=lambda _: True)


LINES = st.lists(st.sampled_from(["slow 1;", "slow 2;", "late 1;", "a;", "", "# ä", "}"]), max_size=8)
OTHER_LINES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["b;", "", "\t# slow 1;", "a 'ü';"])), max_size=8)


def with_lines(lines: list[str], inserted: list[tuple[int, str]]) -> list[str]:
    """The lines with others put between them."""
    lines = list(lines)
    for number, line in inserted:
        lines.insert(min(number, len(lines)), line)
    return lines


@given(LINES, OTHER_LINES, st.sampled_from(["", " ", "\t"]))
def test_lines_that_come_and_indentation_change_nothing(
    lines: list[str], inserted: list[tuple[int, str]], indentation: str
) -> None:
    """The findings of a text are hidden in the text with other lines between its own; none is gone."""
    before = found_in(lines)
    after = found_in([indentation + line for line in with_lines(lines, inserted)])
    assert compared(of(before), after) == Compared((), len(before), 0)


@given(LINES, LINES)
def test_just_the_new_findings_are_told(lines: list[str], more: list[str]) -> None:
    """Of a text to which lines are added as many findings are told as were added, of the same text and rule."""
    before, after = found_in(lines), found_in([*lines, *more])
    result = compared(of(before), after)
    texts = Counter(one.finding.source.line(one.start.line) for one in result.diagnostics)
    added = found_in(more)
    assert texts == Counter(one.finding.source.line(one.start.line) for one in added)
    assert (result.hidden, result.gone) == (len(before), 0)


@given(LINES, st.data())
def test_what_is_mended_is_gone(lines: list[str], data: st.DataObject) -> None:
    """Each finding that does not occur any more is an entry that is gone; the others stay hidden."""
    kept = [line for line in lines if data.draw(st.booleans())]
    before, after = found_in(lines), found_in(kept)
    assert compared(of(before), after) == Compared((), len(after), len(before) - len(after))


def test_the_file_shows_what_came_and_went() -> None:
    """A baseline is JSON, has one line a finding, and is sorted by file and rule; written twice, it is the same."""
    found = [*found_in(["slow;", "late;"], "b.conf"), *found_in(["slow;"], "a/\u00e4.conf")]
    entries = baseline.entries(found, ".")
    text = baseline.text(entries)
    lines = text.splitlines()
    assert text == baseline.text(reversed(entries))
    assert lines[:3] == ["{", '  "version": 1,', '  "findings": [']
    assert [json.loads(line.strip().rstrip(","))["file"] for line in lines[3:6]] == [
        "a/\u00e4.conf",
        "b.conf",
        "b.conf",
    ]
    assert [json.loads(line.strip().rstrip(","))["rule"] for line in lines[3:6]] == ["slow", "late", "slow"]
    assert lines[6:] == ["  ]", "}"]


def test_an_empty_baseline_is_one() -> None:
    """No findings make a baseline, too, which hides nothing."""
    found = found_in(["slow;"])
    assert compared(of([]), found) == Compared(tuple(found), 0, 0)


def test_the_folder_of_the_baseline_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written in one place and read in another checkout, from another folder, a baseline hides the same."""
    for name in ("one", "two"):
        (tmp_path / name / "ci").mkdir(parents=True)
        (tmp_path / name / "conf").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    baseline.write("ci/known.json", found_in(["slow;"], "conf/nginx.conf"))
    (tmp_path / "two" / "ci" / "known.json").write_bytes(Path("ci/known.json").read_bytes())
    for folder, path, known in (
        ("one", "conf/nginx.conf", "ci/known.json"),
        ("two/conf", "nginx.conf", "../ci/known.json"),
        ("two/ci", "../conf/nginx.conf", "known.json"),
        ("two", str(tmp_path / "two" / "conf" / "nginx.conf"), "ci/known.json"),
    ):
        monkeypatch.chdir(tmp_path / folder)
        result = baseline.compare(baseline.load(known), found_in(["", "slow;"], path), files=[path], rules=RULES)
        assert result == Compared((), 1, 0)
    assert {entry.file for entry in baseline.load("ci/known.json").entries} == {"../conf/nginx.conf"}


def test_files_are_told_apart() -> None:
    """The same finding in another file is a new one; standard input is a file of its own."""
    known = of([*found_in(["slow;"], "a.conf"), *found_in(["slow;"], "-")])
    found = [*found_in(["slow;"], "-"), *found_in(["slow;"], "b.conf")]
    result = compared(known, found, ("-", "b.conf"))
    assert ([one.path for one in result.diagnostics], result.hidden) == (["b.conf"], 1)


def test_only_what_was_looked_for_can_be_gone() -> None:
    """An entry of a rule that was not asked or of a file that was not read is not gone, one of a missing file is."""
    known = of([*found_in(["slow;", "late;"], "a.conf"), *found_in(["slow;"], "b.conf")])

    def there(_: str) -> bool:
        return True

    def missing(path: str) -> bool:
        return not path.endswith("b.conf")

    assert baseline.compare(known, [], files=["a.conf"], rules=["slow"], exists=there).gone == 1
    assert baseline.compare(known, [], files=["./a.conf"], rules=RULES, exists=there).gone == 2
    assert baseline.compare(known, [], files=[], rules=RULES, exists=there).gone == 0
    assert baseline.compare(known, [], files=[], rules=RULES, exists=missing).gone == 1


def test_what_is_gone_is_said() -> None:
    """The note counts the entries that are gone and says what to do."""
    none = Compared((), 0, 0)
    assert none.note is None
    one = replace(none, gone=1).note
    assert one == "the baseline has 1 entry without a finding: update it with --write-baseline"
    many = replace(none, gone=12).note
    assert many == "the baseline has 12 entries without a finding: update it with --write-baseline"


GOOD = baseline.text([Entry("findings", "slow", "0"), Entry("b.conf", "slow", "1")])

# What is wrong, the place of the error, and what is said.
DAMAGED = [
    (b"", "1:1", "invalid JSON: "),
    (b"[]", "1:1", "not a baseline"),
    (b'{"version": 1}', "1:1", "not a baseline"),
    (b'{"version": 1, "findings": {}}', "1:1", "not a baseline"),
    (GOOD.replace("1,", "2,", 1).encode(), "2:3", "not a baseline of version 1"),
    (b'{"findings": []}', "1:1", "not a baseline of version 1"),
    (GOOD[:-3].encode(), "6:4", "invalid JSON: "),
    (GOOD.encode().replace(b"b.conf", b"\xff"), "4:15", "invalid UTF-8"),
    (GOOD.replace('"fingerprint": "0"', '"fingerprint": 0').encode(), "5:5", "invalid baseline entry"),
    (GOOD.replace('"rule": "slow", ', "", 1).encode(), "4:5", "invalid baseline entry"),
    (GOOD.replace('"rule"', '"more": "x", "rule"', 1).encode(), "4:5", "invalid baseline entry"),
    (b'{"version": 1, "x": "\xc3\xa4", "findings": [ [\n"findings"]]}', "1:40", "invalid baseline entry"),
]


@pytest.mark.parametrize(("data", "place", "message"), DAMAGED)
def test_a_damaged_baseline_has_its_place(data: bytes, place: str, message: str) -> None:
    """What is no baseline is an error with file, line and column, which says what helps."""
    with pytest.raises(InputError) as caught:
        baseline.read(Source("known.json", data))
    assert caught.value.render().startswith(f"known.json:{place}: {message}")
    assert caught.value.render().endswith("hint: update it with --write-baseline")


def test_a_missing_baseline_is_an_error(tmp_path: Path) -> None:
    """A baseline that cannot be read or written is an error with its path, not an empty one."""
    with pytest.raises(InputError, match="cannot be read: No such file") as caught:
        baseline.load(str(tmp_path / "known.json"))
    assert caught.value.path == str(tmp_path / "known.json")
    with pytest.raises(InputError, match="cannot be written"):
        baseline.write(str(tmp_path / "none" / "known.json"), [])
