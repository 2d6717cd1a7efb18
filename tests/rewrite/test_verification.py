"""`verify` as a second proof: a right result is equivalent, and no seeded fault that changes a response is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, Readings, emit, plan
from nginxopt.rewrite.verification import NotVerifiedError, sides, verification
from nginxopt.version import Version
from tests.rewrite.mutations import directives, grouped, guards, listed, residuals, rows
from tests.rewrite.mutations.fault import Mutation
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import program
from tests.rows import every_row
from tests.support import ROOT

pytestmark = pytest.mark.no_cover

VERSION = Version(1, 22, 1)

_SMALL = ("location-one", "location-first", "location-stays", "location-case", "two", "two-kept", "location", "groups")
"""Programs that are compared in an instant."""

_INVISIBLE = {
    Refutation.TRUE_IN_VAIN, Refutation.REGEX_FOR_A_KEY, Refutation.MORE_THAN_MAPS, Refutation.IF_IN_A_LOCATION,
    Refutation.NOT_A_REWRITE_WITH_A_FLAG, Refutation.NEW_RULE_LISTS_NOTHING, Refutation.TWO_MAPS,
    Refutation.GROUP_OF_OTHERS, Refutation.GROUP_OF_A_URI, Refutation.SET_AND_MAPPED, Refutation.KEPT_RULE_CHANGED,
    Refutation.CAPTURES_NOT_EMPTIED, Refutation.CAPTURES_EMPTIED, Refutation.DOES_SOMETHING_ELSE,
}  # fmt: skip
"""Obligations whose breach need not change a response: of form, and of captures, which a fragment does not show."""

_FAULTS = [
    mutation
    for module in (guards, rows, directives, residuals, listed, grouped)
    for mutation in module.MUTATIONS
    if mutation.program in _SMALL and mutation.refuted_by not in _INVISIBLE
]


def verdict(emission: Emission) -> str:
    """What `verify` says of a result; `refused` where nginx would not start with it."""
    try:
        return verification(emission, VERSION).verdict
    except NotVerifiedError:
        return "refused"


@every_row("name", _SMALL)
def test_the_text_without_a_fault(name: str) -> None:
    """The emissions that the faults are put into are equivalent."""
    assert verdict(program(name)) == "equivalent"


@every_row("mutation", _FAULTS, ids=lambda mutation: mutation.name)
def test_a_fault_is_not_equivalent(mutation: Mutation) -> None:
    """A fault that may change a response is never called equivalent."""
    assert verdict(mutation.damage(program(mutation.program))) != "equivalent"


def test_most_faults_have_a_witness() -> None:
    """Half of the faults have a request that shows them, and there are many."""
    verdicts = [verdict(mutation.damage(program(mutation.program))) for mutation in _FAULTS]
    assert len(verdicts) > 30
    assert verdicts.count("different") > len(verdicts) / 2


def compiled(text: str, context: str | None = None) -> Emission:
    """The result for a configuration or a fragment."""
    return emit(plan(load_text(text.encode(), "rules.conf", context=context, missing_ok=True), Options(groups=True)))


PREFIXES = "".join(f"rewrite ^/old/{name}/(.*)$ /new/{name}/$1 permanent;\n" for name in "abcdefgh")

EQUIVALENT = {
    "prefixes": (PREFIXES, "server"),
    "a suffix behind prefixes": (PREFIXES + r"rewrite \.asp$ /gone permanent;", "server"),
    "a prefix of another": (PREFIXES + "rewrite ^/old/a/b/(.*)$ /x/$1 last; rewrite ^/old /y? redirect;", "server"),
    "segments": (PREFIXES + "rewrite ^/shop/([^/]+)/item/(.*)$ /store/$1/$2?id=$2 permanent;", "server"),
    "percent signs": ("rewrite ^/a$ /b%20c permanent; rewrite ^/b$ http://x.test/%C3%A9?a=%20 redirect;", "server"),
    "a group": ("rewrite ^/(a|b)/$ /c/$1 permanent; rewrite ^/d$ /e permanent;", "server"),
    "a variable of another file": (PREFIXES.replace("/new/", "/$lang/new/") + "rewrite ^/x $top/y last;", "server"),
    "a variable in a location": (
        "rewrite ^/a$ https://$site/b permanent; rewrite ^/c$ /d permanent; rewrite ^/e$ $top/f permanent;",
        "location",
    ),
    "a location for all others": (PREFIXES + "location / { return 404; }", "server"),
    "a location": ("rewrite ^/a$ /b permanent; rewrite ^/c$ /d permanent; rewrite ^/e/(.*)$ /f/$1 break;", "location"),
    "a map": (
        "map $request_uri $new { " + " ".join(f"~^/old/{name}/ {name};" for name in "abcdefgh") + " default 0; }",
        "http",
    ),
    "a whole configuration": (
        f"events {{}} http {{ server {{ listen 127.0.0.1:80; {PREFIXES} location / {{ root /srv; }} }}"
        " server { listen 127.0.0.1:81; rewrite ^/x$ /y permanent; rewrite ^/z$ /w permanent; return 404; } }",
        None,
    ),
}


@every_row("name", EQUIVALENT)
def test_a_result_is_equivalent(name: str) -> None:
    """What is moved is equivalent by the second proof, too."""
    emission = compiled(*EQUIVALENT[name])
    assert emission.changes
    result = verification(emission, VERSION)
    assert (result.verdict, result.doubts) == ("equivalent", ())


def test_another_variable_of_another_file_is_not_equivalent() -> None:
    """Variables that a fragment does not define may have any values, and not the same."""
    emission = compiled("".join(f"rewrite ^/{name}$ /$one/$two/{name} permanent;\n" for name in "abcdefgh"), "server")
    assert verdict(emission) == "equivalent"
    [change] = emission.changes
    damaged = change.after.replace(b"$one/$two", b"$two/$one", 1)
    assert damaged != change.after
    assert verdict(replace(emission, changes=(replace(change, after=damaged),))) != "equivalent"


@pytest.mark.parametrize("is_whole", [False, True])
def test_a_declared_difference_is_none(is_whole: bool) -> None:
    """What a declared reading changes is no other response."""
    rules = "rewrite ^/a.b$ /x permanent; rewrite ^/c.d /y permanent; rewrite ^/e$ /f permanent;"
    text = f"events {{}} http {{ server {{ listen 80; {rules} return 404; }} }}" if is_whole else rules
    config = load_text(text.encode(), "rules.conf", context=None if is_whole else "server", missing_ok=True)
    readings = Readings(literal_dots=True, literal_ends=True, ignore_case=True, drop_newline_twins=True)
    emission = emit(plan(config, Options(readings, groups=True)))
    assert any(run.declared for run in emission.plan.rules.compiled)
    assert verdict(emission) == "equivalent"


def test_a_public_list() -> None:
    """A list of a real site is equivalent."""
    text = (ROOT / "fixtures" / "telerik" / "redirects.conf").read_text()
    assert verification(compiled(text, "server"), VERSION).verdict == "equivalent"


@pytest.mark.parametrize(
    ("text", "context", "reason"),
    [
        ("rewrite ^/a$ /b permanent; http2 on;", "server", 'unknown directive "http2"'),
        ("if ($uri ~ ^/a) { rewrite ^/a$ /b permanent; }", "http,server,if", "a file for http, server, if"),
    ],
)
def test_what_is_not_compared(text: str, context: str, reason: str) -> None:
    """A fragment that cannot be put into a server is not compared, with the reason."""
    with pytest.raises(NotVerifiedError, match=reason):
        verification(compiled(text, context), VERSION)


_LOCATIONS = b"""events {}
http {
server {
location ~ ^/a/(.*)$ { return 301 /x/$1; }
location ~ ^/m(/((?!(7\\.6|6\\.2)).*))?$ { return 301 /manual$1; }
location ~* ^/Q { return 404; }
location ~ ^/b/([^/]+)/((?!latest).*) { return 301 /latest/$2; }
location ~ ^/c { return 410; }
location / { return 200 "$uri"; }
}
}
"""


def test_groups_of_locations() -> None:
    """Groups of regex locations are compared, those with look-arounds too; one without a branch is not equivalent."""
    emission = emit(plan(load_text(_LOCATIONS), Options(groups=True)))
    [change] = emission.changes
    assert emission.plan.locations.moved == 5
    assert verdict(emission) == "equivalent"
    union = next(line for line in change.after.splitlines() if b"(?!(?:7" in line and b" { return" not in line)
    for branch in (b"|^/b/(?:[^/]+)/(?:(?!latest).*)", b"|c"):
        assert branch in union, union
        damaged = change.after.replace(union, union.replace(branch, b"", 1))
        assert verdict(replace(emission, changes=(replace(change, after=damaged),))) != "equivalent"


def test_groups_of_locations_that_pass_requests_on() -> None:
    """What passes requests on is the same inside another location; it has the name of its own location."""
    passing = "".join(
        f"location ~ ^/{name}/ {{ {module}_pass 127.0.0.1:9; }}\n" for name in "abcd" for module in ("fastcgi", "scgi")
    )
    text = f"events {{}} http {{ server {{ {passing} location / {{ proxy_pass http://127.0.0.1:8; }} }} }}"
    emission = emit(plan(load_text(text.encode()), Options(groups=True)))
    [change] = emission.changes
    assert emission.plan.locations.moved == 8
    assert verdict(emission) == "equivalent"
    damaged = change.after.replace(b"fastcgi_pass", b"uwsgi_pass", 1)
    assert verdict(replace(emission, changes=(replace(change, after=damaged),))) != "equivalent"


_LONG = "/a" * 60


@pytest.mark.parametrize(
    ("context", "text"),
    [
        ("server", f"rewrite ^{_LONG}$ /x permanent;\nrewrite ^/b$ /y permanent;"),
        ("location", f"rewrite ^{_LONG}$ /x permanent;\nrewrite ^/b$ /y permanent;"),
        ("http", f"map $uri $a {{ ~^{_LONG}$ 1; ~^/b.*$ 2; ~^/c.*$ 3; ~^/d.*$ 4; ~^/e.*$ 5; }}"),
        ("http", f"map_hash_bucket_size 512;\nmap $uri $a {{ ~^{_LONG}$ 1; ~^/b.*$ 2; ~^/c.*$ 3; ~^/d.*$ 4; }}"),
    ],
)
def test_sizes_of_tables_stand_once_before_the_maps(context: str, text: str) -> None:
    """Around a fragment, too: without them nginx cannot build tables of long keys, and it refuses a second one."""
    _, after = sides(emit(plan(load_text(text.encode(), context=context))))
    names = [str(directive.name) for directive, _ in after.walk()]
    assert names.count("map_hash_bucket_size") == 1
    assert "map" in names
    assert "map_hash_bucket_size" not in names[names.index("map") :]
