"""What nginx refuses of a configuration: an offline `nginx -t`, as far as the text decides.

`refusals` goes through a configuration as nginx does, from top to bottom, and yields every fault, where nginx stops at
the first. For each directive, it asks the questions of `ngx_conf_handler` in their order: whether the directive is
known and may stand here, whether it has its block and a number of arguments that it takes, and whether it is a
duplicate. Then it calls the *setter* of the directive: for each function of nginx that sets a directive, there is a
function here, found by its name in the table of declarations. After a block of http, stream or mail it checks what
nginx checks when it merges levels and builds its tables (`merged`).

Some words are replaced by another program before nginx reads them, and some names may be defined in text that was not
read. Neither leads to a refusal.

Files, host names, certificates and the options of the build are not checked.
"""

from nginxopt.semantics.refusals.setters import refused_patterns
from nginxopt.semantics.refusals.walk import Refusal, RefusalStage, before, cause, first, refusals, undefined

__all__ = ["Refusal", "RefusalStage", "before", "cause", "first", "refusals", "refused_patterns", "undefined"]
