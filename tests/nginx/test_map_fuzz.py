"""Some maps with regular expressions before and after; `python -m tests.fuzz.maps` runs as many as wanted."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from nginxopt.system import nginx
from tests.fuzz.maps.cases import PROFILES, Case, Kind, Row, generate
from tests.fuzz.maps.check import examine, report
from tests.fuzz.maps.mutants import mutant
from tests.fuzz.maps.sides import AFTER, Trial, compare
from tests.fuzz.maps.sources import SOURCES
from tests.support import drawn

pytestmark = [pytest.mark.nginx, pytest.mark.extended, pytest.mark.no_cover]

COUNT, SUBJECTS, MUTANTS = 40, 120, 4

ROWS = (b"~^/a/b.*$ one;", b"~^/a.*$ two;", b"~^/c$ three;", b'"~^/d(?<na>.)$" "$na";', b"~*^/E$ five;")
SUBJECT = (
    b"",
    b"/a/b",
    b"/a/c",
    b"/a/bc\n",
    b"/a\n\n",
    b"/a",
    b"/c",
    b"/c\n",
    b"/cx",
    b"/dz",
    b"/e",
    b"/E",
    b"/x",
    b"/exact",
)


def by_hand(source: int = 0, *others: bytes) -> Case:
    """A map of some rows; `source` is the place of what it looks up."""
    rows = [Row(Kind.EXACT, b"/exact exact;"), *(Row(Kind.FLAG, other) for other in others)]
    rows += [Row(Kind.DEFAULT, b"default none;"), *(Row(Kind.REGEX, row) for row in ROWS)]
    return Case("by hand", "by hand", SOURCES[source][0], tuple(rows), as_large=False)


FAULTS = {
    "a row is lost": (rb".*three;\n", b""),
    "rows are swapped": (rb"(.*one;\n)(.*two;\n)", rb"\2\1"),
    "another value": (rb"three", b"four"),
    "another case": (rb"~\*\^/E", b"~^/E"),
    "no newline at the end": (rb"\^/c\$", rb"^/c\\z"),
    "a newline inside": (rb"\^/a\.\*\$", b"^/a"),
    "another default": (rb"default none", b"default other"),
    "no default": (rb" *default none;\n", b""),
    "an exact key is lost": (rb".*exact;\n", b""),
    "a key in one case only": (rb"/exact exact", b"/exacT$ exact"),
    "another capture": (rb"\(\?<na>\.\)", b"(?<nb>.)"),
    "a capture seen outside": (rb'"\$na"', b'"x"'),
    "cached": (rb" *volatile;\n", b""),
    "refused": (rb"default none", b"default $nothing_has_this_name"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(a_binary: nginx.Binary, fault: str) -> None:
    """A map that is the same has no difference, and each fault in it is one."""
    case = by_hand(0, b"volatile;")
    same = case.block(AFTER)
    wrong = re.sub(FAULTS[fault][0], FAULTS[fault][1], same)
    assert wrong != same
    assert compare(a_binary, [Trial(case, same, SUBJECT)]) == (len(SUBJECT), [], [])
    _, differences, refused = compare(a_binary, [Trial(case, same, SUBJECT), Trial(case, wrong, SUBJECT)])
    assert {difference.trial.after for difference in differences} == {wrong}
    assert (differences[0].subject is None) == (fault == "refused")
    assert not refused


@pytest.mark.parametrize("source", range(len(SOURCES)), ids=lambda place: SOURCES[place][0].text.decode())
def test_sources_reach_the_map(a_binary: nginx.Binary, source: int) -> None:
    """The strings arrive where the map looks them up: a row for one of them lost is a difference for that one."""
    case = by_hand(source)
    chosen = SOURCES[source][0]
    subject = chosen.style.word(random.Random(1)).lower().strip(b".")
    row = Row(Kind.REGEX, b'"~^%s" found;' % re.sub(rb"\W", b".", subject))
    with_row = replace(case, rows=(row, *case.rows))
    trial = Trial(with_row, with_row.block(AFTER).replace(row.text, b""), [subject, b"/nothing"])
    _, differences, _ = compare(a_binary, [trial])
    assert [difference.subject for difference in differences] == [subject]
    assert differences[0].before.startswith(b"200 found")


@pytest.mark.no_cover
def test_maps_answer_alike(each_binary: nginx.Binary) -> None:
    """Compiled maps are proved and answer alike, and so does each faulty text that the proof accepts."""
    numbers = drawn(COUNT, each_binary)
    examined = [examine(generate(1, number), random.Random(number), SUBJECTS, MUTANTS) for number in numbers]
    proved = [case for case in examined if not case.refuted]
    requests, differences, refused = compare(each_binary, [trial for case in proved for trial in case.trials])
    assert not differences, report(each_binary, differences[0])
    assert not refused
    assert requests > len(numbers) * SUBJECTS / 6


def test_cases_can_be_made_again() -> None:
    """A seed makes the same map, strings and mutants, each by its number alone; another seed makes others."""

    def made(seed: int, number: int) -> tuple[bytes, list[bytes], bytes]:
        case = generate(seed, number)
        block = case.block(AFTER)
        return block, case.subjects(random.Random(1), 50, block), mutant(random.Random(2), block)

    for number in range(6):
        assert made(1, number) == made(1, number)
    assert made(1, 1) != made(2, 1)


def test_everything_is_generated() -> None:
    """Within some hundred cases every kind of list, source, flag, row, value and default occurs."""
    cases = [generate(1, number) for number in range(200)]
    assert {case.profile for case in cases} == set(PROFILES)
    assert {case.source.text for case in cases} == {source.text for source, _ in SOURCES}
    texts = b"".join(row.text + b"\n" for case in cases for row in case.rows)
    flags = (b"hostnames;", b"volatile;", b"default", b"~*^", b"(?i)", rb"\default", b"*.", b"# ")
    values = (b"<$1>", b"$na", b"$other", b"000001|x")
    patterns = (b"(?<nb>", b"(*LIMIT_MATCH", b".*$", b"(?!", rb"\z")
    for words in (*flags, *values, *patterns):
        assert words in texts, words
    assert min(case.regexes for case in cases) < 5
    assert max(case.regexes for case in cases) > 400
