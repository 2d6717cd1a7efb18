"""Makes of Kubernetes Ingresses the configuration that answers as ingress-nginx would.

Input: manifests (YAML or JSON), and the ConfigMap of the controller. Output: an nginx.conf without Lua, notes on what
it leaves out, and what each annotation is in an HTTPRoute of the Gateway API.

- `manifests` reads Ingresses; `annotations` knows what each annotation takes, from `annotations.tsv`;
- `settings` knows the ConfigMap;
- `servers` merges Ingresses into servers and locations (`model`), as the controller does; `canaries` are beside them;
- `emission` and `locations` write them;
- `lua` edits what `nginx -T` of a controller printed instead;
- `routes` lists the annotations.

What the controller does is in its repository, kubernetes/ingress-nginx; names of files and functions in this package
are those of its last release.
"""

from __future__ import annotations

from nginxopt import lazy

__all__ = [
    "ControllerSettings",
    "Converted",
    "Ingress",
    "convert",
    "files_of",
    "ingresses",
    "is_printed",
    "listed",
    "settings_of",
    "without_lua",
]

__getattr__ = lazy.attributes(
    __name__,
    {
        "conversion": ["Converted", "convert"],
        "lua": ["is_printed", "without_lua"],
        "manifests": ["Ingress", "files_of", "ingresses"],
        "routes": ["listed"],
        "settings": ["ControllerSettings", "settings_of"],
    },
)
