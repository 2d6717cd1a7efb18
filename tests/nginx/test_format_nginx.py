"""nginx reads a formatted configuration as it reads the original."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from nginxopt.errors import InputError
from nginxopt.format import IndentStyle, formatted
from nginxopt.system.nginx import Binary
from tests.config.test_corpus import CORPUS, rows
from tests.format.test_format import TEXTS
from tests.format.test_laws import contents
from tests.support import drawn, run_nginx

pytestmark = [pytest.mark.nginx, pytest.mark.extended, pytest.mark.no_cover]

_DUMP = re.compile(rb"^# configuration file [^\n]*/nginx\.conf:\n(.*?)\n(?=# configuration file /|\Z)", re.DOTALL)
"""Matches the main file in the output of `nginx -T`, which its includes follow."""


def verdict(binary: Binary, folder: Path, text: bytes) -> tuple[int, list[str], bytes]:
    """The status and messages of `nginx -T`, without numbers of lines, and the text that it read."""
    (folder / "nginx.conf").write_bytes(text)
    ran = run_nginx(binary, folder, "-T", "-g", "pid nginx.pid;")
    messages = [re.sub(r":\d+$", "", line) for line in ran.stderr.decode("utf-8", "replace").splitlines()]
    dump = _DUMP.search(ran.stdout)
    return ran.returncode, [re.sub(r"^\S+ \S+ ", "", line) for line in messages], dump[1] if dump else b""


def check(binary: Binary, folder: Path, text: bytes) -> int:
    """Compare what nginx makes of a text and of the formatted text; return its status."""
    result = formatted(text)
    status, messages, _ = verdict(binary, folder, text)
    after = verdict(binary, folder, result)
    assert after[:2] == (status, messages)
    if status == 0:
        assert after[2] == result
        assert contents(after[2]) == contents(text)
    return status


def test_corpus(each_binary: Binary, tmp_path: Path, tally: Counter[str]) -> None:
    """nginx says the same of public configurations before and after, and words, comments and braces are the same."""
    counts: Counter[str] = Counter()
    files = [row["file"] for row in rows()]
    for number in drawn(len(files), each_binary):
        text = (CORPUS / files[number]).read_bytes()
        try:
            formatted(text)
        except InputError:
            continue
        for whole in (text, b"events {}\nhttp {\n%s\n}\n" % text, b"events {}\nhttp { server {\n%s\n} }\n" % text):
            status = check(each_binary, tmp_path, whole)
            counts["refused" if status else "accepted"] += 1
    tally.update(counts)
    assert counts["accepted"] >= 15


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_cases(each_binary: Binary, tmp_path: Path, name: str) -> None:
    """nginx says the same of each case of the layout."""
    check(each_binary, tmp_path, TEXTS[name])


VALUES = b"""events{}
http{ log_format m  '$a {;} '
   "#\\"x\\"
  y"   'it\\'s ${b}';
 map $uri $a{default   "  ; # } " ;"~^/x{0,2}"   '${uri}\\\\';  /y\\;   \\ ;# c
}
 map $uri $b { volatile;   /b 1 ; } server{listen 127.0.0.1:1; if ($a = "b"){return 200 "a
 b" ;} location   ~ "^/x{2}$"{return   204;}} }
"""


@pytest.mark.parametrize("style", [IndentStyle(), IndentStyle(tabs=True)], ids=["spaces", "tabs"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_values(each_binary: Binary, tmp_path: Path, style: IndentStyle, newline: bytes) -> None:
    """A configuration with everything that may look like syntax is accepted before and after."""
    text = VALUES.replace(b"\n", newline)
    assert verdict(each_binary, tmp_path, text)[0] == 0
    result = formatted(text, style)
    assert verdict(each_binary, tmp_path, result)[0] == 0
    assert contents(result) == contents(text)
