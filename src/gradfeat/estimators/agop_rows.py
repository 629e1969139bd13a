"""The AGOP of any model over rows that are passed over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from torch import Tensor

from ..maths import gradients
from ..maths.blocks import Block
from ..maths.statistics.gradient_outer_products import GradientOuterProducts
from ..maths.statistics.joint import Joint
from ..maths.statistics.moments import Moments
from ..maths.statistics.sample import RowSample
from ..rows.rows import Rows
from .model_slopes import TRIAL_ROWS, Slopes, model_slopes
from .rows_data import spreads


def agop_over_rows(
    model: Any,
    rows: Rows,
    *,
    centre: bool,
    step: float,
    count: int | None,
    batch_size: int,
    seed: int,
) -> tuple[Tensor, Tensor]:
    """Average gradient outer product (d, d) in the columns' units, and their spreads (d,).

    One pass for the spreads and a sample, and one for the gradients at all rows; over `count`
    rows of the sample instead where that is given.
    """
    size = TRIAL_ROWS if count is None else max(count, TRIAL_ROWS)
    m, sample = rows.collect(Joint((Moments(), RowSample(size, seed))), "moments")
    scale, points = spreads(m.mean_x, m.xx.diagonal() / m.weight), sample.X.double()
    slopes = model_slopes(model, _table(points, rows), points, scale, step, batch_size)
    row_bytes = slopes.bytes_per_row + 32 * slopes.outputs * points.shape[1]
    if count is None:
        products = GradientOuterProducts(_Doubled(slopes), row_bytes, centre)
        return rows.collect(products, "gradients"), scale
    few = Block(points[:count], sample.y[:count], sample.w[:count].double())
    G = gradients.agop(
        slopes.gradient, few.X, weights=few.w, centre=centre, bytes_per_row=row_bytes
    )
    return G, scale


@dataclass(frozen=True, eq=False)
class _Doubled:
    """Gradients of and to float64 on the CPU, whatever and wherever the rows are."""

    slopes: Slopes

    def __call__(self, X: Tensor) -> Tensor:
        return self.slopes.gradient(X.double().cpu()).to(X.device)


def _table(points: Tensor, rows: Rows) -> Any:
    """Points as the model may have seen them: with names, where the rows have any."""
    if not rows.named:
        return points.numpy()
    return pd.DataFrame(points.numpy(), columns=pd.Index(rows.columns.inputs))
