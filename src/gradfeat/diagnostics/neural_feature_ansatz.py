"""The neural feature ansatz, layer by layer: do the weights align with the gradients?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..maths.linear_algebra import leading_directions
from ..maths.modules import check_differentiable, evaluating, float_place

#: Layers whose weights act on vectors: all inputs, or patches of them.
Layer = nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d


@dataclass(frozen=True)
class LayerAnsatz:
    """How well one layer satisfies the ansatz."""

    #: layer, kind: name within the module, and class.
    layer: str
    kind: str
    #: outputs, inputs: shape of W; the inputs of a convolution are the entries of a patch.
    outputs: int
    inputs: int
    cosine: float  #: Of WᵀW and the AGOP (to its power) as vectors: 1 where they are proportional.
    #: The same for (W − W₀)ᵀ(W − W₀), the initial weights removed; nan where no initial module is
    #: given, or W = W₀.
    cosine_change: float


def neural_feature_ansatz(
    module: nn.Module,
    X: Any,
    *,
    initial: nn.Module | None = None,
    power: float = 1.0,
    batch_size: int = 256,
) -> tuple[LayerAnsatz, ...]:
    """Cosine of WᵀW and the AGOP with respect to the layer's input, for each layer.

    The AGOP of a layer is the mean over rows (and positions) of the outer products of ∂f_c/∂h,
    h its input, summed over the outputs c of the module: Wᵀ E[Σ_c δ_c δ_cᵀ] W with δ_c the
    gradient with respect to the layer's output. So it is the part of the gradient that goes
    through the layer; what passes it by in a skip connection does not count. A last linear layer
    whose output is f itself has cosine 1 by construction.

    `module`: in evaluation mode during the call, and unchanged after it; `X`: rows to average over,
    finite floating numbers; `initial`: the module as it was before training (a ``copy.deepcopy`` of
    it), to remove the initial weights; `power`: compare with AGOP^power, 1/2 is what balanced deep
    linear networks satisfy; `batch_size`: rows in one forward and backward pass, which bounds the
    memory.
    One result for each ``nn.Linear``, and each convolution without groups (by patches), in the
    order of ``module.named_modules()``; ``pandas.DataFrame(rows)`` makes a table of it.
    Raises ValueError when the module is none or has no such layer, X or its outputs are not
    floating rows, `initial` has other layers, or `power` or `batch_size` is not positive. A
    UserWarning names layers with a weight matrix that are skipped: of other kinds, or not called.
    Source: Rad24, "Neural feature ansatz" (convolutions: Beaglehole et al. 2023); the change of
    the weights: Beaglehole, Mitliagkas & Agarwala 2024.

    >>> import torch
    >>> from torch import nn
    >>> net = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 1))
    >>> with torch.no_grad():
    ...     _ = net[0].weight.copy_(torch.ones(4, 1) * torch.tensor([1.0, 2.0, 0.0]))
    >>> [(row.layer, round(row.cosine, 4)) for row in neural_feature_ansatz(net, torch.eye(3))]
    [('0', 1.0), ('2', 1.0)]
    """
    if not (math.isfinite(power) and power > 0):
        raise ValueError(f"power is {power!r}: give a positive number, 1 for the AGOP itself.")
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size!r}: give an integer of at least 1.")
    layers = _layers(module)
    starts = _weights_of(initial, layers)
    with evaluating(module), torch.inference_mode(False):
        products = _output_products(module, layers, _placed(module, X), int(batch_size))
    _warn_skipped(module, set(products))
    return tuple(_row(n, layers[n], D, starts.get(n), power) for n, D in products.items())


def _layers(module: nn.Module) -> dict[str, Layer]:
    """The layers that the ansatz is about, by name."""
    match module:
        case nn.Module():
            pass
        case _:
            raise ValueError(f"the module is a {type(module).__name__}: give a torch.nn.Module.")
    found: dict[str, Layer] = {}
    for name, part in module.named_modules():
        match part:
            case nn.Linear():
                found[name] = part
            case nn.Conv1d() | nn.Conv2d() | nn.Conv3d() if part.groups == 1:
                found[name] = part
    if not found:
        raise ValueError(
            f"{type(module).__name__} has no nn.Linear and no convolution without groups: give a "
            "module with such a layer."
        )
    return found


def _matrix(layer: Layer) -> Tensor:
    """Weights as float64 (outputs, inputs)."""
    return layer.weight.detach().flatten(1).double()


def _weights_of(initial: nn.Module | None, layers: dict[str, Layer]) -> dict[str, Tensor]:
    if initial is None:
        return {}
    starts = {name: _matrix(layer) for name, layer in _layers(initial).items()}
    for name, layer in layers.items():
        if name not in starts or starts[name].shape != _matrix(layer).shape:
            raise ValueError(
                f"initial has no layer {name!r} of shape {tuple(layer.weight.shape)}: give the "
                "same module as it was before training, such as its copy.deepcopy."
            )
    return starts


def _placed(module: nn.Module, X: Any) -> Tensor:
    X = X.detach() if type(X) is Tensor else torch.tensor(np.asarray(X))
    if not X.is_floating_point() or X.ndim < 2 or not X.numel() or not X.isfinite().all():
        raise ValueError(
            f"X is {X.dtype} of shape {tuple(X.shape)}: give finite floating numbers, one row an "
            "example (n, ...)."
        )
    return X.to(*float_place(module, X))


def _output_products(
    module: nn.Module, layers: dict[str, Layer], X: Tensor, batch_size: int
) -> dict[str, Tensor]:
    """Σ δ δᵀ over rows, positions and outputs of the module, for each layer that is called."""
    check_differentiable(module, X)
    totals: dict[str, Tensor] = {}
    for rows in X.split(batch_size):
        with torch.enable_grad(), _recorded(layers) as seen:
            out = module(rows.clone().requires_grad_(True)).reshape(len(rows), -1)
            names = [name for name in layers for _ in seen[name]]
            tensors = [t for name in layers for t in seen[name]]
            for column in out.T:
                deltas = torch.autograd.grad(
                    column.sum(), tensors, retain_graph=True, materialize_grads=True
                )
                for name, delta in zip(names, deltas, strict=True):
                    product = _product(layers[name], delta)
                    totals[name] = totals[name] + product if name in totals else product
    return {name: totals[name] for name in layers if name in totals}


def _product(layer: Layer, delta: Tensor) -> Tensor:
    """Σ δ δᵀ over everything but channels, in float64."""
    channels = -1 if type(layer) is nn.Linear else 1
    flat = delta.movedim(channels, -1).flatten(0, -2).double()
    return flat.T @ flat


@contextmanager
def _recorded(layers: dict[str, Layer]) -> Iterator[dict[str, list[Tensor]]]:
    """What each layer puts out inside; later layers get a copy, which they may overwrite."""
    seen: dict[str, list[Tensor]] = {name: [] for name in layers}

    def keep(name: str) -> Any:
        def hook(_layer: nn.Module, _inputs: Any, out: Tensor) -> Tensor:
            seen[name].append(out)
            return out.clone()

        return hook

    handles = [layer.register_forward_hook(keep(name)) for name, layer in layers.items()]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _row(name: str, layer: Layer, D: Tensor, start: Tensor | None, power: float) -> LayerAnsatz:
    W = _matrix(layer)
    root = _root(W, D, power)
    change = math.nan if start is None else _cosine_of_squares(W - start.to(W.device), root)
    kind, cosine = type(layer).__name__, _cosine_of_squares(W, root)
    return LayerAnsatz(name, kind, len(W), W.shape[1], cosine, change)


def _root(W: Tensor, D: Tensor, power: float) -> Tensor:
    """R with RᵀR = (Wᵀ D W)^power, never forming a matrix of inputs by inputs."""
    values, vectors = leading_directions(D)
    R = values.sqrt()[:, None] * (vectors.T @ W)
    if power == 1:
        return R
    _, singular, directions = torch.linalg.svd(R, full_matrices=False)
    return (singular**power)[:, None] * directions


def _cosine_of_squares(A: Tensor, B: Tensor) -> float:
    """Cosine of AᵀA and BᵀB as vectors, |A Bᵀ|² / (|AᵀA| |BᵀB|); nan if one is zero."""
    cosine = (A @ B.T).square().sum() / (_square_norm(A) * _square_norm(B))
    return float(cosine.clamp(max=1.0))


def _square_norm(A: Tensor) -> Tensor:
    """|AᵀA|, by the smaller one of AᵀA and AAᵀ."""
    return (A @ A.T if len(A) <= A.shape[1] else A.T @ A).norm()


def _warn_skipped(module: nn.Module, used: set[str]) -> None:
    """Name the parts with a matrix of weights of their own that have no row."""
    skipped = [
        f"{name} ({type(part).__name__})"
        for name, part in module.named_modules()
        if name not in used and any(p.ndim > 1 for p in part.parameters(recurse=False))
    ]
    if skipped:
        warnings.warn(
            f"without a row: {', '.join(skipped)}; rows are for nn.Linear and convolutions without "
            "groups that the module calls.",
            UserWarning,
            stacklevel=3,
        )
