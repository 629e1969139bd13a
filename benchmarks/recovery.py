"""What each method reaches on data with known answers, and on two real tables.

    python benchmarks/recovery.py [bikeshare] [airfoil] [single-index]

bikeshare: test R2 with 1,500 training rows of examples/data/bikeshare.csv, three splits.
airfoil:   drag data of the PyPI package smt (42,039 x 16, true gradients), 1,500 training rows,
           penalty 1e-3: test R2 and flattened cosine of learned and true AGOP by round.
single-index: y = He_2(u.x)/2 + He_4(u.x)/sqrt 48, d = 20, n = 5,000: test loss and |cos|.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from common import machine, r2

from gradfeat.maths.linear_algebra import flat_cosine, leading_directions
from gradfeat.maths.streams import numpy_stream, stream
from gradfeat.models.gradient_step import GradientStep, Whitened
from gradfeat.models.head import RidgeHead
from gradfeat.models.kernel_ridge import KernelRidge
from gradfeat.models.kernels.radial import Gaussian, Laplace, Matern
from gradfeat.models.random_features import RandomFeatures
from gradfeat.models.rfm import RFM
from gradfeat.rows.rows import in_memory
from gradfeat.table.encode import TableEncoder
from gradfeat.tasks.single_index import SingleIndex, he2_he4

BIKESHARE = Path(__file__).parents[1] / "examples" / "data" / "bikeshare.csv"


def standardised(X: np.ndarray, train: np.ndarray) -> torch.Tensor:
    """Columns with the training rows' mean and spread taken out."""
    return torch.as_tensor((X - X[train].mean(0)) / X[train].std(0))


def bikeshare() -> None:
    """One step, more steps, gradient steps, random features, kernel ridge, RFM."""
    frame = pd.read_csv(BIKESHARE)
    y = torch.tensor(frame.pop("log_bikers").to_numpy())[:, None]
    net = GradientStep(n_steps=8, linear="ridge", head=RidgeHead())
    plain = GradientStep(n_steps=8, linear="ridge", head=RidgeHead(), update="gradient")
    paths = {
        "random features": RandomFeatures(),
        "Algorithm 1, raw inputs": GradientStep(),
        "whitened, AGOP steps 1..8": Whitened(net),
        "whitened, gradient steps 1..8": Whitened(plain),
        "kernel ridge": KernelRidge(Laplace(10.0), 1e-3),
        "RFM rounds 0..8": RFM(Laplace(10.0), 1e-3, n_iter=8),
    }
    found: dict[str, list[list[float]]] = {name: [] for name in paths}
    for seed in range(3):
        order = numpy_stream(seed, "bikeshare split").permutation(len(frame))
        train, test = order[:1500], order[1500:]
        encoder = TableEncoder().fit(frame.iloc[train])
        X = standardised(encoder.transform(frame), train)
        for name, learner in paths.items():
            path = learner.fit_path(in_memory(X[train], y[train]), seed=seed)
            found[name].append([r2(y[test], f(X[test])) for f in path])
    for name, rows in found.items():
        print(f"bikeshare  {name:30s}", *[f"{v:.3f}" for v in np.mean(rows, axis=0)])


def airfoil() -> None:
    """Test R2 and cosine of AGOP by round."""
    import smt

    folder = Path(smt.__file__).parent / "examples" / "airfoil_parameters"
    table = pd.read_csv(folder / "cd_x_y.csv", sep=";", header=None).to_numpy()
    slopes = pd.read_csv(folder / "cd_dy.csv", sep=";", header=None).to_numpy()
    order = numpy_stream(0, "airfoil split").permutation(len(table))
    train, test = order[:1500], order[1500:7500]
    X = standardised(table[:, :-1], train)
    y = standardised(table[:, -1:], train)
    J = torch.as_tensor(slopes * table[train, :-1].std(0))
    truth = J.T @ J
    for kernel in (Laplace(20.0), Matern(10.0, 1.5), Gaussian(5.0)):
        path = RFM(kernel, 1e-3, n_iter=8).fit_path(in_memory(X[train], y[train]))
        scores = [(r2(y[test], f(X[test])), flat_cosine(f.agop(X[train]), truth)) for f in path]
        name = str(kernel)
        print(f"airfoil    {name:32s} R2    ", *[f"{s:.3f}" for s, _ in scores])
        print(f"airfoil    {name:32s} cosine", *[f"{c:.3f}" for _, c in scores])


def single_index() -> None:
    """Loss and recovered direction."""
    task = SingleIndex(20, he2_he4(), seed=0)
    one, two = (task.sample(5000, stream(0, name)) for name in ("train", "test"))
    learners = {
        "Algorithm 1": GradientStep(),
        "Algorithm 1 + 2 AGOP steps": Whitened(GradientStep(n_steps=3, head=RidgeHead())),
        "random features": RandomFeatures(),
        "kernel ridge": KernelRidge(Laplace(6.0), 1e-3),
        "RFM": RFM(Laplace(6.0), 1e-3),
    }
    for name, learner in learners.items():
        f = learner.fit(in_memory(one.X, one.y))
        loss = float((f(two.X) - two.y).square().mean())
        v = leading_directions(f.agop(one.X))[1][:, 0]
        cosine = abs(float(v @ task.directions[:, 0]))
        print(f"single-index  {name:28s} loss {loss:.4f}  |cos| {cosine:.5f}")


def main() -> None:
    """Run what is named, or everything."""
    torch.set_num_threads(1)
    print(machine())
    chosen = sys.argv[1:] or ["bikeshare", "airfoil", "single-index"]
    for name, run in (
        ("bikeshare", bikeshare),
        ("airfoil", airfoil),
        ("single-index", single_index),
    ):
        if name in chosen:
            run()


if __name__ == "__main__":
    main()
