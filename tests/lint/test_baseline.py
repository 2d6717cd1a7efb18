"""A baseline hides the findings recorded in it, wherever they moved in a file, and no others."""

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
from nginxopt.lint.baseline import Baseline, BaselineEntry, BaselineSplit
from nginxopt.lint.report.model import grouped
from nginxopt.text import Source, Span
from tests.rows import every_row

RULES = ("slow", "late")


def found_in(lines: list[str], path: str = "nginx.conf") -> list[Diagnostic]:
    """Findings for lines that begin with a rule's id, one per line, at the id."""
    source = Source(path, "".join(line + "\n" for line in lines).encode())
    diagnostics, start = [], 0
    for line in lines:
        rule = re.split("[ ;]", line.strip())[0]
        if rule in RULES:
            at = start + line.index(rule)
            finding = Finding(source, Span(at, at + len(rule)), f"{rule} in line")
            diagnostics.append(Diagnostic(rule, Severity.WARNING, finding, ""))
        start += len(line.encode()) + 1
    return diagnostics


def of(diagnostics: list[Diagnostic], folder: str = ".") -> Baseline:
    """The baseline of findings, as it is read from the text that is written."""
    written = baseline.text(baseline.entries(diagnostics, folder))
    return baseline.read(Source(f"{folder}/baseline.json", written.encode()))


def compared(known: Baseline, diagnostics: list[Diagnostic], files: tuple[str, ...] = ("nginx.conf",)) -> BaselineSplit:
    """What the baseline leaves, when all rules were asked about the files and none is missing."""
    return baseline.compare(known, diagnostics, files=files, rules=RULES, exists=lambda _: True)


def causes(diagnostics: list[Diagnostic]) -> int:
    """The number of causes of these findings."""
    return len(grouped(diagnostics))


LINES = st.lists(st.sampled_from(["slow 1;", "slow 2;", "late 1;", "a;", "", "# ä", "}"]), max_size=8)
OTHER_LINES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["b;", "", "\t# slow 1;", "a 'ü';"])), max_size=8)


def with_lines(lines: list[str], inserted: list[tuple[int, str]]) -> list[str]:
    """The lines with others put between them."""
    lines = list(lines)
    for number, line in inserted:
        lines.insert(min(number, len(lines)), line)
    return lines


@given(LINES, OTHER_LINES, st.sampled_from(["", " ", "\t"]))
def test_added_lines_and_indentation_change_nothing(
    lines: list[str], inserted: list[tuple[int, str]], indentation: str
) -> None:
    """A baseline still hides all findings after lines are inserted and indentation changes."""
    before = found_in(lines)
    after = found_in([indentation + line for line in with_lines(lines, inserted)])
    assert compared(of(before), after) == BaselineSplit((), causes(before), 0)


@given(LINES, LINES)
def test_only_new_findings_are_reported(lines: list[str], more: list[str]) -> None:
    """After lines are added, exactly their findings are reported."""
    before, after = found_in(lines), found_in([*lines, *more])
    result = compared(of(before), after)
    texts = Counter(diagnostic.finding.source.line(diagnostic.start.line) for diagnostic in result.diagnostics)
    added = found_in(more)
    assert texts == Counter(diagnostic.finding.source.line(diagnostic.start.line) for diagnostic in added)
    assert (result.hidden, result.gone) == (causes(before), 0)


@given(LINES, st.data())
def test_fixed_findings_are_gone(lines: list[str], data: st.DataObject) -> None:
    """A fixed finding makes its entry count as gone; the others stay hidden."""
    kept = [line for line in lines if data.draw(st.booleans())]
    before, after = found_in(lines), found_in(kept)
    assert compared(of(before), after) == BaselineSplit((), causes(after), len(before) - len(after))


@given(st.integers(1, 6), st.data())
def test_an_entry_is_for_one_of_identical_findings(count: int, data: st.DataObject) -> None:
    """Whichever of identical findings are recorded: while others are fixed, the recorded ones stay hidden."""
    every = found_in(["slow;"] * count)
    recorded = data.draw(st.sets(st.integers(0, count - 1)))
    text = baseline.text([baseline.entries(every, ".")[number] for number in sorted(recorded)])
    known = baseline.read(Source("known.json", text.encode()))
    assert compared(known, every).diagnostics == tuple(every[n] for n in range(count) if n not in recorded)
    left = data.draw(st.integers(len(recorded), count))
    result = compared(known, found_in(["slow;"] * left))
    assert (len(result.diagnostics), result.hidden, result.gone) == (left - len(recorded), bool(recorded), 0)


def test_the_file_has_a_line_per_finding() -> None:
    """A baseline is JSON with one finding per line, sorted by file and rule, and identical when written twice."""
    diagnostics = [*found_in(["slow;", "late;"], "b.conf"), *found_in(["slow;"], "a/\u00e4.conf")]
    entries = baseline.entries(diagnostics, ".")
    text = baseline.text(entries)
    lines = text.splitlines()
    assert text == baseline.text(reversed(entries))
    assert lines[:3] == ["{", '  "version": 2,', '  "findings": [']
    assert [json.loads(line.strip().rstrip(","))["file"] for line in lines[3:6]] == [
        "a/\u00e4.conf",
        "b.conf",
        "b.conf",
    ]
    assert [json.loads(line.strip().rstrip(","))["rule"] for line in lines[3:6]] == ["slow", "late", "slow"]
    assert lines[6:] == ["  ]", "}"]


def test_an_empty_baseline_is_valid() -> None:
    """A baseline without findings is valid and hides nothing."""
    diagnostics = found_in(["slow;"])
    assert compared(of([]), diagnostics) == BaselineSplit(tuple(diagnostics), 0, 0)


def test_the_folder_of_the_baseline_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are relative to the baseline, so it hides the same in another checkout and from another folder."""
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
        assert result == BaselineSplit((), 1, 0)
    assert {entry.file for entry in baseline.load("ci/known.json").entries} == {"../conf/nginx.conf"}


def test_paths_of_hosts_stay_as_they_are() -> None:
    """A file on another machine has its path there, wherever the baseline is; whether it is here does not count."""
    path = "/etc/nginx/nginx.conf"
    diagnostics = found_in(["slow;"], path)
    written = baseline.text(baseline.entries(diagnostics, "a/b", {path})).encode()
    assert json.loads(written)["findings"][0]["file"] == path
    known = baseline.read(Source("/elsewhere/known.json", written))

    def result(found: list[Diagnostic], files: list[str]) -> BaselineSplit:
        return baseline.compare(known, found, files=files, rules=RULES, on_host={path}, exists=lambda _: False)

    assert result(found_in(["", "slow;"], path), [path]) == BaselineSplit((), 1, 0)
    assert result([], [path]) == BaselineSplit((), 0, 1)
    assert result([], ["nginx.conf"]) == BaselineSplit((), 0, 0)


def test_files_are_told_apart() -> None:
    """The same finding in another file is new; standard input counts as a file."""
    known = of([*found_in(["slow;"], "a.conf"), *found_in(["slow;"], "-")])
    diagnostics = [*found_in(["slow;"], "-"), *found_in(["slow;"], "b.conf")]
    result = compared(known, diagnostics, ("-", "b.conf"))
    assert ([diagnostic.path for diagnostic in result.diagnostics], result.hidden) == (["b.conf"], 1)


def test_only_entries_that_were_checked_can_be_gone() -> None:
    """Entries of rules that did not run or files that were not read are not gone; those of missing files are."""
    known = of([*found_in(["slow;", "late;"], "a.conf"), *found_in(["slow;"], "b.conf")])

    def there(_: str) -> bool:
        return True

    def missing(path: str) -> bool:
        return not path.endswith("b.conf")

    assert baseline.compare(known, [], files=["a.conf"], rules=["slow"], exists=there).gone == 1
    assert baseline.compare(known, [], files=["./a.conf"], rules=RULES, exists=there).gone == 2
    assert baseline.compare(known, [], files=[], rules=RULES, exists=there).gone == 0
    assert baseline.compare(known, [], files=[], rules=RULES, exists=missing).gone == 1


def test_the_note_counts_gone_entries() -> None:
    """The note counts the entries that are gone and names the option that updates the baseline."""
    none = BaselineSplit((), 0, 0)
    assert none.note is None
    note = replace(none, gone=1).note
    assert note == "the baseline has 1 entry without a finding: update it with --write-baseline"
    many = replace(none, gone=12).note
    assert many == "the baseline has 12 entries without a finding: update it with --write-baseline"


GOOD = baseline.text([BaselineEntry("findings", "slow", "0"), BaselineEntry("b.conf", "slow", "1")])

# What is wrong, the place of the error, and what is said.
DAMAGED = [
    (b"", "1:1", "invalid JSON: "),
    (b"[" * 100_000, "1:1", "invalid JSON: Nested too deeply"),
    (b'{"version": ' + b"1" * 5_000 + b"}", "1:1", "invalid JSON: Integer with too many digits"),
    (b"[]", "1:1", "not a baseline"),
    (b'{"version": 1}', "1:1", "not a baseline"),
    (b'{"version": 1, "findings": {}}', "1:1", "not a baseline"),
    (GOOD.replace("2,", "3,", 1).encode(), "2:3", "not a baseline of version 2 or before"),
    (b'{"findings": []}', "1:1", "not a baseline of version 2 or before"),
    (GOOD[:-3].encode(), "6:4", "invalid JSON: "),
    (GOOD.encode().replace(b"b.conf", b"\xff"), "4:15", "invalid UTF-8"),
    (GOOD.replace('"fingerprint": "0"', '"fingerprint": 0').encode(), "5:5", "invalid baseline entry"),
    (GOOD.replace('"rule": "slow", ', "", 1).encode(), "4:5", "invalid baseline entry"),
    (GOOD.replace('"rule"', '"more": "x", "rule"', 1).encode(), "4:5", "invalid baseline entry"),
    (b'{"version": 1, "x": "\xc3\xa4", "findings": [ [\n"findings"]]}', "1:40", "invalid baseline entry"),
]


@every_row(("data", "place", "message"), DAMAGED)
def test_a_damaged_baseline_is_an_error_with_its_place(data: bytes, place: str, message: str) -> None:
    """An invalid baseline is an error with file, line, column and a hint."""
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
