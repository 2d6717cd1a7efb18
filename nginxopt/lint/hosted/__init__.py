"""What a configuration names outside of its text, compared with the machine where nginx runs (`--host`, `--root`).

Input is a `Model` with a `Host` that has a machine; output is what nginx refuses there, in its words, what could not be
looked at, and what rules ask about certificates, files and users. Without a machine, all of it is silent.
"""

from nginxopt.lint.hosted.reading import Unreachable, UserFile, unreachable, user_file
from nginxopt.lint.hosted.refusals import HostRefusal, OutOfReach, refusals, unread
from nginxopt.lint.hosted.servers import ServedCertificate, served

__all__ = [
    "HostRefusal",
    "OutOfReach",
    "ServedCertificate",
    "Unreachable",
    "UserFile",
    "refusals",
    "served",
    "unreachable",
    "unread",
    "user_file",
]
