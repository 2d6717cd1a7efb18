"""nginxopt.rewrite.requests: which requests are asked is deterministic, bounded, and leaves no kind out."""

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.rewrite.requests import FORMS, VARIANTS, receivable, sample, spell_least, spell_most
from nginxopt.text.display import percent_encode
from tests.rows import every_row

uris = st.binary(max_size=12).map(lambda tail: b"/" + tail)


@given(uris)
def test_spellings_decode_to_the_uri(uri: bytes) -> None:
    """Every spelling of a URI means that URI."""
    for spell in (percent_encode, spell_least, spell_most):
        assert unquote_to_bytes(spell(uri)) == uri


@given(uris)
def test_targets_are_legal_in_a_request_line(uri: bytes) -> None:
    """No target contains a blank, a control byte, or the start of arguments or a fragment."""
    for variant in VARIANTS:
        assert not set(variant(uri)) & {*range(0x21), 0x7F, *b"?#"}


@every_row("uri", [b"", b"a", b"/a//b", b"/./a", b"/a/..", b"/a\0", b"//"])
def test_what_nginx_never_receives(uri: bytes) -> None:
    """URIs that nginx normalises away or refuses are not asked."""
    assert not receivable(uri)


@every_row("uri", [b"/", b"/.a", b"/a..", b"/a/...", b"/a\n", b"/\xff", b"/a%2F"])
def test_what_nginx_receives(uri: bytes) -> None:
    """URIs that only look odd are asked."""
    assert receivable(uri)


def test_everything_is_asked_where_it_fits() -> None:
    """Below the limit nothing is skipped and no request comes twice."""
    drawn = sample([b"/AbC", b"/d"], [b"/fixed"], limit=10_000, capturing=False)
    assert drawn.skipped == 0
    assert len(set(drawn.requests)) == len(drawn.requests)
    assert {form(variant(b"/AbC")) for form in FORMS for variant in VARIANTS} <= set(drawn.requests)
    assert {form(b"/fixed") for form in FORMS} <= set(drawn.requests)


@pytest.mark.parametrize(("count", "limit"), [(1000, 3000), (1000, 250), (5, 150)])
def test_a_sample_leaves_no_kind_out(count: int, limit: int) -> None:
    """Above the limit every variant and every form is still there, on many URIs, and what is skipped is
    counted."""
    keys = [b"/Key%d" % number for number in range(count)]
    drawn = sample(keys, [], limit=limit, capturing=False)
    requests = set(drawn.requests)
    assert len(requests) <= limit
    assert drawn.skipped == count * len(VARIANTS) * len(FORMS) - limit // count * count or limit < 2 * count
    for form in FORMS:
        assert any(form(variant(key)) in requests for key in keys for variant in VARIANTS)
    for variant in VARIANTS:
        assert any(form(variant(key)) in requests for key in keys for form in FORMS)
    plainly = sum(FORMS[0](percent_encode(key)) in requests for key in keys)
    assert plainly >= min(count, limit // 2)


def test_the_same_sample_again() -> None:
    """The sample depends on nothing but its input."""
    keys = [b"/%d" % number for number in range(500)]
    assert sample(keys, [b"/f"], limit=700, capturing=True) == sample(keys, [b"/f"], limit=700, capturing=True)
