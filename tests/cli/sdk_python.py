# SPDX-License-Identifier: Apache-2.0
"""A Python that has packages which are not ours: for tests against peers that others wrote."""
import os
import subprocess
import sys
import venv


def has(python, modules):
    return subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0


def python_with(modules, packages, folder, variable):
    """This Python, the one that the environment variable names, or a virtual environment of our own in `folder`. Ends the
    test as skipped, with the reason, where the packages are neither installed nor to be had."""
    own = os.path.join(folder, "bin", "python3")
    for python in (os.environ.get(variable), sys.executable, own):
        if python and os.path.exists(python) and has(python, modules):
            return python
    try:
        venv.create(folder, with_pip=True)
        subprocess.run([own, "-m", "pip", "install", "-q", "--timeout", "10", "--retries", "0", *packages], check=True,
                       capture_output=True, timeout=300)
        if has(own, modules):
            return own
        reason = f"{packages} lack one of {modules}"
    except (subprocess.SubprocessError, OSError, SystemExit) as error:  # Debian without python3-venv exits
        reason = error
    print(f"skipped: {', '.join(packages)} not installed, and could not be: {reason}")
    sys.exit(77)
