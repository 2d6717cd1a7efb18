"""Builds the experiment, with a single variant, for an existing host that the user names by its URL."""

from __future__ import annotations

from urllib.parse import urlsplit

from nginxopt import lazy
from nginxopt.bench.scenario import Attack, Experiment, OpenLoop, Target, Variant
from nginxopt.errors import UsageError
from nginxopt.records import record

SECONDS = 5.0
VARIANT = "target"
CASE = "load"

_PORTS = {"http": 80, "https": 443}
_HOST = lazy.pattern(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_PATH = lazy.pattern(r"/[!-~]*")
_TEXT = lazy.pattern(r"[!-~]+")  # urlsplit would silently remove line breaks


@record(eq=True)
class TargetUrl:
    """An `http` or `https` URL: its scheme, host (an IPv6 address without brackets), port and path with arguments."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def address(self) -> str:
        """The host, with the port if it is not the default, as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.address}{self.path}"


def url(text: str) -> TargetUrl:
    """Parse a URL. Raises `UsageError` if it is invalid, or has a user or a fragment."""
    if not _TEXT.fullmatch(text):
        raise _invalid(text)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise _invalid(text) from None
    host, path = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc, parts.path or "/"
    path = f"{path}?{parts.query}" if parts.query else path
    is_whole = _HOST.fullmatch(host) and _PATH.fullmatch(path) and "#" not in text and port != 0
    if parts.scheme not in _PORTS or not is_whole:
        raise _invalid(text)
    return TargetUrl(parts.scheme, host.strip("[]"), port or _PORTS[parts.scheme], path)


def build(at: TargetUrl, targets: tuple[Target, ...], cap: int) -> Experiment:
    """Return the experiment, which requests the targets, or the path of the URL, at the rate `cap`."""
    attack = Attack(VARIANT, CASE, targets or (Target(at.path, None),), OpenLoop(cap, SECONDS), may_fail=True)
    notes = (f"The rate may not exceed {cap:,} req/s.", "Redirects are not followed.")
    return Experiment(
        "load",
        f"Load on {at}",
        "One state of a host that runs already; CPU time and memory of its nginx are not known.",
        (Variant(VARIANT, str(at), (), entry=VARIANT),),
        (attack,),
        (),
        "latency",
        notes=notes,
    )


def _invalid(text: str) -> UsageError:
    return UsageError(f'invalid URL "{text}"', hint="such as https://www.example.com/page, without user or fragment")
