"""Texts that look like the maps that stand for one with patterns, and answer in another way: each is refuted."""

from __future__ import annotations

import pytest

from nginxopt import _native
from tests.rows import every_row

KEYS = 'map $x $nxo_prefix { "~^(?<nxo_key>%s)" $nxo_key; }\n'
ONE_LEAF = "map $nxo_prefix $nxo_tree { %s default d; }\n"


def tree(rows: str, keys: str, values: str, leaves: str = "", default: str = "d") -> tuple[str, str]:
    """A map of these rows, and a tree of lookups for it."""
    buckets = f"map $nxo_prefix $nxo_tree {{ {values} default {default}; }}\n"
    return _of(rows), "map $x $m { default $nxo_tree; }\n" + KEYS % keys + buckets + leaves


def leaf(number: int, rows: str, default: str = "d") -> str:
    """A map of rows."""
    return f"map $x $nxo_leaf{number} {{ {rows} default {default}; }}\n"


def rows_only(rows: str, instead: str) -> tuple[str, str]:
    """A map of these rows, and one of others that stands for it."""
    return _of(rows), _of(instead)


def _of(rows: str) -> str:
    return f"map $x $m {{ {'' if rows.startswith('default') else 'default d;'} {rows} }}\n"


RIGHT = {
    "a guard": rows_only("~^/a/x$ 1; ~^/b.*c 2;", '"~^(?!/(?:a/x|b))" d; ~^/a/x$ 1; ~^/b.*c 2;'),
    "a tree": tree(
        "~^/a/x$ 1; ~^/b.*c 2;",
        "/a/x|/b",
        "/a/x $nxo_leaf1; /b $nxo_leaf2;",
        leaf(1, "~^/a/x$ 1;") + leaf(2, "~^/b.*c 2;"),
    ),
    "a row with a name behind a guard": rows_only('"~^/a(?<n>.)" 1;', '"~^(?!/a.)" d; "~^/a(?<n>.)" 1;'),
    "a guard that looks at the first round of a repetition": rows_only(
        "~^/a/[0-9]+b$ 1; '~^/c.{2,}d$' 2;", r'"~^(?!/(?:a/[0-9]|c[^\n][^\n]))" d; ~^/a/[0-9]+b$ 1; "~^/c.{2,}d$" 2;'
    ),
    "a row that is not read, all of whose spellings have a key": tree(
        "~^/bx(?m)c 1; ~^/a$ 2;",
        "/a|/",
        "/a $nxo_leaf2; / $nxo_leaf1;",
        leaf(1, "~^/bx(?m)c 1;") + leaf(2, "~^/a$ 2;"),
    ),
    "a row that tells inner newlines, too": rows_only(
        r'"~(?s)\n." 1; "~^/a" 2;', r'default $nxo_leaf1; } map $x $nxo_leaf1 { default d; "~(?s)\n." 1; "~^/a" 2;'
    ),
    "captures in an exact row, which comes first": (
        'map $x $m { default d; /e "$1"; ~^/a 1; }',
        'map $x $m { /e "$1"; default $nxo_tree; }' + KEYS % "/a" + ONE_LEAF % "/a 1;",
    ),
}

WRONG = {
    "a default in a bucket that no float of the tree concerns": tree(
        "~^/a/x$ 1; ~^/b.*c 2;", "/a", "/a d;", leaf(1, "~^/b.*c 2;"), "$nxo_leaf1"
    ),
    "captures in the source, which the trie overwrites": (
        "map $1 $m { default d; ~^/a/x$ 1; }",
        "map $1 $m { default $nxo_tree; }\n"
        + (KEYS % "/a" + ONE_LEAF % "/a $nxo_leaf1;" + leaf(1, "~^/a/x$ 1;")).replace("$x", "$1"),
    ),
    "captures in the default": (
        "map $x $m { default $1; ~^/a 1; }",
        'map $x $m { default $nxo_tree; }\n' + KEYS % "/a" + "map $nxo_prefix $nxo_tree { /a 1; default $1; }",
    ),
    "a pattern with (*UTF8) gives up on the strings of another bucket": tree(
        '"~(*UTF8)^/a$" 1; ~^/b$ 2;',
        "/a|/b",
        "/a $nxo_leaf1; /b $nxo_leaf2;",
        leaf(1, '"~(*UTF8)^/a$" 1;') + leaf(2, "~^/b$ 2;"),
    ),
    "a pattern with a limit of its own gives up anywhere": tree(
        '"~(*LIMIT_MATCH=1)^/a$" 1; ~^/b$ 2;',
        "/a|/b",
        "/a $nxo_leaf1; /b $nxo_leaf2;",
        leaf(1, '"~(*LIMIT_MATCH=1)^/a$" 1;') + leaf(2, "~^/b$ 2;"),
    ),
    "a row of any line in the bucket of its text": tree(
        '"~(?m)^/b$" 1; ~^/b$ 2;', "/b", "/b $nxo_leaf1;", leaf(1, '"~(?m)^/b$" 1; ~^/b$ 2;')
    ),
    "a value for .*$ that newlines get as well": tree("~^/a.*$ 1;", "/a", "/a 1;"),
    "a later row in a longer key": tree("~^/a 1; ~^/ab 2;", "/ab|/a", "/a 1; /ab 2;"),
    "a trie that captures the shorter key": tree("~^/ab 1; ~^/a 2;", "/a|/ab", "/a 2; /ab 1;"),
    "a key in two spellings": tree("~^/a 1;", "/A|/a", "/a 1;"),
    "a guard that looks at a second round, of which there may be none": rows_only(
        "~^/a/[0-9]+b$ 1;", '"~^(?!/a/[0-9][0-9])" d; ~^/a/[0-9]+b$ 1;'
    ),
    "a guard that looks behind a repetition": rows_only(
        '"~^/a/[0-9]{2,}b$" 1;', '"~^(?!/a/[0-9]{2}b)" d; "~^/a/[0-9]{2,}b$" 1;'
    ),
    "a row that is not read, some spelling of which has no key": tree(
        "~^/bx(?m)c 1; ~^/a$ 2;",
        "/a|/b",
        "/a $nxo_leaf2; /b $nxo_leaf1;",
        leaf(1, "~^/bx(?m)c 1;") + leaf(2, "~^/a$ 2;"),
    ),
    "a row in any case among keys in one": tree("~*^/a 1;", "/a", "/a 1;"),
    "the empty string matches no pattern": ("map $x $m { default d; ~^ 1; }", "map $x $m { default 1; }"),
    "a cached map in a volatile one": (
        "map $x $m { volatile; default d; ~^/a 1; }",
        "map $x $m { volatile; default $nxo_tree; }\n" + KEYS % "/a" + ONE_LEAF % "/a 1;",
    ),
    "a map that sees the last dot": (
        "map $x $m { hostnames; default d; ~^a.*$ 1; ~^b$ 2; }",
        "map $x $m { hostnames; default $nxo_leaf1; }\n" + leaf(1, "~^a.*$ 1; ~^b$ 2;"),
    ),
    "a row with a name as a value": tree('"~^/a(?<n>)" 1;', "/a", "/a 1;"),
    "a guard in another case": rows_only("~*^/a 1;", '"~^(?!/a)" d; ~*^/a 1;'),
    "a guard that looks at one line": rows_only(r'"~^/a|\n/b" 1;', r'"~^(?!/a|.*/b)" d; "~^/a|\n/b" 1;'),
    "a guard that PCRE gives up on": rows_only("~^/a 1; ~x 2;", '"~^(?!/a|(?:.|..)*x)" d; ~^/a 1; ~x 2;'),
    "a guard before a row that PCRE gives up on": rows_only(
        '"~^(?:a|aa)*b" 1; ~^/x 2;', '"~^(?!a*b|/x)" d; "~^(?:a|aa)*b" 1; ~^/x 2;'
    ),
    "a guard that is only the first of two branches": rows_only("~^a.*$ 1;", '"~^(?!a)|(?:b)" d; ~^a.*$ 1;'),
    "rows in another order": rows_only("~^/a 1; ~^/ab 2;", "~^/ab 2; ~^/a 1;"),
    "another value": rows_only("~^/a 1; ~^/ab 2;", "~^/a 2; ~^/ab 2;"),
    "a lost row": rows_only("~^/a 1; ~^/b 2;", "~^/a 1;"),
}  # fmt: skip


@every_row("what", RIGHT)
def test_right_texts_are_proved(what: str) -> None:
    """The parts that the wrong texts are made of are accepted where they are right."""
    assert _native.prove_map(*map(str.encode, RIGHT[what])).refutation is None


@every_row("what", WRONG)
def test_wrong_texts_are_refuted(what: str) -> None:
    """A text that answers some string in another way is refuted, whatever it looks like."""
    assert not _native.prove_map(*map(str.encode, WRONG[what])).holds


def keeping(*maps: str) -> tuple[str, str]:
    """A map of three rows, and maps that stand for it, of which the first is `$nxo_1`."""
    return _of(KEPT_ROWS), "\n".join(["map $x $m { default $nxo_1; }", *maps])


def rows_map(name: str, rows: str, default: str = "d") -> str:
    """A map of rows."""
    return f"map $x {name} {{ default {default}; {rows} }}"


KEPT_ROWS = '"~^/a(.)$" $1; ~b 2; "~^/c.*d" 3;'
FILTER = '"~^/(?:a.$|c.*d)|b" $nxo_2;'
KEEP = {
    "a filter": keeping(rows_map("$nxo_1", FILTER), rows_map("$nxo_2", KEPT_ROWS)),
    "rows": keeping(rows_map("$nxo_1", KEPT_ROWS)),
    "a filter before other rows": keeping(
        rows_map("$nxo_1", '"~^/a.$|b" $nxo_2;', "$nxo_3"),
        rows_map("$nxo_2", '"~^/a(.)$" $1; ~b 2;', "$nxo_3"),
        rows_map("$nxo_3", '"~^/c.*d" 3;'),
    ),
}
KEEP_NOT = {
    "may match where no row behind it does": keeping(
        rows_map("$nxo_1", '"~^/[ac]|b" $nxo_2;'), rows_map("$nxo_2", KEPT_ROWS)
    ),
    "a guard among the rows of a map": (
        _of('"~^/a(.)$" $1; ~^/b 2;'),
        rows_only("", '"~^(?!/(?:a|b))" d; "~^/a(.)$" $1; ~^/b 2;')[1],
    ),
    "sets captures where it matches": (
        _of('"~^/a(.)$" $1; ~^/b 2;'),
        "map $x $m { default $nxo_1; }"
        + rows_map("$nxo_1", '"~^(?!/(?:a|b))" d;', "$nxo_2")
        + rows_map("$nxo_2", '"~^/a(.)$" $1; ~^/b 2;'),
    ),
    "sets other captures than the rows": RIGHT["a tree"],
    "more follows the rows behind": keeping(
        rows_map("$nxo_1", FILTER),
        rows_map("$nxo_2", '"~^/a(.)$" $1; ~b 2;', "$nxo_3"),
        rows_map("$nxo_3", '"~^/c.*d" 3;'),
    ),
}


@pytest.mark.parametrize("what", KEEP)
def test_maps_that_keep_captures(what: str) -> None:
    """Filters that match only what a row behind them does, and rows alone, leave captures as the map did."""
    assert _native.prove_map(*map(str.encode, KEEP[what]), keeps_captures=True).refutation is None


@pytest.mark.parametrize("what", KEEP_NOT)
def test_maps_that_set_captures(what: str) -> None:
    """Other maps answer as the map did, and set other captures."""
    texts = [text.encode() for text in KEEP_NOT[what]]
    assert _native.prove_map(*texts).refutation is None
    proof = _native.prove_map(*texts, keeps_captures=True)
    assert what in (proof.refutation or "")
    assert proof.obligation == "captures"
