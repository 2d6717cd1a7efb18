"""The trace of one request: the outcome, the decisions that led to it, and the settings in force there.

For the terminal the answer comes first, then the way there in nginx's order, then the settings, which an operator looks
up next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from nginxopt.config import Directive
from nginxopt.records import record
from nginxopt.request.client import ClientGate, Request, RequestForm
from nginxopt.request.model import (
    BranchForm,
    OutcomeForm,
    OutcomeKind,
    PassedForm,
    QuestionForm,
    SiteModel,
    StepForm,
    StepKind,
    TraceForm,
    UnknownForm,
    World,
    conditions,
    depends,
    shown,
    told,
)
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import INHERITANCE
from nginxopt.semantics.site import DirectivePlace, LoweredSite
from nginxopt.semantics.site.form import Node
from nginxopt.semantics.upstreams import PROTOCOLS
from nginxopt.text.display import Style, count, printable, shorten
from nginxopt.version import Version

_ALWAYS = ("add_header", "add_trailer", "expires", "error_page", "access_log", "error_log")
_OF_LATER_PHASES = (
    *("allow", "deny", "satisfy", "auth_basic", "auth_request", "limit_req", "limit_conn", "limit_rate"),
    *("client_max_body_size", "mirror"),
)
"""Those of the phases behind the script: a `return` or `rewrite` comes before them."""
_FILES = ("root", "alias", "index", "autoindex", "default_type", "etag", "gzip", "gzip_static", "open_file_cache")
_BEFORE_LIMITS: frozenset[OutcomeKind] = frozenset(["return", "redirect", "closed"])
_BY_KIND: dict[OutcomeKind, tuple[str, ...]] = {"static": _FILES, "unknown": _FILES}


@record(eq=True)
class InForce:
    """A setting in force: its directives, all those of a list; None if it is not known."""

    name: str
    directives: tuple[Directive, ...] | None


def in_force(level: Level, outcome: OutcomeForm) -> Iterator[InForce]:
    """Yield the settings at a level that matter to an outcome, as far as any are stated."""
    for name in _names(level, outcome["kind"]):
        setting = level.headers(name) if name in INHERITANCE else level.setting(name)
        if not setting.known:
            yield InForce(name, None)
        elif setting.directives:
            yield InForce(name, setting.directives)


def _names(level: Level, kind: OutcomeKind) -> Iterator[str]:
    yield from _ALWAYS
    if kind in _BEFORE_LIMITS:
        return
    yield from _OF_LATER_PHASES
    yield from _BY_KIND.get(kind, ())
    if kind in PROTOCOLS:
        yield from sorted(_of_protocol(level, f"{kind}_"))


def _of_protocol(level: Level | None, prefix: str) -> set[str]:
    """Return the settings of a protocol that a level, or a level around it, states."""
    names: set[str] = set()
    while level is not None:
        names |= {name for name in level.names if name.startswith(prefix) and not name.endswith("_cache_path")}
        level = level.parent
    return names


_LIMITS = ("limit_req", "limit_conn")
_TOO_MANY = 503
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
class Supposition:
    """What was taken as given.

    Attributes:
        place: Its directive; None if there is none.
        text: A clause.
        otherwise: The outcomes if it does not hold, where that is known: one, or one for each branch.
    """

    place: DirectivePlace | None
    text: str
    otherwise: tuple[OutcomeForm, ...] = ()


@record(eq=True)
class Trace:
    """What becomes of a request, and why.

    Attributes:
        version: The nginx that answers.
        origin: Where that version is from.
        sent: The request as the model reads it, with the connection.
        branches: If the outcome depends on files or events, what it is by them; it is then `unknown` itself.
        notes: What was taken as given besides the premises of the site.
        limits: The limits in force, which other requests may have used up.
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
    limits: tuple[Supposition, ...] = ()
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

    def split(self, node: Node | None) -> list[str]:
        """Return the values of a variable, `NAME=VALUE`, if the directive is a `split_clients`, which chooses one of
        them by chance; otherwise nothing."""
        directive = None if node is None else self.site.nodes.directive(node)
        if directive is None or directive.name != "split_clients" or directive.block is None:
            return []
        name = str(directive.args[-1]).removeprefix("$")
        return [f"{name}={row.args[0]}" for row in islice(directive.block.directives(), _CHANCES) if row.args]

    @property
    def premises(self) -> list[Supposition]:
        """What was taken as given."""
        of_site = [Supposition(self.place(premise.node), premise.text) for premise in self.site.premises]
        return [*of_site, *self.limits, *(Supposition(None, note) for note in self.notes)]


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
    limits = tuple(_limits(model, sent, known.world, outcome))
    return Trace(model.site, model.version, known.origin, request, sent, outcome, steps, branches, known.notes, limits)


def _limits(model: SiteModel, sent: RequestForm, world: World, outcome: OutcomeForm) -> Iterator[Supposition]:
    """Yield the limits in force, with the outcome of a request that they refuse. Scripts answer before them."""
    number = outcome["level"]
    if number is None or outcome["kind"] in ("return", "redirect", "closed"):
        return
    level = model.site.levels[number]
    for name in _LIMITS:
        if (level.setting(f"{name}_dry_run").value or "").lower() == "on":
            continue
        status = int(level.setting(f"{name}_status").value or _TOO_MANY)
        for directive in level.setting(name).directives:
            node = model.site.nodes.number(directive)
            place = model.site.nodes.place(node)
            beyond = replace(world, exceeded={"node": node, "level": number, "status": status})
            refused = model.trace(sent, beyond)["outcome"]
            branches = told(model.branches(sent, beyond)) if depends(refused) else ()
            otherwise = tuple(branch["outcome"] for branch in branches) or (refused,)
            answers = " or ".join(dict.fromkeys(map(headline, otherwise)))
            text = f"{shorten(place.text, WIDTH)} is not exceeded; a request beyond it gets {answers}"
            yield Supposition(place, text, otherwise)


def line_of(place: DirectivePlace) -> str:
    """Return `file:line`."""
    return f"{place.path}:{place.line}"


def directive_text(place: DirectivePlace) -> str:
    """Return a directive for people, on one line and shortened."""
    return printable(shorten(place.text, WIDTH))


PASSED_OVER = 3
"""The number of candidates passed over that are listed of each step."""

LONGEST = 2000
"""The most characters of a value that are printed."""

STEPS = 500
"""The most steps that are printed of the beginning of a way, and of its end."""

BESIDE = 60
"""The longest condition that an answer stands beside, in characters."""

_CHANCES = 4
"""The most values of `split_clients` that are named."""

_COLORS = {1: "cyan", 2: "green", 3: "cyan", 4: "yellow", 5: "red"}
_ARROW: frozenset[StepKind] = frozenset(["rewrite", "internal", "error_page"])
"""The steps whose detail is where the request goes from there."""
_VALUE: frozenset[StepKind] = frozenset(["set", "map"])
"""The steps whose detail is a value."""
_OF_CLIENT = ("binary_remote_addr", "realip_remote_addr", "remote_addr")
"""The variables that follow the address of the client, which `allow`, `geo` and `set_real_ip_from` read, too."""
_WITH_CLIENT = "answer with --client ADDRESS"
_CLIENT = "the client is in "
"""How the events begin that the address of the client settles."""
_SILENT: frozenset[StepKind] = frozenset(["socket", "server", "location", "return", "break", "handler"])
"""The steps whose detail is already in the line itself, or in the outcome."""
_CONNECTING: frozenset[StepKind] = frozenset(["socket", "server"])
"""The steps before a server answers."""


def render(trace: Trace, *, color: bool = False, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of a trace; `verbose` lists all candidates that were passed over."""
    return (f"{line}\n" for line in _Text(trace, Style(color), verbose).lines())


def way(trace: Trace) -> Iterator[str]:
    """Yield the outcome and the steps that led there, without the request and the settings."""
    return _Text(trace, Style(color=False), verbose=False).way()


class _Text:
    def __init__(self, trace: Trace, style: Style, verbose: bool) -> None:
        self._trace = trace
        self._style = style
        self._shown = None if verbose else PASSED_OVER
        places = [trace.place(step["node"]) for step in trace.steps if step["node"] is not None]
        self._width = max((len(printable(line_of(place))) for place in places), default=0)

    def lines(self) -> Iterator[str]:
        yield from self._answer()
        yield ""
        yield from self._request()
        steps = [step for step in self._trace.steps if not self._is_said(step)]
        rest = max(0, len(steps) - 2 * STEPS)
        for step in steps[:STEPS]:
            yield from self._step(step)
        if rest:
            yield self._style(f"  and {count(rest, 'other step')} (--format json lists them)", dim=True)
        for step in steps[STEPS:][rest:]:
            yield from self._step(step)
        yield from self._response()
        yield from self._settings()
        yield from self._premises()
        yield ""
        yield f"for nginx {self._trace.version} ({self._trace.origin})"

    def way(self) -> Iterator[str]:
        yield from self._answer()
        for step in self._trace.steps[:STEPS]:
            if step["kind"] not in _CONNECTING and not self._is_said(step):
                yield from self._step(step)

    def _answer(self) -> Iterator[str]:
        if self._trace.branches:
            yield from self._branches()
        else:
            yield from self._outcome()
        yield from self._comparison()

    def _branches(self) -> Iterator[str]:
        """Yield the answers by what exists: the condition, the answer beside it, and below what decides."""
        branches = told(self._trace.branches)
        yield self._style(dependence(branches), fg="magenta", bold=True)
        clauses = [printable(clause) for clause in conditions(branches)]
        width = min(max(map(len, clauses)), BESIDE)
        for clause, branch in zip(clauses, branches, strict=True):
            outcome = branch["outcome"]
            if len(clause) > width:
                yield f"  {clause}"
                clause = ""
            yield f"  {clause:<{width}}  {self._style(headline(outcome), fg=_hue(outcome), bold=True)}"
            for line in self._by(_decisive(outcome)):
                yield f"{'':<{width + 2}}{line}"
        advised = _advice_of_branches(self._trace, branches)
        if advised is not None:
            yield f"  {self._style('help:', fg='cyan')} {printable(advised)}"

    def _outcome(self) -> Iterator[str]:
        outcome = self._trace.outcome
        yield self._style(headline(outcome), fg=_hue(outcome), bold=True)
        unknown, node = outcome["unknown"], outcome["node"]
        if outcome["kind"] != "unknown":
            yield from self._by(node)
        if unknown is not None:
            if outcome["kind"] != "unknown":
                yield f"  {self._style('not known:', fg='magenta')} {printable(unknown['reason'])}"
            yield from self._by(unknown["node"])
            advised = advice_of(self._trace, unknown)
            if advised is not None:
                yield f"  {self._style('help:', fg='cyan')} {printable(advised)}"

    def _comparison(self) -> Iterator[str]:
        comparison = self._trace.comparison
        if comparison is None:
            return
        if comparison.reason is not None:
            yield f"  nginx was not asked: {printable(comparison.reason)}"
        elif not comparison.differences:
            yield f"  {self._style('nginx answers the same', fg='green')}"
        for difference in comparison.differences:
            yield f"  {self._style('differs:', fg='red', bold=True)} {printable(difference)}"

    def _by(self, node: Node | None) -> Iterator[str]:
        if node is not None:
            yield f"  by {self._at(self._trace.place(node))}"

    def _is_said(self, step: StepForm) -> bool:
        """Return whether a step says nothing beyond the outcome: a handler that is the statement that answers, or that
        no directive sets."""
        is_statement = self._trace.outcome["kind"] in ("return", "redirect", "error")
        return step["kind"] == "handler" and (step["node"] is None or is_statement)

    def _request(self) -> Iterator[str]:
        sent = self._trace.sent
        connection = sent["connection"]
        tls = "" if not connection["tls"] else " with TLS"
        sni = f" for {shown(connection['sni'])}" if connection["sni"] else ""
        host = connection["host"] if ":" not in connection["host"] else f"[{connection['host']}]"
        yield self._sent(f"{sent['method']} {sent['target']} HTTP/{'.'.join(map(str, sent['version']))}")
        for name, value in sent["headers"]:
            if name.lower() not in ("user-agent", "accept"):
                yield self._sent(f"{name}: {value}")
        yield f"* connected to {printable(shown(host))}:{connection['port']}{tls}{printable(sni)}"

    def _sent(self, line: str) -> str:
        return f"> {printable(shown(line))}"

    def _step(self, step: StepForm) -> Iterator[str]:
        kind = self._style(f"{step['kind'].replace('_', ' '):<10}", fg="cyan")
        node = step["node"]
        place = None if node is None else self._trace.place(node)
        where = f"{'' if place is None else printable(line_of(place)):<{self._width}}"
        yield f"* {kind} {where}  {self._says(step, place)}".rstrip()
        for number, capture in enumerate(step["captures"]):
            if number and capture is not None:
                yield f"      ${number} = {_quoted(capture)}"
        detail = step["detail"]
        if step["kind"] in _VALUE:
            yield f"      = {_quoted(detail)}"
        elif step["kind"] not in _SILENT and detail:
            yield f"      {'-> ' if step['kind'] in _ARROW else ''}{_short(detail)}"
        yield from self._passed_over(step)

    def _says(self, step: StepForm, place: DirectivePlace | None) -> str:
        """Return what a step is about: its directive, or the names of its server."""
        if step["kind"] == "server" and self._trace.outcome["server"] is not None:
            names = self._trace.site.site["servers"][self._trace.outcome["server"]]["names"]
            listed = " ".join(shown(name["text"]) for name in names if name["text"])
            return printable(shorten(f"server_name {listed}", WIDTH) if listed else "server without server_name")
        if place is None:
            return printable(shown(step["detail"]))
        return directive_text(place)

    def _passed_over(self, step: StepForm) -> Iterator[str]:
        others = step["passed_over"]
        for other in others[: self._shown]:
            place = self._trace.place(other["node"])
            yield self._style(f"      not {self._at(place)} ({printable(other['reason'])})", dim=True)
        rest = len(others) - len(others[: self._shown])
        if rest:
            yield self._style(f"      and {count(rest, 'other')} (-v lists them)", dim=True)

    def _response(self) -> Iterator[str]:
        outcome = self._trace.outcome
        if outcome["status"] is not None:
            yield f"< HTTP {outcome['status']}"
        if outcome["location"] is not None:
            yield f"< Location: {_short(outcome['location'])}"
        for header in outcome["headers"]:
            place = self._trace.place(header["node"])
            yield f"< {printable(shown(header['name']))}: {_short(header['value'])}    ({line_of(place)})"
        if outcome["body"]:
            yield f"< {_quoted(outcome['body'])}"

    def _settings(self) -> Iterator[str]:
        settings = self._trace.settings
        if not settings:
            return
        yield ""
        yield self._style("Settings in force", bold=True)
        for setting in settings:
            for directive in setting.directives or ():
                yield f"  {self._at(self._trace.place(self._trace.site.nodes.number(directive)))}"
        unread = [setting.name for setting in settings if setting.directives is None]
        if unread:
            yield f"  not known: {', '.join(unread)}"

    def _premises(self) -> Iterator[str]:
        premises = self._trace.premises
        if premises:
            yield ""
            yield self._style("Taken as given", bold=True)
        for given in premises:
            yield f"  {'' if given.place is None else printable(line_of(given.place)) + ': '}{printable(given.text)}"

    def _at(self, place: DirectivePlace) -> str:
        """Return `file:line: directive`."""
        return f"{self._style(printable(line_of(place)), bold=True)}: {directive_text(place)}"


def _hue(outcome: OutcomeForm) -> str | None:
    status = outcome["status"]
    return "magenta" if status is None else _COLORS.get(status // 100)


def _decisive(outcome: OutcomeForm) -> Node | None:
    """Return the directive that decides an outcome, or that makes it unknown."""
    return outcome["unknown"]["node"] if outcome["kind"] == "unknown" and outcome["unknown"] else outcome["node"]


def headline(outcome: OutcomeForm) -> str:
    """Return an outcome in one line."""
    status = outcome["status"]
    code = "" if status is None else f"{status} "
    unknown = outcome["unknown"]
    match outcome["kind"]:
        case "unknown":
            return printable(f"unknown: {unknown['reason'] if unknown else ''}")
        case "redirect":
            location = outcome["location"]
            return f"{code}-> {'a Location that is not known' if location is None else _short(location)}"
        case "closed":
            return "closed without a response"
        case "refused":
            return "no connection, as nothing listens there"
        case "return":
            if outcome["body"]:
                return f"{code}{_quoted(outcome['body'])}"
            return f"{code}{'by return' if unknown is None else 'with a body that is not known'}"
        case "static":
            return f"{code or 'the file '}{_short(outcome['file'] or '')}"
        case "error":
            missing = f": {_short(outcome['file'])} is missing" if outcome["file"] and status == 404 else ""
            return f"{code}by nginx itself{missing}"
        case "handler":
            return f"{code}by a handler of nginx"
        case kind:
            return f"{code}passed on to {printable(_upstream(kind, outcome['upstream']))}"


def _upstream(kind: str, passed: PassedForm | None) -> str:
    if passed is None:
        return "an upstream that is not known"
    scheme = passed["scheme"] or kind
    server, target = shorten(shown(passed["server"]), LONGEST), passed["target"]
    asked = "" if target is None else f": {shown(passed['method'])} {shorten(shown(target), LONGEST)}"
    return f"{shown(scheme)}://{server}{asked}"


def advice_of(trace: Trace, unknown: UnknownForm) -> str | None:
    """Return how the command line settles what makes an outcome unknown; None if nothing does."""
    include = trace.missing_include(unknown["node"])
    if include is not None and trace.outcome["kind"] == "unknown":
        return (
            f"answer with --assume include:{include}=neutral if that file changes no more than headers and bodies,"
            f" or include:{include}=FILE"
        )
    if values := trace.split(unknown["node"]):
        return f"answer with --assume {' or '.join(values)}"
    return None if unknown["question"] is None else advice(unknown["question"])


def dependence(branches: Sequence[BranchForm]) -> str:
    """Return on what the answer depends if it has branches, a phrase."""
    is_of_files = any(branch["exists"] for branch in branches)
    return f"depends on {'files' if is_of_files else 'what no configuration shows'}"


def _advice_of_branches(trace: Trace, branches: Sequence[BranchForm]) -> str | None:
    """Return how the command line states an event that branches depend on; None if it does not."""
    if any(event.startswith(_CLIENT) for branch in branches for event in branch["happens"]):
        return _WITH_CLIENT
    unknown = trace.outcome["unknown"]
    return advice_of(trace, unknown) if unknown is not None and trace.split(unknown["node"]) else None


def advice(question: QuestionForm) -> str:
    """Return how a question is answered on the command line."""
    if question["kind"] == "file":
        path = shown(question["path"])
        return f"answer with --assume exists={path} or missing={path}, or with --root DIR"
    if question["kind"] == "variable" and question["name"] in _OF_CLIENT:
        return _WITH_CLIENT
    if question["kind"] == "variable":
        return f"answer with --assume {shown(question['name'])}=VALUE"
    if question["kind"] == "event":
        return _WITH_CLIENT if question["text"].startswith(_CLIENT) else "no option answers that"
    return f"the response of {shown(question['server'])} decides"


def _quoted(text: str) -> str:
    return f'"{_short(text)}"'


def _short(text: str) -> str:
    """Return a value as it is printed: JSON has all of one that is long."""
    return printable(shorten(shown(text), LONGEST))
