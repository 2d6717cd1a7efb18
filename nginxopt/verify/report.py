"""The result of `nginxopt verify` as text and as JSON (`schemas/verify.json`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nginxopt import __version__
from nginxopt.request.client import LOCAL
from nginxopt.request.model import OutcomeForm, SiteModel, shown
from nginxopt.request.trace import LONGEST, directive_text, headline, line_of
from nginxopt.semantics.site.form import Node
from nginxopt.text.display import Style, count, printable, shorten, unicode
from nginxopt.verify import verdict
from nginxopt.verify.premises import is_default, listed, sentence
from nginxopt.verify.verdict import Doubt, RequestWitness, Verification

VERSION = 1
"""The version of the form; it grows when a reader would have to change."""

MOST_PLACES = 20
"""How many servers and locations are listed that are not equal."""

_FEW = 2  # places, of which nothing needs to be counted
_COLORS = {"equivalent": "green", "different": "red", "unknown": "magenta"}


def text(result: Verification, old: SiteModel, new: SiteModel, names: tuple[str, str], *, color: bool) -> Iterator[str]:
    """Yield the lines of a result."""
    return (f"{line}\n" for line in _Text(result, (old, new), names, Style(color)).lines())


class _Text:
    def __init__(
        self, result: Verification, models: tuple[SiteModel, SiteModel], names: tuple[str, str], style: Style
    ) -> None:
        self._result = result
        self._models = models
        self._names = names
        self._style = style

    def lines(self) -> Iterator[str]:
        verdict = self._result.verdict
        yield self._style(f"{verdict}: {self._sentence()}", fg=_COLORS[verdict], bold=True)
        if self._result.witness is not None:
            yield from self._witness(self._result.witness)
        for doubt in self._result.doubts if self._result.witness is None else ():
            yield from self._doubt(doubt)
        if self._result.conditions:
            yield from self._conditions(self._result.conditions)
        yield from self._summary()
        if self._result.confirmation is not None and self._result.confirmation.holds:
            yield f"{self._result.confirmation.nginx} answers so, too"
        if self._result.witness is None:
            yield ""
            yield "taken as given:"
            yield from (f"  {premise}" for premise in self._result.given)

    def _sentence(self) -> str:
        servers = count(self._result.servers, "pair of servers", "pairs of servers")
        match self._result.verdict:
            case "equivalent":
                return f"both configurations answer every request alike ({servers} compared)"
            case "different":
                assert self._result.witness is not None
                premises = self._result.witness.premises
                return f"this request is answered differently{', if what it needs is so' if premises else ''}"
            case _ if self._result.conditions:
                return f"equivalent, if {listed(self._result.conditions)}"
            case _:
                places = count(len(self._result.doubts), "difference")
                return f"{places} may change an answer, but no request was found that shows it"

    def _witness(self, witness: RequestWitness) -> Iterator[str]:
        sent = witness.request
        connection = sent["connection"]
        tls = " over QUIC" if connection.get("quic", False) else " over TLS" if connection["tls"] else ""
        yield f"  {shown(sent['method'])} {printable(shown(sent['target']))}"
        yield from (f"  {shown(name)}: {printable(shown(value))}" for name, value in sent["headers"])
        host = f"[{connection['host']}]" if connection["family"] == "inet6" else connection["host"]
        yield f"  to {host}:{connection['port']}{tls}"
        yield from () if connection["client"] in (None, LOCAL) else (f"  from {connection['client']}",)
        yield from (f"  if {printable(shown(path))} exists" for path in witness.existing)
        yield from (f"  if {printable(shown(path))} does not exist" for path in witness.missing)
        yield from (f"  if {printable(premise)}" for premise in witness.premises)
        for side, (name, model, trace) in enumerate(
            zip(self._names, self._models, (witness.old, witness.new), strict=True)
        ):
            outcome = trace["outcome"]
            yield f"{self._style(printable(name), bold=True)}: {headline(outcome)}"
            yield from self._by(model, outcome) if witness.passing is None else ()
            for effect in witness.effects:
                values = (effect.old, effect.new)[side]
                yield from (f"  {effect.what}: {printable(shown(shorten(value, LONGEST)))}" for value in values)
                yield from () if values else (f"  no {effect.what}",)

    def _by(self, model: SiteModel, outcome: OutcomeForm) -> Iterator[str]:
        if outcome["node"] is not None:
            yield f"  by {_at(model, outcome['node'])}"
        yield from (
            f"  {printable(shown(header['name']))}: {printable(shown(header['value']))}"
            for header in outcome["headers"]
        )

    def _summary(self) -> Iterator[str]:
        """Yield the servers and locations that are not equal, if there are more than two places."""
        places = self._result.places
        changed = [place for place in places if place.state != "equal"]
        if not changed or len(places) <= _FEW:
            return
        yield ""
        yield verdict.sentence(places)
        for place in changed[:MOST_PLACES]:
            names = f": {', '.join(place.names)}" if place.names else ""
            yield f"  {printable(place.title)} {verdict.STATES[place.state][0]}{printable(names)}"
        if len(changed) > MOST_PLACES:
            yield f"  and {count(len(changed) - MOST_PLACES, 'place')} more"

    def _conditions(self, names: tuple[str, ...]) -> Iterator[str]:
        """Yield the premises with which both sides answer alike, and the options that take them as given."""
        yield ""
        yield from (f"  {name}: {sentence(name)}" for name in names)
        asked = [name for name in names if not is_default(name)]  # others were denied
        if asked:
            yield f"help: {' '.join(f'--assume {name}' for name in asked)}"

    def _doubt(self, doubt: Doubt) -> Iterator[str]:
        yield f"  {doubt.reason}"
        for name, model, node in zip(self._names, self._models, (doubt.old, doubt.new), strict=True):
            if node is not None:
                yield f"    {_at(model, node)}" if node else f"    {printable(name)}"


def _at(model: SiteModel, node: Node) -> str:
    place = model.site.nodes.place(node)
    return f"{printable(line_of(place))}: {directive_text(place)}"


def render(result: Verification, old: SiteModel, new: SiteModel) -> str:
    """Return a result as JSON."""
    return json.dumps(_form(result, old, new), ensure_ascii=False, indent=2) + "\n"


def _form(result: Verification, old: SiteModel, new: SiteModel) -> dict[str, Any]:
    witness = result.witness
    return {
        "version": VERSION,
        "nginxopt": __version__,
        "verdict": result.verdict,
        "servers": result.servers,
        "tried": result.tried,
        "witness": witness and _witness(witness, old, new),
        "doubts": [
            {"reason": doubt.reason, "old": _place(old, doubt.old), "new": _place(new, doubt.new)}
            for doubt in result.doubts
        ],
        "given": list(result.given),
        "premises": list(result.premises),
        "conditions": list(result.conditions),
        "summary": verdict.counts(result.places),
        "places": [
            {
                "server": unicode(place.server),
                "location": unicode(place.location),
                "state": place.state,
                "settings": list(place.names),
                "old": _place(old, place.old),
                "new": _place(new, place.new),
            }
            for place in result.places
            if place.state != "equal"
        ],
        "confirmed": None if result.confirmation is None else result.confirmation.holds,
    }


def _witness(witness: RequestWitness, old: SiteModel, new: SiteModel) -> dict[str, Any]:
    sent = witness.request
    return {
        "method": shown(sent["method"]),
        "target": shown(sent["target"]),
        "headers": [{"name": shown(name), "value": shown(value)} for name, value in sent["headers"]],
        "address": shown(sent["connection"]["host"]),
        "port": sent["connection"]["port"],
        "tls": sent["connection"]["tls"],
        "quic": sent["connection"].get("quic", False),
        "client": sent["connection"]["client"],
        "existing": [shown(path) for path in witness.existing],
        "missing": [shown(path) for path in witness.missing],
        "effects": [
            {"what": shown(each.what), "old": [*map(shown, each.old)], "new": [*map(shown, each.new)]}
            for each in witness.effects
        ],
        "premises": [*witness.premises],
        "old": _outcome(old, witness.old["outcome"]),
        "new": _outcome(new, witness.new["outcome"]),
    }


def _outcome(model: SiteModel, outcome: OutcomeForm) -> dict[str, Any]:
    location, body = outcome["location"], outcome["body"]
    return {
        "kind": outcome["kind"],
        "status": outcome["status"],
        "location": None if location is None else shown(location),
        "body": None if body is None else shown(body),
        "by": _place(model, outcome["node"]),
    }


def _place(model: SiteModel, node: Node | None) -> dict[str, Any] | None:
    if node is None:
        return None
    place = model.site.nodes.place(node)
    return {"file": unicode(place.path), "line": place.line, "text": unicode(place.text)}
