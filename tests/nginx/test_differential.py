"""The differential run finds the differences there are, and no others."""

import pytest

from nginxopt.errors import InputError
from nginxopt.rewrite.comparison import Differential
from nginxopt.rewrite.kinds.rules.differential import differential
from nginxopt.rewrite.kinds.rules.reading import Phase
from nginxopt.system import nginx
from tests import rulegen
from tests.nginx.shapes import CLEAR, Compiled, Literal, exact, literals, naive

pytestmark = pytest.mark.nginx

PHASES: tuple[Phase, ...] = ("server", "location")

# One rule of each class, with a case variant and a rule that ignores case.
HANDMADE = [
    Literal(b"/site/AboutUs", False, b"permanent", b"https://$http_host/about"),
    Literal(b"/site/aboutus", False, b"redirect", b"/lower?own=1"),
    Literal(b"/only/args", False, b"redirect", b"/args?own=2?"),
    Literal(b"/inside", False, b"last", b"/new/inside"),
    Literal(b"/Ignored", True, b"permanent", b"/ignored/case"),
    Literal(b'/q"uo te\\;', False, b"permanent", b"/%41%20"),
]


def run(
    binary: nginx.Binary, rules: list[Literal], compiled: Compiled, phase: Phase, limit: int = 1000
) -> Differential:
    """The differential run of hand-made rules and a compiled form of them."""
    return differential(
        before=b"".join(rule.directive for rule in rules),
        after=compiled.rules,
        maps=compiled.maps,
        phase=phase,
        keys=[rule.uri for rule in rules],
        binary=binary,
        limit=limit,
    )


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("seed", range(4))
def test_identical_sides_answer_alike(binary: nginx.Binary, seed: int, phase: Phase) -> None:
    """Random rules of every kind never differ from themselves, and no answer is unstable."""
    rules = rulegen.generate(seed)
    comparison = differential(
        before=rules.text, after=rules.text, phase=phase, keys=rules.uris, binary=binary, limit=1500
    )
    assert comparison.requests > 1000
    assert (comparison.mismatches, comparison.unstable) == ((), 0)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("seed", range(4))
def test_the_exact_shape_is_exact(binary: nginx.Binary, seed: int, phase: Phase) -> None:
    """The exact shape of random literal rules answers every request as they do."""
    rules = literals(seed, phase=phase)
    comparison = run(binary, rules, exact(rules), phase)
    assert comparison.requests > 500
    assert [str(mismatch) for mismatch in comparison.mismatches] == []


@pytest.mark.parametrize("phase", PHASES)
def test_the_usual_shape_is_caught(binary: nginx.Binary, phase: Phase) -> None:
    """A plain map with `return` answers differently, and the run shows how."""
    comparison = run(binary, HANDMADE, naive(HANDMADE), phase)
    assert not comparison.ok
    assert comparison.mismatched >= len(comparison.mismatches) == 10
    assert all(mismatch.before != mismatch.after for mismatch in comparison.mismatches)


FAULTS = {
    "no guard": (b"if ($nxo0_k = $uri)", b"if ($nxo0_p)"),
    "cached maps": (b"volatile;", b""),
    "return for rewrite": (
        b"rewrite ^ $nxo0_p permanent;",
        b"return 301 $nxo0_p$is_args$args;",
    ),
    "lost twin": (b'"/inside\\n" "/inside\\n";', b""),
    "flag": (b"rewrite ^ $nxo0_p permanent", b"rewrite ^ $nxo0_p redirect"),
    "internal for redirect": (b"rewrite ^ $nxo0_p permanent", b"rewrite ^ $nxo0_p last"),
    "arguments dropped": (b"rewrite ^ $nxo0_p permanent", b"rewrite ^ $nxo0_p? permanent"),
    "arguments kept": (b"?$nxo1_a? redirect", b"?$nxo1_a redirect"),
    "wrong target": (b'"/site/aboutus" "https', b'"/site/aboutus" "http'),
    "unescaped key": (b'"/q\\"uo te\\\\;"', b'"/q\\"uo tee\\\\;"'),
    "too wide a key": (b'"/only/args" "/only/args"', b'"/only/argsx" "/only/argsx"'),
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_twin_is_caught(binary: nginx.Binary, fault: str, phase: Phase) -> None:
    """Each fault in the exact shape, which is right without it, is found."""
    assert not run(binary, HANDMADE, exact(HANDMADE).damaged(*FAULTS[fault]), phase).ok


@pytest.mark.parametrize("phase", PHASES)
def test_the_twin_without_a_fault(binary: nginx.Binary, phase: Phase) -> None:
    """The exact shape of the same rules, which the faults are put into, answers as they do."""
    assert run(binary, HANDMADE, exact(HANDMADE), phase).ok


@pytest.mark.parametrize("phase", PHASES)
def test_captures_left_over_are_caught(binary: nginx.Binary, phase: Phase) -> None:
    """A compiled form that does not clear `$1` differs for who reads it afterwards, and for nobody else."""
    rules = [Literal(b"/old", False, b"permanent", b"/new")]
    compiled = exact(rules).damaged(CLEAR, b"")
    before = rules[0].directive
    seen, unseen = (
        differential(
            before=before,
            after=compiled.rules,
            maps=compiled.maps,
            phase=phase,
            keys=[b"/old"],
            binary=binary,
            captures=captures,
        )
        for captures in (True, False)
    )
    assert not seen.ok
    assert all(b"Host: captured.test" in mismatch.request for mismatch in seen.mismatches)
    assert unseen.ok


def test_a_break_in_a_location_is_caught(binary: nginx.Binary) -> None:
    """A guard around a `break` loses the location's try_files; in a server it loses nothing."""
    rules = [Literal(b"/old", False, b"break", b"/new")]
    assert run(binary, rules, exact(rules), "server").ok
    assert not run(binary, rules, exact(rules), "location").ok


def test_a_compiled_form_that_does_not_start(binary: nginx.Binary) -> None:
    """Compiled text that nginx refuses is a mismatch of its own kind, in nginx's words."""
    comparison = run(binary, HANDMADE, Compiled(b"", b"if ($nowhere = $uri) { return 404; }"), "server")
    assert [mismatch.kind for mismatch in comparison.mismatches] == ["start"]
    assert str(comparison.mismatches[0]) == (
        'the compiled configuration does not start: [emerg] unknown "nowhere" variable'
    )


def test_original_rules_that_nginx_refuses(binary: nginx.Binary) -> None:
    """Rules that nginx refuses are an error of the input, with nginx's words and the line."""
    with pytest.raises(
        InputError, match=r'missing (closing parenthesis|\)) in "\^/a\(" in rules\.conf:2'
    ):  # PCRE2|PCRE
        differential(before=b"\nrewrite ^/a( /b;", after=b"", phase="server", keys=[], binary=binary)


def test_variables_of_the_user_are_given(binary: nginx.Binary) -> None:
    """Variables that only the user's configuration defines get a value on both sides, and are named."""
    before = b"rewrite ^/a$ https://$my_site/a permanent; if ($my_mode = x) { return 403; }"
    maps = b"map_hash_max_size 4096;"
    maps += b'map $uri $nxo { volatile; "/a" "https://$my_site/a"; "/a\\n" "https://$my_site/a"; }'
    after = b"if ($nxo) { rewrite ^ $nxo permanent; } if ($my_mode = x) { return 403; }"
    comparison = differential(
        before=before, after=after, maps=maps, phase="server", keys=[b"/a"], binary=binary, captures=False
    )
    assert comparison.variables == ("my_site", "my_mode")
    assert any(b"/A" in mismatch.request for mismatch in comparison.mismatches)  # no guard was written
    assert not any(b" /a " in mismatch.request for mismatch in comparison.mismatches)


def test_answers_that_always_differ_say_nothing(binary: nginx.Binary) -> None:
    """A request whose responses differ on one side is counted as unstable."""
    rules = b"rewrite ^/a$ https://ex.com/$request_id permanent;"
    comparison = differential(before=rules, after=rules, phase="server", keys=[b"/a"], binary=binary)
    assert comparison.ok
    assert comparison.unstable > 0


def test_warnings_of_the_compiled_form(binary: nginx.Binary) -> None:
    """Warnings of nginx about the compiled form only are reported: here a hash table that is too small."""
    keys = b"".join(b"/key%d v;" % number for number in range(3000))
    comparison = differential(
        before=b"", after=b"", maps=b"map $uri $nxo { %s }" % keys, phase="server", keys=[], binary=binary
    )
    assert comparison.ok
    assert any("could not build optimal map_hash" in warning for warning in comparison.warnings)


def test_the_run_is_bounded(binary: nginx.Binary) -> None:
    """No time means no requests, and says so; progress ends at the total."""
    keys = [b"/key%d" % number for number in range(1000)]
    none = differential(before=b"", after=b"", phase="server", keys=keys, binary=binary, seconds=0.0)
    assert none.requests == 0
    assert none.skipped > 20_000
    seen: list[tuple[int, int]] = []
    some = differential(
        before=b"",
        after=b"",
        phase="server",
        keys=keys,
        binary=binary,
        limit=500,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (some.requests, some.requests)
    assert some.requests <= 500
