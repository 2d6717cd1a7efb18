"""What is known of the configuration around lists: whether all of it was read, and what it does to rules that move.

- Unread text may affect them. A missing file, and one that an include may read only elsewhere
  (`nginxopt.config.places`), may contain anything that is allowed in the block of its include: rules, other
  directives, whole blocks, and includes of known files. In `stream`, `mail` and `events`, none of that affects HTTP
  requests. For a fragment, the text around it was not read.
- Something may read `$1` to `$9` after the rules, so that the result must preserve them. Some readers are visible in
  the text. Others look up variables by name at run time: Lua, njs, Perl, SSI, and possibly any module. So captures
  count as read unless it is certain that nothing reads them.
- In a location, a true `if` replaces the configuration of the request by that of the `if`
  (`ngx_http_script_if_code`). This inherits everything from the location except `try_files`, headers if
  `add_header_inherit` is `off`, and the settings of an earlier `if`.
- An internal redirect and a subrequest run the script of a server again (`ngx_http_internal_redirect`,
  `ngx_http_subrequest`), and share the values of variables with the request. A value that nginx keeps from the first
  URI is then right only if it would be the same for the second. Named locations, and `last` and `break` in rewrites,
  do not run it again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import cache

from nginxopt import _native, lazy
from nginxopt.config import Block, Bulk, Comment, Config, Context, Directive, File, Scope
from nginxopt.facts import group, known, script
from nginxopt.facts.lexicon import NGINX, ROWS
from nginxopt.records import record
from nginxopt.semantics.inherit import INHERITANCE
from nginxopt.text import encode

# Unread text

_OTHERS = ("stream", "mail", "events")
"""Blocks of the main level that do not affect HTTP requests."""


def is_known(config: Config) -> bool:
    """Return whether all parts of a main configuration that may affect HTTP requests were read."""
    return config.http is not None and not any(True for _ in _contexts(config))


def is_main_known(config: Config) -> bool:
    """Return whether all directives of the main level were read, such as `pcre_jit` and `load_module`."""
    return config.http is not None and () not in _contexts(config)


def is_http_known(config: Config) -> bool:
    """Return whether all statements directly in the http block were read, such as maps and hash table sizes."""
    return config.http is not None and ("http",) not in _contexts(config)


def _contexts(config: Config) -> Iterator[Context]:
    """Yield the contexts of files that were not read, or may be others elsewhere, and may affect HTTP requests."""
    if config.elsewhere:
        includes = {include.origin for include in config.elsewhere}
        for directive, scope in config.walk():
            if directive.origin in includes and not set(scope.context[:1]) & set(_OTHERS):
                yield scope.context


# Readers of captures

_CAPTURE = lazy.pattern(r"\$\{?[1-9]")

_READERS = lazy.pattern(r"load_module|ssi|perl.*|js_.*|.*_by_lua.*|lua_.*")
"""Directives of nginx that run code, or that load modules that may run code."""

_FOLLOWS_AT_ONCE = frozenset(["set", "return", "break"])
"""The directives that nginx runs in an `if` right after its condition."""


@cache
def reading_no_captures() -> frozenset[str]:
    """Return the directives that read no captures except those in their own parameters."""
    return frozenset(name for name in NGINX if not _READERS.fullmatch(name))


def captures_may_be_read(config: Config) -> bool:
    """Return whether a configuration may read `$1` to `$9`. False is certain, True is not."""
    return not is_known(config) or any(_may_read(directive, scope) for directive, scope in config.walk())


def holds_rows(config: Config, file: File) -> bool:
    """Return whether a file is included only in blocks such as `map`, whose statements are not directives."""
    kinds = [context[-1:] for context in config.contexts(file)]
    return bool(kinds) and all(kind and kind[0] in ROWS for kind in kinds)


def _may_read(directive: Directive, scope: Scope) -> bool:
    if scope.context and scope.context[-1] in ROWS:
        # A row with a regex sets them before it reads them.
        return _holds_capture(directive) and not directive.name.startswith("~")
    if not runs_no_code(directive, scope):
        return True
    if directive.name == "rewrite" or not _holds_capture(directive):
        return False
    here = [parent for parent in scope.parents if parent.source is directive.source]
    return not any(_sets_captures(parent, directive) for parent in here)


def runs_no_code(directive: Directive, scope: Scope) -> bool:
    """Return whether a statement of a scope runs no code that nginx does not have itself."""
    is_row = bool(scope.context) and scope.context[-1] in ROWS
    is_off = directive.name == "ssi" and directive.args == ("off",)
    return is_row or is_off or directive.name in reading_no_captures()


def _holds_capture(directive: Directive) -> bool:
    return any("$" in arg and _CAPTURE.search(arg) for arg in directive.args)


def _sets_captures(block: Directive, directive: Directive) -> bool:
    """Return whether `directive` can only read captures that entering `block` has set.

    The statements of an `if` run right after its condition; the captures of a location are read after its rules.
    """
    if block.name == "if":
        return directive.name in _FOLLOWS_AT_ONCE and len(block.args) == 3 and block.args[1] in ("~", "~*")
    is_regex = block.name == "location" and block.args[:1] != () and block.args[0].startswith("~")
    return is_regex and block.block is not None and not _may_have_rules(block.block)


def _may_have_rules(block: Block) -> bool:
    """Return whether a block or an inner block contains or may include a rewrite."""
    return any(
        not isinstance(node, Comment)
        and (
            node.name in ("rewrite", "include")
            or (isinstance(node, Directive) and node.block is not None and _may_have_rules(node.block))
        )
        for node in block.nodes
    )


# Rules that move into an `if`

Entering = _native.Entering
"""The rules that may be moved into an `if` that certainly ends the script."""

_SCRIPT = script()
"""The directives of the rewrite module. An `if` with no other directives has the configuration of the location."""

_HEADERS = frozenset(INHERITANCE)


@cache
def inherited() -> frozenset[str]:
    """Return the directives that an `if` inherits, or that have no effect after nginx has chosen the location.

    All modules of nginx except that of `try_files` merge the configuration of a location into that of its `if`s.
    """
    return (NGINX & known()) - group("untried") - _SCRIPT - _HEADERS - {"try_files"}


@record(eq=True)
class Surroundings:
    """What is known of the configuration around all locations.

    Attributes:
        headers_inherited: Whether every block without headers inherits those of the block around it, as far as the
            configuration was read.
        quiet: The arguments of includes whose files, as far as they were read, have nothing that an `if` does not
            inherit.
        is_known: Whether everything was read that may affect HTTP requests.
    """

    headers_inherited: bool
    quiet: frozenset[str]
    is_known: bool

    @classmethod
    def of(cls, config: Config) -> Surroundings:
        """Read them from a configuration."""
        inherited = not any(directive.name in INHERITANCE.values() for directive, _ in config.walk())

        def is_quiet(node: Directive | Bulk, quiet: Collection[str]) -> bool:
            return node.name != "try_files" and _keeps(node, quiet, headers_inherited=inherited)

        return cls(inherited, quiet_includes(config, is_quiet), is_known(config))

    def entering(self, block: Block) -> Entering:
        """Return which rules may be moved into an `if` of a location."""
        nodes = [node for node in block.nodes if not isinstance(node, Comment)]
        if not all(_keeps(node, self.quiet, headers_inherited=self.headers_inherited) for node in nodes):
            return Entering.NOTHING
        return Entering.ALL_BUT_BREAK if any(node.name == "try_files" for node in nodes) else Entering.ALL

    def is_assumed(self, block: Block) -> bool:
        """Return whether that depends on text that was not read: an include, or headers."""
        nodes = (node for node in block.nodes if not isinstance(node, Comment))
        return not self.is_known and any(node.name in _HEADERS or node.name == "include" for node in nodes)


def quiet_includes(config: Config, is_quiet: Callable[[Directive | Bulk, Collection[str]], bool]) -> frozenset[str]:
    """Return the arguments of the includes whose files, as far as they were read, hold only quiet directives.

    `is_quiet` gets a directive, and the arguments of the includes that may be quiet.
    """
    blocks = {
        str(include.args[0]): [file.block for file in config.included(include)]
        for include in config.includes
        if include.args
    }
    quiet = frozenset(blocks)
    while True:
        nodes = {name: [node for block in blocks[name] for node in block.nodes] for name in quiet}
        left = frozenset(
            name
            for name, inner in nodes.items()
            if all(isinstance(node, Comment) or is_quiet(node, quiet) for node in inner)
        )
        if left == quiet:
            return quiet
        quiet = left


def _keeps(node: Directive | Bulk, quiet: Collection[str], *, headers_inherited: bool) -> bool:
    """Return whether a directive of a location also works in an `if` of the location."""
    if isinstance(node, Bulk):
        return node.name == "rewrite"
    if node.name == "include":
        return bool(node.args) and str(node.args[0]) in quiet
    if node.name == "if":
        return node.block is not None and all(
            isinstance(inner, Comment) or inner.name in _SCRIPT for inner in node.block.nodes
        )
    if node.name in _HEADERS:
        return headers_inherited
    return node.name == "try_files" or node.name in _SCRIPT or node.name in inherited()


# URIs that run a script again

_WORD = rb"""(?:"[^"]*"|'[^']*'|[^\s;"'][^\s;]*)"""
_REWRITE = lazy.pattern(rb"rewrite\s+(%s)\s+(%s)(?:\s+(\w+))?\s*;" % (_WORD, _WORD))
_REDIRECTS = (b"redirect", b"permanent")
_REDIRECTING = (b"http://", b"https://", b"$scheme")
_ERROR = lazy.pattern(r"[45]\d\d")
_FILES = ("$uri", "$uri/")
"""The parameters of `try_files` that do not change `$uri`, except for a slash at its end."""
_INDEX = b"index.html"
"""The default of `index`."""


@record(eq=True)
class Reruns:
    """The URIs for which a script of a server may run again; all are known.

    Attributes:
        uris: Those that stand in the configuration.
        names: The names of indexes. An index file runs the script with its name behind the URI, which ends in a slash.
        changes: Whether the URI may change before, apart from a redirect.
    """

    uris: list[bytes]
    names: list[bytes]
    changes: bool


@cache
def rerunning() -> frozenset[str]:
    """Return the directives that may run a script again with any URI."""
    return group("pass") | group("again") | group("leads") - {"try_files"} | group("untried") - {"include"}


def reruns(config: Config) -> Reruns | None:
    """Return what may run the scripts of a configuration again; None if that is not known."""
    if not is_known(config):
        return None
    uris, names, changes = set[bytes](), {_INDEX}, False
    for _, target, flag in rewrites(config):
        is_redirect = target.strip(b"\"'").startswith(_REDIRECTING)
        if flag == (b"break" if is_redirect else b""):
            return None  # the next statement of the script may see another URI
        changes |= not is_redirect
    for directive, scope in config.walk():
        if scope.context[:1] in (("stream",), ("mail",), ("events",)):
            continue
        known = directive.name not in rerunning() and runs_no_code(directive, scope)
        leads = _leads(directive) if known else None
        if leads is None:
            return None
        for uri in filter(None, leads):
            (uris if uri.startswith(b"/") else names).add(uri)
        changes |= directive.name == "try_files" and not set(directive.args[:-1]) <= set(_FILES)
    return Reruns(sorted(uris), sorted(names), changes)


def _leads(directive: Directive) -> list[bytes] | None:
    """Return the URIs or names of files to which a directive leads; None if they are not known."""
    found: tuple[str, ...] = ()
    match directive.name, directive.args:
        case "index", names:
            found = names
        case "try_files", [*_, last]:
            found = () if last.startswith(("=", "@")) else (last.partition("?")[0],)
            if not all(uri.startswith("/") for uri in found):
                return None
        case "error_page", [*codes, uri]:
            if not all(_ERROR.fullmatch(code) or code.startswith("=") for code in codes):
                return None  # a redirect may become a page
            found = (uri.partition("?")[0],) if uri.startswith(("/", "$")) else ()
    return None if any("$" in uri for uri in found) else list(map(encode, found))


def rewrites(config: Config) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the pattern, target and flag of each rewrite that has no flag of a redirect; the flag may be empty."""
    for scope in config.scope.tree():
        for node in scope.nodes:
            if node.name == "rewrite" and isinstance(node, Bulk | Directive):
                text = node.source.data[node.span.start : node.span.end]
                for match in _REWRITE.finditer(text):
                    if match[3] not in _REDIRECTS:
                        yield match[1], match[2], match[3] or b""
