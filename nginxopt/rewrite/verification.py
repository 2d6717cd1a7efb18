"""Asks `verify` about a result: a second proof, which shares with the first nothing but the reading of patterns.

A whole configuration is compared as a whole, a fragment in a server that shows what becomes of a request. Differences
that were declared are taken into the rules before.
"""

from __future__ import annotations

from nginxopt.config import Config, File, load_text, reread
from nginxopt.config.context import Context
from nginxopt.errors import InputError, NginxoptError
from nginxopt.request.model import Model
from nginxopt.request.verify import Verification, verify
from nginxopt.rewrite.emission import Emission
from nginxopt.semantics.site import Build
from nginxopt.text import Edit, apply, encode
from nginxopt.version import Version

_IN_SERVER = ("http", "server")
_STATE = b'add_header X-State "$uri $args $nginxopt_chosen";'
_CHOSEN = b'set $nginxopt_chosen "$nginxopt_chosen/";'
"""What counts how often a location is chosen: in a site, another one may be."""

_NAMED = b"alias /state/;"
"""What shows whether the location still names the URI, as the one around a fragment may."""

_WHOLE = b'events {}\nhttp {\n%s\nserver {\nlisten 80;\nset $nginxopt_chosen "";\n%s\n%s\n}\n}\n'


class NotVerifiedError(Exception):
    """Two configurations cannot be compared."""


def verification(emission: Emission, version: Version) -> Verification:
    """Compare a configuration with its result. Raises `NotVerifiedError` with the reason, a phrase.

    `version` is that of the nginx that runs both.
    """
    before, after = _sides(emission)
    try:
        return verify(Model(before, Build(version)), Model(after, Build(version)))
    except NginxoptError as error:
        raise NotVerifiedError(f"the configuration is not understood as a site: {error}") from None


def _sides(emission: Emission) -> tuple[Config, Config]:
    config, main = emission.plan.config, emission.plan.config.main
    declared = _declared(emission)
    if config.http is not None:
        texts = {change.file.path: change.after for change in emission.changes}
        if emission.maps_path is not None:
            texts[emission.maps_path] = emission.maps
        return reread(config, declared) if declared else config, reread(config, texts)
    if len(config.files) > 1 or config.missing:
        raise NotVerifiedError("a file that includes others is compared with its nginx.conf: name that with -c")
    context = _context(emission)
    variables = b" ".join(encode(regex_map.variable or "") for regex_map in emission.plan.regex_maps)
    before = declared.get(main.path, main.source.data)
    return _around(context, before, b"", variables), _around(context, emission.after(main), emission.http, variables)


def _declared(emission: Emission) -> dict[str, bytes]:
    """Return the files with rules that a declared reading changes, with what it makes of them, by path."""
    edits: dict[File, list[Edit]] = {}
    for compiled in emission.compiled:
        if compiled.run.declared:
            edits.setdefault(compiled.part.file, []).extend(compiled.run.declared)
    return {file.path: apply(file.source.data, changes) for file, changes in edits.items()}


def _context(emission: Emission) -> Context:
    """Return where a fragment is included; in a server if that is left open, as the result takes it."""
    places = set(emission.plan.config.contexts(emission.plan.config.main))
    if _IN_SERVER in places:
        return _IN_SERVER
    if len(places) != 1:
        raise NotVerifiedError("it is not known where the file is included: say it with --context")
    return places.pop()


def _around(context: Context, text: bytes, maps: bytes, variables: bytes) -> Config:
    """Return a fragment in a server, which also shows the values of some variables."""
    match context:
        case ("http", "server"):
            whole = _WHOLE % (maps, text, b"location / { %s %s }" % (_STATE, _NAMED))
        case ("http", "server", "location"):
            named = b"" if _has_files(text) else _NAMED
            whole = _WHOLE % (maps, b"location / { %s %s %s" % (_CHOSEN, _STATE, named), text + b"\n}")
        case ("http",):
            whole = _WHOLE % (maps + text, b"", b'return 200 "%s";' % variables)
        case _:
            raise NotVerifiedError(f"a file for {', '.join(context) or 'the main context'} is not compared")
    try:
        return load_text(whole, "nginx.conf", missing_ok=True)
    except InputError as error:
        raise NotVerifiedError(str(error)) from None


def _has_files(text: bytes) -> bool:
    """Return whether a fragment of a location says itself where its files are."""
    fragment = load_text(text, includes=False).main.block
    return any(directive.name in ("root", "alias") for directive in fragment.directives())
