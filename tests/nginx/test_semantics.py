"""What nginx does with rewrite rules and maps: the facts that the compiler and the proof rely on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.nginx.experiments import say

pytestmark = pytest.mark.nginx

STATE = 'location / { return 200 "uri=[$uri] args=[$args]"; }'


@dataclass(frozen=True)
class Experiment:
    """A claim about the answers of a server: request target (and perhaps a host) -> status, then Location
    or text."""

    claim: str
    server: str
    answers: dict[str, str]
    http: str = ""
    host: str = "a.test"
    state: str = STATE


EXPERIMENTS = [
    # Order and flags.
    Experiment(
        "a rule without a flag goes on with the new URI, a flag ends the level, which does not run again",
        "rewrite ^/one$ /two; rewrite ^/two$ /three last; rewrite ^/three$ /four permanent;",
        {"/one": "200 uri=[/three] args=[]", "/two": "200 uri=[/three] args=[]", "/three": "301 /four"},
    ),
    Experiment(
        "of two rules that match the first answers, even where `break` is its flag",
        "rewrite ^/x$ /first break; rewrite ^/x$ /second permanent; rewrite ^/first$ /never permanent;",
        {"/x": "200 uri=[/first] args=[]"},
    ),
    Experiment(
        "set, if and return stand in the same order as the rules",
        "set $a 1; if ($arg_k) { set $a 2; rewrite ^/i1$ /i2; } rewrite ^/i2$ /i3-$a permanent;"
        ' return 200 "ret $uri $a"; rewrite ^/z$ /never permanent;',
        {"/i1?k=1": "301 /i3-2?k=1", "/i1": "200 ret /i1 1", "/i2": "301 /i3-1", "/z": "200 ret /z 1"},
    ),
    Experiment(
        "`last` in a location looks for a location again, and the 11th change of the URI is a 500",
        "location /loop { rewrite ^/loop(.*)$ /loop$1x last; } location /hop { rewrite ^/hop(x*)$ /stop$1 last; }",
        {"/loop": "500", "/hopx": "200 uri=[/stopx] args=[]"},
    ),
    # The implicit redirect.
    Experiment(
        "a target that starts with http://, https:// or $scheme redirects, whatever its internal flag",
        "rewrite ^/h1$ http://e.com/; rewrite ^/h2$ https://e.com/ last; rewrite ^/h3$ https://e.com/ break;"
        " rewrite ^/h4$ $scheme://e.com/; rewrite ^/h5$ $scheme_x/;",
        {
            "/h1": "302 http://e.com/",
            "/h2": "302 https://e.com/",
            "/h3": "302 https://e.com/",
            "/h4": "302 http://e.com/",
            "/h5": "302 ftp://e.com/",
        },
        http='map $host $scheme_x { default "ftp://e.com"; }',
    ),
    Experiment(
        "the redirect is seen in the text of the target only, not in ${scheme}, HTTP:// or a map's value",
        "rewrite ^/h1$ ${scheme}://e.com/; rewrite ^/h2$ HTTP://e.com/; rewrite ^/h3$ $t3_target;",
        {"/h1": "404", "/h2": "404", "/h3": "404"},
        http='map $uri $t3_target { volatile; "/h3" "https://e.com/"; }',
    ),
    # The string that is matched.
    Experiment(
        "rules and maps see the decoded and normalised URI: one byte for %XX, `+` as it is, no arguments",
        'rewrite "^/a b$" /hit permanent; if ($t4_map) { return 200 map=$t4_map; }',
        {
            "/a%20b": "301 /hit",
            "//x/..//a%20b": "301 /hit",
            "/a%20b?q=1": "301 /hit?q=1",
            "/a+b": "200 map=plus",
            "/a%2Bb": "200 map=plus",
            "/%61%2520b": "200 map=percent",
            "/caf%C3%A9": "200 map=bytes",
        },
        http='map $uri $t4_map { volatile; "/a+b" plus; "/a%20b" percent; "/café" bytes; }',
    ),
    Experiment(
        "a NUL, a way above the root and a malformed escape never get to the rules",
        "rewrite ^ /hit permanent;",
        {"/a%00": "400", "/..": "400", "/a/../..": "400", "/%zz": "400", "/%4": "400"},
    ),
    Experiment(
        "a pattern with %XX or with arguments never matches what it looks like",
        r"rewrite ^/p%20q$ /hit permanent; rewrite ^/index\.php\?id=1$ /hit permanent;",
        {
            "/p%20q": "200 uri=[/p q] args=[]",
            "/p%2520q": "301 /hit",
            "/index.php?id=1": "200 uri=[/index.php] args=[id=1]",
            "/index.php%3Fid=1": "301 /hit",
        },
    ),
    # The end of the subject.
    Experiment(
        r"`$` and `\Z` also match before one final newline, `\z` does not",
        r"rewrite ^/a$ /dollar permanent; rewrite ^/b\z /z permanent; rewrite ^/c\Z /Z permanent;",
        {
            "/a%0A": "301 /dollar",
            "/a%0A%0A": "200 uri=[/a\n\n] args=[]",
            "/a%0D": "200 uri=[/a\r] args=[]",
            "/b": "301 /z",
            "/b%0A": "200 uri=[/b\n] args=[]",
            "/c%0A": "301 /Z",
        },
    ),
    Experiment(
        "leading verbs and (?m) change what `$` means",
        "rewrite (?m)^/m$ /m permanent; rewrite (*ANYCRLF)^/r$ /r permanent;",
        {"/m%0Ax": "301 /m", "/x%0A/m": "301 /m", "/r%0D": "301 /r", "/r%0D%0A": "301 /r"},
    ),
    # What a pattern looks like.
    Experiment(
        "an unescaped dot is any byte but a newline, a pattern without anchors is found anywhere",
        "rewrite ^/foo.html$ /dot permanent; rewrite /old /un permanent; rewrite ^/p|/q$ /alt permanent;",
        {
            "/fooXhtml": "301 /dot",
            "/foo%0Ahtml": "200 uri=[/foo\nhtml] args=[]",
            "/x/older": "301 /un",
            "/pzz": "301 /alt",
            "/zz/q": "301 /alt",
        },
    ),
    Experiment(
        "a pattern that exceeds the match limit of PCRE is a 500",
        "rewrite ^/(a+)+$ /hit permanent;",
        {"/aaaa": "301 /hit", "/" + 40 * "a" + "b": "500"},
    ),
    # Arguments of a target.
    Experiment(
        "arguments are handled by the text of the directive: a `?` in a variable is no separator",
        "if ($t9_whole) { rewrite ^ $t9_whole permanent; }"
        " if ($t9_path) { rewrite ^ $t9_path?$t9_args permanent; }"
        " if ($t9_drop) { rewrite ^ $t9_drop? permanent; }"
        " if ($t9_own) { rewrite ^ $t9_own?k=v? permanent; }",
        {
            "/whole?x=1": "301 /new?k=v?x=1",
            "/path?x=1": "301 /new?k=v&x=1",
            "/path": "301 /new?k=v",
            "/empty?x=1": "301 /new?&x=1",
            "/drop?x=1": "301 /new",
            "/own?x=1": "301 /new?k=v",
        },
        http='map $uri $t9_whole { volatile; /whole "/new?k=v"; } map $uri $t9_drop { volatile; /drop /new; }'
        " map $uri $t9_path { volatile; /path /new; /empty /new; } map $uri $t9_own { volatile; /own /new; }"
        ' map $uri $t9_args { volatile; /path k=v; /empty ""; }',
    ),
    # Empty results.
    Experiment(
        "an empty internal URI is a 500, an empty redirect is not",
        "rewrite ^/in$ $arg_t last; rewrite ^/re$ $arg_t permanent;",
        {"/in": "500", "/re": "301 ", "/in?t=/x": "200 uri=[/x] args=[t=/x]"},
    ),
    Experiment(
        "`if` is false for nothing and for 0, and only for these",
        "if ($arg_v) { return 200 true; }",
        {"/?v=": "200 uri=[/] args=[v=]", "/?v=0": "200 uri=[/] args=[v=0]", "/?v=00": "200 true"},
    ),
    # Map keys.
    Experiment(
        "literal keys of a map ignore the case of ASCII letters and of no other byte",
        'if ($t11) { return 200 "$t11"; }',
        {
            "/MIXED": "200 m",
            "/mixed": "200 m",
            "/caf%C3%A9": "200 c",
            "/caf%C3%89": "200 uri=[/cafÉ] args=[]",
        },
        http='map $uri $t11 { volatile; /Mixed m; "/café" c; }',
    ),
    Experiment(
        "comparing the key of the guard with the URI makes a map exact",
        "if ($t11_key = $uri) { rewrite ^ $t11_target permanent; }",
        {
            "/site/AboutUs": "301 /about",
            "/site/AboutUs%0A": "301 /about",
            "/site/aboutus": "200 uri=[/site/aboutus] args=[]",
            "/site/AboutUs%0A%0A": "200 uri=[/site/AboutUs\n\n] args=[]",
        },
        http=r'map $uri $t11_key { volatile; "/site/aboutus" "/site/AboutUs";'
        r' "/site/aboutus\n" "/site/AboutUs\n"; }'
        r' map $uri $t11_target { volatile; "/site/aboutus" "/about"; "/site/aboutus\n" "/about"; }',
    ),
    Experiment(
        "the value $uri in the guard's map ignores the case for that key, and for no other",
        "if ($t11_mixed = $uri) { rewrite ^ /hit permanent; }",
        {
            "/free": "301 /hit",
            "/FREE": "301 /hit",
            "/Exact": "301 /hit",
            "/exact": "200 uri=[/exact] args=[]",
            "/12-3": "301 /hit",
            "/none": "200 uri=[/none] args=[]",
        },
        http='map $uri $t11_mixed { volatile; /free $uri; "/exact" "/Exact"; "/12-3" $uri; }',
    ),
    Experiment(
        "a `$` in a guard value can come from geo, whose values are not expanded; a key takes it as it is",
        "if ($t11_dollar = $uri) { rewrite ^ /hit permanent; }",
        {"/us$/A": "301 /hit", "/us$/a": "200 uri=[/us$/a] args=[]", "/$host": "301 /hit"},
        http='geo $t11_sign { default "$"; } map $uri $t11_dollar { volatile;'
        ' "/us$/a" "/us${t11_sign}/A"; "/$host" "/${t11_sign}host"; }',
    ),
    Experiment(
        "special keys of a map need a backslash, and so does a backslash at the start",
        'if ($t15) { return 200 "$t15"; }',
        {
            "/?k=default": "200 d",
            "/?k=include": "200 i",
            "/?k=volatile": "200 v",
            "/?k=hostnames": "200 h",
            "/?k=~x": "200 t",
            "/?k=\\x": "200 b",
        },
        http=r"map $arg_k $t15 { volatile; \default d; \include i; \volatile v; \hostnames h;"
        r" \~x t; \\\\x b; }",
    ),
    # Volatile.
    Experiment(
        "a map without volatile keeps its first value through internal redirects, a volatile one does not",
        "location = /error { error_page 404 /key; return 404; } location = /try { try_files /none /key; }"
        " location = /index/ { index /key; }"
        ' location = /key { return 200 "plain=$t12_plain fresh=$t12_fresh"; }'
        ' set $seen "$t12_plain$t12_fresh";',
        {
            "/key": "200 plain=yes fresh=yes",
            "/error": "404 plain= fresh=yes",
            "/try": "200 plain= fresh=yes",
            "/index/": "200 plain= fresh=yes",
        },
        http="map $uri $t12_plain { /key yes; } map $uri $t12_fresh { volatile; /key yes; }",
    ),
    Experiment(
        "a subrequest of auth_request is judged by the URI of its parent without volatile",
        'set $seen "$t12_auth_plain$t12_auth"; location = /plain { auth_request /sub-plain; }'
        " location = /fresh { auth_request /sub-fresh; }"
        " location = /sub-plain { if ($t12_auth_plain) { return 204; } return 403; }"
        " location = /sub-fresh { if ($t12_auth) { return 204; } return 403; }",
        {"/plain": "403", "/fresh": "404"},
        http="map $uri $t12_auth_plain { /sub-plain yes; } map $uri $t12_auth { volatile; /sub-fresh yes; }",
    ),
    # Captures.
    Experiment(
        "$1 is empty in a target whose pattern has no groups, even when the host name captured something",
        "rewrite ^/old$ /new-$1 permanent;",
        {"/old": "301 /new-"},
        host="foo.wild",
    ),
    Experiment(
        "a rewrite that fails clears the numbered captures",
        'rewrite ^/old$ /new permanent; set $c "[$1]"; location / { return 200 "$c"; }',
        {"/x": "200 []"},
        host="foo.wild",
        state="",
    ),
    Experiment(
        "a guard over a map leaves the numbered captures as they are",
        'if ($t13 = $uri) { rewrite ^ /new permanent; } set $c "[$1]"; location / { return 200 "$c"; }',
        {"/x": "200 [foo]", "/old": "301 /new"},
        http="map $uri $t13 { volatile; /old /old; }",
        host="foo.wild",
        state="",
    ),
    *(
        Experiment(
            f"the never matching rewrite {regex} clears the numbered captures",
            f'rewrite "{regex}" /; set $c "[$1]"; location / {{ return 200 "$c"; }}',
            {"/x": "200 []", "/a": "200 []", "/" + 70 * "a": "200 []", "/%0A": "200 []"},
            host="foo.wild",
            state="",
        )
        for regex in ("^(?!)", "^a(?!)", r"^\x00(?!)", r"^\x00")
    ),
    Experiment(
        "a URI without a leading slash can come from a rule, so `^a` alone is not a never matching pattern",
        "rewrite ^/x$ abc; rewrite ^a /hit permanent; rewrite ^/y$ bcd; rewrite ^a(?!) /never permanent;",
        {"/x": "301 /hit", "/y": "404"},
    ),
    Experiment(
        "$1 in a redirect is escaped if the path asked for had a %XX or a +, and not else; "
        "this is seen in bytes up to % and from 0x7f, since the others are decoded again",
        "rewrite ^/old/(.*)$ https://e.com/$1 permanent;",
        {
            "/old/é": "301 https://e.com/é",
            "/ol%64/é": "301 https://e.com/%C3%A9",
            "/old/+é": "301 https://e.com/+%C3%A9",
            "/old/%C3%A9": "301 https://e.com/%C3%A9",
            "/old/a;b&c": "301 https://e.com/a;b&c",
            "/ol%64/a;b&c": "301 https://e.com/a;b&c",
            "/old/a%20b%22%23": "301 https://e.com/a%20b%22%23",
            "/old/a%3Fb%25c": "301 https://e.com/a?b%25c",
            "/old/é?q=%41+": "301 https://e.com/é?q=%41+",
        },
    ),
    Experiment(
        "$1 in the path of an internal target is not escaped, in its arguments it is",
        "rewrite ^/path/(.*)$ /new/$1 last; rewrite ^/args/(.*)$ /new?p=$1 last;",
        {
            "/path/a%20b": "200 uri=[/new/a b] args=[]",
            "/args/a%20b": "200 uri=[/new] args=[p=a%20b]",
            "/args/a;b": "200 uri=[/new] args=[p=a;b]",
            "/arg%73/a;b": "200 uri=[/new] args=[p=a%3Bb]",
        },
    ),
    Experiment(
        "named captures and map values are not escaped in a redirect",
        "rewrite ^/named/(?<t13_rest>.*)$ https://e.com/$t13_rest permanent;"
        " rewrite ^/map/ https://e.com/$t13_map permanent;",
        {"/named/a%20;": "301 https://e.com/a ;", "/map/%20": "301 https://e.com/v ;"},
        http='map $host $t13_map { default "v ;"; }',
    ),
    # A location-level `if`.
    Experiment(
        "an `if` around a `break` in a location takes the location's try_files away; a plain rule keeps it",
        "location /plain { rewrite ^/plain$ /gone break; try_files $uri @named; }"
        " location /guarded { if ($uri = /guarded) { rewrite ^ /gone break; } try_files $uri @named; }"
        ' location @named { return 200 "named $uri"; }',
        {"/plain": "200 named /gone", "/guarded": "404"},
    ),
    Experiment(
        "a `break` with an alternation in one rule keeps try_files and can take its target from a map of $1",
        'location / { rewrite "^(/(?:old|dir/old))$" $t14 break; try_files $uri @named; }'
        ' location @named { return 200 "named $uri"; }',
        {"/old": "200 named /new", "/dir/old": "200 named /dir/new", "/x": "200 named /x"},
        http="map $1 $t14 { volatile; /old /new; /dir/old /dir/new; }",
        state="",
    ),
    Experiment(
        "an `if` around a `break` at server level takes nothing away",
        'if ($uri = /guarded) { rewrite ^ /gone break; } location @named { return 200 "named $uri"; }',
        {"/guarded": "200 named /gone"},
        state="location / { try_files $uri @named; }",
    ),
]


@pytest.fixture(scope="module")
def laboratory(binary: nginx.Binary) -> Iterator[nginx.Instance]:
    """One nginx with a server for each experiment."""
    names = r'server_name a.test "~^(.+)\.wild$";'
    servers = [f"{names} {experiment.server} {experiment.state}".encode() for experiment in EXPERIMENTS]
    http = "map_hash_bucket_size 128;\n" + "\n".join(experiment.http for experiment in EXPERIMENTS)
    with nginx.Instance(binary, servers=servers, http=http.encode()) as instance:
        yield instance


@pytest.mark.parametrize("index", range(len(EXPERIMENTS)), ids=[experiment.claim for experiment in EXPERIMENTS])
def test_experiment(laboratory: nginx.Instance, index: int) -> None:
    """The server responds as the experiment claims."""
    experiment = EXPERIMENTS[index]
    requests = [
        RequestBytes(f"GET {target} HTTP/1.1\r\nHost: {experiment.host}\r\n\r\n".encode())
        for target in experiment.answers
    ]
    with laboratory.client(index) as client:
        answers = client.ask(requests)
    shown = [say(answer, laboratory.ports[index]) for answer in answers]
    assert dict(zip(experiment.answers, shown, strict=True)) == experiment.answers
