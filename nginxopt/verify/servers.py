"""Compares two servers for all requests: from the start of their scripts, from the choice of a location, and in each
named location, whatever the state of the request there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, reduce
from itertools import product
from operator import or_

from nginxopt import lazy
from nginxopt.budget import limit
from nginxopt.facts import group
from nginxopt.facts.table import HTTP_VARIABLES
from nginxopt.records import record
from nginxopt.verify.dataflow import Liveness, splitting
from nginxopt.verify.definitions import SideDefinitions, Tables, groups_of
from nginxopt.verify.executor import SymbolicExecutor, chooses_again, may_leave
from nginxopt.verify.explore import Divergence, Explorer, SideRunner
from nginxopt.verify.hosts import Hosts, KnownValues
from nginxopt.verify.influences import READING, Reads
from nginxopt.verify.names import defined, is_own
from nginxopt.verify.path_condition import Matches, PathCondition
from nginxopt.verify.patterns import NO_CAPITALS, equal_to, may_give_up, starts_with
from nginxopt.verify.program import Compiler, Program
from nginxopt.verify.side import VerifiedSide, unlike_settings
from nginxopt.verify.state import State, TooMuchError, Values
from nginxopt.verify.symbols import URI, Interner, Symbol, Variable
from nginxopt.verify.unfold import Unfolding
from nginxopt.verify.unread import Words

_BEFORE = group("early")
"""The settings of a server that nginx checks before it runs the script."""

_BODY = "client_max_body_size"
"""What nginx checks before the script only if it reads the body there; else that of the location counts
(`Compiler.entering`)."""

_CHEAP = 0.95  # the share of the work that must be left for a comparison to be repeated under other premises
_LONG_SCRIPT = 1000  # if scripts with more statements differ, requests are tried before they are compiled
_LONG = 20  # if longer chains of maps differ, requests are tried before the comparison


@record(eq=True)
class ServersCompared:
    """The result for two servers.

    Attributes:
        differences: Requests that they seem to answer differently.
        reasons: Other things that differ, as phrases, with the directives of the old and the new side.
    """

    differences: tuple[Divergence, ...] = ()
    reasons: tuple[tuple[str, int | None, int | None], ...] = ()


class ServerComparison:
    """Compares servers of two sides, each pair once, for the requests of a region.

    `is_uneven`: whether it is true of any pair so far (`Explorer.is_uneven`). `written` knows the pairs that are
    written alike, so that nothing has to be compared.
    """

    def __init__(
        self, old: VerifiedSide, new: VerifiedSide, region: PathCondition, known: Mapping[tuple[int, int], KnownValues]
    ) -> None:
        self._known_values = known
        self._region = region
        self._work = limit("steps")  # operations that may be run in all: half of what is left for each pair of servers
        self._keys = Interner()
        self._sides = (old, new)
        self._compilers = (Compiler(old, self._keys), Compiler(new, self._keys))
        self._tables = Tables(self._definitions, _proves_same)
        self._liveness = Liveness(self._sides, self._definitions)
        self._known: dict[tuple[int, int], ServersCompared] = {}
        self.written = ServerTexts(self._sides)
        self.is_uneven = False
        self._matched: set[bytes] = set()

    def servers(self, old: int, new: int) -> ServersCompared:
        """Return what differs between two servers."""
        if (old, new) not in self._known:
            self._known[old, new] = ServersCompared() if self.written.alike(old, new) else self._compare(old, new)
        return self._known[old, new]

    @property
    def _definitions(self) -> tuple[SideDefinitions, SideDefinitions]:
        return self._compilers[0].definitions, self._compilers[1].definitions

    @cached_property
    def _splits_alike(self) -> bool:
        first, second = (splitting(*each) for each in zip(self._sides, self._definitions, strict=True))
        return first == second

    @property
    def compilers(self) -> tuple[Compiler, Compiler]:
        """The compilers of both sides."""
        return self._compilers

    @property
    def is_costly(self) -> bool:
        """Whether the comparison took so much of the work that it should not be repeated."""
        return self._work < limit("steps") * _CHEAP

    @cached_property
    def keeps_paths(self) -> bool:
        """Whether every URI begins with a slash, also where nginx chooses a location again."""
        return all(side.keeps_paths for side in self._sides)

    @cached_property
    def _requests(self) -> PathCondition:
        """The requests for which scripts and locations are compared: those whose URI begins with a slash, as clients
        send it (`ngx_http_parse_request_line`), unless nginx itself may lead a request to another URI.
        """
        if not self.keeps_paths:
            return self._region
        return self._region.with_answer(Matches(Variable(URI), starts_with(b"/")), True)

    def may_give_up(self) -> list[bytes]:
        """Return the patterns on which PCRE may give up, of those by which requests were divided, and of maps that are
        not the same on both sides. nginx asks the others for the same requests before and after.
        """
        maps = (definitions.patterns(name) for name in self.unlike_definitions() for definitions in self._definitions)
        return sorted(filter(may_give_up, self._matched.union(*maps)))

    def unlike_definitions(self) -> Iterator[str]:
        """Yield the variables that both sides define, and not alike."""
        definitions = self._definitions
        for name in sorted(self._sides[0].definitions.keys() & self._sides[1].definitions.keys()):
            if definitions[0].number(name) != definitions[1].number(name):
                yield name

    @cached_property
    def has_long_chains(self) -> bool:
        """Whether the sides differ in a map whose lookup evaluates a long chain of others."""
        if self.written.has_equal_definitions:
            return False
        definitions = self._compilers[0].definitions
        return any(len(definitions.inner(name)) > _LONG for name in self.unlike_definitions())

    def has_long_scripts(self, old: int, new: int) -> bool:
        """Return whether the scripts of two servers are long, and not written alike."""
        scripts = [
            side.script(side.server(number)["level"]) for side, number in zip(self._sides, (old, new), strict=True)
        ]
        return max(map(len, scripts)) > _LONG_SCRIPT and not self.written.alike(old, new)

    def are_skipped(self, old: int, new: int) -> bool:
        """Return whether long scripts of two servers were not compared, as a request had shown a difference."""
        return (old, new) not in self._known and self.has_long_scripts(old, new)

    def unlike_captures(self, hosts: Hosts) -> Iterator[tuple[str, int, int]]:
        """Yield a doubt if two servers are chosen by different patterns, and something reads what these capture."""
        before, after = hosts.patterns
        if before == after:
            return
        patterns = [pattern for pattern in hosts.patterns if pattern is not None]
        names = {name for pattern in patterns for name in groups_of(pattern)}
        live = self._liveness.of(hosts.old, hosts.new)
        is_read = any(live.reads(name, is_over=False) for name in names)
        if is_read or (live.captures and any("(" in pattern for pattern in patterns)):
            nodes = self._sides[0].server(hosts.old)["node"], self._sides[1].server(hosts.new)["node"]
            yield ("the patterns of server_name that set captures differ", *nodes)

    def read_by_code(self, old: int, new: int) -> str | None:
        """Return, as a phrase, what code may read and the sides define differently; None if nothing is. The code is in
        force at one of two blocks, chooses servers of upstreams, or computes variables."""
        code: dict[str, Reads] = {}
        sides = list(zip(self._sides, (old, new), strict=True))
        for (side, level), compiler in zip(sides, self._compilers, strict=True):
            code |= side.code(level) | side.code_of_upstreams | compiler.definitions.code
        read = reduce(or_, code.values(), Reads.NOTHING)
        unlike = [f"${name}" for name in self._unlike_variables] if Reads.VARIABLES in read else []
        if Reads.VARIABLES in read and len({side.server_name_of(level) for side, level in sides}) > 1:
            unlike.append("$server_name")
        unlike += self._unlike_upstreams if Reads.UPSTREAMS in read else []
        if not unlike:
            return None
        known = ["what is missing" if name == "include" else name for name in sorted(code)]
        return f"{' and '.join(known)} may read {', '.join(unlike)}, defined otherwise on the other side"

    @cached_property
    def _unlike_variables(self) -> list[str]:
        """The variables that the sides define differently, or that only one of them defines."""
        mine, theirs = (compiler.definitions.contents for compiler in self._compilers)
        names = {name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)}
        if any(side.is_renamed for side in self._sides):
            before, after = (defined(side.site.site).keys() for side in self._sides)
            names |= before ^ after
        return sorted(names)

    @cached_property
    def _unlike_upstreams(self) -> list[str]:
        """The same for upstreams."""
        mine, theirs = (side.upstreams for side in self._sides)
        return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))

    def _compare(self, old: int, new: int) -> ServersCompared:
        known = self._known_values.get((old, new), KnownValues())
        mine, theirs = self._compiled(0, old, known.values), self._compiled(1, new, known.values)
        hosts = dict.fromkeys((mine.host, theirs.host))
        named, requests = (_without_hosts(region, hosts, known.never) for region in (PathCondition(), self._requests))
        reasons = [*self._reasons(old, new)]
        has_named = bool(mine.named or theirs.named)
        unfolding = Unfolding(self._tables)
        live = self._liveness.of(old, new)
        explorer = Explorer(mine.runner, theirs.runner, live, unfolding, self._work // 2, has_named=has_named)
        # If a script answers a request behind a rewrite, and there is an error page for that, the script of the server
        # runs again, while the URI still counts as changed (`ngx_http_internal_redirect`).
        rewritten = "before" if any("error_page" in side.stated for side in self._sides) else False
        # Requests enter at the script of the server, and come back to the choice of a location or to a named one, by a
        # rewrite, an error page or `try_files`. What they find there is compared once, for any state.
        try:
            for before, after, region, is_rewritten in (
                (mine.program, theirs.program, requests, rewritten),
                (mine.locating, theirs.locating, requests, False),
                *((mine.named[name], theirs.named[name], named, False) for name in mine.named if name in theirs.named),
            ):
                is_choice = before is mine.locating  # which no request reaches if scripts answer all of them
                if is_choice and self._is_chosen_once(mine, theirs):
                    if explorer.arrived is None:
                        continue
                    region = region.within(explorer.arrived)
                elif is_choice and not (explorer.chooses or self._may_lead or mine.may_leave or theirs.may_leave):
                    continue
                state = State(mine.level, is_rewritten=is_rewritten)
                explorer.compare(before, after, state, replace(state, level=theirs.level), region)
        except TooMuchError as error:
            nodes = (self._sides[0].server(old)["node"], self._sides[1].server(new)["node"])
            reasons.append((str(error), *nodes))
        self._work -= explorer.done
        self.is_uneven |= explorer.is_uneven
        self._matched |= explorer.matched
        for side, these, those in (("old", mine.named, theirs.named), ("new", theirs.named, mine.named)):
            alone = (name.decode("latin-1") for name in these if name not in those)
            reasons += ((f"only the {side} server has the location {name}", None, None) for name in alone)
        return ServersCompared(tuple(explorer.differences), tuple(reasons))

    @cached_property
    def _may_lead(self) -> bool:
        """Whether an error page may lead a request that a script has answered to a location."""
        return any("error_page" in side.stated or side.may_lead for side in self._sides)

    def _is_chosen_once(self, mine: _Server, theirs: _Server) -> bool:
        """Return whether all requests come to the choice of a location by the end of the script of the server.

        The script runs again after each internal redirect (`ngx_http_internal_redirect`), also for the page of an
        error, and there ends with a further error as with a first one (`ngx_http_rewrite_handler`).
        """
        if any(side.may_lead or side.runs_code for side in self._sides):
            return False
        return not any(
            server.may_leave or chooses_again([server.locating, *server.named.values()]) for server in (mine, theirs)
        )

    def _compiled(self, side: int, server: int, known: Mapping[str, str]) -> _Server:
        compiler, level = self._compilers[side], self._sides[side].server(server)["level"]
        locating = compiler.locate(level)
        values = Values(self._sides[side], server, compiler, self._tables, known)
        runner = SideRunner(SymbolicExecutor(values, level, locating), compiler)
        leaves = may_leave(compiler.script(level))
        return _Server(level, values.host, compiler.server(level), locating, compiler.named(level), runner, leaves)

    def _reasons(self, old: int, new: int) -> list[tuple[str, int | None, int | None]]:
        levels = self._sides[0].server(old)["level"], self._sides[1].server(new)["level"]
        nodes = self._sides[0].server(old)["node"], self._sides[1].server(new)["node"]
        settings = [side.settings(level) for side, level in zip(self._sides, levels, strict=True)]
        reasons: list[tuple[str, int | None, int | None]] = [
            (f"{name} differs", *nodes)
            for name in sorted(_BEFORE if any(side.may_read_early for side in self._sides) else _BEFORE - {_BODY})
            if settings[0].get(name, ()) != settings[1].get(name, ())
        ]
        if any(side.may_add(level, "location") for side, level in zip(self._sides, levels, strict=True)):
            unlike = unlike_settings(self._sides[0], levels[0], self._sides[1], levels[1])
            if unlike:
                reasons.append((f"locations that were not read have other settings: {', '.join(unlike)}", *nodes))
        if self._compilers[0].early(levels[0]) != self._compilers[1].early(levels[1]):
            shown = [compiler.of_early_errors(level) for compiler, level in zip(self._compilers, levels, strict=True)]
            names = sorted(
                name for name in shown[0].keys() | shown[1].keys() if shown[0].get(name) != shown[1].get(name)
            )
            what = ", ".join(names) or "what they show"
            reasons.append((f"requests that nginx refuses before it chooses a location: {what} differs", *nodes))
        named = {side.server_name(server) for side, server in zip(self._sides, (old, new), strict=True)}
        if len(named) > 1 and any("server_name_in_redirect" in side.stated for side in self._sides):
            reasons.append(("the first server_name differs, and redirects may have it", *nodes))
        if self._sides[0].taken != self._sides[1].taken:
            reasons.append(("a variable of nginx is replaced by another of its name on one side only", *nodes))
        if not self._splits_alike:
            reasons.append(("$fastcgi_script_name stays as a script used it first, and scripts differ", *nodes))
        return reasons


def _proves_same(one: SideDefinitions, other: SideDefinitions, name: str) -> bool:
    from nginxopt.verify.first_match import same_values  # only long maps need it

    return same_values(one, other, name)


@record(eq=True)
class _Server:
    level: int
    host: Symbol
    program: Program
    locating: Program
    named: dict[bytes, Program]
    runner: SideRunner
    may_leave: bool


def _without_hosts(region: PathCondition, hosts: Iterable[Symbol], names: Collection[str]) -> PathCondition:
    """Return the part of a region in which `$host` is none of some names. It has no capital letters and no newlines
    (`ngx_http_validate_host`).
    """
    for host in hosts if names else ():
        region = region.with_answer(Matches(host, NO_CAPITALS), True)
        for name, end in product(sorted(names), (b"", b"\n")):  # which a pattern with `$` would match
            region = region.with_answer(Matches(host, equal_to(name.encode("latin-1") + end)), False)
    return region


class ServerTexts:
    """Finds pairs of servers that answer alike because their texts are the same, so that no program has to run.

    A request never leaves the server that was chosen for it. So two servers with the same text and the same included
    text answer alike, if that text has the same meaning on both sides. The http block gives it its meaning: by the
    settings, and by those definitions of variables and upstreams that the text may reach, which are found by the words
    in it. Besides, names have one meaning in the whole configuration: a named group anywhere takes over the variable of
    its name, and a `set` anywhere defines one.
    """

    def __init__(self, sides: tuple[VerifiedSide, VerifiedSide]) -> None:
        self._sides = sides
        self._found: dict[tuple[int, int], bool] = {}

    def alike(self, old: int, new: int) -> bool:
        """Return whether the texts of two servers show that they answer alike; False means that this is not known."""
        if (old, new) not in self._found:  # servers are paired for each of their addresses and names
            self._found[old, new] = self._is_comparable and self._are_alike(old, new)
        return self._found[old, new]

    def _are_alike(self, old: int, new: int) -> bool:
        mine, theirs = (side.written(number) for side, number in zip(self._sides, (old, new), strict=True))
        if mine is None or mine != theirs:
            return False
        if len({side.implied_upstreams for side in self._sides}) > 1 and any(map(_PASS_TO_VARIABLE.search, mine)):
            return False
        return not self._unlike or self._reaches_none(mine)

    @property
    def has_equal_definitions(self) -> bool:
        """Whether both sides certainly define all variables and upstreams alike."""
        return self._is_comparable and not self._unlike

    @cached_property
    def _is_comparable(self) -> bool:
        """Whether http says the same on both sides, except in definitions that nothing else in it names."""
        old, new = self._sides
        if any(side.has_other_names for side in self._sides) or old.form["build"] != new.form["build"]:
            return False
        if old.named_groups.keys() != new.named_groups.keys() or old.variables_set != new.variables_set:
            return False
        if old.http_settings != new.http_settings:
            return False
        if not self._unlike:
            return True
        if any(side.has_open or side.runs_anything or side.has_unread_definitions for side in self._sides):
            return False
        if any(name in HTTP_VARIABLES or name in _READ_UNNAMED or is_own(name) for name in self._unlike):
            return False
        return self._unlike.isdisjoint(_words(old.http_settings))

    @cached_property
    def _unlike(self) -> frozenset[str]:
        """The names of the variables and upstreams that the sides define differently, or that read such a one."""
        old, new = (side.http_definitions for side in self._sides)
        found = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
        found |= self._sides[0].definitions.keys() ^ self._sides[1].definitions.keys()
        if not found:
            return frozenset()
        readers: dict[str, set[str]] = {}
        for name, texts in (*old.items(), *new.items()):
            for word in _words(texts):
                readers.setdefault(word, set()).add(name)
        waiting = list(found)
        while waiting:
            more = readers.get(waiting.pop(), set()) - found
            found |= more
            waiting += more
        return frozenset(found)

    def _reaches_none(self, text: Words) -> bool:
        """Return whether no word of a server names what the sides define differently; a pass with a variable may name
        any upstream."""
        is_named = any(_PASS_TO_VARIABLE.search(each) for each in text)
        return not is_named and self._unlike.isdisjoint(_words([text]))


def _words(texts: Iterable[Words]) -> Iterator[str]:
    """Yield what may be a name in texts, in lower case."""
    return (word for text in texts for part in text for word in _WORD.findall(part.lower()))


_WORD = lazy.pattern(r"\w+", re.ASCII)
_READ_UNNAMED = frozenset(variable.removeprefix("$") for variable in READING.values())
"""The variables that nginx reads although no argument names them."""

_PASS_TO_VARIABLE = lazy.pattern(r"_pass\s[^;]*\$", re.ASCII)
