"""A trace in sentences (`trace --explain`): what the client sees, then why, a sentence for each decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nginxopt.request.model import OutcomeForm, StepForm, StepKind, conditions, shown, told
from nginxopt.request.trace import Trace, advice_of, dependence, directive_text, headline, line_of
from nginxopt.text.display import count, printable, shorten

_LONGEST = 200
"""The most characters of a value."""

_MOST = 40
"""How many decisions are shown at most at the beginning and at the end of a way."""


def render(trace: Trace) -> Iterator[str]:
    """Yield the lines."""
    yield from (f"{line}\n" for line in _seen(trace))
    yield "\n"
    told = [sentence for step in trace.steps if (sentence := _sentence(trace, step))]
    rest = max(0, len(told) - 2 * _MOST)
    kept = [
        *told[:_MOST],
        *([f"({count(rest, 'other decision')} are not told.)"] if rest else []),
        *told[_MOST + rest :],
    ]
    yield from (f"{number}. {sentence}\n" for number, sentence in enumerate(kept, 1))
    if trace.premises:
        yield "\n"
        yield from (f"It is taken as given that {printable(given.text)}.\n" for given in trace.premises)


def _seen(trace: Trace) -> Iterator[str]:
    if not trace.branches:
        yield from _outcome(trace, trace.outcome)
        return
    branches = told(trace.branches)
    yield f"What the client sees {dependence(branches)}:"
    for clause, branch in zip(conditions(branches), branches, strict=True):
        (first, *_) = _outcome(trace, branch["outcome"])
        yield f"- {printable(clause)}: {first[0].lower()}{first[1:]}"


def _outcome(trace: Trace, outcome: OutcomeForm) -> Iterator[str]:
    """Yield what the client sees, with what decides, and if that is not known, what would settle it."""
    unknown = outcome["unknown"]
    node = unknown["node"] if outcome["kind"] == "unknown" and unknown else outcome["node"]
    by = "" if node is None else f", by {_at(trace, node)}"
    yield f"{_what(outcome)}{by}."
    if outcome["kind"] != "unknown" and unknown is not None:
        yield f"Not known: {printable(unknown['reason'])}."
    advised = None if unknown is None else advice_of(trace, unknown)
    if advised is not None:
        yield f"To settle it, {printable(advised)}."


def _what(outcome: OutcomeForm) -> str:
    status, file = outcome["status"], outcome["file"]
    code = "a response" if status is None else str(status)
    location = "an address that is not known" if outcome["location"] is None else _value(outcome["location"])
    match outcome["kind"]:
        case "unknown":
            return f"What the client sees is not known: {headline(outcome).removeprefix('unknown: ')}"
        case "redirect":
            return f"The client is redirected with {code} to {location}"
        case "closed":
            return "The connection is closed without a response"
        case "return":
            return f"The client gets {code}{' with the body ' + _quoted(outcome['body']) if outcome['body'] else ''}"
        case "static":
            return f"The client gets {code} with {_value(file or 'a file')}"
        case "error":
            missing = f", as {_value(file)} is missing" if file and status == 404 else ""
            return f"The client gets {code} with a page of nginx itself{missing}"
        case "handler":
            return f"The client gets {code} from a handler of nginx"
        case _:
            return f"The client gets what an upstream answers: the request is {headline(outcome)}"


def _sentence(trace: Trace, step: StepForm) -> str | None:
    """Return a decision in a sentence; None for one that another sentence tells."""
    tell = _TELL.get(step["kind"])
    return None if tell is None else tell(trace, step)


def _socket(trace: Trace, step: StepForm) -> str:
    connection = trace.sent["connection"]
    where = f"{shown(connection['host'])}:{connection['port']}"
    tls = " with TLS" if connection["tls"] else ""
    by = "" if step["node"] is None else f", where nginx listens by {_at(trace, step['node'])}"
    return f"The client connects to {printable(where)}{tls}{by}."


def _server(trace: Trace, step: StepForm) -> str:
    host = f"The host {_value(step['detail'])}" if step["detail"] else "A request without a host"
    place = "" if step["node"] is None else f" at {printable(line_of(trace.place(step['node'])))}"
    names = ""
    if trace.outcome["server"] is not None:
        listed = trace.site.site["servers"][trace.outcome["server"]]["names"]
        names = " ".join(shown(name["text"]) for name in listed if name["text"])
    named = f", whose names are {printable(shorten(names, _LONGEST))}" if names else ", which has no name"
    return f"{host} leads to the server{place}{named}."


def _location(trace: Trace, step: StepForm) -> str:
    if step["node"] is None:
        return f"No location takes {_value(step['detail'])}, so the server itself answers."
    passed = step["passed_over"][:1]
    others = "".join(f" Not taken: {_at(trace, other['node'])}: {printable(other['reason'])}." for other in passed)
    return f"{_value(step['detail'])} belongs to {_at(trace, step['node'])}.{others}"


def _rewrite(trace: Trace, step: StepForm) -> str:
    return f"{_by(trace, step)} matches, which gives {_value(step['detail'])}."


def _internal(trace: Trace, step: StepForm) -> str:
    where = f" with {_value(step['detail'])}" if step["detail"] else ""
    return f"nginx goes on{where} within itself, by {_by(trace, step)}."


def _files(trace: Trace, step: StepForm) -> str:
    path, _, found = step["detail"].rpartition(": ")
    return f"{_by(trace, step)} looks for {_value(path)}, which {'exists' if found == 'exists' else 'is missing'}."


def _access(trace: Trace, step: StepForm) -> str:
    if step["detail"] in ("allowed", "refused"):
        return f"{_by(trace, step)}: the client is {step['detail']}."
    return f"{_by(trace, step)} asks {_value(step['detail'])} first."


def _gives(trace: Trace, step: StepForm) -> str:
    return f"{_by(trace, step)} gives {_quoted(step['detail'])}."


_TELL: dict[StepKind, Callable[[Trace, StepForm], str]] = {
    "socket": _socket,
    "server": _server,
    "location": _location,
    "set": _gives,
    "map": _gives,
    "if": lambda trace, step: f"The condition of {_by(trace, step)} is {step['detail']}.",
    "rewrite": _rewrite,
    "return": lambda trace, step: f"{_by(trace, step)} answers with {shown(step['detail'])}.",
    "break": lambda trace, step: f"{_by(trace, step)} ends the rules.",
    "internal": _internal,
    "access": _access,
    "try_files": _files,
    "index": _files,
    "error_page": lambda trace, step: f"{_by(trace, step)} answers the error with {_value(step['detail'])}.",
}


def _by(trace: Trace, step: StepForm) -> str:
    return "nginx" if step["node"] is None else _at(trace, step["node"])


def _at(trace: Trace, node: int) -> str:
    """Return a directive and where it stands."""
    place = trace.place(node)
    return f"`{directive_text(place)}` ({printable(line_of(place))})"


def _value(text: str) -> str:
    return printable(shorten(shown(text), _LONGEST))


def _quoted(text: str | None) -> str:
    return f'"{_value(text or "")}"'
