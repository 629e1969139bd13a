"""What made a result: versions, source revision, machine."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("gradfeat", "torch", "numpy", "scipy", "pandas", "scikit-learn")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    """What git says of the folder of this package; None without git or checkout."""
    folder = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def revision() -> str | None:
    """The git revision of the source, "-dirty" behind it where files differ.

    None where the package is not run from a checkout that tracks it.
    """
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = _git("rev-parse", "HEAD")
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "..")
    return commit and commit + ("-dirty" if changed else "")


@functools.cache
def provenance() -> dict[str, str | int | None]:
    """Versions of packages and Python, source revision, platform; read once a process."""
    return {
        **{package: _version(package) for package in PACKAGES},
        "python": platform.python_version(),
        "revision": revision(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
    }
