"""What a configuration would make nginx run besides nginx itself, and whether that is allowed.

A configuration is partly a program: it names libraries that nginx loads, and some modules run what it says. If nginx
runs with the configuration of somebody else, it runs that person's code on this machine. So this is refused, with its
place, unless an option allows it:

- `load_module` of a file outside the folders of modules of that nginx (`--modules DIR` names further ones). Links are
  followed first, and nginx gets the file that was examined;
- directives of nginx's own modules that run programs or write anywhere (`--allow-code`): Perl, XSLT (a style
  sheet can write files: `exsl:document`), engines and stores of OpenSSL, which are libraries, and variables that `env`
  sets, of which the loader and OpenSSL read some;
- directives of other modules, which may do anything (`--allow-code`), if nginx or a module that it loads has them;
  what no module has, nginx refuses itself;
- where nginx passes requests on (`--allow-network`), servers of another machine or unknown ones, and sockets, such
  as that of a container engine. A trial without that has no network, or echoes in place of all servers.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from nginxopt import lazy
from nginxopt.config import Config, Directive, Token, load, load_text
from nginxopt.config.layout import quoted
from nginxopt.errors import InputError
from nginxopt.facts import group
from nginxopt.facts.table import names
from nginxopt.system.nginx.binary import Binary
from nginxopt.text import Edit, apply, encode

_PROGRAMS = {
    "perl": "runs Perl",
    "perl_set": "runs Perl",
    "perl_modules": "runs Perl",
    "perl_require": "runs Perl",
    "xslt_stylesheet": "runs XSLT, which can write files",
    "xml_entities": "lets XML read other files",
    "ssl_engine": "loads a library of OpenSSL",
}
_LOADED_KEY = lazy.pattern(r"(engine|store):")
_OF_KEYS = lazy.pattern(r"(\w+_)?ssl_certificate(_key)?")
# Modules that are known to do nothing but change requests and responses.
_HARMLESS = lazy.pattern(
    r"more_(set|clear)_(input_)?headers|brotli(_\w+)?|zstd(_\w+)?|geoip2(_proxy(_recursive)?)?|fancyindex(_\w+)?"
    r"|substitutions_\w+|subs_filter(_\w+)?"
)
OF_ROWS = group("rows") - {"match"}
"""Blocks that contain rows and no directives, without `match` of NGINX Plus, which sends something."""
_SHOWN = 10


def refuse(config: Config, binary: Binary) -> dict[Directive, Path]:
    """Return the files of the modules that a configuration loads, by their directives.

    Raises `InputError` for what is not allowed to run, at its first place. The message lists the others.
    """
    directives = list(statements(config))
    loads = [directive for directive in directives if directive.name == "load_module" and directive.args]
    modules = {directive: _file(directive.args[0], binary) for directive in loads}
    refused = [*_strange(modules, binary), *_programs(directives, [*modules.values()], binary)]
    raise_first(refused)
    return modules


def hold(path: Path, binary: Binary, hosts: Collection[str] = ()) -> None:
    """Make the configuration at `path`, which nginxopt wrote, load the modules that were examined.

    Raises like `refuse`, and `InputError` for requests that go elsewhere than to this machine and `hosts`.
    """
    config = load(path)
    if not binary.allowed.network:
        raise_first(list(connections(config, hosts)))
    edits: dict[str, list[Edit]] = {}
    for directive, module in refuse(config, binary).items():
        edit = Edit(directive.args[0].span, encode(quoted(str(module))))
        edits.setdefault(directive.source.path, []).append(edit)
    for name, changes in edits.items():
        Path(name).write_bytes(apply(Path(name).read_bytes(), changes))


def raise_first(refused: list[InputError]) -> None:
    """Raise the first of some errors, with the places of the others below; do nothing without any."""
    if not refused:
        return
    first, *others = refused
    below = [f"also {other.render().splitlines()[0]}" for other in others[:_SHOWN]]
    below += [f"and {len(others) - _SHOWN} more"] if len(others) > _SHOWN else []
    raise InputError(first.message, source=first.source, span=first.span, below=below, hint=first.hint)


def programs(directives: Iterable[Directive], binary: Binary) -> list[InputError]:
    """Return an error for each directive that may not run the program that it names, in an nginx without modules."""
    return list(_programs(directives, [], binary))


def statements(config: Config) -> Iterator[Directive]:
    """Yield the directives of a configuration, each once, without the rows of maps and the like."""
    found = (item for item, scope in config.walk() if not scope.context or scope.context[-1] not in OF_ROWS)
    return iter(dict.fromkeys(found))


def _file(word: Token, binary: Binary) -> Path:
    return Path(os.path.realpath(binary.prefix / word))


def _strange(modules: dict[Directive, Path], binary: Binary) -> Iterator[InputError]:
    for directive, file in modules.items():
        if not any(file.is_relative_to(folder) for folder in binary.modules):
            where = " or ".join(map(str, binary.modules))
            yield _error(directive, f"not loaded: the module is outside {where}", "--modules DIR allows its folder")


def _programs(directives: Iterable[Directive], modules: list[Path], binary: Binary) -> Iterator[InputError]:
    if binary.allowed.code:
        return
    for directive in directives:
        why = _program(directive, modules, binary)
        if why is not None:
            yield _error(directive, f"not run: {directive.name} {why}", "--allow-code allows it")


def _program(directive: Directive, modules: list[Path], binary: Binary) -> str | None:
    """Return why a directive counts as a program; None if it does not."""
    name = str(directive.name)
    if name in _PROGRAMS:
        return _PROGRAMS[name]
    if name == "env" and any("=" in word for word in directive.args):
        return "sets a variable, by which libraries are loaded"
    if _OF_KEYS.fullmatch(name) and any(_LOADED_KEY.match(word) for word in directive.args):
        return "loads a library of OpenSSL"
    if name in names() or _HARMLESS.fullmatch(name) or not binary.knows(name, modules):
        return None
    return "is of a module that is not nginx's own"


def refuse_leaving(text: bytes, path: str, binary: Binary) -> None:
    """Raise `InputError` for what a text of servers or locations would run, and for connections out of its private
    network: to a socket of the file system, even if a variable names it.
    """
    config = load_text(text, path)
    sockets = (
        _error(directive, f"not connected: {directive.name} may lead to a socket", None)
        for directive in statements(config)
        if _PASSES.fullmatch(str(directive.name)) and directive.args and _may_be_socket(str(directive.args[0]).lower())
    )
    raise_first([*programs(statements(config), binary), *sockets])


def _may_be_socket(word: str) -> bool:
    host = _HOST.match(word)
    return host is None or host[1] == "unix" or host[1].startswith("$")


def connections(config: Config, hosts: Collection[str]) -> Iterator[InputError]:
    """Yield an error for each directive that leads elsewhere than to this machine, `hosts` and the upstreams.

    A host is a name, an address, or a variable with its `$`, which is then followed by a path.
    """
    found = list(config.walk())
    upstreams = {str(item.args[0]).lower() for item, _ in found if item.name == "upstream" and item.args}
    known = frozenset(hosts) | upstreams
    seen: set[Directive] = set()
    for directive, scope in found:
        is_row = bool(scope.context) and scope.context[-1] in OF_ROWS
        if not is_row and directive not in seen and _leads_away(directive, scope.context, known):
            seen.add(directive)
            yield _error(
                directive, f"not connected: {directive.name} may lead to another machine", "--allow-network allows it"
            )


def _leads_away(directive: Directive, context: tuple[str, ...], known: Collection[str]) -> bool:
    name = str(directive.name)
    if not directive.args or directive.block is not None:
        return False
    word = str(directive.args[0]).lower()
    if name in _ASKING:
        return word != "off"
    if name == "set_real_ip_from":
        return not is_range(word)
    is_passed_on = _PASSES.fullmatch(name) is not None or (name == "server" and context[-1:] == ("upstream",))
    if not is_passed_on:
        return False
    host = _HOST.match(word)
    if host is None or _LOOPBACK.fullmatch(host[1]):
        return host is None
    # Without a resolver, a variable after a host name yields no address. After a number it may lengthen the number.
    is_lengthened = word[host.end() :].startswith("$") and host[1][0].isdigit()
    return is_lengthened or host[1] not in known


def is_range(word: str) -> bool:
    """Return whether a word is a range of addresses, and no name of a host that nginx looks up."""
    return word == "unix:" or _IS_RANGE.fullmatch(word) is not None


_ASKING = group("asking")
_PASSES = lazy.pattern(r"(?!tunnel_)\w+_pass|pass|auth_http")
_HOST = lazy.pattern(r"(?:[a-z]+://)?(\[[0-9a-f:.]+\]|\$?[\w.-]+)(?![\w.-])(?!:/)")
_LOOPBACK = lazy.pattern(r"127(\.\d{1,3}){3}|localhost|\[::1\]")
_IS_RANGE = lazy.pattern(r"[0-9a-f.:]+(/\d+)?")


def _error(directive: Directive, message: str, hint: str | None) -> InputError:
    error = directive.error(message)
    return InputError(message, source=error.source, span=error.span, hint=hint)
