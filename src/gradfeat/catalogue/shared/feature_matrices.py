"""Feature matrices of networks: ReLU layers trained by descent, and what their weights became."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from gradfeat.diagnostics.neural_feature_ansatz import LayerAnsatz, neural_feature_ansatz
from gradfeat.maths.streams import stream


@dataclass(frozen=True, eq=False)
class Stage:
    """A network at one step of its training, and as it was at the start."""

    loss: float
    step: int
    module: nn.Sequential
    start: nn.Sequential

    def __call__(self, X: Float[Tensor, "n d"]) -> Float[Tensor, "n 1"]:
        with torch.no_grad():
            return self.module(X.float()).double()

    @property
    def weights(self) -> Float[Tensor, "d d"]:
        return _square(_first(self.module))

    @property
    def change(self) -> Float[Tensor, "d d"]:
        """(W_1 - W_0)^T (W_1 - W_0): the initial weights removed."""
        return _square(_first(self.module) - _first(self.start))

    def ansatz(self, X: Float[Tensor, "n d"]) -> tuple[LayerAnsatz, ...]:
        """Cosines of the AGOP of each layer with its weights; of the last one 1 by construction."""
        return neural_feature_ansatz(self.module, X.float(), initial=self.start)


def relu_net(d: int, layers: int, width: int, scale: float, seed: int) -> nn.Sequential:
    """f = w^T relu(W_k ... relu(W_1 x)) with `layers` matrices in all, no biases, float32.

    Entries ~ N(0, 2 scale^2 / inputs), of the last one N(0, scale^2 / inputs), from a stream.
    """
    generator = stream(seed, "initial weights")
    sizes = [d, *[width] * (layers - 1), 1]
    parts: list[nn.Module] = []
    for place, (inputs, outputs) in enumerate(itertools.pairwise(sizes), start=1):
        W = torch.randn(outputs, inputs, generator=generator)
        spread = scale * ((1 if place == layers else 2) / inputs) ** 0.5
        # skip_init: nn.Linear itself would draw from the global generator.
        part = cast("nn.Linear", nn.utils.skip_init(nn.Linear, inputs, outputs, bias=False))
        with torch.no_grad():
            part.weight.copy_(spread * W)
        parts += [part, nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def descend_to(
    net: nn.Sequential,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, "n 1"],
    levels: Sequence[float],
    *,
    rate: float,
    steps: int,
) -> Iterator[Stage]:
    """Full-batch descent (momentum .9) on the mean squared error, in float32, on X's device.

    A stage is yielded when the loss first is at or below one of the levels, and one after `steps`
    steps where some were not reached.
    """
    net = net.to(X.device)
    start, left = copy.deepcopy(net), tuple(levels)
    X, y = X.float(), y.float()
    descent = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    for step in range(steps + 1):
        loss = (net(X) - y).square().mean()
        value = float(loss.detach())
        above = tuple(level for level in left if not value <= level)
        if len(above) < len(left) or step == steps:
            yield Stage(value, step, copy.deepcopy(net), start)
        left = above
        if not left:
            return
        descent.zero_grad()
        loss.backward()
        descent.step()


def _first(module: nn.Sequential) -> Float[Tensor, "m d"]:
    return next(module.parameters()).detach().double()


def _square(W: Float[Tensor, "m d"]) -> Float[Tensor, "d d"]:
    return W.T @ W


def leading_coordinates(M: Float[Tensor, "d d"], share: float) -> Int[Tensor, " k"]:
    """Coordinates with the largest diagonal entries: `share` of all, at least one, rising."""
    kept = max(1, round(share * len(M)))
    return M.diagonal().topk(kept).indices.sort().values
