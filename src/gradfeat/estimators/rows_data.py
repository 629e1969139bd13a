"""Training rows that are passed over: scales, classes and a sample of them, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from ..maths.blocks import Block
from ..maths.statistics.affine import Affine
from ..maths.statistics.joint import Joint
from ..maths.statistics.moments import Moments, MomentState
from ..maths.statistics.sample import RowSample
from ..maths.statistics.value_counts import CountState, ValueCounts
from ..rows.errors import SourceError
from ..rows.rows import Rows
from .class_weights import with_class_weights
from .data import Placement, TrainingData
from .rows import distinct_rows
from .scaling import Standardiser

#: Rows of the sample that settings are chosen on, and the numbers that it may hold.
SAMPLE_ROWS, SAMPLE_NUMBERS = 22_000, 2**25

#: Of rows whose targets are quantities.
NO_LABELS = CountState(torch.zeros(0), torch.zeros(0))

#: Below it a square has few digits, or none.
LEAST_SQUARE = 1e-290

#: Spread of a column, relative to its size, up to which it is constant.
CONSTANT = 1e-12


@dataclass(frozen=True)
class ClassCodes:
    """+-1 codes of class labels in the place of y, and class weights times the rows' weights.

    Examples
    --------
    >>> rows = Block(torch.ones(2, 1), torch.tensor([[5.0], [3.0]]), torch.ones(2))
    >>> ClassCodes(torch.tensor([3.0, 5.0]), torch.ones(2))(rows).y.tolist()
    [[1.0], [-1.0]]
    """

    classes: Float[Tensor, " K"]
    factors: Float[Tensor, " K"]

    def __call__(self, rows: Block) -> Block:
        """One column for two classes, else one a class."""
        hit = rows.y[:, :1] == self.classes.to(rows.y)
        codes = torch.where(hit, 1.0, -1.0).to(rows.X)
        w = rows.w * (hit.to(rows.w) @ self.factors.to(rows.w))
        return Block(rows.X, codes[:, 1:] if len(self.classes) == 2 else codes, w)


@dataclass(frozen=True, eq=False)
class PassedRows:
    """Rows in the units of the fit, with a standardised sample of them.

    Attributes
    ----------
    rows : Rows
        Standardised as they are passed over.
    data : TrainingData
        The sample, in the order that rows in memory would have, and the scales.
    """

    rows: Rows
    data: TrainingData


@dataclass(frozen=True, eq=False)
class FirstPass:
    """What one pass tells of the rows as they come."""

    moments: MomentState
    sample: Block
    labels: CountState


def sample_rows(d: int) -> int:
    """Rows of the sample of rows of d columns.

    Examples
    --------
    >>> sample_rows(10), sample_rows(100_000)
    (22000, 335)
    """
    return max(2, min(SAMPLE_ROWS, SAMPLE_NUMBERS // d))


def first_pass(rows: Rows, seed: int, *, labelled: bool) -> FirstPass:
    """Moments, a sample and, where rows are `labelled`, the labels, as far as they are few.

    Raises
    ------
    SourceError
        Where the squares of a column are beyond floating-point numbers, or there are under 2 rows.
    """
    size = sample_rows(rows.template.X.shape[1])
    parts = (Moments(), RowSample(size, seed), *([ValueCounts()] if labelled else []))
    m, sample, *counts = rows.collect(Joint(parts), "moments")
    if m.count < 2:
        raise SourceError(
            f"there {'is 1 row' if m.count == 1 else 'are 0 rows'} of positive weight, and at "
            "least 2 are needed to fit: give more rows."
        )
    wrong = (~(m.xx.diagonal().isfinite() & m.mean_x.isfinite())).nonzero().flatten().tolist()
    if wrong:
        raise SourceError(
            f"the squares of input {_name(rows, wrong[0])} are beyond floating-point numbers: give "
            "it in a larger unit."
        )
    if not bool((m.yy.isfinite() & m.mean_y.isfinite()).all()):
        raise SourceError(
            "the squares of the target are beyond floating-point numbers: give it in a larger unit."
        )
    small = _vanishing(m.mean_x, m.xx.diagonal() / m.weight).nonzero().flatten().tolist()
    if small:
        raise SourceError(
            f"the squares of input {_name(rows, small[0])} are below floating-point numbers: give "
            "it in a smaller unit."
        )
    if bool(_vanishing(m.mean_y, m.yy / m.weight).any()):
        raise SourceError(
            "the squares of the target are below floating-point numbers: give it in a smaller unit."
        )
    return FirstPass(m, sample, *(counts or [NO_LABELS]))


def _vanishing(mean: Tensor, variance: Tensor) -> Tensor:
    """Columns whose values are so small that nothing is left of their squares."""
    return (variance < LEAST_SQUARE) & (mean != 0) & (mean.abs() < LEAST_SQUARE**0.5)


def _name(rows: Rows, column: int) -> str:
    names = rows.columns.inputs
    return repr(names[column]) if names else f"number {column + 1}"


def class_codes(found: FirstPass, class_weight: Any) -> ClassCodes:
    """The classes among the labels, and the weight of each.

    Raises
    ------
    SourceError
        Where there are too many to be classes, or they are no whole numbers.
    ValueError
        For class weights that are not allowed.
    """
    values, weights = found.labels.values, found.labels.weights
    if len(values) > ValueCounts().most:
        raise SourceError(
            f"the target has more than {ValueCounts().most:,} distinct values: use a regressor, or "
            "give a target of fewer classes."
        )
    exact = 2.0**24 if found.sample.y.dtype == torch.float32 else 2.0**53
    if len(values) and float(values.abs().max()) >= exact:
        raise SourceError(
            f"the target reaches {float(values.abs().max()):.4g}, where {found.sample.y.dtype} has "
            "no room for all whole numbers: give labels that are smaller."
        )
    part = values[values != values.round()]
    if len(part):
        raise SourceError(
            f"the target has values such as {float(part[0]):g}, which are no classes: give whole "
            "numbers as labels, or use a regressor."
        )
    w = weights.numpy()
    factors = with_class_weights(class_weight, labels_of(values.numpy()), w) / w
    return ClassCodes(values, torch.as_tensor(factors))


def labels_of(values: NDArray[np.float64]) -> NDArray[Any]:
    """Whole numbers as integers.

    Examples
    --------
    >>> labels_of(np.array([0.0, 1.0])).tolist()
    [0, 1]
    """
    return values.astype(np.int64)


def passed_rows(
    rows: Rows,
    found: FirstPass,
    where: Placement,
    seed: int,
    *,
    standardise: bool,
    codes: ClassCodes | None,
) -> PassedRows:
    """Rows and sample in the units of a fit: from the moments, without another pass."""
    m, d = found.moments, len(found.moments.mean_x)
    inputs = _standardiser(m.mean_x, m.xx.diagonal() / m.weight)
    if not standardise:
        inputs = Standardiser.identity(d)
    outputs = _standardiser(m.mean_y, m.yy / m.weight)
    sample = found.sample
    rows = rows.knowing(m)
    if codes is not None:
        rows, sample = rows.mapped(codes), codes(sample)
        outputs = _code_means(codes, found.labels)
    X, y, w = (t.double().numpy() for t in (sample.X, sample.y, sample.w))
    X, y, w = distinct_rows(X, y, w, seed)
    block = Block(where.tensor(inputs(X)), where.tensor(outputs(y)), where.tensor(w))
    of_x, of_y = ((torch.as_tensor(s.mean), torch.as_tensor(s.scale)) for s in (inputs, outputs))
    scaled = rows.mapped(Affine(of_x[0], 1 / of_x[1], *of_y, where.dtype, where.device))
    return PassedRows(scaled, TrainingData(block, inputs, outputs))


def spreads(mean: Tensor, variance: Tensor) -> Tensor:
    """Standard deviations of columns; 0 for a constant one, whatever its size.

    Examples
    --------
    >>> spreads(torch.tensor([0.0, 1e9]), torch.tensor([4.0, 1e-9])).tolist()
    [2.0, 0.0]
    """
    scale = variance.sqrt()
    return torch.where(scale > CONSTANT * (mean.abs() + scale), scale, 0.0)


def _standardiser(mean: Tensor, variance: Tensor) -> Standardiser:
    scale = spreads(mean, variance).numpy()
    return Standardiser(mean.numpy(), np.where(scale > 0, scale, 1.0))


def _code_means(codes: ClassCodes, labels: CountState) -> Standardiser:
    """Means of the codes under the class weights; classes keep the unit of their codes."""
    w = labels.weights * codes.factors
    means = (2 * w / w.sum() - 1).numpy()
    means = means[1:] if len(means) == 2 else means
    return Standardiser(means, np.ones(len(means)))
