"""Memory that the system gives this process: one heap, buffers of libraries, what was refused."""

from __future__ import annotations

import ctypes
import os

#: Option of glibc's `mallopt`: how many heaps the threads of a process take memory from.
_HEAPS = -8

#: Bytes that the OpenBLAS of NumPy and that of SciPy take at the first product.
_PRODUCT_BUFFERS = 2 * 2**25 + 2**22

#: What libraries say whose memory was refused.
_REFUSED = (
    "allocate memory",
    "Unable to allocate",
    "failed to map segment",
    "can't start new thread",
    "out of memory",
    "bad_alloc",
)

#: The sentence on it.
USED_UP = "the memory is used up: give less at once, or let the process take more (ulimit -v)."


def share_one_heap() -> None:
    """Let the threads of this process take memory from one heap, called before there are any.

    With a heap each, as glibc has it, what a thread freed stays with its heap, and a pass in two
    threads took 120 MB more. Other systems, and MALLOC_ARENA_MAX, are left as they are.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return
    try:
        ctypes.CDLL(None).mallopt(_HEAPS, 1)
    except (AttributeError, OSError, TypeError):  # macOS and musl, Windows
        return


def reserve_for_products() -> None:
    """Let OpenBLAS take its buffers now, where the system limits the memory of this process.

    At its first product a library asks for 32 MB, and where there are none it asks for ever.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    import numpy as np
    from scipy.linalg import cholesky

    np.empty(_PRODUCT_BUFFERS, dtype=np.uint8)
    cholesky(np.eye(128) @ np.eye(128))


def memory_was_refused(error: BaseException) -> bool:
    """Whether an error of some library says that the system gave no memory.

    >>> memory_was_refused(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    """
    return any(words in str(error) for words in _REFUSED)
