"""Lowers a configuration to a site: structure only, as `rust/src/request/site.rs` reads it."""

from __future__ import annotations

import json

from nginxopt.config import Config
from nginxopt.config.filesystem import has_folder, is_dump, is_pattern
from nginxopt.config.tree import collector_paused
from nginxopt.records import record
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.refusals import RefusalStage, refusals
from nginxopt.semantics.site.blocks import http_level, placed
from nginxopt.semantics.site.form import BuildForm, SiteForm
from nginxopt.semantics.site.levels import Levels, SiteAssumption
from nginxopt.semantics.site.nodes import Nodes
from nginxopt.semantics.site.script import latin
from nginxopt.semantics.site.sockets import read_sockets
from nginxopt.semantics.site.variables import defined, upstreams
from nginxopt.version import Version

FIXES = ("CVE-2026-15176", "CVE-2026-42945", "max_headers")
"""The fixes of later releases that some builds have and that change outcomes (`rust/src/request`): no path by `alias`
while a rewrite has changed the URI (1.30.6), no escapes in `$1` after a rewrite with arguments (1.30.1), and 1,000
headers at most (1.29.8).
"""

PREFIX = "/etc/nginx/"
"""The prefix of the packages and images of nginx.org: what `nginx -V` says behind `--prefix`."""

_OF_PARTS = (RefusalStage.EVENTS, RefusalStage.UNKNOWN)
"""What nginx refuses and is no reason not to follow requests: a part of a configuration, the name of a module."""
_LENIENT = (*_OF_PARTS, RefusalStage.MERGE)
"""With `ignores_missing`, also what does not change what becomes of a request, such as a missing certificate."""


@record(eq=True)
class Build:
    """The nginx that runs a site.

    Attributes:
        version: The release.
        fixes: Those of `FIXES` that it has besides its version, and directives of later releases.
        prefix: The folder of relative paths, with a slash at its end.
    """

    version: Version
    fixes: frozenset[str] = frozenset()
    prefix: str = PREFIX

    def form(self) -> BuildForm:
        """Return it as the model reads it."""
        version = (self.version.major, self.version.minor, self.version.patch)
        return {"version": version, "fixes": sorted(self.fixes), "prefix": latin(self.prefix)}


@record(eq=True)
class LoweredSite:
    """A site for the model of requests.

    Attributes:
        site: What the model reads.
        form: The same as JSON.
        texts: The texts of its folded runs.
        nodes: Its directives by number.
        levels: Its levels by number.
        servers: Its servers by number.
        premises: What is assumed about files that were not read.
    """

    site: SiteForm
    form: str
    texts: tuple[bytes, ...]
    nodes: Nodes
    levels: tuple[Level, ...]
    servers: tuple[Level, ...]
    premises: tuple[SiteAssumption, ...]


def lower(
    config: Config,
    build: Build,
    *,
    ignores_missing: bool = False,
    root: Level | None = None,
    neutral: frozenset[str] = frozenset(),
) -> LoweredSite:
    """Return the site of the http block of `config`. Takes time linear in the text; folded runs stay folded.

    A fragment is assumed to have nothing around it: a file of rules is read as a server of its own. Raises `InputError`
    for a configuration without http, and for a directive that nginx refuses. With `ignores_missing`, includes of http
    and its servers that were not read are assumed to change only the script in which they stand, and what nginx refuses
    when it merges blocks is no error. `root` is the
    outermost level of the configuration, if the caller has it. `neutral` are the includes, as written, for whose files
    empty ones stand, and which may add headers and change bodies.
    """
    with collector_paused():
        return _lowered(placed(config), build, ignores_missing, root, neutral)


def _lowered(
    config: Config, build: Build, ignores_missing: bool, root: Level | None, neutral: frozenset[str]
) -> LoweredSite:
    http = http_level(config, build.version, root)
    main = http.around("main")
    outer = main if main is not None and http in main.levels else http
    for refusal in refusals(outer, build.version, build.fixes, is_whole=_is_read(outer, config)):
        if refusal.stage not in (_LENIENT if ignores_missing else _OF_PARTS):
            raise refusal.error
    nodes = Nodes(config)
    levels = Levels(config, nodes, ignores_missing, neutral)
    if ignores_missing:
        for level in (http, *http.levels):
            level.is_open = False
    levels.add(http)
    servers = {level: server for server, level in enumerate(levels.servers)}
    site: SiteForm = {
        "build": build.form(),
        "sockets": read_sockets(servers, nodes),
        "servers": levels.server_forms(),
        "levels": levels.forms,
        "directives": levels.directives,
        "variables": [*defined(http, nodes, config, build.version)],
        "upstreams": [*upstreams(http, nodes)],
        "opaque": levels.opaque,
    }
    form = json.dumps(site, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    return LoweredSite(site, form, levels.texts.data(), nodes, tuple(levels.all), tuple(servers), levels.premises())


def _is_read(outer: Level, config: Config) -> bool:
    """Return whether every file was read; one that a pattern names is not there for certain if its folder is not."""
    if any(level.is_open for level in outer.walk()):
        return False
    patterns = (include for include in config.includes if is_pattern(include.args[0]))
    return is_dump(config.origin) or all(has_folder(config.prefix, str(name.args[0])) for name in patterns)
