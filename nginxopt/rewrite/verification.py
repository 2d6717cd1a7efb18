"""Compares a result with its configuration by `verify`: a second proof, which shares only the parser of patterns.

A whole configuration is compared as it is. A fragment is put into a server that shows the state after the rules.
Declared differences are first applied to the original rules, so that they do not count as differences. `ways` shows the
way of one request through both configurations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from nginxopt import lazy
from nginxopt.config import Config, File, load_text, reread
from nginxopt.config.configuration import Context
from nginxopt.config.filesystem import Overlay, RecordedFiles
from nginxopt.errors import InputError, NginxoptError, UsageError
from nginxopt.request import UrlError, read_request, read_url
from nginxopt.request.model import SiteModel, World
from nginxopt.request.trace import Circumstances, trace, way
from nginxopt.rewrite import evaluations
from nginxopt.rewrite.kinds.rules.planning import emitted
from nginxopt.rewrite.mapfile import FRAGMENT_NAME, sizes_text
from nginxopt.rewrite.proving import Emission
from nginxopt.semantics.site import Build
from nginxopt.settings.target import choose
from nginxopt.text import Edit, apply, encode
from nginxopt.verify import Verification, verify
from nginxopt.verify.premises import UNMATCHED_EMPTY, Premises
from nginxopt.version import Version

_IN_SERVER = ("http", "server")
_STATE = b'add_header X-State "$uri $args $nginxopt_chosen";'
_CHOSEN = b'set $nginxopt_chosen "$nginxopt_chosen/";'
"""Counts how often a location is chosen, because another choice would matter in the user's site."""

_NAMED = b"alias /state/;"
"""Makes the outcome depend on the prefix of the chosen location, as it may in the location around a fragment."""

_ANYWHERE = b"location = /nginxopt { try_files /nginxopt $arg_nginxopt; }"
"""Redirects to any URI, even one without a slash, as the configuration around a fragment may."""

_WHOLE = b'events {}\nhttp {\n%s\nserver {\nlisten 80;\nset $nginxopt_chosen "";\n%s%s\n%s\n%s\n}\n}\n'


_UNKNOWN = lazy.pattern(r'unknown "(\w+)" variable')


class NotVerifiedError(Exception):
    """The two configurations cannot be compared; the message is the reason, as a phrase."""


def verification(emission: Emission, version: Version) -> Verification:
    """Compare a configuration with its result. Raises `NotVerifiedError` if that is not possible.

    `version` is that of the nginx that runs both.
    """
    undefined: tuple[str, ...] = ()
    while True:
        before, after = sides(emission, is_kept=False, undefined=undefined)
        try:
            models = SiteModel(before, Build(version)), SiteModel(after, Build(version))
            return verify(*models, premises=Premises(frozenset({UNMATCHED_EMPTY})))
        except NginxoptError as error:
            config = emission.plan.config
            unknown = _UNKNOWN.search(str(error)) if config.http is None else None
            if unknown is None or unknown[1] in undefined or encode(unknown[1]) not in config.main.source.data:
                raise NotVerifiedError(f"the configuration is not understood as a site: {error}") from None
            undefined = (*undefined, unknown[1])


def sides(emission: Emission, *, is_kept: bool = True, undefined: Iterable[str] = ()) -> tuple[Config, Config]:
    """Return the whole configuration before and after. Raises `NotVerifiedError` if it is not known.

    Without `is_kept`, all maps of rules are volatile: see `evaluations.anew`. The variables that are `undefined` in a
    fragment, without their `$`, may have any value that a header of a request has.
    """
    config = emission.plan.config
    declared = _declared(emission)
    if config.http is not None:
        texts = {change.file.path: change.after for change in emission.changes}
        if emission.maps_path is not None:
            texts[emission.maps_path] = emission.maps
        if not is_kept:
            lists = emitted(emission.plan.rules, emission.plan.maps_name)
            names = [name for compiled in lists for name in evaluations.kept(compiled.maps)]
            texts = {path: evaluations.anew(text, names) for path, text in texts.items()}
        return reread(config, declared) if declared else config, reread(config, texts)
    variables = b" ".join(encode(regex_map.variable) for regex_map in emission.plan.maps.found)
    headers = encode("".join(f"set ${name} $http_nginxopt_{name};\n" for name in undefined))
    around = partial(_around, config, _context(emission), variables=variables, headers=headers)
    after = {change.file.path: change.after for change in emission.changes}
    sizes = sizes_text({name: size for name, size in emission.sizes.items() if not _states(config, name)})
    return around(declared, sizes, b""), around(after, sizes, emission.blocks)


def _declared(emission: Emission) -> dict[str, bytes]:
    """Return the texts of files after applying declared readings to their rules, by path."""
    edits: dict[File, list[Edit]] = {}
    for compiled in emitted(emission.plan.rules, emission.plan.maps_name):
        if compiled.run.declared:
            edits.setdefault(compiled.part.file, []).extend(compiled.run.declared)
    return {file.path: apply(file.source.data, changes) for file, changes in edits.items()}


def _context(emission: Emission) -> Context:
    """Return the context of a fragment. If a server is one of several possible contexts, the result assumes that."""
    places = set(emission.plan.config.contexts(emission.plan.config.main))
    if _IN_SERVER in places:
        return _IN_SERVER
    if len(places) != 1:
        raise NotVerifiedError("it is not known where the file is included: say it with --context")
    return places.pop()


def _around(
    config: Config,
    context: Context,
    texts: Mapping[str, bytes],
    sizes: bytes,
    maps: bytes,
    *,
    variables: bytes,
    headers: bytes,
) -> Config:
    """Return a configuration around a fragment, whose responses show the state after the rules and some variables.

    `texts` replaces those of some files, by path; `sizes` states those of hash tables that the fragment does not state;
    `headers` sets variables before the rules. What files that were not read hold counts as the same before and after.
    """
    main = config.main
    text = texts.get(main.path, main.source.data)
    match context:
        case ("http", "server"):
            others = b"" if _states(config, "location", "/") else b"location / { %s %s }" % (_STATE, _NAMED)
            whole = _WHOLE % (sizes + maps, headers, text, _ANYWHERE, others)
        case ("http", "server", "location"):
            named = b"" if _states(config, "root") or _states(config, "alias") else _NAMED
            inside = b"location / { %s %s %s" % (_CHOSEN, _STATE, named)
            whole = _WHOLE % (sizes + maps, headers, _ANYWHERE, inside, text + b"\n}")
        case ("http",):
            # nginx refuses sizes of hash tables behind a map, and the text may state others.
            whole = _WHOLE % (sizes + text + b"\n" + maps, headers, _ANYWHERE, b"", b'return 200 "%s";' % variables)
        case _:
            raise NotVerifiedError(f"a file for {', '.join(context) or 'the main context'} is not compared")
    files = Overlay({**texts, main.path: whole}, config.origin)
    try:
        return load_text(whole, main.path, prefix=config.prefix, missing_ok=True, files=files, roots=config.roots)
    except InputError as error:
        raise NotVerifiedError(str(error)) from None


def _states(config: Config, name: str, *args: str) -> bool:
    """Return whether a fragment or a file that it includes states a directive outside of blocks."""
    directives = (directive for file in config.files for directive in file.block.directives())
    return any(directive.name == name and directive.args[: len(args)] == args for directive in directives)


_SITE = "http://localhost/"
"""The site to which a path belongs. A fragment is in the only server of its configuration, which answers any host."""

_AROUND = b"""events {}
http {
    include maps;
    server {
        listen 80;
        include rules;
        location / { return 200 "$uri$is_args$args"; }
    }
}
"""
"""A server around a fragment and its maps. It answers with the URI if no rule does."""


def _sides(emission: Emission) -> Sequence[Config]:
    """Return the configuration before and after; that of a fragment for a server is the simplest."""
    config, main = emission.plan.config, emission.plan.config.main
    if config.http is not None or len(config.files) > 1 or ("http", "server") not in config.contexts(main):
        return sides(emission)
    included: dict[str, tuple[str, ...]] = {"maps": (FRAGMENT_NAME,), "rules": (main.path,)}
    sources = (
        {FRAGMENT_NAME: b"", main.path: main.source.data},
        {FRAGMENT_NAME: emission.http, main.path: emission.after(main)},
    )
    files = (RecordedFiles(texts, included) for texts in sources)
    return [load_text(_AROUND, "nginx.conf", missing_ok=True, files=each, roots=config.roots) for each in files]


def ways(emission: Emission, url: str) -> Iterator[str]:
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
