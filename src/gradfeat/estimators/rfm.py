"""Recursive feature machines as scikit-learn estimators."""

from __future__ import annotations

from abc import ABC
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self, cast

from ..maths.blocks import Block
from ..models.kernels.radial import Laplace
from ..models.rfm import RFM, ROUGH
from ..models.search.metric_space import MetricSpace
from ..models.search.rfm_losses import rfm_loss_space
from ..models.search.rfm_space import RFMSpace, rfm_space
from ..models.search.search import FAST, FULL, Space
from ..models.search.with_trees import TreesSetting, WithTrees
from ..models.solvers.direct import Adaptive
from ..models.stacked import Stacked
from .checks import (
    MOST,
    check_bytes,
    check_choice,
    check_count,
    check_directions,
    check_kernel,
    count_or_none,
    positive_or_none,
)
from .classifier import FeatureClassifier
from .parameters import estimator, parameters
from .refitting import Refittable
from .regressor import FeatureRegressor
from .training import Training

#: Rows that M is learnt from at most where the last fit is that of the RFM itself.
OWN_METRIC_ROWS = 10_000
#: Rows beyond which rounds of an RFM have Nystrom centres.
EVERY_ROW = 20_000
#: Rows beyond which matrices of rows x rows are in float32.
NARROW_BEYOND = 3000


@parameters
class RFMMethod(Refittable, ABC):
    """A recursive feature machine.

    Parameters
    ----------
    kernel : str or None
        "laplace", "laplace-0.7", "laplace-1.4", "laplace-l1", "laplace-l1-0.7", "gaussian",
        "matern12", "matern32", "matern52", "ntk", "nngp", "erf-ntk",
        "polynomial1" to "polynomial3" (:func:`gradfeat.models.search.kernel_space.kernel`).
        k of the rounds; None is chosen among laplace, gaussian and laplace-l1; in a full search
        matern32 and laplace-l1-0.7 too.
    bandwidth : float or None
        Length scale of the rounds in units of the standardised inputs; None is the median distance
        between rows, half to four times that in a full search.
    alpha : float or None
        Penalty of the rounds; None is 1e-3, or 1e-1 where that does better on noisy targets;
        with directions=None it is chosen from 1e-4 to 10.
    n_iter : int
        Updates of M; with a search, the best number up to this one is taken.
    diagonal : bool or None
        Learn a scale for each input instead of a full matrix; None is chosen.
    agop_power : float or None
        M = AGOP^power; None is 1, and 1/2 and 1/4 are tried too in a full search.
    centre_gradients : bool
        Covariance of the gradients instead of their second moment.
    normalisation : {"trace", "max"}
        Scale of M: trace d, or largest entry 1.
    agop_rows : int or None
        Average the AGOP over a random subset of so many rows.
    directions : "auto", int or None
        Leading directions of M in which the last fit is made, with a kernel, bandwidth and penalty
        of its own. "auto": how many, if any, is chosen on held-out rows, as all that is searched;
        None: the last round of the RFM itself. M is learnt from half of the rows, drawn at random,
        at least 3,000 and at most 12,000 (20,000 in a full search, 10,000 for the RFM itself), its
        first updates from 3,000. With "auto" and at most 3,000 rows predictions are the weighted
        mean of up to four last fits, of 6,000 points in all, where held-out rows say that this is
        better (:class:`~gradfeat.models.stacked.Stack`); ``settings_["stack"]`` lists them.
        The last fit has 20,000 rows; what it leaves of further rows is fitted in leaves of a tree
        (:class:`~gradfeat.models.local_machines.LocalRidge`), where 1,000 Nystrom centres do not
        exhaust the kernel; so it is in the metric of the RFM itself. Of streamed rows 250,000 at
        most are gathered for that. Beyond 20,500 rows up to 2,000 are kept out, to decide on the
        share of trees and on probabilities by the fits themselves.
        Predictions are sums over fewer points, in float32 beyond 3,000 rows, and of inputs that a
        product of kernels of single columns rounds to whole numbers of 16 bits
        (:class:`~gradfeat.models.kernels.generalised_laplace.RoundedLaplace`), where that changes
        the squared error by a thousandth of the residuals' or less
        (:func:`~gradfeat.models.fewer_centres.quickened`).
        ``settings_`` tells the rows that taught M (``metric_rows``), how many the function is a sum
        over (``points``), and whether inputs are ``rounded``.
    trees : bool
        Boosted trees join that mean, where `directions` is "auto", if held-out rows gain half a
        percent of the loss (:class:`~gradfeat.models.trees.Boosting`); ``settings_["trees"]`` tells
        their share. They are steps: gradients, and ``agop_`` with them, are of the other fits.
        False: predictions are those of kernel machines alone.
    search : {"fast", "full"} or None
        Validated search over everything left None, and of the last fit (see `directions`): folds
        up to 1,500 or 4,000 rows, beyond these a third held out (at most 2,000) and the rounds
        on at most 2,500 or 10,000 of the rest; where the rest is three times as many, 20,000 of
        its rows decide between a Gaussian last fit and a rougher one; all rows are fitted then.
        None searches nothing: what is given is used as it is, and what is left None takes its
        starting value.
    memory_limit : int or None
        Bytes that kernel matrices may take (None: 80 % of free memory).
    dtype : {"float32", "float64"} or None
        Float type of the fit; None is float64 up to 3,000 rows and float32 beyond.
    """

    _narrow_beyond, _once_each = NARROW_BEYOND, True

    kernel: str | None = None
    bandwidth: float | None = None
    alpha: float | None = None
    n_iter: int = 5
    diagonal: bool | None = None
    agop_power: float | None = None
    centre_gradients: bool = False
    normalisation: Literal["trace", "max"] = "trace"
    agop_rows: int | None = None
    directions: int | str | None = "auto"
    trees: bool = True
    memory_limit: int | None = None

    def _rounds(self, block: Block) -> RFMSpace:
        choice = check_kernel(self.kernel, self.bandwidth, self.alpha)
        n_iter = check_count("n_iter", self.n_iter, least=0, most=MOST)
        power = positive_or_none("agop_power", self.agop_power)
        normalisation = check_choice("normalisation", self.normalisation, ("trace", "max"))
        agop_rows = count_or_none("agop_rows", self.agop_rows)
        diagonal = check_choice("diagonal", self.diagonal, (True, False, None))
        centre = check_choice("centre_gradients", self.centre_gradients, (True, False))
        limit = check_bytes(self.memory_limit)
        rfm = RFM(
            Laplace(1.0),
            alpha=0.0,
            n_iter=n_iter,
            centre_gradients=centre,
            normalisation=normalisation,
            agop_rows=agop_rows,
            metric_rows=OWN_METRIC_ROWS,
            solver=Adaptive(most=EVERY_ROW, memory_limit=limit),
            rough=replace(ROUGH, memory_limit=limit),
        )
        directions, thorough = check_directions(self.directions), self.search == "full"
        how = {"thorough": thorough, "memory_limit": limit}
        return rfm_space(rfm, choice, diagonal, power, directions, block, **how)

    def _with_trees(self, space: Space[Any], *, logistic: bool) -> Space[Any]:
        """Trees may join a last fit that is chosen."""
        trees = check_choice("trees", self.trees, (True, False))
        if not trees or self.directions != "auto":
            return space
        return WithTrees(TreesSetting(space.start), space, logistic)

    def without_trees(self) -> Self:
        """The kernel machines of the fit, without the boosted trees that joined them, if any did.

        Probabilities keep the calibration of both together.
        """
        if "trees" not in self.settings_:
            return self
        alone = copy(self)
        alone.settings_ = {name: v for name, v in self.settings_.items() if name != "trees"}
        alone.predictor_ = cast(Stacked, self.predictor_).parts[0]
        return alone

    def _for_another(self, training: Training, seed: int) -> None:
        """Kernel ridge in the metric of the AGOP, chosen on held-out rows."""
        A = self._summary.root.to(training.block.X)
        limit = check_bytes(self.memory_limit)
        space, effort = MetricSpace(A, limit), FULL if self.search == "full" else FAST
        trial = space.best(training.block, seed, effort)
        self._keep(trial.setting, space.fit(trial.setting, training.rows, seed))
        self._calibrate((trial.predictions, trial.y, trial.w))


@estimator
class RFMRegressor(RFMMethod, FeatureRegressor):
    """Recursive feature machine: kernel ridge in the metric that its own gradients teach it.

    Repeat from M = I: (K_M + alpha I) c = y - mean y with K_M(x, z) = k(|x - z|_M), then
    M <- AGOP of the fit, normalised.

    Source: Rad24, Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((300, 8))
    >>> model = RFMRegressor().fit(X, X[:, 0] ** 2)
    >>> int(model.importances_.argmax()), model.n_effective_directions_
    (0, 1)
    """

    def _space(self, block: Block, *, streamed: bool = False) -> Space[Any]:
        del streamed
        return self._with_trees(self._rounds(block), logistic=False)


@estimator
class RFMClassifier(RFMMethod, FeatureClassifier):
    """Recursive feature machine on +-1 codes, one column a class, calibrated probabilities.

    Repeat from M = I: (K_M + alpha I) c = y - mean y with K_M(x, z) = k(|x - z|_M), then
    M <- AGOP of the fit, normalised. The last fit is of squared or logistic loss.

    Parameters
    ----------
    loss : {"squared", "logistic"} or None
        Of the last fit; the rounds are of squared loss always. With "logistic" the penalty of the
        last fit is chosen from 1e-4 to 1 by held-out log loss, its directions, kernel and
        bandwidth are those found for the squared loss. None takes the loss of less held-out log
        loss, among both up to 3,000 rows. ``settings_["head_loss"]`` tells which one it is.
    class_weight : None, "balanced" or dict
        Weight of each class, by which the rows' weights are multiplied: sum w / (K sum of the
        class), or as given, 1 for labels left out.

    Source: Rad24, Algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RFMClassifier().fit(X, y).predict(X[:2]).tolist()
    [0, 0]
    """

    loss: Literal["squared", "logistic"] | None = "squared"
    class_weight: dict[Any, float] | str | None = None

    def _space(self, block: Block, *, streamed: bool = False) -> Space[Any]:
        del streamed
        loss = check_choice("loss", self.loss, ("squared", "logistic", None))
        space = rfm_loss_space(self._rounds(block), loss, len(block.X))
        return self._with_trees(space, logistic=True)
