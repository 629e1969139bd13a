"""Row weights from class weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight


def with_class_weights(
    class_weight: Any, labels: NDArray[Any], w: NDArray[np.float64]
) -> NDArray[np.float64]:
    """w_i times the weight of the class of row i, as scikit-learn defines it.

    "balanced" gives class k the weight sum w / (K sum_{i in k} w_i) over the K classes with
    weight, so that an integer w_i is the same as so many equal rows.

    Parameters
    ----------
    class_weight : None, "balanced" or dict
        A dict gives the weight of each label; 1 for those that it leaves out.
    labels, w : arrays (n,)
        Labels and non-negative row weights.

    Raises
    ------
    ValueError
        For anything else, or a dict whose keys are no labels.

    Source: King & Zeng 2001.

    Examples
    --------
    >>> with_class_weights("balanced", np.array([0, 0, 0, 1]), np.ones(4)).tolist()[2:]
    [0.6666666666666666, 2.0]
    """
    match class_weight:
        case None:
            return w
        case dict() | "balanced":
            return _weighted(class_weight, labels, w)
    raise ValueError(
        f"class_weight is {class_weight!r}: give None, 'balanced' or a dict of label to weight."
    )


def _weighted(
    class_weight: Any, labels: NDArray[Any], w: NDArray[np.float64]
) -> NDArray[np.float64]:
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
