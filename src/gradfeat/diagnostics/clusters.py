"""Do neurons gather around one line? Measures that need no ground truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from torch import Tensor

from gradfeat.diagnostics.alignment import unit_rows
from gradfeat.maths.linear_algebra import leading_directions

#: One line to rounding: a split into two clusters would split rounding errors.
ONE_LINE = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class TwoGroups:
    """Neurons split by the side of their leading line."""

    concentration: float  #: :func:`antipodal_concentration`.
    null: float  #: :func:`isotropic_concentration` at the same numbers of neurons and inputs.
    sides: Tensor  #: (m,), +1 or -1, 0 for a zero neuron; which side is +1 means nothing.
    #: |mean of the unit vectors| on the sides +1 and -1; nan for a side without neurons.
    resultants: tuple[float, float]
    #: Mean silhouette of 2-means on the sphere started from the two ends of the line, in [-1, 1];
    #: nan where the neurons are all one direction.
    silhouette: float


def antipodal_concentration(W: Float[Tensor, "m d"]) -> float:
    """lambda_max of (1/m) sum_i u_i u_i^T, u_i = w_i/|w_i|: 1 if all neurons lie on one line.

    The largest mean of cos^2 with any one direction. It is the same for one cluster and for two
    opposite ones; isotropic neurons have :func:`isotropic_concentration`, at least 1/d. Zero
    neurons have no direction and are left out.

    `W`: neurons, one a row, at least one of them not zero.
    The concentration lies in [1/min(m, d), 1].
    Raises ValueError when there is no neuron with a direction, or a weight is not finite.
    Source: largest eigenvalue of the scatter matrix of axial data (Mardia & Jupp 2000, ch. 10).

    >>> antipodal_concentration(torch.tensor([[1.0, 0.0], [-3.0, 0.0], [2.0, 0.0]]).double())
    1.0
    >>> antipodal_concentration(torch.eye(4).double())
    0.25
    """
    U = directed_rows(W)
    short = U if len(U) <= U.shape[1] else U.T
    return min(1.0, float(torch.linalg.eigvalsh(short @ short.T)[-1]) / len(U))


def isotropic_concentration(m: int, d: int) -> float:
    """(1 + sqrt(m/d))^2/m, at most 1: the concentration of m isotropic directions in R^d.

    The upper edge of the Marchenko-Pastur law with covariance I/d. Neurons in pairs (w, w), as
    in an antisymmetric start, count once: give m/2.

    `m`, `d`: numbers of neurons and of inputs, at least 1.
    Regime: m and d large; the largest eigenvalue fluctuates about it by a factor
    1 + O(min(m, d)^{-2/3}).
    Raises ValueError when m or d is below 1.
    Source: Marchenko & Pastur 1967; Johnstone 2001 for the fluctuation.

    >>> isotropic_concentration(m=400, d=100)
    0.0225
    """
    if m < 1 or d < 1:
        raise ValueError(f"There are {m} neurons and {d} inputs: give at least 1 of each.")
    return min(1.0, (1 + math.sqrt(m / d)) ** 2 / m)


def two_groups(W: Float[Tensor, "m d"]) -> TwoGroups:
    """Split neurons by the sign of <w_i, v>, v the leading direction, and measure both sides.

    Raises ValueError as :func:`antipodal_concentration`.

    >>> groups = two_groups(torch.tensor([[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]]))
    >>> groups.sides.tolist(), round(groups.concentration, 3), round(groups.silhouette, 2)
    ([1, 1, -1, -1], 0.99, 0.9)
    """
    U = directed_rows(W)
    v = leading_directions(U.T @ U)[1][:, 0]
    plus = U @ v >= 0
    concentration = antipodal_concentration(W)
    sides = torch.zeros(len(W), dtype=torch.int64)
    sides[(W != 0).any(1).cpu()] = torch.where(plus, 1, -1).cpu()
    return TwoGroups(
        concentration,
        isotropic_concentration(*U.shape),
        sides,
        (resultant(U[plus]), resultant(U[~plus])),
        math.nan
        if concentration >= ONE_LINE and bool(plus.all() | ~plus.any())
        else spherical_silhouette(U, v),
    )


def spherical_silhouette(U: Float[Tensor, "m d"], v: Float[Tensor, " d"]) -> float:
    """Silhouette of 2-means of unit vectors, started at v and -v; nan below 3 neurons."""
    if len(U) < 3:
        return math.nan
    rows, ends = U.cpu().numpy(), torch.stack([v, -v]).cpu().numpy()
    means = KMeans(2, init=ends, n_init=1)  # pyright: ignore[reportArgumentType]
    return float(silhouette_score(rows, means.fit_predict(rows)))


def resultant(U: Float[Tensor, "m d"]) -> float:
    """|mean of unit vectors|: 1 if all are equal, nan if there are none."""
    return min(1.0, float(U.mean(0).norm())) if len(U) else math.nan


def directed_rows(W: Float[Tensor, "m d"]) -> Float[Tensor, "kept d"]:
    """Unit rows in double precision without zero rows; ValueError if none is left."""
    if W.ndim != 2 or not bool(torch.isfinite(W).all()):
        raise ValueError(
            f"W has shape {tuple(W.shape)} or values that are not finite: give finite (m, d)."
        )
    kept = W[(W != 0).any(1)].double()
    if not len(kept):
        raise ValueError("All neurons are zero or there are none: give one with a direction.")
    return unit_rows(kept)
