"""Decides whether two configurations answer every request alike.

`verify` compares them up to four times, until the verdict is certain:

1. As they are (`_Verifier`). A witness decides, and so does a comparison without doubts.
2. In one shape (`reshaping`). This can only show that they are equivalent.
3. With empty files in place of unread ones, and the like (`emptied`), if there is a doubt that no premise settles. This
   can only find a witness, which names what it supposes.
4. With premises that may settle the doubts, the weakest first. The verdict stays "unknown", but the result names the
   premises that would make it "equivalent".

A `_Verifier` compares one pair of servers after the other. For each difference between two servers, it tries requests
on the models of both sides. A request that both answer differently is the witness; if there is none, the difference is
a doubt. What no pair of servers shows, such as addresses that only one side listens on and files that were not read, is
compared for the whole site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from nginxopt.config import Config, Directive, Scope
from nginxopt.config.tree import collector_paused
from nginxopt.errors import InputError
from nginxopt.facts import known
from nginxopt.facts.table import declarations
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import LoweredSite, lower
from nginxopt.text.display import count
from nginxopt.verify.emptied import suppositions
from nginxopt.verify.explore import Divergence, shown_pattern
from nginxopt.verify.hosts import (
    Hosts,
    ListenAddress,
    Part,
    known_values,
    may_add_servers,
    pairs,
    servers,
    taken,
    unlike,
    unlike_locations,
)
from nginxopt.verify.influences import counting
from nginxopt.verify.names import Names, names, renamed
from nginxopt.verify.path_condition import PathCondition, bounded_searches
from nginxopt.verify.premises import (
    ACCEL_PATHS,
    BOTH_START,
    FIELD_ORDER,
    MATCH_LIMIT,
    OF_FILES,
    OF_SIDES,
    OUTSIDE_SAME,
    REDIRECT_LIMIT,
    REST_ALIKE,
    STATE_RESTART,
    STATE_SAME,
    UNMATCHED_EMPTY,
    UNREAD_NAMES,
    UNREAD_SILENT,
    UNSEEN,
    Asked,
    Given,
    Premises,
    given_asked,
    given_unread,
    is_whole,
)
from nginxopt.verify.reshaping import reshaped
from nginxopt.verify.searching import MOST_GUARDED, WitnessSearch
from nginxopt.verify.servers import ServerComparison
from nginxopt.verify.side import VerifiedSide, both_values, unlike_settings, unlike_values
from nginxopt.verify.symbols import CUT
from nginxopt.verify.unread import Silent
from nginxopt.verify.verdict import ComparedPlace, Doubt, RequestWitness, Verification, places
from nginxopt.verify.witnesses import Asking

_Words = tuple[str, ...]


def unlike_outside(old: Config, new: Config) -> list[str]:
    """Return the names of directives outside of http in which two configurations differ: those of main and of events,
    and other blocks of main. Nothing for fragments."""
    before, after = _by_name(old), _by_name(new)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _by_name(config: Config) -> dict[str, list[_Words]]:
    stated: dict[str, list[_Words]] = {}
    for directive, scope in _outside(config):
        name = str(directive.name) if scope.context in ((), ("events",)) else scope.context[0]
        stated.setdefault(name, []).append((*scope.context, str(directive.name), *map(str, directive.args)))
    return stated


def _outside(config: Config) -> Iterator[tuple[Directive, Scope]]:
    """Yield the directives outside of http with their scopes, those of an included file in place of its `include`."""
    main = config.readings
    if not any(directive.name == "http" for directive in main.directives):
        return
    scopes = [main, *(inner for scope in main.scopes if scope.context != ("http",) for inner in scope.tree())]
    for scope in scopes:
        for directive in scope.directives:
            is_read = directive.name == "include" and not config.is_missing(directive)
            if not is_read and not (scope is main and directive.block is not None):
                yield directive, scope


MOST_DOUBTS = 20
"""The maximum number of doubts that are reported."""

_FEW_PATTERNS = 3  # those that a premise names
_HTTP = 0  # the number of the http block
_MOST_ASKED = 1000  # requests, after which none for locations are tried
_MOST_SURE = 1000  # requests, after which no more are tried for servers that are proved to answer alike
_MOST_TRIED = 200  # differences between two servers for which requests are tried


def verify(
    old: SiteModel, new: SiteModel, *, only: Part | None = None, premises: Premises | None = None
) -> Verification:
    """Compare two configurations. The result has a witness if they differ, and doubts if that could not be decided.

    `only` limits the comparison to the requests of a part of the site. If nginx leads such a request to the rest of the
    site, the rest is assumed to answer alike. `premises` are those that hold; by default, those that hold nearly
    everywhere.

    If the verdict is "unknown", the result names premises that would make it "equivalent", if there are any.
    """
    with collector_paused(), bounded_searches():
        return _verified(old, new, only, Premises() if premises is None else premises)


def _verified(old: SiteModel, new: SiteModel, only: Part | None, taken: Premises) -> Verification:
    verifier = _Verifier(old, new, only, taken)
    result = verifier.result()
    if result.verdict != "unknown":
        return result
    shaped = reshaped(old), reshaped(new)
    if shaped != (old, new) and (again := _Verifier(*shaped, only, taken).result()).verdict == "equivalent":
        return replace(again, tried=result.tried)
    settled = _conditions(result)
    if settled is None and (shown := _shown_if_supposed(old, new, only, taken, result)) is not None:
        return shown
    for more in () if settled is not None else verifier.proposed():
        try:
            other = _Verifier(old, new, only, taken.adding(*more)).result()
        except InputError:  # nginx refuses what the premise makes of a configuration
            continue
        rest = _conditions(other) if other.witness is None else None
        if rest is not None:
            settled = (*more, *rest)
            break
    return replace(result, conditions=tuple(dict.fromkeys(settled or ())))


def _shown_if_supposed(
    old: SiteModel, new: SiteModel, only: Part | None, premises: Premises, result: Verification
) -> Verification | None:
    """Return the result with a witness under a supposition about what was not read (`emptied`), such as that the files
    are empty; None if no supposition shows a difference."""
    for models in suppositions(old, new):
        found = _Verifier(models.old, models.new, only, premises, models.defined).result()
        if found.witness is not None:
            needed = (*found.witness.premises, *models.premises)
            witness = replace(
                found.witness, premises=needed, defined=models.defined, passing=models.passing, beside=models.beside
            )
            return replace(found, witness=witness, doubts=result.doubts)
    return None


def _conditions(result: Verification) -> tuple[str, ...] | None:
    """Return the premises that settle all doubts; None if there is a doubt that no premise settles."""
    names = [doubt.premise for doubt in result.doubts]
    return None if None in names else tuple(dict.fromkeys(name for name in names if name is not None))


class _Verifier:
    def __init__(
        self,
        old: SiteModel,
        new: SiteModel,
        only: Part | None,
        premises: Premises,
        defined: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self._only = only
        self._asked = Asked(premises)
        self._configs = (old.config, new.config)
        before, after = (_where_installed(model, premises) for model in (old, new))
        counted = counting((before, after))
        self._silent = Silent((before, after), self._asked)
        are_whole = tuple(map(is_whole, self._configs))
        side = partial(VerifiedSide, counting=counted, silent=self._silent, is_part=not all(are_whole))
        self._old = side(before, before.site)
        form, self._renamed = renamed(before.site, after.site)
        self._new = side(after, form)
        self._names = names(
            before,
            after,
            self._renamed,
            is_read=lambda: all(are_whole) and not any(side.has_open for side in self._sides),
            is_run=lambda: any(side.runs_anything for side in self._sides),
            asked=self._asked,
        )
        if self._names != Names():  # both sides are read again, with the names that stand for each other
            upstreams = self._names.upstreams
            shown = frozenset(upstreams.values()), frozenset(upstreams)
            self._old = side(before, before.site, shown=shown[0])
            self._new = side(after, form, names=self._names, shown=shown[1])
        self._pairs = list(pairs(self._old, self._new, only))
        is_closed = only is None and not any(side.has_open for side in self._sides)
        self._comparison = ServerComparison(
            self._old,
            self._new,
            PathCondition() if only is None else only.region,
            known_values(self._old, self._new, self._pairs) if is_closed else {},
        )
        asking = Asking(*(_as_empty(model, premises) for model in (old, new)), defined=defined)
        self._search = WitnessSearch(self._sides, asking, premises, only, are_whole)
        self._doubts: dict[tuple[str, int | None, int | None], Doubt] = {}
        self._unlike: dict[str, None] = {}

    def result(self) -> Verification:
        compared: set[tuple[int, int]] = set()
        self._compare_sites()
        self._compare_addresses()
        witness = self._search.alone()
        for hosts in self._pairs:
            compared.add((hosts.old, hosts.new))
            if not self._are_written_alike(hosts):
                witness = witness or self._probe_long(hosts) or self._compare(hosts) or self._probe(hosts)
        compared.update(self._compare_others(compared))
        self._compare_hidden(sorted(compared))
        if self._only is not None and not compared:
            self._doubt(f"no address of both configurations has the port {self._only.port}", None, None)
        given = list(dict.fromkeys(self._given()))
        for each in given:
            if each.premise is not None and not self._asked.premises.holds(each.premise):
                self._doubt(each.text, None, None, each.premise)
        taken = [each for each in given if each.premise is None or self._asked.premises.holds(each.premise)]
        return Verification(
            witness,
            self._reported(),
            len(compared),
            self._search.tried,
            tuple(map(str, taken)),
            premises=tuple(dict.fromkeys(each.premise for each in taken if each.premise is not None)),
            places=self._places(compared, is_equal=witness is None and not self._doubts),
        )

    def _places(self, compared: Iterable[tuple[int, int]], *, is_equal: bool) -> tuple[ComparedPlace, ...]:
        """Return the servers and locations that were compared. If there is no witness and no doubt, all are equal."""
        comparison = self._comparison
        are_alike, are_unlike = comparison.written.alike, comparison.are_skipped
        found = places(self._sides, comparison.compilers, sorted(compared), are_alike, are_unlike)
        if not is_equal:
            return tuple(found)
        return tuple(replace(each, state="equal", names=()) for each in found)

    def _reported(self) -> tuple[Doubt, ...]:
        """Return at most `MOST_DOUBTS` doubts, first those that no premise settles."""
        doubts = sorted(self._doubts.values(), key=lambda doubt: doubt.premise is not None)
        return tuple(doubts[:MOST_DOUBTS])

    def proposed(self) -> Iterator[tuple[str, ...]]:
        """Yield premises that may settle the doubts, the weakest first; none if it takes long to compare again."""
        if self._comparison.is_costly:
            return
        denied = self._asked.premises.denied
        wanted = [name for name in OF_SIDES if name in self._asked.wanted and name not in denied]
        yield from ((name,) for name in wanted)
        if any(side.has_open for side in self._sides):
            silent = [f"{UNREAD_SILENT}={','.join(sorted(self._unlike))}"] if self._unlike else []
            silent = [] if UNREAD_SILENT in denied else silent
            files = [name for name in OF_FILES if name not in denied]
            yield from [tuple(silent)] if silent else []
            yield from ((name,) for name in files)
            yield from ((*wanted, name) for name in files[-1:] if wanted)
        if len(wanted) > 1:
            yield tuple(wanted)

    def _given(self) -> Iterator[Given]:
        """Yield what this comparison takes as given. What rests on a premise that does not hold becomes a doubt."""
        yield Given("files, name resolution and upstreams are the same before and after", OUTSIDE_SAME)
        if self._only is not None:
            text = "the rest of the site answers alike, where nginx itself leads requests of this part there"
            yield Given(text, REST_ALIKE)
        if self._comparison.is_uneven:
            text = "no request comes to nginx's limit of ten internal redirects: one side makes fewer of them"
            yield Given(text, REDIRECT_LIMIT)
        unsure = [shown_pattern(pattern) for pattern in self._comparison.may_give_up()]
        if unsure:
            more = f" and {count(len(unsure) - _FEW_PATTERNS, 'other')}" if len(unsure) > _FEW_PATTERNS else ""
            text = "no request comes to the match limit of PCRE, at which nginx answers 500"
            yield Given(f"{text}: {', '.join(unsure[:_FEW_PATTERNS])}{more}", MATCH_LIMIT)
        if any(side.has_state for side in self._sides):
            yield Given("caches and the counters of limits hold the same before and after", STATE_SAME)
        if self._old.arranged != self._new.arranged:
            yield Given("the order of header fields of different names does not count", FIELD_ORDER)
        if self._names.zones or self._names.caches:
            zones = ", ".join(sorted({**self._names.zones, **self._names.caches}))
            yield Given(f"caches and the counters of limits may start empty under another name: {zones}", STATE_RESTART)
        if self._comparison.keeps_paths and any(side.passes for side in self._sides):
            text = "X-Accel-Redirect leads only to paths that begin with a slash, and to named locations"
            yield Given(text, ACCEL_PATHS)
        once = {name for _, name in self._silent.used}
        once |= {str(name) for name, _ in self._old.stated_once ^ self._new.stated_once}
        if once:
            stated = ", ".join(sorted(once))
            yield Given(f"nginx accepts both configurations, so that no file states these twice: {stated}", BOTH_START)
        yield from self._given_uncounted()
        yield from given_unread(self._configs, self._sides, self._renamed)
        yield from given_asked(self._asked)

    def _given_uncounted(self) -> Iterator[Given]:
        """Yield differences that are not compared: in directives that change no answer, and outside of http."""
        counts = self._old.uncounted(), self._new.uncounted()
        names = sorted({name for name, *_ in (counts[0] - counts[1]) + (counts[1] - counts[0])})
        if names:
            yield Given(f"these differ, and do not count as an answer: {', '.join(names)}")
            if self._old.unread or self._new.unread:
                yield Given(f"what was not read shows none of them: {', '.join(names)}", UNSEEN)
        outside = unlike_outside(*self._configs)
        if outside:
            yield Given(f"these differ, and are not compared, as they stand outside of http: {', '.join(outside)}")

    def _compare_others(self, compared: set[tuple[int, int]]) -> list[tuple[int, int]]:
        """Compare servers that may listen in text that was not read or understood; return the pairs of their numbers.

        The hosts that they answer are not known, so they are paired in their order, and each difference is a doubt.
        """
        numbers_of = {mine for mine, _ in compared}, {theirs for _, theirs in compared}
        old, new = (
            [number for number in side.open_servers() if number not in numbers]
            for side, numbers in zip(self._sides, numbers_of, strict=True)
        )
        if len(old) != len(new):
            self._doubt("a server is not compared: it may listen on what is missing or not understood", None, None)
        others = list(zip(old, new, strict=False))
        if any(map(may_add_servers, self._sides)) and len(self._old.form["servers"]) == len(self._new.form["servers"]):
            others += [(number, number) for number in range(len(self._old.form["servers"]))]
        others = [pair for pair in dict.fromkeys(others) if pair not in compared]
        for mine, theirs in others:
            result = self._comparison.servers(mine, theirs)
            for difference in result.differences:
                self._doubt(self._reason(difference), difference.old.node, difference.new.node)
            hosts = [
                Hosts(mine, theirs, ListenAddress("", "", 0, quic=False), None, each)
                for each in self._patterns(mine, theirs)
            ]
            captures = (reason for each in hosts for reason in self._comparison.unlike_captures(each))
            for reason, before, after in (*result.reasons, *captures):
                self._doubt(reason, before, after)
        return others

    def _are_written_alike(self, hosts: Hosts) -> bool:
        """Return whether the texts of two servers show that they answer hosts alike, with equal captures of names."""
        return hosts.patterns[0] == hosts.patterns[1] and self._comparison.written.alike(hosts.old, hosts.new)

    def _patterns(self, old: int, new: int) -> list[tuple[str | None, str | None]]:
        """Return the patterns in the names of one of two servers that are missing in the other, each on its side."""
        mine, theirs = (
            {name["text"] for name in side.server(number)["names"] if name["text"].startswith("~")}
            for side, number in zip(self._sides, (old, new), strict=True)
        )
        return [*((each, None) for each in mine - theirs), *((None, each) for each in theirs - mine)]

    def _compare(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that two servers answer differently; add a doubt for each difference that none shows."""
        result = self._comparison.servers(hosts.old, hosts.new)
        for number, difference in enumerate(islice(result.differences, _MOST_TRIED)):
            witness = self._search.of_difference(difference, hosts, is_guarded=number < MOST_GUARDED)
            if witness is not None:
                return witness
            self._doubt(self._reason(difference), difference.old.node, difference.new.node)
        is_asked = result.differences and self._search.tried < _MOST_ASKED
        if is_asked and (witness := self._search.of_places(hosts, result.differences)) is not None:
            return witness
        captures = list(self._comparison.unlike_captures(hosts))
        if captures and (witness := self._search.of_captures(hosts)) is not None:
            return witness
        for reason, mine, theirs in (*result.reasons, *captures):
            self._doubt(reason, mine, theirs)
        return None

    def _probe(self, hosts: Hosts) -> RequestWitness | None:
        """Return a request that two servers answer differently, out of those that are likely to show a difference.

        As long as nothing is in doubt, these are asked in case that the proof is wrong, and no more than `_MOST_SURE`.
        """
        is_proved = not self._doubts
        return None if is_proved and self._search.probed >= _MOST_SURE else self._search.of_servers(hosts)

    def _probe_long(self, hosts: Hosts) -> RequestWitness | None:
        """Probe two servers before they are compared, if long chains of maps differ, or if they have long scripts.

        A comparison divides the requests by the rows of each map of a chain, on both sides, and compiles all of a
        script, so it may cost much more than some requests.
        """
        is_long = self._comparison.has_long_chains or self._comparison.has_long_scripts(hosts.old, hosts.new)
        return self._search.of_servers(hosts) if is_long else None

    def _compare_sites(self) -> None:
        """Add the doubts that concern all servers."""
        builds = self._old.form["build"], self._new.form["build"]
        if builds[0] != builds[1]:
            self._doubt("what differs between the versions of nginx is not compared", None, None)
        unread = [[(item["reason"], side.text(item["node"])) for item in side.form["opaque"]] for side in self._sides]
        names = [
            [[name["text"] for name in server["names"]] for server in side.form["servers"]] for side in self._sides
        ]
        has_servers = self._has_servers or not any(side.is_open(_HTTP) for side in self._sides)
        if unread[0] != unread[1] or (unread[0] and names[0] != names[1] and has_servers):
            self._doubt("something in http is not understood or missing, and may be servers", None, None)
        if any(side.runs_anything for side in self._sides):
            for name in unlike_outside(*self._configs):
                if name == "env" or not declarations(name):
                    self._doubt(f"{name} is another one now, and may be read by what is not understood", None, None)
        self._compare_places()
        if any(map(may_add_servers, self._sides)) and servers(self._old) != servers(self._new):
            self._doubt("names and addresses of servers that were not read may be others among the rest", None, None)
        is_part = not all(map(is_whole, self._configs))
        if is_part or any(side.has_open for side in self._sides):
            self._compare_for_unread(is_part or self._has_servers)
        if is_part or any(config.elsewhere for config in self._configs):
            self._compare_taken()

    def _compare_taken(self) -> None:
        """Add a doubt for each name that only one side has: on the other, an unread server may answer that host."""
        old, new = (taken(side) for side in self._sides)
        for address, name in sorted((old - new) + (new - old)):
            host = f'the host "{name}"' if name else "hosts without a server of their own"
            self._doubt(f"{address}: a server that was not read may answer {host} on one side", None, None)

    def _compare_for_unread(self, has_servers: bool) -> None:
        """Add doubts about what an unread file may use: variables, upstreams, and, if it `has_servers`, settings of
        http.

        The file that includes a fragment is also an unread file.
        """
        if has_servers:
            unlike = unlike_settings(self._old, _HTTP, self._new, _HTTP)
            if unlike:
                self._doubt(f"servers that were not read have other settings: {', '.join(unlike)}", None, None)
        if not self._asked.holds(UNREAD_NAMES):
            self._compare_names()

    @property
    def _has_servers(self) -> bool:
        """Whether a file that was not read may have servers."""
        return any(side.may_add(_HTTP, "server") for side in self._sides)

    def _compare_names(self) -> None:
        """Add doubts about variables and upstreams that the two sides define differently."""
        for name in self._comparison.unlike_definitions():
            self._doubt(f"${name} is another one now, and may be read in what was not read", None, None)
        for name in sorted(self._old.upstreams.keys() & self._new.upstreams.keys()):
            if self._old.upstreams[name] != self._new.upstreams[name]:
                self._doubt(f"the upstream {name} is another one now, and may be used in what was not read", None, None)

    def _compare_places(self) -> None:
        """Add doubts about unread files that the two sides include in different places."""
        variables = self._old.definitions.keys() & self._new.definitions.keys()
        before, after = (side.unread_places(variables) for side in self._sides)
        moved = sorted(place for place in before.keys() & after.keys() if before[place] != after[place])
        for *_, path in moved:
            self._doubt(f"{path} was not read, and is included before other blocks than it was", None, None)

    @property
    def _sides(self) -> tuple[VerifiedSide, VerifiedSide]:
        return self._old, self._new

    def _compare_addresses(self) -> None:
        for address, reason in unlike(self._old, self._new, self._only):
            self._doubt(f"{address}: {reason}", None, None)

    def _reason(self, difference: Divergence) -> str:
        """Return what is in doubt, as a phrase."""
        old, new = difference.old, difference.new
        if difference.is_kept:
            return "a map that is not volatile may keep its value while nginx changes the URI"
        if difference.is_at_limit:
            return "nginx's limit of ten internal redirects is reached, and one side has made fewer of them"
        if old.kind != new.kind:
            return f"{_PHRASES[old.kind]} before, {_PHRASES[new.kind]} now"
        read = self._comparison.read_by_code(old.state.level, new.state.level)
        if old.what != new.what:
            if old.kind == "opaque" and read is not None:
                return read
            return f"{_PHRASES[old.kind]}, but not the same"
        levels = self._old, old.state.level, self._new, new.state.level
        self._unlike |= dict.fromkeys(name for name in unlike_values(*levels) if name in known())
        names = unlike_settings(*levels)
        if names:
            return f"other settings: {', '.join(names)}{both_values(*levels)}"
        if read is not None:
            return read
        if difference.checked:
            if CUT in difference.checked:
                return "a map changes a capture in a text after nginx has measured the length of the text"
            checked = ", ".join(sorted(difference.checked))
            return f"nginx checks {checked} as it enters a location, and not alike on both sides"
        return "the same settings, with other values of variables"

    def _compare_hidden(self, compared: Iterable[tuple[int, int]]) -> None:
        """Add doubts about locations that were not read, in all pairs of servers."""
        for old, new in compared:
            if self._comparison.written.alike(old, new):
                continue
            levels = self._old.server(old)["level"], self._new.server(new)["level"]
            for each in unlike_locations(self._sides, levels):
                self._doubt(each.reason, each.old, each.new)

    def _doubt(self, reason: str, old: int | None, new: int | None, premise: str | None = None) -> None:
        self._doubts.setdefault((reason, old, new), Doubt(reason, old, new, premise))


def _where_installed(model: SiteModel, premises: Premises) -> LoweredSite:
    """Return a site in which a file that may be read only where the site is installed is missing, unless a premise says
    that it is empty."""

    def is_empty(include: Directive) -> bool:
        is_read = not model.config.is_missing(include)
        return premises.is_empty(str(include.args[0])) or (is_read and premises.holds(UNMATCHED_EMPTY))

    config = model.config.as_elsewhere(is_empty)
    return model.site if config is model.config else lower(config, model.build)


def _as_empty(model: SiteModel, premises: Premises) -> SiteModel:
    """Return a model in which missing files are empty where a premise says so; more of its answers are known."""
    missing = model.config.missing
    if not any(premises.is_empty(str(include.args[0])) for include in missing):
        return model
    config = model.config.as_elsewhere(
        lambda include: not model.config.is_missing(include) or premises.is_empty(str(include.args[0]))
    )
    return SiteModel(config, model.build)


_PHRASES = {
    "return": "a return",
    "redirect": "a redirect",
    "slash": "a redirect to the name of a location",
    "locating": "a location is chosen",
    "last": "a location is chosen again",
    "end": "a handler answers",
    "exit": "the script goes on",
    "opaque": "something that is not understood",
}
