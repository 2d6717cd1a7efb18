"""What nginx does with the words of a configuration, and which configurations it refuses.

`CONFIGURATIONS` is a table: a sentence that is claimed, a configuration, and what `nginx -t` says.
"""

from __future__ import annotations

import pytest

from nginxopt.rewrite.kinds.rules.differential import differential
from nginxopt.rewrite.kinds.rules.reading import Phase
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.nginx.experiments import say

pytestmark = pytest.mark.nginx

OK = ""  # nothing is said


NOT_ALLOWED = '"{}" directive is not allowed here'


LONG = "k" * 60


MANY_KEYS = " ".join(f"/k{number} v;" for number in range(5000))


# Claim -> (http part, server part, what nginx -t says).
CONFIGURATIONS = {
    "rewrite is refused in http": ("rewrite ^/a$ /b;", "", NOT_ALLOWED.format("rewrite")),
    "return is refused in http": ("return 301 /;", "", NOT_ALLOWED.format("return")),
    "set is refused in http": ("set $a b;", "", NOT_ALLOWED.format("set")),
    "if is refused in http": ("if ($uri) { }", "", NOT_ALLOWED.format("if")),
    "map is refused in server": ("", "map $uri $m { }", NOT_ALLOWED.format("map")),
    "map_hash_max_size is refused in server": (
        "",
        "map_hash_max_size 64;",
        NOT_ALLOWED.format("map_hash_max_size"),
    ),
    "if is refused in if": ("", "if ($uri) { if ($args) { } }", NOT_ALLOWED.format("if")),
    "map is refused in if": ("", "if ($uri) { map $uri $m { } }", NOT_ALLOWED.format("map")),
    "rewrite in if in server": ("", "if ($uri) { rewrite ^/a$ /b; }", OK),
    "rewrite in if in location": ("", "location / { if ($uri) { rewrite ^/a$ /b; } }", OK),
    "a flag in another case is refused": ("", "rewrite ^/a$ /b Permanent;", 'invalid parameter "Permanent"'),
    "keys that differ in case conflict": (
        "map $uri $m { /About 1; /about 2; }",
        "",
        'conflicting parameter "/about"',
    ),
    "a key twice conflicts": ("map $uri $m { /a 1; /a 1; }", "", 'conflicting parameter "/a"'),
    "one variable in two maps is silently accepted": ("map $uri $m { /a 1; } map $uri $m { /b 2; }", "", OK),
    "map_hash_max_size twice is refused": (
        "map_hash_max_size 4096; map_hash_max_size 4096;",
        "",
        '"map_hash_max_size" directive is duplicate',
    ),
    "map_hash_max_size after a map is refused": (
        "map $uri $m { /a b; } map_hash_max_size 4096;",
        "",
        '"map_hash_max_size" directive is duplicate',
    ),
    "map_hash_bucket_size after a map is refused": (
        "map $uri $m { /a b; } map_hash_bucket_size 128;",
        "",
        '"map_hash_bucket_size" directive is duplicate',
    ),
    "too long a key for the bucket is refused": (
        f"map $uri $m {{ /{LONG} v; }}",
        "",
        "could not build map_hash, you should increase map_hash_bucket_size: 64",
    ),
    "a key that just fits the bucket": (f"map $uri $m {{ /{LONG[:45]} v; }}", "", OK),
    "too small a table only warns": (
        f"map $uri $m {{ {MANY_KEYS} }}",
        "",
        "could not build optimal map_hash, you should increase either",
    ),
    "a `$` in a map value is a variable": (
        'map $uri $m { "/us$/a" "/us$/A"; }',
        "",
        "invalid variable name",
    ),
    "$1 in a target without groups is accepted": ("", "rewrite ^/a$ /b$1;", OK),
    "a variable that nothing defines is refused": (
        "",
        "rewrite ^/a$ /b$nothing;",
        'unknown "nothing" variable',
    ),
    "an unquoted { ends a token": ("", "rewrite ^/a{2}$ /b;", '"rewrite" is not terminated by ";"'),
    "a token of 4094 bytes": (f'map $uri $m {{ "/a" "{4093 * "v"}"; }}', "", OK),
    "a token beyond the buffer is refused": (
        f'map $uri $m {{ "/a" "{5000 * "v"}"; }}',
        "",
        "too long parameter",
    ),
}


@pytest.mark.parametrize("claim", CONFIGURATIONS)
def test_configuration(binary: nginx.Binary, claim: str) -> None:
    """`nginx -t` accepts, warns or refuses as claimed."""
    http, server, message = CONFIGURATIONS[claim]
    verdict = binary.test(nginx.configuration([server.encode()], http=http.encode()))
    assert message in str(verdict)
    assert verdict.ok == (message == OK or "optimal" in message)
    assert ("[warn]" in str(verdict)) == ("optimal" in message)


def test_tokens(binary: nginx.Binary) -> None:
    r"""In a token, quoted or not, \" \' \\ \t \r \n are unescaped, other backslashes and inner # stay."""
    written = {
        r'"a\"b"': 'a"b',
        r"'a\"b'": 'a"b',
        r"a\'b": "a'b",
        r"a\tb": "a\tb",
        r'"a\nb"': "a\nb",
        r"a\\\\b": r"a\\b",
        r"a\.b": r"a\.b",
        r'"a\.b"': r"a\.b",
        "a#b": "a#b",
        '"a b"': "a b",
    }
    servers = [f"return 200 {text};".encode() for text in written]
    with nginx.Instance(binary, servers=servers) as instance:
        for index, read in enumerate(written.values()):
            with instance.client(index) as client:
                (answer,) = client.ask([RequestBytes(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")])
            assert answer.decode().partition("\r\n\r\n")[2] == read


@pytest.mark.parametrize(
    ("request_head", "by_rewrite", "by_return"),
    [
        (
            "POST /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n{}\r\nab",
            b"HTTP/1.1 301",
            b"HTTP/1.1 100",
        ),
        ("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{}\r\nzz\r\n", b"HTTP/1.1 301", b"HTTP/1.1 400"),
    ],
    ids=["a body that waits for a 100", "a malformed chunked body"],
)
def test_return_reads_the_body(binary: nginx.Binary, request_head: str, by_rewrite: bytes, by_return: bytes) -> None:
    """`return` deals with the request's body where the redirect of a rewrite does not."""
    data = request_head.format("Host: a.test\r\nConnection: close\r\n").encode()
    servers = [b"rewrite ^ https://e.com/ permanent;", b"return 301 https://e.com/;"]
    with nginx.Instance(binary, servers=servers) as instance:
        for index, start in enumerate((by_rewrite, by_return)):
            (answer,) = instance.client(index).ask([RequestBytes(data, alone=True)])
            assert answer.startswith(start)


def test_return_does_not_decode(binary: nginx.Binary) -> None:
    """A rewrite decodes %XX in its target and in the client's Host, `return` decodes neither."""
    servers = [b"rewrite ^ https://$http_host/%41 permanent;", b"return 301 https://$http_host/%41;"]
    request = RequestBytes(b"GET / HTTP/1.1\r\nHost: H%41x.test\r\n\r\n")
    with (
        nginx.Instance(binary, servers=servers) as instance,
        instance.client(0) as by_rewrite,
        instance.client(1) as by_return,
    ):
        answers = [say(client.ask([request])[0], 0) for client in (by_rewrite, by_return)]
    assert answers == ["301 https://HAx.test/A", "301 https://H%41x.test/%41"]


CLASSES = b"""
rewrite ^/one$ https://$http_host/1 permanent;
rewrite ^/two$ /2?own=1 redirect;
rewrite ^/three$ /3?own=%41? permanent;
rewrite ^/four$ /elsewhere last;
rewrite ^/five$ /one last;
"""


# URI -> class, path, own arguments.
CLASSIFIED = {
    "/one": ("1", "/1", ""),
    "/two": ("2", "/2", "own=1"),
    "/three": ("3", "/3", "own=%41"),
    "/four": ("4", "/elsewhere", ""),
    "/five": ("4", "/one", ""),
}


def column(variable: str, values: dict[str, str]) -> str:
    """A volatile map of $uri, with the twins for a final newline."""
    entries = (f'"{key}" "{value}"; "{key}\\n" "{value}";' for key, value in values.items())
    return f"map $uri {variable} {{ volatile; {' '.join(entries)} }}\n"


def classified() -> bytes:
    """The maps of the class form: guard, class, path and arguments."""
    guard = "".join(f'"{key}" "{key}"; "{key}\\n" "{key}\\n"; ' for key in CLASSIFIED)
    names = ("$id", "$p", "$a")
    columns = (column(name, {key: row[at] for key, row in CLASSIFIED.items()}) for at, name in enumerate(names))
    return f"map_hash_bucket_size 128;\nmap $uri $k {{ volatile; {guard}}}\n{''.join(columns)}".encode()


BLOCKS = b"""
if ($c = 1) { rewrite ^ https://$http_host$p permanent; }
if ($c = 2) { rewrite ^ $p?$a redirect; }
if ($c = 3) { rewrite ^ $p?$a? permanent; }
if ($c = 4) { rewrite ^ $p last; }
rewrite ^a(?!) /;
"""


@pytest.mark.parametrize("phase", ["server", "location"])
@pytest.mark.parametrize("start", [b'set $c ""; ', b""], ids=["with the class cleared", "with the class left"])
def test_one_guard_with_a_class(binary: nginx.Binary, phase: Phase, start: bytes) -> None:
    """One guard that sets a class answers as a guard a class does, if the class is cleared before it.

    Not cleared, the class of `/four` is still set when the rules run again for its target, and they answer
    once more: at server level in an internal redirect (error_page), in a location with every `last`.
    """
    comparison = differential(
        before=CLASSES,
        after=start + b"if ($k = $uri) { set $c $id; }" + BLOCKS,
        maps=classified(),
        phase=phase,
        keys=[key.encode() for key in CLASSIFIED],
        binary=binary,
    )
    assert comparison.requests > 500
    assert comparison.ok == bool(start), str(comparison.mismatches[:2])
