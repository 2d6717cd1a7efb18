"""How long clients may keep a response: what `expires` says of it (`ngx_http_set_expires`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nginxopt.request.model import OutcomeForm
from nginxopt.semantics import Level
from nginxopt.semantics.site import LoweredSite
from nginxopt.semantics.values import seconds

LASTING = {"cache-control": "Cache-Control", "expires": "Expires"}
"""The headers that `expires` sets, by their names in lower case."""

_A_TIME = "a time from the response on"

_FIXED = {
    "epoch": ("no-cache", "Thu, 01 Jan 1970 00:00:01 GMT"),
    "max": ("max-age=315360000", "Thu, 31 Dec 2037 23:55:55 GMT"),
}


FIXED_DATES = frozenset(date.encode() for _, date in _FIXED.values())
"""The dates of `Expires` that are the same whenever nginx answers."""


def of_upstream(level: Level) -> Mapping[str, Sequence[str]] | None:
    """Return the headers that `expires` sets in a response with status 200; None if they are not known, as with
    variables, times of the day, and times since a file was changed."""
    setting = level.setting("expires")
    if not setting.known:
        return None
    word = str(setting.value or "off")
    if word == "off":
        return {}
    if word == "modified" or "$" in word or word.startswith("@"):
        return None
    amount = seconds(word.lstrip("+-"))
    if word in _FIXED:
        control, time = _FIXED[word]
    elif amount is None:
        return None
    else:
        control = "no-cache" if word.startswith("-") and amount else f"max-age={amount}"
        time = _A_TIME
    return {"cache-control": [control], "expires": [time]}


def of_answer(outcome: OutcomeForm, site: LoweredSite) -> Mapping[str, Sequence[str]] | None:
    """Return the header `Expires` of an answer of nginx itself if it depends on the time, as the model does not show
    it; None if it is not known."""
    if outcome["unknown"] is not None and _is_of_expires(outcome["unknown"]["node"], site):
        return None
    names = {header["name"] for header in outcome["headers"] if _is_of_expires(header["node"], site)}
    return {"expires": [_A_TIME]} if names == {LASTING["cache-control"]} else {}


def _is_of_expires(node: int | None, site: LoweredSite) -> bool:
    directive = None if node is None else site.nodes.directive(node)
    return directive is not None and directive.name == "expires"
