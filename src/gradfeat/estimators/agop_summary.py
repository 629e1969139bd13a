"""What a fitted function reads: its AGOP and what follows from it, computed when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..maths.blocks import Block
from ..maths.gradients import OuterProducts, mean_outer_products, outer_products
from ..maths.subspaces import completed
from ..models.base import Predictor
from .checks import Floats

#: Share of the AGOP's trace that the effective directions carry together.
EFFECTIVE_SHARE = 0.95

#: Rows over which the AGOP of a fitted model is averaged.
AGOP_ROWS = 2000


class AGOPSummary:
    """The AGOP of a predictor over a sample of rows, its directions and shares.

    Nothing is computed before it is asked for, and then once. The rows are let go of with it, and
    are in no copy, pickle or file: what goes there is the AGOP.

    Examples
    --------
    >>> summary = AGOPSummary.of_arrays({"agop": np.diag([1.0, 3.0])})
    >>> summary.importances.tolist(), summary.n_effective
    ([0.25, 0.75], 2)
    """

    def __init__(
        self, products: OuterProducts | None, pending: tuple[Predictor, Block] | None = None
    ) -> None:
        self._products, self._pending = products, pending

    @classmethod
    def over(cls, predictor: Predictor, rows: Block) -> AGOPSummary:
        """Over the first rows of a block, which are a fair sample of them."""
        first = Block(*(t[:AGOP_ROWS].clone() for t in (rows.X, rows.y, rows.w)))
        return cls(None, (predictor, first))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> AGOPSummary:
        """From what :meth:`arrays` gave, among other arrays."""
        names = [name for name in ("agop", "agop_factor") if name in arrays]
        return cls(outer_products({name: torch.as_tensor(arrays[name]) for name in names}))

    def __reduce__(self) -> tuple[Any, ...]:
        return AGOPSummary, (self.products,)

    @property
    def products(self) -> OuterProducts:
        """The AGOP, as thin as it is."""
        if self._products is None:
            predictor, rows = cast(tuple[Predictor, Block], self._pending)
            self._products, self._pending = _computed(predictor, rows), None
        return self._products

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: t.numpy() for name, t in self.products.tensors().items()}

    @cached_property
    def spectrum(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues (d,), decreasing, and vectors (d, k) of those that may be above zero."""
        return self.products.spectrum()

    @property
    def root(self) -> Tensor:
        """A with A^2 the AGOP: (d, d), V diag(s) (d, k) of fewer directions, or ones of a zero one.

        As :func:`gradfeat.models.kernel_machine.apply_metric` takes it.
        """
        e, V = self.spectrum
        if not e[0] > 0:
            return torch.ones(len(e), dtype=e.dtype)
        thin = V * e[: V.shape[1]].clamp(min=0).sqrt()
        return thin if V.shape[1] < len(e) else thin @ V.T

    @property
    def importances(self) -> Floats:
        """Share (d,) of the trace on each input; zeros for a constant function."""
        diagonal = self.products.diagonal()
        total = float(diagonal.sum())
        return (diagonal / (total if total > 0 else 1.0)).numpy()

    @property
    def n_effective(self) -> int:
        """Least number of directions with `EFFECTIVE_SHARE` of the trace; 0 of a zero AGOP."""
        values = self.spectrum[0]
        total = float(values.sum())
        if not total > 0:
            return 0
        return int(np.searchsorted(values.numpy().cumsum() / total, EFFECTIVE_SHARE)) + 1

    def directions(self, r: int) -> Floats:
        return completed(self.spectrum[1], r).numpy()


def _computed(predictor: Predictor, rows: Block) -> OuterProducts:
    scratch, outputs = predictor.scratch_per_row(), rows.y.shape[1]
    return mean_outer_products(predictor.gradient, rows.X, rows.w, outputs, scratch)
