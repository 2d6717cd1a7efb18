"""The address of a client behind proxies: `set_real_ip_from`, `geo` with `proxy`."""

from tests.nginx.request_model.experiment import Experiment

_BOTH = "return 200 $remote_addr,$realip_remote_addr;"

ADDRESSES = (
    Experiment(
        "realip variables",
        "$remote_addr is that of the header, with or without a port; a value that is none changes nothing",
        (f"set_real_ip_from 127.0.0.1; {_BOTH}",),
        {
            "/": "200 127.0.0.1,127.0.0.1",
            "/ | X-Real-IP: 9.9.9.9": "200 9.9.9.9,127.0.0.1",
            "/ | X-Real-IP: 9.9.9.9:80": "200 9.9.9.9,127.0.0.1",
            "/ | X-Real-IP: 8.8.8.8, 9.9.9.9": "200 9.9.9.9,127.0.0.1",
            "/ | X-Real-IP: [::1]:5": "200 ::1,127.0.0.1",
            "/ | X-Real-IP: bad": "200 127.0.0.1,127.0.0.1",
        },
    ),
    Experiment(
        "realip chain",
        "of X-Forwarded-For the last address of the last header counts",
        (f"set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For; {_BOTH}",),
        {
            "/ | X-Forwarded-For: 1.1.1.1, 2.2.2.2": "200 2.2.2.2,127.0.0.1",
            "/ | X-Forwarded-For: 1.1.1.1 | X-Forwarded-For: 3.3.3.3": "200 3.3.3.3,127.0.0.1",
            "/ | X-Forwarded-For: 1.1.1.1 , x": "200 127.0.0.1,127.0.0.1",
        },
    ),
    Experiment(
        "realip of a location",
        "a location's own proxies are asked after its script",
        (
            "location / { set_real_ip_from 127.0.0.1; return 200 $remote_addr; }"
            " location /f { set_real_ip_from 127.0.0.1; allow 9.9.9.9; deny all; }",
        ),
        {"/ | X-Real-IP: 9.9.9.9": "200 127.0.0.1", "/f.txt | X-Real-IP: 9.9.9.9": "200 [r/f.txt]", "/f.txt": "403"},
    ),
    Experiment(
        "geo proxy",
        "behind a proxy that geo trusts the address is that of X-Forwarded-For",
        ("if ($e_geo_proxy = nine) { return 200 nine; } return 200 $e_geo_proxy;",),
        {"/": "200 l", "/ | X-Forwarded-For: 9.9.9.9": "200 nine"},
        http="geo $e_geo_proxy { proxy 127.0.0.1; default d; 9.9.9.9 nine; 127.0.0.1 l; }",
        unknown={"/ | X-Forwarded-For: 9.9.9.9": "the address of the client behind a proxy"},
    ),
    Experiment(
        "geo proxy_recursive",
        "behind several proxies that geo trusts the address is the last that it does not trust",
        ("if ($e_geo_recursive = nine) { return 200 nine; } return 200 $e_geo_recursive;",),
        {"/": "200 l", "/ | X-Forwarded-For: 9.9.9.9, 127.0.0.1": "200 nine"},
        http="geo $e_geo_recursive { proxy 127.0.0.1; proxy_recursive; default d; 9.9.9.9 nine; 127.0.0.1 l; }",
        unknown={"/ | X-Forwarded-For: 9.9.9.9, 127.0.0.1": "the address of the client behind a proxy"},
    ),
    Experiment(
        "ipv6only=off",
        "a socket of IPv6 takes IPv4 as well, with addresses that are written as ones of IPv6",
        (
            "server { listen [::]:{P} ipv6only=off; root {T}/r;"
            ' location / { return 200 "$remote_addr $server_addr $e_both_geo $e_both_map"; }'
            " location /r { return 301 /x; } location = /f.txt { deny 127.0.0.0/8; } }",
        ),
        {
            "/": "200 ::ffff:127.0.0.1 ::ffff:127.0.0.1 lo mapped",
            "/r HTTP/1.0 | -Host": "301 -> http://::ffff:127.0.0.1:{P}/x",
            "/r": "301 -> http://h:{P}/x",
            "/f.txt": "403",
        },
        http="geo $e_both_geo { default d; 127.0.0.0/8 lo; }"
        " map $remote_addr $e_both_map { 127.0.0.1 plain; ~^:: mapped; }",
    ),
    Experiment(
        "try_files =0",
        "no status: nginx takes it for a URI",
        ("location / { try_files /nx =0; }",),
        {"/": "404"},
    ),
)
