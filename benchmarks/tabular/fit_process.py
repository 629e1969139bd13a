"""A fit in a process of its own with one thread: its line, or why there is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

HUNG = 20  # wall seconds to a processor second after which a fit is given up
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
FIT = Path(__file__).parent / "fit_one.py"


def one_thread() -> dict[str, str]:
    """The environment of a process that computes in one thread."""
    return {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONWARNINGS": "ignore"}


def fit_line(method: str, path: Path, limit: float) -> dict[str, Any]:
    """Measures of a fit to the split in a file within so many processor seconds, or its error."""
    try:
        ended = subprocess.run(
            [sys.executable, FIT, method, path, str(limit)],
            env=one_thread(),
            capture_output=True,
            text=True,
            timeout=HUNG * limit,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"hung for {HUNG * limit:.0f} s"}
    if ended.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"error": f"stopped: more than {limit:.0f} s, or out of memory"}
    if ended.returncode:
        return {"error": _last_words(ended.stderr, ended.returncode)}
    return json.loads(ended.stdout.splitlines()[-1])


def _last_words(text: str, code: int) -> str:
    said = [line.strip() for line in text.splitlines() if line.strip()]
    return (said[-1] if said else f"ended with code {code}")[:200]
