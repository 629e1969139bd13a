"""Solvers whose sentences name what a user of the estimators can change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from ..solvers.base import Solution, Solver, System, Watch

#: How the warning about a tolerance that was not reached begins, as a regular expression.
UNREACHED = r"solver='\w+' stopped at a relative residual"

#: Where the memory that is allowed does not do.
WITH_MATRIX = (
    "fit on fewer rows, use solver='nystrom' or solver='eigenpro', or use random features or "
    "gradient features, whose memory does not grow with the square of the rows"
)
WITHOUT_MATRIX = "fit on fewer rows or raise memory_limit"


@final
@dataclass(frozen=True)
class Worded(Solver):
    """`inner`, which users call `name`; its advice is about the options of the estimators.

    Examples
    --------
    >>> from gradfeat.models.solvers.richardson import Richardson
    >>> Worded("richardson", Richardson()).name
    'richardson'
    """

    name: str
    inner: Solver

    def solve(self, system: System, *, seed: int = 0, watch: Watch | None = None) -> Solution:
        """The solution of `inner`."""
        try:
            found = self.inner.solve(system, seed=seed, watch=watch)
        except MemoryError as error:
            instead = WITH_MATRIX if self.name == "direct" else WITHOUT_MATRIX
            raise MemoryError(f"{str(error).partition(': ')[0]}: {instead}.") from error
        return found if found.converged else replace(found, message=self._shortfall(found))

    def _shortfall(self, found: Solution) -> str:
        others = [f"solver={name!r}" for name in ("direct", "nystrom_cg") if name != self.name]
        last = found.trace[-1]
        return (
            f"solver={self.name!r} stopped at a relative residual of {last.residual:.2g} after "
            f"{last.iteration:,} iterations, short of its tolerance, so the fit is not quite that "
            f"of the kernel and alpha: use {' or '.join(others)}, or a larger alpha."
        )
