"""Links that a hash protects (statement 65), and the referrers that a block accepts."""

from base64 import urlsafe_b64encode
from hashlib import md5

from tests.nginx.request_model.experiment import Experiment


def _hash(text: str) -> str:
    return urlsafe_b64encode(md5(text.encode()).digest()).decode()


def _hex(text: str) -> str:
    return md5(text.encode()).hexdigest()


_SHOWN = 'return 200 "[$secure_link|$secure_link_expires]";'
_EXPIRED = "whether the link has expired (5)"
_RIGHT = _hash("5/s w").rstrip("=")
_REFERRED = 'return 200 "[$invalid_referer]";'

LINKS = (
    Experiment(
        "65",
        "a link is 1 if its hash is right, 0 if it has expired as well, and else empty",
        (
            f'location /s {{ secure_link $arg_m,$arg_e; secure_link_md5 "$secure_link_expires$uri w"; {_SHOWN} }}'
            f' location /n {{ secure_link $arg_m; secure_link_md5 "$uri w"; {_SHOWN} }}'
            f" location /half {{ secure_link $arg_m; {_SHOWN} }}",
        ),
        {
            "/s": "200 [|]",
            f"/s?m={_RIGHT}&e=5": "200 [0|5]",
            f"/s?m={_RIGHT}": "200 [|]",
            f"/s?m={_RIGHT}&e=x": "200 [|]",
            f"/s?m={_RIGHT}&e=0": "200 [|]",
            f"/s?m={_RIGHT}&e=05": "200 [|05]",
            f"/s?m={_RIGHT[1:]}&e=5": "200 [|5]",
            f"/s?m={_hash('6/s w')}&e=5": "200 [|5]",
            f"/s?m={_RIGHT}&e=99999999999999999999": "200 [|]",
            f"/n?m={_hash('/n w')}": "200 [1|]",
            f"/n?m={_hash('/n w').rstrip('=')}": "200 [1|]",
            f"/n?m={_hash('/n w')}=": "200 [|]",
            f"/n?m={_hash('/n w').rstrip('=')},5": "200 [0|5]",
            f"/half?m={_hash('/half')}": "200 [|]",
        },
        needs="secure_link",
    ),
    Experiment(
        "65 secret",
        "with a secret, the link is what stands behind the hash, arguments included",
        (f"location /p/ {{ secure_link_secret w; {_SHOWN} }} location / {{ {_SHOWN} }}",),
        {
            f"/p/{_hex('aw')}/a": "200 [a|]",
            f"/p/{_hex('a?bw')}/a?b": "200 [a?b|]",
            f"/p/{_hex('aw')}/a?b": "200 [|]",
            f"/p/{_hex('a/bw')}/a/b": "200 [a/b|]",
            f"/p/{_hex('aw').upper()}/a": "200 [a|]",
            f"/p/{_hex('w')}/": "200 [|]",
            f"/p/{_hex('aw')}": "200 [|]",
            f"/p/x/{_hex('aw')}/a": "200 [|]",
            f"/q/{_hex('aw')}/a": "200 [|]",
            f"//p/{_hex('aw')}/a": "200 [|]",
        },
        needs="secure_link_secret",
    ),
    Experiment(
        "65 once",
        "both are computed once, the time only behind the link, and where they are first read",
        (
            'secure_link $arg_m,5; secure_link_md5 "$uri w";'
            ' location /a { if ($secure_link = "0") { rewrite ^ /b last; } return 200 wrong; }'
            f" location /b {{ secure_link_md5 other; {_SHOWN} }}"
            ' location /t { return 200 "[$secure_link_expires|$secure_link|$secure_link_expires]"; }'
            f" location /p/ {{ secure_link_secret w; {_SHOWN} }}"
            f' location /in {{ secure_link $arg_m; location /in/x {{ secure_link_md5 "$uri v"; {_SHOWN} }} }}'
            " location /e { error_page 404 /f; if ($secure_link) { return 404; } return 404; }"
            f" location /f {{ {_SHOWN} }}",
        ),
        {
            "/a?m=x": "200 wrong",
            f"/a?m={_hash('/a w')}": "200 [0|5]",
            "/t?m=x": "200 [||]",
            f"/p/{_hex('aw')}/a": "200 [a|]",
            f"/in/x?m={_hash('/in/x v')}": "200 [1|]",
            "/e?m=x": "404 [|]",
        },
        unknown={f"/a?m={_hash('/a w')}": _EXPIRED},
        needs="secure_link",
    ),
    Experiment(
        "referrers",
        "of names the exact one counts, then the longest wildcard, then patterns of the server and of the block",
        (
            "server_name h .sub.test ~^re[0-9]\\.test$; valid_referers none blocked server_names good.test/a"
            f" *.good.test *.w.good.test/x tail.* ~\\.yes/ok$; {_REFERRED}",
        ),
        {
            "/": "200 []",
            **{
                f"/ | Referer: {referrer}": f"200 [{value}]"
                for value, referrers in (
                    (
                        "",
                        "x http://h HTTPS://H:99/q?x http://sub.test http://a.sub.test/ http://re1.test/ "
                        "http://good.test/ab http://good.test:80/a http://b.good.test http://tail.x.y http://b.yes/OK "
                        "http://a.w.good.test/xy ftp://bad.test/ http://",
                    ),
                    (
                        "1",
                        "http://bad.test/ http://good.test/b http://good.test http://GOOD.test/A http://a.w.good.test/"
                        " http://tail http://re12.test/ http://b.yes/okay http://h.x/ https://abc",
                    ),
                )
                for referrer in referrers.split()
            },
            "/ | Referer: http://h/ | Referer: http://bad.test/": "200 []",
            "/ | Referer: http://bad.test/ | Referer: http://h/": "200 [1]",
        },
    ),
    Experiment(
        "referrers of blocks",
        "a block with names of its own keeps the patterns around it; the block that reads the variable first decides",
        (
            "valid_referers none blocked a.test ~\\.out$;"
            f" location /in {{ valid_referers b.test; {_REFERRED} }}"
            f" location /own {{ valid_referers ~^c; {_REFERRED} }}"
            " location /first { valid_referers c.test; if ($invalid_referer) { rewrite ^ /then last; } return 200 -; }"
            f" location /then {{ {_REFERRED} }}"
            f" location /set {{ set $invalid_referer x; {_REFERRED} }}",
        ),
        {
            "/in": "200 [1]",
            "/in | Referer: http://b.test/": "200 []",
            "/in | Referer: http://a.test/": "200 [1]",
            "/in | Referer: http://x.out": "200 []",
            "/in | Referer: blocked": "200 [1]",
            "/own": "200 [1]",
            "/own | Referer: http://x.out": "200 [1]",
            "/own | Referer: http://c.out": "200 []",
            "/first": "200 [1]",
            "/then": "200 []",
            "/first | Referer: http://a.test/": "200 [1]",
            "/set": "200 [x]",
        },
    ),
)
