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
        ("return 200 $e_geo_proxy;",),
        {"/": "200 l", "/ | X-Forwarded-For: 9.9.9.9": "200 nine"},
        http="geo $e_geo_proxy { proxy 127.0.0.1; default d; 9.9.9.9 nine; 127.0.0.1 l; }",
        given=("/ | X-Forwarded-For: 9.9.9.9",),
    ),
    Experiment(
        "try_files =0",
        "no status: nginx takes it for a URI",
        ("location / { try_files /nx =0; }",),
        {"/": "404"},
    ),
)
