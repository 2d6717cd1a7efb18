"""The headers of clients, as they send them besides `Host`."""

from __future__ import annotations

BROWSER = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0 "
    "Safari/537.36\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8\r\n"
    "Accept-Language: en-GB,en;q=0.9\r\nAccept-Encoding: gzip, deflate, br\r\nSec-Fetch-Dest: document\r\n"
    "Cookie: session=8f14e45fceea167a5a36dedd4bea2543; consent=1\r\nUpgrade-Insecure-Requests: 1\r\n"
)
PLAIN = "User-Agent: api-client/2.1\r\nAccept: application/json\r\n"
SIGNED = "Authorization: Basic dTpw\r\n"
"""The header of the only user in the file `users`."""
PHONE = (
    "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.5 Mobile/15E148 Safari/604.1\r\nAccept: */*\r\nAccept-Language: fr-FR,fr;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nReferer: https://site.example/latest\r\nConnection: keep-alive\r\n"
)
CURL = "User-Agent: curl/8.14.1\r\nAccept: */*\r\n"
ROBOT = (
    "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\r\nAccept-Encoding: gzip\r\n"
)
FIREFOX = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0\r\nAccept: */*\r\n"
    "Accept-Language: pl,en-US;q=0.7,en;q=0.3\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\n"
    "Referer: https://site.example/women/jackets.html\r\nCookie: PHPSESSID=0a1b2c3d4e5f60718293a4b5c6; store=pl; "
    "form_key=Xb3kQz9LmN2pRt7V\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Site: same-origin\r\n"
)
GO = "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n"
EDGE = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    'Safari/537.36 Edg/142.0.0.0\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: "Windows"\r\nAccept: text/html,*/*\r\n'
    "Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: it-IT,it;q=0.9,en;q=0.8\r\nDNT: 1\r\n"
)
SIGNED_IN = EDGE + "Referer: https://site.example/courses\r\nCookie: MoodleSession=" + "k9m2p4r7t1v3x5z8" * 2 + "\r\n"
SAFARI = (
    "User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 "
    "Safari/605.1.15\r\nAccept: text/html,application/xhtml+xml,*/*;q=0.8\r\nAccept-Language: nl-NL,nl;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\n"
)
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"
SESSION = "Cookie: csrftoken=" + "Qm9yZGVyQ29sbGll" * 2 + "; sessionid=" + "x7k2m9p4q1w8" * 3 + "\r\n"
SPIDER = "User-Agent: Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)\r\nAccept-Encoding: gzip\r\n"
ANDROID = (
    "User-Agent: Mozilla/5.0 (Linux; Android 14; SM-A556B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 "
    'Mobile Safari/537.36\r\nsec-ch-ua-mobile: ?1\r\nsec-ch-ua-platform: "Android"\r\nAccept: text/html,*/*;q=0.8\r\n'
    "Accept-Encoding: gzip, deflate, br\r\nAccept-Language: es-ES,es;q=0.9\r\nReferer: https://www.google.com/\r\n"
)
IPAD = (
    "User-Agent: Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "CriOS/142.0.7444.77 Mobile/15E148 Safari/604.1\r\nAccept: */*\r\nAccept-Language: en-AU,en;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
)
LINUX = (
    "User-Agent: Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nPriority: u=0, i\r\n"
)
PREVIEW = (
    "User-Agent: facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)\r\nAccept: */*\r\n"
    "Accept-Encoding: gzip\r\nRange: bytes=0-524287\r\n"
)
APP = "User-Agent: okhttp/5.1.0\r\nAccept-Encoding: gzip\r\nConnection: Keep-Alive\r\n"
PYTHON = "User-Agent: python-requests/2.32.5\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\n"
JAVA = (
    "User-Agent: Apache-HttpClient/5.4.3 (Java/21.0.8)\r\nAccept-Encoding: gzip, x-gzip\r\nConnection: keep-alive\r\n"
)
WATCH = (
    "User-Agent: Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)\r\nCache-Control: no-cache\r\n"
)
BING = (
    "User-Agent: Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; "
    "+http://www.bing.com/bingbot.htm) Chrome/136.0.0.0 Safari/537.36\r\nAccept: */*\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
)
