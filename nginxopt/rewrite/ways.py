"""Shows the way of one request through the rules and through what replaces them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.config import Config, load_text
from nginxopt.errors import NginxoptError, UsageError
from nginxopt.request import UrlError, read_request, read_url
from nginxopt.request.model import SiteModel
from nginxopt.request.trace import Circumstances, trace
from nginxopt.request.trace_text import way
from nginxopt.request.world import World
from nginxopt.rewrite.emission import Emission
from nginxopt.rewrite.verification import NotVerifiedError, sides
from nginxopt.semantics.site import Build
from nginxopt.settings.target import choose

_SITE = "http://localhost/"
"""Where a path is asked for. A fragment is put into the only server of a configuration, which answers each host."""

_AROUND = b'events {}\nhttp {\n%s\nserver {\nlisten 80;\n%s\nlocation / { return 200 "$uri$is_args$args"; }\n}\n}\n'
"""A server around a fragment. It answers with the URI if no rule does."""


def _sides(emission: Emission) -> Sequence[Config]:
    """Return the configuration before and after; that of a fragment for a server is the simplest."""
    config, main = emission.plan.config, emission.plan.config.main
    if config.http is not None or len(config.files) > 1 or ("http", "server") not in config.contexts(main):
        return sides(emission)
    texts = ((b"", main.source.data), (emission.http, emission.after(main)))
    return [load_text(_AROUND % text, "nginx.conf", missing_ok=True) for text in texts]


def lines(emission: Emission, url: str) -> Iterator[str]:
    """Yield the way of a request before and after. Raises `UsageError` for a text that is no URL, path or request."""
    try:
        request = read_request(url, read_url(_SITE))
    except UrlError as error:
        raise UsageError(f"--explain {url}: {error.message}") from None
    target = choose(emission.plan.options.target, None)
    try:
        for name, config in zip(("before", "after"), _sides(emission), strict=True):
            model = SiteModel(config, Build(target.version))
            traced = trace(model, request, Circumstances(World(), model.gate(), target.origin))
            yield f"  way {name}"
            yield from (f"    {line}" for line in way(traced))
    except (NginxoptError, NotVerifiedError) as error:
        yield f"  the way of {url} is not known: {error}"
