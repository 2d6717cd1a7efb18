"""Folders of files that include each other: what reading them costs grows with their number, whatever they include.

Work is counted, not timed: files that are read, texts that are parsed, readings of files, and paths that are resolved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from nginxopt import budget
from nginxopt.config import includes, inputs, places, roots
from nginxopt.config.filesystem import DISK, Disk
from nginxopt.config.inputs import Inputs
from nginxopt.config.tree import parse
from nginxopt.text import Source

SIZES = (50, 100, 200)


def chain(count: int) -> dict[str, str]:
    """Each file includes the next one, so that all but the last hundred are too deep."""
    return {f"{n:04}.conf": f"include {n + 1:04}.conf;\n" if n < count - 1 else "a b;\n" for n in range(count)}


def upward(count: int) -> dict[str, str]:
    """Each file includes the one before it, which was read on its own by then."""
    return {f"{n:04}.conf": f"include {n - 1:04}.conf;\n" if n else "a b;\n" for n in range(count)}


def doubling(count: int) -> dict[str, str]:
    """Groups of 22 files of two lines, in which each file includes the next one twice."""
    return {
        f"{n:04}.conf": f"include {n + 1:04}.conf;\n" * 2 if n % 22 < 21 and n < count - 1 else "a b;\n"
        for n in range(count)
    }


def crosswise(count: int) -> dict[str, str]:
    """Each file includes all others."""
    names = [f"{n:04}.conf" for n in range(count)]
    return {name: "".join(f"include {other};\n" for other in names if other != name) for name in names}


def downward(count: int) -> dict[str, str]:
    """Each file includes all after it."""
    names = [f"{n:04}.conf" for n in range(count)]
    return {name: "".join(f"include {other};\n" for other in names[at + 1 :]) for at, name in enumerate(names)}


def starred(count: int) -> dict[str, str]:
    """Each file includes the whole folder."""
    return {f"{n:04}.conf": "include *.conf;\n" for n in range(count)}


def crossed(count: int) -> dict[str, str]:
    """Half of the files include the other half."""
    tops = {f"{n:04}.conf": "include leaf/*.conf;\n" for n in range(count // 2)}
    return {**tops, **{f"leaf/{n:04}.conf": "a b;\n" for n in range(count // 2)}}


FOLDERS = (chain, upward, doubling, crosswise, downward, starred, crossed)


class Counting:
    """What reading a folder does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        self.parsed: Counter[str] = Counter()
        self.read: Counter[str] = Counter()
        parsing, reading, following = parse, Disk.read, includes.Reader._follow
        sought = places.Tree._sought

        def counted_parse(source: Source) -> object:
            self.parsed[source.path] += 1
            return parsing(source)

        def counted_read(disk: Disk, path: str) -> bytes:
            self.read[path] += 1
            return reading(disk, path)

        def counted(name: str, function: Callable[..., object]) -> Callable[..., object]:
            def count(*arguments: object) -> object:
                self.counts[name] += 1
                return function(*arguments)

            return count

        monkeypatch.setattr(includes, "parse", counted_parse)
        monkeypatch.setattr(Disk, "read", counted_read)
        monkeypatch.setattr(includes.Reader, "_follow", counted("readings", following))
        monkeypatch.setattr(places.Tree, "_sought", counted("places", sought))
        monkeypatch.setattr(includes, "_collect", counted("contents", includes._collect))


def written(folder: Path, files: dict[str, str]) -> list[str]:
    """Write files; return the path of the folder, as an argument."""
    (folder / "leaf").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return [str(folder)]


def read(folder: list[str]) -> Inputs:
    """Read a folder as a command does, which has noted what is named."""
    roots.note(roots.of(folder))
    try:
        return inputs.read(folder)
    finally:
        roots.forget()


@pytest.mark.no_cover
@pytest.mark.parametrize("kind", FOLDERS, ids=lambda kind: kind.__name__)
def test_a_folder_costs_what_its_number_of_files_costs(
    kind: Callable[[int], dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is parsed once and read at most four times: to see what it is, as a main file, and as an include."""
    monkeypatch.setattr(includes, "LEAST", 120)
    limit = 300
    for size in SIZES:
        folder = written(tmp_path / str(size), kind(size))
        counting = Counting(monkeypatch)
        with budget.using({"inclusions": limit}):
            read(folder)
        assert set(counting.parsed.values()) == {1}
        assert len(counting.parsed) <= size
        assert max(counting.read.values()) <= 4
        assert counting.counts["readings"] <= limit + (120 + 2) * size
        assert counting.counts["contents"] <= size
        assert counting.counts["places"] == 0  # as includes are relative
        monkeypatch.undo()
        monkeypatch.setattr(includes, "LEAST", 120)


def test_absolute_includes_are_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Main files of a folder share where the paths of their includes lead."""
    folder = tmp_path / "conf"
    files = {name: text.replace("include ", f"include {folder}/") for name, text in chain(150).items()}
    names = written(folder, files)
    counting = Counting(monkeypatch)
    read(names)
    assert counting.counts["readings"] > 5_000
    assert counting.counts["places"] <= 150
    assert set(counting.parsed.values()) == {1}


def test_a_file_that_does_not_parse_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that include it have the same error, which is told once."""
    files = {**{f"{n}.conf": "include broken.inc;\n" for n in range(9)}, "broken.inc": "a {\n"}
    names = written(tmp_path / "conf", files)
    counting = Counting(monkeypatch)
    found = read([f"{names[0]}/{n}.conf" for n in range(9)])
    assert counting.parsed[f"{names[0]}/broken.inc"] == 1
    assert [error.message for error in found.errors] == ["this block is not closed"]


def test_one_configuration_does_not_take_what_others_need(tmp_path: Path) -> None:
    """Beside a configuration that takes the whole budget, others are read, and one that takes little more is not."""
    doubled = {f"a{n:02}.conf": f"include a{n + 1:02}.conf;\n" * 2 for n in range(21)}
    several = {f"b{n:02}.conf": "include leaf/*;\n" for n in range(20)}
    names = written(tmp_path, {**doubled, "a21.conf": "a b;\n", **several, "leaf/x": "a b;\n", "leaf/y": "a b;\n"})
    with budget.using({"inclusions": 50_000}):
        found = read([f"{names[0]}/a00.conf", *(f"{names[0]}/{name}" for name in several), f"{names[0]}/a10.conf"])
    assert [config.main.path.rsplit("/", 1)[1] for config in found.configs] == sorted(several)
    assert [error.message for error in found.errors] == [
        "too large: more than 50,000 readings of included files in one configuration (budget inclusions)",
        "too large: more than 1,000 readings of included files in one configuration, as others have taken the rest"
        " (budget inclusions)",
    ]


def test_a_file_is_read_again_when_its_text_is_another(tmp_path: Path) -> None:
    """What is shared is the text, not the path: standard input, a dump and a template have texts of their own."""
    shared = includes.Sharing()
    path = str(tmp_path / "a.conf")
    inside = roots.of([path])
    first, again, other = (shared.file(path, text, DISK, inside) for text in (b"a b;", b"a b;", b"a c;"))
    assert first is again
    assert other is not first
    assert str(next(other.block.directives()).args[0]) == "c"


def test_what_is_outside_for_one_configuration_is_not_for_another(tmp_path: Path) -> None:
    """A file is withheld for the configurations of which it is not a part, and for no other."""
    shared = includes.Sharing()
    path = str(tmp_path / "a" / "x.conf")
    places_ = [roots.of([str(tmp_path / name / "nginx.conf")]) for name in "ab"]
    inside, outside = (shared.file(path, b"a b;", DISK, place) for place in places_)
    assert (inside.source.outside, outside.source.outside) == (False, True)


def test_a_meter_of_many_configurations_adds_up() -> None:
    """Each may take what is left, and `LEAST` in any case."""
    with budget.using({"inclusions": 5_000}):
        shared = includes.Sharing()
        limits = []
        for spent in (1_500, 2_000, 700, 900):
            meter = shared.readings()
            meter.spend(spent)
            limits.append(meter.limit)
            shared.took(meter)
    assert limits == [5_000, 3_500, 1_500, 1_000]
