"""Which regex locations come behind one pattern, how that is written, and why others stay."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.rewrite import Options, Plan, plan, prove
from nginxopt.rewrite.kinds.kind import Cost
from nginxopt.rewrite.kinds.locations.planning import REASONS, LocationGroup
from nginxopt.rewrite.output import summary
from nginxopt.rewrite.proving import proved
from tests.rows import every_row


def planned(text: str, context: str | None = "server") -> Plan:
    """Plan a text, with the defaults of the command."""
    return plan(load_text(text.encode(), "site.conf", context=context), Options(groups=True))


def result(text: str, context: str | None = "server") -> str:
    """Compile a text and prove it."""
    emission, proof = proved(planned(text, context))
    assert proof.holds
    assert proof.of["locations"].lists == emission.plan.locations.moved
    return emission.after(emission.plan.config.main).decode()


def lines(count: int, end: str = "/(.*)$") -> str:
    """Return so many locations."""
    return "".join(f"location ~ ^/p{number:03}{end} {{ return 301 /to/{number}; }}\n" for number in range(count))


NOTE = "# The next pattern matches what those inside match, and nothing else: change them together.\n"


def test_the_text() -> None:
    """The locations move to the right, with the comments between them, and nothing else changes."""
    before = (
        "location ~ ^/a/(.*)$ { return 301 /x/$1; } # first\n\n# about b\nlocation ~* ^/b {\n    # inner\n"
        "    return 404;\n}\n    location '~^/c{2}' { return 410; } # last\n\nlocation / { root /x; }\n"
    )
    assert result(before) == (
        NOTE + 'location ~ "^/(?:a/.*$|[Bb]|c{2})" {\n    location ~ ^/a/(.*)$ { return 301 /x/$1; } # first\n\n'
        "    # about b\n    location ~* ^/b {\n        # inner\n        return 404;\n    }\n"
        "        location '~^/c{2}' { return 410; }\n} # last\n\nlocation / { root /x; }\n"
    )


def test_the_text_of_other_styles() -> None:
    """Line ends and indentation are those of the file; text in quotes stays as it is."""
    indented = "server {\r\n\tlisten 80;\r\n\tlocation ~ ^/a {\r\n\t\treturn 404;\r\n\t}\r\n\r\n"
    indented += "\tlocation ~ ^/b { return 404; }\r\n\tlocation ~ ^/c { return 404; }\r\n}\r\n"
    assert result(indented, None) == (
        "server {\r\n\tlisten 80;\r\n\t" + NOTE.replace("\n", "\r\n") + "\tlocation ~ ^/(?:a|b|c) {\r\n"
        "\t\tlocation ~ ^/a {\r\n\t\t\treturn 404;\r\n\t\t}\r\n\r\n\t\tlocation ~ ^/b { return 404; }\r\n"
        "\t\tlocation ~ ^/c { return 404; }\r\n\t}\r\n}\r\n"
    )
    one_line = "server { location ~ ^/a { return 404; } location ~ ^/b { return 404; } location ~ ^/c { return 404; } }"
    assert result(one_line, None).count("\n") == 3
    in_quotes = lines(3) + "location ~ ^/text { return 200 'two\nlines'; }\n"
    assert "'two\nlines'" in result(in_quotes)
    assert "\nlocation ~ ^/text" in result(in_quotes)


def test_groups_in_groups() -> None:
    """Many locations are in groups of a few; a URI that none matches tries one pattern, and one that matches a few."""
    compiled = planned(lines(100) + "location / { }\n" + lines(2) + "location ~ ^/q { proxy_pass http://q; }\n")
    assert (compiled.locations.total, compiled.locations.moved) == (100, 100)
    (cost,) = compiled.locations.statement_costs()
    assert (cost.before, cost.after) == (Cost.of(100), Cost.of(1))
    assert compiled.cost == (Cost.of(103), Cost.of(4)), "three regex locations are in no group, and are tried as well"
    assert compiled.moving == 100
    ((group,),) = (run.members for run in compiled.locations.compiled)
    assert isinstance(group, LocationGroup)
    sizes = [len(inner.locations) for inner in group.members if isinstance(inner, LocationGroup)]
    assert sizes == [10] * 10


def test_long_patterns_are_cut() -> None:
    """Where one pattern would be too long for nginx, there are several, each after the other."""
    long = "x" * 1_000
    compiled = planned("".join(f"location ~ ^/{number}{long}{number} {{ return 404; }}\n" for number in range(10)))
    ((*members,),) = (run.members for run in compiled.locations.compiled)
    assert [len(member.locations) if isinstance(member, LocationGroup) else 1 for member in members] == [3, 3, 3, 1]
    assert proved(compiled)[1].holds


def test_a_long_end_is_written_once() -> None:
    """What all patterns end in is written once, so that one pattern stands for more of them."""
    end = r"/?(?:(classify|about)(?:/.+?)?)?/?$"
    compiled = planned("".join(f"location ~* ^/p/name-{number:03}{end} {{ return 404; }}\n" for number in range(150)))
    ((group,),) = (run.groups for run in compiled.locations.compiled)
    assert group.union.count(b"classify") == 1
    assert len(group.locations) == 150
    assert proved(compiled)[1].holds


def test_a_long_repetition() -> None:
    """A branch that is one of the patterns needs no automaton, which would have thousands of states."""
    patterns = [r"(eval\()", r"(127\.0\.0\.1)", "([a-z0-9]{2000})", r"(javascript\:)(.*)(\;)"]
    text = result("".join(f'location ~* "{pattern}" {{ return 403; }}\n' for pattern in patterns))
    assert r'location ~ "(?i)eval\(|127\.0\.0\.1|[0-9A-Za-z]{2000}|javascript:.*;" {' in text


def test_look_arounds() -> None:
    """A pattern with a look-around is a branch as it is, without its captures, behind those of the others."""
    looking = "location ~ ^/q(?!(a|b))(.*)$ { return 301 /$2; }\nlocation ~ ^/x(?<!y)(z)?$ { return 404; }\n"
    text = result(lines(2) + looking + lines(3, "$"))
    assert "location ~ ^/p00(?:0(?:/.*$|$)|1(?:/.*$|$)|2$)|^/q(?!(?:a|b))(?:.*)$|^/x(?<!y)(?:z)?$ {" in text
    assert planned(looking + "location ~ ^/(?!(a+)+b) { return 404; }").locations.reasons() == {
        "not-worse": 2,
        "unbounded-pattern": 1,
    }
    caseless = "location ~* ^/q(?!a) { return 404; }\n"
    assert planned(caseless + lines(3)).locations.reasons() == {"unbounded-pattern": 1}
    assert [len(run.groups) for run in planned(lines(3).replace("~", "~*") + looking).locations.compiled] == [1]


def test_its_own_output_stays() -> None:
    """What was compiled is compiled no more."""
    once = result(lines(30))
    again = planned(once)
    assert not again.changes
    assert not again.locations.total


REWRITES = "".join(f"rewrite ^/q/{number}$ /{number} last; " for number in range(9))
STAYS = {
    "unread-pattern": r"location ~ '^/\p{Lu}' { return 404; }",
    "unbounded-pattern": "location ~ ^/(a+)+$ { return 404; }",
    "matches-all": "location ~ ^/(.*) { return 404; }",
    "compiled-inside": f"location ~ ^/q {{ {REWRITES} }}",
}


@pytest.mark.parametrize("reason", STAYS)
def test_locations_that_stay(reason: str) -> None:
    """A location stays where its pattern cannot be part of another, and cuts its run in two."""
    compiled = planned(lines(3) + STAYS[reason] + "\n" + lines(4))
    assert compiled.locations.reasons() == {reason: 1}
    assert reason in REASONS
    assert [len(run.run.locations) for run in compiled.locations.compiled] == [3, 4]
    text = "\n".join(summary(compiled, prove(proved(compiled)[0]), verbose=True))
    assert f"{REASONS[reason]}  [{reason}]" in text
    assert "regex locations in runs" in text


def test_short_runs_stay() -> None:
    """Two are as fast without a pattern before them, also beside one that stays."""
    assert not planned(lines(2)).locations.total
    compiled = planned(lines(2) + STAYS["matches-all"] + lines(2))
    assert not compiled.locations.compiled
    assert compiled.locations.reasons() == {"not-worse": 4, "matches-all": 1}


@every_row(
    "other",
    [
        "location / { }",
        "location = /x { return 404; }",
        "location ~ ^/q { proxy_pass http://q; }",
        "location ~ ^/q { return 404; some_module on; }",
        "location ~ ^/q { return 404; add_header_inherit merge; }",
        "location ~ ^/q { if ($arg_x) { add_trailer_inherit on; } return 404; }",
        "location ~ ^/q { return 404; location ~ ^/qq { return 404; } }",
        "location ~ ^/q { if ($arg_x) { unknown_one 1; } return 404; }",
        "include more.conf;",
        "root /x;",
    ],
)
def test_what_cuts_a_run(other: str) -> None:
    """Anything else between locations cuts a run, also a location with directives of other modules."""
    config = load_text(f"{lines(3)}{other}\n{lines(2)}".encode(), "site.conf", context="server", missing_ok=True)
    compiled = plan(config, Options(groups=True)).locations
    assert [len(run.run.locations) for run in compiled.compiled] == [3]
    assert not compiled.kept


def test_in_a_location() -> None:
    """In a location, one that matches all of its URIs stays; `if` and `map` have no locations."""
    compiled = planned(f"location /p/ {{ location ~ ^/p/(.*)$ {{ return 404; }} {lines(3)} }}").locations
    assert compiled.reasons() == {"matches-all": 1}
    assert compiled.moved == 3
    assert not planned(f"map $uri $x {{ {lines(3)} }}", "http").locations.total


def test_a_pattern_that_nginx_refuses() -> None:
    """With it, nginx does not start."""
    with pytest.raises(InputError, match="PCRE2 does not compile the pattern"):
        planned(lines(3) + "location ~ ^/(a { return 404; }")
