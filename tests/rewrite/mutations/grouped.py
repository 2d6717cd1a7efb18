"""Faults of rules in groups, and of the maps that tell the group."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.config import load_text
from nginxopt.rewrite import Emission
from tests.rewrite.mutations.fault import Damage, Mutation, both, text
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import HERE

GROUP_2 = b"if ($m_rules = 2) {\n"
FIRST = b"    rewrite ^/g/0/(.*)$ /to/0/$1 permanent;\n"


def tree(old: bytes, new: bytes) -> Damage:
    """Replace a part of the maps that tell the group."""

    def damage(emission: Emission) -> Emission:
        assert old in emission.groups, emission.groups.decode()
        groups = emission.groups.replace(old, new, 1)
        return replace(emission, maps=emission.maps.removesuffix(emission.groups) + groups, groups=groups)

    return damage


def original(old: bytes, new: bytes) -> Damage:
    """Replace a part of the configuration, before and after."""

    def damage(emission: Emission) -> Emission:
        [change] = emission.changes
        data = change.file.source.data
        assert data.count(old) == change.after.count(old) == 1
        config = load_text(data.replace(old, new))
        change = replace(change, file=config.main, after=change.after.replace(old, new))
        return replace(emission, plan=replace(emission.plan, config=config, subject=config.main), changes=(change,))

    return damage


def amid(statement: bytes) -> Damage:
    """Put a statement into the location with the rules, before and after."""
    return original(HERE, HERE + statement + b"\n")


HEADERS = b"add_header X-L 1;"
INHERITS = b"add_header_inherit off;"

MUTATIONS = (
    Mutation(
        "gate without a branch",
        "The group of a rule is not looked up.",
        "gated-groups",
        Refutation.FILTER_TURNS_AWAY,
        text(rb"|.*/x+\.old$", b""),
    ),
    Mutation(
        "gate with a longer branch",
        "The group of a rule is looked up for fewer URIs.",
        "gated-groups",
        Refutation.FILTER_TURNS_AWAY,
        text(b"(?:0|1|2|3|4|5)|", b"(?:0|1|2|3|4|5x)|"),
    ),
    Mutation(
        "gate for all",
        "A map leaves captures where no rule fires.",
        "gated-groups",
        Refutation.FILTER_FIRES_NOTHING,
        text(b"(?:0|1|2|3|4|5)|", b"|"),
    ),
    Mutation(
        "gate that sets a variable",
        "A gate sets a variable by a named group.",
        "gated-groups",
        Refutation.FILTER_SETS_A_NAME,
        text(b'~ "^/(?:g/', b'~ "^/(?<m_x>g/'),
    ),
    Mutation(
        "gate where PCRE gives up",
        "PCRE gives up on a gate.",
        "gated-groups",
        Refutation.FILTER_UNKNOWN,
        text(rb"|.*/x+\.old$", rb"|.*/x+\.old$|(a+)+b"),
    ),
    Mutation(
        "gate of what the client sent",
        "A gate looks at the request line.",
        "gated-groups",
        Refutation.CAPTURES_NOT_EMPTIED,
        text(b'if ($uri ~ "^/(?:g/', b'if ($request_uri ~ "^/(?:g/'),
    ),
    Mutation(
        "gate with another variable",
        "A gate sets a variable that no group reads.",
        "gated-groups",
        Refutation.FILTER_OF_OTHERS,
        text(b"set $m_rules $m_pattern;", b"set $m_rule $m_pattern;"),
    ),
    Mutation(
        "gate with another map",
        "A gate looks up another map.",
        "gated-groups",
        Refutation.GROUP_OF_A_URI,
        text(b"set $m_rules $m_pattern;", b"set $m_rules $m_p_prefix;"),
    ),
    Mutation(
        "gate with more",
        "A gate does something else.",
        "gated-groups",
        Refutation.FILTER_OF_OTHERS,
        text(b"set $m_rules $m_pattern;", b"set $m_rules $m_pattern; break;"),
    ),
    Mutation(
        "gated variable that is not empty",
        "The variable of a gate has a value before.",
        "gated-groups",
        Refutation.FILTER_OF_OTHERS,
        text(b'set $m_rules "";', b'set $m_rules "1";'),
    ),
    Mutation(
        "gated map",
        "The map behind a gate gives another group.",
        "gated-groups",
        Refutation.GROUP_OF_A_URI,
        tree(b'(.*)$" "1";', b'(.*)$" "2";'),
    ),
    Mutation(
        "group and what an if says",
        "A group in a location loses what an `if` before it says.",
        "groups-location",
        Refutation.IF_IN_A_LOCATION,
        amid(b"if ($arg_x) { add_header X-If 1; }"),
    ),
    Mutation(
        "group and what an if may include",
        "A group in a location loses what an `if` before it includes.",
        "groups-location",
        Refutation.IF_IN_A_LOCATION,
        amid(b"if ($arg_x) { include none*.conf; }"),
    ),
    Mutation(
        "group and another module",
        "A group stands in a location with a directive that it may not inherit.",
        "groups-location",
        Refutation.IF_IN_A_LOCATION,
        amid(b"more_set_headers 'X: 1';"),
    ),
    Mutation(
        "group and headers",
        "A group in a location loses its headers.",
        "groups-location",
        Refutation.IF_IN_A_LOCATION,
        amid(HEADERS + INHERITS),
    ),
    Mutation(
        "group and headers elsewhere",
        "A group in a location loses its headers, as the http block says.",
        "groups-location",
        Refutation.IF_IN_A_LOCATION,
        both(amid(HEADERS), original(b"    server {\n", b"    server {\n" + INHERITS + b"\n")),
    ),
    Mutation(
        "group and trailers elsewhere",
        "A group in a location loses its trailers, as the http block says.",
        "groups-location",
        Refutation.IF_IN_A_LOCATION,
        both(amid(b"add_trailer X-L 1;"), original(b"    server {\n", b"    server {\nadd_trailer_inherit off;\n")),
    ),
    Mutation(
        "group with break and try_files",
        "A rule with `break` in a group loses the location's try_files.",
        "groups-location",
        Refutation.BREAK_LOSES_TRY_FILES,
        amid(b"try_files $uri =404;"),
    ),
    Mutation(
        "map of groups unread",
        "A map of the groups has no end.",
        "groups",
        Refutation.GROUPS_DO_NOT_PARSE,
        tree(b"map ", b"map { map "),
    ),
    Mutation(
        "map of groups twice",
        "The variable of the groups is defined twice.",
        "groups",
        Refutation.TWO_MAPS,
        tree(b"map ", b"map $uri $m_pattern { }\nmap "),
    ),
    Mutation(
        "map of groups of a key",
        "A map of the groups takes the variable of a map of keys.",
        "groups",
        Refutation.TWO_MAPS,
        tree(b"map ", b"map $uri $m_key { }\nmap "),
    ),
    Mutation(
        "groups of one number",
        "Two groups have the same number.",
        "groups",
        Refutation.GROUPS_WITH_ONE_NUMBER,
        text(GROUP_2, b"if ($m_rules = 1) {\n"),
    ),
    Mutation(
        "group that sets",
        "A group does more than to try its rules.",
        "groups",
        Refutation.GROUP_OF_OTHERS,
        text(GROUP_2, GROUP_2 + b"    set $x 1;\n"),
    ),
    Mutation(
        "group that returns",
        "A group ends the script although none of its rules fires.",
        "groups",
        Refutation.GROUP_OF_OTHERS,
        text(GROUP_2, GROUP_2 + b"    return 404;\n"),
    ),
    Mutation(
        "group of a rule without a flag",
        "A rule of a group goes on with the new URI.",
        "groups",
        Refutation.GROUP_OF_OTHERS,
        text(FIRST, FIRST.replace(b" permanent", b"")),
    ),
    Mutation(
        "group of a rule that gives up",
        "A rule answers 500 where PCRE gives up; a map takes its default.",
        "groups",
        Refutation.GROUP_MAY_GIVE_UP,
        text(FIRST, FIRST.replace(b"^/g/0/(.*)$", b"^/g/0/((a+)+)$")),
    ),
    Mutation(
        "group of another number",
        "A group is entered for the number of none.",
        "groups",
        Refutation.GROUP_OF_A_URI,
        text(GROUP_2, b"if ($m_rules = 9) {\n"),
    ),
    Mutation(
        "group of another variable",
        "A group is entered for what the client asks for.",
        "groups",
        Refutation.GROUP_OF_A_URI,
        text(GROUP_2, b"if ($arg_x = 2) {\n"),
    ),
    Mutation(
        "rule of a group lost",
        "A rule is in no group; the lookup knows it.",
        "groups",
        Refutation.GROUP_OF_A_URI,
        text(FIRST, b""),
    ),
    Mutation(
        "target of a grouped rule",
        "A rule leads elsewhere once it is in a group.",
        "groups",
        Refutation.KEPT_RULE_CHANGED,
        text(FIRST, FIRST.replace(b"/to/0", b"/to/1")),
    ),
    Mutation(
        "number of a row",
        "The lookup tells the number of another group.",
        "groups",
        Refutation.GROUP_OF_A_URI,
        tree(b' "2";', b' "1";'),
    ),
    Mutation(
        "groups of what the client sent",
        "The lookup asks for the request line.",
        "groups",
        Refutation.GROUP_OF_A_URI,
        tree(b"$uri", b"$request_uri"),
    ),
    Mutation(
        "groups of the first URI",
        "The lookup keeps its answer for another URI of the request.",
        "groups",
        Refutation.GROUP_OF_A_URI,
        tree(b"    volatile;\n", b""),
    ),
    Mutation(
        "variable of the groups set by a rule",
        "A group of a rule has the name of a map, which nginx then forgets.",
        "groups-location",
        Refutation.NAME_IN_USE,
        original(b"^/i/0/(.*)$", b"^/i/0/(?<m_pattern>.*)$"),
    ),
    Mutation(
        "group of a map named as that of rules",
        "A group in a map tells a group of rules, also where none matches.",
        "groups",
        Refutation.LOOK_UP_NAMED,
        tree(b"(?<m_p_key>", b"(?<m_rules>"),
    ),
    Mutation(
        "name of a rule lost in its group",
        "A rule in a group does not set its variable any more.",
        "named-groups",
        Refutation.NEW_RULE_LISTS_NOTHING,
        text(b"rewrite ^/g/3/(?<old>.*)$", b"rewrite ^/g/3/(.*)$"),
    ),
    Mutation(
        "group set to a map",
        "The variable of the group is a map's.",
        "groups",
        Refutation.SET_AND_MAPPED,
        tree(b"map ", b"map $uri $m_rules { }\nmap "),
    ),
)
