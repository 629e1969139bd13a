"""Solvers by the names that users type."""

from __future__ import annotations

from .base import Solver
from .conjugate_gradients import ConjugateGradients
from .direct import Direct
from .eigenpro import EigenPro
from .nystrom import Nystrom
from .nystrom_cg import NystromCG
from .richardson import Richardson

NAMES = ("direct", "cg", "nystrom_cg", "eigenpro", "nystrom", "richardson")


def solver(name: str, memory_limit: int | None = None) -> Solver:
    """Solver at its defaults by name.

    `memory_limit`: Bytes that it may take (None: 80 % of free memory).

    Examples
    --------
    >>> solver("cg", 10**9)
    ConjugateGradients(tolerance=1e-05, max_iter=1000, memory_limit=1000000000)
    """
    match name:
        case "direct":
            return Direct(memory_limit=memory_limit)
        case "cg":
            return ConjugateGradients(memory_limit=memory_limit)
        case "nystrom_cg":
            return NystromCG(memory_limit=memory_limit)
        case "eigenpro":
            return EigenPro(memory_limit=memory_limit)
        case "nystrom":
            return Nystrom(memory_limit=memory_limit)
        case "richardson":
            return Richardson(memory_limit=memory_limit)
    raise ValueError(f"solver is {name!r}: allowed are {', '.join(map(repr, NAMES))}.")
