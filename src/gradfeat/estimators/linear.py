"""Ridge regression on the inputs as scikit-learn estimators: what fixed inputs can do."""

from __future__ import annotations

from typing import Any, Literal, Self, cast

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from ..maths.blocks import Block
from ..models.fixed_features import FixedFeatures
from ..models.linear import LinearRidge
from ..models.search.network_space import NoSetting, fixed_space
from ..models.search.search import GridSpace
from .checks import check_head
from .classifier import FeatureClassifier
from .partial import NO_ROWS, add_rows, exact_in_parts
from .regressor import FeatureRegressor


class LinearRegressor(FeatureRegressor):
    """Ridge regression: f(x) = b + beta.z, z the standardised inputs.

    Minimises sum_i w_i (y_i - f_i)^2 + alpha |beta|^2. Here as the method that every other one has
    to beat, on rows in memory or passed over.

    Parameters
    ----------
    alpha : float or None
        Penalty; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
    standardise : bool
        Give every input zero mean and unit spread first.
    search : {"fast", "full"} or None
        There is nothing to search; as of the other estimators.
    device : str or None
        Torch device; None is that of a torch input, else the CPU.
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64.
    random_state : int, RandomState, Generator or None
        Seed of the rows held out by penalty_by="validation".

    Attributes
    ----------
    directions_, importances_, eigenvalues_, agop_, n_effective_directions_, settings_
        What the fit reads from the inputs; see :class:`gradfeat.estimators.base.FeatureModel`.

    Source: Hoerl & Kennard 1970; Golub, Heath & Wahba 1979 (the penalty).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(LinearRegressor().fit(X, y).score(X, y), 2)
    0.52
    """

    def __init__(
        self,
        *,
        alpha: float | None = None,
        penalty_by: Literal["loo", "gcv", "validation"] = "loo",
        standardise: bool = True,
        search: str | None = "fast",
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.penalty_by: Literal["loo", "gcv", "validation"] = penalty_by
        self.standardise = standardise
        self.search = search
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[NoSetting]:
        del data
        return fixed_space(LinearRidge(check_head(self.alpha, self.penalty_by)))

    @available_if(exact_in_parts)
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows: the same fit as to all rows so far at once, whatever the batches.

        Parameters
        ----------
        X, y, sample_weight
            As of `fit`; one row is enough.

        Returns
        -------
        self

        Only where that is exact: with ``standardise=False``, and ``alpha`` or
        ``penalty_by="gcv"``.

        Raises
        ------
        ValueError
            After `fit`, or where a parameter of the features was changed between calls.
        """
        learner = self._space(NO_ROWS).learner(NoSetting())
        add_rows(self, cast(FixedFeatures, learner), X, y, sample_weight)
        return self


class LinearClassifier(FeatureClassifier):
    """Ridge regression on +-1 codes, one column a class, with calibrated probabilities.

    f(x) = b + beta.z, z the standardised inputs. Here as the method that every other one has to
    beat, on rows in memory or passed over.

    Parameters
    ----------
    alpha : float or None
        Penalty; None is chosen.
    penalty_by : {"loo", "gcv", "validation"}
        How it is chosen.
    standardise : bool
        Give every input zero mean and unit spread first.
    search : {"fast", "full"} or None
        There is nothing to search; as of the other estimators.
    device : str or None
        Torch device; None is that of a torch input, else the CPU.
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64.
    random_state : int, RandomState, Generator or None
        Seed of the rows held out by penalty_by="validation".

    Attributes
    ----------
    directions_, importances_, eigenvalues_, agop_, n_effective_directions_, settings_
        What the fit reads from the inputs; see :class:`gradfeat.estimators.base.FeatureModel`.

    Source: Hoerl & Kennard 1970; Golub, Heath & Wahba 1979 (the penalty).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearClassifier().fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """

    def __init__(
        self,
        *,
        alpha: float | None = None,
        penalty_by: Literal["loo", "gcv", "validation"] = "loo",
        standardise: bool = True,
        search: str | None = "fast",
        device: str | None = None,
        dtype: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.penalty_by: Literal["loo", "gcv", "validation"] = penalty_by
        self.standardise = standardise
        self.search = search
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    def _space(self, data: Block) -> GridSpace[NoSetting]:
        del data
        return fixed_space(LinearRidge(check_head(self.alpha, self.penalty_by)))
