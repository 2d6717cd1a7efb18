"""The notation of responses in the tables of experiments."""

from __future__ import annotations

import re


def say(answer: bytes, port: int) -> str:
    """The status, then the Location without this server's own origin, or a body that is not nginx's own
    page."""
    header, _, body = answer.decode().partition("\r\n\r\n")
    status = header.split(" ", 2)[1]
    location = re.search(r"\r\nLocation: ([^\r]*)", header)
    if location:
        return f"{status} {re.sub(rf'^http://[a-z.]+:{port}', '', location[1])}"
    return status if body.startswith("<html>") else f"{status} {body}"
