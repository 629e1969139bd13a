"""The parameters of several networks of one shape, stacked along a first axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from ...maths.activations import Activation
from ..predictors import TwoLayer
from ..random_features import draw


@final
@dataclass(frozen=True, eq=False)
class Layers:
    """W, b, a of s networks f(x) = a^T sigma(W x + b).

    `W, b, a` (s, m, d), (s, m), (s, m, c): First layers, biases, heads.
    """

    W: Float[Tensor, "s m d"]
    b: Float[Tensor, "s m"]
    a: Float[Tensor, "s m c"]

    def each(self, change: Callable[..., Tensor], *others: Layers) -> Layers:
        """W, b and a changed alike, each with those of others."""
        parts = zip(*((one.W, one.b, one.a) for one in (self, *others)), strict=True)
        return Layers(*(change(*part) for part in parts))

    def zeros(self) -> Layers:
        return self.each(torch.zeros_like)

    def part(self, networks: slice) -> Layers:
        return self.each(lambda A: A[networks])

    def network(self, i: int, activation: Activation) -> TwoLayer:
        d, c = self.W.shape[2], self.a.shape[2]
        zero = self.W.new_zeros(d, c)
        return TwoLayer(self.W[i], self.b[i], self.a[i], zero.new_zeros(c), zero, activation)


def stack(layers: Sequence[Layers]) -> Layers:
    return layers[0].each(lambda *parts: torch.cat(parts), *layers[1:])


@final
@dataclass(frozen=True)
class Start:
    """How a network is drawn: w ~ N(0, std_W^2 I), b ~ N(0, std_b^2), a ~ N(0, std_a^2).

    `std_W, std_b, std_a`: Standard deviations; None stands for 1/sqrt(d), 0 and 1/sqrt(m).
    `antisymmetric`: Neuron j and j + m/2 share w and b and have opposite a, so that f = 0.

    Source: Shi22, section 3 (antisymmetric initialisation).

    >>> start = Start(std_b=0.1).draw(4, 3, 1, seed=0)
    >>> bool((start.a[0, :2] == -start.a[0, 2:]).all())
    True
    """

    std_W: float | None = None
    std_b: float | None = None
    std_a: float | None = None
    antisymmetric: bool = True

    def draw(
        self,
        m: int,
        d: int,
        c: int,
        seed: int,
        *,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> Layers:
        """One network of `m` neurons, from streams "W0", "b0" and "a0" under `seed`."""
        if self.antisymmetric and m % 2:
            raise ValueError(
                f"width is {m}: the antisymmetric start pairs neurons, give an even number."
            )
        own = m // 2 if self.antisymmetric else m
        like = torch.empty(0, dtype=dtype, device=device)
        W = draw(like, seed, "W0", own, d) * (d**-0.5 if self.std_W is None else self.std_W)
        b = draw(like, seed, "b0", own, 1)[:, 0] * (0.0 if self.std_b is None else self.std_b)
        a = draw(like, seed, "a0", own, c) * (m**-0.5 if self.std_a is None else self.std_a)
        if self.antisymmetric:
            W, b, a = W.repeat(2, 1), b.repeat(2), torch.cat([a, -a])
        return Layers(W[None], b[None], a[None])


def shi22_start(k: int, gamma: float, sigma: float) -> Start:
    """Standard deviations 1/k, 1/k^2 and sigma~^2 / (gamma k^2), antisymmetric.

    Source: Shi22, section 3, initialisation.
    """
    return Start(1 / k, 1 / k**2, sigma**2 / (gamma * k**2))
