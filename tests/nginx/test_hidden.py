"""What nginx answers if files that `verify` did not read hold what shows an edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.nginx.running import running
from tests.nginx.test_verify import ask, make, plain
from tests.verify.pairs import FILES, whole
from tests.verify.pairs.hidden import HIDDEN, Hidden

pytestmark = pytest.mark.nginx

_ECHO = "server { listen 127.0.0.1:{U}; location / { return 200 echo; } }"


@pytest.mark.parametrize("pair", HIDDEN, ids=lambda pair: pair.name)
def test_a_file_shows_the_edit(pair: Hidden, a_binary: nginx.Binary, tmp_path: Path) -> None:
    """With these contents of the file, nginx answers the request differently; with an empty file, alike."""
    make(tmp_path, FILES)
    tmp_path.chmod(0o755)
    echo = _ECHO if "upstream" in pair.old else ""
    with nginx.reserved_ports(2) as ports:
        request = plain(pair.path, ports[pair.port])
        request["headers"] = [("Host", pair.host)]
        for content, is_alike in ((pair.content, False), ("", True)):
            answers = []
            for text in (pair.old, pair.new):
                filled = text.replace("include nx*.conf;", content).replace("include nx.conf;", content)
                data = whole(filled, ports[0], ports[1], str(tmp_path))
                data = data.replace("http {\n", f"http {{ access_log off; {echo}", 1)
                data = data.replace("{U}", str(ports[1])).replace("{P}", str(ports[0]))
                with running(a_binary, data.replace("{T}", str(tmp_path))):
                    answers.append(ask(request, ports[pair.port] if content or not pair.port else ports[0]))
            assert (answers[0] == answers[1]) == is_alike, content
