"""Neurons as points in the plane: multidimensional scaling of their cosine similarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import eigh, orthogonal_procrustes
from sklearn.manifold import smacof
from torch import Tensor

from gradfeat.diagnostics.alignment import unit_rows
from gradfeat.maths.streams import stream

#: Dissimilarities below this are rounding: all neurons are one direction, one point.
ONE_POINT = 1e-12


@dataclass(frozen=True, eq=False)
class NeuronMap:
    """One stage in the plane; distances between points approximate 1 - cos."""

    points: np.ndarray  #: (size, 2), neurons `indices`, in that order.
    stars: np.ndarray  #: (2 r, 2), directions u_1..u_r, then their negatives.
    indices: np.ndarray  #: (size,), which rows of W are shown, ascending.
    #: (sum (distance - dissimilarity)^2 / sum distance^2)^{1/2}: 0 is a perfect picture, .2 a poor
    #: one; isotropic neurons in many dimensions have about .5.
    stress: float


def neuron_maps(
    stages: Sequence[Float[Tensor, "m d"]],
    directions: Float[Tensor, "d r"],
    *,
    size: int = 300,
    seed: int = 0,
) -> list[NeuronMap]:
    """argmin over layouts z of sum_{i<j} (|z_i - z_j| - (1 - cos(w_i, w_j)))^2, for each stage.

    Neurons and stars are laid out together, from the classical scaling. The dissimilarity is
    1 - cos: 0 for equal directions, 1 for orthogonal ones (and for a zero neuron), 2 for
    opposite ones; lengths do not count. Every stage shows the same neurons and has a common
    orientation: u_1 to the right of its negative on a horizontal line; without directions,
    turned to the stage before (Procrustes).

    `stages`: first layers of one network, say at the start and after each step; `directions`: true
    directions, one a column, r = 0 where none is known; `size`: neurons shown: all, or a random
    subset of this many; `seed`: of the subset (stream "neuron map").
    Raises ValueError when there is no stage, shapes differ, a value is not finite, or `size` is
    below 2.
    Source: metric scaling by SMACOF (Borg & Groenen 2005, ch. 8); the picture is that of Shi22,
    Figure 2.

    >>> W = torch.eye(3)
    >>> (map,) = neuron_maps([W], W[:, :1])
    >>> map.points.shape, map.stars.shape, bool(map.stars[0, 0] > 1.5 + map.stars[1, 0])
    ((3, 2), (2, 2), True)
    """
    check_stages(stages, directions, size)
    m, r = len(stages[0]), directions.shape[1]
    indices = torch.randperm(m, generator=stream(seed, "neuron map"))[:size].sort().values
    u = directions.T.cpu().double()
    maps, previous = [], None
    for W in stages:
        every = torch.cat([W.cpu().double()[indices], u, -u])
        layout, stress = scaled(dissimilarities(every))
        previous = oriented(layout, previous, r)
        shown = len(indices)
        maps.append(NeuronMap(previous[:shown], previous[shown:], indices.numpy(), stress))
    return maps


def dissimilarities(W: Float[Tensor, "m d"]) -> np.ndarray:
    """1 - cos(w_i, w_j) (m, m), exactly symmetric with a zero diagonal.

    >>> dissimilarities(torch.tensor([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    U = unit_rows(W).numpy()
    C = U @ U.T
    D = np.clip(1 - (C + C.T) / 2, 0, 2)
    np.fill_diagonal(D, 0)
    return D


def scaled(D: np.ndarray) -> tuple[np.ndarray, float]:
    """Layout (m, 2) of least stress near the classical scaling of D, and its stress."""
    if D.max() < ONE_POINT:
        return np.zeros((len(D), 2)), 0.0
    found = smacof(
        D,
        init=classical_scaling(D),
        n_init=1,
        normalized_stress=True,  # pyright: ignore[reportArgumentType]
    )
    return np.asarray(found[0], float), float(np.asarray(found[1], float))


def classical_scaling(D: np.ndarray) -> np.ndarray:
    """Two leading columns of V sqrt(lambda), -J D^2 J/2 = V lambda V^T; negative lambda count 0.

    The sign of each column makes its largest entry positive.

    Source: Torgerson 1952.

    >>> classical_scaling(np.array([[0.0, 2.0], [2.0, 0.0]])).round(12).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    B = D**2
    B = -(B - B.mean(0) - B.mean(1, keepdims=True) + B.mean()) / 2
    values, vectors = eigh(B, subset_by_index=[len(D) - 2, len(D) - 1])
    layout = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    largest = layout[np.abs(layout).argmax(0), [0, 1]]
    return layout * np.where(largest < 0, -1.0, 1.0) + 0.0


def oriented(layout: np.ndarray, previous: np.ndarray | None, r: int) -> np.ndarray:
    """The layout turned or mirrored: its first star to the right, then like the previous one."""
    if r:
        x, y = layout[-2 * r] - layout[-r]
        turn = np.array([[x, -y], [y, x]]) / np.hypot(x, y) if x or y else np.eye(2)
        layout = layout @ turn
        mirror = previous is not None and layout[:, 1] @ previous[:, 1] < 0
        return layout * [1.0, -1.0 if mirror else 1.0]
    if previous is None:
        return layout
    return layout @ orthogonal_procrustes(layout, previous)[0]


def check_stages(stages: Sequence[Tensor], directions: Tensor, size: int) -> None:
    """At least one stage, all (m, d) and finite, directions (d, r), size >= 2; else ValueError."""
    shapes = {tuple(W.shape) for W in stages}
    if len(shapes) != 1 or len(min(shapes)) != 2 or min(shapes)[0] < 2:
        raise ValueError(
            f"The stages have shapes {sorted(shapes)}: give at least one, all (m, d) with m of 2 "
            "or more."
        )
    if directions.ndim != 2 or len(directions) != min(shapes)[1]:
        raise ValueError(
            f"The directions have shape {tuple(directions.shape)}: give ({min(shapes)[1]}, r), "
            "r = 0 for none."
        )
    if not all(bool(torch.isfinite(W).all()) for W in [*stages, directions]):
        raise ValueError("A stage or direction has a value that is not finite: give finite ones.")
    if size < 2:
        raise ValueError(f"The size is {size}: show 2 neurons or more.")
