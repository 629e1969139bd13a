"""Lower bounds for fixed features as numbers, beside measured losses of fixed features."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradfeat.catalogue.shared.curves import marks_of, only
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, above, below, each, lazy
from gradfeat.maths.ranges import at_least, one_of, paired, positive

if TYPE_CHECKING:
    from gradfeat.models.predictors import TwoLayer
    from gradfeat.tasks.sparse_coding import SparseCoding

METHODS = {"linear": "inputs", "random features": "random features", "ntk": "NTK features"}


def trial(
    method: str,
    C: float,
    k: int = 5,
    p_o: float = 0.5,
    m: int = 100,
    n: int = 2_000,
    n_test: int = 20_000,
    *,
    seed: int,
) -> dict[str, float]:
    """Hinge loss of N fixed features in [-1, 1] with weights |w| = B, beside the bound at (N, B).

    D = d = 16 k, the edge of the theorem's regime. The weights minimise
    |w|^2/2 + C sum_i hinge; the bound holds for any weights, converged or not. "explicit" is the
    written-down network of Lemma 4, whose features depend on the task: no bound holds for it.

    `excess` is the loss less the bound, or less 0 where the bound is negative.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    _check(method, C, k, m)
    at_least(1, n=n, n_test=n_test)
    D = 16 * k
    task = lazy.SparseCoding.hard(D, D, k, p_o, seed=seed)
    test = task.sample(n_test, lazy.stream(seed, "test"))
    y = test.y[:, 0].numpy()
    if method == "explicit":
        net = lazy.explicit_network(lazy.PatternLaw.hard_instance(D, k, p_o))
        f = net((test.X @ task.dictionary).numpy())
        return {
            "loss": _hinge(f, y),
            "N": math.nan,
            "B": math.nan,
            "bound": 0.0,
            "excess": math.nan,
        }
    train = task.sample(n, lazy.stream(seed, "train"))
    if len(train.y.unique()) == 1:
        raise ValueError(f"n is {n} with one label among the rows: give more rows.")
    F, F_test = _features(method, task, m, seed, train.X.numpy(), test.X.numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = LinearSVC(loss="hinge", C=C, fit_intercept=False, max_iter=2_000, random_state=0)
        w = fit.fit(F, train.y[:, 0].numpy()).coef_[0]
    N, B = F.shape[1], float(np.linalg.norm(w))
    loss, bound = _hinge(F_test @ w, y), float(lazy.fixed_feature_bound(D, k, p_o, N, B))
    return {"loss": loss, "N": float(N), "B": B, "bound": bound, "excess": loss - max(bound, 0.0)}


def _check(method: str, C: float, k: int, m: int) -> None:
    one_of(("explicit", *METHODS), method=method)
    if k < 5 or k % 2 == 0:
        raise ValueError(f"k is {k}: the bound is proved for odd k of 5 or more, give one of them.")
    positive(C=C)
    paired(m)


def _hinge(f: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.maximum(0, 1 - y * f).mean())


def _features(
    method: str,
    task: SparseCoding,
    m: int,
    seed: int,
    X: NDArray[np.float64],
    Z: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A constant and the method's features at X and Z, divided by one number to lie in [-1, 1]."""
    from gradfeat.catalogue.shared.descent_training import start_of

    start = start_of(task.k, task.D, task.p_o)
    net = start.draw(m, task.d, 1, seed).network(0, lazy.TruncatedReLU())
    found = [_raw(method, net, rows) for rows in (X, Z)]
    largest = max(np.abs(F).max() for F in found)
    one = [np.c_[np.ones(len(F)), F / largest] for F in found]
    return one[0], one[1]


def _raw(method: str, net: TwoLayer, X: NDArray[np.float64]) -> NDArray[np.float64]:
    W, b, a = net.W.numpy(), net.b.numpy(), net.a[:, 0].numpy()
    own = slice(0, len(W) // 2)  # the second half repeats W and b
    Z = X @ W[own].T + b[own]
    F = np.clip(Z, 0, 1)
    match method:
        case "linear":
            return X
        case "random features":
            return F
        case _:
            S = np.where((Z > 0) & (Z < 1), a[own], 0.0)
            return np.hstack([F, S, (S[:, :, None] * X[:, None]).reshape(len(X), -1)])


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:  # noqa: ARG001
    """A panel for each k: measured losses against B, and the bound at the same N."""
    values = sorted(table["k"].unique())
    _, axes = panels(len(values), len(values), (4.2, 3.4))
    for ax, k in zip(axes, values, strict=True):
        rows = only(table, k=k)
        style.dress(
            ax, f"k = {k}, D = {16 * k}", "norm B of the weights", "test hinge loss", "both"
        )
        for method, mark in marks_of(METHODS).items():
            _method(ax, only(rows, method=method), mark)
        if ax.lines:
            ax.plot([], [], color=style.QUIET, label="Theorem 2's bound, colour of its points")
            ax.set_xscale("log")
        explicit = only(rows, method="explicit")["loss"]
        if len(explicit):
            loss = float(np.mean(explicit))
            series.level(ax, loss, f"explicit network: {loss:.3g}", below=True)
        ax.set_ylim(-0.12, 1.15)
    return finished(
        axes,
        "Points: losses with N features in [-1, 1], one a seed. Lines: the bound"
        r" $p_o(1-\sqrt{2N}B/2^k)$, or 0.",
    )


def _method(ax: Axes, rows: DataFrame, mark: style.Mark) -> None:
    if rows.empty:
        return
    ax.plot(
        rows["B"], rows["loss"], linestyle="", marker=mark.marker, color=mark.color,
        markersize=5, markeredgecolor="white", markeredgewidth=0.4, label=mark.label
    )  # fmt: skip
    N, k, p_o = rows["N"].iloc[0], int(rows["k"].iloc[0]), float(rows["p_o"].iloc[0])
    B = np.geomspace(rows["B"].min() / 3, rows["B"].max() * 1.5, 200)
    bound = np.maximum(lazy.fixed_feature_bound(16 * k, k, p_o, N, B), 0)
    series.line(ax, B, bound, "", mark.color)


ABOUT = """Theorem 2: for every N features in [-1, 1] that are chosen before the task there is a
task with structure on which every linear function of them with weights of norm at most B has a
hinge loss of at least p_o (1 - (2N)^(1/2) B/2^k). The talk prints (2 N B)^(1/2); the paper's
proof, and the dimension of the bound (twice the weights are twice B), give (2N)^(1/2) B. Here the
features are the inputs, random features and the gradient features of the network at its start
(NTK), with weights fitted by the hinge loss at several penalties, k odd and D = 16 k, the edge of
the theorem's regime.

Each point is a loss on fresh rows against the norm of its weights, each line the bound at that
number of features. The theorem is about the worst task of the family, the figure about one: every
task is the same up to a rotation for features that do not know it. The explicit network is that
of Lemma 4: 3(k+1) neurons along sum_A M_j, with no loss; its features depend on the task, and no
bound holds for them. Theorem 3, on inputs without structure, is shi22-queries."""

FIXED = {"method": list(METHODS)}

EXPERIMENT = Experiment(
    name="shi22-bounds",
    question="How much must fixed features lose, and how much do they lose?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": [
            {"method": list(METHODS), "C": [1e-4, 1e-3, 1e-2, 1e-1], "k": [5, 9], "m": 40},
            {"method": "explicit", "C": 1e-1, "k": [5, 9], "m": 40},
        ],
        "paper": [
            {"method": list(METHODS), "C": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0], "k": [5, 7, 9]},
            {"method": "explicit", "C": 1.0, "k": [5, 7, 9]},
        ],
    },
    small={"k": 5, "C": 0.01, "m": 10, "n": 200, "n_test": 300},
    seeds={"quick": 3, "paper": 10},
    figure=figure,
    checks={
        "Every fixed-feature learner's hinge loss is at least p_o (1 - (2N)^(1/2) B/2^k)."
        " [Shi22, Theorem 2 (the talk prints (2 N B)^(1/2))]": each(
            "k", each("method C", above("excess", 0.0), FIXED)
        ),
        "The explicit network of 3(k+1) neurons along the truth has no loss."
        " [Shi22, Lemma 4]": each("k", below("loss", 0.0, {"method": "explicit"})),
    },
)
