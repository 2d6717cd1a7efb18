"""Faults of rules that share a rewrite with others of their kind, and of the maps that tell the kind."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Damage, Mutation, both, text
from tests.rewrite.mutations.grouped import HEADERS, INHERITS, amid, original, tree
from tests.rewrite.mutations.obligations import Refutation

SEGMENTS = b"^/[^/]*/[^/]*/"
PATTERN = SEGMENTS + b"(.*)$"
KIND_1 = b'    rewrite "%s" "$m_target$1" permanent;\n' % PATTERN
IF_2 = b"if ($m_kind = 2) {\n"
KIND_2 = IF_2 + b'    rewrite ^ "$m_target?" last;\n}\n'
OWN = b"    rewrite ^/n0(.*)$ /own/$1/0 permanent;\n    rewrite ^/n1(.*)$ /own/$1/1 permanent;\n"
LAST = b"    rewrite ^/n11(.*)$ /own/$1/11 permanent;\n}\n"
SET = b'set $m_kind "";\n'
LOOK_UP = rb'if ($m_pattern ~ "(?s)^[0-9]+ (?<m_kind>[0-9]+) (?<m_target>.*)\z") {' + b"\n}\n"
VOLATILE = b"$m_pattern {\n    volatile;\n"
TOLD = b'"000001 1 /to/0/"'


def pattern(new: bytes, old: bytes = PATTERN) -> Damage:
    """Let the rewrite of the first kind have another pattern."""
    return text(KIND_1, KIND_1.replace(old, new))


def told(new: bytes, old: bytes = TOLD) -> Damage:
    """Let the lookup tell something else of a rule."""
    return tree(old, new)


def read(old: bytes, new: bytes) -> Damage:
    """Let the statement that reads the lookup be another."""
    return text(LOOK_UP, LOOK_UP.replace(old, new))


def _mutations(refuted_by: Refutation, *faults: tuple[str, str, Damage]) -> tuple[Mutation, ...]:
    return tuple(Mutation(name, says, "of-kinds", refuted_by, damage) for name, says, damage in faults)


MUTATIONS = (
    *_mutations(
        Refutation.KIND_DOES_SOMETHING_ELSE,
        ("target of another rule of a kind", "A rule leads where another does.", told(b'"000001 1 /to/1/"')),
        ("no target in a kind", "A rule has no target of its own.", told(b'"000001 1 "')),
        ("question mark in a target of a kind", "A target has arguments.", told(b'"000001 1 /to/0/?x="')),
        ("kind of another rule", "A rule is of another kind.", told(b'"000001 2 /to/0/"')),
        ("flag of a kind", "A kind has another flag.", text(KIND_1, KIND_1.replace(b"permanent", b"redirect"))),
        ("no flag of a kind", "A kind goes on with the new URI.", text(KIND_1, KIND_1.replace(b" permanent", b""))),
        ("arguments of a kind", "A kind passes the client's arguments on.", text(b"$m_target?", b"$m_target")),
        ("no arguments of a kind", "A kind has no arguments of its own.", text(b"?a=$1", b"")),
        ("host of a kind", "A kind leads to another host.", text(b"https://h$m", b"https://g$m")),
        ("capture of a kind", "A kind has another group in its target.", text(b"?a=$1", b"?a=$2")),
        ("rewrite of a kind to what is set", "A kind leads to its number.", text(b"$m_target?", b"$m_kind?")),
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
        ("own rule of another kind", "A rule is among others.", told(b'"000096 5 "', b'"000096 4 "')),
        ("rule of a key", "A rule that a key replaces is of a kind.", told(b'"000108 5 "', b'"000107 5 "')),
    ),
    *_mutations(
        Refutation.KIND_WITHOUT_STATEMENTS,
        ("kind without a statement", "Nothing is done for a kind.", text(KIND_2, b"")),
    ),
    *_mutations(
        Refutation.KINDS_WITH_ONE_NUMBER,
        ("kinds of one number", "Two kinds have the same number.", text(IF_2, b"if ($m_kind = 1) {\n")),
    ),
    *_mutations(
        Refutation.KIND_OF_NO_RULE,
        ("number behind the rules", "A kind is that of no rule.", told(b'"000109 5 "', b'"000107 5 "')),
    ),
    *_mutations(
        Refutation.KIND_TWICE,
        ("number twice", "A rule has two kinds.", told(b'"000001 2 /to/1/"', b'"000002 1 /to/1/"')),
    ),
    *_mutations(
        Refutation.KIND_NOT_TOLD,
        ("text of a rule that is never told", "A URI gets what no `if` reads.", told(b'"000051 "')),
    ),
    *_mutations(
        Refutation.KIND_TARGET_WITH_VARIABLE,
        ("variable in a target of a kind", "A target is what is asked for.", told(b'"000001 1 $m_p_key"')),
    ),
    *_mutations(
        Refutation.LOOK_UP_NAMED,
        ("group named as a target", "A group sets the target.", tree(b"(?<m_p_key>", b"(?<m_target>")),
        ("group named as a kind", "A group sets the kind.", tree(b"(?<m_p_key>", b"(?P<M_kind>")),
    ),
    *_mutations(
        Refutation.KIND_IN_THE_TARGET,
        ("kind in place of the target", "A kind is a target.", read(b"<m_target>", b"<m_kind>")),
    ),
    *_mutations(
        Refutation.NAME_IN_CAPITALS,
        ("target in any order", "A target is that of another group.", read(b"(?<m_target>", b"(?<x>)(?<m_target>")),
    ),
    *_mutations(
        Refutation.SET_AND_MAPPED,
        ("kind set to a map", "The variable of the kind is a map's.", tree(b"map ", b"map $uri $m_kind { }\nmap ")),
        ("target of a map", "The variable of targets is a map's.", tree(b"map ", b"map $uri $m_target { }\nmap ")),
    ),
    *_mutations(
        Refutation.STATEMENT_CHANGED,
        ("kind set again", "The kind is set once more.", text(LAST, LAST + b"set $m_kind 1;\n")),
    ),
    *_mutations(
        Refutation.LOOK_UP_READ_OTHERWISE,
        ("kind that stays", "A kind stays for another URI of the request.", text(SET, b"")),
        ("kind of all", "A URI that no rule matches has a kind.", text(SET, b"set $m_kind 1;\n")),
        (
            "kind before its lookup",
            "A kind is emptied when it is known.",
            both(text(SET, b""), text(LOOK_UP, LOOK_UP + SET)),
        ),
        ("kind of one digit", "A kind is its last digit.", read(b" (?<m_kind>[0-9]+)", b" .*(?<m_kind>[0-9]+)")),
        ("target on a line", "A target has no newline.", read(b"(?s)", b"")),
        ("target to the end of a line", "A target loses its final newline.", read(rb"\z", b"$")),
        ("target without its end", "A target is shorter.", read(b"(?<m_target>.*)", b"(?<m_target>.)")),
        ("long name of a target", "PCRE2 rejects the name of a group.", read(b"<m_target>", b"<m_%s>" % (b"x" * 31))),
        ("spelling of a value", "A lookup ignores case.", read(b" ~ ", b" ~* ")),
        ("lookup that matches nothing", "A lookup finds what is no rule's.", read(b" ~ ", b" !~ ")),
        ("lookup that does more", "A lookup sets another variable.", read(b"{\n}", b"{\n    set $x 1;\n}")),
    ),
    *_mutations(
        Refutation.GROUP_OF_A_URI,
        ("number of another rule", "The lookup tells another rule.", told(b'"000002 1 /to/1/"')),
        ("kind that is no number", "A kind is no number.", told(b'"000001 x /to/0/"')),
        ("number that is none", "A rule has no number.", told(b'"000000 1 /to/0/"')),
        ("map of what the client sends", "The client tells the kind.", tree(b'map "$m_p_prefix"', b"map $arg_x")),
        ("rule of no kind", "A rule is never told.", tree(b'    "/l/0" "000041 2 /to/0";\n', b"")),
        ("rule by default", "A URI of no rule has a kind.", tree(VOLATILE, VOLATILE + b"    default " + TOLD + b";\n")),
        ("rule of the first URI", "A kind stays for another URI.", tree(VOLATILE, b"$m_pattern {\n")),
    ),
    *_mutations(
        Refutation.CAPTURES_NOT_EMPTIED,
        ("lookup of a request", "The client tells the kind.", read(b"$m_pattern", b"$arg_x")),
    ),
    Mutation(
        "kind that the rules read",
        "A rule reads the variable of the kind.",
        "of-kinds-location",
        Refutation.NAME_IN_USE,
        original(b"/own/$1/0 ", b"/own/$1/$m_kind "),
    ),
    Mutation(
        "target that the rules read",
        "A rule reads the variable of targets.",
        "of-kinds-location",
        Refutation.NAME_IN_USE,
        original(b"/own/$1/0 ", b"/own/$1/$m_target "),
    ),
    Mutation(
        "kind and headers",
        "A kind in a location loses its headers.",
        "of-kinds-location",
        Refutation.IF_IN_A_LOCATION,
        amid(HEADERS + INHERITS),
    ),
)
