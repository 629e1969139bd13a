"""Experiments on adaptivity: claims on made-up tables, settings that cannot be, their theories."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import torch

from gradfeat.catalogue.adapt_smooth import centred_ridge
from gradfeat.catalogue.kernel_iterations import descended
from gradfeat.catalogue.shared.kernel_training import tuned_ridge
from gradfeat.lab import judge, run
from gradfeat.lab.loading import experiment
from gradfeat.maths.streams import stream
from gradfeat.models.kernels.radial import Matern
from gradfeat.tasks.one_dimensional import OneDimensional
from gradfeat.tasks.targets import TruncatedPower

SEEDS = 4
SMALL = {
    "adapt-support": {"method": "kernel", "support": "near", "d": 4, "n": 40, "n_test": 50},
    "adapt-smooth": {"method": "kernel", "s": 1, "n": 40, "n_test": 50},
    "adapt-latent": {"method": "rfm", "target": "sines", "r": 1, "d": 4, "n": 40, "n_test": 50},
}


def made_up(name: str, loss) -> pd.DataFrame:
    """The quick grid with ``loss(cell)`` in it, a thousandth apart from seed to seed."""
    cells = experiment(name).cells("quick")
    rows = [
        {**cell, "seed": seed, "loss": loss(cell) * (1 + 1e-3 * seed)}
        for cell, seed in itertools.product(cells, range(SEEDS))
    ]
    return pd.DataFrame(rows)


def outcomes(name: str, loss) -> list[str]:
    return [v.outcome for _, v in judge(experiment(name), made_up(name, loss))]


def predicted(name: str, cell, otherwise: float) -> float:
    """What theory says of the cell, and a number where it is silent."""
    theory = experiment(name).theory_table([cell])
    assert theory is not None
    value = float(theory["loss"].iloc[0])
    return value if np.isfinite(value) else otherwise


def support_as_hoped(cell) -> float:
    if cell["support"] == "full":
        return predicted("adapt-support", cell, 0.9)
    return 5.0 / cell["n"]


def smooth_as_hoped(cell) -> float:
    t = cell["s"] + 0.5
    return predicted("adapt-smooth", cell, cell["n"] ** (-2 * t / (2 * t + 1)))


def latent_as_hoped(cell) -> float:
    return predicted("adapt-latent", cell, 0.02)


@pytest.mark.parametrize(
    ("name", "hoped"),
    [
        ("adapt-support", support_as_hoped),
        ("adapt-smooth", smooth_as_hoped),
        ("adapt-latent", latent_as_hoped),
    ],
)
def test_claims_hold_where_theory_is_met_and_all_fail_on_the_reverse(name, hoped):
    assert set(outcomes(name, hoped)) == {"holds"}
    assert set(outcomes(name, REVERSED[name])) == {"fails"}


REVERSED = {
    # Grows with d and with n on low dimension, the other way round on full dimension.
    "adapt-support": lambda cell: (
        cell["n"] ** -0.5 / cell["d"]
        if cell["support"] == "full"
        else 0.1 * cell["d"] * cell["n"] ** -0.1
    ),
    "adapt-smooth": lambda cell: cell["n"] ** (-1.5 + 0.3 * (cell["s"] + 1)),
    "adapt-latent": lambda cell: (
        1 / cell["d"] if cell["method"] == "kernel" else 0.01 * cell["d"] + 0.2
    ),
}


@pytest.mark.parametrize(
    ("name", "setting", "value", "said"),
    [
        ("adapt-support", "method", "nope", "method is 'nope': give one of 'kernel', 'network'."),
        ("adapt-support", "support", "sphere", "support is 'sphere': give one of"),
        ("adapt-support", "n", 1, "n is 1: give 2 or more."),
        ("adapt-support", "m", 7, "m is 7: neurons start in pairs"),
        ("adapt-support", "ambient", -1, "ambient is -1.0: give 0 or more."),
        ("adapt-support", "frequency", 0, "frequency is 0.0: give a finite number above 0."),
        ("adapt-smooth", "method", "nope", "method is 'nope': give one of 'kernel', 'network'."),
        ("adapt-smooth", "s", -1, "s is -1: give a finite number of 0 or more."),
        ("adapt-smooth", "n", 1, "n is 1: give 2 or more."),
        ("adapt-latent", "method", "nope", "give one of 'kernel', 'network', 'rfm'."),
        ("adapt-latent", "r", 0, "r is 0: give 1 or more."),
        ("adapt-latent", "n_test", 0, "n_test is 0: give 1 or more."),
        ("adapt-latent", "updates", 0, "updates is 0: give 1 or more."),
        ("adapt-latent", "penalty", 0, "penalty is 0.0: give a finite number above 0."),
    ],
)
def test_a_setting_that_cannot_be_fails_with_its_name(name, setting, value, said):
    table = run(experiment(name), seeds=1, **{**SMALL[name], setting: value})
    assert table.empty
    (failure,) = table.attrs["failures"]
    assert said in failure["error"].splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "setting", "values"),
    [
        ("adapt-support", "support", ["subspace", "manifold", "near", "full"]),
        ("adapt-support", "ambient", [0.05, 0.5]),
        ("adapt-support", "frequency", [1.0, 2.0]),
        ("adapt-support", "noise", [0.1, 0.5]),
        ("adapt-smooth", "s", [0, 1, 2, 3]),
        ("adapt-smooth", "noise", [0.1, 0.5]),
        ("adapt-latent", "method", ["kernel", "network", "rfm"]),
        ("adapt-latent", "updates", [1, 2]),
        ("adapt-latent", "penalty", [0.1, 1.0]),
        ("adapt-latent", "r", [1, 2]),
        ("adapt-latent", "target", ["sines", "cubic"]),
    ],
)
def test_every_setting_changes_the_loss(name, setting, values):
    table = run(experiment(name), seeds=1, **{**SMALL[name], setting: values})
    assert len(set(table["loss"])) == len(values)


def test_neurons_and_steps_change_the_loss_of_the_network():
    for name, setting, values in (
        ("adapt-support", "m", [8, 16]),
        ("adapt-smooth", "m", [8, 16]),
        ("adapt-latent", "steps", [1, 2]),
    ):
        settings = {**SMALL[name], "method": "network", setting: values}
        assert len(set(run(experiment(name), seeds=1, **settings)["loss"])) == 2


def test_on_a_plane_the_kernel_loses_the_same_in_any_number_of_inputs():
    """Distances do not change, nor do the draws of the two coordinates, but the frame does."""
    settings = {**SMALL["adapt-support"], "support": "subspace", "d": [4, 20], "n_test": 2_000}
    table = run(experiment("adapt-support"), seeds=6, **settings)
    few, many = (np.log(table.loc[table["d"] == d, "loss"].to_numpy()) for d in (4, 20))
    error = np.hypot(few.std(ddof=1), many.std(ddof=1)) / np.sqrt(6)
    assert abs(few.mean() - many.mean()) < 4 * error


def test_the_spanned_kernel_machine_is_the_kernel_machine():
    """The span of centres against ridge on all rows, each at a penalty that it chose itself."""
    task = OneDimensional(TruncatedPower(1), noise=0.3)
    train = task.sample(300, stream(0, "train"))
    X = torch.linspace(-1, 1, 101, dtype=torch.float64)[:, None]
    spanned = centred_ridge(Matern(1.0, 2.5), train.X, train.y)(X)
    whole = tuned_ridge([Matern(1.0, 2.5)], train.X, train.y, 0)(X)
    # Grids of penalties differ by less than the factor 4 between two of their values, which moves
    # the fit by less than its own error, here about ten functions of 300 rows: 0.09 * 10/300.
    assert float((spanned - whole).square().mean()) < 0.003
    assert float((whole - task.target(X)).square().mean()) < 0.03


def test_more_iterations_do_not_help_a_kernel_on_a_jump_and_its_claims_can_fail():
    cells = experiment("kernel-iterations").cells("quick")
    theory = experiment("kernel-iterations").theory_table(cells)
    assert theory is not None
    rows = [
        {**cell, "seed": seed, "loss": loss * (1 + 1e-3 * seed)}
        | dict.fromkeys(("network", "without_step"), 0.01)
        for (cell, loss), seed in itertools.product(
            zip(cells, theory["loss"], strict=True), range(SEEDS)
        )
    ]
    table = pd.DataFrame(rows)
    judged = judge(experiment("kernel-iterations"), table)
    assert [v.outcome for _, v in judged] == ["holds"] * 5
    worse = table.assign(
        loss=table["iterations"] ** np.where(table["target"] == "step", -0.5, -0.1),
        network=0.5,
        without_step=0.5,
    )
    assert [v.outcome for _, v in judge(experiment("kernel-iterations"), worse)] == ["fails"] * 5
    fewer = table.assign(loss=table["loss"] * 1.12)  # what t^.9 iterations in place of t leave
    assert judge(experiment("kernel-iterations"), fewer)[2][1].outcome == "fails"


def test_iterations_on_eigenvectors_are_those_of_gradient_descent():
    X = torch.linspace(-1, 1, 12, dtype=torch.float64)[:, None]
    K, y = Matern(1.0, 2.5)(X, X), X.sign()
    c, rate = torch.zeros_like(y), 1 / torch.linalg.eigvalsh(K)[-1]
    for _ in range(50):
        c = c - rate * (K @ c - y)
    torch.testing.assert_close(descended(K, y, 50), c, rtol=1e-8, atol=1e-8)
