"""Draws hostile configurations: folders with a `nginx.conf` and whatever it reads."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import re
import socket
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from nginxopt.ingress.annotations import known

Texts = dict[str, bytes]
"""Files by their names in the folder."""

_SITE = b"events {}\nhttp {\n    server {\n        listen 80;\n        server_name a.test;\n%s\n    }\n}\n"
_STATEMENTS = (
    b"rewrite ^/a(.*)$ /b$1 last;",
    b"rewrite ^/old/(\\d+)$ /new/$1 permanent;",
    b'set $a "$a$a$a$a";',
    b"if ($uri ~ ^/x) { return 301 /y; }",
    b"location /a { proxy_pass http://127.0.0.1:1; }",
    b"location ~ ^/(a+)+$ { return 404; }",
    b"try_files $uri /index.html;",
    b"add_header X y;",
    b"return 301 $scheme://$host$request_uri;",
    b"error_page 404 = /404;",
    b"access_log off;",
    b"ssi on;",
)
_WEIRD = (
    b"\0",
    b"\r",
    b"\n",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\x1b[2J",
    b'"',
    b"'",
    b"\\",
    b"{",
    b"}",
    b";",
    b"#",
    b"$",
)
_TAGS = (
    (b"{% if a %}", b"{% endif %}"),
    (b"{% for a in b %}", b"{% endfor %}"),
    (b"<% if a %>", b"<% end %>"),
    (b"<% a.each do |b| %>", b"<% end %>"),
    (b"{{ if .A }}", b"{{ end }}"),
    (b"{{ range .A }}", b"{{ end }}"),
    (b"{{#each a}}", b"{{/each}}"),
)


def _size(rng: random.Random, small: int, large: int, huge: int) -> int:
    """Return a size, which is seldom huge, as that takes most of the time."""
    return rng.choices((small, large, huge), (70, 24, 6))[0]


def _site(rng: random.Random) -> Texts:
    body = b"\n".join(rng.choices(_STATEMENTS, k=rng.randint(0, 30)))
    return {"nginx.conf": _SITE % body}


def _noise(rng: random.Random) -> Texts:
    """A site with bytes put in anywhere, cut off, or repeated."""
    text = _site(rng)["nginx.conf"]
    for _ in range(rng.randint(1, 12)):
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(_WEIRD) * rng.choice((1, 1, 1, 3, 5_000)) + text[at + rng.randint(0, 3) :]
    return {"nginx.conf": text[: rng.randint(1, len(text))] if rng.random() < 0.3 else text}


def _nested(rng: random.Random) -> Texts:
    depth = _size(rng, rng.choice((5, 20)), rng.choice((150, 199, 200, 201)), 100_000)
    name = rng.choice((b"a", b"location /a", b"if ($a)", b"server", b"http", b"map $a $b", b"types"))
    close = b"}" * (depth - rng.choice((0, 0, 0, 1, -1)))
    inside = rng.choice((b"", *_STATEMENTS))
    if rng.random() < 0.5:
        return {"nginx.conf": (name + b" {") * depth + inside + close}
    return {"nginx.conf": _SITE % ((name + b" {") * min(depth, 180) + inside + b"}" * min(depth, 180))}


def _many(rng: random.Random) -> Texts:
    count = _size(rng, 50, 1_000, 20_000)
    kind = rng.randrange(6)
    if kind == 0:
        return {"nginx.conf": _SITE % b"\n".join(b"if ($a = %d) { return 301 /%d; }" % (n, n) for n in range(count))}
    if kind == 1:
        servers = b"".join(b"server { listen 80; server_name a; }\n" for _ in range(count))
        return {"nginx.conf": b"events {}\nhttp {\n" + servers + b"}\n"}
    if kind == 2:
        rows = b"".join(b"/old/%d /new/%d;\n" % (n, n) for n in range(count))
        return {"nginx.conf": b"events {}\nhttp { map $uri $x {\n" + rows + b"} server { return 301 $x; } }\n"}
    if kind == 3:
        return {"nginx.conf": _SITE % b"\n".join(b"location /%d { return 200; }" % n for n in range(count))}
    if kind == 4:
        return {"nginx.conf": _SITE % b"\n".join(b"rewrite ^/%d(.*)$ /n%d$1 last;" % (n, n) for n in range(count))}
    return {"nginx.conf": _SITE % b"\n".join(b'set $a%d "$a%d$a%d";' % (n + 1, n, n) for n in range(min(count, 300)))}


def _including(rng: random.Random) -> Texts:
    levels = _size(rng, rng.choice((1, 2, 6)), 22, 300)
    line = rng.choice((b"include %d.conf;", b"location /%d { include %d.conf; }", b"if ($a) { include %d.conf; }"))
    times = rng.choice((1, 2, 2, 3))
    texts = {}
    for level in range(levels):
        one = line.replace(b"%d", str(level + 1).encode())
        texts[f"{level}.conf"] = b"\n".join([one] * times) + b"\n"
    if rng.random() < 0.2:
        texts[f"{levels}.conf"] = b"include 0.conf;\n"
    else:
        texts[f"{levels}.conf"] = rng.choice((b"", b"add_header X y;\n", b"{", b"\xff"))
    return {**texts, "nginx.conf": _SITE % b"include 0.conf;"}


def _reading(rng: random.Random) -> Texts:
    names = (
        *(
            "/dev/zero",
            "/dev/tty",
            "/dev/null",
            "/dev/random",
            "/dev/stdin",
            "/proc/self/environ",
            "/proc/kmsg",
            "/etc",
        ),
        *("/*/*/*/*/*/*", "/proc/*/maps", "**", "*", "[", "*[!a]*", "pipe", "socket", "loop", "huge", "folder", ".."),
        *("x" * 5_000, "a" * 300, "$a", "\x1b]0;x\x07", "${a}", "~", "//", "nginx.conf", "huge*", "folder/*/*"),
    )
    lines = [b"include %s;" % os.fsencode(rng.choice(names)) for _ in range(rng.randint(1, 4))]
    return {"nginx.conf": b"\n".join(lines) + b"\n" + _SITE % b""}


def _template(rng: random.Random) -> Texts:
    opening, closing = rng.choice(_TAGS)
    depth = _size(rng, rng.choice((1, 5)), rng.choice((99, 101)), 1_200)
    inside = rng.choice((b"listen {{ port }};", b"{{ extra }}\n", b"root <%= root %>;", b"", b"${NAME}\n", b"@A@ b;"))
    kind = rng.randrange(4)
    if kind == 0:
        body = (opening + b"\n") * depth + inside + b"\n" + (closing + b"\n") * (depth - rng.choice((0, 0, 1)))
    elif kind == 1:
        body = (opening + inside + closing) * depth
    elif kind == 2:
        body = (opening + inside + closing + b"\n") * depth
    else:
        body = rng.choice((b"{#", b"{{", b"{%", b"<%", b"${A", b"__A", b"@A", b"{{{", b"<?php ")) * rng.choice(
            (1, 90_000)
        )
    return {"nginx.conf": _SITE % body if rng.random() < 0.8 else body}


def _choices(rng: random.Random) -> Texts:
    """A template with many choices, of which each has a reading."""
    count = _size(rng, rng.choice((3, 20)), rng.choice((150, 400)), rng.choice((1_000, 5_000)))
    opening, closing = rng.choice(_TAGS)
    inside = rng.choice(
        (
            b"add_header X y;",
            b"location /%d { return 200 x{{ a }}; }",
            b"server_name {{ a }}%d b%d;",
            b"",
            b"{% elif b%d %}add_header X y;",
            b"set $a%d {{ b }};",
        )
    )
    lines = (opening + inside.replace(b"%d", b"%d" % number) + closing for number in range(count))
    return {"nginx.conf": _SITE % rng.choice((b"", b"\n")).join(lines)}


def _conflicting(rng: random.Random) -> Texts:
    """Servers on the same addresses with parameters that exclude each other, and numbers beyond any type."""
    numbers = (
        b"0",
        b"-1",
        b"65536",
        b"4294967296",
        b"9" * 30,
        b"9" * 5_000,
        b"1e9",
        b"0x10",
        b"1k",
        b"9223372036854775807g",
    )
    addresses = (b"80", b"*:80", b"0.0.0.0:80", b"[::]:80", b"127.0.0.1:80", b"unix:/a", b"1.2.3.4", b"a.test", b"[::1")
    parameters = (
        b"default_server",
        b"ssl",
        b"http2",
        b"quic",
        b"reuseport",
        b"backlog=%s",
        b"rcvbuf=%s",
        b"ipv6only=on",
    )
    sized = (
        b"client_max_body_size %s;",
        b"keepalive_timeout %s;",
        b"limit_rate %s;",
        b"expires %s;",
        b"error_page %s /a;",
        b"return %s /a;",
        b"types_hash_max_size %s;",
        b"map_hash_bucket_size %s;",
        b"if ($a ~ a{%s}) { return 200; }",
    )
    servers = []
    for _ in range(_size(rng, 3, 60, 1_000)):
        listens = b"".join(
            b"listen %s %s;" % (rng.choice(addresses), b" ".join(rng.sample(parameters, rng.randint(0, 3))))
            for _ in range(rng.randint(0, 4))
        )
        names = b"server_name " + rng.choice((b"a.test", b"*.test", b"~(", b"~^(?<a>.)", b"a.test a.test", b"")) + b";"
        servers.append(b"server {" + listens + names + b"".join(rng.sample(sized, rng.randint(0, 4))) + b"}")
    text = b"events {}\nhttp {\n" + b"\n".join(servers) + b"\n}\n"
    return {"nginx.conf": re.sub(rb"%s", lambda _: rng.choice(numbers), text)}


def _long(rng: random.Random) -> Texts:
    size = _size(rng, rng.choice((50, 4_095, 4_096, 4_097)), 100_000, 3_000_000)
    word = rng.choice((b"a", b"$a", b"(a", b"[a", b"a|", b"\\", b"a*", b"(?:", b"\xff", b"{1,9}"))
    value = (word * size)[:size]
    quote = rng.choice((b"", b'"', b"'"))
    line = rng.choice((b"rewrite %s /a;", b"set $a %s;", b"server_name %s;", b"if ($uri ~ %s) { }", b"# %s", b"%s"))
    return {"nginx.conf": _SITE % line.replace(b"%s", quote + value + quote)}


def _lua(rng: random.Random) -> Texts:
    body = rng.choice((b"if a then", b"'", b'"', b"[==[", b"--[[", b"{{{{", b"}}}}", b"{" * 5_000, b"-- }\n", b"\\"))
    end = rng.choice((b"}", b"", b"}}"))
    return {"nginx.conf": _SITE % (b"content_by_lua_block {" + body + end)}


def _patterns(rng: random.Random) -> Texts:
    pattern = b"".join(
        rng.choice(
            (b"(", b")", b"a", b"+", b"*", b"?", b"|", b"[a-z]", b"(?:", b"\\d", b"{1,99}", b"^", b"$", b".", b"(?<a>")
        )
        for _ in range(rng.randint(1, 60))
    )
    text = b'rewrite "%s" /x$1 last;\nlocation ~ "%s" { return 200; }\nif ($uri ~* "%s") { return 302 /%s; }'
    return {"nginx.conf": _SITE % text.replace(b"%s", pattern)}


KINDS: dict[str, Callable[[random.Random], Texts]] = {
    "site": _site,
    "noise": _noise,
    "nested": _nested,
    "many": _many,
    "including": _including,
    "reading": _reading,
    "template": _template,
    "choices": _choices,
    "conflicting": _conflicting,
    "long": _long,
    "lua": _lua,
    "patterns": _patterns,
}


def write(rng: random.Random, kind: str, folder: Path) -> None:
    """Write a configuration of a kind, and things that are no files, into a folder."""
    for name, text in KINDS[kind](rng).items():
        (folder / name).write_bytes(text)
    if kind == "reading":
        os.mkfifo(folder / "pipe")
        (folder / "loop").symlink_to("loop")
        (folder / "folder").mkdir()
        (folder / "folder" / "up").symlink_to("..")
        with (folder / "huge").open("wb") as file:
            file.truncate(10 * 1024**3)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(folder / "socket"))


def archive(rng: random.Random, folder: Path, path: Path) -> None:
    """Write an archive of the folder as a host, with links and members that unpack to much."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in folder.iterdir():
                if file.is_file() and file.name != "huge":
                    packed.write(file, f"host/{file.name}")
            if rng.random() < 0.3:
                packed.writestr("bomb/nginx.conf", bytes(100_000_000))
        return
    with tarfile.open(path, "w:gz", compresslevel=1) as packed:
        for file in folder.iterdir():
            if file.name != "huge":
                packed.add(file, f"host/{file.name}", recursive=False)
        for number in range(rng.choice((0, 0, 3, 30))):
            for name in "xy":
                link = tarfile.TarInfo(f"host/d{number}/{name}")
                link.type, link.linkname = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE)), f"../d{number + 1}"
                packed.addfile(link)
        if rng.random() < 0.3:
            bomb = tarfile.TarInfo("bomb/nginx.conf")
            bomb.size = 100_000_000
            packed.addfile(bomb, io.BytesIO(bytes(bomb.size)))


_NUMBERS = (
    "",
    "0",
    "-1",
    "9" * 30,
    "9" * 5_000,
    "1:" * 50_000 + "1",
    "0x" + "f" * 5_000,
    "1e999",
    "2001-99-99",
    ".inf",
)


def manifests(rng: random.Random, text: bytes) -> bytes:
    """Return manifests with an Ingress that has a configuration as its snippets, and YAML that stands for much."""
    snippet = text.decode("latin-1")
    values = (
        snippet,
        *_NUMBERS,
        "true",
        "http://[a",
        "A" * 100 + "!",
        "a,b" * 5_000,
        "~^(a+)+$",
        "\x1b[2J",
        "$a",
        "/a",
    )
    names = rng.sample(sorted(known()), rng.randint(0, 12))
    annotations = {f"nginx.ingress.kubernetes.io/{name}": rng.choice(values) for name in names}
    backend = {"service": {"name": "s", "port": {"number": rng.choice((80, -1, 10**30, "http"))}}}
    paths = ("/", "/a", "/A\x1b", "/" + "x" * 5_000, "/(a+)+$", '/";', "/$1", "a")
    rules = [
        {
            "host": rng.choice((f"h{number}.test", "*.test", "a.test", "")),
            "http": {"paths": [{"path": rng.choice(paths), "pathType": "Prefix", "backend": backend}]},
        }
        for number in range(_size(rng, 2, 100, 3_000))
    ]
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "a", "annotations": annotations},
        "spec": {"rules": rules, "tls": [{"hosts": ["a.test"], "secretName": "b"}]},
    }
    document = json.dumps(ingress)
    levels = _size(rng, 2, 12, 40)
    inside = rng.choice(("[%s, %s]", "{<<: [%s, %s]}", "{kind: List, items: [%s, %s]}", "{a: %s, b: %s}"))
    lines = [f"x{n}: &x{n} {inside % (f'*x{n - 1}', f'*x{n - 1}')}" for n in range(1, levels)]
    bomb = "\n".join(["x0: &x0 {a: 1}", *lines, f"{rng.choice(('kind', 'metadata', 'items', 'spec'))}: *x{levels - 1}"])
    odd = (
        *(rng.choice("[{-?&*!|>%") * rng.choice((1, 1_000, 100_000)), f"a: {rng.choice(_NUMBERS)}", "&a [*a]"),
        *("!!int a", "!!timestamp a", "!!python/object:a b", "? [a]\n: b", "a: {{ b }}", snippet[:2_000], bomb, bomb),
    )
    parts = [document, *rng.choices(odd, k=rng.choice((0, 1, 1, 2)))]
    rng.shuffle(parts)
    return "\n---\n".join(parts).encode("utf-8", "surrogatepass")


def access_log(rng: random.Random) -> bytes:
    """Return an access log with lines that are odd, long or broken."""
    targets = (
        b"/",
        b"/a/b?c=d",
        b"/old/1",
        b"/" + b"x" * 8_000,
        b"/%00",
        b"/\\x1b[2J",
        b"*",
        b"http://[::1",
        b"",
        b"/a b",
    )
    rests = (b" HTTP/1.1", b" HTTP/2.0", b"", b" HTTP/" + b"9" * 5_000, b" x y")
    lines = []
    for number in range(_size(rng, 20, 2_000, 100_000)):
        request = b"GET " + rng.choice(targets) + rng.choice(rests)
        client = b"1.2.%d.%d" % (number >> 8 & 255, number & 255)
        lines.append(
            client + b' - - [01/Jan/2025:00:00:00 +0000] "%s" %d 1 "-" "-"' % (request, rng.choice((200, 404, 0)))
        )
    odd = (b'{"log":' + b"[" * 100_000, b"\0" * 5_000, b'"' * 5_000, b"\xff\xfe", b"- " * 50_000, b"")
    for _ in range(rng.randint(0, 3)):
        lines.insert(rng.randint(0, len(lines)), rng.choice(odd))
    text = b"\n".join(lines) + rng.choice((b"\n", b""))
    packed = gzip.compress(text, 1)
    return rng.choice((text, text, packed, packed[: len(packed) // 2], packed + gzip.compress(bytes(50_000_000), 1)))
