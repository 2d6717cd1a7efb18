"""The trace of one request: the outcome, the decisions that led to it, and the settings in force there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.records import record
from nginxopt.request.client import Request
from nginxopt.request.connection import ClientGate, RequestForm
from nginxopt.request.in_force import InForce, in_force
from nginxopt.request.model import SiteModel
from nginxopt.request.outcomes import BranchForm, OutcomeForm, StepForm, TraceForm, depends, told
from nginxopt.request.world import World
from nginxopt.semantics import Level
from nginxopt.semantics.site import DirectivePlace, LoweredSite
from nginxopt.semantics.site.form import Node
from nginxopt.text.display import printable, shorten
from nginxopt.version import Version

_LIMITS = ("limit_req", "limit_conn")
_TOO_MANY = "503"
"""What a request beyond a limit gets by default."""

WIDTH = 100
"""The longest text of a directive that is shown, in characters: a block of Lua is one word."""


@record(eq=True)
class RealComparison:
    """How the answer of a real nginx differs from that of the model.

    Attributes:
        nginx: Its name and version.
        differences: A clause each.
        reason: Why nothing was compared; None if the answers were.
        seconds: The time of the response, where it was measured.
    """

    nginx: str
    differences: tuple[str, ...] = ()
    reason: str | None = None
    seconds: float | None = None


@record(eq=True)
class Trace:
    """What becomes of a request, and why.

    Attributes:
        version: The nginx that answers.
        origin: Where that version is from.
        sent: The request as the model reads it, with the connection.
        branches: If the outcome depends on files or events, what it is by them; it is then `unknown` itself.
        notes: What was taken as given besides the premises of the site.
        comparison: With the answer of a real nginx, if one was asked.
    """

    site: LoweredSite
    version: Version
    origin: str
    request: Request
    sent: RequestForm
    outcome: OutcomeForm
    steps: Sequence[StepForm]
    branches: tuple[BranchForm, ...] = ()
    notes: tuple[str, ...] = ()
    comparison: RealComparison | None = None

    def place(self, node: Node) -> DirectivePlace:
        """Return where a directive stands."""
        return self.site.nodes.place(node)

    @property
    def level(self) -> Level | None:
        """The level whose settings are in force: a location, an `if`, a server; None if none is known."""
        number = self.outcome["level"]
        if number is not None:
            return self.site.levels[number]
        return self.server

    @property
    def server(self) -> Level | None:
        """The server; None for a request that is refused before one is chosen."""
        number = self.outcome["server"]
        return None if number is None else self.site.servers[number]

    @property
    def location(self) -> Level | None:
        """The location, None if there is none."""
        return self.level.around("location") if self.level else None

    @property
    def settings(self) -> list[InForce]:
        """The settings in force."""
        return list(in_force(self.level, self.outcome)) if self.level else []

    def missing_include(self, node: Node | None) -> str | None:
        """Return the path of an include, as written, if that is what makes an outcome unknown; else None."""
        directive = None if node is None else self.site.nodes.directive(node)
        return str(directive.args[0]) if directive is not None and directive.name == "include" else None

    @property
    def premises(self) -> list[tuple[DirectivePlace | None, str]]:
        """What was taken as given, with its place."""
        of_site = [(self.place(premise.node), premise.text) for premise in self.site.premises]
        return [*of_site, *self._limits(), *((None, note) for note in self.notes)]

    def _limits(self) -> Iterator[tuple[DirectivePlace, str]]:
        """Yield the limits in force, which other requests may have used up. Scripts answer before them."""
        if self.level is None or self.outcome["kind"] in ("return", "redirect", "closed"):
            return
        for name in _LIMITS:
            if self.level.setting(f"{name}_dry_run").value == "on":
                continue
            status = self.level.setting(f"{name}_status").value or _TOO_MANY
            for directive in self.level.setting(name).directives:
                place = self.place(self.site.nodes.number(directive))
                yield place, f"this limit is not exceeded; a request beyond it gets {status}"


@record(eq=True)
class Circumstances:
    """What is known besides the configuration and the request.

    Attributes:
        gate: How clients connect.
        origin: Where the version of the model is from.
        sni: The name in the TLS handshake if it is not the host of the URL; empty for none.
        notes: What was taken as given.
    """

    world: World
    gate: ClientGate
    origin: str
    sni: str | None = None
    notes: tuple[str, ...] = ()


def trace(model: SiteModel, request: Request, known: Circumstances) -> Trace:
    """Return the trace of a request.

    Raises `NobodyListensError` if nginx does not listen where it goes.
    """
    sent = known.gate.form(request)
    if known.sni is not None:
        sent["connection"]["sni"] = known.sni or None
    answer: TraceForm = model.trace(sent, known.world)
    outcome, steps = answer["outcome"], answer["steps"]
    branches = tuple(model.branches(sent, known.world)) if depends(outcome) else ()
    if len(told(branches)) == 1:  # whatever exists
        outcome, branches = branches[0]["outcome"], ()
    return Trace(model.site, model.version, known.origin, request, sent, outcome, steps, branches, known.notes)


def line_of(place: DirectivePlace) -> str:
    """Return `file:line`."""
    return f"{place.path}:{place.line}"


def directive_text(place: DirectivePlace) -> str:
    """Return a directive for people, on one line and shortened."""
    return printable(shorten(place.text, WIDTH))
