"""Makes of Kubernetes Ingresses the configuration that answers as ingress-nginx would.

Input: manifests (YAML or JSON), and the ConfigMap of the controller. Output: an nginx.conf without Lua, notes on what
it leaves out, and what each annotation is in an HTTPRoute of the Gateway API.

- `manifests` reads Ingresses; `annotations` knows what each annotation takes, from `annotations.tsv`;
- `settings` knows the ConfigMap;
- `servers` merges Ingresses into servers and locations, as the controller does;
- `emission` and `locations` write them;
- `routes` lists the annotations.

What the controller does is in its repository, kubernetes/ingress-nginx; names of files and functions in this package
are those of its last release.
"""

from __future__ import annotations

from nginxopt import lazy

__all__ = ["Converted", "Ingress", "Settings", "convert", "ingresses", "listed", "settings_of"]

__getattr__ = lazy.attributes(
    __name__,
    {
        "conversion": ["Converted", "convert"],
        "manifests": ["Ingress", "ingresses"],
        "routes": ["listed"],
        "settings": ["Settings", "settings_of"],
    },
)
