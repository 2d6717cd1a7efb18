"""The socket and the server (statements 12 to 22)."""

from tests.nginx.request_model.experiment import Experiment

_NAME = 'return 200 "$server_name|$host";'


def _named(*names: str) -> tuple[str, ...]:
    """Servers that answer with the name, each with the names of a word."""
    return tuple(f"server_name {name}; {_NAME}" for name in names)


SERVERS = (
    Experiment(
        "12",
        "an address is before its port at all addresses, whose names are not seen there",
        (
            'server { listen {P}; server_name w; return 200 "any $server_name"; }',
            'server { listen 127.0.0.1:{P}; server_name x; return 200 "own $server_name"; }',
            'server { listen 127.0.0.1:{P}; server_name y; return 200 "own $server_name"; }',
        ),
        {"/ | Host: w": "200 own x", "/ | Host: y": "200 own y", "/ | Host: q": "200 own x"},
    ),
    Experiment(
        "12 default",
        "the default server is that with default_server, else the first of that address",
        (
            "server { listen 127.0.0.1:{P1}; server_name a; return 200 a; }",
            "server { listen 127.0.0.1:{P}; server_name b; return 200 b; }",
            "server { listen 127.0.0.1:{P} default_server; listen 127.0.0.1:{P1}; server_name c; return 200 c; }",
        ),
        {"/ | Host: q": "200 c", "/ | Host: a": "200 c", "/ | Host: b": "200 b"},
    ),
    Experiment(
        "13",
        "Host is lower case without its port and one final dot; some forms are 400",
        (*_named("d", "ex.com", "a_b", "_"), "server_name h.raw; return 200 $http_host;"),
        {
            "/ | Host: EX.com": "200 ex.com|ex.com",
            "/ | Host: ex.com.": "200 ex.com|ex.com",
            "/ | Host: ex.com:81": "200 ex.com|ex.com",
            "/ | Host: ex.com.:81": "200 ex.com|ex.com",
            "/ | Host: ex.com:": "200 ex.com|ex.com",
            "/ | Host: ex.com:0": "200 ex.com|ex.com",
            "/ | Host: H.raw:5": "200 H.raw:5",
            "/ | Host: a_b": "200 a_b|a_b",
            "/ | Host: a%b": "200 d|a%b",
            "/ | Host: x,y": "200 d|x,y",
            "/ | Host: x'y": "200 d|x'y",
            "/ | Host: [::1]:80": "200 d|[::1]",
            "/ | Host: .ex.com": "200 d|.ex.com",
            "/ | Host: ex.com..": "400",
            "/ | Host: ": "400",
            "/ | Host: .": "400",
            "/ | Host: :80": "400",
            "/ | Host: a..b": "400",
            "/ | Host: x/y": "400",
            "/ | Host: x y": "400",
            b"GET / HTTP/1.1\r\nHost: x\x01\r\n\r\n": "400",
        },
    ),
    Experiment(
        "13 since 1.29.4",
        "ports that are none and some characters are 400 since 1.29.4",
        _named("d", "ex.com"),
        {
            "/ | Host: ex.com:99999": ("200 ex.com|ex.com", "400"),
            "/ | Host: ex.com:80:90": ("200 ex.com|ex.com", "400"),
            "/ | Host: x@y": ("200 d|x@y", "400"),
            "/ | Host: x\\y": ("200 d|x\\y", "400"),
            '/ | Host: x"y': ('200 d|x"y', "400"),
            b"GET / HTTP/1.1\r\nHost: \xc3\xbc\r\n\r\n": ("200 d|ü", "400"),
            "/ | Host: [::1": ("200 d|[::1", "400"),
        },
    ),
    Experiment(
        "14",
        "the host of an absolute URI chooses the server, yet Host must be valid",
        _named("d", "ex.com"),
        {
            "http://EX.com:77/ | Host: d": "200 ex.com|ex.com",
            "http://nope/ | Host: ex.com": "200 d|nope",
            "http://ex.com./ | Host: d": "200 ex.com|ex.com",
            "http://ex.com/ | Host: a/b": "400",
            "http://ex.com/ HTTP/1.0 | -Host": "200 ex.com|ex.com",
        },
    ),
    Experiment(
        "15",
        "exact, then the longest *.x, then the longest x.*, then regular expressions in order, then the default",
        _named("d", "*.com", "*.x.com", "a.*", "a.x.*", "b.x.com", ".dot.com", "~x", "~^a"),
        {
            "/ | Host: a.x.com": "200 *.x.com|a.x.com",
            "/ | Host: b.x.com": "200 b.x.com|b.x.com",
            "/ | Host: q.b.x.com": "200 *.x.com|q.b.x.com",
            "/ | Host: a.y.com": "200 *.com|a.y.com",
            "/ | Host: a.x.org": "200 a.x.*|a.x.org",
            "/ | Host: a.q.org": "200 a.*|a.q.org",
            "/ | Host: ax": "200 ~x|ax",
            "/ | Host: ab": "200 ~^a|ab",
            "/ | Host: dot.com": "200 dot.com|dot.com",
            "/ | Host: q.dot.com": "200 dot.com|q.dot.com",
            "/ | Host: x.com": "200 *.com|x.com",
            "/ | Host: com": "200 d|com",
            "/ | Host: zz": "200 d|zz",
        },
    ),
    Experiment(
        "15 deep",
        "a wildcard takes any number of labels",
        _named("d", "*.ex.com", "www.ex.*"),
        {
            "/ | Host: a.b.ex.com": "200 *.ex.com|a.b.ex.com",
            "/ | Host: www.ex.co.uk": "200 www.ex.*|www.ex.co.uk",
            "/ | Host: www.ex": "200 d|www.ex",
            "/ | Host: ex.com": "200 d|ex.com",
        },
    ),
    Experiment(
        "16",
        "the later of equal names is ignored, and .x.com whole after x.com or *.x.com",
        (
            "server_name d; return 200 d;",
            "server_name one.com one.com; return 200 first;",
            "server_name one.com; return 200 x;",
            "server_name *.s.com; return 200 star;",
            "server_name .s.com; return 200 dot;",
            "server_name .t.com; return 200 dot-t;",
            "server_name t.com; return 200 t;",
        ),
        {
            "/ | Host: one.com": "200 first",
            "/ | Host: a.s.com": "200 star",
            "/ | Host: s.com": "200 d",
            "/ | Host: t.com": "200 dot-t",
            "/ | Host: a.t.com": "200 dot-t",
        },
    ),
    Experiment(
        "17",
        "a name with a port or a final dot never matches; addresses are names",
        _named("d", "x.com:80", "y.com.", "127.0.0.1", "[::1]"),
        {
            "/ | Host: x.com:80": "200 d|x.com",
            "/ | Host: y.com": "200 d|y.com",
            "/ | Host: 127.0.0.1:99": "200 127.0.0.1|127.0.0.1",
            "/ | Host: [::1]:99": "200 [::1]|[::1]",
        },
    ),
    Experiment(
        "18",
        "a regular expression sees the lower-case name, is not anchored, and caseless with a capital; $1 stays",
        (
            "server_name d; return 200 d;",
            r'server_name "~^WWW\."; return 200 caseless;',
            r'server_name "~^(.+)\.cap$"; location / { return 200 "[$1]"; } location ~ z { return 200 "[$1]"; }',
            "server_name ~mid; return 200 mid;",
        ),
        {
            "/ | Host: www.q": "200 caseless",
            "/ | Host: amidb": "200 mid",
            "/ | Host: Q.cap": "200 [q]",
            "/z | Host: q.cap": "200 []",
        },
    ),
    Experiment(
        "19",
        "a server alone at its address has no captures of an earlier name, in a row with another it has",
        (r'server_name "~^(?<t19_own>.+)\.a$"; return 200 "[$t19_own]";', "server_name d; return 200 d;"),
        {"/ | Host: q.a": "200 [q]", "/ | Host: zz": "200 []", "/ | Host: d": "200 d"},
    ),
    Experiment(
        "20",
        "a request without Host goes to the first server with an empty name; $host is the first name without its dot",
        ("server_name .d.com other; return 200 $host;", 'server_name ""; return 200 "empty[$host]";'),
        {"/ HTTP/1.0 | -Host": "200 empty[]", "/ HTTP/1.0 | Host: zz": "200 zz"},
    ),
    Experiment(
        "20 case",
        "names are lower case, in $server_name and redirects too, but for regular expressions",
        (
            'server_name A.Test; server_name_in_redirect on; location / { return 200 "$server_name"; }'
            " location /r { return 301 /x; }",
            'server_name ~^B; return 200 "$server_name";',
        ),
        {
            "/ | Host: a.TEST": "200 a.test",
            "/r | Host: a.test": "301 -> http://a.test:{P}/x",
            "/ | Host: b.q": "200 ~^B",
        },
    ),
    Experiment(
        "20 default",
        "without a server of an empty name a request without Host goes to the default server",
        ("server_name .d.com other; return 200 $host;", "server_name e; return 200 e;"),
        {"/ HTTP/1.0 | -Host": "200 d.com"},
    ),
    Experiment(
        "hostname",
        "$hostname is the name of the machine, which nobody knows: an earlier exact name alone is before it",
        (
            "server_name d;return 200 d;",
            "server_name a.no; return 200 a;",
            "server_name $HOSTNAME; return 200 m;",
            "server_name b.no *.no; return 200 b;",
        ),
        {"/ | Host: a.no": "200 a", "/ | Host: b.no": "200 b", "/ | Host: c.no": "200 b", "/ | Host: zz": "200 d"},
        unknown=dict.fromkeys(("/ | Host: b.no", "/ | Host: c.no", "/ | Host: zz"), "the name of the machine"),
    ),
    Experiment(
        "max_headers",
        "a request with more headers than max_headers, Host among them, is a 400",
        ("max_headers 2; return 200 a;",),
        {"/ | A: 1": "200 a", "/ | A: 1 | B: 2": "400", "/ HTTP/1.0 | -Host | A: 1 | B: 2 | C: 3": "400"},
    ),
    Experiment(
        "20 redirect",
        "a redirect without Host takes the local address",
        ("server_name .a.b; return 301 /x;",),
        {"/ HTTP/1.0 | -Host": "301 -> http://127.0.0.1:{P}/x"},
    ),
)
