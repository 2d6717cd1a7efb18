"""Static files, aliases, what upstreams get, and headers (statements 57 to 65)."""

from tests.nginx.request_model.experiment import Experiment

_ABSOLUTE = (
    "location /p { return 301 /q; } location /r { rewrite ^ /q permanent; } location /rr { rewrite ^ q permanent; }"
)

_MSIE = "Mozilla/4.0 (compatible; MSIE 7.0; Windows)"
_CHUNKED = (
    b"POST %s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
)

HANDLERS = (
    Experiment(
        "58",
        "a folder is a redirect, whatever the method that static files take; others are 405",
        (
            "location /s/ { rewrite ^/s/(.*) /$1 break; } location /ep { error_page 404 /d; return 404; }"
            " location /al/ { alias {T}/al/; } location /ar { absolute_redirect off; alias {T}/al/sub; }"
            " location /g { empty_gif; }"
            " error_page 405 =200 /x.html; location = /f.txt { error_page 405 =200 $uri; }",
        ),
        {
            "/x%20y": "301 -> http://h:{P}/x%20y/",
            "/x%20y?q": "301 -> http://h:{P}/x%20y/?q",
            "/d?": "301 -> http://h:{P}/d/",
            "//d": "301 -> http://h:{P}/d/",
            "POST /d": "301 -> http://h:{P}/d/",
            "PUT /d": "200 [r/x.html]",
            "POST /a.html": "200 [r/x.html]",
            "POST /f.txt": "200 [r/f.txt]",
            "POST /nx": "404",
            "HEAD /f.txt": "200",
            "OPTIONS /a.html": "200 [r/x.html]",
            "/f.txt/": "404",
            "/a.html/x": "404",
            "/s/d?q": "301 -> http://h:{P}/d/?q",
            "/ep": "301 -> http://h:{P}/d/",
            "/al/sub?q": "301 -> http://h:{P}/al/sub/?q",
            "/ar": "301 -> /ar/",
            "POST /g": "200 [r/x.html]",
        },
    ),
    Experiment(
        "58 device",
        "what is no regular file is 404",
        ("location / { root /dev; }",),
        {"/null": "404"},
    ),
    Experiment(
        "58 root",
        "the default root is html in the prefix",
        ("server { listen 127.0.0.1:{P}; return 200 $document_root; }",),
        {"/": "200 {T}/html"},
    ),
    Experiment(
        "58 dav",
        "PUT to a folder and MKCOL without a slash are 409 in 1.22.1",
        ("location /up/ { dav_methods PUT DELETE MKCOL; }",),
        {"PUT /up/": "409", "MKCOL /up/x": "409", "POST /up/zzz": "404", "/up/": "404"},
        until=(1, 23),
    ),
    Experiment(
        "58 slice",
        "slice changes nothing where nobody reads $slice_range",
        ("slice 1m; location / { try_files /f.txt =404; } location /p { proxy_pass http://{http0}; }",),
        {"/": "200 [r/f.txt]", "/p": "200 http0 GET /p"},
        needs="slice",
    ),
    Experiment(
        "58 dav refused",
        "WebDAV refuses what has no sense for files and folders, in this order",
        (
            "dav_methods PUT DELETE MKCOL COPY MOVE; location /deep/ { min_delete_depth 3; }"
            " location /al/ { alias {T}/al/; } location /n/ { error_page 404 409 = /x.html; }",
        ),
        {
            "PUT /d/ | Content-Range: bytes 0-1/2": "409",
            "PUT /d | Content-Range: bytes 0-1/2": "501",
            b"PUT /yyy HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n": "500",
            "PUT /d": "409",
            "PUT /zzz/yyy/f": "500",
            "DELETE /zzz": "404",
            "DELETE /zzz/": "404",
            "DELETE /f.txt/": "409",
            "DELETE /f.txt/x": "409",
            "DELETE /d": "409",
            "DELETE /al/sub": "409",
            "DELETE /d/ | Depth: 0": "400",
            "DELETE /d/ | Depth: 1": "400",
            "DELETE /f.txt | Depth: 1": "400",
            "DELETE /f.txt | Depth: x": "400",
            "DELETE /deep/x": "409",
            "DELETE /deep/x/": "409",
            "DELETE /deep/x/y": "404",
            "DELETE /n/x": "200 [r/x.html]",
            "MKCOL /zzz": "409",
            "MKCOL /d/": "405",
            "MKCOL /f.txt/": "405",
            "MKCOL /zzz/yyy/": "409",
            "COPY /f.txt": "400",
            "MOVE /f.txt": "400",
        },
        until=(1, 23),
    ),
    Experiment(
        "59",
        "a root is before the URI; an alias before what follows the name of the location that has it",
        (
            "location = /h/ { alias {T}/al/f.txt; } location /a { alias {T}/al/; } location /b/ { root {T}/al; }"
            " location /c { alias {T}/al; }"
            " location /rv { root {T}/$arg_r; } location /av/ { alias {T}/$arg_r/; } location = /one { alias"
            " {T}/al/f.txt; }"
            " location /two { alias {T}/al/f.txt; } location ~ ^/g { alias {T}/al/f.txt; }"
            " location /n/ { alias {T}/al/; location /n/sub/ { } location ~ ^/n/(q.*)$ { alias {T}/al/x.html; }"
            " location ~ ^/n/f { } } location ~ ^/im/(.*)$ { alias {T}/al/$1; index x.html; }",
        ),
        {
            "/a../rf.txt": "200 [rf.txt]",
            "/a/f.txt": "200 [al/f.txt]",
            "/af.txt": "200 [al/f.txt]",
            "/a": "301 -> http://h:{P}/a/",
            "/cx/f.txt": "200 [alx/f.txt]",
            "/c/f.txt": "200 [al/f.txt]",
            "/c": "301 -> http://h:{P}/c/",
            "/b/f.txt": "404",
            "/rv/f.txt?r=r": "404",
            "/av/f.txt?r=al": "200 [al/f.txt]",
            "/one": "200 [al/f.txt]",
            "/two": "200 [al/f.txt]",
            "/twox": "404",
            "/gxyz": "200 [al/f.txt]",
            "/n/sub/f.txt": "200 [al/sub/f.txt]",
            "/n/qq": "200 [al/x.html]",
            "/n/f.txt": "200 [al/f.txt]",
            "/im/f.txt": "200 [al/f.txt]",
            "/im/": "200 [al/x.html]",
            "/h/": "500",
            "/im/sub": "301 -> http://h:{P}/im/sub/",
        },
    ),
    Experiment(
        "60",
        "a proxy gets the client's URI, its own and the rest escaped, or one with variables as it is",
        (
            "location /o { proxy_pass http://{http0}; } location /u/ { proxy_pass http://{http0}/V/; }"
            " location /w { proxy_pass http://{http0}/V; } location /z/ { proxy_pass http://{http0}/z?k=v; }"
            " location /v { set $e60 {http0}; proxy_pass http://$e60; } location /vu { set $e60 {http0};"
            " proxy_pass http://$e60/$arg_x; } location /vr { set $e60 {http0}; proxy_pass http://$e60$request_uri; }"
            " location /r { rewrite ^/r/(.*) /o/$1 break; proxy_pass http://{http0}; }"
            " location /i { try_files /nx /o/i%20j?k; } location /n { try_files /nx @n; } location @n { proxy_pass"
            " http://{http1}; }"
            " location = /e { proxy_pass http://{http0}/E; } location ~ ^/x/(.*)$ { proxy_pass http://{http0}; }"
            " location ~ ^/y/(.*)$ { proxy_pass http://{http0}/Y/$1$is_args$args; } location /m/ { proxy_method PUT;"
            " proxy_pass http://{http0}; }",
        ),
        {
            "/o/a%2f//b/../c?q#z": "200 http0 GET /o/a%2f//b/../c?q#z",
            "POST /o": "200 http0 POST /o",
            "HEAD /o": "200",
            "/u/a%20b//c?q": "200 http0 GET /V/a%20b/c?q",
            "/u/": "200 http0 GET /V/",
            "/u": "301 -> http://h:{P}/u/",
            "/u/a+%2B%3F": "200 http0 GET /V/a++%3F",
            "/wx": "200 http0 GET /Vx",
            "/w": "200 http0 GET /V",
            "/z/a?q": "200 http0 GET /z?k=va?q",
            "/v/a%2fb?q": "200 http0 GET /v/a%2fb?q",
            "/vu?x=abc": "200 http0 GET /abc",
            "/vr/a%20b?q": "200 http0 GET /vr/a%20b?q",
            "/r/a%20b?q": "200 http0 GET /o/a%20b?q",
            "/i": "200 http0 GET /o/i%2520j?k",
            "/n/a%2f?q": "200 http1 GET /n/a%2f?q",
            "/e?q": "200 http0 GET /E?q",
            "/x/a//b": "200 http0 GET /x/a//b",
            "/y/a%20b?q": "200 http0 GET /Y/a b?q",
            "/m/": "200 http0 PUT /m/",
        },
    ),
    Experiment(
        "60 upstream",
        "a name of an upstream is its servers; names with variables are looked up among them too",
        (
            "location /a { proxy_pass http://e60up; } location /b/ { set $e60_name e60up; proxy_pass"
            " http://$e60_name; }"
            " location /c { proxy_pass http://e60up/C; }",
        ),
        {"/a": "200 http1 GET /a", "/b/x": "200 http1 GET /b/x", "/cx": "200 http1 GET /Cx"},
        http="upstream e60up { server {http1}; }",
    ),
    Experiment(
        "60 parameters",
        "fastcgi, uwsgi and scgi get parameters only",
        (
            "location /f { fastcgi_pass {fastcgi0}; fastcgi_param U $uri; fastcgi_param A $args; }"
            " location /u { uwsgi_pass {uwsgi1}; uwsgi_param U $uri; } location /s { scgi_pass {scgi0}; scgi_param U"
            " $uri; }"
            r" location ~ \.php(/|$) { fastcgi_split_path_info ^(.+\.php)(.*)$; fastcgi_pass {fastcgi1};"
            " fastcgi_param S $fastcgi_script_name; fastcgi_param P $fastcgi_path_info; }",
        ),
        {
            "/f/a%20b?q": "200 fastcgi0 U=/f/a b A=q",
            "/u/x": "200 uwsgi1 U=/u/x",
            "/s/x": "200 scgi0 U=/s/x",
            "/a.php/b": "200 fastcgi1 S=/a.php P=/b",
        },
    ),
    Experiment(
        "60 script name",
        "$fastcgi_script_name is the URI or what fastcgi_split_path_info takes of it, with fastcgi_index behind a"
        " slash",
        (
            r"fastcgi_index i.php; location /plain { return 200 $fastcgi_script_name,$fastcgi_path_info; }"
            r" location ~ [^/]\.php(/|$) { fastcgi_split_path_info ^(.+?\.php)(/.*)$; try_files $fastcgi_script_name"
            r" =404;"
            r" fastcgi_pass {fastcgi0}; fastcgi_param S $fastcgi_script_name; fastcgi_param P $fastcgi_path_info; }"
            r" location /s { fastcgi_split_path_info ^(/s/?)(.*)$; return 200"
            r" $fastcgi_script_name,$fastcgi_path_info; }",
        ),
        {
            "/plain/a%20b": "200 /plain/a b,",
            "/plain/": "200 /plain/i.php,",
            "/p/index.php": "200 fastcgi0 S=/p/index.php P=",
            "/p/index.php/x/y": "200 fastcgi0 S=/p/index.php P=",
            "/nx.php/x": "404",
            "/s/rest": "200 /s/i.php,rest",
            "/srest": "200 /s,rest",
        },
    ),
    Experiment(
        "60 script name kept",
        "$fastcgi_script_name is that of its first use up to an internal redirect",
        (
            "location /a { set $e60_first $fastcgi_script_name; rewrite ^ /b last; } location /c { rewrite ^ /b last; }"
            " location /d { set $e60_first $fastcgi_script_name; try_files /nx /b; }"
            " location /e { set $e60_first $fastcgi_script_name; try_files /nx @n; }"
            ' location @n { rewrite ^ /x; return 200 "$e60_first $fastcgi_script_name"; }'
            ' location /b { return 200 "$e60_first $fastcgi_script_name"; }',
        ),
        {"/a": "200 /a /a", "/c": "200  /b", "/d": "200 /d /b", "/e": "200 /e /x"},
    ),
    Experiment(
        "61",
        "the default proxy_redirect maps the URL of the proxy to the location, or to / if it has no URI",
        (
            "location /if/ { proxy_pass http://{http0}/I/; } location /n { proxy_pass http://{http0}; }"
            " location /v { set $e61 {http0}; proxy_pass http://$e61; }",
        ),
        {
            "/if/ | X-Answer: 302 | X-With: Location: http://{http0}/I/abc": "302 -> http://h:{P}/if/abc http0 GET /I/",
            "/if/ | X-Answer: 302 | X-With: Location: http://{http0}/x": "302 -> http://{http0}/x http0 GET /I/",
            "/if/ | X-Answer: 302 | X-With: Location: /I/abc": "302 -> /I/abc http0 GET /I/",
            "/n | X-Answer: 302 | X-With: Location: http://{http0}/x": "302 -> http://h:{P}/x http0 GET /n",
            "/v | X-Answer: 302 | X-With: Location: http://{http0}/x": "302 -> http://{http0}/x http0 GET /v",
        },
        given=tuple(
            f"{path} | X-Answer: 302 | X-With: Location: {location}"
            for path, location in (
                ("/if/", "http://{http0}/I/abc"),
                ("/if/", "http://{http0}/x"),
                ("/if/", "/I/abc"),
                ("/n", "http://{http0}/x"),
                ("/v", "http://{http0}/x"),
            )
        ),
    ),
    Experiment(
        "62",
        "a redirect to a path gets the scheme, the host without its port, and the socket's port",
        (
            f"{_ABSOLUTE} location /n {{ absolute_redirect off; return 301 /q; }} location /o {{ port_in_redirect off;"
            " return 301 /q; } location /dd { absolute_redirect off; rewrite ^ //evil.com redirect; }"
            " location /de { return 302 //evil.com; }",
            "server_name one.ex two.ex; server_name_in_redirect on; return 301 /x;",
            "server_name .three.ex; server_name_in_redirect on; return 301 /x;",
        ),
        {
            "/p | Host: FOO.com:1234": "301 -> http://foo.com:{P}/q",
            "/r | Host: FOO.com:1234": "301 -> http://foo.com:{P}/q",
            "/rr": "301 -> q",
            "/n": "301 -> /q",
            "/o": "301 -> http://h/q",
            "/dd": "302 -> //evil.com",
            "/de": "302 -> http://h:{P}//evil.com",
            "/x | Host: two.ex": "301 -> http://one.ex:{P}/x",
            "/x | Host: a.three.ex": "301 -> http://three.ex:{P}/x",
            "/p HTTP/1.0 | -Host": "301 -> http://127.0.0.1:{P}/q",
        },
    ),
    Experiment(
        "63",
        "add_header and expires are sent with some codes, or always; one at a level replaces all outside",
        (
            "add_header S s; location /a { return 200; } location /b { add_header L l; return 200; }"
            " location /c { add_header L l; return 404; } location /d { add_header L l always; return 404; }"
            " location /e { add_header L l; return 301 /; } location /f { add_header L l; error_page 404 /g; return"
            " 404; }"
            " location /g { add_header G g always; return 200; } location /h { add_header L l; error_page 404 =200 /i;"
            ' return 404; } location /i { add_header I i; return 200; } location /j { add_header L ""; return 200; }'
            " location /k { add_header L $arg_x; return 200; } location /l { add_header L l; return 418; }"
            " location /m { add_header L l; add_header L m; return 204; } location /w { add_header L l;"
            " location /w/x { return 200; } location /w/y { expires max; return 200; } }"
            " location /n { add_header L l; return 202; } location /o { add_header L l; return 300 x; }"
            " location /q { add_header L l; return 308 /; } location /r { add_header L l; return 303 /; }"
            " location /p { add_header L l; proxy_pass http://{http0}; } location /f.txt { add_header L l; }",
        ),
        {
            "/a": "200 S=s",
            "/b": "200 L=l",
            "/c": "404",
            "/d": "404 L=l",
            "/e": "301 -> http://h:{P}/ L=l",
            "/f": "404 G=g",
            "/h": "200 I=i",
            "/j": "200",
            "/k": "200",
            "/k?x=1": "200 L=1",
            "/l": "418",
            "/m": "204 L=l L=m",
            "/w/x": "200 L=l",
            "/w/y": "200 L=l",
            "/n": "202",
            "/o": "300 x",
            "/q": "308 -> http://h:{P}/ L=l",
            "/r": "303 -> http://h:{P}/ L=l",
            "/p": "200 http0 GET /p L=l",
            "/f.txt": "200 [r/f.txt] L=l",
            "/zz": "404",
        },
        shows=(b"S", b"L", b"G", b"I"),
    ),
    Experiment(
        "63 expires",
        "expires sets Expires and Cache-Control; add_header Cache-Control adds to it",
        (
            "location /a { expires max; return 200; } location /b { expires epoch; return 200; }"
            " location /c { expires -1; add_header Cache-Control private; return 200; } location /d { expires 1h;"
            " return 404; }"
            " location /e { expires off; add_header Cache-Control private; return 200; } location /f { expires 1h;"
            " location /f/g { return 200; } return 200; }",
        ),
        {
            "/a": "200 Cache-Control=max-age=315360000",
            "/b": "200 Cache-Control=no-cache",
            "/c": "200 Cache-Control=no-cache Cache-Control=private",
            "/d": "404",
            "/e": "200 Cache-Control=private",
            "/f": "200 Cache-Control=max-age=3600",
            "/f/g": "200 Cache-Control=max-age=3600",
        },
        shows=(b"Cache-Control",),
    ),
    Experiment(
        "63 Location",
        "add_header Location is a second line",
        ("location /p { add_header Location /x; return 200; } location /q { add_header Location /x; return 302 /y; }",),
        {"/p": "200 -> /x", "/q": "302 -> http://h:{P}/y -> /x"},
    ),
    Experiment(
        "64 add_header_inherit",
        "add_header_inherit: merge adds to those outside, off drops them",
        (
            "add_header S s; location /a { add_header_inherit merge; add_header L l; return 200; }"
            " location /b { add_header_inherit off; return 200; } location /c { add_header L l; return 200; }"
            " location /d { add_header_inherit merge; location /d/x { add_header M m; return 200; } return 200; }",
        ),
        {
            "/a": "200 S=s L=l",
            "/b": "200",
            "/c": "200 L=l",
            "/d": "200 S=s",
            "/d/x": "200 S=s M=m",
        },
        shows=(b"S", b"L", b"M"),
        since=(1, 29, 3),
    ),
    Experiment(
        "64 cookies",
        "a comma separates cookies up to 1.29.5",
        ('return 200 "[$cookie_c]";',),
        {
            "/ | Cookie: a=1; c=2": "200 [2]",
            "/ | Cookie: c=1 | Cookie: c=2": "200 [1]",
            "/ | Cookie: C=1": "200 [1]",
            "/ | Cookie: a=1, c=2": ("200 [2]", "200 []"),
        },
    ),
    Experiment(
        "64 escapes",
        "a proxy gets these characters escaped since 1.21.1",
        ("location /a/ { proxy_pass http://{http0}/; }",),
        {"/a/%22%3c%3e%5c%5e%60%7b%7c%7d": "200 http0 GET /%22%3C%3E%5C%5E%60%7B%7C%7D"},
    ),
    Experiment(
        "65",
        "with an alias after a rewrite without a flag $request_filename is empty in the build of Debian",
        ('location /al/ { alias {T}/al/; rewrite ^ /al/f.txt; return 200 "[$request_filename]"; }',),
        {"/al/q": ("200 []", "200 [{T}/al/f.txt]")},
    ),
    Experiment(
        "66 single headers",
        "add_header sets ETag and Last-Modified anew, and takes them away with an empty value",
        (
            'location /a { add_header ETag a; add_header ETag ""; return 200; }'
            " location /b { add_header ETag a; add_header etag b; add_header Last-Modified c; return 200; }"
            ' location /c { add_header Last-Modified c; add_header last-modified ""; add_header ETag d; return 200; }'
            ' location /d { add_header ETag ""; add_header ETag $arg_e; return 200; }',
        ),
        {
            "/a": "200",
            "/b": "200 ETag=b Last-Modified=c",
            "/c": "200 ETag=d",
            "/d": "200",
            "/d?e=f": "200 ETag=f",
        },
        shows=(b"ETag", b"Last-Modified"),
    ),
    Experiment(
        "67",
        "msie_refresh answers a redirect by 301 or 302 with a page, to a browser that it is about",
        (
            'msie_refresh on; location /p { return 301 "/a b<>~%41\'"; }'
            " location /q { return 302 http://x.y/?a=b&c; }"
            " location /r { rewrite ^ /q?z permanent; } location /s { return 303 /z; }"
            " location /e { error_page 404 =301 http://e.f/; return 404; }"
            " location /o { msie_refresh off; return 301 /z; }",
        ),
        {
            f"/p | User-Agent: {_MSIE}": "200",
            f"/q | User-Agent: {_MSIE}": "200",
            f"/r | User-Agent: {_MSIE}": "200",
            f"/s | User-Agent: {_MSIE}": "303 -> http://h:{P}/z",
            f"/e | User-Agent: {_MSIE}": "200",
            f"/o | User-Agent: {_MSIE}": "301 -> http://h:{P}/z",
            f"/q | User-Agent: {_MSIE} Opera": "302 -> http://x.y/?a=b&c",
            "/q | User-Agent: MSIE 7.0": "200",
            "/q | User-Agent: MSIE 7.": "302 -> http://x.y/?a=b&c",
            "/q": "302 -> http://x.y/?a=b&c",
        },
    ),
    Experiment(
        "68",
        "gzip_static sends the file with .gz, always or to a client that accepts it; a folder of that name is none",
        (
            "gzip_static always; location /on/ { alias {T}/gz/; gzip_static on; } location /off/ { alias {T}/gz/;"
            " gzip_static off; } location /gz/ { root {T}; }",
        ),
        {
            "/gz/both": "200 [gz/both.gz]",
            "/gz/only": "200 [gz/only.gz]",
            "/gz/plain": "200 [gz/plain]",
            "/gz/none": "404",
            "HEAD /gz/only": "200",
            "POST /gz/only": "404",
            "POST /gz/both": "405",
            "/on/both": "200 [gz/both]",
            "/on/only": "404",
            "/on/plain | Accept-Encoding: gzip": "200 [gz/plain]",
            "/on/both | Accept-Encoding: gzip": "200 [gz/both.gz]",
            "/off/only": "404",
            "/off/both": "200 [gz/both]",
        },
        unknown={"/on/both | Accept-Encoding: gzip": "to accept a compressed file"},
        needs="gzip_static",
    ),
    Experiment(
        "69",
        "$content_length is empty with a chunked body that nginx has not read, and behind that what it has read",
        (
            'location /s { set $x "[$content_length]"; return 200 $x; }'
            " location /i { if ($content_length) { return 200 yes; } return 200 no; }"
            ' location /r { return 200 "[$content_length]"; }',
        ),
        {
            "/s": "200 []",
            _CHUNKED % b"/s": "200 []",
            _CHUNKED % b"/i": "200 no",
            _CHUNKED % b"/r": "200 [0]",
        },
    ),
)
