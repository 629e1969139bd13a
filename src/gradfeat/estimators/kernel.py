"""Kernel ridge as scikit-learn estimators."""

# Apart: a pair of estimators a file.
from __future__ import annotations

from abc import ABC

from ..maths.blocks import Block
from ..models.search.kernel_space import SOLVERS, KernelSetting, kernel_ridge_space
from ..models.search.search import Space
from .base import FeatureModel
from .checks import check_bytes, check_choice, check_kernel
from .classifier import FeatureClassifier
from .parameters import estimator, parameters
from .regressor import FeatureRegressor


@parameters
class KernelMethod(FeatureModel, ABC):
    """Kernel ridge.

    Parameters
    ----------
    kernel : str or None
        "laplace", "laplace-0.7", "laplace-1.4", "laplace-l1", "laplace-l1-0.7", "gaussian",
        "matern12", "matern32", "matern52", "ntk", "nngp", "erf-ntk",
        "polynomial1" to "polynomial3" (:func:`gradfeat.models.search.kernel_space.kernel`).
        k; None is chosen among laplace, laplace-l1, matern32 and gaussian, each with a penalty and
        a bandwidth of its own.
    bandwidth : float or None
        Length scale in units of the standardised inputs; None is chosen around the median
        distance between rows, which the ``-l1`` kernels measure by sum_k |x_k - z_k|.
    alpha : float or None
        Penalty; None is chosen from 1e-4 to 10.
    solver : {"direct", "cg", "nystrom_cg", "eigenpro", "nystrom", "richardson"} or None
        How the linear system is solved; None is direct where its matrix fits the memory limit,
        else Nystrom centres, which streamed rows always have.
        ``settings_["solver"]`` tells which one was used, ``settings_["points"]`` how many points
        the function is a sum over: the rows, or the centres. A solver that did not reach its
        tolerance warns, and says what to do.
    memory_limit : int or None
        Bytes that the solver may take (None: 80 % of free memory).
    """

    _once_each = True

    kernel: str | None = "laplace"
    bandwidth: float | None = None
    alpha: float | None = None
    solver: str | None = None
    memory_limit: int | None = None

    def _space(self, block: Block, *, streamed: bool = False) -> Space[KernelSetting]:
        choice = check_kernel(self.kernel, self.bandwidth, self.alpha)
        solver = check_choice("solver", self.solver, (*SOLVERS, None))
        limit = check_bytes(self.memory_limit)
        return kernel_ridge_space(choice, solver, block, limit, streamed=streamed)


@estimator
class KernelRegressor(KernelMethod, FeatureRegressor):
    """Kernel ridge regression: (K + alpha I) c = y - mean y, f(x) = mean y + sum_i c_i k(x, x_i).

    Source: Saunders, Gammerman & Vovk 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> KernelRegressor(alpha=1.0, bandwidth=3.0, search=None).fit(X, y).predict(X[:2]).shape
    (2,)
    """


@estimator
class KernelClassifier(KernelMethod, FeatureClassifier):
    """Kernel ridge on +-1 codes, one column a class, with calibrated probabilities.

    Source: Saunders, Gammerman & Vovk 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelClassifier(alpha=0.1).fit(X, y).predict_proba(X[:2]).shape
    (2, 3)
    """
