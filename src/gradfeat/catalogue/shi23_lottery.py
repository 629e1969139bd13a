"""Lottery tickets: a trained network pruned to few of its neurons, rewound and trained again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import draw_metrics, only, over_seeds, settings, values_of
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import Axes, DataFrame, Figure
from gradfeat.lab import Experiment, below, each, greater, lazy
from gradfeat.maths.ranges import at_least, at_most, one_of

if TYPE_CHECKING:
    from torch import Tensor

    from gradfeat.models.descent.gradient_descent import Trains
    from gradfeat.models.descent.layers import Layers
    from gradfeat.models.descent.phases import Phase
    from gradfeat.models.gradient_features.cones import GradientFeature
    from gradfeat.tasks.base import Sample

#: How neurons to keep are chosen, and what a figure says.
RULES = {
    "gradient": "near gradient features",
    "magnitude": "largest |a| |w|",
    "random": "at random",
}
#: What moves after the start.
TRAINS: dict[str, Trains] = {"all layers": "all", "head": "head"}


def batch(
    case: str,
    trains: str,
    share: Sequence[float],
    rewind: int = 0,
    r: int = 1,
    d: int = 30,
    n: int = 10_000,
    bias: float = 1.0,
    B_G: float = 0.25,
    p: float = 0.015,
    width: float = 0.05,
    neurons: int = 4_000,
    m: int = 400,
    steps: int = 250,
    step_size: float = 0.1,
    n_batch: int = 500,
    n_test: int = 10_000,
    *,
    seeds: Sequence[int],
) -> list[list[dict[str, float]]]:
    """Test accuracy of the full network and of each share of its neurons by each rule.

    *all layers*: plain descent of W, b and a. *head*: step 1 erases the start, w = sign(a) G(w, b),
    and only a moves later: all features are first gradients, as in the source's proof.

    Neurons come in pairs that share w and b, and are kept in pairs. *gradient*: each feature (D, s)
    of the training rows takes in turn the neuron whose own first gradient G(w, b) has the largest
    |cos| with D, among those with |G| >= B_G and sign b = s; nothing of the training is used.
    *magnitude*: largest |a| |w| after training. The neurons kept go back to where they were after
    `rewind` steps of the full network and are trained by the same schedule on the same batches.

    `accuracy_*` is that at the last step of the full network (full) or of the neurons that a
    rule keeps, `early_*` that after a fifth of the steps, `lost_*` what a rule loses against
    the full network.
    """
    import torch

    from gradfeat.catalogue.shared.gradient_feature_training import (
        case_study,
        found_features,
        rows_of,
        schedule,
        start_of,
    )

    one_of(TRAINS, trains=trains)
    for one in share:
        at_least(0, share=one)
        at_most(1, share=one)
    at_least(0, rewind=rewind)
    at_most(0 if trains == "head" else steps, rewind=rewind)
    at_least(1, n_test=n_test)
    results = []
    for seed in seeds:
        task = case_study(case, "yes", d, r, seed)
        train, test = rows_of(task, n, seed, "train"), rows_of(task, n_test, seed, "test")
        start, phases = start_of(m, d, bias, seed), schedule(steps, step_size, n_batch)
        race = Race(TRAINS[trains], train, test, phases, seed)
        found = found_features(
            case, task.directions, train, p=p, width=width, B_G=B_G, bias=bias, neurons=neurons,
            seed=seed
        )  # fmt: skip
        full = race.run(start, rewind)
        orders = {
            "gradient": nearest(start, train, found.features, B_G),
            "magnitude": _largest(full.last),
            "random": torch.randperm(m // 2, generator=lazy.stream(seed, "pruning")),
        }
        results.append([_pruned(race, full, orders, one) for one in share])
    return results


@dataclass(frozen=True, eq=False)
class Run:
    """Parameters after `rewind` steps and at the end; accuracy after a fifth of them and then."""

    rewound: Layers
    last: Layers
    early: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Race:
    """The training that all networks of a seed go through."""

    trains: Trains
    train: Sample
    test: Sample
    phases: tuple[Phase, ...]
    seed: int

    def run(self, start: Layers, rewind: int = 0) -> Run:
        from gradfeat.catalogue.shared.gradient_feature_training import first_step, path

        first = first_step(start, self.train) if self.trains == "head" else start
        rewound, last, early = start, first, 0.0
        fifth = sum(phase.steps for phase in self.phases) // 5
        for step, last in path(first, self.trains, self.train, self.phases, self.seed):
            if step == rewind:
                rewound = last
            if step == fifth:
                early = self.accuracy(last)
        return Run(rewound, last, early, self.accuracy(last))

    def accuracy(self, now: Layers) -> float:
        from gradfeat.catalogue.shared.gradient_feature_training import loss_and_error

        return 1 - loss_and_error(now.network(0, lazy.ReLU()), self.test)[1]


def _pruned(race: Race, full: Run, orders: dict[str, Tensor], share: float) -> dict[str, float]:
    """Accuracies and what is lost to the full network, by rule, at one share."""
    import torch

    seen = {"accuracy_full": full.accuracy, "early_full": full.early}
    for rule, order in orders.items():
        kept = order[: max(1, round(share * len(order)))]
        again = race.run(_part(full.rewound, torch.cat([kept, kept + len(order)])))
        seen |= {
            f"accuracy_{rule}": again.accuracy,
            f"early_{rule}": again.early,
            f"lost_{rule}": full.accuracy - again.accuracy,
        }
    return seen


def _part(of: lazy.Layers, kept: Tensor) -> lazy.Layers:
    return lazy.Layers(of.W[:, kept], of.b[:, kept], of.a[:, kept])


def nearest(
    start: Layers, train: Sample, features: Sequence[GradientFeature], B_G: float
) -> Tensor:
    """All pairs, first those that features take in turn; where there is no feature, by |G|."""
    import torch

    half = start.b.shape[1] // 2
    W, b = start.W[0, :half], -start.b[0, :half]
    (G,) = lazy.simplified_gradients(
        train.X, lazy.standardised(train.y, torch.ones(len(train.X))), W, b
    )
    norms = G.norm(dim=1)
    lists = []
    for feature in features:
        able = (norms >= B_G) & ((b < 0) == (feature.sign < 0))
        cosine = (G @ feature.direction.to(G)).abs() / norms.clamp(min=1e-30)
        lists.append(torch.where(able, cosine, -1).argsort(descending=True, stable=True).tolist())
    lists = lists or [norms.argsort(descending=True).tolist()]
    # The first of all lists, then the second of all: each neuron at its first place.
    turns = [i for turn in zip(*lists, strict=True) for i in turn]
    return torch.tensor(list(dict.fromkeys(turns)))


def _largest(trained: Layers) -> Tensor:
    """Pairs by the sum of |a| |w|."""
    size = trained.a[0, :, 0].abs() * trained.W[0].norm(dim=1)
    return (size[: len(size) // 2] + size[len(size) // 2 :]).argsort(descending=True)


def figure(table: DataFrame, theory_table: DataFrame | None) -> Figure:  # noqa: ARG001
    """Accuracy against the share kept, a panel for each case and training, a line a rule."""
    kinds = settings(table, "case", "trains", "rewind")
    _, axes = panels(len(kinds), 2, (4.6, 3.2))
    for ax, (case, trains, rewind) in zip(axes, kinds, strict=True):
        rows = only(table, case=case, trains=trains, rewind=rewind)
        all_move = f"all layers trained, rewound to step {rewind}"
        _panel(ax, rows, f"{case}, {'head trained' if trains == 'head' else all_move}".capitalize())
    return finished(
        axes,
        f"d = {values_of(table, 'd')}, {values_of(table, 'm')} neurons before pruning. Points:"
        f" {over_seeds(table)}. Head trained: W is the first gradient, only a is trained later.",
    )


def _panel(ax: Axes, rows: DataFrame, title: str) -> None:
    style.dress(ax, title, "share of neurons kept", "test accuracy", "y")
    names = {f"accuracy_{rule}": words for rule, words in RULES.items()}
    drawn = draw_metrics(ax, rows, "share", names, connect=True, apart=3)
    series.level(ax, float(np.mean(rows["accuracy_full"].tolist())), "full network")
    style.tick_at(ax, rows["share"])
    ends = [np.fmin(found.low, found.mean).min() for found, _ in drawn]
    low = float(min(0.9, *ends))
    ax.set_ylim(low - 0.02, 1.02 + 0.1 * (1 - low))


ABOUT = """The lottery ticket hypothesis by gradient features (Shi23): a trained network contains
a small one, the neurons near gradient features, that trained alone from the same start does as
well. Three rules keep a share of the neurons: those whose own first gradient is nearest to a
gradient feature (nothing of the training is used), the largest |a||w| after training, and neurons
at random. What is kept goes back to where it was after `rewind` steps of the full network and is
trained again by the same schedule on the same batches.

All layers trained: plain descent. Head trained: the first step writes W = first gradient, later
ones train a alone, as in the source's proof. A tenth at random then misses components of the
mixture, a tenth near features does not; where all layers train, neurons move to what is missing,
and random ones do as well. Accuracy counts an output of 0 as wrong."""

TENTH = {"share": 0.1}
ALL, HEAD = {**TENTH, "trains": "all layers"}, {**TENTH, "trains": "head"}
MIXTURE = {"case": "mixture", "r": 4, "bias": 1.7, "m": 200}
PARITY = {"case": "parity", "m": 300, "steps": 400, "n_batch": 250}
SHARES = [0.02, 0.05, 0.1, 0.2]

EXPERIMENT = Experiment(
    name="shi23-lottery",
    question="Do the neurons near gradient features suffice when the network is pruned to them?",
    about=ABOUT,
    batch=batch,
    along="share",
    batch_size=1,
    grids={
        "quick": [
            {**MIXTURE, "trains": "all layers", "share": SHARES, "steps": 150},
            {**MIXTURE, "trains": "head", "share": SHARES, "steps": 200, "step_size": 0.02},
            {**PARITY, "trains": "all layers", "share": SHARES, "rewind": [0, 1]},
        ],
        "paper": [
            {**MIXTURE, "trains": "all layers", "share": SHARES, "rewind": [0, 1, 10]},
            {**MIXTURE, "trains": "head", "share": SHARES, "steps": 400, "step_size": 0.02},
            {**PARITY, "trains": "all layers", "share": SHARES, "rewind": [0, 1, 10], "m": 600},
        ],
    },
    small={"share": [0.1, 0.5], "n": 200, "neurons": 1100, "m": 8, "steps": 5, "n_test": 50},
    seeds={"quick": 12, "paper": 40},
    figure=figure,
    checks={
        "Pruned to the tenth of the neurons nearest gradient features, rewound and trained again,"
        " the network is within 1 point of the full one: on mixtures (all layers or only the head)"
        " and on parity (all layers), at each step that is rewound to."
        " [Shi23, the lottery ticket hypothesis]": each(
            "case trains rewind", below("lost_gradient", 0.01, TENTH)
        ),
        "The largest |a| |w| after training do as well (within 1 point at a tenth)."
        " [Shi23, the lottery ticket hypothesis; Frankle & Carbin 2019 (the rule)]": each(
            "case trains rewind", below("lost_magnitude", 0.01, TENTH)
        ),
        "When only the head trains (mixtures), random pruning to 10 % is worse than pruning to the"
        " neurons near gradient features by more than 1 point."
        " [Shi23, the lottery ticket hypothesis]": greater(
            "accuracy_gradient", HEAD, HEAD, 0.01, than_metric="accuracy_random"
        ),
        "When all layers train, random pruning to 10 % also loses under 1 point, on mixtures and on"
        " parity, at each step that is rewound to."
        " [Shi23, the lottery ticket hypothesis, its control]": each(
            "case rewind", below("lost_random", 0.01), ALL
        ),
    },
)
