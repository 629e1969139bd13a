"""One thread for BLAS and torch, where several of ours compute side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from threadpoolctl import threadpool_limits


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Products inside take one thread each; outside as before.

    The settings are those of the process, and of this thread for OpenMP: a thread that computes
    calls :func:`in_this_thread` first. This is the one place where library code changes thread
    settings of the process that it was called in, because several threads were asked for: two
    threads of one BLAS thread each do far more than one of two.
    """
    before = torch.get_num_threads()
    with threadpool_limits(1):
        in_this_thread()
        try:
            yield
        finally:
            torch.set_num_threads(before)


def in_this_thread() -> None:
    """One torch thread for what this thread computes."""
    torch.set_num_threads(1)
