"""The proof refutes each fault of a group of regex locations by the obligation that it breaks."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.rewrite.kinds.kind import Refutation
from nginxopt.rewrite.kinds.locations.proof import prove
from nginxopt.rewrite.proving import proved
from nginxopt.text import apply
from tests.rows import every_row

FEW = "".join(f"location ~ ^/{name}(/.*)?$ {{ return 301 /new/{name}; }}\n" for name in "abcd")
MANY = "".join(f"location ~ ^/{number:02}/ {{ return 301 /{number}; }}\n" for number in range(16))
LOOKING = FEW + "location ~ ^/l(?!m)(.*)$ { return 404; }\n"
WHOLE = "events {{}}\nhttp {{\nserver {{\nroot /a;\n{run}location ~ ^/z {{ return 404; }}\nlocation / {{ }}\n}}\n}}\n"


def compiled(run: str) -> Emission:
    """Compile a run, which is right; the location behind it is one of it."""
    return emit(plan(load_text(WHOLE.format(run=run).encode()), Options(groups=True)))


def text_of(emission: Emission) -> bytes:
    """Return the main file with the edits of locations only."""
    [change] = emission.changes
    return apply(change.file.source.data, change.of["locations"])


def proof(emission: Emission, text: bytes) -> Refutation | None:
    """Prove an emission with another text in place of the main file."""
    return prove(emission.plan.config, emission.plan.locations, {emission.plan.config.main: text})


@dataclass(frozen=True)
class Fault:
    """A fault in the text, and what the proof says; `subject`: a URI that shows it."""

    says: str
    old: str
    new: str
    refuted: str
    run: str = FEW
    subject: bytes | None = None


TURNS_AWAY, TOO_WIDE = "turns away what a location in it matches", "may match what no location in it matches"
NOT_AS_IT_WAS = "is not as it was, or not in its place"
ONE = "    location ~ ^/b(/.*)?$ { return 301 /new/b; }\n"
OTHER = "    location ~ ^/c(/.*)?$ { return 301 /new/c; }\n"
FAULTS = (
    Fault("A pattern has no branch for a location.", "|d(?:", "|e(?:", TURNS_AWAY, subject=b"/d"),
    Fault("A pattern ends where a location goes on.", "/.*)?$|b", ")?$|b", TURNS_AWAY, subject=b"/a/"),
    Fault("A pattern ignores no case.", "^/(?:[Aa]", "^/(?:a", TURNS_AWAY, FEW.replace("~ ^/a", "~* ^/a"), b"/A"),
    Fault("A pattern ignores case.", "location ~ ^/(?:", "location ~* ^/(?:", TOO_WIDE),
    Fault("A pattern lacks its end.", "(?:/.*)?$|z)", "(?:/.*)?|z)", TOO_WIDE),
    Fault("A pattern has a branch more.", "|z)", "|z|y)", TOO_WIDE),
    Fault("A pattern lacks its start.", "location ~ ^/(?:", "location ~ /(?:", TOO_WIDE),
    Fault("A pattern sets a variable.", "^/(?:", "^/(?<n>", "sets a variable"),
    Fault("A pattern has a look-ahead.", "^/(?:", "^/(?!y)(?:", "it is not known what the pattern"),
    Fault("A look-ahead is another.", "|^/l(?!m)(?:", "|^/l(?!n)(?:", TURNS_AWAY, LOOKING),
    Fault("A look-ahead is gone.", "|^/l(?!m)(?:", "|^/l(?:", TURNS_AWAY, LOOKING),
    Fault("A pattern with a look-ahead captures.", "|^/l(?!m)(?:", "|^/l(?!m)(", TURNS_AWAY, LOOKING),
    Fault("PCRE gives up beside a look-ahead.", "|z)|^/l", "|z)|(?:x+)+y|^/l", "PCRE may give up on it", LOOKING),
    Fault("A branch more is beside a look-ahead.", "|z)|^/l(?!m)", "|z|y)|^/l(?!m)", TOO_WIDE, LOOKING),
    Fault("The others are gone.", "^/(?:a(?:/.*)?$|", "^/(?:aa(?:/.*)?$|", TURNS_AWAY, LOOKING, b"/a"),
    Fault("PCRE may give up on a pattern.", "^/(?:", "^/(?:(x+)+y|", "PCRE may give up on it"),
    Fault("An inner pattern is too narrow.", "^/0(?:0/|", "^/0(?:", TURNS_AWAY, MANY, b"/00/"),
    Fault("An inner pattern is too wide.", "^/0(?:0/|", "^/0(?:0|", TOO_WIDE, MANY),
    Fault("A location is gone.", ONE, "", NOT_AS_IT_WAS),
    Fault("Two locations are swapped.", ONE + OTHER, OTHER + ONE, NOT_AS_IT_WAS),
    Fault("A location returns something else.", "/new/b;", "/new/x;", NOT_AS_IT_WAS),
    Fault("A location has a directive more.", "return 301 /new/b;", "internal; return 301 /new/b;", NOT_AS_IT_WAS),
    Fault("A location has another pattern.", "~ ^/b(/.*)?$", "~ ^/b(/.+)?$", NOT_AS_IT_WAS),
    Fault("A location ignores case.", "~ ^/b(/.*)?$", "~* ^/b(/.*)?$", NOT_AS_IT_WAS),
    Fault("A location is there twice.", ONE, ONE + ONE, NOT_AS_IT_WAS),
    Fault("A group has a directive of its own.", ONE, "    internal;\n" + ONE, "is not in its group"),
    Fault("A group has a plain location.", ONE, "    location = /x { return 404; }\n" + ONE, "is not in its group"),
    Fault("A group is no regex location.", "location ~ ^/(?:", "location ^/(?:", "is not in its group"),
    Fault("A statement before it is another.", "root /a;", "root /b;", "is not as it was"),
    Fault("A statement behind it is gone.", "location / { }\n", "", "is not as it was"),
    Fault("A statement behind it is new.", "location / { }\n", "location / { }\nindex x;\n", "that was not there"),
    Fault("The text cannot be read.", "root /a;", "root '/a;", "the result cannot be read"),
)


@every_row("fault", FAULTS, ids=lambda fault: fault.says)
def test_faults(fault: Fault) -> None:
    """What is wrong is refuted for what is wrong."""
    emission = compiled(fault.run)
    text = text_of(emission)
    assert proof(emission, text) is None
    assert text.count(fault.old.encode()) >= 1, text.decode()
    refutation = proof(emission, text.replace(fault.old.encode(), fault.new.encode(), 1))
    assert refutation is not None
    assert fault.refuted in refutation.what
    assert fault.subject is None or refutation.counterexample == fault.subject


def test_more_locations_than_there_were() -> None:
    """A group that ends behind the last location of its level has one that was not there."""
    text = "server {\n" + FEW + "}\n"
    emission = emit(plan(load_text(text.encode(), context="http"), Options(groups=True)))
    more = text_of(emission).replace(b"}\n}\n}\n", b"}\nlocation ~ ^/d { }\n}\n}\n")
    more = text_of(emission).replace(b"/new/d; }\n", b"/new/d; }\n    location ~ ^/a { return 404; }\n")
    refutation = proof(emission, more)
    assert refutation is not None
    assert "more locations than there were" in refutation.what


@pytest.mark.parametrize("directive", ["some_module on;", "add_header_inherit merge;"])
def test_directives_that_may_not_inherit(directive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof asks by itself whether all directives are nginx's own, and inherit the same one level further down."""
    monkeypatch.setattr("nginxopt.rewrite.kinds.locations.reading.is_plain", lambda *_: True)
    emission = compiled(FEW.replace("return 301 /new/a;", f"return 301 /new/a; {directive}"))
    refutation = proof(emission, text_of(emission))
    assert refutation is not None
    assert "may not inherit" in refutation.what


def test_what_is_not_proved_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose groups are refuted stays as it is, and the others are written."""
    monkeypatch.setattr("nginxopt.rewrite.kinds.locations.planning._native.exact_union", lambda _: b"^/a")
    emission, verdict = proved(plan(load_text(WHOLE.format(run=FEW).encode()), Options(groups=True)))
    assert verdict.holds
    assert not emission.changes
    assert emission.plan.locations.reasons() == {"unproved": 5}
