"""Under a limit of memory (`ulimit -v`), a command has its result, or ends with a message and status 3."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from nginxopt._native import PanicException
from nginxopt.budget import out_of_memory
from nginxopt.faults import is_bug, lacks_memory
from tests.support import PATIENCE

pytestmark = pytest.mark.no_cover  # runs in processes of its own

RULES = "".join(f"rewrite ^/(old|x{number})/{number}(.*)$ /n{number}$2 last;\n" for number in range(6_000))
ROWS = "".join(f"~^/(old|x)/{number}[a-z]+$ /new/{number};\n" for number in range(6_000))
TEXTS = {
    "rules.conf": f"events {{}}\nhttp {{ server {{ listen 80;\n{RULES}}} }}\n",
    "rows.conf": f"events {{}}\nhttp {{ map $uri $x {{\n{ROWS}}} server {{ return 301 $x; }} }}\n",
}
COMMANDS = {
    "rewrite-to-map": ["rewrite-to-map", "--check", "rules.conf"],
    "lint": ["lint", "--isolated", "rows.conf"],
    "trace": ["trace", "rules.conf", "http://a/b"],
}
MEGABYTES = (110, 135, 190, 260)
"""Further limits of addresses, from little more than Python and its modules have to nearly what a command needs."""


def limited(words: list[str], folder: Path, megabytes: int) -> subprocess.CompletedProcess[bytes]:
    """Run Python with a limit of addresses."""
    most = megabytes << 20
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("megabytes", [160, *(pytest.param(each, marks=pytest.mark.extended) for each in MEGABYTES)])
def test_a_command_ends_with_a_message(tmp_path: Path, command: str, megabytes: int) -> None:
    """No command aborts, or shows a traceback, whether the native core or Python lacks memory."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    done = limited(["-m", "nginxopt", *COMMANDS[command]], tmp_path, megabytes)
    said = done.stdout + done.stderr
    assert done.returncode in (0, 1, 3), (done.returncode, said[-2_000:])
    if done.returncode == 3:
        assert b"too large: it takes more memory than there is" in said
    for trace in (b"Traceback", b"memory allocation of", b"panicked", b"internal-error", b"This is a bug"):
        assert trace not in said, said[-2_000:]


def test_the_last_message(tmp_path: Path) -> None:
    """Where nothing is left, the message is that of other lacks of memory, and so is the status."""
    done = limited(["-c", "from nginxopt._native import end_lacking; end_lacking()"], tmp_path, 1 << 12)
    assert (done.returncode, done.stdout) == (out_of_memory().exit_code, b"")
    assert done.stderr.decode() == f"{out_of_memory().render()}\n"


def test_an_allocation_that_is_too_large_for_the_reserve(tmp_path: Path) -> None:
    """The native core ends the process, instead of SIGABRT, if one allocation exceeds what there is."""
    code = (
        "import resource; from pathlib import Path; from nginxopt._native import release_memory, statement_spans;"
        "text = b'a b;' * 4_000_000; release_memory();"
        "used = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20),) * 2); {}"
    )
    done = limited(["-c", code.format("statement_spans(text, 0, len(text))")], tmp_path, 1 << 12)
    assert done.returncode == 3, done
    assert done.stderr.decode() == f"{out_of_memory().render()}\n"


LACKS = (
    MemoryError(),
    PanicException("memory allocation failed"),
    RuntimeError("can't start new thread"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
)


@pytest.mark.parametrize("error", LACKS, ids=repr)
def test_what_shows_a_lack(error: BaseException) -> None:
    """Each way in which memory is lacking is no bug."""
    assert lacks_memory(error)
    assert not is_bug(error)


@pytest.mark.parametrize(
    "error", [PanicException("another"), RuntimeError("another"), OSError(errno.EIO, "a")], ids=repr
)
def test_what_shows_none(error: BaseException) -> None:
    """Other errors of these kinds are bugs."""
    assert not lacks_memory(error)
    assert is_bug(error)
