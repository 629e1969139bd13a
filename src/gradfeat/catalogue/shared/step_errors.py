"""Errors at many step sizes n^alpha, of the network and of columns, beside what theory says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from gradfeat.catalogue.shared.step_training import (
    METRICS,
    Numbers,
    StepSeed,
    StepSetup,
    columns_at,
)
from gradfeat.lab import lazy
from gradfeat.maths.ranges import at_most

#: Steps beyond n^{1/2}, that of Ba22, are left aside.
MOST_ALPHA: Final = 0.5

UNKNOWN: Final[Numbers] = dict.fromkeys((*METRICS,), math.nan)


def batch(
    alpha: list[float],
    setting: int = 2,
    n: int = 2_400,
    residual: str = "y",
    sample: str = "fresh",
    phi: float = 0.5,
    psi: float = 2 / 3,
    lam: float = 0.01,
    rows: str = "sphere",
    *,
    seeds: Sequence[int],
    device: str = "cpu",
) -> list[Any]:
    """Errors of ridge on sigma(X (W0 + n^alpha G)^T), d = phi n, N = d/psi: by seed, then by alpha.

    loss is (1/n)|y - F a|^2 + lam |a|^2, training the same without the ridge term, test the mean
    squared error on n new rows. `*_gain` is how much lower one is than that of random features of
    the same seed (eta = 0), times E y^2/mean y^2 of the head's rows, whose tails are heavy.
    column_*_gain is that of ridge on F_0 and the unpenalised (X beta)^k, entry by entry, k <= l,
    where a step n^alpha adds l powers in the limit; nan where there is none, on edges and above 4.
    *_share is the network's gain over it, with less noise than either.

    rows are those of W0, on the unit sphere or N(0, I/d). own_to_shared is |G|^2 beside beta over
    |G beta|^2/|beta|^2, which is kappa.
    With the residual y all is the mean over the start a and its mirror image -a.
    """
    at_most(MOST_ALPHA, alpha=max(alpha))
    setup = StepSetup(setting, n, residual, sample, phi, psi, lam, rows)
    return [_of_seed(setup.seed(seed, device), n, alpha) for seed in seeds]


def _of_seed(seed: StepSeed, n: int, alpha: list[float]) -> list[Numbers]:
    columns = [columns_at(one) for one in alpha]
    beside = seed.columns(max(columns))
    after = seed.networks([n**one for one in alpha])
    shared = {"own_to_shared": seed.own_to_shared()}
    return [
        shared | own | _gains(own, beside[0], beside[degree] if degree else UNKNOWN, seed.scale)
        for own, degree in zip(after, columns, strict=True)
    ]


def _gains(own: Numbers, plain: Numbers, beside: Numbers, scale: float) -> Numbers:
    gain = {name: scale * (plain[name] - own[name]) for name in METRICS}
    column = {name: scale * (plain[name] - beside[name]) for name in METRICS}
    return _with_shares(gain, column)


def _with_shares(gain: Numbers, column: Numbers) -> Numbers:
    return {
        **{f"{name}_gain": gain[name] for name in METRICS},
        **{f"column_{name}_gain": column[name] for name in METRICS},
        **{f"{name}_share": gain[name] / column[name] for name in METRICS},
    }


def theory(
    alpha: float, setting: int, n: int, residual: str, sample: str, phi: float, psi: float,
    lam: float, rows: str = "sphere",
) -> Numbers:  # fmt: skip
    """The prediction at this n and step size, and the limit of the columns, where it is known."""
    setup = StepSetup(setting, n, residual, sample, phi, psi, lam, rows)
    gain = setup.finite_gain(alpha)
    degree = columns_at(alpha)
    column = setup.column_gain(degree) if degree and sample == "fresh" else UNKNOWN
    plain = setup.plain()
    after = {name: plain[name] - gain[name] for name in METRICS}
    return {"own_to_shared": setup.own_to_shared()} | after | _with_shares(gain, column)


def limit(alpha: float, **cell: Any) -> Numbers:
    """Gains of the network in the limit, and their shares of the columns'."""
    setup = StepSetup(**cell)
    return _with_shares(
        setup.limit_gain(float(lazy.limit_degree(alpha))), setup.column_gain(columns_at(alpha))
    )
