"""What generated sites and requests are made of: paths, patterns with what they match, names, values."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import TypeVar

from tests.fuzz.nodes import Node

T = TypeVar("T")

PREFIXES = (
    "/", "/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/ab", "/b", "/b/", "/d", "/d/", "/d/sub/", "/e/", "/A", "/x y/",
    "/f.txt", "/p/", "/q", "/q/", "/x.html", "/z/", "/z", "/i/", "/50x", "/é", "/err/",
)  # fmt: skip
PATTERNS: Sequence[tuple[str, Sequence[str]]] = (
    (r"^/a(.*)$", ("/a", "/abc", "/a/x")),
    (r"\.txt$", ("/f.txt", "/d/g.txt", "/nx.txt")),
    (r"\.(html|php)$", ("/x.html", "/p/index.php", "/nx.php")),
    (r"^/(a|b)/(.*)$", ("/a/f.txt", "/b/", "/a/q/r")),
    (r"^/([a-z]+)/([a-z.]+)$", ("/a/f.txt", "/d/sub", "/zz/y")),
    (r"b", ("/b", "/ab", "/a/b/c", "/b%62")),
    (r"^/d/(?<NAME>.*)$", ("/d/g.txt", "/d/", "/d/sub/f.txt")),
    (r"/$", ("/", "/d/", "/a/b/", "/nodir/")),
    (r"^/q(\d+)", ("/q1", "/q23/x", "/q")),
    (r"^/(?:x|y)", ("/x.html", "/y", "/x y/")),
    (r"^/A", ("/A", "/a")),
    (r"^(.+)/index\.html$", ("/d/index.html", "/index.html")),
    (r"^/$", ("/", "/%0a")),
    (r"^", ("/", "/nx")),
    (r"^/a.b$", ("/a.b", "/a/b", "/a%0ab", "/a+b")),
    (r"^/(p|z)(/.*)?$", ("/p", "/z/", "/p/q")),
    (r"(\w+)\.(\w+)$", ("/f.txt", "/a/b.c")),
    (r"/a", ("/a/b", "/b/a/b", "/a")),
    (r"/d/", ("/d/", "/d/sub/", "/d/g.txt")),
    (r"^/((?!a)\w+)/?(.*)$", ("/b/f.txt", "/a/f.txt", "/q1")),
    (r"(?i)^/F\.(t[a-x]t)$", ("/f.txt", "/F.TXT", "/f.tat")),
    (r"^/(\w)(?:/.*)?\1$", ("/a/fa", "/ff", "/d/g.txd", "/a/fA")),
    (r"^/(?:(a)|b)(/\w)?\1", ("/a/fa", "/aa", "/ba", "/b/x")),
    (r"^/([^/]*)/([^/]*)/?([^/]*)$", ("/a/b/c", "/d/sub/", "/x y/z")),
    (r"[^\x20-\x7e]", ("/é", "/aéb")),
    (r"^/(a)?(b)?(c)?", ("/b", "/ac", "/abc", "/x")),
    (r"\s", ("/a b.txt", "/x y/", "/a\n")),
    (r"^/.{4,6}$", ("/abcd", "/f.txt", "/index.txt")),
    (r"(?<NAME>[a-z]+)$", ("/f.txt", "/a/b", "/q1")),
    (r"^(/d)(/.*|)$", ("/d", "/d/g.txt", "/dx")),
    (r"\.(?:html|txt)$", ("/x.html", "/a/f.txt")),
    (r"\/z\/", ("/z/", "/z/only.txt")),
    (r"^/%20", ("/%20", "/ ")),
)
"""Patterns and URIs that try them; NAME is a name of the site's own."""

PATHS = (
    "/", "/f.txt", "/x.html", "/a b.txt", "/d", "/d/", "/d/g.txt", "/d/sub", "/d/sub/", "/x y", "/x y/", "/a/f.txt",
    "/a/fb.html", "/b/", "/b", "/e", "/e/", "/z/", "/z/only.txt", "/p/", "/p/index.php", "/nx", "/nx/", "/0",
    "/index.txt",
    "/err/404.html", "/maint", "/F.TXT", "/d.html", "/a%2f.txt", "/q?x.txt", "/sub/f.txt", "/fb.html", "/50.x",
)  # fmt: skip
"""Decoded URIs: files and folders of the tree, and others."""

TARGETS = (
    "/f.txt",
    "/x.html",
    "/d/",
    "/d",
    "/nx",
    "/a/",
    "/b/",
    "/q1",
    "/z/only.txt",
    "/p/",
    "/a/b/c",
    "/index.txt",
    "/e",
)
HOSTS = ("a.test", "b.test", "www.a.test", "x.b.test", "q.org", "www.q.org", "zz", "a.b.test", "n1.re", "test")
NAMES = (
    "a.test", "b.test", ".a.test", "*.b.test", "www.*", "www.a.*", ".b.test", "q.org", '""', "_", "a.test.", "*.test",
    '"~^(?<NAME>.+)\\.re$"', "~a", "~^www", "~^(.+)\\.test$", "A.test", "x.b.test",
)  # fmt: skip
VARIABLES = (
    "$uri", "$uri", "$args", "$arg_a", "$arg_v", "$request_uri", "$host", "$http_host", "$server_name", "$server_port",
    "$scheme", "$request_method", "$1", "$1", "$2", "$is_args", "$document_uri", "$query_string", "$document_root",
    "$request_filename", "$http_x_a", "$cookie_c", "$remote_addr", "$server_addr", "$server_protocol", "$https",
    "$request",
    "$content_length", "$http_referer", "$http_user_agent", "$realpath_root", "$nginx_version",
    "$fastcgi_script_name", "$fastcgi_path_info",
)  # fmt: skip
VALUES = ("", "0", "1", "a", "A", "00", "%20", "/f.txt", "b/c", "x&v=1", "d", "a b", "no", "//x", "..", "q;r")
CODES = (
    200,
    200,
    204,
    301,
    302,
    303,
    304,
    307,
    308,
    400,
    401,
    403,
    404,
    404,
    404,
    405,
    410,
    418,
    444,
    500,
    502,
    503,
    599,
)


def d(*words: str) -> Node:
    """Return a simple directive; words are quoted where they must be."""
    return Node(" ".join((words[0], *map(quoted, words[1:]))).encode())


def b(*words: str, inner: Sequence[Node] = ()) -> Node:
    """Return a block."""
    return Node(d(*words).head, list(inner))


def condition(text: str, inner: Sequence[Node]) -> Node:
    """Return an `if`."""
    return Node(f"if ({text})".encode(), list(inner))


def quoted(word: str) -> str:
    """Return a word with quotes where it needs them."""
    if word[:1] in ("'", '"') or not re.search(r"[\s;{}#\"'\\]|^$", re.sub(r"\$\{\w+\}|^\{\w+\}$", "", word)):
        return word
    return f"'{word}'" if '"' in word else f'"{word}"'


def chance(draw: random.Random, odds: float) -> bool:
    """Return True that often."""
    return draw.random() < odds


def some(draw: random.Random, options: Sequence[T], most: int) -> list[T]:
    """Return up to `most` of the options."""
    return [draw.choice(options) for _ in range(draw.randint(0, most))]
