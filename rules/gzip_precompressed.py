"""`gzip_types` with compressed types: CPU time for no compression

Flags formats in `gzip_types` that are already compressed: JPEG, PNG, GIF, WebP, AVIF, WOFF, video, audio and archives.
Does not flag icons, SVG, BMP, TTF, OTF and EOT: they shrink. Nor does it flag `application/font-woff` and other former
types of web fonts, unless a `types` block sets them: nginx sends `font/woff` since 1.15.1.

## Why it matters
Each byte goes through zlib, and the result is no smaller. A response compressed on the fly is not sent by `sendfile`,
has no `Content-Length`, and ignores `Range`, so that clients cannot seek in a video.

## Bad
```nginx http
gzip on;
gzip_types text/css application/javascript image/jpeg image/png
           image/svg+xml font/woff2;
```

## Good
```nginx http
gzip on;
gzip_types text/css application/javascript image/svg+xml;
```

## Silent
```nginx http
gzip on;
gzip_types image/svg+xml image/x-icon image/bmp font/ttf font/otf application/vnd.ms-fontobject application/wasm
           application/font-woff;
```

## Fix safety
May change: responses.

The body is the same, but the header is not: `Content-Encoding` and `Vary` are gone, `Content-Length` and
`Accept-Ranges` appear, the `ETag` is strong, and a request with `Range` gets 206. Seen on nginx 1.22.1 and 1.31.3.

## When to ignore it
If files of such a type are in fact not compressed.

## References
- https://nginx.org/en/docs/http/ngx_http_gzip_module.html#gzip_types
- W3C, WOFF File Format 2.0: compressed by Brotli
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, Token, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level

COMPRESSED = {
    "image/jpeg", "image/jpg", "image/png", "image/gif", "image/webp", "image/avif", "image/jxl", "image/apng",
    "font/woff", "font/woff2", "application/zip", "application/gzip", "application/x-gzip",
    "application/x-7z-compressed", "application/x-rar-compressed", "application/vnd.rar", "application/x-bzip2",
    "application/x-xz", "application/zstd", "application/java-archive",
    "audio/mpeg", "audio/mp3", "audio/mp4", "audio/ogg", "audio/aac", "audio/webm",
    "audio/x-m4a", "video/mp4", "video/mpeg", "video/webm", "video/ogg", "video/quicktime", "video/x-msvideo",
    "video/x-flv", "video/x-m4v", "video/x-ms-wmv", "video/3gpp",
}  # fmt: skip

FORMER = {"application/font-woff", "application/font-woff2", "application/x-font-woff", "application/x-font-woff2"}
"""Former names of web fonts (RFC 8081, section 4.4.5)."""


@rule(severity=Severity.WARNING, category="client", fix=Safety.UNSAFE, about=("gzip_types",))
def check(model: Model) -> Iterator[Finding]:
    """Find types that are compressed twice."""
    sent = COMPRESSED | {str(row.name).lower() for row, _ in model.each(*FORMER)}
    for directive, level in model.each("gzip_types"):
        words = [word for word in directive.args if word.lower() in sent]
        if words:
            fix = _fix(directive, level, words)
            message = f"gzip_types lists types that are already compressed: {', '.join(words)}"
            help_ = "" if fix else "remove the directive, or list other types"
            yield Finding(directive.source, words[0].span, message, fix, help_)


def _fix(directive: Directive, level: Level, words: list[Token]) -> Fix | None:
    title = "remove " + ", ".join(words)
    if len(words) < len(directive.args):
        return Fix(title, layout.without(directive, words), Safety.UNSAFE)
    # Without the directive, its block inherits the types of the outer block, by default text/html.
    outer = level.parent.setting("gzip_types") if level.parent else None
    return Fix(title, (layout.delete(directive),), Safety.UNSAFE) if outer and outer.is_unset else None
