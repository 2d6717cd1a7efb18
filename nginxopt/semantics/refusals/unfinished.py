"""What nginx refuses before it comes to a syntax error: it acts on each directive as soon as it has read it."""

from __future__ import annotations

from nginxopt.config import load_text, statements
from nginxopt.errors import InputError
from nginxopt.semantics.inherit import levels
from nginxopt.semantics.refusals.walk import Refusal, first, refusals
from nginxopt.version import Version


def before(error: InputError, target: Version) -> list[Refusal]:
    """Return what nginx refuses of a file before its syntax error, in nginx's order. Takes time linear in the file.

    The statements before the error are judged with their open blocks closed, without what nginx says at the end of
    these.
    """
    source = error.source
    if source is None or source.outside or error.nginx is None:
        return []
    end = depth = 0
    try:
        for statement in statements(source):
            end = statement.end
            depth += {"{": 1, "}": -1}.get(statement.kind, 0)
    except InputError:
        pass
    text = source.data[:end] + b"}" * depth
    try:
        config = load_text(text, source.path, missing_ok=True)
        if not config.candidates:  # what is missing, or misplaced, may be what would tell
            config = load_text(text, source.path, missing_ok=True, context="main")
        found = first(refusals(levels(config, target), target))
    except InputError:
        return []
    return [refusal for refusal in found if refusal.is_while_reading and refusal.at <= end]
