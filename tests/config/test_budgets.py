"""Small configurations that ask for much: each ends soon, with a message that names the budget and the place."""

from __future__ import annotations

import itertools
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import budget
from nginxopt.config import load, load_text
from nginxopt.config.filesystem import matches
from nginxopt.config.includes import MOST_CHAINED
from nginxopt.config.tree import DEPTH
from nginxopt.errors import InputError
from tests.fuzz.configs import run


def write(folder: Path, files: dict[str, str]) -> str:
    """Write files; return the path of `nginx.conf`."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return str(folder / "nginx.conf")


def doubling(levels: int, text: str) -> dict[str, str]:
    """Files of two lines each, of which each has `text` twice, with the include of the next in place of `@`."""
    names = ["nginx.conf", *(f"{number}.conf" for number in range(levels))]
    twice = {name: f"{text}\n{text}\n".replace("@", f"include {after};") for name, after in itertools.pairwise(names)}
    return {**twice, names[-1]: ""}


@pytest.mark.parametrize("text", ["@", "location /a { @ }", "if ($a) { @ }"])
def test_includes_that_double_end(tmp_path: Path, text: str) -> None:
    """22 files of two lines would be read four million times; the error names the include that is too much."""
    main = write(tmp_path, doubling(22, text))
    with pytest.raises(budget.ExceededError) as caught:
        load(main, missing_ok=True)
    assert (caught.value.budget, caught.value.exit_code) == ("inclusions", 3)
    assert "include 21.conf" not in caught.value.message
    assert caught.value.span is not None
    assert caught.value.render().startswith(str(tmp_path))


def test_few_inclusions_of_a_large_file_count_its_directives(tmp_path: Path) -> None:
    """A file counts as often as it is included, as what judges a configuration walks through each of its places."""
    main = write(tmp_path, {"nginx.conf": "include a.conf;\n" * 20, "a.conf": "a b;\n" * 100})
    with budget.using({"directives": 2_000}):
        config = load(main)
        assert config.times(config.files[1]) == 20
    with budget.using({"directives": 1_999}), pytest.raises(budget.ExceededError, match="1,999 directives"):
        load(main)


@pytest.mark.parametrize(
    ("name", "limit"), [("files", 3), ("bytes", 60), ("directives", 4), ("inclusions", 3), ("matches", 4)]
)
def test_every_budget_of_reading(tmp_path: Path, name: str, limit: int) -> None:
    """A configuration at the limit is read; with one less it is refused, with the place."""
    files = {"nginx.conf": "include *.inc;\n", **{f"{n}.inc": "a " + "b" * 10 + ";\n" for n in range(3)}}
    main = write(tmp_path, files)
    sizes = {"bytes": sum(map(len, files.values())), "directives": 3, "matches": 4}
    most = sizes.get(name, limit)
    with budget.using({name: most}):
        assert len(load(main).files) == 4
    with budget.using({name: most - 1}), pytest.raises(budget.ExceededError) as caught:
        load(main)
    assert caught.value.budget == name


def test_a_file_with_too_many_directives_is_refused_where_they_are_too_many() -> None:
    """The place is that of the first directive beyond the limit."""
    with budget.using({"directives": 3}), pytest.raises(budget.ExceededError) as caught:
        load_text(b"a;\nb;\nc { d; }\n", "f")
    assert caught.value.render().startswith("f:3:5: too large")


def test_a_chain_of_includes_has_an_end(tmp_path: Path) -> None:
    """Files one in another are read to the limit, and refused beyond it, as what reads them is recursive."""
    for length, is_read in [(MOST_CHAINED, True), (MOST_CHAINED + 1, False), (3_000, False)]:
        files = {f"{n}.conf": f"include {n + 1}.conf;" for n in range(length)}
        main = write(tmp_path, {"nginx.conf": "include 0.conf;", **files, f"{length - 1}.conf": "a;"})
        if is_read:
            assert len(list(load(main).walk())) == length + 1
        else:
            with pytest.raises(InputError, match="deep"):
                load(main)


def test_blocks_across_files_count_together(tmp_path: Path) -> None:
    """The depth of blocks is that of all files: 150 blocks in a file that 150 others surround are too many."""
    half = "a {" * (DEPTH // 2 + 1)
    close = "}" * (DEPTH // 2 + 1)
    main = write(tmp_path, {"nginx.conf": f"{half} include a.conf; {close}", "a.conf": half + close})
    with pytest.raises(InputError, match="nested"):
        load(main)


def test_a_sparse_file_is_not_read(tmp_path: Path) -> None:
    """A file of ten gigabytes of nothing is refused by its size, named or included."""
    main = write(tmp_path, {"nginx.conf": "include huge.conf;"})
    with (tmp_path / "huge.conf").open("wb") as file:
        file.truncate(10 * 1024**3)
    for path in (main, str(tmp_path / "huge.conf")):
        with pytest.raises(budget.ExceededError, match="bytes"):
            load(path, missing_ok=True)


def test_files_that_are_none_are_as_nginx_reads_them(tmp_path: Path) -> None:
    """Devices and files of /proc are empty, pipes, sockets and folders cannot be read, loops of links neither."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        names = ["/dev/zero", "/dev/null", "/proc/self/environ", "pipe", "loop", "folder", "socket", "x\udc80"]
        (tmp_path / "nginx.conf").write_bytes(os.fsencode("".join(f"include {name};\n" for name in names)))
        config = load(tmp_path / "nginx.conf", missing_ok=True)
    assert [file.source.data for file in config.files[1:]] == [b"", b"", b""]
    assert [Path(unread.path).name for unread in config.unread] == names[3:]


def test_a_wildcard_over_the_disk_ends(tmp_path: Path) -> None:
    """`/*/*/*/*/*/*` looks at no more entries than the budget allows, whatever it matches."""
    main = write(tmp_path, {"nginx.conf": "include /*/*/*/*/*/nothing;\n"})
    with budget.using({"matches": 2_000}), pytest.raises(budget.ExceededError, match="directory entries"):
        load(main, missing_ok=True)


PARTS = st.sampled_from(["*", "a", "?", "[ab]", "b*", ".*", "*.c", "[!a]", "..", ".", "a.c", "", "x", "**"])


@given(st.lists(PARTS, min_size=1, max_size=4), st.booleans())
def test_wildcards_match_as_before(tree: Path, parts: list[str], absolute: bool) -> None:
    """A pattern matches what Python's glob matches, which nothing can bound."""
    import glob

    pattern = "/".join(parts).lstrip("/") + "*"  # `/*/*` would list what others write meanwhile
    name = f"{tree}/{pattern}" if absolute else pattern
    found = glob.glob(os.fsencode(name.replace("[^", "[!")), root_dir=os.fsencode(tree))  # noqa: PTH207 - the other one
    paths = [str(Path(tree, os.fsdecode(path))).replace("//", "/") for path in sorted(found)]  # Path keeps two at first
    assert matches(str(tree), name) == paths


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files, folders and links, from which no `../../../..` leads out of the folder of this test."""
    top = tmp_path_factory.mktemp("tree") / "1" / "2" / "3" / "4"
    for name in ("a/a/b.c", "a/b", "b/a.c", "b/.hidden/a", ".hidden/b.c", "a.c", "x/[ab]", "bb/a/a"):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (top / "bl").symlink_to("b")
    (top / "ab").symlink_to("nowhere")
    return top


def test_values_of_a_request_have_a_limit(tmp_path: Path) -> None:
    """A value that grows with each line is judged as far as the budget goes; the request is then unknown."""
    grows = 'set $a "$a$a$a$a"; ' * 5
    path = tmp_path / "nginx.conf"
    path.write_text(f"events {{}}\nhttp {{ server {{ listen 80; set $a 0123456789; {grows} return 200 $a; }} }}\n")
    assert "budget value-bytes" not in run("trace", str(path), "http://h/", "--target-version", "1.28.0")[1]
    with budget.using({"value-bytes": 1_000}):
        assert "(budget value-bytes)" in run("trace", str(path), "http://h/", "--target-version", "1.28.0")[1]
