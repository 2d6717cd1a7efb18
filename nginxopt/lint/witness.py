"""Witnesses: requests that show what findings say."""

from __future__ import annotations

from nginxopt.records import record
from nginxopt.text import fit

LONGEST_URL = 300
"""The maximum length of the URL of a witness in reports, in characters; it is cut in the middle."""


@record(eq=True)
class Sign:
    """What a real nginx has to show besides the outcome that the model of requests knows.

    Attributes:
        status: The status of the response where the model knows no outcome; None where it does.
        lacks: Headers that the response does not have.
        passes: A header that the upstream gets, name and value.
        logs: A regular expression for a line of the error log; the time of the response is then part of the witness.
        unasked: Why no private nginx can show it, as a clause; empty if one can.
    """

    status: int | None = None
    lacks: tuple[str, ...] = ()
    passes: tuple[str, str] | None = None
    logs: str = ""
    unasked: str = ""


OUTCOME = Sign()
"""Nothing besides the outcome."""


@record(eq=True)
class Witness:
    """A request, and what nginx does with it.

    Attributes:
        url: The URL, in which `..` stays as it is written (`curl --path-as-is`).
        shows: A clause without a full stop, in the present tense: `nginx sends /srv/files/../secret`.
        headers: As curl's `-H` takes them: `Name: value`.
        client: The address that the request comes from; None if it does not matter.
        assume: What has to hold besides, as `nginxopt trace --assume` takes it: `exists=/srv/files/a.txt`.
        sign: What a real nginx has to show.
        confirmed_by: The nginx that answers so; None if none was asked.
        seconds: The time in which it answered, if that is what the witness shows.
    """

    url: str
    shows: str
    method: str = "GET"
    headers: tuple[str, ...] = ()
    client: str | None = None
    assume: tuple[str, ...] = ()
    sign: Sign = OUTCOME
    confirmed_by: str | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.shows:
            raise ValueError(f"a witness that shows nothing: {self.url}")

    def __str__(self) -> str:
        """`GET URL, with Name: value, from ADDRESS: shows (confirmed by nginx 1.22.1)`."""
        headers = [f"with {header}" for header in self.headers]
        client = [] if self.client is None else [f"from {self.client}"]
        request = ", ".join([f"{self.method} {fit(self.url, LONGEST_URL)}", *headers, *client])
        seconds = "" if self.seconds is None else f" in {self.seconds:.2f} s"
        confirmed = f" (confirmed by {self.confirmed_by}{seconds})" if self.confirmed_by else ""
        return f"{request}: {self.shows}{confirmed}"
