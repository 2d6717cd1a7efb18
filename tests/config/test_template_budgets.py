"""Templates whose readings never end: deep blocks, loops in loops, lines of tags."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from nginxopt import budget
from nginxopt.config import load_text
from nginxopt.config.filesystem import DISK
from nginxopt.config.templates import Templates
from nginxopt.config.templates.readings import structures
from nginxopt.config.templates.structure import DEPTH, UnreadableTag, read_template
from nginxopt.errors import InputError
from nginxopt.text import Source

TAGS = [
    (b"{% if a %}", b"{% endif %}"),
    (b"{% for a in b %}", b"{% endfor %}"),
    (b"<% if a %>", b"<% end %>"),
    (b"{{ if .A }}", b"{{ end }}"),
    (b"{{#each a}}", b"{{/each}}"),
]


def read(text: bytes) -> None:
    """Read a template in all its readings."""
    Templates(lambda files, data: load_text(data, "f", files=files), DISK, "f", text).config()


@pytest.mark.parametrize(("opening", "closing"), TAGS)
def test_blocks_have_a_depth(opening: bytes, closing: bytes) -> None:
    """Blocks of tags are read to the limit; 1,200 of them are refused at the tag that is too deep."""
    at_limit = read_template(Source("f", opening * DEPTH + b"a;" + closing * DEPTH))
    assert len(at_limit.blocks) == DEPTH
    with pytest.raises(UnreadableTag, match="nested"):
        read_template(Source("f", opening * 1_200 + b"a;" + closing * 1_200))
    for text in (opening * 50, closing * 50, opening * 50 + b"a;" + closing * 49):
        with pytest.raises(UnreadableTag):
            read_template(Source("f", text))


def test_jumps_count_as_depth() -> None:
    """What follows a jump is a block that may be skipped, one in the other: 1,200 are too many."""
    with pytest.raises(UnreadableTag, match="nested"):
        read_template(Source("f", b"{% for a in b %}" + b"{% continue %} a;" * 1_200 + b"{% endfor %}"))


def test_loops_in_loops_end() -> None:
    """A loop is read with its body twice; forty in each other would be written 2**40 times."""
    with budget.using({"template-work": 20_000}), pytest.raises(budget.ExceededError) as caught:
        read(b"{% for a in b %}\n" * 40 + b"a;\n" + b"{% endfor %}\n" * 40)
    assert caught.value.budget == "template-work"
    assert caught.value.path == "f"


def choices(count: int) -> bytes:
    """Return a template with so many choices."""
    lines = b"".join(b"{%% if a%d %%}\nadd_header X y;\n{%% endif %%}\n" % number for number in range(count))
    return b"events {}\nhttp {\nserver {\n" + lines + b"}\n}\n"


@pytest.mark.parametrize(
    "text",
    [
        choices(1_000),
        b"events {}\nhttp {\n" + b"server { {% if a %}{% endif %} }\n" * 1_500 + b"}\n",
        b"".join(b"set $a%d x{{ a }}%d;\nset $b%d x%d%d;\n" % (5 * (n,)) for n in range(300)),
        b"a;" * 4_000 + b"{% if a %}{% endif %}" * 3,
    ],
    ids=["choices", "empty choices", "values", "directives"],
)
def test_choices_are_bounded(text: bytes) -> None:
    """Directives of all readings, and values with the words that they may be, count: these are what takes memory."""
    with budget.using({"template-work": 1_000_000}), pytest.raises(budget.ExceededError) as caught:
        read(text)
    assert caught.value.budget == "template-work"
    assert caught.value.path == "f"


def test_includes_of_all_readings_count(tmp_path: Path) -> None:
    """Each of the readings of 100 choices reads files that double: 1,023 times two lines, which a few may."""
    for level in range(9):
        (tmp_path / f"{level}.conf").write_text(f"include {level + 1}.conf;\n" * 2)
    (tmp_path / "9.conf").write_text("add_header X y;\n")
    path = tmp_path / "main.conf"
    for count, is_read in [(1, True), (100, False)]:
        text = b"include 0.conf;\n" + choices(count)
        templates = Templates(lambda files, data: load_text(data, str(path), files=files), DISK, str(path), text)
        with budget.using({"template-work": 700_000}):
            if is_read:
                assert len(templates.config().files) == 11
                continue
            with pytest.raises(budget.ExceededError) as caught:
                templates.config()
        assert caught.value.budget == "template-work"


def test_some_choices_are_read() -> None:
    """A hundredth of the default suffices for a small template, whose readings few directives have."""
    with budget.using({"template-work": budget.LIMITS["template-work"].default // 100}):
        read(choices(20))


def test_tags_have_a_number() -> None:
    """More tags than the budget allows are refused at the first one beyond it."""
    with budget.using({"template-tags": 3}), pytest.raises(budget.ExceededError) as caught:
        read(b"a {{ b }};\n" * 5)
    assert caught.value.render().startswith("f:4:3: ")


def test_a_line_of_tags_is_read_in_one_way() -> None:
    """A value before many tags and a text is not alone on its line, which is seen without trying all ways."""
    (value,) = read_template(Source("f", b"{{ a }}" + b"{% if b %}{% endif %}" * 300 + b" c;\n")).values
    assert not value.is_alone
    (value,) = read_template(Source("f", b"{{ a }}" + b"{% if b %}{% endif %}" * 300 + b" # c\nd;\n")).values
    assert value.is_alone


@pytest.mark.no_cover
@pytest.mark.parametrize("text", [b"{#" * 50_000, b"{{" * 50_000, b"{%" * 50_000, b"<%" * 50_000, b"@A" * 50_000])
def test_openings_without_an_end_end(text: bytes) -> None:
    """A text of tags that are not closed is an error, in time that is linear."""
    with pytest.raises(InputError):
        read(text)


def test_many_choices_are_read_by_halves() -> None:
    """With 400 choices, any two are read in each of their four ways, in few readings."""
    template = read_template(Source("f", choices(400)))
    readings = list(structures([template]))
    assert len(readings) < 50
    ways = [tuple(reading.option("f", block) for block in template.blocks) for reading in readings]
    columns = [*zip(*ways, strict=True)]
    for first, second in combinations(columns, 2):
        assert {*zip(first, second, strict=True)} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_each_branch_of_many_is_read() -> None:
    """An option of a block in a branch of another is read with that branch, however many there are."""
    branches = b"{% if x %}\n" + b"{% elif y %}\n".join(
        b"{% if a %}\nadd_header X y;\n{% endif %}\n" for _ in range(90)
    )
    template = read_template(Source("f", branches + b"{% endif %}\n"))
    readings = list(structures([template]))
    written = {
        (number, option)
        for reading in readings
        for number, chain in template.chains.items()
        for option in [reading.option("f", template.blocks[number])]
        if all(reading.option("f", template.blocks[outer]) == chosen for outer, chosen in chain)
    }
    assert written == {(block.number, option) for block in template.blocks for option in range(len(block.options))}
