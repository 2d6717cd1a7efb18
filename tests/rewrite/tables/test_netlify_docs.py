"""Netlify's lists as its documentation has them, with what it says of each row.

https://docs.netlify.com/manage/routing/redirects/redirect-options/ and .../overview/, one table: the rows, the paths
that a client asks for, and the answer. Rows that nginx cannot answer have the code of the reason.
"""

from __future__ import annotations

from tests.rows import every_row
from tests.tables import answer, compiled, reasons

Answer = tuple[int, bytes] | str | None

DOCUMENTED: list[tuple[str, str, Answer]] = [
    ("/home              /", "/home", (301, b"/")),
    ("/home              /", "/home/", (301, b"/")),
    ("/blog/my-post.php  /blog/my-post # this is a comment", "/blog/my-post.php", (301, b"/blog/my-post")),
    ("/news              /blog", "/news/today", None),
    ("/cuties            https://www.petsofnetlify.com", "/cuties", (301, b"https://www.petsofnetlify.com")),
    ("/home          /              301", "/home", (301, b"/")),
    ("/my-redirect   /              302", "/my-redirect", (302, b"/")),
    ("/pass-through  /index         200!", "/pass-through", (200, b"/index")),
    ("/ecommerce     /store-closed  404", "/ecommerce", "status"),
    ("/news/*  /blog/:splat", "/news/2004/01/10/my-story", (301, b"/blog/2004/01/10/my-story")),
    ("/news/:month/:date/:year/:slug  /blog/:year/:month/:date/:slug",
     "/news/02/12/2004/my-story", (301, b"/blog/2004/02/12/my-story")),
    ("/news/:month/:date/:year/:slug  /blog/:year/:month/:date/:slug", "/news/02/12/2004", None),
    ("/articles id=:id tag=:tag /posts/:tag/:id 301", "/articles", "query-condition"),
    ("/path/* /otherpath/:splat 301", "/path/a?x=1", (301, b"/otherpath/a?x=1")),
    ("/*  /index.html  200", "/anything", "rewrite-of-wildcard"),
    ("/api/*  https://api.example.com/:splat  200", "/api/x", "proxy"),
    ("/  /anz      302  Country=au,nz", "/", "condition"),
    ("/  /israel/he/:splat  302  Country=au,nz Language=en", "/", "condition"),
    ("/admin/*  200!  Role=admin", "/admin/x", "target"),
    ("/*  /legacy/:splat  200!  Cookie=is_legacy,my_other_cookie", "/x", "condition"),
    ("http://blog.yoursite.com/*  https://www.yoursite.com/blog/:splat  301!", "/x", "host-pattern"),
    ("/blog/old /blog/new 301\n/blog/* /journal/:splat 301", "/blog/old", (301, b"/blog/new")),
    ("/blog/* /journal/:splat 301\n/blog/old /blog/new 301", "/blog/old", (301, b"/journal/old")),
]  # fmt: skip


@every_row(("rows", "asked", "expected"), DOCUMENTED)
def test_documented_rows(rows: str, asked: str, expected: Answer) -> None:
    """Each row of the documentation is answered as it says, or named as one that nginx cannot answer."""
    if isinstance(expected, str):
        assert reasons("netlify", rows.encode()) == [(1, expected)]
        return
    compiled("netlify", rows.encode())
    path, _, args = asked.partition("?")
    assert answer("netlify", rows.encode(), path.encode(), args.encode()) == expected
