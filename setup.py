"""What pyproject.toml cannot say: which builds of Python are refused. All else is there."""

import sysconfig

from setuptools import setup

if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise SystemExit(
        "nginxopt does not run in free-threaded builds of Python, such as python3.14t: install it in python3.14. "
        "Its extension uses the stable ABI (abi3), which they do not have."
    )

setup()
