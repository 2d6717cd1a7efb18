"""Faults of rules that share a rewrite with others of their kind, and of the maps that tell the kind."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Damage, Mutation, text
from tests.rewrite.mutations.grouped import HEADERS, INHERITS, amid, original, tree
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import NEVER

SEGMENTS = b"^/[^/]*/[^/]*/"
PATTERN = SEGMENTS + b"(.*)$"
KIND_1 = b'    rewrite "%s" "$m_targets$1" permanent;\n' % PATTERN
IF_2 = b"if ($m_kind = 2) {\n"
KIND_2 = IF_2 + b'    rewrite ^ "$m_targets?" last;\n}\n'
OWN = b"    rewrite ^/n0(.*)$ /own/$1/0 permanent;\n    rewrite ^/n1(.*)$ /own/$1/1 permanent;\n"
FIRST_SET = b"set $m_rules $m_pattern;\n"
SET = b"set $m_kind $m_kinds;\n"
VOLATILE = b" {\n    volatile;\n"


def pattern(new: bytes, old: bytes = PATTERN) -> Damage:
    """Let the rewrite of the first kind have another pattern."""
    return text(KIND_1, KIND_1.replace(old, new))


def rows(name: bytes, new: bytes) -> Damage:
    """Let a map begin with other rows or parameters."""
    return tree(b"$m_%s%s" % (name, VOLATILE), b"$m_%s%s" % (name, new))


def _mutations(refuted_by: Refutation, *faults: tuple[str, str, Damage]) -> tuple[Mutation, ...]:
    return tuple(Mutation(name, says, "of-kinds", refuted_by, damage) for name, says, damage in faults)


MUTATIONS = (
    *_mutations(
        Refutation.KIND_DOES_SOMETHING_ELSE,
        (
            "target of another rule of a kind",
            "A rule leads where another of its kind does.",
            tree(b'"1" "/to/0/"', b'"1" "/to/1/"'),
        ),
        ("target of no rule of a kind", "A rule has no row for its target.", tree(b'    "1" "/to/0/";\n', b"")),
        ("question mark in a target of a kind", "A map has arguments.", tree(b'"1" "/to/0/"', b'"1" "/to/0/?x="')),
        ("kind of another rule", "A rule is of another kind.", tree(b'"1" "1"', b'"1" "2"')),
        ("flag of a kind", "A kind has another flag.", text(KIND_1, KIND_1.replace(b"permanent", b"redirect"))),
        ("no flag of a kind", "A kind goes on with the new URI.", text(KIND_1, KIND_1.replace(b" permanent", b""))),
        ("arguments of a kind", "A kind passes the client's arguments on.", text(b"$m_targets?", b"$m_targets")),
        ("no arguments of a kind", "A kind has no arguments of its own.", text(b"?a=$1", b"")),
        ("host of a kind", "A kind leads to another host.", text(b"https://h$m", b"https://g$m")),
        ("capture of a kind", "A kind has another group in its target.", text(b"?a=$1", b"?a=$2")),
        ("rewrite of a kind to what is set", "A kind leads to its number.", text(b"$m_targets?", b"$m_rules?")),
        ("kind that returns", "A kind ends the script with a response.", text(KIND_1, b"    return 404;\n")),
    ),
    *_mutations(
        Refutation.KIND_CAPTURES,
        ("one segment more", "A group begins behind one segment more.", pattern(SEGMENTS + b"[^/]*/", SEGMENTS)),
        ("one segment less", "A group begins behind one segment less.", pattern(b"^/[^/]*/", SEGMENTS)),
        ("another group", "A group captures less.", pattern(b"(.+)$", b"(.*)$")),
        ("another end", "A group captures the final newline.", pattern(rb"(.*)\z", b"(.*)$")),
        ("no group", "Nothing is captured.", pattern(b"^")),
        ("any case", "A pattern ignores case.", pattern(b"(?i)" + PATTERN)),
        ("alternatives", "A pattern has an alternative.", pattern(PATTERN + b"|x")),
        ("no beginning", "A pattern matches anywhere.", pattern(PATTERN[1:])),
        ("dots", "A segment is one byte.", pattern(b"^/./[^/]*/(.*)$")),
        ("named group of a kind", "A rewrite of a kind sets a variable.", pattern(b"(?<m_kind>.*)$", b"(.*)$")),
        (
            "groups around a segment",
            "A group captures a segment.",
            pattern(b"^/([^/]*)/[^/]*/(.*)$"),
        ),
    ),
    *_mutations(
        Refutation.KIND_MAY_GIVE_UP,
        ("kind that gives up", "PCRE gives up on the pattern of a kind.", pattern(SEGMENTS + b"((a+)+)+x(.*)$")),
    ),
    *_mutations(
        Refutation.KIND_OF_OTHERS,
        ("kind that sets", "A kind does more than its rules.", text(IF_2, IF_2 + b"    set $x 1;\n")),
        ("order of own rules", "Rules of a kind are tried in another order.", text(OWN, OWN[43:] + OWN[:43])),
        ("own rule lost", "A rule is in no kind.", text(OWN, OWN[43:])),
        ("own rule of another kind", "A rule is among those of another kind.", tree(b'"96" "4"', b'"96" "5"')),
        ("rule of a key", "A rule that a key replaces is of a kind.", rows(b"kinds", VOLATILE + b'"108" "5";')),
    ),
    *_mutations(
        Refutation.KINDS_NOT_THOSE,
        ("kind without a statement", "Nothing is done for a kind.", text(KIND_2, b"")),
        ("statement without a kind", "A statement is of no kind.", text(IF_2, b"if ($m_kind = 9) { }\n" + IF_2)),
        ("kind that is no number", "A kind is no number.", tree(b'"1" "1"', b'"1" "$uri"')),
    ),
    *_mutations(
        Refutation.KINDS_WITH_ONE_NUMBER,
        ("kinds of one number", "Two kinds have the same number.", text(IF_2, b"if ($m_kind = 1) {\n")),
    ),
    *_mutations(
        Refutation.KIND_OF_NO_RULE,
        ("number behind the rules", "A kind is that of no rule.", tree(b'"107" "5"', b'"109" "5"')),
        ("number with a zero", "A number is written in another way.", tree(b'"107" "5"', b'"0107" "5"')),
        ("target of no number", "A target is that of no number.", tree(b'"1" "/to/0/"', b'"x" "/to/0/"')),
    ),
    *_mutations(
        Refutation.KIND_TWICE,
        ("number twice", "A number has two kinds.", tree(b'"1" "1";', b'"1" "1"; "1" "2";')),
    ),
    *_mutations(
        Refutation.KIND_MAP_KEPT,
        ("kind of the first URI", "A kind stays for another URI of the request.", rows(b"kinds", b" {\n")),
        ("target of the first URI", "A target stays for another URI of the request.", rows(b"targets", b" {\n")),
    ),
    *_mutations(
        Refutation.KIND_MAP_OF_OTHERS,
        ("default of kinds", "A URI of no rule has a kind.", rows(b"kinds", VOLATILE + b"default 1;")),
        ("pattern of kinds", "A pattern tells a kind.", rows(b"kinds", VOLATILE + b"~^ 1;")),
        ("hosts of kinds", "Numbers are host names.", rows(b"kinds", VOLATILE + b"hostnames;")),
        ("default of targets", "A rule has a target by default.", rows(b"targets", VOLATILE + b"default /x;")),
        (
            "targets of the URI",
            "Targets are looked up by the URI.",
            tree(b'map "$m_rules" $m_targets', b"map $uri $m_targets"),
        ),
    ),
    *_mutations(
        Refutation.KIND_TARGET_WITH_VARIABLE,
        ("variable in a target of a kind", "A target is what is asked for.", tree(b'"1" "/to/0/"', b'"1" "$uri"')),
    ),
    *_mutations(
        Refutation.KIND_NAMED,
        ("group named as a map of kinds", "A group takes the place of a map.", tree(b"(?<m_p_key>", b"(?<m_targets>")),
        ("group named as a kind", "A group sets the kind.", tree(b"(?<m_p_key>", b"(?P<M_kind>")),
    ),
    *_mutations(
        Refutation.KIND_IN_THE_NUMBER,
        (
            "kind in place of the number",
            "The kind takes the place of the number.",
            text(b"$m_kind ", b"$m_rules ", count=-1),
        ),
    ),
    *_mutations(
        Refutation.SET_AND_MAPPED,
        ("kind set to a map", "The variable of the kind is a map's.", tree(b"map ", b"map $uri $m_kind { }\nmap ")),
    ),
    *_mutations(
        Refutation.STATEMENT_CHANGED,
        ("kind set again", "The kind is set once more.", text(NEVER, NEVER + b"set $m_kind 1;\n")),
    ),
    *_mutations(
        Refutation.GROUP_OF_A_URI,
        (
            "number of another rule",
            "The look-up tells another rule.",
            tree(b'"~^/k/0/(.*)$" "1"', b'"~^/k/0/(.*)$" "2"'),
        ),
        (
            "kinds of what the client sends",
            "The client tells the kind.",
            tree(b'map "$m_rules" $m_kinds', b"map $arg_x $m_kinds"),
        ),
        ("rule of no kind", "A rule has no kind.", tree(b'    "1" "1";\n', b"")),
        ("number before its look-up", "The kind is looked up first.", text(FIRST_SET + SET, SET + FIRST_SET)),
    ),
    *_mutations(
        Refutation.CAPTURES_NOT_EMPTIED,
        ("captures of the look-up of kinds", "What the look-up captures stays.", text(NEVER, b"")),
    ),
    Mutation(
        "kind that the rules read",
        "A rule reads the variable of the kind.",
        "of-kinds-location",
        Refutation.NAME_IN_USE,
        original(b"/own/$1/0 ", b"/own/$1/$m_kind "),
    ),
    Mutation(
        "kind and headers",
        "A kind in a location loses its headers.",
        "of-kinds-location",
        Refutation.IF_IN_A_LOCATION,
        amid(HEADERS + INHERITS),
    ),
)
