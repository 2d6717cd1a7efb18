"""The values that nginx's setters refuse, the model refuses as well: of each directive, and with nginx's words."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from nginxopt.facts.table import PLACES, Declaration, declarations, names
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.fuzz.sites.refusals import refused
from tests.fuzz.sites.stage import Stage

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

_WHERE = {
    "http/location": "http {{ server {{ location / {{ {} }} }} }} events {{ }}",
    "http/server": "http {{ server {{ {} }} }} events {{ }}",
    "http": "http {{ {} }} events {{ }}",
    "http/upstream": "http {{ upstream u {{ server 127.0.0.1:1; {} }} }} events {{ }}",
    "events": "http {{ }} events {{ {} }}",
    "main": "http {{ }} events {{ }} {}",
}
_VALUES = {
    "number": ("5", "1k", '""', "-1", "70000", "99999999999999999999"),
    "size": ("1k", "1G", "1s", '""', "-1", "1.5"),
    "time": ("1d", "1y", "10ms", "off", '"1m 1s"', '"1m 1h"'),
    "number size": ("4 8k", "0 8k", "4 0", "4 8g", "x 8k"),
}
"""Values by what a setter reads."""

_OWN = {
    "aio": ("on", "ON", "threads=a", "threadsa", "sometimes"),
    "directio": ("off", "4m", "4g", "OFF", "1s"),
    "keepalive_timeout": ("off", "75s", "75s off", "1y", "75s 1y", "75s 10ms"),
    "userid_expires": ("off", "max", "1y", "10ms", "soon"),
    **dict.fromkeys(("limit_rate", "limit_rate_after", "proxy_limit_rate"), ("1k", "1g", "$arg_a", "off")),
    **dict.fromkeys(
        ("proxy_cache_valid", "fastcgi_cache_valid"), ("1h", "10ms", "any 1h", "ANY 1h", "99 1h", "200 600 1h")
    ),
}
"""Values of directives whose modules read them."""

_OF_SETTERS = re.compile(
    r'"\w+" directive invalid (?:value|number)|invalid (?:(?:time )?value|status) "|value must be between '
)


@pytest.fixture(scope="module")
def stage(each_binary: nginx.Binary) -> Iterator[Stage]:
    """A place to test configurations, with each nginx."""
    with Stage(each_binary) as stage_:
        yield stage_


def _declared(stage: Stage) -> Iterator[tuple[Declaration, str]]:
    """Yield what this nginx declares of each directive of http, with one of its places."""
    version = Version.of(stage.binary.version)
    for name in sorted(names()):
        for declaration in declarations(name):
            place = next((place for place in _WHERE if declaration.places & PLACES[place]), None)
            if place is not None and declaration.is_in(version):
                yield declaration, place


def _values(declaration: Declaration) -> tuple[str, ...]:
    if "|" in declaration.values and declaration.values != "on|off":
        first, *_, last = declaration.values.split("|")
        several = (f"{first} {last}", f"{last} none") if declaration.takes(2) else ()
        return first, last.upper(), "none-of-them", '""', *several
    return _VALUES.get(declaration.values, _OWN.get(declaration.name, ()) if not declaration.values else ())


def _message(text: str | None) -> str | None:
    """Return what was refused without its place, if a setter refused it."""
    return text.partition(" in nginx.conf")[0] if text and _OF_SETTERS.match(text) else None


def _said(stage: Stage, text: str) -> str | None:
    stage.write({"nginx.conf": text})
    return next((message.text for message in stage.verdict().messages if message.level == "emerg"), None)


@pytest.mark.parametrize("kind", [*_VALUES, "names", "own"])
def test_values_are_refused_as_nginx_does(stage: Stage, kind: str) -> None:
    """A value is refused exactly where the setter of a directive refuses it."""
    wrong, asked = {}, 0
    for declaration, place in _declared(stage):
        of = declaration.values if declaration.values in _VALUES else "names" if declaration.values else "own"
        for value in _values(declaration) if of == kind else ():
            text = _WHERE[place].format(f"{declaration.name} {value};")
            said = _said(stage, text)
            if said is None or not said.startswith("unknown directive"):
                asked += 1
                expected, found = _message(said), _message(refused(text, stage))
                if expected != found:
                    wrong[text] = said, found
    assert not wrong
    assert asked > 10
