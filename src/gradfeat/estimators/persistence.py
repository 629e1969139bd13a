"""Save and load fitted estimators, without pickle."""

from __future__ import annotations

import os
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .agop_transformer import AGOPTransformer
from .base import FeatureModel
from .container import Contents, ModelFileError, read, write
from .gradient_features import GradientFeatureClassifier, GradientFeatureRegressor
from .induced import InducedNetworkClassifier, InducedNetworkRegressor
from .kernel import KernelClassifier, KernelRegressor
from .linear import LinearClassifier, LinearRegressor
from .random_features import RandomFeaturesClassifier, RandomFeaturesRegressor
from .rfm import RFMClassifier, RFMRegressor

Saved = FeatureModel | AGOPTransformer

CLASSES: tuple[type[Saved], ...] = (
    AGOPTransformer,
    GradientFeatureClassifier,
    GradientFeatureRegressor,
    InducedNetworkClassifier,
    InducedNetworkRegressor,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    RandomFeaturesClassifier,
    RandomFeaturesRegressor,
    RFMClassifier,
    RFMRegressor,
)


def contents_of(estimator: Saved) -> Contents:
    """Everything that predicts, as JSON-able state and arrays.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        When the estimator has not been fitted.
    ModelFileError
        When it holds a function that only exists in this process.
    """
    check_is_fitted(estimator)
    try:
        state, arrays = estimator.to_state()
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    return Contents(type(estimator).__name__, state, arrays)


def estimator_from(contents: Contents, path: str | os.PathLike[str] = "the model") -> Saved:
    """Inverse of :func:`contents_of`.

    Raises
    ------
    ModelFileError
        For a kind of model, or a part of one, that this version does not know.
    """
    for make in CLASSES:
        if make.__name__ == contents.kind:
            break
    else:
        raise ModelFileError(
            f"{path} holds a {contents.kind!r}, which this gradfeat does not know: use the "
            "version that saved it."
        )
    try:
        return make.from_state(contents.state, contents.arrays)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} holds a {contents.kind} that this gradfeat cannot rebuild ({error})."
        ) from None


def save(estimator: Saved, path: str | os.PathLike[str]) -> None:
    """Save a fitted estimator to one file (safetensors with a JSON description; no pickle).

    Written completely or not at all. A random generator given as ``random_state`` is saved
    as None.

    Parameters
    ----------
    estimator : a fitted gradfeat estimator
        What to save.
    path : path-like
        Where; by convention ``.gradfeat``.

    Raises
    ------
    ModelFileError
        One sentence: not writable, or not describable.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from gradfeat import KernelRegressor, load, save
    >>> X = np.arange(8.0)[:, None]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KernelRegressor().fit(X, X[:, 0]), f"{folder}/m.gradfeat")
    ...     load(f"{folder}/m.gradfeat").predict(X).shape
    (8,)
    """
    write(path, contents_of(estimator))


def load(path: str | os.PathLike[str], device: str | None = None) -> Any:
    """Load what :func:`save` wrote; on the CPU unless `device` says otherwise.

    Raises
    ------
    ModelFileError
        One sentence for a file that is missing, cut short, changed, or of a newer format.
    """
    estimator = estimator_from(read(path), path)
    return estimator if device is None else estimator.to_device(device)
