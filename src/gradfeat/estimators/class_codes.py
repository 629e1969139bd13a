"""Class labels as +-1 codes, and class weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor

from ..errors import SourceError
from ..maths.blocks import Block
from ..maths.statistics.value_counts import CountState, ValueCounts
from .checks import Floats, as_given, check_positive, has_namespace
from .scaled import Standardiser


@dataclass(frozen=True)
class ClassCodes:
    """+-1 codes of class labels in the place of y, and class weights times the rows' weights."""

    classes: Float[Tensor, " K"]
    factors: Float[Tensor, " K"]

    def __call__(self, rows: Block) -> Block:
        """One column for two classes, else one a class."""
        hit = rows.y[:, :1] == self.classes.to(rows.y)
        codes = torch.where(hit, 1.0, -1.0).to(rows.X)
        w = rows.w * (hit.to(rows.w) @ self.factors.to(rows.w))
        return Block(rows.X, codes[:, 1:] if len(self.classes) == 2 else codes, w)

    def scales(self, labels: CountState) -> Standardiser:
        """Means of the codes under the class weights; codes keep their unit."""
        w = labels.weights * self.factors
        means = (2 * w / w.sum() - 1).numpy()
        means = means[1:] if len(means) == 2 else means
        return Standardiser(means, np.ones(len(means)))


def class_codes(labels: CountState, kind: torch.dtype, class_weight: Any) -> ClassCodes:
    """The classes among labels of this float type, and the weight of each."""
    values, weights = labels.values, labels.weights
    if len(values) > ValueCounts().most:
        raise SourceError(
            f"the target has more than {ValueCounts().most:,} distinct values: use a regressor, or "
            "give a target of fewer classes."
        )
    exact = 2.0**24 if kind == torch.float32 else 2.0**53
    if len(values) and float(values.abs().max()) >= exact:
        raise SourceError(
            f"the target reaches {float(values.abs().max()):.4g}, where {kind} has "
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


def labels_of(values: Floats) -> NDArray[Any]:
    return values.astype(np.int64)


def given_labels(y: Any) -> Any:
    """Labels of any library as an array of their own kind.

    Validation would make floats of whole numbers that may be missing, and of large ones the same.

    Raises ValueError where a row has no label (None sorts among no others, and nan as a word), and
    for labels that are neither all text nor all of one type of NumPy.
    """
    if has_namespace(y):
        return y  # numbers, which are validated as such
    given = np.array(as_given(y, "y"), dtype=object)
    missing = int(pd.isna(given).sum()) if given.ndim else 0
    if missing:
        raise ValueError(
            f"Input y contains NaN or None in {missing} of {len(given)} rows, which have no label: "
            "leave these rows out, or give them a label of their own."
        )
    if given.ndim != 1:
        return y  # a column, of which validation warns, or refused by it
    labels = np.asarray(y)
    kinds = {type(label).__name__ for label in given} if labels.dtype.kind in "OU" else set()
    if kinds - {"str", "str_"}:
        raise ValueError(
            f"Unknown label type: y holds objects of type {', '.join(sorted(kinds))}: give labels "
            "of one kind, such as y.astype(int), y.astype(bool) or y.astype(str)."
        )
    return labels


def with_class_weights(class_weight: Any, labels: NDArray[Any], w: Floats) -> Floats:
    """w_i times the weight of the class of row i, as scikit-learn defines it.

    "balanced" gives class k the weight sum w / (K sum_{i in k} w_i) over the K classes with weight,
    so that an integer w_i is the same as so many equal rows; a dict that of each label, 1 for those
    that it leaves out.

    Source: King & Zeng 2001.
    """
    if class_weight is None:
        return w
    if type(class_weight) is dict or (type(class_weight) is str and class_weight == "balanced"):
        return _weighted(class_weight, labels, w)
    raise ValueError(
        f"class_weight is {class_weight!r}: give None, 'balanced' or a dict of label to weight."
    )


def _weighted(class_weight: Any, labels: NDArray[Any], w: Floats) -> Floats:
    if type(class_weight) is dict:
        for label, weight in class_weight.items():
            check_positive(f"class_weight of {label!r}", weight, zero=True)
    kept = w > 0
    classes, index = np.unique(labels[kept], return_inverse=True)
    if not len(classes):
        return w
    of_class = compute_class_weight(
        class_weight, classes=classes, y=labels[kept], sample_weight=w[kept]
    )
    out = w.copy()
    out[kept] *= of_class[index]
    return out
