"""The gradient feature set of a fit as plain arrays, in the coordinates of its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...maths.statistics.moments import Whitening
from .cones import GradientFeatureSet


@dataclass(frozen=True, eq=False)
class FoundFeatures:
    """S_{p,g,B_G} of the training rows: one entry for each pair (D, s), largest mass first.

    `directions`: Weights w of the neurons relu(+-w.x - b), of length 1, their largest entry
        positive; x is the standardised input. Where the fit whitened, w is P D with P the whitening
        and D the direction that was found, so that w.x is the number that a neuron reads.
    `signs`: +1 where the neurons fire on few rows (b > 0), -1 where they fire on most.
    `mass, low, high`: Share of random neurons whose gradient lies in the cone, and its 95 %
        interval over the draw of neurons, the rows, B_G, |b| and the cone's width being given: a
        fit of another seed that chooses others finds other shares.
    `norm`: Median length of these gradients.
    `group`: Number of the direction, from 0: the same for two entries that differ in s alone.
    `p, width`: Least mass, and the cone's width g.
    `least_norm`: B_G for s = +1 and s = -1.
    `unexplained, short`: Shares of neurons with |G| >= B_G in no cone, and with |G| < B_G.
    `rows`: Training rows that the gradients were averaged over.
    """

    directions: NDArray[np.float64]
    signs: NDArray[np.int64]
    mass: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    norm: NDArray[np.float64]
    group: NDArray[np.int64]
    p: float
    width: float
    least_norm: NDArray[np.float64]
    unexplained: float
    short: float
    rows: int

    @property
    def n_directions(self) -> int:
        """Directions, distinct up to the signs of x and of b."""
        return int(self.group.max()) + 1 if len(self.group) else 0

    def leading(self, index: int) -> int:
        """Which entry of direction `index` has the largest mass."""
        return int(np.flatnonzero(self.group == index)[0])

    @classmethod
    def of(cls, found: GradientFeatureSet, back: Whitening | None, rows: int) -> FoundFeatures:
        """From a set found in inputs whitened by `back` (as they are for None) of `rows` rows."""
        D = found.every
        W = D if back is None else back.turned(D.T.to(back.mean)).T.double().cpu()
        group = (D.T @ found.directions).abs()
        return cls(
            directions=_unit_columns(W.numpy()),
            signs=np.array([f.sign for f in found.features], dtype=np.int64),
            mass=np.array([f.mass for f in found.features]),
            low=np.array([f.low for f in found.features]),
            high=np.array([f.high for f in found.features]),
            norm=np.array([f.norm for f in found.features]),
            group=group.argmax(1).numpy() if len(group) else np.zeros(0, dtype=np.int64),
            p=found.p,
            width=found.width,
            least_norm=np.array(found.least_norm, dtype=np.float64),
            unexplained=found.unexplained,
            short=found.short,
            rows=rows,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: a for name, a in vars(self).items() if name not in _NUMBERS}

    def numbers(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in _NUMBERS}

    @classmethod
    def restored(cls, numbers: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> FoundFeatures:
        values: dict[str, Any] = {**numbers, **arrays}
        return cls(**values)


_NUMBERS = ("p", "width", "unexplained", "short", "rows")


def _unit_columns(W: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns over their lengths, each with its largest entry positive."""
    if not W.size:
        return W
    norms = np.linalg.norm(W, axis=0)
    largest = np.take_along_axis(W, np.abs(W).argmax(0)[None], axis=0)[0]
    return W / np.where(norms > 0, norms, 1.0) * np.where(largest < 0, -1.0, 1.0)
