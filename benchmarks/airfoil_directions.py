"""How well learned features match true gradients: airfoil drag over training sizes.

    python benchmarks/airfoil_directions.py [--jobs 2] [--seeds 5] [--sizes 100 200 ...]

Data: drag coefficient of the PyPI package smt (42,039 rows x 16 inputs, with its gradient at every
row). Inputs are standardised by the training rows; the true AGOP is the average over all rows.
Kernel methods choose bandwidth (three, a factor of 2 apart), penalty (1e-4 or 1e-2) and the number
of rounds (0 to 6) by the error on a third of at most 600 training rows, then fit on all of them.
Of each method: test R2 on 4,000 other rows, cosine of the flattened learned and true AGOP, and the
largest principal angle between their leading r directions. Writes airfoil_directions.png.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from common import machine, r2
from matplotlib.axes import Axes
from torch import Tensor

from gradfeat.drawing import panels, style
from gradfeat.drawing.panels import save_figure
from gradfeat.lab.intervals import Limits, mean_limits
from gradfeat.maths.linear_algebra import flat_cosine, leading_directions, principal_angles
from gradfeat.maths.streams import numpy_stream
from gradfeat.models.gradient_step import GradientStep, Whitened
from gradfeat.models.head import RidgeHead
from gradfeat.models.rfm import RFM
from gradfeat.models.search.kernel_space import kernel
from gradfeat.rows.rows import in_memory

FIGURE = Path(__file__).with_suffix(".png")
SIZES = (100, 200, 400, 800, 1500)
RANKS = (1, 2, 3, 5)
ROUNDS = 6
#: Middle one of three bandwidths, in units of the standardised inputs.
KERNELS = {
    "laplace": 20.0,
    "laplace-1.4": 15.0,
    "laplace-l1": 60.0,
    "matern32": 10.0,
    "gaussian": 5.0,
}
#: Drawn, in this order; the table has all.
DRAWN = (
    "RFM laplace", "RFM laplace-l1", "RFM matern32", "RFM gaussian",
    "Algorithm 1, 5 AGOP steps", "ridge laplace, M = I", "linear slopes and mean Hessian",
)  # fmt: skip


@functools.cache
def table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, drag, gradients."""
    import smt

    folder = Path(smt.__file__).parent / "examples" / "airfoil_parameters"
    rows, slopes = (
        pd.read_csv(folder / name, sep=";", header=None).to_numpy()
        for name in ("cd_x_y.csv", "cd_dy.csv")
    )
    return rows[:, :-1], rows[:, -1:], slopes


def chosen(name: str, X: Tensor, y: Tensor) -> dict[str, tuple[float, float, int]]:
    """Bandwidth, penalty and rounds by held-out error: of any round, and of round 0."""
    n = min(len(X), 600)
    fit, held = slice(0, 2 * n // 3), slice(2 * n // 3, n)
    errors: dict[tuple[float, float, int], float] = {}
    for factor, alpha in itertools.product((0.5, 1.0, 2.0), (1e-4, 1e-2)):
        L = KERNELS[name] * factor
        path = RFM(kernel(name, L), alpha, n_iter=ROUNDS).fit_path(in_memory(X[fit], y[fit]))
        for round_, f in enumerate(path):
            errors[L, alpha, round_] = float((f(X[held]) - y[held]).square().mean())
    fixed = {setting: error for setting, error in errors.items() if setting[2] == 0}
    return {
        f"RFM {name}": min(errors, key=errors.__getitem__),
        f"ridge {name}, M = I": min(fixed, key=fixed.__getitem__),
    }


def slopes_and_hessian(X: Tensor, y: Tensor) -> Tensor:
    """b b^T + H^2: the AGOP of b.x + x^T H x / 2 by Stein's identities, as for Gaussian inputs.

    H is the matrix of principal Hessian directions (Li 1992, of the residuals).
    """
    b = torch.linalg.lstsq(X, y - y.mean()).solution
    residual = y - y.mean() - X @ b
    inverse = torch.linalg.inv(X.T @ X / len(X) + 1e-6 * torch.eye(X.shape[1]).to(X))
    H = inverse @ (X.T @ (residual * X) / len(X)) @ inverse
    return b @ b.T + H @ (X.T @ X / len(X)) @ H


def measures(G: Tensor, truth: Tensor) -> dict[str, float]:
    """Cosine of the matrices, and degrees between their leading subspaces (nan beyond the rank)."""
    V, U = (leading_directions(M)[1] for M in (G, truth))
    angles = {r: float(principal_angles(V[:, :r], U[:, :r])[-1].rad2deg()) for r in RANKS}
    rank = int(torch.linalg.matrix_rank(G, hermitian=True))
    angles = {r: angle if r <= rank else float("nan") for r, angle in angles.items()}
    return {"cosine": flat_cosine(G, truth), **{f"angle {r}": a for r, a in angles.items()}}


def cell(n: int, seed: int) -> list[dict[str, float | str]]:
    """All methods on one draw of n training rows."""
    torch.set_num_threads(1)
    inputs, drag, slopes = table()
    order = numpy_stream(seed, "airfoil split").permutation(len(inputs))
    train, test = order[:n], order[n : n + 4000]
    spread, level = inputs[train].std(0), inputs[train].mean(0)
    X = torch.as_tensor((inputs - level) / spread)
    y = torch.as_tensor((drag - drag[train].mean()) / drag[train].std())
    J = torch.as_tensor(slopes * spread)
    truth, found = J.T @ J, []

    def add(name: str, G: Tensor, score: float, start: float) -> None:
        spent = time.perf_counter() - start
        found.append({"method": name, "n": n, "seed": seed, "R2": score, "s": spent,
                      **measures(G, truth)})  # fmt: skip

    for name in KERNELS:
        start = time.perf_counter()
        for label, (L, alpha, rounds) in chosen(name, X[train], y[train]).items():
            f = RFM(kernel(name, L), alpha, n_iter=rounds).fit(in_memory(X[train], y[train]))
            add(label, f.agop(X[train]), r2(y[test], f(X[test])), start)
    start = time.perf_counter()
    net = Whitened(GradientStep(n_steps=6, linear="ridge", head=RidgeHead()))
    f = net.fit(in_memory(X[train], y[train]), seed=seed)
    add("Algorithm 1, 5 AGOP steps", f.agop(X[train]), r2(y[test], f(X[test])), start)
    start = time.perf_counter()
    b = torch.linalg.lstsq(X[train], y[train]).solution
    add("linear slopes", b @ b.T, r2(y[test], X[test] @ b), start)
    G = slopes_and_hessian(X[train], y[train])
    add("linear slopes and mean Hessian", G, float("nan"), start)
    return found


def print_table(rows: pd.DataFrame) -> None:
    """Mean over seeds (of the cosine: half of its 90 % interval too), a line a method and size."""
    print("| method | n | R2 | cosine | " + " | ".join(f"angle {r}" for r in RANKS) + " | s |")
    print("|---|---|---|---|" + "---|" * (len(RANKS) + 1))
    for method, n in itertools.product(rows["method"].unique(), np.unique(rows["n"])):
        group = rows[(rows["method"] == method) & (rows["n"] == n)]
        cosine = mean_limits(np.asarray(group["cosine"]))
        angles = " | ".join(f"{group[f'angle {r}'].mean():.1f}" for r in RANKS)
        print(
            f"| {method} | {n} | {group['R2'].mean():.3f} | {cosine.estimate:.3f} ± "
            f"{cosine.high - cosine.estimate:.3f} | {angles} | {group['s'].mean():.1f} |"
        )


def draw(rows: pd.DataFrame) -> None:
    """Cosine, and angles of r = 1 to 3, against training rows."""
    titles = {"cosine": ("Whole AGOP", "1 - cosine")}
    titles |= {f"angle {r}": (f"Leading directions, r = {r}", "largest angle (degrees)")
               for r in RANKS[:3]}  # fmt: skip
    figure, axes = panels.panels(4, columns=2, size=(4.4, 3.1))
    marks, sizes = style.class_marks(DRAWN), np.unique(rows["n"])
    for ax, (name, (title, label)) in zip(axes, titles.items(), strict=True):
        for mark, method in zip(marks, DRAWN, strict=True):
            own = rows[rows["method"] == method]
            by_size = [np.asarray(own.loc[own["n"] == n, name]) for n in sizes]
            limits = [mean_limits(1 - v if name == "cosine" else v) for v in by_size]
            curve(ax, sizes, limits, mark, method)
        ax.set(xscale="log", yscale="log", xlabel="training rows", ylabel=label, title=title)
        ax.set_xticks(sizes, [f"{n:,}" for n in sizes])
        ax.minorticks_off()
        low = 0.01 if name == "cosine" else 5.0
        ticks = [low, 2 * low, 5 * low, 10 * low, *([20 * low, 50 * low] if low < 1 else [90.0])]
        ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
        ax.set_ylim(0.8 * low, 1.15 * ticks[-1])
        ax.grid(color=style.FAINT, linewidth=0.6)
    panels.shared_key(figure, axes)
    panels.caption(
        figure,
        "Airfoil drag, 16 inputs: learned against true gradients. Mean over "
        f"{rows['seed'].nunique()} draws of the training rows, shaded: its 90 % interval.",
    )
    save_figure(figure, FIGURE)


def curve(ax: Axes, sizes: np.ndarray, limits: list[Limits], mark: style.Mark, label: str) -> None:
    """Means joined by a line, their intervals as a band."""
    low, high = ([getattr(one, side) for one in limits] for side in ("low", "high"))
    ax.fill_between(sizes, np.maximum(low, 1e-4), high, color=mark.color, alpha=0.1, linewidth=0)
    ax.plot(sizes, [one.estimate for one in limits], color=mark.color, marker=mark.marker,
            markersize=5, markeredgecolor="white", markeredgewidth=0.4, linewidth=1.2,
            label=label)  # fmt: skip


def main() -> None:
    """Run, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(machine(), flush=True)
    start = time.perf_counter()
    cells = sorted(itertools.product(given.sizes, range(given.seeds)), reverse=True)
    with ProcessPoolExecutor(given.jobs) as pool:
        parts = list(pool.map(cell, *zip(*cells, strict=True)))
    rows = pd.DataFrame([row for part in parts for row in part])
    print_table(rows)
    print(f"{len(cells)} cells in {time.perf_counter() - start:.0f} s")
    draw(rows)


if __name__ == "__main__":
    main()
