"""Evaluates texts of a configuration for a request, where its outcome is: by a site with these texts as headers."""

from __future__ import annotations

from nginxopt.request.model import Answering, SiteModel
from nginxopt.request.outcomes import OutcomeForm
from nginxopt.request.world import World

_MOST = 40
"""The maximum number of sites that are made."""


class Texts:
    """The values of texts in a model. They are those of the time when nginx sends the headers of a response."""

    def __init__(self, model: SiteModel) -> None:
        self._model = model
        self._sites: dict[tuple[int, tuple[str, ...]], Answering | None] = {}

    def values(self, texts: tuple[str, ...], outcome: OutcomeForm, request: str, world: World) -> list[str | None]:
        """Return the values of texts at the level of an outcome of a request; None for one that is not known."""
        if not any("$" in text for text in texts):
            return list(texts)
        level = outcome["level"]
        site = None if level is None else self._site(level, texts)
        if site is None:
            return [text if "$" not in text else None for text in texts]
        again = site(request, world)
        if _place(again) != _place(outcome):
            return [None] * len(texts)
        found = {header["name"]: header["value"][1:] for header in again["headers"]}
        return [found.get(_name(number)) for number in range(len(texts))]

    def _site(self, level: int, texts: tuple[str, ...]) -> Answering | None:
        """Return the site with texts as headers at a level; None beyond the maximum."""
        key = level, texts
        if key not in self._sites:
            self._sites[key] = self._model.with_headers(level, _headers(texts)) if len(self._sites) < _MOST else None
        return self._sites[key]


def _place(outcome: OutcomeForm) -> tuple[object, ...]:
    return outcome["kind"], outcome["level"], outcome["node"], outcome["uri"]


def _headers(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return a header for each text; one with a value that is not empty is always sent."""
    return [(_name(number), f"={text}") for number, text in enumerate(texts)]


def _name(number: int) -> str:
    return f"X-{number}"
