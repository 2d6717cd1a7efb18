"""Hundreds of exact locations that redirect: memory and start-up time that a map does not need

Flags servers with 100 or more `location = /uri` that only redirect to a fixed target.

## Why it matters
nginx finds an exact location quickly. But each one holds the configuration of every module, some 7.6 KB. The workers
share this memory with the master process; during a reload, nginx needs it twice. Before 1.25.3, nginx also sorts the
locations by insertion, in quadratic time, when it starts or reloads. Measured on 1.22.1 (resident memory, shared pages
included; an empty worker has 4.0 MB):

| redirects | `nginx -t` | worker | as a map |
|---|---|---|---|
| 1,000 | 0.01 s | 11.6 MB | 0.004 s, 4.4 MB |
| 10,000 | 1.3 s | 80 MB | 0.01 s, 6.9 MB |
| 100,000 | 342 s | 771 MB | 0.11 s, 33 MB |

## Bad
```nginx server
location = /p1 { return 301 /q1; } location = /p2 { return 301 /q2; }
location = /p3 { return 301 /q3; } location = /p4 { return 301 /q4; }
location = /p5 { return 301 /q5; } location = /p6 { return 301 /q6; }
location = /p7 { return 301 /q7; } location = /p8 { return 301 /q8; }
location = /p9 { return 301 /q9; } location = /p10 { return 301 /q10; }
location = /p11 { return 301 /q11; } location = /p12 { return 301 /q12; }
location = /p13 { return 301 /q13; } location = /p14 { return 301 /q14; }
location = /p15 { return 301 /q15; } location = /p16 { return 301 /q16; }
location = /p17 { return 301 /q17; } location = /p18 { return 301 /q18; }
location = /p19 { return 301 /q19; } location = /p20 { return 301 /q20; }
location = /p21 { return 301 /q21; } location = /p22 { return 301 /q22; }
location = /p23 { return 301 /q23; } location = /p24 { return 301 /q24; }
location = /p25 { return 301 /q25; } location = /p26 { return 301 /q26; }
location = /p27 { return 301 /q27; } location = /p28 { return 301 /q28; }
location = /p29 { return 301 /q29; } location = /p30 { return 301 /q30; }
location = /p31 { return 301 /q31; } location = /p32 { return 301 /q32; }
location = /p33 { return 301 /q33; } location = /p34 { return 301 /q34; }
location = /p35 { return 301 /q35; } location = /p36 { return 301 /q36; }
location = /p37 { return 301 /q37; } location = /p38 { return 301 /q38; }
location = /p39 { return 301 /q39; } location = /p40 { return 301 /q40; }
location = /p41 { return 301 /q41; } location = /p42 { return 301 /q42; }
location = /p43 { return 301 /q43; } location = /p44 { return 301 /q44; }
location = /p45 { return 301 /q45; } location = /p46 { return 301 /q46; }
location = /p47 { return 301 /q47; } location = /p48 { return 301 /q48; }
location = /p49 { return 301 /q49; } location = /p50 { return 301 /q50; }
location = /p51 { return 301 /q51; } location = /p52 { return 301 /q52; }
location = /p53 { return 301 /q53; } location = /p54 { return 301 /q54; }
location = /p55 { return 301 /q55; } location = /p56 { return 301 /q56; }
location = /p57 { return 301 /q57; } location = /p58 { return 301 /q58; }
location = /p59 { return 301 /q59; } location = /p60 { return 301 /q60; }
location = /p61 { return 301 /q61; } location = /p62 { return 301 /q62; }
location = /p63 { return 301 /q63; } location = /p64 { return 301 /q64; }
location = /p65 { return 301 /q65; } location = /p66 { return 301 /q66; }
location = /p67 { return 301 /q67; } location = /p68 { return 301 /q68; }
location = /p69 { return 301 /q69; } location = /p70 { return 301 /q70; }
location = /p71 { return 301 /q71; } location = /p72 { return 301 /q72; }
location = /p73 { return 301 /q73; } location = /p74 { return 301 /q74; }
location = /p75 { return 301 /q75; } location = /p76 { return 301 /q76; }
location = /p77 { return 301 /q77; } location = /p78 { return 301 /q78; }
location = /p79 { return 301 /q79; } location = /p80 { return 301 /q80; }
location = /p81 { return 301 /q81; } location = /p82 { return 301 /q82; }
location = /p83 { return 301 /q83; } location = /p84 { return 301 /q84; }
location = /p85 { return 301 /q85; } location = /p86 { return 301 /q86; }
location = /p87 { return 301 /q87; } location = /p88 { return 301 /q88; }
location = /p89 { return 301 /q89; } location = /p90 { return 301 /q90; }
location = /p91 { return 301 /q91; } location = /p92 { return 301 /q92; }
location = /p93 { return 301 /q93; } location = /p94 { return 301 /q94; }
location = /p95 { return 301 /q95; } location = /p96 { return 301 /q96; }
location = /p97 { return 301 /q97; } location = /p98 { return 301 /q98; }
location = /p99 { return 301 /q99; } location = /p100 { return 301 /q100; }
```

## Good
A map ignores letter case, which a location does not:
```nginx http
map $uri $moved_to {
    /p1 /q1; /p2 /q2; /p3 /q3; /p4 /q4; /p5 /q5; /p6 /q6; /p7 /q7; /p8 /q8; /p9 /q9; /p10 /q10;
    /p11 /q11; /p12 /q12; /p13 /q13; /p14 /q14; /p15 /q15; /p16 /q16; /p17 /q17; /p18 /q18; /p19 /q19; /p20 /q20;
    /p21 /q21; /p22 /q22; /p23 /q23; /p24 /q24; /p25 /q25; /p26 /q26; /p27 /q27; /p28 /q28; /p29 /q29; /p30 /q30;
    /p31 /q31; /p32 /q32; /p33 /q33; /p34 /q34; /p35 /q35; /p36 /q36; /p37 /q37; /p38 /q38; /p39 /q39; /p40 /q40;
    /p41 /q41; /p42 /q42; /p43 /q43; /p44 /q44; /p45 /q45; /p46 /q46; /p47 /q47; /p48 /q48; /p49 /q49; /p50 /q50;
    /p51 /q51; /p52 /q52; /p53 /q53; /p54 /q54; /p55 /q55; /p56 /q56; /p57 /q57; /p58 /q58; /p59 /q59; /p60 /q60;
    /p61 /q61; /p62 /q62; /p63 /q63; /p64 /q64; /p65 /q65; /p66 /q66; /p67 /q67; /p68 /q68; /p69 /q69; /p70 /q70;
    /p71 /q71; /p72 /q72; /p73 /q73; /p74 /q74; /p75 /q75; /p76 /q76; /p77 /q77; /p78 /q78; /p79 /q79; /p80 /q80;
    /p81 /q81; /p82 /q82; /p83 /q83; /p84 /q84; /p85 /q85; /p86 /q86; /p87 /q87; /p88 /q88; /p89 /q89; /p90 /q90;
    /p91 /q91; /p92 /q92; /p93 /q93; /p94 /q94; /p95 /q95; /p96 /q96; /p97 /q97; /p98 /q98; /p99 /q99; /p100 /q100;
}
server {
    if ($moved_to) {
        return 301 $moved_to;
    }
}
```

## Silent
A few locations, and locations that do something else:
```nginx server
location = /old { return 301 /new; }
location = /status { return 200; }
```

## When to ignore it
If the locations differ in more than the target, for example in their logs.

## References
- CHANGES 1.25.3, "startup speedup when using a large number of locations", https://nginx.org/en/CHANGES
- https://nginx.org/en/docs/http/ngx_http_map_module.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import REDIRECTS, Finding, Model, Severity, Version, rule
from nginxopt.semantics import Level

LEAST = 100
"""Three quarters of a megabyte; below this, memory and start-up time do not differ measurably."""

KILOBYTES = 7.6
"""Memory per exact location, which the workers share: (80 MB - 4.0 MB) / 10,000, nginx 1.22.1."""

SORTED_FAST = Version(1, 25, 3)
"""The first version with merge sort for locations (CHANGES 1.25.3)."""


@rule(severity=Severity.INFO, category="rewrite", about=("return",))
def check(model: Model) -> Iterator[Finding]:
    """Find servers with many exact locations that only redirect."""
    for server in model.levels("server"):
        redirects = [level for level in server.levels if level.kind == "location" and _redirects(level)]
        if len(redirects) >= LEAST:
            yield _finding(model, redirects)


def _redirects(location: Level) -> bool:
    """Whether an exact location contains only a `return` to a fixed target."""
    if location.modifier != "=" or len(location.directives) != 1 or location.levels:
        return False
    (only,) = location.directives
    return only.name == "return" and len(only.args) == 2 and only.args[0] in map(str, REDIRECTS)


def _finding(model: Model, redirects: list[Level]) -> Finding:
    first, count = redirects[0].opener, len(redirects)
    assert first is not None
    size = f"{count * KILOBYTES / 1000:,.1f} MB of memory"
    start = ", and quadratic time to start" if model.target < SORTED_FAST else ""
    return Finding(
        first.source,
        first.name.span,
        f"{count:,} exact locations only redirect: they take about {size}{start}",
        help="return the value of a map of $uri; its keys ignore the case of letters",
    )
