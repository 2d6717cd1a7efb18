"""Finds responses that depend on a header that the log does not have.

The model gets a request with the headers of its log line and no others. If its response is not the logged one, the
client may have sent a header that decides: an API key, a cookie, `X-Forwarded-Proto`. So the model is asked again, with
all other headers unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from nginxopt.request.client import ClientGate, NobodyListensError, Request, RequestForm, Url
from nginxopt.request.model import OutcomeForm, SiteModel, World

_OF_HEADERS = ("http_", "cookie_")
_MOST_ASKED = 32


class UnloggedHeaders:
    """The headers that a model may read, and that the logs do not have."""

    def __init__(self, model: SiteModel, gate: ClientGate, world: World, logged: Collection[str]) -> None:
        self._model, self._gate, self._world, self._logged = model, gate, world, logged

    def deciding(self, example: str, sites: Iterable[Url]) -> str | None:
        """Return the variable of a header on which the response to an example depends; None if there is none.

        `sites` are URLs of the server that answers.
        """
        for site in sites:
            url = replace(site, target=example.encode("latin-1"))
            host = url.authority.encode("latin-1")
            try:
                form = self._gate.form(Request(url, ((b"Host", host),)))
            except (NobodyListensError, ValueError):
                continue
            if (name := self._asked(form)) is not None:
                return name
        return None

    def _asked(self, form: RequestForm) -> str | None:
        """Return the first variable of a header that the model asks for and that is neither assumed nor logged."""
        known = dict(self._world.variables)
        for _ in range(_MOST_ASKED):
            world = replace(self._world, variables=known, may_send_more=True)
            branches = [branch["outcome"] for branch in self._model.branches(form, world)]
            asked = {*map(_variable, branches or [self._model.trace(form, world)["outcome"]])} - {None, *known}
            for name in sorted(filter(None, asked)):
                if name.startswith(_OF_HEADERS) and not self._is_logged(name):
                    return name
                known[name] = ""  # the log line has none
            if not asked:
                return None
        return None

    def _is_logged(self, name: str) -> bool:
        is_of_cookie = name.startswith("cookie_") and "http_cookie" in self._logged
        return name == "http_host" or name in self._logged or is_of_cookie


def _variable(outcome: OutcomeForm) -> str | None:
    """Return the variable that decides and whose value is unknown."""
    question = outcome["unknown"]["question"] if outcome["unknown"] else None
    return question["name"] if question is not None and question["kind"] == "variable" else None
