"""nginxopt.system.nginx: nginx is found, tested, started and stopped, and nothing is left behind."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nginxopt.errors import InputError, MissingError
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.support import PATIENCE, ended

pytestmark = pytest.mark.nginx

SERVER = b"""
location / { return 200 "uri=[$uri]"; }
location = /closes { return 500; }
location = /silent { return 444; }
location = /big { return 200 "%s"; }
""" % (b"x" * 4000)


@pytest.fixture(autouse=True)
def _started_without_a_copy() -> None:
    """Start nginx as `nginxopt.system` does, which is tested here."""


def get(path: bytes, method: bytes = b"GET") -> RequestBytes:
    """A request for the persistent connection."""
    return RequestBytes(b"%s %s HTTP/1.1\r\nHost: a.test\r\n\r\n" % (method, path), head=method == b"HEAD")


def alone(path: bytes, extra: bytes = b"", body: bytes = b"") -> RequestBytes:
    """A request for a connection of its own."""
    data = b"POST %s HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n%s\r\n%s" % (path, extra, body)
    return RequestBytes(data, alone=True)


def test_find_reads_the_version(binary: nginx.Binary) -> None:
    """A found binary knows its version as numbers."""
    assert len(binary.version) >= 3
    assert binary.version > (1, 0, 0)


def test_find_takes_the_given_path(binary: nginx.Binary) -> None:
    """A path that is given is the one that is used."""
    assert nginx.find(binary.path) == binary


@pytest.mark.parametrize("path", ["/nowhere/nginx", sys.executable])
def test_find_refuses_what_is_not_nginx(path: str) -> None:
    """A path without nginx behind it is one clear sentence that names it."""
    with pytest.raises(MissingError, match=path):
        nginx.find(path)


def test_test_accepts(binary: nginx.Binary) -> None:
    """A correct configuration passes, and the files beside it are found by relative paths."""
    config = nginx.configuration([b"include rules.conf;"])
    assert binary.test(config, {"rules.conf": b"rewrite ^/a$ /b permanent;"}).ok


def test_test_gives_nginx_own_words(binary: nginx.Binary) -> None:
    """The message of a refused configuration names file and line without the private prefix."""
    verdict = binary.test(nginx.configuration([b"include rules.conf;"]), {"rules.conf": b"\nrewrite ^/a$;"})
    assert not verdict.ok
    assert 'invalid number of arguments in "rewrite" directive in rules.conf:2' in str(verdict)
    assert "nginxopt-" not in str(verdict)


def test_instance_leaves_nothing_behind(binary: nginx.Binary) -> None:
    """The prefix is private while nginx runs; afterwards the process and the prefix are gone."""
    with nginx.Instance(binary, servers=[SERVER]) as instance:
        assert instance.prefix.stat().st_mode & 0o777 == 0o700
    assert_gone(instance)


def test_instance_is_ended_by_an_exception(binary: nginx.Binary) -> None:
    """An interrupt inside the block ends nginx as well."""
    with pytest.raises(KeyboardInterrupt), nginx.Instance(binary, servers=[SERVER]) as instance:
        raise KeyboardInterrupt
    assert_gone(instance)


def test_instance_that_cannot_start(binary: nginx.Binary) -> None:
    """A start that fails says why in nginx's words and leaves nothing behind."""
    instance = nginx.Instance(binary, servers=[b"nonsense on;"])
    with pytest.raises(InputError, match=r'unknown directive "nonsense" in nginx\.conf:'), instance:
        pass
    assert_gone(instance)


def test_instance_that_never_gets_ready(binary: nginx.Binary) -> None:
    """A start is bounded in time."""
    sleeper = ("sh", "-c", "exec sleep 60")
    instance = nginx.Instance(binary, wrapper=sleeper, start_seconds=0.1)
    with pytest.raises(InputError, match="not ready within"), instance:
        pass
    assert_gone(instance)


def test_ports_avoid_digits(binary: nginx.Binary) -> None:
    """No port has digits that occur in the given bytes, so that replacing it in an answer is safe."""
    avoid = b" ".join(b"%d" % port for port in range(30000, 61000, 2))
    with nginx.Instance(binary, servers=[SERVER, SERVER], avoid=avoid) as instance:
        assert len(set(instance.ports)) == 2
        assert all(str(port).encode() not in avoid for port in instance.ports)


def test_pipelined_answers_keep_their_order(binary: nginx.Binary) -> None:
    """Answers stay with their requests when nginx closes the connection in between, answering or not."""
    paths = [b"/%d" % number for number in range(500)]
    for number in (3, 64, 65, 200):
        paths[number] = b"/closes"
    for number in (0, 4, 128, 499):
        paths[number] = b"/silent"
    with nginx.Instance(binary, servers=[SERVER]) as instance, instance.client() as client:
        answers = client.ask([get(path) for path in paths])
    for path, answer in zip(paths, answers, strict=True):
        if path == b"/closes":
            assert answer.startswith(b"HTTP/1.1 500 ")
        elif path == b"/silent":
            assert answer == b""
        else:
            assert answer.endswith(b"\r\n\r\nuri=[%s]" % path)


def test_large_answers_do_not_block(binary: nginx.Binary) -> None:
    """A pipeline whose answers are larger than the buffers of a socket comes through."""
    with nginx.Instance(binary, servers=[SERVER]) as instance, instance.client() as client:
        answers = client.ask([get(b"/big")] * 2000)
    assert {len(answer) for answer in answers} == {len(answers[0])}
    assert answers[0].endswith(b"x" * 4000)


def test_head_has_no_body(binary: nginx.Binary) -> None:
    """The answer to HEAD ends with its header, and the next answer starts after it."""
    with nginx.Instance(binary, servers=[SERVER]) as instance, instance.client() as client:
        head, following = client.ask([get(b"/a", b"HEAD"), get(b"/b")])
    assert head.endswith(b"\r\n\r\n")
    assert following.endswith(b"uri=[/b]")


def test_chunked_answers_are_framed(binary: nginx.Binary) -> None:
    """A chunked answer is taken whole, and the next answer starts after it."""
    server = b'location / { ssi on; ssi_types *; } location = /n { return 200 "next"; }'
    files = {"html/page": b'one <!--#echo var="request_method" --> two'}
    with nginx.Instance(binary, servers=[server], files=files) as instance, instance.client() as client:
        page, following = client.ask([get(b"/page"), get(b"/n")])
    assert b"\r\nTransfer-Encoding: chunked\r\n" in page
    assert page.endswith(b"\r\n0\r\n\r\n")
    assert following.endswith(b"next")


def test_alone_requests_show_every_byte(binary: nginx.Binary) -> None:
    """A request on its own connection shows interim answers and refusals of its body."""
    rewrite = b"rewrite ^/old$ /new permanent; location / { return 200 done; }"
    with nginx.Instance(binary, servers=[rewrite]) as instance, instance.client() as client:
        expect, bad = client.ask(
            [
                alone(b"/x", b"Content-Length: 2\r\nExpect: 100-continue\r\n", b"ab"),
                alone(b"/x", b"Transfer-Encoding: chunked\r\n", b"zz\r\n"),
            ]
        )
    assert expect.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")
    assert bad.startswith(b"HTTP/1.1 400 ")


def test_a_silent_server_is_given_up(binary: nginx.Binary) -> None:
    """A client waits no longer than its timeout and returns what there is."""
    with nginx.Instance(binary, servers=[SERVER]) as instance, instance.client(timeout=0.1) as client:
        assert client.ask([RequestBytes(b"GET /never HTTP/1.1\r\n", alone=True)]) == [b""]


def assert_gone(instance: nginx.Instance) -> None:
    """Neither the prefix nor a process that was started in it exists."""
    assert instance.prefix != Path()
    assert not instance.prefix.exists()
    assert not any(_works_in(instance.prefix, process) for process in Path("/proc").glob("[0-9]*"))


def _works_in(folder: Path, process: Path) -> bool:
    with contextlib.suppress(OSError):
        return str((process / "cwd").readlink()).startswith(str(folder))
    return False


def test_a_pipe_is_waited_for_and_read_as_empty(each_binary: nginx.Binary) -> None:
    """So an include of one is an error of ours: nginx stands still until something writes, and reads nothing of it."""
    with nginx.private_prefix({"nginx.conf": b"events {} include pipe; include /dev/zero;"}) as prefix:
        os.mkfifo(prefix / "pipe")
        command = [*each_binary.command(prefix), "-t"]
        with ended(subprocess.Popen(command, stderr=subprocess.PIPE)) as process:
            with (prefix / "pipe").open("w"):  # opens when nginx does
                pass
            _, messages = process.communicate(timeout=PATIENCE)
    assert b"test is successful" in messages


def test_what_is_written_to_a_pipe_is_not_read(each_binary: nginx.Binary) -> None:
    """Its size is 0, and so many bytes are read: a directive that nginx refuses is not seen."""
    with nginx.private_prefix({"nginx.conf": b"events {} include pipe;"}) as prefix:
        os.mkfifo(prefix / "pipe")
        command = [*each_binary.command(prefix), "-t"]
        with ended(subprocess.Popen(command, stderr=subprocess.PIPE)) as process:
            writer = os.open(prefix / "pipe", os.O_RDWR)  # never without a reader
            os.write(writer, b"no_directive;")
            _, messages = process.communicate(timeout=PATIENCE)
            os.close(writer)
    assert b"test is successful" in messages


@pytest.mark.skipif(os.geteuid() != 0, reason="nginx runs as nobody where the command is root: run the tests as root")
def test_an_nginx_that_nobody_may_run(binary: nginx.Binary, tmp_path: Path) -> None:
    """It is an error with the reason, as that user's shell would say it."""
    (tmp_path / "prefix").mkdir()
    (tmp_path / "own").mkdir(mode=0o700)
    own = shutil.copy(binary.path, tmp_path / "own")
    refused = pytest.raises(MissingError, match="own/nginx cannot be run: Permission denied")
    with refused, nginx.running([str(own)], tmp_path / "prefix"):
        pass
