"""Headless Chromium, spoken to through a pipe in its DevTools protocol (https://chromedevtools.github.io/devtools-protocol).

Each message is JSON and ends with a NUL byte; the browser reads file descriptor 3 and writes 4.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no browser: install chromium to run these tests")

_END_SECONDS = 20.0  # it is killed if it does not end by itself
# Offline: every name fails to resolve, so that a page that asks for something outside does not get it.
_OPTIONS = ("--headless", "--disable-gpu", "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")


class BrowserError(Exception):
    """The browser died, was silent, or refused a command."""


class Page:
    """The one tab of a browser."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._numbers = itertools.count(1)
        self._unread = b""
        self._events: list[dict[str, Any]] = []
        self._session: str | None = None
        (target,) = (info for info in self.call("Target.getTargets")["targetInfos"] if info["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self.call(f"{domain}.enable")

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.visit(path.absolute().as_uri())

    def visit(self, url: str) -> None:
        """Load a page, of a server on 127.0.0.1 at most, and wait until it is there."""
        self._events.clear()
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise BrowserError(f"{url}: {answer['errorText']}")
        self._wait_for("Page.loadEventFired")

    def look(self, width: int, *, dark: bool = False) -> None:
        """Look at the page in a window of that width, in light or dark mode."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        response = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in response:
            raise BrowserError(json.dumps(response["exceptionDetails"])[:500])
        return response["result"].get("value")

    def requests(self) -> list[str]:
        """Return the addresses that the page has asked for since it was opened, its own first."""
        self.ask("1")
        sent = [event for event in self._events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def pdf(self) -> bytes:
        """Return the page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; `BrowserError` if it is refused."""
        number = next(self._numbers)
        session = {} if self._session is None else {"sessionId": self._session}
        message = {"id": number, "method": method, "params": params, **session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def _wait_for(self, event: str) -> None:
        while not any(received.get("method") == event for received in self._events):
            self._events.append(self._message())

    def _message(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser is silent" if not ready else "the browser has ended")
            self._unread += data
        message, _, self._unread = self._unread.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Run a browser whose profile is in `folder`, and yield its tab. It ends with the block, and its pid is its own."""
    assert CHROMIUM is not None
    ours_read, theirs_write = os.pipe()
    theirs_read, ours_write = os.pipe()
    # It wants descriptors 3 and 4; a shell puts them there, so that none of this process are touched.
    redirected = f'exec "$@" 3<&{theirs_read} 4>&{theirs_write}'
    options = [*_OPTIONS, f"--user-data-dir={folder}", "--remote-debugging-pipe"]
    options += ["--no-sandbox"] if os.geteuid() == 0 else []
    with (folder / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            ["bash", "-c", redirected, "bash", CHROMIUM, *options, "about:blank"],
            pass_fds=(theirs_read, theirs_write),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    os.close(theirs_read)
    os.close(theirs_write)
    try:
        yield Page(ours_write, ours_read)
    finally:
        os.close(ours_write)  # it ends when nobody speaks to it any more
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(ours_read)
