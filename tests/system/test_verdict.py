"""The output of `nginx -t` as a verdict: messages with levels and places, each once."""

from __future__ import annotations

from nginxopt.system.nginx import Message, Verdict

WARNING = b'nginx: [warn] conflicting server name "a" on 0.0.0.0:80, ignored\n'
OK = (
    b"nginx: the configuration file /p/nginx.conf syntax is ok\n"
    b"nginx: configuration file /p/nginx.conf test is successful\n"
)


def test_messages_have_levels_and_places() -> None:
    """A message is read as nginx writes it to its caller and to a log on standard error, and counts once."""
    complaint = b'[emerg] %sunknown directive "x" in /p/nginx.conf:3\n'
    output = b"nginx: " + complaint % b"" + b"2026/01/02 03:04:05 " + complaint % b"12#12: "
    verdict = Verdict.of(output, 1, {"/p/": ""})
    assert verdict == Verdict(False, (Message("emerg", 'unknown directive "x"', "nginx.conf:3"),))
    assert str(verdict) == 'nginx: [emerg] unknown directive "x" in nginx.conf:3'
    assert verdict.reasons == ['unknown directive "x"']


def test_what_is_no_message_is_left_out() -> None:
    """That the syntax is fine is no message; a warning is none of the reasons."""
    verdict = Verdict.of(WARNING + OK, 0)
    assert verdict.ok
    assert [message.level for message in verdict.messages] == ["warn"]
    assert (verdict.reasons, len(verdict.warnings)) == ([], 1)
    assert Verdict.of(b"", 0) == Verdict(True, ())


def test_a_message_may_have_several_lines() -> None:
    """What nginx quotes may hold line ends."""
    output = b'nginx: [emerg] unknown directive "a\nb" in /p/nginx.conf:2\n' + WARNING
    assert next(message.text for message in Verdict.of(output, 1).messages) == 'unknown directive "a\nb"'


def test_a_binary_that_dies_says_why() -> None:
    """A refusal without a message of nginx has what was printed, or the status, for its reason."""
    loader = b"nginx: error while loading shared libraries: libpcre2-8.so.0\n"
    assert Verdict.of(loader, 127).reasons == [loader.decode().strip()]
    assert Verdict.of(b"", -11).reasons == ["nginx -t ended with status -11"]


def test_worse_is_refused_for_another_reason() -> None:
    """A place that has moved is no other reason, and no new warning."""
    good, first, moved = (
        Verdict.of(WARNING, 0),
        Verdict.of(b"nginx: [emerg] a in /p/f:1\n", 1),
        Verdict.of(b"nginx: [emerg] a in /p/f:2\n", 1),
    )
    assert first.is_worse_than(good)
    assert not moved.is_worse_than(first)
    assert not good.is_worse_than(first)
    assert good.new_warnings(first) == ['conflicting server name "a" on 0.0.0.0:80, ignored']
    assert good.new_warnings(good) == []
