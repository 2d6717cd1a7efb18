"""Witnesses: requests that show what findings say."""

from __future__ import annotations

from dataclasses import dataclass

from nginxopt.text import fit

LONGEST_URL = 300
"""The maximum length of the URL of a witness in reports, in characters; it is cut in the middle."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A request, and what nginx does with it.

    Attributes:
        url: The URL, in which `..` stays as it is written (`curl --path-as-is`).
        shows: A clause without a full stop, in the present tense: `nginx sends /srv/files/../secret`.
        headers: As curl's `-H` takes them: `Name: value`.
        client: The address that the request comes from; None if it does not matter.
        assume: What has to hold besides, as `nginxopt trace --assume` takes it: `exists=/srv/files/a.txt`.
    """

    url: str
    shows: str
    method: str = "GET"
    headers: tuple[str, ...] = ()
    client: str | None = None
    assume: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.shows:
            raise ValueError(f"a witness that shows nothing: {self.url}")

    def __str__(self) -> str:
        """`GET URL, with Name: value, from ADDRESS: shows`."""
        headers = [f"with {header}" for header in self.headers]
        client = [] if self.client is None else [f"from {self.client}"]
        request = ", ".join([f"{self.method} {fit(self.url, LONGEST_URL)}", *headers, *client])
        return f"{request}: {self.shows}"
