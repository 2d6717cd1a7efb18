"""`unshare -n -m python -m tests.fuzz.refusals --corpus DIR`: nginx and `check` refuse the same mutants.

Takes configurations of a folder, makes them independent of the machine (files, hosts, users, modules), until nginx
accepts them, makes one mistake in each, and asks both: words are replaced, removed, added, doubled and swapped,
directives are moved, doubled, removed and taken from other files, semicolons and braces are lost. Differences are
printed by nginx's message. What depends on more than the text is counted by its class.

nginx runs unconfined, so call it in namespaces of its own, in which it binds what it likes.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt.config import Config, Directive, has_placeholder, load_text
from nginxopt.errors import InputError
from nginxopt.semantics import levels
from nginxopt.semantics.refusals import Refusal, before, first, refusals
from nginxopt.system import nginx
from nginxopt.version import Version

_WORDS = (
    "", "0", "1", "-1", "1k", "1m", "1g", "10s", "1y", "5ms", "on", "off", "ON", "x", "$uri", "$nosuch", "$", "${uri",
    "${uri}x", "$1", "99999999999999999999", "65535", "65536", "200", "404", "999", "1000", "=404", "=", "@a", "/a",
    "~(", "~", "~*", "^~", "!~", "-f", "*", "*.a", ".a", "a..b", "a.*", "all", "10.0.0.0/33", "10.0.0.0/8", "::1",
    "[::1]:80", "127.0.0.1:99999", "http://127.0.0.1", "http://127.0.0.1/", "https://127.0.0.1", "http://u:1/x",
    "127.0.0.1:8080", "default", "default_server", "ssl", "backup", "down", "shared:a:1m", "zone=a:1m", "zone=a",
    "rate=1r/s", "burst=0", "burst=5", "nodelay", "weight=0", "weight=2", "max_fails=x", "always", "permanent",
    "redirect", "last", "break", "main", "combined", "unix:", "unix:/a", "if=$uri", "levels=1:2", "levels=3",
    "keys_zone=a:1m", "inactive=1x", "max_size=1z", "1h30m", "30m1h", "1M", "1d12h", "1.5", "0x10", "+5", "1 0",
    "modified", "epoch", "@15h", "GET", "any", "none", "blocked", "8k", "8 8k", "4 1k", "syslog:server=127.0.0.1",
    "buffer=1k", "gzip", "flush=1s", "auto", "crit", "debug", "utf-8",
)  # fmt: skip

_OF_MORE = {
    "hosts": r"host not found|could not be resolved",
    "files": r"(open|stat|mkdir|opendir|glob|read|chown|fstat)\(\)|is a directory|dlopen|realpath",
    "certificates": r"cannot load|PEM_|SSL_CTX|BIO_|SSL_CONF|X509|EVP_|failed \(SSL|invalid option|d2i_|PKCS",
    "users": r"getpwnam|getgrnam",
    "sockets": r"bind\(\)|socket\(\)|setsockopt|listen\(\)|sendmsg",
    "variables": r'unknown "(ssl|upstream|upload|proxy|quic|grpc|geoip2?)_\w+" variable'
    r'|the duplicate "(tcpinfo_\w+|realip_\w+|connections_\w+|ssl_\w+|secure_link\w*|slice_range|http[23])" variable',
    "modules": r"unknown directive|is not supported|parameter requires|not compiled|no QUIC"
    r'|invalid event type "(poll|select)"',
    "hashes": r"could not build",
    "memory": r"mmap|malloc|posix_memalign|too small for",
}
"""What nginx refuses for its machine, its modules or libraries."""


@dataclass(frozen=True, slots=True)
class Said:
    """What nginx, or `check`, says first, and the line that it names; 0 for none."""

    message: str
    line: int = 0


Judge = Callable[[bytes], Said | None]
"""Returns nginx's first error for the text of a main configuration; None if it accepts it."""


@dataclass(slots=True)
class Tally:
    """What was tried, and where the two do not agree, by the message of the one that refuses."""

    configurations: int = 0
    mutants: int = 0
    refused: int = 0
    of_more: Counter[str] = field(default_factory=Counter)
    nginx_alone: Counter[str] = field(default_factory=Counter)
    check_alone: Counter[str] = field(default_factory=Counter)
    other_words: Counter[str] = field(default_factory=Counter)
    other_line: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    @property
    def differences(self) -> int:
        """The number of mutants of which the two do not say the same."""
        return sum(each.total() for each in (self.nginx_alone, self.check_alone, self.other_words, self.other_line))

    def __str__(self) -> str:
        parts = [
            f"{self.configurations:,} configurations, {self.mutants:,} mutants, {self.refused:,} refused by nginx",
            f"for more than the text: {dict(self.of_more)}",
        ]
        for title, counts in (
            ("nginx alone refuses", self.nginx_alone),
            ("check alone refuses", self.check_alone),
            ("other words first", self.other_words),
            ("another line", self.other_line),
        ):
            parts.append(f"{title}: {counts.total():,}")
            parts += [f"  {count:5,} {text}\n        {self.examples[text]}" for text, count in counts.most_common(60)]
        return "\n".join(parts)


def said(text: bytes, release: Version) -> list[Said]:
    """Return what `check` refuses, first what nginx says first."""
    try:
        config = load_text(text, "nginx.conf", missing_ok=True, context="main")
    except InputError as error:
        return [*map(_said, before(error, release)), _of(error.nginx or error.message)]
    root = levels(config, release, as_given=True)
    return [*map(_said, first(refusals(root, release)))]


def _said(refusal: Refusal) -> Said:
    return _of(refusal.sentence)


def _of(text: str) -> Said:
    match = re.fullmatch(r"(.*?)(?: in \S*?:(\d+))?", text, re.DOTALL)
    assert match is not None
    return Said(match[1], int(match[2] or 0))


def asking(binary: nginx.Binary, folder: Path) -> Judge:
    """Return a judge that runs nginx in a folder, unconfined."""
    command = [binary.path, "-p", f"{folder}/", "-c", f"{folder}/nginx.conf", "-t", "-q", "-e", "stderr"]

    def judge(text: bytes) -> Said | None:
        (folder / "nginx.conf").write_bytes(text)
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
        if run.returncode == 0:
            return None
        verdict = nginx.Verdict.of(run.stderr, run.returncode, {f"{folder}/": ""})
        found = next((each for each in verdict.messages if each.level in ("emerg", "crit", "alert")), None)
        if found is None:
            return Said(str(verdict))
        return Said(found.text, int(found.place.rpartition(":")[2] or 0))

    return judge


def class_of(message: str) -> str | None:
    """Return the class of what depends on more than the text; None for other messages."""
    return next((name for name, pattern in _OF_MORE.items() if re.search(pattern, message)), None)


def play(
    texts: Sequence[tuple[str, bytes]], judge: Judge, release: Version, draw: random.Random, each: int, tally: Tally,
    ends: float, most: int | None = None,
) -> None:  # fmt: skip
    """Try mutants of configurations that nginx accepts, with parts of each other: for a time, and `most` at most."""
    others = [b""]
    while time.monotonic() < ends and (most is None or tally.mutants < most):
        name, text = draw.choice(texts)
        try:
            config = load_text(text, name)
        except InputError:
            continue
        tally.configurations += 1
        for _ in range(each):
            mutated, what = mutant(draw, config, others)
            compare(tally, name, mutated, what, judge, release)
        pieces = [item for item in _inside(config) if item.span.end - item.span.start < 2000]
        spans = [item.span for item in draw.sample(pieces, min(5, len(pieces)))]
        others = [*others[-200:], *(text[span.start : span.end] for span in spans)]


def compare(tally: Tally, name: str, text: bytes, what: str, judge: Judge, release: Version) -> None:
    """Ask both of one text."""
    try:
        found, message = said(text, release), judge(text)
    except (RecursionError, subprocess.TimeoutExpired):
        return
    tally.mutants += 1
    tally.refused += message is not None
    if message is None:
        if found:
            _differs(tally, tally.check_alone, found[0].message, f"{name}: {what}", text)
        return
    is_same = bool(found) and _without_pcre(found[0].message) == _without_pcre(message.message)
    if is_same and found[0].line == message.line:
        return
    reason = class_of(message.message) or _class_of_text(text, message)
    if reason is not None:
        tally.of_more[reason] += 1
        return
    counts = tally.nginx_alone if not found else tally.other_line if is_same else tally.other_words
    _differs(tally, counts, message.message, f"{name}: {what} {found[:3]} [{message}]", text)


def _differs(tally: Tally, counts: Counter[str], message: str, what: str, text: bytes) -> None:
    key = re.sub(r'"[^"]*"(?! directive| variable| parameter)|:\d+|\d+', "...", message)[:140]
    counts[key] += 1
    if key not in tally.examples:
        path = Path(tempfile.gettempdir()) / f"difference-{len(tally.examples)}.conf"
        path.write_bytes(text)
        tally.examples[key] = f"{what} {path}"


def _class_of_text(text: bytes, said: Said) -> str | None:
    if not text.strip():
        return "empty files"
    if said.message.startswith("nginx: "):
        return "no words of nginx"
    line = text.split(b"\n")[said.line - 1] if said.line else b""
    is_in = has_placeholder(said.message) or has_placeholder(line.decode("utf-8", "replace"))
    return "placeholders" if is_in or re.search(rb"%\w+%", text) else None


def _without_pcre(message: str) -> str:
    """Return a message in which PCRE's own words, which differ by library, are left out."""
    return re.sub(r"pcre2?_compile\(\) failed.*", "pcre", message, flags=re.DOTALL).replace("\n", " ")


def mutant(draw: random.Random, config: Config, others: Sequence[bytes]) -> tuple[bytes, str]:
    """Return the main file with one mistake, and what it is."""
    data = config.main.source.data
    directives = [each for each in _inside(config) if each.args or each.block]
    one, other = draw.choice(directives), draw.choice(directives)
    whole = data[one.span.start : one.span.end]
    at = other.span.start
    match draw.randint(0, 15):
        case 0 | 1 | 2 | 3 | 4 if one.args:
            word = draw.choice(one.args)
            words = [*_WORDS, *(str(arg) for arg in other.args[:1]), *_near(draw, str(word))]
            new = draw.choice(words)
            return _cut(data, word.span.start, word.span.end, _quoted(new)), f"{one.name}: {word} -> {new}"
        case 5 if one.args:
            word = draw.choice(one.args)
            new = draw.choice(_near(draw, str(word)))
            return _cut(data, word.span.start, word.span.end, _quoted(new)), f"{one.name}: {word} -> {new}"
        case 6 if one.args:
            word = draw.choice(one.args)
            return _cut(data, word.span.start, word.span.end, b""), f"{one.name}: without {word}"
        case 7 if one.args:
            end = one.args[-1].span.end
            new = draw.choice(_WORDS)
            return _cut(data, end, end, b" " + _quoted(new)), f"{one.name}: also {new}"
        case 8:
            return _cut(data, at, at, whole + b"\n"), f"{one.name} also before {other.name}"
        case 9:
            return _cut(data, one.span.start, one.span.end, b""), f"without {one.name}"
        case 10 if one.block is None:
            return _cut(data, one.span.end - 1, one.span.end, b""), f"{one.name} without semicolon"
        case 11 if one.block is not None:
            where = draw.choice([one.span.end - 1, one.block.span.start])
            return _cut(data, where, where + 1, b""), f"{one.name} without a brace"
        case 12:
            return _cut(data, at, at, draw.choice(others) + b"\n"), f"another directive before {other.name}"
        case 13 if one.args and other.args:
            word, new = draw.choice(one.args), draw.choice(other.args)
            text = data[new.span.start : new.span.end]
            return _cut(data, word.span.start, word.span.end, text), f"{one.name}: {word} -> {text!r}"
        case 14:
            return _cut(
                data, one.name.span.start, one.name.span.end, str(other.name).encode()
            ), f"{one.name} -> {other.name}"
        case _:
            return _cut(data, one.span.end, one.span.end, b"\n" + whole), f"{one.name} twice"


def _near(draw: random.Random, word: str) -> list[str]:
    """Return words that differ from one by little."""
    at = draw.randrange(len(word) + 1)
    near = [word[:at] + word[at + 1 :], word[:at] + draw.choice("0z$.:=/*-(") + word[at:], word.upper(), word[:at]]
    if number := re.search(r"\d+", word):
        near += [word.replace(number[0], new) for new in ("0", "1", "7", "511", "65536", f"{number[0]}0", "4294967296")]
    return near


def _quoted(word: str) -> bytes:
    data = word.encode("utf-8", "surrogateescape")
    return b'"%s"' % data.replace(b'"', b"") if not word or set(word) & set(" ;{}()\"'#\\") else data


def _cut(data: bytes, start: int, end: int, new: bytes) -> bytes:
    return data[:start] + new + data[end:]


def _inside(config: Config) -> Iterator[Directive]:
    return (each for each, _ in config.walk() if each.source is config.main.source)


# ---- making public configurations independent of the machine

_PATHS = re.compile(
    rb"((?:error|access)_log|pid|lock_file|\w+_temp_path|\w+_cache_path|client_body_in_file)\s+(\"?)/[^\s;\"]*"
)
_CERTIFICATE = re.compile(
    rb"(\bssl_certificate|_ssl_certificate|ssl_trusted_certificate|ssl_client_certificate)\s+[^;{}]+;"
)
_KEY = re.compile(rb"(ssl_certificate_key)\s+[^;{}]+;")
_GONE = re.compile(
    rb"^\s*(load_module|include|user|ssl_dhparam|ssl_crl|ssl_session_ticket_key|ssl_stapling_file|ssl_password_file"
    rb"|perl\w*|js_\w+|xslt_\w+)\s[^;{}]*;",
    re.MULTILINE,
)
_AROUND = {
    "main": b"%s",
    "http": b"events {}\nhttp {\n%s\n}\n",
    "http/server": b"events {}\nhttp {\nserver {\n%s\n}\n}\n",
    "http/server/location": b"events {}\nhttp {\nserver {\nlocation / {\n%s\n}\n}\n}\n",
    "stream": b"events {}\nstream {\n%s\n}\n",
}


def bases(paths: Sequence[Path], judge: Judge, draw: random.Random, most: int) -> Iterator[tuple[str, bytes]]:
    """Yield configurations that nginx accepts."""
    found = 0
    for path in draw.sample(paths, len(paths)):
        if found >= most:
            return
        text = _base(path, judge)
        if text is not None:
            found += 1
            yield str(path), text


def _base(path: Path, judge: Judge) -> bytes | None:
    try:
        data = path.read_bytes()
        if len(data) > 40_000 or b"{%" in data or b"{{" in data or b"<%" in data:
            return None
        config = load_text(data, str(path), includes=False, missing_ok=True)
        if not config.candidates:
            return None
        around = _AROUND.get("/".join(config.candidates[0]) or "main")
    except InputError:
        return None
    if around is None:
        return None
    text = around % data
    text = _PATHS.sub(rb"\1 \2scratch", text)
    text = _CERTIFICATE.sub(rb"\1 cert.pem;", text)
    text = _KEY.sub(rb"\1 key.pem;", text)
    text = _GONE.sub(b"", text)
    return _repaired(text, judge)


def generated() -> Iterator[tuple[str, bytes]]:
    """Yield small configurations that nginx accepts, one for each message that it has: twins of what it refuses."""
    for line in (
        (Path(__file__).parents[1] / "semantics" / "refusals" / "refused.tsv").read_text("utf-8").split("\n")[1:]
    ):
        cells = line.split("\t")
        if len(cells) > 5 and cells[5]:
            text = re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), cells[5])
            yield cells[0], text.encode("utf-8", "surrogateescape")


def _repaired(text: bytes, judge: Judge) -> bytes | None:
    """Return a configuration without what nginx refuses; None if not much is left of it, or nginx names no line."""
    size = len(text)
    for _ in range(40):
        answer = judge(text)
        if answer is None:
            return text if len(text) * 2 > size else None
        try:
            config = load_text(text, "x", includes=False, missing_ok=True)
        except InputError:
            return None
        host = re.search(r'host not found in [^"]*"([^":/]+)', answer.message)
        if host is not None:
            text = re.sub(rb"(?<![\w.-])%s(?![\w.-])" % re.escape(host[1].encode()), b"127.0.0.1", text)
            continue
        at = [each for each, _ in config.walk() if each.located("").endswith(f":{answer.line}")]
        if not at:
            word = re.search(r'"([^"]+)"', answer.message)
            at = [
                each
                for each, _ in config.walk()
                if (word and word[1] in (*each.args, each.name)) or (word and f"${word[1]}" in str(each.args))
            ]
        if not at:
            return None
        span = at[-1].span
        text = _cut(text, span.start, span.end, b"")
    return None


def main() -> None:
    """Play from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--nginx")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--bases", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    paths = sorted(path for path in options.corpus.rglob("*") if path.is_file() and path.suffix not in (".tsv", ".md"))
    binary, draw, tally = nginx.find(options.nginx), random.Random(options.seed), Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=a", "-days", "30",
             "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True,
        )  # fmt: skip
        judge = asking(binary, folder)
        texts = [*bases(paths, judge, draw, options.bases)]
        texts += [(each, text) for each, text in generated() if judge(text) is None]
        draw.shuffle(texts)
        print(len(texts), "bases", flush=True)
        for each, text in texts:
            compare(tally, each, text, "as it is", judge, Version.of(binary.version))
        ends = time.monotonic() + options.seconds
        play(texts, judge, Version.of(binary.version), draw, options.each, tally, ends)
    print(tally)


if __name__ == "__main__":
    main()
