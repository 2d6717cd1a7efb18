"""What nginx knows of each directive, in tables.

- `directives.tsv`: what each release of nginx declares (places, arguments, setter, values, default), derived from its
  sources by `docs/directives.py`.
- `facts.tsv`: what no declaration says, kept by hand, a row for each directive; `table` reads both.
- `vendors/*.tsv`: what NGINX Plus, Angie and modules of third parties declare besides; `vendors` reads them.

For a new release, clone nginx's repository with its tags, and run `python docs/directives.py CHECKOUT > directives.tsv`
for two minutes. Add a line to `facts.tsv`, in the order of names, for each new name (tests/facts names those that are
missing), the release to `GUESSES` and `_LAST` of `nginxopt.settings.target`, and what else it changed to
`nginxopt.lint.releases`. A line `@_bind` stands for `proxy_bind`, `fastcgi_bind` and so on, unless a directive has a
line of its own. These are the columns:

- `effect`: what it does to a request: `script` (a statement of the rewrite module, or what runs there), `access`,
  `content` (chooses or sets up what answers), `header` or `body` (changes a response), `upstream` (how a request is
  passed on), `connection`, `log`, or `none`.
- `model`: how the model of requests takes it. `read` (a setting) and `structure` (a block or a statement) are
  simulated, `opaque` defines variables whose values are not known. With these a directive changes no outcome: `log`,
  `size`, `connection`, `encoding`, `parameter` (of another directive), `header` (one that is no part of an outcome),
  `variable` (of its module), `state`, `upstream`. With these it does, and is not simulated: `first` (before the
  script), `in order` (at its place in the script), `after` the script, `content` (it answers), `body`, `headers`,
  `response`. Empty if nobody has looked.
- `inherited`: `no`, or as a `handler` (by an `if`, not by a location), as a `list` (a level may have several, and
  inherits none if it has one), or `added` to those of the levels around. Empty: a level without it inherits it.
- `variables`: the arguments that nginx evaluates: `all`, the `first`, those `later`, the later ones where a server
  inherits them (`passed`), or the only one if it is a `name`, a `source`, a `condition` or a `format`.
- `hidden`: `yes` if neither a variable nor a body shows it to a program that handles requests.
- `code`: what a directive that runs code, or shows what no word names, may read besides its words: `variables`,
  `upstreams`, `everything` or `nothing`.
- `off`: the first arguments with which it has no effect, for directives that the model does not simulate.
- `groups`: sets of directives that belong together, such as those that are given together (`GROUPS`).
- `default`: what nginx does without it, if a rule asks; `declared` for that of `directives.tsv`.
- `instead`: what to use, for a directive that has no effect any more.
- `description`: a sentence. If it is empty, that of `@_` counts.
"""

from typing import TYPE_CHECKING

from nginxopt.facts import vendors
from nginxopt.facts.table import (
    GROUPS,
    DirectiveFact,
    declarations,
    fact,
    group,
    having,
    is_variable,
    known,
    names,
    obsolete_names,
    script,
    turning_points,
)

if TYPE_CHECKING:
    from nginxopt.facts import lexicon

__all__ = [
    "GROUPS",
    "DirectiveFact",
    "declarations",
    "fact",
    "group",
    "having",
    "is_variable",
    "known",
    "lexicon",
    "names",
    "obsolete_names",
    "script",
    "turning_points",
    "vendors",
]
