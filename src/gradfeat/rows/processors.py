"""How many processors there are to compute on."""

from __future__ import annotations

import os


def processors() -> int:
    """Processors that this process may use: those it is bound to, where the system says so.

    Examples
    --------
    >>> processors() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        return os.cpu_count() or 1
