"""Edits of a text, applied at once or in rounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.text import Draft, Edit, EditSet, Span, apply


@st.composite
def edits(draw: st.DrawFn, size: int) -> list[Edit]:
    """Edits that can be made together of a text of `size` bytes, in any order."""
    drawn: list[Edit] = []
    at = 0
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(at, size))
        at = draw(st.integers(start, size))
        drawn.append(Edit(Span(start, at), draw(st.binary(max_size=4))))
    inserts = [edit for edit in drawn if not len(edit.span)]  # at one place their order counts: it stays
    others = draw(st.permutations([edit for edit in drawn if len(edit.span)]))
    return [*others, *inserts]


def by_hand(data: bytes, changes: list[Edit]) -> bytes:
    """The text with the edits made one by one from the right, as one reads what edits mean."""
    ordered = sorted(changes, key=lambda edit: (edit.span.start, len(edit.span) > 0))
    for edit in reversed(ordered):
        data = data[: edit.span.start] + edit.text + data[edit.span.end :]
    return data


@given(st.binary(max_size=30), st.data())
def test_edits_are_made_at_once(data: bytes, draw: st.DataObject) -> None:
    """Edits made together are those made one by one from the right."""
    changes = draw.draw(edits(len(data)))
    assert apply(data, changes) == by_hand(data, changes)


@given(st.binary(max_size=30), st.integers(1, 5), st.data())
def test_a_draft_is_the_text_after_all_rounds(data: bytes, rounds: int, draw: st.DataObject) -> None:
    """A draft has the text of its rounds made one after the other, and knows the edits that make it in one step."""
    draft = Draft(data)
    text = data
    for _ in range(rounds):
        changes = draw.draw(edits(len(text)))
        text = apply(text, changes)
        draft.change(changes)
        assert draft.text == text
        assert apply(data, draft.edits) == text
    assert draft.original == data


def test_a_draft_knows_where_its_bytes_come_from() -> None:
    """A byte that stays is where it was in the original; an inserted one is where it was inserted."""
    draft = Draft(b"abcdef")
    assert [draft.origin(offset) for offset in range(7)] == [0, 1, 2, 3, 4, 5, 6]
    draft.change([Edit(Span(0, 0), b"--"), Edit(Span(2, 4), b"XYZ"), Edit(Span(6, 6), b"+")])
    assert draft.text == b"--abXYZef+"
    assert [draft.origin(offset) for offset in range(11)] == [0, 0, 0, 1, 2, 2, 2, 4, 5, 6, 6]


@given(st.binary(max_size=30), st.data())
def test_the_edits_of_a_draft_stand_apart(data: bytes, draw: st.DataObject) -> None:
    """The edits of a draft are in order, none touches the next, and none changes nothing at all."""
    draft = Draft(data)
    for _ in range(3):
        draft.change(draw.draw(edits(len(draft.text))))
    assert all(edit.span.end < next_.span.start for edit, next_ in zip(draft.edits, draft.edits[1:], strict=False))
    assert all(len(edit.span) or edit.text for edit in draft.edits)


@given(st.binary(max_size=20), st.data())
def test_edits_that_stand_apart_have_no_order(data: bytes, draw: st.DataObject) -> None:
    """Edits are near if one of them cannot be made, or comes out otherwise, when they are made the other way round."""
    drawn = draw.draw(edits(len(data)))
    start = draw.draw(st.integers(0, len(data)))
    probe = Edit(Span(start, draw.draw(st.integers(start, len(data)))), b"?")
    apart = EditSet()
    for edit in drawn:
        apart.add(edit)
    near = apart.near(probe)
    assert set(near) <= set(drawn)
    for edit in drawn:
        touches = edit.span.start <= probe.span.end and probe.span.start <= edit.span.end
        if edit in near:
            assert touches
        else:
            assert apply(data, [edit, probe]) == apply(data, [probe, edit])


def test_an_untouched_draft_has_no_edits() -> None:
    """What was not changed has no edits, and neither has what was put in and taken out again."""
    draft = Draft(b"abc")
    draft.change([])
    assert draft.edits == ()
    draft.change([Edit(Span(1, 1), b"xx")])
    draft.change([Edit(Span(1, 3), b"")])
    assert draft.edits == ()


OVERLAPS = [
    ([Edit(Span(0, 2), b""), Edit(Span(1, 3), b"")], "overlap at byte 1"),
    ([Edit(Span(0, 2), b""), Edit(Span(1, 1), b"x")], "overlap at byte 1"),
    ([Edit(Span(0, 2), b""), Edit(Span(0, 2), b"")], "overlap at byte 0"),
    ([Edit(Span(3, 4), b"")], "ends at byte 4 of 3"),
    ([Edit(Span(9, 9), b"x")], "ends at byte 9 of 3"),
]


@pytest.mark.parametrize(("changes", "message"), OVERLAPS)
def test_impossible_edits_are_refused(changes: list[Edit], message: str) -> None:
    """Edits that overlap or reach beyond the end are refused, and the draft stays unchanged."""
    with pytest.raises(ValueError, match=message):
        apply(b"abc", changes)
    draft = Draft(b"abc")
    with pytest.raises(ValueError, match=message):
        draft.change(changes)
    assert draft.text == b"abc"


def test_many_edits_of_one_long_insertion() -> None:
    """A long text that was put in is changed in many places without being copied for each."""
    draft = Draft(b"")
    draft.change([Edit(Span(0, 0), b"ab" * 500_000)])
    draft.change([Edit(Span(at, at + 1), b"") for at in range(0, 1_000_000, 100)])
    assert draft.text == (b"b" + b"ab" * 49) * 10_000


def test_blocks_of_their_own_are_inserted_at_one_place() -> None:
    """What may stand in any order is near to nothing else of the kind at its place, but to itself and to the rest."""
    apart = EditSet()
    block, other = (Edit(Span(3, 3), text, in_any_order=True) for text in (b"a", b"b"))
    apart.add(block)
    assert apart.near(other) == []
    assert apart.near(block) == [block]
    assert apart.near(Edit(Span(3, 3), b"c")) == [block]
    assert apart.near(Edit(Span(2, 4), b"", in_any_order=True)) == [block]


def test_an_insertion_before_a_replacement_hides_it_from_nothing() -> None:
    """An edit is near to one that it overlaps, whatever was inserted where that one starts, and in whatever order."""
    replaced, inserted, edit = Edit(Span(2, 4), b""), Edit(Span(2, 2), b""), Edit(Span(3, 3), b"?")
    for order in ([replaced, inserted], [inserted, replaced]):
        apart = EditSet()
        for other in order:
            apart.add(other)
        assert apart.near(edit) == [replaced]
