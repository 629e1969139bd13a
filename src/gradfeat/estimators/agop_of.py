"""The average gradient outer product of any model."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight
from torch import Tensor, nn

from ..maths import gradients
from ..maths.blocks import Block
from ..maths.limits import BLOCK_BYTES, refuse_beyond
from ..maths.modules import evaluating
from ..maths.statistics.combined import Joint
from ..maths.statistics.gradient_sums import GradientOuterProducts
from ..maths.statistics.moments import CONSTANT, Moments, standard_deviations
from ..maths.statistics.sample import RowSample
from ..maths.streams import numpy_stream
from ..rows.rows import Rows
from .checks import check_count, check_positive, count_or_none, seed_from
from .slopes import TRIAL_ROWS, Slopes, model_slopes, numeric_table, pandas_or_same


def agop(
    model: Any,
    X: Any,
    *,
    weights: ArrayLike | None = None,
    centre: bool = False,
    standardise: bool = True,
    step: float = 1e-3,
    rows: int | None = None,
    batch_size: int = 2048,
    random_state: Any = None,
) -> Any:
    """Average gradient outer product of any model: sum_i w_i J_i^T J_i / sum_i w_i.

    J_i (c, d) holds the derivatives of the c outputs at row x_i, S df/dx with S the standard
    deviations of the columns of X. Its diagonal ranks the columns, its leading eigenvectors are
    the directions that the model reads. An array (d, d), or a tensor where X is one: symmetric,
    positive semi-definite, float64 (a tensor: the float type of X).

    `model`: An estimator of gradfeat: exact gradients. A ``torch.nn.Module``, or a callable of
        tensors where X is a tensor: autograd; a module is in evaluation mode during the call, and
        each row is a function of its own. A fitted scikit-learn regressor or classifier, or a
        callable of arrays (of data frames where X is one): central differences. Of a classifier,
        the function is its probabilities, else its decision values; of two classes only the second
        one's. Give ``model.decision_function`` to choose.
    `X`: Points to average over: an array, data frame or tensor (n, d) of finite numbers, or
        streamed Rows, which carry their weights. For modules and callables of tensors also (n,
        ...), in which case d counts the entries of a row.
    `weights`: Non-negative row weights (n,).
    `centre`: Covariance of the gradients instead of their second moment.
    `standardise`: Units. True: output² per standard deviation of each column, so that columns
        compare whatever they are measured in; a column that is constant has derivative 0. False:
        output²/(unit of x_j · unit of x_k). (``agop_`` of gradfeat's regressors divides by the
        variance of the targets as well.)
    `step`: Of finite differences, in standard deviations of each column. Central differences err by
        about step²/6 times the third derivative. Models that are constant between jumps (trees,
        boosting) need a large one such as 0.25, which smooths them over that distance. A constant
        column is not moved: its derivative is 0.
    `rows`: Average over so many rows, drawn at random without replacement; None is all. Standard
        deviations are those of all rows.
    `batch_size`: Rows that the model gets in one call, which bounds its memory; of finite
        differences, each row counts 2d times.
    `random_state`: Seed of the draw of `rows`; None is 0.

    Raises ValueError for a model, X or option that is not allowed, MemoryError before work starts
    when the matrix itself cannot fit. Warns when finite differences at a small step say nothing
    because the model has jumps.

    Source: Rad24, the AGOP of "Neural feature ansatz"; Constantine 2015 (active subspaces).

    >>> import numpy as np
    >>> import torch
    >>> from sklearn.svm import SVR
    >>> X = np.random.default_rng(0).standard_normal((200, 3)) * [1, 1, 1000]
    >>> G = agop(SVR().fit(X / [1, 1, 1000], X[:, 0] ** 2).predict, X / [1, 1, 1000])
    >>> (G.diagonal() / G.trace()).round(1).tolist()
    [1.0, 0.0, 0.0]
    >>> T = torch.tensor([[0.0, 1.0], [2.0, 5.0]])
    >>> agop(lambda T: 3 * T[:, 0] + T[:, 1], T, standardise=False).tolist()
    [[9.0, 3.0], [3.0, 1.0]]
    """
    step = check_positive("step", step)
    count_or_none("rows", rows)
    check_count("batch_size", batch_size)
    seed = seed_from(random_state)
    if type(X) is Rows:
        if weights is not None:
            raise ValueError(
                "weights came beside rows that are streamed, which carry their own: name the "
                "column when the rows are opened, as in from_parquet(path, target=..., weight=...)."
            )
        with _looked_at(model):
            G, scale = _over_rows(model, X, centre, step, rows, int(batch_size), seed)
        return (scale[:, None] * G * scale if standardise else G).cpu().numpy()
    X = pandas_or_same(X)
    points = _points(model, X)
    d = points.shape[1]
    refuse_beyond(32 * d * d, None, f"the AGOP of {d} inputs", "give fewer inputs")
    w = _weights(weights, points)
    scale = _spread(points, w)
    kept = _drawn(w, rows, seed)
    points, w = points[kept], w[kept]
    with _looked_at(model):
        slopes = model_slopes(model, X, points, scale, float(step), int(batch_size))
        own_bytes = slopes.bytes_per_row + 32 * slopes.outputs * d
        G = gradients.agop(
            slopes.gradient,
            points,
            weights=w,
            centre=centre,
            bytes_per_row=max(own_bytes, -(-BLOCK_BYTES // int(batch_size))),
        )
    return _like(scale[:, None] * G * scale if standardise else G, X)


def _over_rows(
    model: Any, rows: Rows, centre: bool, step: float, count: int | None, batch_size: int, seed: int
) -> tuple[Tensor, Tensor]:
    """The AGOP (d, d) in the columns' units, and their standard deviations (d,).

    One pass for the deviations and a sample, and one for the gradients at all rows; over `count`
    rows of the sample instead where that is given.
    """
    size = TRIAL_ROWS if count is None else max(count, TRIAL_ROWS)
    m, sample = rows.collect(Joint((Moments(), RowSample(size, seed))), "moments")
    scale, points = standard_deviations(m.mean_x, m.xx.diagonal() / m.weight), sample.X.double()
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


def _like(G: Tensor, X: Any) -> Any:
    match X:
        case Tensor() if X.is_floating_point():
            return G.to(X.device, X.dtype)
        case Tensor():
            return G.to(X.device)
    return G.cpu().numpy()


def _looked_at(model: Any) -> AbstractContextManager[None]:
    """The state that the model must be in while it is differentiated."""
    match model:
        case nn.Module():
            return evaluating(model)
    return nullcontext()


def _points(model: Any, X: Any) -> Tensor:
    """Rows as float64 numbers (n, d), on the device of a tensor."""
    match (model, X):
        case (BaseEstimator(), _):
            return torch.from_numpy(numeric_table(X))
        case (_, Tensor()):
            return _flat(X)
        case (nn.Module(), _) if np.ndim(X) > 2:
            return _flat(torch.tensor(np.asarray(X)))
    return torch.from_numpy(numeric_table(X))


def _flat(X: Tensor) -> Tensor:
    if not X.is_floating_point() or X.ndim < 2 or not X.numel():
        raise ValueError(
            f"X is a {X.dtype} tensor of shape {tuple(X.shape)}: give floating numbers, one row "
            "an example (n, ...), because only these have derivatives."
        )
    if not X.isfinite().all():
        raise ValueError(
            "X has missing or infinite values: a derivative needs finite numbers; fill in or drop "
            "these rows."
        )
    return X.detach().double().flatten(1)


def _weights(weights: Any, points: Tensor) -> Tensor:
    w = _check_sample_weight(
        weights.cpu() if type(weights) is Tensor else weights,
        np.empty((len(points), 1)),
        dtype=np.float64,
        ensure_non_negative=True,
    )
    return torch.tensor(w, device=points.device)


def _spread(points: Tensor, w: Tensor) -> Tensor:
    """Weighted standard deviation of each column; 0 for a constant one, whatever its size."""
    size = points.abs().amax(0)
    unit, p = points / size.where(size > 0, 1.0), w / w.sum()
    spread = (p @ (unit - p @ unit) ** 2).sqrt()
    return (spread * size).where(spread > CONSTANT, 0.0)


def _drawn(w: Tensor, rows: int | None, seed: int) -> Tensor:
    """Numbers of the rows to average over: those with weight, or so many of them at random."""
    positive = w.nonzero().flatten()
    if rows is None or rows >= len(positive):
        return positive
    drawn = numpy_stream(seed, "agop rows").choice(len(positive), int(rows), replace=False)
    return positive[torch.as_tensor(np.sort(drawn), device=w.device)]
