"""Rewrite rules beyond their pages: harmless look-alikes, unusual spellings, and what several rules share."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from nginxopt.config import load_text
from nginxopt.lint import PCRE_LIBRARY, PLAIN_COMMAND_LINE, Safety
from tests.lintcheck import diagnose, fixed, judge, read
from tests.rows import every_row
from tests.rulegen import literal_rewrites


@dataclass(frozen=True)
class Case:
    """The lines that a rule reports in a text."""

    title: str
    rule: str
    text: str
    lines: tuple[int, ...] = ()
    context: str = "server"

    def __str__(self) -> str:
        return f"{self.rule}: {self.title}"


def silent(rule: str, title: str, text: str, context: str = "server") -> Case:
    """A case in which nothing is reported."""
    return Case(title, rule, text, (), context)


ROWS = "".join(f"/{number} 1;\n" for number in range(50))

CASES = [
    # rewrite-literal-bulk
    Case("each location has its run", "rewrite-literal-bulk",
         f"location / {{\n{literal_rewrites(25, ' permanent')}}}", (2,)),
    silent("rewrite-literal-bulk", "rules that go on with the new URI are no run",
           literal_rewrites(25, "")),
    # rewrite-shadowed and rewrite-duplicate
    Case("several rules shadow one together", "rewrite-shadowed",
         "rewrite ^/[a-m] /x last;\nrewrite ^/[n-z] /y last;\nrewrite ^/[a-z]+$ /z last;", (3,)),
    Case("a rule of fixed URIs is shadowed by another", "rewrite-shadowed",
         "rewrite ^/a/?$ /x last;\nrewrite ^/a$ /y last;", (2,)),
    silent("rewrite-shadowed", "a condition is a script of its own",
           "rewrite ^/a /x last;\nif ($host = b) {\n rewrite ^/a$ /y last;\n}"),
    silent("rewrite-shadowed", "letters differ by case", "rewrite ^/a$ /x last;\nrewrite ^/A$ /y last;"),
    silent("rewrite-shadowed", "a pattern that matches nothing is another rule's", "rewrite ^a$ /x last;"),
    silent("rewrite-duplicate", "another flag is another rule", "rewrite ^/a$ /x last;\nrewrite ^/a$ /x permanent;"),
    # rewrite-never-matches
    *(Case(title, "rewrite-never-matches", f"rewrite {pattern} /x last;", (1,)) for title, pattern in [
        ("a scheme and a host", "^https?://a\\.b/c$"), ("a host", "^www\\.a\\.b/c$"), ("two slashes", "^/a//b$"),
        ("dots", "^/a/\\.\\./b$"), ("an escape in capitals", "^/a%C3%A9$"), ("an argument in quotes", '"^/a\\?b=1"'),
        ("an unescaped question mark before an argument", "^/a.php?id=(.*)$"), ("a glob", "^/old/*.html$"),
    ]),
    *(silent("rewrite-never-matches", title, f"rewrite {pattern} /x last;") for title, pattern in [
        ("a slash is optional", "^/?a$"), ("a group begins with the slash", "^(/a)$"), ("anything", "."),
        ("no anchor", "a$"), ("a lazy repetition", "^/a(.*?)b=1$"), ("named groups", "^/(?<id>a)=1$"),
        ("an escape as one of several", "^/a(%20)?b$"), ("a dot after a slash", "^/.well-known/"),
        ("the look-ahead is no question", "^/(?!x)a=1$"), ("a glob that finds files all the same", "^/t/.*/*.tpl"),
    ]),
    silent("rewrite-never-matches", "where slashes are not merged",
           "merge_slashes off;\nrewrite ^/a//b$ /x last;"),
    silent("rewrite-never-matches", "behind a rule that takes the slash away",
           "rewrite ^/(.*)$ $1;\nrewrite ^a$ /x last;"),
    silent("rewrite-never-matches", "in a fragment it is not known whether slashes are merged",
           "rewrite ^/a//b$ /x last;", None),  # type: ignore[arg-type]
    silent("rewrite-never-matches", "what envsubst fills in", "location ${URL_PATH} { }\nlocation $PREFIX/a { }"),
    Case("locations of all kinds", "rewrite-never-matches",
         "location ~ ^a$ { }\nlocation = /a%20b { }\nlocation /a//b { }\n"
         "location ~* \\.php\\?x=1$ { }\nlocation ^/(a|b)$ { }",
         (1, 2, 3, 4, 5)),
    silent("rewrite-never-matches", "a modifier that nginx refuses", "location *~ \\.php$ { }"),
    silent("rewrite-never-matches", "names and ordinary locations",
           "location @a%20 { }\nlocation /a { }\nlocation = /?x { }\nlocation ~ \\.php$ { }"),
    # redirect-chain
    Case("over a location", "redirect-chain", "rewrite ^/a$ /b permanent;\nlocation = /b { return 301 /c; }", (1,)),
    Case("from a location to a rule", "redirect-chain",
         "location /a/ { return 301 /b; }\nrewrite ^/b$ /c permanent;", (1,)),
    Case("through `last`", "redirect-chain",
         "rewrite ^/a$ /b permanent;\nrewrite ^/b$ /c last;\nlocation = /c { return 301 /d; }", (1,)),
    Case("to its own name", "redirect-chain",
         "server_name a.b;\nrewrite ^/a$ http://a.b/b permanent;\nrewrite ^/b$ /c permanent;", (2,)),
    Case("whatever the host, on default ports", "redirect-chain",
         "rewrite ^/a$ $scheme://$host/b permanent;\nrewrite ^/b$ /c permanent;", (1,)),
    Case("to its own name at a port of a range", "redirect-chain",
         "listen 8000-8010;\nserver_name a.b;\nrewrite ^/a$ http://a.b:8005/b permanent;\n"
         "rewrite ^/b$ /c permanent;", (3,)),
    silent("redirect-chain", "no port of a range is the default one",
           "listen 8000-8010;\nserver_name a.b;\nrewrite ^/a$ $scheme://$host/b permanent;\n"
           "rewrite ^/d$ http://a.b/b permanent;\nrewrite ^/b$ /c permanent;"),
    silent("redirect-chain", "another name, port or scheme",
           "server_name a.b;\nrewrite ^/a$ http://c.d/b permanent;\nrewrite ^/d$ http://a.b:81/b permanent;\n"
           "rewrite ^/e$ https://a.b/b permanent;\nrewrite ^/b$ /c permanent;"),
    silent("redirect-chain", "an earlier rule takes the target",
           "rewrite ^/a$ /b permanent;\nrewrite ^/[b] /x last;\nrewrite ^/b$ /c permanent;"),
    silent("redirect-chain", "an earlier rule takes the source",
           "rewrite ^/[a] /x last;\nrewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;"),
    silent("redirect-chain", "a condition on arguments may take the target",
           "rewrite ^/a$ /b permanent;\nif ($args) {\n return 200;\n}\nrewrite ^/b$ /c permanent;"),
    silent("redirect-chain", "a target that depends on the URI is a chain for some only",
           "rewrite ^/a/(.*)$ /b/$1 permanent;\nrewrite ^/b/$ /c permanent;"),
    silent("redirect-chain", "an include that was not read comes before",
           "rewrite ^/a$ /b permanent;\ninclude none.conf;\nrewrite ^/b$ /c permanent;"),
    *(silent("redirect-chain", f"a return with {len(args.split())} arguments is refused by nginx",
             f"location = /a {{\n return {args};\n}}\nlocation = /b {{\n return 301 /a;\n}}")
      for args in ("", "301 /c d")),
    silent("redirect-chain", "targets with escapes are not followed",
           "rewrite ^/a$ /b%20 permanent;\nrewrite '^/b $' /c permanent;"),
    silent("redirect-chain", "a regular expression takes the target before the prefix",
           "rewrite ^/a$ /b/c permanent;\nlocation /b/ { return 301 /d; }\nlocation ~ c$ { return 200; }"),
    Case("from one rule of a location to another", "redirect-chain",
         "location / {\n rewrite ^/a$ /b permanent;\n rewrite ^/b$ /c permanent;\n}", (2,)),
    Case("over a regex location", "redirect-chain",
         "location ~ ^/a[0-9]$ { return 301 /b; }\nlocation = /b { return 301 /c; }", (1,)),
    Case("with arguments on the way", "redirect-chain",
         "rewrite ^/a$ /b?x=1 permanent;\nrewrite ^/b$ /c? permanent;", (1,)),
    Case("over a variable", "redirect-chain",
         "set $to /b;\nrewrite ^/a$ $to permanent;\nlocation = /b { return 301 /c; }", (2,)),
    Case("to the slash of a location that passes on", "redirect-chain",
         "rewrite ^/a$ /e permanent;\nlocation = /e/ { proxy_pass http://127.0.0.1:9; }", (1,)),
    Case("behind a condition on the scheme", "redirect-chain",
         "listen 80;\nlisten 443 ssl;\nserver_name a.b;\nif ($scheme = http) {\n"
         " return 301 https://$host$request_uri;\n}\nrewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;", (7,)),
    Case("in spite of an include of http that was not read", "redirect-chain",
         "include none.conf;\nserver {\nrewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;\n}", (3,), "http"),
    Case("in spite of an include behind it that was not read", "redirect-chain",
         "rewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;\ninclude none.conf;", (1,)),
    Case("from a server to another", "redirect-chain",
         "server {\nserver_name a.b;\nreturn 301 http://c.d/x;\n}\n"
         "server {\nserver_name c.d;\nlocation = /x { return 301 /y; }\n}", (3,), "http"),
    Case("from a server to another, whatever the host", "redirect-chain",
         "server {\nlisten 80;\nlocation = /a { return 301 https://$host/b; }\n}\n"
         "server {\nlisten 443 ssl;\nlocation = /b { return 301 /c; }\n}", (3,), "http"),
    Case("to a name with a wildcard", "redirect-chain",
         "server {\nserver_name a.b;\nreturn 301 http://www.c.d/x;\n}\n"
         "server {\nserver_name *.c.d;\nlocation = /x { return 301 /y; }\n}", (3,), "http"),
    Case("from a name with a wildcard", "redirect-chain",
         "server {\nserver_name a.b;\n}\nserver {\nserver_name .c.d www.e.*;\n"
         "rewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;\n}", (6,), "http"),
    silent("redirect-chain", "a name with a final dot is that of no request",
           "server {\nserver_name a.b;\nreturn 301 http://c.d/x;\n}\n"
           "server {\nserver_name c.d.;\nlocation = /x { return 301 /y; }\n}", "http"),
    silent("redirect-chain", "an exact location inside a regex location is dead",
           "rewrite ^/a$ /e/x permanent;\nlocation ~ /e/ {\nlocation = /e/x { return 301 /c; }\nreturn 200;\n}"),
    silent("redirect-chain", "a cookie, a header or an argument may take the target",
           "rewrite ^/a$ /b permanent;\nrewrite ^/d$ /e permanent;\nrewrite ^/f$ /g permanent;\n"
           "location = /b { if ($cookie_x) { return 200; } return 301 /c; }\n"
           "location = /e { if ($http_x) { return 200; } return 301 /c; }\n"
           "location = /g { if ($arg_x) { return 200; } return 301 /c; }"),
    silent("redirect-chain", "a map of a header may take the target",
           "map $http_accept_language $to { default /c; ~^de /d; }\n"
           "server {\nrewrite ^/a$ /b permanent;\nlocation = /b { return 301 $to; }\n}", "http"),
    silent("redirect-chain", "a module may do anything",
           "rewrite ^/a$ /b permanent;\nlocation = /b { rewrite_by_lua_block { ngx.exit(200) } }"),
    silent("redirect-chain", "nginx refuses the configuration",
           "rewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;\nlocation ~ ^/x { location = /y { } }"),
    silent("redirect-chain", "a target that is no path",
           "rewrite ^/a$ http:///b permanent;\nrewrite ^/b$ /c permanent;"),
    # redirect-loop
    Case("from TLS to itself", "redirect-loop",
         "listen 443 ssl;\nserver_name a.b;\nreturn 301 https://$host$request_uri;", (3,)),
    Case("between two servers", "redirect-loop",
         "server {\nserver_name a.b;\nreturn 301 http://c.d$request_uri;\n}\n"
         "server {\nserver_name c.d;\nreturn 301 http://a.b$request_uri;\n}", (3,), "http"),
    Case("with arguments that grow", "redirect-loop", "location = /a { return 301 /a?b=$request_uri; }", (1,)),
    Case("within nginx, behind a redirect", "redirect-loop",
         "rewrite ^/a$ /b/c permanent;\nlocation /b/ {\n rewrite ^ /b/d last;\n}", (3,)),
    silent("redirect-loop", "a script puts another host there",
           'if ($host !~ "www.DOMAIN") {\n    rewrite ^/(.*)$ http://www.DOMAIN/$1 permanent;\n}'),
    Case("a host with capital letters", "redirect-loop",
         'server_name a.net;\nif ($host != "A.net") {\n    return 301 http://A.net$request_uri;\n}', (3,)),
    silent("redirect-loop", "another error is no loop",
           "location /b/ {\n rewrite ^/b/c$ /d last;\n return 500;\n}\nlocation /d {\n return 500;\n}"),
    silent("redirect-loop", "a request that is internal without a rewrite",
           "location / { rewrite ^/x$ /y last; try_files /none /z/$uri; }"),
    silent("redirect-loop", "to TLS, which another program has", "return 301 https://$host$request_uri;"),
    Case("between two", "redirect-loop", "rewrite ^/a$ /b permanent;\nrewrite ^/b$ /a permanent;", (1,)),
    Case("by a location to what it holds", "redirect-loop", "location /a/ { return 301 /a/b; }", (1,)),
    Case("of the whole server to itself", "redirect-loop",
         "server_name a.b www.a.b;\nreturn 301 http://www.a.b$request_uri;", (2,)),
    Case("that grows", "redirect-loop", "rewrite ^/(.*)$ /x/$1 permanent;", (1,)),
    Case("within nginx, over two locations", "redirect-loop",
         "location /a { rewrite ^ /b last; }\nlocation /b { rewrite ^ /a last; }", (1, 2)),
    silent("redirect-loop", "to the other server of the name",
           "server_name a.b;\nreturn 301 https://a.b$request_uri;"),
    silent("redirect-loop", "break ends the rules", "location / { rewrite ^(.*)$ /index.php break; }"),
    silent("redirect-loop", "a condition may end it",
           "location / {\nif ($arg_x) {\n return 200;\n}\nrewrite ^(.*)$ /index.php last; }"),
    silent("redirect-loop", "the last rule leads out", "rewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;"),
    # rewrite-catchall, rewrite-single-literal
    silent("rewrite-catchall", "a path of its own before the URI",
           "rewrite ^(.*)$ https://a.b/x$1 permanent;\nrewrite ^/(.*)$ https://a.b$1 permanent;"),
    silent("rewrite-catchall", "arguments twice, or dropped",
           "rewrite ^ https://a.b$request_uri permanent;\nrewrite ^(.*)$ https://a.b$1? permanent;"),
    Case("in an if", "rewrite-catchall", "if ($host = a) {\n rewrite ^ http://b$request_uri? permanent;\n}", (2,)),
    silent("rewrite-single-literal", "other rules in the location",
           "location = /a { set $x 1; rewrite ^/a$ /b permanent; }"),
    silent("rewrite-single-literal", "escapes and variables in the target",
           "location = /a { rewrite ^ /b%20 permanent; }\nlocation = /c { rewrite ^ /$host permanent; }"),
    silent("rewrite-single-literal", "a pattern that does not match, and a location of more URIs",
           "location = /a { rewrite ^/b$ /c permanent; }\nlocation /d { rewrite ^/d$ /e permanent; }"),
    # the others
    silent("if-file-exists", "a file that does not depend on the request",
           "if (-f /srv/maintenance) {\n rewrite ^ /maintenance.html last;\n}"),
    silent("if-chain-to-map", "different operators",
           "".join(f"if ($host != h{n}) {{ set $x {n}; }}\n" for n in range(4))),
    silent("unanchored-or-dotstar", "escapes, possessive and lazy",
           "rewrite ^/a\\.* /x last;\nrewrite .*?a /x last;\nrewrite ^/.*$ /x last;"),
    silent("map-regex-bulk", "many plain keys", f"map $uri $x {{\n{ROWS}}}", "http"),
    silent("map-hash-size", "a map of names is not judged",
           "map $host $x {\nhostnames;\n.%s 1;\n}" % ("a." * 40 + "b"), "http"),
    Case("a key that no default bucket holds", "map-hash-size", "map $uri $x {\n/%s 1;\n}" % ("k" * 60), (1,), "http"),
    silent("map-hash-size", "in a fragment the sizes are not known", "map $uri $x {\n/%s 1;\n}" % ("k" * 60),
           None),  # type: ignore[arg-type]
]  # fmt: skip


@every_row("case", CASES, ids=str)
def test_what_is_found(case: Case) -> None:
    """A rule reports the expected lines and no others."""
    first = {None: 1, "http": 3, "server": 4}[case.context]
    diagnostics = diagnose(case.rule, case.text, context=case.context)
    lines = tuple(diagnostic.start.line - first + 1 for diagnostic in diagnostics)
    assert lines == case.lines


FIXES = [
    (
        "rewrite-duplicate",
        "rewrite ^/a$ /b last; # one\r\nrewrite ^/a$ /b last; # two\r\n",
        "rewrite ^/a$ /b last; # one\r\n# two\r\n",
    ),
    ("rewrite-duplicate", "rewrite ^/a$ /b last; rewrite ^/a$ /b last;", "rewrite ^/a$ /b last;"),
    (
        "rewrite-catchall",
        "rewrite ^ https://$host$request_uri? permanent;",
        "return 301 https://$host$request_uri;",
    ),
    ("rewrite-catchall", "rewrite ^/(.*) http://a.b/$1;", "return 302 http://a.b$request_uri;"),
    (
        "rewrite-single-literal",
        "location =/a { rewrite ^ http://b.c/d?x=1? redirect; }",
        "location =/a { return 302 http://b.c/d?x=1; }",
    ),
    (
        "regex-location-literal",
        'location ~ "^/a\\.b$" { return 200; }',
        "location = /a.b { return 200; }",
    ),
    (
        "regex-location-literal",
        "location ~ ^/a$ { return 200; } location ~ ^/a$ { return 201; }",
        "location = /a { return 200; } location ~ ^/a$ { return 201; }",
    ),
    (
        "regex-location-literal",
        "location ~ # old\n  ^/a$ { return 200; }",
        "location = # old\n  /a { return 200; }",
    ),
    ("unanchored-or-dotstar", 'rewrite "^/a{1}.*" /b last;', 'rewrite "^/a{1}" /b last;'),
    (
        "if-file-exists",
        "location / {\n  if (!-e $request_filename) {\n    rewrite . /i.php last;\n  }\n}",
        "location / {\n  try_files $uri $uri/ /i.php$is_args$args;\n}",
    ),
]


@every_row(("rule", "before", "after"), FIXES)
def test_what_is_fixed(rule: str, before: str, after: str) -> None:
    """A fix changes the expected bytes and no others, in any layout."""
    assert fixed(rule, before, context="server").decode() == after
    assert fixed(rule, after, context="server").decode() == after


NOT_FIXED = [
    ("regex-location-literal", "location ~ ^/a$ { return 200; } location = /a { return 201; }"),
    ("regex-location-literal", "location ~ ^/a$ { location ~ b { return 200; } }"),
    ("regex-location-literal", "location ~ x { location ~ ^/a$ { return 200; } }"),
    ("rewrite-catchall", "rewrite ^/a$ /b; rewrite ^(.*)$ https://a.b$1 permanent;"),
    ("if-file-exists", "location /x { if (!-e $request_filename) { rewrite ^ /i.php last; } }"),
    ("if-file-exists", "location / { try_files $uri =404; if (!-e $request_filename) { rewrite ^ /i.php last; } }"),
    ("if-file-exists", "location / { if (!-e $request_filename) {\n# why\nrewrite ^ /i.php last; } }"),
    ("if-file-exists", "location / { if (!-e $request_filename) { rewrite ^ # why\n/i.php last; } }"),
    ("swallowed-line", "location / { try_files $uri\nroot /srv; }"),
    ("swallowed-line", "location / { root /srv; index a.html\nroot /www; }"),
    ("alias-traversal", "location /i { alias /srv/i/; } location ^~ /i/ { return 200; }"),
    ("alias-traversal", "location /i { alias /srv/i/; location /ix { return 200; } }"),
    ("proxy-pass-traversal", "location /i { proxy_pass http://127.0.0.1/i/; } location /i/ { return 200; }"),
]


@every_row(("rule", "text"), NOT_FIXED)
def test_what_is_not_fixed(rule: str, text: str) -> None:
    """A finding whose fix might be wrong, or refused by nginx, has help and no fix."""
    diagnostics = diagnose(rule, text, context="server")
    assert diagnostics
    assert all(diagnostic.fix is None and diagnostic.finding.help for diagnostic in diagnostics[-1:])
    assert fixed(rule, text, context="server").decode() == text


@every_row(
    ("pattern", "safety"),
    [
        (r"^/(a)/.*", Safety.SAFE),
        (r"^/(?:a|b)/[^/x-z]\d.*", Safety.SAFE),
        (r".*\.php$", Safety.SAFE),
        (r".*\.(a|b)$", Safety.UNSAFE),
        (r".*\.a|b$", Safety.UNSAFE),
        ("^/a.*$", Safety.UNSAFE),
        ("^/(a+)+b.*", Safety.UNSAFE),
        (".*a.*b", Safety.UNSAFE),
        ("^/a{2}.*", Safety.UNSAFE),
        (r"^/a\cb.*", Safety.UNSAFE),
        (r"^/(?<x>a)/.*", Safety.UNSAFE),
        (r"^/(?=a)/.*", Safety.UNSAFE),
        ("^/[[:alpha:]]/.*", Safety.UNSAFE),
    ],
)
def test_idle_dots_are_safe_or_not(pattern: str, safety: Safety) -> None:
    """Removing `.*` is safe without repetition; not with `$`, before a group or next to an alternative."""
    (diagnostic,) = diagnose("unanchored-or-dotstar", f'rewrite "{pattern}" /x last;', context="server")
    assert diagnostic.fix is not None
    assert diagnostic.fix.safety == safety


def test_a_duplicate_with_groups_is_deleted_on_request() -> None:
    """A duplicate rule with groups may reset captures, so deleting it is unsafe."""
    rules = "rewrite ^/{0}$ /b last;\nrewrite ^/{0}$ /b last;"
    safeties = []
    for pattern in ("a", "(a)"):
        (diagnostic,) = diagnose("rewrite-duplicate", rules.format(pattern), context="server")
        assert diagnostic.fix is not None
        safeties.append(diagnostic.fix.safety)
    assert safeties == [Safety.SAFE, Safety.UNSAFE]


JIT = Safety.under(PCRE_LIBRARY, PLAIN_COMMAND_LINE)


@every_row(
    ("more", "safety"),
    [
        ("", JIT),
        ("rewrite ^/(x|y)+$ /z last;", Safety.UNSAFE),
        ("location ~ ^(/(a|b)*)x$ { }", Safety.UNSAFE),
        ("location / { fastcgi_split_path_info ^((?:/[a-z])+)(.*)$; }", Safety.UNSAFE),
        ("valid_referers ~(a|b)+c;", Safety.UNSAFE),
        ('server_name "~^(a|b){3,}$";', Safety.UNSAFE),
        ("location / { proxy_redirect ~^(a|b)* /; }", Safety.UNSAFE),
        ("location / { proxy_cookie_path ~(?1)(a) /; }", Safety.UNSAFE),
        ("if ($http_cookie ~ (a|b)++) { return 403; }", Safety.UNSAFE),
        ("include not-there.conf;", Safety.UNSAFE),
    ],
)
def test_pcre_jit_needs_premises(more: str, safety: Safety) -> None:
    """The fix assumes a sound library; a repeated group anywhere, in any pattern, makes it unsafe."""
    rules = "".join(f"rewrite ^/{n}/(x|y)$ /x{n} last;\n" for n in range(30))
    (diagnostic,) = diagnose("pcre-jit", rules + more, context="server")
    assert diagnostic.fix is not None
    assert diagnostic.fix.safety == safety


def test_pcre_jit_sees_the_patterns_of_maps_and_stream() -> None:
    """Patterns of maps and of the stream block count."""
    rules = "".join(f"rewrite ^/{n}/x$ /x{n} last;\n" for n in range(30))
    for more in ("} map $uri $x { ~^/(a|b)*$ 1; }", "} } stream { map $ssl_preread_server_name $x { ~(a|b)* 1; }"):
        text = f"events {{}} http {{ server {{ {rules} {more} }}"
        (diagnostic,) = diagnose("pcre-jit", text)
        assert diagnostic.fix is not None
        assert diagnostic.fix.safety == Safety.UNSAFE


def test_pcre_jit_reports_no_fragment() -> None:
    """A fragment is not reported: its main context is unknown."""
    text = "".join(f"rewrite ^/{n}(x)$ /x{n} last;\n" for n in range(30))
    assert judge("pcre-jit", load_text(text.encode(), "rules.conf", context="server")).diagnostics == ()


def test_a_name_of_two_servers_is_no_site() -> None:
    """Two servers with one name and port are not followed: the address decides which responds."""
    text = "server {\nserver_name a.b;\nrewrite ^/a$ http://a.b/b permanent;\nrewrite ^/b$ /c permanent;\n}\n"
    assert len(diagnose("redirect-chain", text, context="http")) == 1
    other = "server {\nlisten 127.0.0.2:80;\nserver_name a.b;\n}\n"
    assert diagnose("redirect-chain", text + other, context="http") == ()


def test_rules_of_folded_runs_are_reported() -> None:
    """Each flagged rule of a folded run is reported at its place."""
    rules = [f"rewrite ^/{n}$ /x{n} permanent;" for n in range(200)]
    rules[150] = "rewrite ^/a%20b$ /c permanent;"
    rules[160] = "rewrite ^/y$ /x/0 permanent;"
    rules[170] = "rewrite ^/x/0$ /z permanent;"
    text = "\n".join(rules)
    for rule, line in [("rewrite-never-matches", 151), ("redirect-chain", 161)]:
        (diagnostic,) = diagnose(rule, text, context="server")
        assert diagnostic.start.line == line + 3


def test_a_refused_rewrite_of_a_folded_run_is_an_error_with_its_place() -> None:
    """Every rule reports the same error for a rewrite of a folded run that nginx refuses."""
    rules = [f"rewrite ^/{n}$ /x{n} permanent;" for n in range(200)]
    rules[150] = "rewrite ^/a$ /b permanent c;"
    errors = {
        judge(rule, read("\n".join(rules), "server")).errors[0].render()
        for rule in ("rewrite-catchall", "rewrite-never-matches", "rewrite-duplicate")
    }
    (error,) = errors
    assert error.startswith("nginx.conf:154:1: nginx refuses this rewrite")
    assert 'invalid number of arguments in "rewrite" directive in nginx.conf:154' in error


@pytest.mark.parametrize("text", ["rewrite;", "rewrite a;", "return;", "rewrite ^ /b last more;"])
def test_redirects_that_nginx_refuses_break_no_rule(text: str) -> None:
    """A rewrite or return with too few or too many words is another rule's."""
    for rule in ("redirect-chain", "redirect-loop"):
        assert diagnose(rule, text, context="http") == ()


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("last", "/internal/internal/…/internal/internal/ is rewritten again and again in its location: nginx answers"
                 " 500 after 10 changes"),
        ("permanent", "a client that asks for / is redirected in a loop"),
    ],
)  # fmt: skip
def test_a_loop_of_growing_uris(flag: str, message: str) -> None:
    """A URI that doubles with each step is followed to nginx's limit, and shown with its middle cut out."""
    text = f"location / {{ rewrite ^/((.*))$ /internal/$1$2 {flag}; }}"
    (diagnostic,) = diagnose("redirect-loop", text, context="server")
    assert diagnostic.message == message
    assert all(len(note.message) <= 120 for note in diagnostic.finding.related)


def test_a_target_of_many_captures_is_not_followed_for_ever() -> None:
    """A URI that grows a thousandfold with each step is not followed until memory ends."""
    text = f"location / {{ rewrite ^/(.*)$ /x{'$1' * 1000} last; }}"
    assert len(diagnose("redirect-loop", text, context="server")) <= 1


def test_the_steps_of_a_loop_are_notes() -> None:
    """Each step, including the first, has a related place."""
    text = "rewrite ^/a$ /b permanent;\nrewrite ^/b$ /c permanent;\nrewrite ^/c$ /a permanent;"
    (diagnostic,) = diagnose("redirect-loop", text, context="server")
    assert diagnostic.message == "a client that asks for /a is redirected in a loop"
    notes = [note.message for note in diagnostic.finding.related]
    assert notes == ["/a is redirected to /b", "/b is redirected to /c", "/c is redirected to /a"]


@every_row(
    "pattern",
    [r"^/[0-9]{,3}/*.html$", r"^/\Q/*.html\E$", r"^/a(?>//)b$", r"^old{1, 3}$", r"^/\p{Greek}//x$", r"^(?>/a%20b)$"],
)
def test_patterns_that_pcre_versions_read_differently_are_not_reported(pattern: str) -> None:
    """A pattern that PCRE versions read differently is not reported as never matching or as shadowing."""
    rules = (pattern, pattern.replace("$", ""), "^/id/42$")
    text = "".join(f'rewrite "{rule}" /to permanent;\n' for rule in rules)
    for name in ("rewrite-never-matches", "rewrite-shadowed", "redirect-chain", "redirect-loop"):
        assert diagnose(name, text, context="server") == ()


@pytest.mark.parametrize(("target", "expected"), [("1.22.1", 1), ("1.28.0", 0)])
def test_a_redirect_to_itself_by_ssl_on(target: str, expected: int) -> None:
    """`ssl on` makes each request one over TLS, until nginx 1.25.1 no longer knows it."""
    text = "listen 443; ssl on; server_name a; rewrite ^(.*) https://$host$1 permanent;"
    assert len(diagnose("redirect-loop", text, context="server", target=target)) == expected
