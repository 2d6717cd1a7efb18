"""`valid_referers none` or `blocked`: requests without a referrer pass

Flags `valid_referers` with `none` or `blocked`. Does not flag lists of names alone.

## Why it matters
A page that embeds a file of this site can ask browsers to send no referrer: `<meta name="referrer" content="none">`, or
`referrerpolicy="no-referrer"` at the image. With `none`, its visitors get the file, so the check stops nobody who knows
it. `blocked` accepts any value without `http://` or `https://`.

## Bad
```nginx server
location /images/ {
    valid_referers none blocked server_names;
    if ($invalid_referer) {
        return 403;
    }
}
```

## Good
```nginx server
location /images/ {
    valid_referers server_names;
    if ($invalid_referer) {
        return 403;
    }
}
```

## Silent
```nginx server
location /images/ {
    valid_referers *.none.example.com;
    if ($invalid_referer) {
        return 403;
    }
}
```

## Fix safety
May change: responses.

Clients that send no referrer, such as those with a privacy setting, or that open the file directly, are refused.

## When to ignore it
Where the check only has to stop most of the traffic, which is the usual purpose: then visitors without a referrer
should pass.

## References
- https://nginx.org/en/docs/http/ngx_http_referer_module.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule


@rule(severity=Severity.INFO, category="hardening", default=False, fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find checks of referrers that a client without one passes."""
    for directive, _ in model.each("valid_referers"):
        passing = [word for word in directive.args if word in ("none", "blocked")]
        if passing:
            is_all = len(passing) == len(directive.args)
            title = f"accept no {' and no '.join(passing)}"
            yield Finding(
                directive.source,
                passing[0].span,
                "requests without a referrer pass, and any page can have its visitors send none",
                None if is_all else Fix(title, layout.without(directive, passing), Safety.UNSAFE),
                "list the names of the sites" if is_all else "",
            )
