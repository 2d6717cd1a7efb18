"""What files that were not read certainly do not state.

nginx refuses most directives twice in a block, whether they are in its text or in a file that it includes. So if it
accepts a configuration that states one of them next to an include, the file does not, and the same file does not state
it on the other side either. Premises that were asked for may say more.
"""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt.config import Directive
from nginxopt.semantics.inherit import origin, packaged_names
from nginxopt.semantics.site import LoweredSite
from nginxopt.verify.premises import BOTH_START, Asked, Premises
from nginxopt.verify.unread import is_stated_once


class Silent:
    """The names of settings that unread files do not state, by the paths as they are written.

    `used` are those facts that made a difference, `asked` the premises of the comparison.
    """

    def __init__(self, sites: Iterable[LoweredSite] = (), asked: Asked | None = None) -> None:
        self.asked = Asked(Premises()) if asked is None else asked
        self._names: dict[str, set[str]] = {}
        self.used: set[tuple[str, str]] = set()
        for site in sites:
            for level in site.levels:
                includes = [each for each in level.own("include") if site.nodes.is_missing(each)]
                if includes:
                    once = {str(name) for name in level.names if is_stated_once(str(name), level.target)}
                    for include in includes:
                        self._names.setdefault(str(include.args[0]), set()).update(once)

    def about(self, include: Directive, name: str) -> bool:
        """Return whether a file that was not read does not state a setting."""
        if origin(include) is not None:
            return name not in packaged_names(include)
        is_given = self.asked.premises.holds(BOTH_START)
        is_silent = is_given and name in self._names.get(str(include.args[0]), ())
        if is_silent:
            self.used.add((str(include.args[0]), name))
        return is_silent or self.asked.is_silent(str(include.args[0]), name)
