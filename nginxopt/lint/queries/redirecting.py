"""Whether a configuration may have a chain of redirects: a look at its text that loads no model."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from nginxopt.config import Directive
from nginxopt.semantics import Level, read_listens, values

if TYPE_CHECKING:
    from nginxopt.lint.queries.model import Model

_CODES = ("301", "302", "303", "307", "308")
_FLAGS = ("permanent", "redirect", "last")


def may_chain(model: Model) -> bool:
    """Return whether redirects may follow each other: there are two, or the only one may lead to itself."""
    if any(level.bulks for level in model.levels("server", "location", "if", "fragment")):
        return True
    redirects = list(islice(_redirects(model), 2))
    return len(redirects) > 1 or any(_may_return(*redirect) for redirect in redirects)


def _redirects(model: Model) -> chain[tuple[Directive, Level]]:
    return chain(
        ((rewrite, level) for rewrite, level in model.each("rewrite") if _is_redirect(rewrite)),
        ((answer, level) for answer, level in model.each("return") if _answers_with_redirect(answer)),
    )


def _is_redirect(rewrite: Directive) -> bool:
    return any(word in _FLAGS for word in rewrite.args[2:]) or any(values.is_url(word) for word in rewrite.args[1:2])


def _answers_with_redirect(answer: Directive) -> bool:
    return any(word in _CODES or values.is_url(word) for word in answer.args[:1])


def _may_return(redirect: Directive, level: Level) -> bool:
    """Return whether a redirect may lead to its own server, which listens for the scheme that it names."""
    target = redirect.args[1] if len(redirect.args) > 1 else redirect.args[0]
    server = level.around("server")
    if server is None or server.is_open or not target.startswith(("http://", "https://")):
        return True
    is_tls = target.startswith("https://")
    if is_tls and server.setting("ssl").value == "on":  # before nginx 1.25.1, `ssl on` is for all its addresses
        return True
    return any(listen.has("ssl") is is_tls for listen in read_listens([server]))
