"""The files that come with nginx for `include`: what each has in every package since 1.10 (conf/ of its sources).

Some packages add parameters, such as `REMOTE_USER` or `HTTP_HOST`: these texts can show a difference, but prove none.
"""

from __future__ import annotations

from collections.abc import Mapping

_OF_ALL = {
    "QUERY_STRING": "$query_string",
    "REQUEST_METHOD": "$request_method",
    "REQUEST_URI": "$request_uri",
    "CONTENT_TYPE": "$content_type",
    "DOCUMENT_ROOT": "$document_root",
    "SERVER_PROTOCOL": "$server_protocol",
    "REQUEST_SCHEME": "$scheme",
    "HTTPS": "$https if_not_empty",
    "REMOTE_ADDR": "$remote_addr",
    "REMOTE_PORT": "$remote_port",
    "SERVER_PORT": "$server_port",
    "SERVER_NAME": "$server_name",
}
_FASTCGI = {
    **_OF_ALL,
    "CONTENT_LENGTH": "$content_length",
    "SCRIPT_NAME": "$fastcgi_script_name",
    "DOCUMENT_URI": "$document_uri",
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SERVER_SOFTWARE": "nginx/$nginx_version",
    "SERVER_ADDR": "$server_addr",
    "REDIRECT_STATUS": "200",
}


def _text(directive: str, values: Mapping[str, str]) -> str:
    return "".join(f"{directive} {name} {value};\n" for name, value in values.items())


PACKAGED = {
    "fastcgi.conf": _text("fastcgi_param", {"SCRIPT_FILENAME": "$document_root$fastcgi_script_name", **_FASTCGI}),
    "fastcgi_params": _text("fastcgi_param", _FASTCGI),
    "scgi_params": _text("scgi_param", {**_OF_ALL, "DOCUMENT_URI": "$document_uri", "SCGI": "1"}),
    "uwsgi_params": _text(
        "uwsgi_param", {**_OF_ALL, "CONTENT_LENGTH": "$content_length", "PATH_INFO": "$document_uri"}
    ),
}
"""The text of each file, by its name."""
