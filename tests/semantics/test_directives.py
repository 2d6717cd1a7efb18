"""Names of directives, and the suggestions for a misspelt one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nginxopt.facts.lexicon import NAMES, nearest
from tests.rows import every_row

LONG = sorted(name for name in NAMES if len(name) >= 8)

MEANT = {
    "proxy_buferring": ("proxy_buffering",),
    "proxy_passs": ("proxy_pass",),
    "keepalive_timout": ("keepalive_timeout",),
    "tcp_no_push": ("tcp_nopush",),
    "server_name#": ("server_name",),
    "Server_Name": ("server_name",),
    "gzpi": ("gzip",),
    "sever": ("server",),
    "more_set_header": ("more_set_headers",),
    "uwcgi_pass": ("uwsgi_pass",),
}

NOBODYS = [
    "",
    "gz",
    "gpz",
    "xgzipx",
    "listening",
    "mruby_set",
    "10.0.0.1",
    "$name",
    "text/html",
    "default",
    "a.example",
]


@every_row("name", MEANT)
def test_what_is_meant(name: str) -> None:
    """A letter or two that are wrong, missing, too many or swapped are seen through."""
    assert nearest(name) == MEANT[name]


@every_row("name", NOBODYS)
def test_what_is_near_to_nothing(name: str) -> None:
    """Short names, values and names of modules are near to none of nginx's."""
    assert nearest(name) == ()


def test_several_may_be_meant() -> None:
    """Of several names that are equally near all are told."""
    assert nearest("http9") == ("http", "http2", "http3")


@given(st.sampled_from(LONG), st.data())
def test_a_swap_is_one_error(name: str, data: st.DataObject) -> None:
    """A long name with two neighbours swapped is near to itself, if it is no other name by that."""
    at = data.draw(st.integers(0, len(name) - 2))
    wrong = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    if wrong not in NAMES:
        assert name in nearest(wrong)


@given(st.sampled_from(LONG), st.data())
def test_a_letter_too_many_is_one_error(name: str, data: st.DataObject) -> None:
    """A long name with a letter put in is near to a name that differs by one letter: itself, or another one."""
    at = data.draw(st.integers(0, len(name)))
    wrong = name[:at] + "q" + name[at:]
    if wrong not in NAMES:
        assert name in nearest(wrong)


@given(st.sampled_from(LONG), st.data())
def test_two_wrong_letters_are_two_errors(name: str, data: st.DataObject) -> None:
    """Whatever letters stand for two others, a name of eight or more is near to what was meant, or to another."""
    wrong = list(name)
    for _ in range(2):
        wrong[data.draw(st.integers(0, len(name) - 1))] = data.draw(st.characters(codec="ascii"))
    assert nearest("".join(wrong))
