"""What nginx does with maps of regular expressions: the facts that trees of lookups rely on."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from nginxopt.errors import InputError
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes

pytestmark = pytest.mark.nginx

SAYS_M = 'location / { return 200 "$m"; }'
LETTERS = string.ascii_lowercase * 160


@dataclass(frozen=True)
class Experiment:
    """A claim about the answers to request targets, or to values of the header `X` if `header` is set."""

    claim: str
    http: str
    answers: Mapping[str, str]
    server: str = SAYS_M
    header: bool = False
    main: str = ""
    logged: str = field(default="", repr=False)


def keys_of(trie: str) -> str:
    """Return a map that captures the key of a trie."""
    return f'map $uri $m {{ "~^(?<key>{trie})" $key; default none; }}'


EXPERIMENTS = [
    # The order of rows.
    Experiment(
        "exact keys go before regular expressions, wherever they stand",
        'map $uri $m { "~^/a" regex; /a exact; "~^/A" upper; default d; }',
        {"/a": "exact", "/A": "exact", "/ab": "regex", "/AB": "upper", "/b": "d"},
    ),
    Experiment(
        "exact keys ignore the case of ASCII letters only",
        'map $uri $m { "/É" e; "/Kk" k; "/[" bracket; "/@" at; }',
        {"/%C3%89": "e", "/%C3%A9": "", "/KK": "k", "/kk": "k", "/[": "bracket", "/%7B": "", "/@": "at", "/`": ""},
    ),
    Experiment(
        "the first regular expression that matches in the order of the text answers",
        'map $uri $m { "~^/ab" first; "~^/a" second; "~^/abc" never; }',
        {"/abc": "first", "/ac": "second", "/b": ""},
    ),
    Experiment(
        "no regular expression is tried on an empty string; an exact key can answer it",
        'map $arg_x $any { "~^" any; default d; } map $arg_x $empty { "~^" any; "" empty; default d; }'
        ' map "$any $empty" $m { default "$any $empty"; }',
        {"/": "d empty", "/?x=": "d empty", "/?x=1": "any any"},
    ),
    Experiment(
        "`~^` matches every other string",
        'map $uri $m { "~^" all; default d; }',
        {"/": "all", "/%0A": "all", "/%0Ax%0A%0A": "all"},
    ),
    # How rows are written.
    Experiment(
        "`~` and `~*` in quotes or not, and keys that only look special",
        r'map $arg_x $m { \~x t; "\~y" q; \default d1; "\\\\z" backslash; "~^~z" rz; ~*^CASE ci; "~*^quo" cq;'
        r' ~^a\.b dotted; "~^c\.d" qdot; "~^e\\.f" qdd; "~^g\"h" quo; "~^ab{2}$" braces; default d; }',
        {
            "/?x=~x": "t",
            "/?x=~y": "q",
            "/?x=default": "d1",
            "/?x=\\z": "backslash",
            "/?x=~z": "rz",
            "/?x=caSE1": "ci",
            "/?x=QUOt": "cq",
            "/?x=a.b": "dotted",
            "/?x=aXb": "d",
            "/?x=c.d": "qdot",
            "/?x=cXd": "d",
            "/?x=e\\Xf": "d",
            "/?x=e.f": "qdd",
            "/?x=eXf": "d",
            '/?x=g"h': "quo",
            "/?x=abb": "braces",
        },
    ),
    Experiment(
        "two rows may have the same regular expression, and two maps the same variable: the last one makes it",
        'map $uri $m { "~^/a" never; } map $uri $m { "~^/b" 1; "~^/b" 2; default d; }',
        {"/a": "d", "/b": "1"},
    ),
    # The end of the string and newlines.
    Experiment(
        r"`$` matches before a newline at the end, `.` never matches one, `\z` is the very end",
        r'map $uri $m { "~^/a$" dollar; "~^/b.*$" tail; "~^/c(.*)$" "<$1>"; "~^/d.*" open; "~^/e.$" dot; "~^/f\z" z; }',
        {
            "/a%0A": "dollar",
            "/a%0A%0A": "",
            "/b%0A": "tail",
            "/bx%0A": "tail",
            "/b%0Ax": "",
            "/bx%0A%0A": "",
            "/c%0A": "<>",
            "/cx%0Ax": "",
            "/d%0Ax": "open",
            "/e%0A": "",
            "/ex%0A": "dot",
            "/f": "z",
            "/f%0A": "",
        },
    ),
    Experiment(
        r"`\n.` finds a newline that is not the last byte, also two at the end with (?s)",
        r'map $uri $m { "~\n." inner; "~(?s)\n." two; default no; }',
        {"/a": "no", "/a%0A": "no", "/a%0Ab": "inner", "/a%0A%0A": "two", "/%0A%0Ab": "inner"},
    ),
    # Captures.
    Experiment(
        "groups that take no part are empty in a value",
        'map $uri $m { "~^/(?<name>a)?b" "[$name]"; "~^/(c)?d" "[$1]"; "~^/e" "[$1$name]"; }',
        {"/ab": "[a]", "/b": "[]", "/cd": "[c]", "/d": "[]", "/e": "[]"},
    ),
    Experiment(
        "a named group is a variable that can be read elsewhere, once its row has matched, and not if another did",
        'map $uri $m { "~^/(?<name>a)?b" v; "~^/x" x; "~^/x(?<late>y)" never; default d; }',
        {"/ab": "[][] v [a][]", "/b": "[][] v [][]", "/xy": "[][] x [][]", "/c": "[][] d [][]"},
        server='location / { set $before "[$name][$late]"; set $value $m;'
        ' return 200 "$before $value [$name][$late]"; }',
    ),
    Experiment(
        "named groups stay what they were: the row of a volatile map reads what another row captured earlier",
        'map $x $m { volatile; "~^/a(?<name>.*)" v; "~^/b" "[$name]"; }',
        {"/a1": "v [1]", "/b": "[] []"},
        server='set $x $uri; location / { set $first $m; set $x /b; return 200 "$first $m"; }',
    ),
    *(
        Experiment(
            f"a row that matches replaces $1 ({where}), one without groups makes it empty, and a miss leaves it",
            'map $uri $group { "~^/hit/(.)" v; } map $uri $none { "~^/hit/" v; }',
            {"/hit/abc12": "v [a|] v [|]", "/abc12": " [abc|12]  [abc|12]"},
            server=before.replace("@", 'set $r1 $group; set $r2 "[$1|$2]"; set $r3 $none; set $r4 "[$1|$2]";')
            + ' location / { return 200 "$r1 $r2 $r3 $r4"; }',
        )
        for where, before in (
            ("if", r'if ($uri ~ "^/(?:hit/)?([a-z]*)(.*)$") { @ }'),
            ("location", r'location ~ ^/(?:hit/)?([a-z]*)(.*)$ { @ return 200 "$r1 $r2 $r3 $r4"; }'),
        )
    ),
    Experiment(
        "the captures of server_name are replaced as well, and so are those that a rewrite's target reads",
        'map $uri $group { "~^/hit/(.)" v; } map $uri $none { "~^/hit/" v; }',
        {"/hit/abc12": "/v/a/ []", "/abc12": "//abc/12 [1]"},
        server='server_name "~^(1)"; set $x $none; set $host_capture "[$1]";'
        ' rewrite "^/(?:hit/)?([a-z]*)(.*)$" /$group/$1/$2 break; location / { return 200 "$uri $host_capture"; }',
    ),
    Experiment(
        "lengths are taken first, so a map in the same string replaces what stands before it",
        'map $uri $none { "~^/hit/" v; }',
        {"/hit/abc": "[] v []", "/abc": "[abc]  [abc]"},
        server='location ~ ^/(?:hit/)?([a-z]*) { return 200 "[$1] $none [$1]"; }',
    ),
    # Maps in maps.
    Experiment(
        "the value of a map may be another map, which is evaluated only then: captures show it",
        'map $uri $m { /a $inner; "~^/b" $inner; default no; } map $uri $inner { "~^/(?<seen>.)" inner; }',
        {"/a": "inner a", "/bc": "inner b", "/c": "no "},
        server='location / { set $value $m; return 200 "$value $seen"; }',
    ),
    Experiment(
        "a map without volatile is evaluated once, one with volatile each time",
        'map $x $once { "~^/a" $x; default d; } map $x $each { volatile; "~^/a" $x; default d; }'
        " map $once $m { default $once; }",
        {"/a": "/a|/a|/a|d", "/b": "d|d|d|/a1"},
        server='set $x $uri; location / { set $first "$once|$each"; set $x other; if ($uri = /b) { set $x /a1; }'
        ' return 200 "$first|$once|$each"; }',
    ),
    Experiment(
        "100 variables are evaluated inside one another, the string that a map looks up among them: 98 maps do",
        'map $uri $m0 { "~^/a" hit; default none; } '
        + " ".join(f'map $uri $m{i} {{ "~^/q" x; default $m{i - 1}; }}' for i in range(1, 98))
        + " map $uri $m { default $m97; } variables_hash_max_size 4096;",
        {"/a": "hit", "/b": "none"},
    ),
    Experiment(
        "beyond that the value is empty",
        'map $uri $m0 { "~^/a" hit; default none; } '
        + " ".join(f'map $uri $m{i} {{ "~^/q" x; default $m{i - 1}; }}' for i in range(1, 100))
        + " map $uri $m { default $m99; } variables_hash_max_size 4096;",
        {"/a": ""},
        logged="cycle while evaluating variable",
    ),
    # The parts of a tree.
    Experiment(
        r"a key and the string on both sides of > compared by \1 are equal byte for byte, not only but for case",
        r'map $uri $e { "/a" "/a"; "/b\n" "/b\n"; "/Abc" "/Abc"; "/p>/p" "/p>/p"; "/p>" "/p>"; "/>>" "/>>"; }'
        r' map "$e>$uri" $m { "~(?s)^(.+)>\1\z" hit; default no; }',
        {
            "/a": "hit",
            "/A": "no",
            "/a%0A": "no",
            "/b": "no",
            "/b%0A": "hit",
            "/B%0A": "no",
            "/abc": "no",
            "/Abc": "hit",
            "/p%3E": "hit",
            "/p%3E/p": "hit",
            "/P%3E/p": "no",
            "/%3E%3E": "hit",
            "/x%3E/x": "no",
            "/%3E": "no",
            "/a%3E/a": "no",
        },
    ),
    Experiment(
        "a trie of optional tails captures the longest key",
        keys_of("/(?:a(?:b(?:c)?|bb)?|d(?:e/)?)"),
        {
            "/a": "/a",
            "/ab": "/ab",
            "/abc": "/abc",
            "/abd": "/ab",
            "/abb": "/ab",  # not a trie: `ab` is preferred to `abb`
            "/dex": "/d",
            "/de/x": "/de/",
            "/x": "none",
        },
    ),
    Experiment(
        "a negative look-ahead in front sends what has none of some prefixes to the default",
        'map $uri $m { "~^(?!/a|/b)" none; "~^/a1" a1; "~^/b1" b1; default d; }',
        {"/a1": "a1", "/b1": "b1", "/a2": "d", "/c": "none", "/%0A/a1": "none"},
    ),
    Experiment(
        r"`\19` is a byte and a 9 without that many groups, not a `\1` and a 9",
        r'map $arg_x $m { "~^(a)\1[9]" reference; "~^(a)\19" never; default d; }',
        {"/?x=aa9": "reference", "/?x=ab9": "d"},
    ),
    Experiment(
        "digits of numbers compare them: the row of the lower number wins",
        r'map $arg_x $m { "~^(\d*)(?:0\d*:\1[1-9]|1\d*:\1[2-9]|2\d*:\1[3-9]|3\d*:\1[4-9]|4\d*:\1[5-9]|5\d*:\1[6-9]'
        r'|6\d*:\1[7-9]|7\d*:\1[89]|8\d*:\1[9])" left; "~^\d{6}:$" left; default right; }',
        {
            "/?x=000001:000002": "left",
            "/?x=000002:000001": "right",
            "/?x=000019:000020": "left",
            "/?x=010000:009999": "right",
            "/?x=000007:": "left",
            "/?x=:000007": "right",
            "/?x=888888:888889": "left",
        },
    ),
    # Where PCRE gives up.
    Experiment(
        "a row on which PCRE exceeds its match limit ends the search with the default",
        'map $uri $m { "~(*LIMIT_MATCH=100)^/(?:a+)+$" hit; "~^/" second; default d; }',
        {"/aa": "hit", "/" + 20 * "a" + "b": "d", "/b": "second"},
        logged="failed",
    ),
    Experiment(
        "so what follows a row that may give up stands in a row `~^`, and the default is the map's own",
        'map $uri $m { "~(*LIMIT_MATCH=100)^/(?:a+)+$" hit; "~^" $next; default d; }'
        ' map $uri $next { "~x" x; default nothing; }',
        {"/" + 20 * "a" + "b": "d", "/b": "nothing", "/bx": "x"},
    ),
    Experiment(
        "with pcre_jit a repeated group gives up on a long string",
        'map $uri $m { "~^(a|b|/)*$" hit; "~^/" second; default d; }',
        {"/abab": "hit", "/" + 1500 * "ab": "d"},
        main="pcre_jit on;",
    ),
    Experiment(
        "a pattern with (*UTF8) gives up on what is not UTF-8",
        'map $uri $m { "~(*UTF8)^/.$" hit; "~^/" second; default d; }',
        {"/%C3%A9": "hit", "/%C3": "d", "/ab": "second"},
    ),
    *(
        Experiment(
            f"a trie of 249 groups inside one another captures a long key with pcre_jit {jit}",
            keys_of("/" + "".join(f"(?:{letter}" for letter in LETTERS[:249]) + ")?" * 249),
            {"/" + LETTERS[:249]: "/" + LETTERS[:249], "/" + LETTERS[:40] + "9": "/" + LETTERS[:40]},
            main=f"pcre_jit {jit};",
        )
        for jit in ("off", "on")
    ),
    # `hostnames`.
    Experiment(
        "hostnames: wildcards go before regular expressions, and one dot at the end is taken off for both",
        r'map $http_x $m { hostnames; default d; .a.test dot; *.w.test wild; mail.* tail; "~^b\.test$" regex;'
        r' "~^b\.test\.$" dotted; "~^(?<name>www.*)$" "<$name>"; "~^x" never; "~\.$" end; "" empty; }',
        {
            "a.test": "dot",
            "A.TEST.": "dot",
            "x.y.a.test": "dot",
            "x.w.test": "wild",
            "w.test": "d",
            "mail.foo.bar.": "tail",
            "b.test": "regex",
            "b.test.": "regex",
            "b.test..": "dotted",
            "www.b.test.": "<www.b.test>",
            "zzz.": "d",
            "zzz..": "end",
            ".": "empty",
        },
        header=True,
    ),
    Experiment(
        "a map behind one with hostnames sees the dot, unless it has hostnames itself",
        r'map $http_x $m { hostnames; default "$plain $same"; } map $http_x $plain { "~\.$" dot; default none; }'
        r' map $http_x $same { hostnames; "~\.$" dot; default none; }',
        {"a.b": "none none", "a.b.": "dot none", "a.b..": "dot dot"},
        header=True,
    ),
]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=[experiment.claim for experiment in EXPERIMENTS])
def test_experiment(each_binary: nginx.Binary, experiment: Experiment) -> None:
    """The server responds as the experiment claims."""
    http, server = experiment.http.encode(), experiment.server.encode()
    with nginx.Instance(
        each_binary, servers=[server], http=http, main=experiment.main.encode(), log_level="error"
    ) as instance:
        with instance.client() as client:
            answers = client.ask([_request(key, header=experiment.header) for key in experiment.answers])
        log = "\n".join(instance.error_log())
    bodies = [answer.partition(b"\r\n\r\n")[2].decode() for answer in answers]
    assert dict(zip(experiment.answers, bodies, strict=True)) == experiment.answers
    assert experiment.logged in log


def _request(key: str, *, header: bool) -> RequestBytes:
    target, line = ("/", f"X: {key}\r\n") if header else (key, "")
    return RequestBytes(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{line}\r\n".encode())


REFUSED = {
    "keys that differ in case only": ("map $uri $m { /a 1; /A 2; }", "conflicting parameter"),
    "a second default": ("map $uri $m { default 1; default 2; }", "duplicate default map parameter"),
    "a quoted word of 4,094 bytes": (f'map $uri $m {{ "~{LETTERS[:4093]}" hit; }}', "too long parameter"),
    "a word of 4,095 bytes": (f"map $uri $m {{ ~{LETTERS[:4094]} hit; }}", "too long parameter"),
    "251 groups inside one another": (f'map $uri $m {{ "~{"(?:" * 251}{")" * 251}" hit; }}', "compile() failed"),
    "a pattern of 66,000 bytes when compiled": (
        f'map $uri $m {{ "~(?:{LETTERS[:1000]}){{33}}" hit; }}',
        "regular expression is too large",
    ),
    "a name of 33 bytes": (f'map $uri $m {{ "~(?<{LETTERS[:33]}>a)" hit; }}', "name is too long"),
}
ACCEPTED = {
    "a quoted word of 4,093 bytes": f'map $uri $m {{ "~{LETTERS[:4092]}" hit; }}',
    "a word of 4,094 bytes": f"map $uri $m {{ ~{LETTERS[:4093]} hit; }}",
    "250 groups inside one another": f'map $uri $m {{ "~{"(?:" * 250}{")" * 250}" hit; }}',
    "a pattern of 64,000 bytes when compiled": f'map $uri $m {{ "~(?:{LETTERS[:1000]}){{32}}" hit; }}',
    "a name of 32 bytes": f'map $uri $m {{ "~(?<{LETTERS[:32]}>a)" hit; }}',
}


@pytest.mark.parametrize("what", REFUSED)
def test_limits(each_binary: nginx.Binary, what: str) -> None:
    """nginx refuses what exceeds a limit by one."""
    http, message = REFUSED[what]
    with pytest.raises(InputError, match=re.escape(message)), nginx.Instance(each_binary, http=http.encode()):
        pass


@pytest.mark.parametrize("what", ACCEPTED)
def test_up_to_the_limits(each_binary: nginx.Binary, what: str) -> None:
    """nginx accepts what reaches a limit."""
    with nginx.Instance(each_binary, http=ACCEPTED[what].encode()) as instance, instance.client() as client:
        (answer,) = client.ask([_request("/", header=False)])
    assert answer
