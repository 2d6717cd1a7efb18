"""Rules about caches on the real nginx: requests that reach the origin are counted."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.examples import Example, examples
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import diagnose, fixed
from tests.support import PATIENCE

pytestmark = [pytest.mark.nginx, pytest.mark.no_cover]

BODY = b"x" * 1000
ONE = RequestBytes(b"GET /static/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", alone=True)
PATH = "proxy_cache_path cache keys_zone=pages:1m max_size=10m;\n"


class Origin(ThreadingHTTPServer):
    """A server that counts what it is asked, and answers when all it expects have come, or in half a second."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.gate = threading.Barrier(1)
        self.requests = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def expect(self, count: int) -> None:
        """Begin to count, and hold the answers until so many requests wait for theirs."""
        self.gate, self.requests = threading.Barrier(count), 0


class _Handler(BaseHTTPRequestHandler):
    server: Origin

    def do_GET(self) -> None:
        """Answer like the others."""
        with self.server.lock:
            self.server.requests += 1
        with contextlib.suppress(threading.BrokenBarrierError):
            self.server.gate.wait(0.5)
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def origin() -> Iterator[Origin]:
    """An origin that runs during the test."""
    with Origin() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def at_once(instance: nginx.Instance, origin: Origin, count: int) -> tuple[int, set[bytes]]:
    """How many of so many requests at once reach the origin, and the bodies of the answers."""
    origin.expect(count)
    with ThreadPoolExecutor(count) as pool:
        bodies = list(pool.map(lambda _: body(instance), range(count)))
    return origin.requests, set(bodies)


def body(instance: nginx.Instance) -> bytes:
    """The body of one answer."""
    with instance.client() as client:
        return client.ask([ONE])[0].partition(b"\r\n\r\n")[2]


def http(origin: Origin, extra: str = "", valid: str = "1h") -> str:
    """A proxy with a cache, as it stands in http."""
    location = f"proxy_pass {origin.url};\nproxy_cache pages;\nproxy_cache_valid {valid};\n{extra}"
    return f"{PATH}server {{\nlisten 127.0.0.1:1;\nlocation / {{\n{location}}}\n}}\n"


def served(
    binary: nginx.Binary, text: str, files: Mapping[str, bytes] = nginx.NO_FILES, also: tuple[Path, ...] = ()
) -> nginx.Instance:
    """An nginx with what stands in http, its server at a port."""
    path, _, server = text.partition("server {\nlisten 127.0.0.1:1;\n")
    servers = [server.rpartition("}")[0].encode()]
    return nginx.Instance(binary, servers=servers, http=path.encode(), files=files, also=also)


def test_a_stampede_and_the_lock(binary: nginx.Binary, origin: Origin) -> None:
    """20 requests at once for what is not cached reach the origin as 20, after the fix as 1; all get the answer."""
    before = http(origin)
    with served(binary, before) as instance:
        assert at_once(instance, origin, 20) == (20, {BODY})
    with served(binary, fixed("cache-stampede", before, context="http").decode()) as instance:
        assert at_once(instance, origin, 20) == (1, {BODY})


def test_the_lock_is_not_for_what_has_run_out(binary: nginx.Binary, origin: Origin) -> None:
    """Once an answer has run out many reach the origin in spite of the lock, and one with `updating`."""
    before = http(origin, extra="proxy_cache_lock on;\n", valid="1s")
    after = fixed("cache-stampede", before, context="http").decode()
    for text, expected in ((before, 10), (after, 1)):
        with served(binary, text) as instance:
            origin.expect(1)
            body(instance)
            threading.Event().wait(2.1)  # until it has run out
            count, bodies = at_once(instance, origin, 10)
            assert (count, bodies) == (expected, {BODY})


def test_updating_is_added_to_what_is_stated(binary: nginx.Binary, origin: Origin) -> None:
    """nginx accepts the fix where `proxy_cache_use_stale` has words already."""
    before = http(origin, extra="proxy_cache_use_stale error timeout;\n")
    after = fixed("cache-stampede", before, context="http").decode()
    assert "proxy_cache_use_stale error timeout updating;" in after
    with served(binary, after) as instance:
        assert at_once(instance, origin, 5) == (1, {BODY})


def test_a_zone_bounds_the_files(each_binary: nginx.Binary, origin: Origin) -> None:
    """A zone of 64k holds fewer than 1,000 files, however many responses are to be cached."""
    text = http(origin).replace("pages:1m max_size=10m", "pages:64k")
    assert diagnose("cache-unbounded", text, context="http") == ()
    with served(each_binary, text) as instance:
        with instance.client() as client:
            requests = [RequestBytes(f"GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n".encode()) for number in range(1200)]
            origin.expect(1)
            assert all(answer.endswith(BODY) for answer in client.ask(requests))
        assert origin.requests == 1200
        files = [path for path in (instance.prefix / "cache").rglob("*") if path.is_file()]
        assert 100 < len(files) < 1000


def test_a_location_of_streams_loses_its_cache(binary: nginx.Binary, origin: Origin) -> None:
    """A location that alone turned buffering off keeps it, and its cache, which stored nothing, goes."""
    server = f"location / {{ proxy_pass {origin.url}; proxy_buffering off; }}"
    text = f"{PATH}server {{\nlisten 127.0.0.1:1;\nproxy_cache pages;\nproxy_cache_valid 1h;\n{server}\n}}\n"
    after = fixed("cache-without-buffering", text, context="http").decode()
    assert "proxy_cache off;" in after
    assert "proxy_buffering off;" in after
    for each in (text, after):
        with served(binary, each) as instance:
            origin.expect(1)
            assert [body(instance) for _ in range(3)] == [BODY] * 3
            assert origin.requests == 3


def test_temporary_files_in_the_cache(binary: nginx.Binary, origin: Origin) -> None:
    """An answer is renamed out of `proxy_temp_path`, after the fix within the cache, and is the same from the cache."""
    version = subprocess.run([binary.path, "-V"], capture_output=True, check=True, timeout=PATIENCE)
    if b"--with-debug" not in version.stderr:
        pytest.skip("this nginx writes no debug log")
    before = http(origin, extra="error_log file.log debug;\n")
    after = fixed("cache-temp-path", before, context="http").decode()
    for text, folder in ((before, "temp/proxy/"), (after, "cache/")):
        with served(binary, text) as instance:
            origin.expect(1)
            assert [body(instance) for _ in range(3)] == [BODY] * 3
            assert origin.requests == 1
            log = (instance.prefix / "file.log").read_text().replace(f"{instance.prefix}/", "")
        renamed = re.findall(r'http file cache rename: "([^"]*)" to "([^"]*)"', log)
        assert len(renamed) == 1
        assert renamed[0][0].startswith(folder)
        assert renamed[0][1].startswith("cache/")


def test_files_are_fetched_once(binary: nginx.Binary, origin: Origin) -> None:
    """Five requests for a file are five at the origin; with the cache of the page's good example they are one."""
    bad, good = (page_example(kind) for kind in ("bad", "good"))
    for example, expected in ((bad, 5), (good, 1)):
        text = example.text.replace("server {\n", "server {\nlisten 127.0.0.1:1;\n")
        text = text.replace("http://127.0.0.1:8080", origin.url).replace("/var/cache/nginx", "cache")
        with served(binary, text) as instance:
            origin.expect(1)
            assert [body(instance) for _ in range(5)] == [BODY] * 5
            assert origin.requests == expected


def page_example(kind: str) -> Example:
    """The first example of that kind of the page of `cacheable-uncached`."""
    return next(example for example in examples(catalogue()["cacheable-uncached"].page) if example.kind == kind)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_response_that_the_cache_has_no_room_for(each_binary: nginx.Binary, small: Path) -> None:
    """Received elsewhere it is complete, though not cached; after the fix it is cut off, which needs a premise."""
    size = 20_000_000
    before = (
        f"server {{ listen unix:origin.sock; root html; }}\nproxy_cache_path {small} keys_zone=pages:1m;\n"
        "server {\nlisten 127.0.0.1:1;\nlocation / { proxy_pass http://unix:origin.sock:; proxy_cache pages; "
        "proxy_cache_valid 1m; } }\n"
    )
    after = fixed("cache-temp-path", before, context="http").decode()
    assert fixed("cache-temp-path", before, context="http", unsafe=False).decode() == before
    assert after != before
    lengths = []
    for text in (before, after):
        with (
            served(each_binary, text, {"html/big": b"x" * size}, also=(small,)) as instance,
            instance.client() as client,
        ):
            (answer,) = client.ask(
                [RequestBytes(b"GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", alone=True)]
            )
        lengths.append(len(answer.partition(b"\r\n\r\n")[2]))
    assert lengths[0] == size
    assert lengths[1] < size
