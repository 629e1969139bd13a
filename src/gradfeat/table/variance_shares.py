"""How much of a target's variance is linear, quadratic, higher: cross-fitted, with intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gradfeat.diagnostics.hermite_degrees import axes_of, hermite_features
from gradfeat.estimators import RFMRegressor
from gradfeat.maths.ridge import ridge_path
from gradfeat.maths.streams import numpy_stream
from gradfeat.table.diagnosis import Share, Shares
from gradfeat.table.diagnosis_rows import STRETCHES, StandardInputs
from gradfeat.table.results import Interval
from gradfeat.table.scores import Units, interval, resamples
from gradfeat.table.split import number_of

Floats = NDArray[np.float64]

FOLDS = STRETCHES

#: Of the variance: a share below it counts for nothing. Penalties and rounding of the models before
#: leave such shares to the models after them, the more surely the less noise there is.
LEAST = 1e-3

#: So many times the whitened inputs, columns are tried as they are.
MORE_COLUMNS = 2

#: Smallest penalty, of the median eigenvalue of the features' Gram matrix: a rare level that hardly
#: varies over the training rows of a fold gets no slope from them; what varies loses 1e-4.
SMALLEST = 1e-2


def variance_shares(
    inputs: StandardInputs,
    y: Tensor,
    seed: int,
    tell: Callable[[int], None],
    stretch: NDArray[np.intp] | None = None,
    units: Units | None = None,
) -> Shares:
    """Shares of Var y that a linear, a quadratic and a flexible model add, on rows left out.

    In each of 3 folds: ridge on the whitened inputs; ridge on their Hermite polynomials of degree
    2, or on those of the columns as they are where these leave less of the training rows by
    leave-one-out, fitted to what the linear model leaves; a recursive feature machine fitted to
    what both leave. "Leaves" is what the fit without the row leaves (exact leave-one-out), so that
    no model is fitted to residuals that an earlier one has shrunk by overfitting. A share is the
    fall of the out-of-fold squared error over that of the mean; its interval is a paired
    bootstrap over rows, or over `units` (n,) of them, with the models held fixed.

    `y` (n, c) may be codes of classes, whose squared errors add up. `tell` hears the number of each
    fold before its work. Folds are the stretches of time `stretch` (n,), or at random.
    """
    rows = numpy_stream(seed, "share rows").permutation(len(y))
    X, Z, y = inputs.columns[rows], inputs.whitened[rows], y[rows]
    errors, settings = np.empty((4, len(rows))), []
    place = np.arange(len(rows)) % FOLDS if stretch is None else stretch[rows]
    for fold in range(FOLDS):
        tell(fold)
        held = np.flatnonzero(place == fold)
        steps, setting = _predictions(X, Z, y, held, seed)
        errors[:, held] = [(y[held] - f).square().sum(1).numpy() for f in steps]
        settings.append(setting)
    units = np.arange(len(rows)) if units is None else units[rows]
    return _shares(errors, seed, tuple(settings), units)


def _predictions(
    X: Floats, Z: Tensor, y: Tensor, held: NDArray[np.intp], seed: int
) -> tuple[list[Tensor], str]:
    """Of the held-out rows by the mean and the three models, and the last one's settings."""
    train = np.setdiff1d(np.arange(len(X)), held)
    mean = y[train].mean(0)
    linear, left = _ridge(Z[train], y[train], Z[held])
    quadratic = [hermite_features(one, axes_of(one.shape[1], 2)).T for one in _scales(X, Z)]
    fits = [_ridge(F[train], left, F[held]) for F in quadratic]
    bent, left = min(fits, key=lambda fit: float(fit[1].square().sum()))
    near = float(np.sqrt(2.0 * X.shape[1]))  # about the median distance of standardised rows
    model = RFMRegressor(
        kernel="laplace", n_iter=3, bandwidth=near, directions=None, random_state=seed
    )
    model.fit(X[train], left.numpy())
    rest = torch.as_tensor(model.predict(X[held])).reshape(bent.shape)
    told = {k: v for k, v in model.settings_.items() if k in ("bandwidth", "alpha", "n_iter")}
    chosen = ", ".join(f"{k} = {v:.4g}" for k, v in told.items())
    return [mean.expand_as(linear), linear, linear + bent, linear + bent + rest], chosen


def _scales(X: Floats, Z: Tensor) -> list[Tensor]:
    """Inputs whose products are tried: whitened, and as they are.

    Their products span the same functions, and ridge holds other ones small: of correlated columns
    whitening makes the noise between them as large as what they share.
    """
    few = X.shape[1] <= MORE_COLUMNS * Z.shape[1]
    return [Z, torch.as_tensor(X)] if few else [Z]


def _ridge(F: Tensor, y: Tensor, held: Tensor) -> tuple[Tensor, Tensor]:
    """Predictions at `held`, and what the fit without each training row leaves of it."""
    path, means = ridge_path(F, y)
    least = SMALLEST * float(path.e.median()) if len(path.e) else 0.0
    lam = path.best([max(lam, least) for lam in path.grid()])
    predicted = path.offset + (held - means) @ path.coefficients(lam)
    return predicted, y - path.loo_predictions(lam)


def _shares(errors: Floats, seed: int, settings: tuple[str, ...], units: Units) -> Shares:
    """From squared errors (4, n) of the mean and the three models."""
    W = np.vstack([np.ones(errors.shape[1]), resamples(units, seed)[:, units]])
    U = number_of(units)
    sums = W @ errors.T
    left = sums / sums[:, :1]
    linear, quadratic, higher = (_interval(left[:, i] - left[:, i + 1], U) for i in range(3))
    parts = (
        Share("linear", linear, _counts(linear)),
        Share("quadratic", quadratic, _counts(quadratic)),
        Share("higher", higher, _counts(higher)),
    )
    return Shares(parts, _interval(1 - left[:, 3], U), errors.shape[1], FOLDS, settings)


def _counts(share: Interval) -> bool:
    return share.low > 0 and share.estimate >= LEAST


def _interval(draws: Floats, units: int) -> Interval:
    return interval(float(draws[0]), draws[1:], units)
