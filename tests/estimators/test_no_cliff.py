"""At every number of rows where a fit changes its ways, a row more makes it no worse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gradfeat import RFMRegressor
from gradfeat.estimators.rfm import NARROW_BEYOND
from gradfeat.models.fewer_centres import FEW
from gradfeat.models.local_machines import FEWEST, ONE_MACHINE, SOLVED_WHOLE
from gradfeat.models.search.rfm_space import (
    FIRST_METRIC_ROWS,
    HEAD_ROWS,
    METRIC_ROWS,
    MORE_ROWS,
)
from gradfeat.models.search.rounds import HELD_ROWS, HELD_SHARE, PATH_ROWS, PATH_SHARE
from gradfeat.models.search.search import FAST
from gradfeat.models.search.stacking import LEAST_MEMBERS, MOST, POINTS
from gradfeat.models.search.with_trees import FEWEST_KEPT_OUT, MOST_KEPT_OUT
from gradfeat.models.trees import FEW_ROWS

Array = NDArray[np.float64]
SEEDS = range(3)
#: Rows at which the default fit changes: what is held out, how M is taught, how many last
#: fits there are, how they are solved and what predictions are made from.
LIMITS = sorted(
    {
        HEAD_ROWS[1],
        FEW,
        FAST.rows,
        NARROW_BEYOND,
        HELD_ROWS + PATH_ROWS[1][0],
        HELD_ROWS + MORE_ROWS * PATH_ROWS[1][0],
        *(int(n / PATH_SHARE) for n in PATH_ROWS[1]),
        FEW_ROWS,
        2 * FIRST_METRIC_ROWS,
        int(HELD_ROWS / HELD_SHARE),
        SOLVED_WHOLE,
        ONE_MACHINE,
        ONE_MACHINE + FEWEST,
        ONE_MACHINE + FEWEST_KEPT_OUT,
        ONE_MACHINE + MOST_KEPT_OUT,
        2 * METRIC_ROWS[False],
        *(POINTS // k for k in range(LEAST_MEMBERS, MOST + 1)),
    }
)


def drawn(n: int, seed: int) -> tuple[Array, Array]:
    X = np.random.default_rng([seed, 0]).standard_normal((n, 6))
    noise = np.random.default_rng([seed, 1]).standard_normal(n)
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + np.abs(X[:, 2]) + 0.3 * noise


def unexplained(n: int, seed: int, directions: int | str | None) -> float:
    """1 - R2 on 4,000 other rows."""
    model = RFMRegressor(directions=directions, random_state=seed).fit(*drawn(n, seed))
    return 1 - float(model.score(*drawn(4000, 100)))


def check(n: int, directions: int | str | None) -> None:
    """Means of three draws at a limit, a row less and a row more.

    They differ by less than three standard errors of a difference of means, or by 2 %: a row among
    hundreds is worth a tenth of that.
    """
    found = np.array([[unexplained(m, s, directions) for s in SEEDS] for m in (n - 1, n, n + 1)])
    means, error = found.mean(1), found.std(1, ddof=1).max() * (2 / len(SEEDS)) ** 0.5
    assert means.max() - means.min() <= max(3 * error, 0.02 * means.mean()), found


@pytest.mark.slow
@pytest.mark.parametrize("n", LIMITS)
def test_no_cliff_of_the_default_fit(n: int):
    check(n, "auto")


@pytest.mark.slow
def test_no_cliff_of_the_last_round_itself():
    check(ONE_MACHINE, None)
