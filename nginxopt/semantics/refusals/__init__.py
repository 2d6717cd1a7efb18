"""What nginx refuses of a configuration: an offline `nginx -t`, as far as the text decides.

`refusals` goes through a configuration as nginx does, from top to bottom, and yields every fault, where nginx stops at
the first. For each directive it asks, in the order of `ngx_conf_handler`: is it known, may it stand here, does it have
its block and a number of arguments that it takes, is it the second of its kind, and then its *setter*: a function here
for each function of nginx that sets a directive, found by its name in the table of declarations. After a block of
http, stream or mail it checks what nginx checks when it merges levels and builds its tables (`merged`).

Words that another program replaces before nginx reads them decide nothing, nor do names that text which was not read
may define.

Files, names, certificates and what the build has are not looked at.
"""

from nginxopt.semantics.refusals.patterns import refused_patterns
from nginxopt.semantics.refusals.walk import Refusal, RefusalStage, refusals

__all__ = ["Refusal", "RefusalStage", "refusals", "refused_patterns"]
