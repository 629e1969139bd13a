"""Kernel ridge as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from ..maths.blocks import Block
from ..models.search.kernel_space import KernelSetting, kernel_ridge_space
from ..models.search.search import GridSpace
from ..models.solvers.named import NAMES
from .checks import check_bytes, check_choice, check_kernel
from .classifier import FeatureClassifier
from .regressor import FeatureRegressor


class KernelRegressor(FeatureRegressor):
    """Kernel ridge regression: (K + alpha I) c = y - mean y, f(x) = mean y + sum_i c_i k(x, x_i).

    Parameters
    ----------
    kernel : str or None
        "laplace", "laplace-0.7", "laplace-1.4", "laplace-l1", "laplace-l1-0.7", "gaussian",
        "matern12", "matern32", "matern52", "ntk", "nngp", "erf-ntk",
        "polynomial2" or "polynomial3" (:func:`gradfeat.models.kernels.named.kernel`).
        k; None is chosen among laplace, matern32 and gaussian.
    bandwidth : float or None
        Length scale in units of the standardised inputs; None is chosen around the median
        distance between rows.
    alpha : float or None
        Penalty; None is chosen from 1e-4 to 10.
    standardise : bool
        Give every input zero mean and unit spread first.
    search : {"fast", "full"} or None
        Validated search over everything left None (on at most 1,500 or 4,000 training rows, one
        or two sweeps); None searches nothing: what is given is used as it is, and what is left
        None takes its starting value.
    solver : {"direct", "cg", "nystrom_cg", "eigenpro", "nystrom", "richardson"} or None
        How the linear system is solved; None is direct where its matrix fits the memory limit,
        else Nystrom centres, which rows that are passed over always have.
        ``settings_["solver"]`` tells which one was used. A solver that did not reach its
        tolerance warns, and says what to do.
    memory_limit : int or None
        Bytes that the solver may take (None: 80 % of free memory).
    device : str or None
        Torch device; None is that of a torch input, else the CPU.
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64.
    random_state : int, RandomState, Generator or None
        Seed of the named random streams; None is 0, so that equal estimators give equal fits.

    Attributes
    ----------
    directions_, importances_, eigenvalues_, agop_, n_effective_directions_, settings_
        What the fit reads from the inputs; see :class:`gradfeat.estimators.base.FeatureModel`.

    Source: Saunders, Gammerman & Vovk 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> KernelRegressor(alpha=1.0, bandwidth=3.0, search=None).fit(X, y).predict(X[:2]).shape
    (2,)
    """

    def __init__(
        self,
        *,
        kernel: str | None = "laplace",
        bandwidth: float | None = None,
        alpha: float | None = None,
        standardise: bool = True,
        search: str | None = "fast",
        solver: str | None = None,
        memory_limit: int | None = None,
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.standardise = standardise
        self.search = search
        self.solver = solver
        self.memory_limit = memory_limit
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[KernelSetting]:
        return _space(self, data)


class KernelClassifier(FeatureClassifier):
    """Kernel ridge on +-1 codes, one column a class, with calibrated probabilities.

    Parameters
    ----------
    kernel : str or None
        "laplace", "laplace-0.7", "laplace-1.4", "laplace-l1", "laplace-l1-0.7", "gaussian",
        "matern12", "matern32", "matern52", "ntk", "nngp", "erf-ntk",
        "polynomial2" or "polynomial3" (:func:`gradfeat.models.kernels.named.kernel`).
        k; None is chosen among laplace, matern32 and gaussian.
    bandwidth : float or None
        Length scale in units of the standardised inputs; None is chosen around the median
        distance between rows.
    alpha : float or None
        Penalty; None is chosen from 1e-4 to 10.
    standardise : bool
        Give every input zero mean and unit spread first.
    search : {"fast", "full"} or None
        Validated search over everything left None (on at most 1,500 or 4,000 training rows, one
        or two sweeps); None searches nothing: what is given is used as it is, and what is left
        None takes its starting value.
    solver : {"direct", "cg", "nystrom_cg", "eigenpro", "nystrom", "richardson"} or None
        How the linear system is solved; None is direct where its matrix fits the memory limit,
        else Nystrom centres, which rows that are passed over always have.
        ``settings_["solver"]`` tells which one was used. A solver that did not reach its
        tolerance warns, and says what to do.
    memory_limit : int or None
        Bytes that the solver may take (None: 80 % of free memory).
    device : str or None
        Torch device; None is that of a torch input, else the CPU.
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64.
    random_state : int, RandomState, Generator or None
        Seed of the named random streams; None is 0, so that equal estimators give equal fits.

    Attributes
    ----------
    directions_, importances_, eigenvalues_, agop_, n_effective_directions_, settings_
        What the fit reads from the inputs; see :class:`gradfeat.estimators.base.FeatureModel`.

    Source: Saunders, Gammerman & Vovk 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier(alpha=0.1).fit(X, y).predict_proba(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        *,
        kernel: str | None = "laplace",
        bandwidth: float | None = None,
        alpha: float | None = None,
        standardise: bool = True,
        search: str | None = "fast",
        solver: str | None = None,
        memory_limit: int | None = None,
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.standardise = standardise
        self.search = search
        self.solver = solver
        self.memory_limit = memory_limit
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[KernelSetting]:
        return _space(self, data)


def _space(model: KernelRegressor | KernelClassifier, data: Block) -> GridSpace[KernelSetting]:
    choice = check_kernel(model.kernel, model.bandwidth, model.alpha)
    solver = check_choice("solver", model.solver, (*NAMES, None))
    limit = check_bytes(model.memory_limit)
    return kernel_ridge_space(choice, solver, data, limit, streamed=model._passing)
