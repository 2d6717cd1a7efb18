"""Collects the provenance of a result: the machine, the date and the command line."""

from __future__ import annotations

import os
import platform
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nginxopt import __version__


def machine() -> dict[str, Any]:
    """Return the date (UTC), the machine and the command line.

    `load` is the load average of the last 1, 5 and 15 minutes, which shows other activity.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "nginxopt": __version__,
        "command": sys.argv,
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": _cpu(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def _cpu() -> str:
    """Return the model of the first CPU according to the kernel; empty on some architectures."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return model[1] if model else platform.processor() or "unknown"
